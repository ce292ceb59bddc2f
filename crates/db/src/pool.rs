//! Workers together: they begin at one moment, their number changes while they work, and their counts
//! are taken without stopping them.

use crate::acknowledged::Acknowledged;
use crate::backend::{Activity, Global, WorkerPlan};
use crate::blocks::{Blocks, randoms};
use crate::counts::WorkerCounts;
use crate::directory::no_thread;
use crate::error::DbError;
use crate::subscript_stream::SubscriptStream;
pub use crate::worker::Mode;
use crate::worker::{Desk, Shared, TransactionWorker};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A worker in a statement that takes long keeps its counts until the next time they are asked for.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often it is looked whether one has ended.
const LOOK: Duration = Duration::from_micros(100);
/// How long a worker may take to end what it is doing, and how long to come back from a database that was
/// abandoned: short enough that the result is kept while the user waits, whatever the database does.
const LAST_PATIENCE: Duration = Duration::from_secs(4);
const ABANDONED_PATIENCE: Duration = Duration::from_secs(2);

/// What workers are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbPoolPlan {
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
pub struct DbPool {
    activity: Arc<dyn Activity>,
    shared: Arc<Shared>,
    desks: Vec<Arc<Desk>>,
    threads: Vec<JoinHandle<()>>,
    task: Arc<Task>,
}

impl std::fmt::Debug for DbPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DbPool").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// What all workers of a pool are given.
struct Task {
    plan: DbPoolPlan,
    globals: Vec<Global>,
    sequences: Vec<u64>,
    blocks: Option<Blocks>,
    acknowledged: Option<Acknowledged>,
}

impl Task {
    /// Where a worker writes; `None` where none does.
    fn writes(&self, worker: u32) -> Option<WorkerPlan> {
        let index = worker as usize - 1;
        self.plan.mode.writes().then(|| WorkerPlan {
            worker,
            global: self.globals[index],
            sequence: self.sequences.get(index).copied().unwrap_or(0),
            draws_state: SubscriptStream::new(self.plan.seed, worker).state(),
            transaction_length: self.plan.transaction_length,
        })
    }
}

impl DbPool {
    /// Makes a pool of which nobody works yet. `sequences` has the last transaction of each worker that is
    /// committed, `globals` one for each worker that writes.
    ///
    /// # Errors
    /// Where blocks are to be read and cannot be reached, or there are fewer globals than workers.
    pub fn new(
        activity: Arc<dyn Activity>,
        plan: DbPoolPlan,
        globals: &[Global],
        sequences: &[u64],
        acknowledged: Option<Acknowledged>,
    ) -> Result<Self, DbError> {
        if plan.mode.writes() && globals.len() < plan.workers as usize {
            return Err(DbError::Usage(format!(
                "{} processes need a global each, and there are {}; hint: use --processes {} or \
                 iogauge db add-globals",
                plan.workers,
                globals.len(),
                globals.len().max(1)
            )));
        }
        let blocks = plan.mode.reads().then(|| activity.blocks()).transpose()?;
        let (globals, sequences) = (globals.to_vec(), sequences.to_vec());
        Ok(Self {
            activity,
            shared: Arc::default(),
            desks: Vec::new(),
            threads: Vec::new(),
            task: Arc::new(Task { plan, globals, sequences, blocks, acknowledged }),
        })
    }

    /// Makes a pool and connects every worker of its plan; none works before [`Self::set_active`].
    ///
    /// # Errors
    /// As [`Self::new`] and [`Self::connect`].
    pub fn start(
        activity: Arc<dyn Activity>,
        plan: DbPoolPlan,
        globals: &[Global],
        sequences: &[u64],
        acknowledged: Option<Acknowledged>,
    ) -> Result<Self, DbError> {
        let mut pool = Self::new(activity, plan, globals, sequences, acknowledged)?;
        pool.connect(plan.workers)?;
        Ok(pool)
    }

    /// Connects workers up to this number, as many as the plan has at most, without letting them work.
    /// Once the first ones are connected, it is noted what they acknowledge.
    ///
    /// # Errors
    /// The first one's that could not be made; those before it are there.
    pub fn connect(&mut self, workers: u32) -> Result<(), DbError> {
        let workers = workers.min(self.task.plan.workers);
        let (ready, readiness) = sync_channel(workers as usize);
        while self.connected() < workers {
            self.add(self.connected() + 1, ready.clone())?;
        }
        drop(ready);
        let answers: Vec<(u32, Result<(), DbError>)> = readiness.iter().collect();
        let failed =
            answers.into_iter().filter_map(|(worker, answer)| Some((worker, answer.err()?)));
        let Some((first, error)) = failed.min_by_key(|(worker, _)| *worker) else {
            // Until now nobody can have worked: the file of the run before was the one to keep.
            return self.task.acknowledged.as_ref().map_or(Ok(()), Acknowledged::begin);
        };
        // Those behind one that is missing would have numbers that nobody counts.
        self.desks.truncate(first as usize - 1);
        self.threads.truncate(first as usize - 1);
        Err(error)
    }

    fn add(
        &mut self,
        number: u32,
        ready: SyncSender<(u32, Result<(), DbError>)>,
    ) -> Result<(), DbError> {
        let desk = Arc::new(Desk::default());
        let (activity, shared) = (self.activity.clone(), self.shared.clone());
        let (task, own_desk) = (self.task.clone(), desk.clone());
        let work = move || work(number, &task, activity.as_ref(), &shared, &own_desk, ready);
        let thread = std::thread::Builder::new().name(format!("db-worker-{number}")).spawn(work);
        self.threads.push(thread.map_err(|error| no_thread(&error))?);
        self.desks.push(desk);
        Ok(())
    }

    /// Workers that are connected.
    #[must_use]
    pub fn connected(&self) -> u32 {
        self.desks.len() as u32
    }

    /// Lets so many of the connected workers work, from the first on; the others rest.
    pub fn set_active(&mut self, workers: u32) {
        self.shared.active.store(workers.min(self.connected()), Ordering::Relaxed);
    }

    /// Workers that are asked to work.
    #[must_use]
    pub fn active(&self) -> u32 {
        self.shared.active.load(Ordering::Relaxed)
    }

    /// True where the workers asked to work do, and the others rest: what they did before is in their counts.
    /// A worker that is to rest ends its transaction first.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let active = self.active() as usize;
        self.desks.iter().enumerate().all(|(index, desk)| desk.is_settled(index < active))
    }

    /// What it was made for.
    #[must_use]
    pub fn plan(&self) -> &DbPoolPlan {
        &self.task.plan
    }

    /// True where blocks are read, around every cache.
    #[must_use]
    pub fn reads_directly(&self) -> bool {
        self.task.blocks.as_ref().is_some_and(Blocks::is_direct)
    }

    /// Bytes of a block that is read; 0 where none is.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.task.blocks.as_ref().map_or(0, Blocks::block_bytes)
    }

    /// What the run has of the database.
    #[must_use]
    pub fn activity(&self) -> &dyn Activity {
        self.activity.as_ref()
    }

    /// Takes the counts of each worker since the last time.
    pub fn take_window(&mut self) -> Vec<WorkerCounts> {
        for desk in &self.desks {
            desk.wanted.store(true, Ordering::Relaxed);
        }
        let end = Instant::now() + PATIENCE;
        self.desks.iter().map(|desk| desk.take(end)).collect()
    }

    /// Ends all workers when what they are doing is done, and takes their last counts.
    pub fn stop(&mut self) -> Vec<WorkerCounts> {
        self.shared.stop.store(true, Ordering::Relaxed);
        if !self.wait_until(Instant::now() + LAST_PATIENCE) {
            self.activity.abandon();
            self.wait_until(Instant::now() + ABANDONED_PATIENCE);
        }
        // One that hangs in the database ends with this process.
        for thread in self.threads.drain(..).filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
        let now = Instant::now();
        self.desks.iter().map(|desk| desk.take(now)).collect()
    }

    /// Waits until all workers have ended; false where it is late before.
    fn wait_until(&self, end: Instant) -> bool {
        while !self.finished() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// Asks all workers to end when what they are doing is done. Nobody waits for that.
    pub fn end(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
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

impl Drop for DbPool {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The life of a worker's thread.
fn work(
    number: u32,
    task: &Task,
    activity: &dyn Activity,
    shared: &Shared,
    desk: &Desk,
    ready: SyncSender<(u32, Result<(), DbError>)>,
) {
    let connect = || {
        let writer = task.writes(number).map(|plan| activity.writer(plan)).transpose()?;
        let reader = task.blocks.as_ref().map(Blocks::reader).transpose()?;
        Ok((writer, reader))
    };
    let (answer, hands) = match connect() {
        Ok(hands) => (Ok(()), Some(hands)),
        Err(error) => (Err(error), None),
    };
    // Whoever asked waits for it.
    let _ = ready.send((number, answer));
    drop(ready);
    let Some((writer, reader)) = hands else { return };
    let DbPoolPlan { mode, transaction_length, hang, seed, .. } = task.plan;
    let mut acknowledge = |sequence| match &task.acknowledged {
        Some(acknowledged) => acknowledged.note(number, sequence),
        None => Ok(()),
    };
    TransactionWorker {
        number,
        mode,
        transaction_length,
        hang,
        block_bytes: task.blocks.as_ref().map_or(0, Blocks::block_bytes),
        reader,
        writer,
        random: &mut randoms(seed, number),
        acknowledge: &mut acknowledge,
        shared,
        desk,
    }
    .run();
}
