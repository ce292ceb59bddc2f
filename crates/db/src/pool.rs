//! A pool of workers. They start together, their number can change while they run, and windows are taken without
//! stopping them.

use crate::acknowledged::Acknowledged;
use crate::backend::{Activity, Global, WorkerPlan};
use crate::blocks::{Blocks, randoms};
use crate::counts::WorkerCounts;
use crate::directory::no_thread;
use crate::error::DbError;
use crate::subscript_stream::SubscriptStream;
pub use crate::worker::Mode;
use crate::worker::{ControlBlock, Shared, TransactionWorker};
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum wait for published counts. A worker in a long statement publishes them at the next request.
const PATIENCE: Duration = Duration::from_millis(100);
/// Interval between checks whether a worker has ended.
const LOOK: Duration = Duration::from_micros(100);
/// Maximum wait for workers to end their transactions, and to return after the database was abandoned. Both are short,
/// so that the result is kept while the user waits, whatever the database does.
const LAST_PATIENCE: Duration = Duration::from_secs(4);
const ABANDONED_PATIENCE: Duration = Duration::from_secs(2);

/// The numbers of a pool's workers in the database. Worker `n` writes only to global `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerNumbers {
    /// Number of the first worker, at least 1.
    pub first: u32,
    /// Distance from one number to the next: the number of pools that share the database.
    pub step: u32,
}

impl WorkerNumbers {
    /// The numbers 1, 2, 3 …: one pool has the database to itself.
    pub const ALONE: Self = Self { first: 1, step: 1 };

    /// Returns the number of a worker, given its place in the pool, from 0.
    #[must_use]
    pub fn of(self, index: u32) -> u32 {
        self.first + index * self.step
    }
}

/// The workload of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbPoolPlan {
    /// What the workers do.
    pub mode: Mode,
    /// Maximum number of active workers.
    pub workers: u32,
    /// Their numbers.
    pub numbers: WorkerNumbers,
    /// Number of updates or reads in a transaction, at least 1.
    pub transaction_length: u32,
    /// Hang time: the wait after each transaction.
    pub hang: Duration,
    /// Seed of all random streams.
    pub seed: u64,
}

/// Worker threads on one database.
pub struct DbPool {
    activity: Arc<dyn Activity>,
    shared: Arc<Shared>,
    controls: Vec<Arc<ControlBlock>>,
    threads: Vec<JoinHandle<()>>,
    input: Arc<WorkerInput>,
}

impl std::fmt::Debug for DbPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DbPool").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// Input common to all workers of a pool.
struct WorkerInput {
    plan: DbPoolPlan,
    globals: Vec<Global>,
    sequences: Vec<u64>,
    blocks: Option<Blocks>,
    acknowledged: Option<Arc<Acknowledged>>,
}

impl WorkerInput {
    /// Returns what a worker writes; `None` for one without updates.
    fn writes(&self, worker: u32) -> Option<WorkerPlan> {
        let index = worker as usize - 1;
        (self.plan.mode.read_percent(worker) < 100).then(|| WorkerPlan {
            worker,
            global: self.globals[index],
            sequence: self.sequences.get(index).copied().unwrap_or(0),
            draws_state: SubscriptStream::new(self.plan.seed, worker).state(),
            transaction_length: self.plan.transaction_length,
        })
    }
}

impl DbPool {
    /// Creates a pool without active workers. `sequences` contains the last committed transaction of each worker, by
    /// its number, and `globals` one global for each worker that writes.
    ///
    /// # Errors
    /// Fails if blocks are to be read but are not accessible, or if there are fewer globals than workers.
    pub fn new(
        activity: Arc<dyn Activity>,
        plan: DbPoolPlan,
        globals: &[Global],
        sequences: &[u64],
        acknowledged: Option<Arc<Acknowledged>>,
    ) -> Result<Self, DbError> {
        let highest = plan.workers.checked_sub(1).map_or(0, |last| plan.numbers.of(last));
        let highest = plan.mode.writers(highest);
        if globals.len() < highest as usize {
            return Err(DbError::Usage(format!(
                "{highest} processes need a global each, and there are {}; hint: use at most {}, or \
                 iogauge db add-globals",
                globals.len(),
                globals.len().max(1)
            )));
        }
        let blocks = plan.mode.reads().then(|| activity.blocks()).transpose()?;
        let (globals, sequences) = (globals.to_vec(), sequences.to_vec());
        Ok(Self {
            activity,
            shared: Arc::default(),
            controls: Vec::new(),
            threads: Vec::new(),
            input: Arc::new(WorkerInput { plan, globals, sequences, blocks, acknowledged }),
        })
    }

    /// Creates a pool and connects every worker of its plan. None is active before [`Self::set_active`].
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
        let acknowledged = acknowledged.map(Arc::new);
        let mut pool = Self::new(activity, plan, globals, sequences, acknowledged)?;
        pool.connect(plan.workers)?;
        Ok(pool)
    }

    /// Connects workers up to this number, limited by the plan. They stay idle. Acknowledged transactions are recorded
    /// from the first connection on.
    ///
    /// # Errors
    /// Returns the error of the first worker that could not be connected. Those before it stay connected.
    pub fn connect(&mut self, workers: u32) -> Result<(), DbError> {
        let workers = workers.min(self.input.plan.workers);
        let (ready, readiness) = sync_channel(workers as usize);
        while self.connected() < workers {
            self.add(self.connected(), ready.clone())?;
        }
        drop(ready);
        let answers: Vec<(u32, Result<(), DbError>)> = readiness.iter().collect();
        let failed = answers.into_iter().filter_map(|(index, answer)| Some((index, answer.err()?)));
        let Some((first, error)) = failed.min_by_key(|(index, _)| *index) else {
            // No worker was active before this point, so the file of the previous run is replaced only now.
            return self.input.acknowledged.as_ref().map_or(Ok(()), |file| file.begin());
        };
        // Workers after a missing one are dropped, because they would have numbers that are not counted.
        self.controls.truncate(first as usize);
        self.threads.truncate(first as usize);
        Err(error)
    }

    fn add(
        &mut self,
        index: u32,
        ready: SyncSender<(u32, Result<(), DbError>)>,
    ) -> Result<(), DbError> {
        let number = self.input.plan.numbers.of(index);
        let control = Arc::new(ControlBlock::default());
        let (activity, shared) = (self.activity.clone(), self.shared.clone());
        let (input, own_control) = (self.input.clone(), control.clone());
        let work = move || work(index, &input, activity.as_ref(), &shared, &own_control, ready);
        let thread = std::thread::Builder::new().name(format!("db-worker-{number}")).spawn(work);
        self.threads.push(thread.map_err(|error| no_thread(&error))?);
        self.controls.push(control);
        Ok(())
    }

    /// Returns the number of connected workers.
    #[must_use]
    pub fn connected(&self) -> u32 {
        self.controls.len() as u32
    }

    /// Makes the first `workers` connected workers active and the others idle.
    pub fn set_active(&mut self, workers: u32) {
        self.shared.active.store(workers.min(self.connected()), Ordering::Relaxed);
    }

    /// Returns the number of workers that are requested to be active.
    #[must_use]
    pub fn active(&self) -> u32 {
        self.shared.active.load(Ordering::Relaxed)
    }

    /// Returns true if every worker is active or idle as requested, and its earlier work is in its counts. A worker
    /// ends its transaction before it becomes idle.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let active = self.active() as usize;
        self.controls.iter().enumerate().all(|(index, control)| control.is_settled(index < active))
    }

    /// Returns the plan it was created for.
    #[must_use]
    pub fn plan(&self) -> &DbPoolPlan {
        &self.input.plan
    }

    /// Returns true if blocks are read without any cache.
    #[must_use]
    pub fn reads_directly(&self) -> bool {
        self.input.blocks.as_ref().is_some_and(Blocks::is_direct)
    }

    /// Returns the block size in bytes; 0 if no blocks are read.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.input.blocks.as_ref().map_or(0, Blocks::block_bytes)
    }

    /// Returns the run on the database.
    #[must_use]
    pub fn activity(&self) -> &dyn Activity {
        self.activity.as_ref()
    }

    /// Takes a window: returns the counts of each worker since the previous call.
    pub fn take_window(&mut self) -> Vec<WorkerCounts> {
        for control in &self.controls {
            control.wanted.store(true, Ordering::Relaxed);
        }
        let end = Instant::now() + PATIENCE;
        self.controls.iter().map(|control| control.take(end)).collect()
    }

    /// Stops all workers after their current transaction, and returns their last counts.
    pub fn stop(&mut self) -> Vec<WorkerCounts> {
        self.shared.stop.store(true, Ordering::Relaxed);
        if !self.wait_until(Instant::now() + LAST_PATIENCE) {
            self.activity.abandon();
            self.wait_until(Instant::now() + ABANDONED_PATIENCE);
        }
        // A worker that hangs in the database ends with this process.
        for thread in self.threads.drain(..).filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
        let now = Instant::now();
        self.controls.iter().map(|control| control.take(now)).collect()
    }

    /// Waits until all workers have ended. Returns false if the deadline passes first.
    fn wait_until(&self, end: Instant) -> bool {
        while !self.finished() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// Asks all workers to stop after their current transaction, without waiting.
    pub fn end(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Returns true if all workers have ended, because one failed or all were stopped. A pool without workers has not
    /// ended before it is stopped.
    #[must_use]
    pub fn finished(&self) -> bool {
        let is_stopped = self.shared.stop.load(Ordering::Relaxed);
        (is_stopped || !self.threads.is_empty()) && self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Returns the number of each worker and its last transaction that the database acknowledged, for workers with
    /// one.
    #[must_use]
    pub fn acknowledged(&self) -> Vec<(u32, u64)> {
        let last = (0..).zip(&self.controls).map(|(index, control)| {
            (self.input.plan.numbers.of(index), control.acknowledged.load(Ordering::Relaxed))
        });
        last.filter(|(_, sequence)| *sequence > 0).collect()
    }

    /// Returns the first error, with the worker's number.
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

/// The main function of a worker's thread.
fn work(
    index: u32,
    input: &WorkerInput,
    activity: &dyn Activity,
    shared: &Shared,
    control: &ControlBlock,
    ready: SyncSender<(u32, Result<(), DbError>)>,
) {
    let DbPoolPlan { mode, numbers, transaction_length, hang, seed, .. } = input.plan;
    let number = numbers.of(index);
    let read_percent = mode.read_percent(number);
    let connect = || {
        let writer = input.writes(number).map(|plan| activity.writer(plan)).transpose()?;
        let blocks = input.blocks.as_ref().filter(|_| read_percent > 0);
        let reader = blocks.map(Blocks::reader).transpose()?;
        Ok((writer, reader))
    };
    let (answer, connected) = match connect() {
        Ok(connected) => (Ok(()), Some(connected)),
        Err(error) => (Err(error), None),
    };
    // The caller of `connect` waits for this answer.
    let _ = ready.send((index, answer));
    drop(ready);
    let Some((writer, reader)) = connected else { return };
    // Writers have a hang time so that the database catches up; readers beside them go on.
    let only_reads = matches!(mode, Mode::ReadersWriters { .. }) && read_percent == 100;
    let hang = if only_reads { Duration::ZERO } else { hang };
    let mut acknowledge = |sequence| match &input.acknowledged {
        Some(acknowledged) => acknowledged.note(number, sequence),
        None => Ok(()),
    };
    TransactionWorker {
        index,
        number,
        read_percent,
        transaction_length,
        hang,
        block_bytes: input.blocks.as_ref().map_or(0, Blocks::block_bytes),
        reader,
        writer,
        random: &mut randoms(seed, number),
        acknowledge: &mut acknowledge,
        shared,
        control,
    }
    .run();
}
