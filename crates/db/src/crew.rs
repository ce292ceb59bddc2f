//! Workers together: they begin at one moment, their number changes while they work, and their books
//! are taken without stopping them.

use crate::acknowledged::Acknowledged;
use crate::backend::{Activity, Global, WorkerPlan};
use crate::blocks::{Blocks, randoms};
use crate::books::Books;
use crate::draws::Draws;
use crate::error::DbError;
pub use crate::worker::Mode;
use crate::worker::{Desk, Shared, Worker};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A worker in a statement that takes long keeps its books until the next time they are asked for.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often it is looked whether they came.
const LOOK: Duration = Duration::from_micros(100);
/// How long a worker may take to end.
const LAST_PATIENCE: Duration = Duration::from_secs(30);

/// What workers are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrewPlan {
    /// What each does.
    pub mode: Mode,
    /// Most workers that will work at the same time.
    pub workers: u32,
    /// Updates or reads in a transaction, at least 1.
    pub transaction_length: u32,
    /// Pause after each transaction.
    pub hang: Duration,
    /// What all draws follow from.
    pub seed: u64,
}

/// Workers at work.
pub struct Crew {
    activity: Arc<dyn Activity>,
    shared: Arc<Shared>,
    desks: Vec<Arc<Desk>>,
    threads: Vec<JoinHandle<()>>,
    active: u32,
    direct: bool,
    block_bytes: u64,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// A worker's share of what a crew is given.
struct Assignment {
    number: u32,
    plan: CrewPlan,
    /// Where it writes.
    writes: Option<WorkerPlan>,
    blocks: Option<Arc<Blocks>>,
    acknowledged: Option<Arc<Acknowledged>>,
}

impl Crew {
    /// Connects every worker; none works before [`Self::set_active`]. `sequences` has the last
    /// transaction of each worker that is committed.
    ///
    /// # Errors
    /// The first worker's that could not be made.
    pub fn start(
        activity: Arc<dyn Activity>,
        plan: CrewPlan,
        globals: &[Global],
        sequences: &[u64],
        acknowledged: Option<Acknowledged>,
    ) -> Result<Self, DbError> {
        let blocks = plan.mode.reads().then(|| activity.blocks()).transpose()?.map(Arc::new);
        let mut crew = Self {
            direct: blocks.as_ref().is_some_and(|blocks| blocks.is_direct()),
            block_bytes: blocks.as_ref().map_or(0, |blocks| blocks.block_bytes()),
            activity,
            shared: Arc::default(),
            desks: Vec::new(),
            threads: Vec::new(),
            active: 0,
        };
        let acknowledged = acknowledged.map(Arc::new);
        let (ready, readiness) = sync_channel(plan.workers as usize);
        for number in 1..=plan.workers {
            let index = number as usize - 1;
            let writes = plan.mode.writes().then(|| WorkerPlan {
                worker: number,
                global: globals[index],
                sequence: sequences.get(index).copied().unwrap_or(0),
                draws_state: Draws::new(plan.seed, number).state(),
                transaction_length: plan.transaction_length,
            });
            let (blocks, acknowledged) = (blocks.clone(), acknowledged.clone());
            crew.add(Assignment { number, plan, writes, blocks, acknowledged }, ready.clone())?;
        }
        drop(ready);
        crew.wait_for(&readiness)?;
        Ok(crew)
    }

    fn add(
        &mut self,
        assignment: Assignment,
        ready: SyncSender<Result<(), DbError>>,
    ) -> Result<(), DbError> {
        let desk = Arc::new(Desk::default());
        self.desks.push(desk.clone());
        let (activity, shared) = (self.activity.clone(), self.shared.clone());
        let name = format!("db-worker-{}", assignment.number);
        let work = move || work(&assignment, activity.as_ref(), &shared, &desk, ready);
        let thread = std::thread::Builder::new().name(name).spawn(work);
        let failed = |error| DbError::Failed(format!("a worker cannot be started: {error}"));
        self.threads.push(thread.map_err(failed)?);
        Ok(())
    }

    fn wait_for(&mut self, readiness: &Receiver<Result<(), DbError>>) -> Result<(), DbError> {
        let answers = readiness.iter().collect::<Result<Vec<()>, DbError>>();
        if answers.is_err() {
            self.stop();
        }
        answers.map(|_| ())
    }

    /// Lets so many workers work, from the first on; the others rest.
    pub fn set_active(&mut self, workers: u32) {
        self.active = workers.min(self.desks.len() as u32);
        self.shared.active.store(self.active, Ordering::Relaxed);
    }

    /// Workers that are asked to work.
    #[must_use]
    pub fn active(&self) -> u32 {
        self.active
    }

    /// True where reads go around every cache.
    #[must_use]
    pub fn reads_directly(&self) -> bool {
        self.direct
    }

    /// Bytes of a block that is read; 0 where none is.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// What the run has of the database.
    #[must_use]
    pub fn activity(&self) -> &dyn Activity {
        self.activity.as_ref()
    }

    /// Takes the books of each worker since the last time.
    pub fn cut(&mut self) -> Vec<Books> {
        for desk in &self.desks {
            desk.wanted.store(true, Ordering::Relaxed);
        }
        let end = Instant::now() + PATIENCE;
        let waits = |desk: &Arc<Desk>| {
            desk.wanted.load(Ordering::Acquire) && !desk.ended.load(Ordering::Acquire)
        };
        while self.desks.iter().any(waits) && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
        self.desks.iter().map(|desk| take(desk)).collect()
    }

    /// Ends all workers when what they are doing is done, and takes their last books.
    pub fn stop(&mut self) -> Vec<Books> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let end = Instant::now() + LAST_PATIENCE;
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && Instant::now() < end {
                std::thread::sleep(LOOK);
            }
            // One that hangs in the database ends with this process.
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
        self.desks.iter().map(|desk| take(desk)).collect()
    }

    /// True where all workers have ended, since one failed or all were asked to.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// The first fault, with the worker's number.
    #[must_use]
    pub fn fault(&self) -> Option<(u32, DbError)> {
        self.shared.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.stop();
    }
}

fn take(desk: &Desk) -> Books {
    std::mem::take(&mut *desk.books.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The life of a worker's thread.
fn work(
    assignment: &Assignment,
    activity: &dyn Activity,
    shared: &Shared,
    desk: &Desk,
    ready: SyncSender<Result<(), DbError>>,
) {
    let connect = || {
        let writer = assignment.writes.map(|plan| activity.writer(plan)).transpose()?;
        let reader = assignment.blocks.as_ref().map(|blocks| blocks.reader()).transpose()?;
        Ok((writer, reader))
    };
    let connected = connect();
    let (writer, reader) = match connected {
        Ok(hands) => hands,
        Err(error) => {
            let _ = ready.send(Err(error));
            desk.ended.store(true, Ordering::Release);
            return;
        }
    };
    // The controller is there for as long as it waits.
    let _ = ready.send(Ok(()));
    drop(ready);
    let CrewPlan { mode, transaction_length, hang, seed, .. } = assignment.plan;
    let mut acknowledge = |sequence| match &assignment.acknowledged {
        Some(acknowledged) => acknowledged.note(assignment.number, sequence),
        None => Ok(()),
    };
    Worker {
        number: assignment.number,
        mode,
        transaction_length,
        hang,
        block_bytes: assignment.blocks.as_ref().map_or(0, |blocks| blocks.block_bytes()),
        reader,
        writer,
        random: &mut randoms(seed, assignment.number),
        acknowledge: &mut acknowledge,
        shared,
        desk,
    }
    .run();
}
