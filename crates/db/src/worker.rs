//! The loop of one worker: it reads blocks, updates subscripts, waits for the hang time, and publishes its counts.

use crate::backend::{Order, RunPlan, Writer};
use crate::blocks::BlockReader;
use crate::counts::WorkerCounts;
use crate::error::DbError;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum time that a writer may spend on transactions on its own before it returns.
const SLICE: Duration = Duration::from_millis(50);
/// Interval between checks of a worker that is not active.
const REST: Duration = Duration::from_millis(2);
/// Interval between checks of a worker in its hang time, whether to stop and whether its counts are requested.
const LOOK: Duration = Duration::from_millis(20);

/// What the workers of a pool do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Reads random blocks.
    Read,
    /// Updates random subscripts of its own global, one transaction at a time.
    Write,
    /// Chooses at random for each transaction whether it reads or updates.
    Io {
        /// Share of the transactions that read, from 0 to 100.
        read_percent: u32,
    },
    /// Workers up to this number update, and those above it read.
    ReadersWriters {
        /// Number of the last worker that updates.
        writers: u32,
    },
}

impl Mode {
    /// Returns its name on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Io { .. } => "io",
            Self::ReadersWriters { .. } => "readers-writers",
        }
    }

    /// Returns the share of a worker's transactions that read, from 0 to 100, given its number in the database.
    #[must_use]
    pub fn read_percent(self, worker: u32) -> u32 {
        match self {
            Self::Read => 100,
            Self::Write => 0,
            Self::Io { read_percent } => read_percent,
            Self::ReadersWriters { writers } if worker <= writers => 0,
            Self::ReadersWriters { .. } => 100,
        }
    }

    /// Returns the number of workers that update, given the number of all. They are the first ones.
    #[must_use]
    pub fn writers(self, workers: u32) -> u32 {
        match self {
            Self::ReadersWriters { writers } => writers.min(workers),
            mode => {
                if mode.writes() {
                    workers
                } else {
                    0
                }
            }
        }
    }

    /// Returns the plan of a run with this number of workers.
    #[must_use]
    pub fn run_plan(self, workers: u32) -> RunPlan {
        RunPlan { writers: self.writers(workers), reads: self.reads() }
    }

    /// Returns true if blocks are read.
    #[must_use]
    pub fn reads(self) -> bool {
        match self {
            Self::Read => true,
            Self::Write => false,
            Self::Io { read_percent } => read_percent > 0,
            Self::ReadersWriters { .. } => true,
        }
    }

    /// Returns true if subscripts are updated.
    #[must_use]
    pub fn writes(self) -> bool {
        match self {
            Self::Read => false,
            Self::Write => true,
            Self::Io { read_percent } => read_percent < 100,
            Self::ReadersWriters { writers } => writers > 0,
        }
    }
}

/// State shared by all workers of a pool.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// This many of the workers, the first ones, are active. The others are idle.
    pub active: AtomicU32,
    /// Set when all workers must stop.
    pub stop: AtomicBool,
    /// The first error, with its worker's number.
    pub fault: Mutex<Option<(u32, DbError)>>,
}

impl Shared {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn fail(&self, worker: u32, error: DbError) {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert((worker, error));
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Control block of one worker. The controller requests counts here, and the worker publishes them.
#[derive(Debug, Default)]
pub(crate) struct ControlBlock {
    /// Set while the controller requests the counts so far.
    pub wanted: AtomicBool,
    /// Counts that have been published but not taken yet.
    counts: Mutex<WorkerCounts>,
    /// Notified when counts are published.
    published: Condvar,
    /// True if the worker has ended.
    ended: AtomicBool,
    /// True while the worker is in the database or in its hang time, false while it is idle.
    works: AtomicBool,
    /// Last transaction of the worker that the database acknowledged; 0 before the first one.
    pub acknowledged: AtomicU64,
}

impl ControlBlock {
    /// Waits until the requested counts are published, the worker has ended, or the deadline has passed. Returns the
    /// published counts. Sleeps while waiting, because polling would take processor time from the measured workers.
    pub(crate) fn take(&self, until: Instant) -> WorkerCounts {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        while self.wanted.load(Ordering::Acquire) && !self.ended.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.published.wait_timeout(counts, left);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut *counts)
    }

    fn publish(&self, counts: &mut WorkerCounts) {
        let mut published = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        published.merge(counts);
        self.wanted.store(false, Ordering::Release);
        drop(published);
        self.published.notify_all();
        *counts = WorkerCounts::default();
    }

    /// Returns true if the worker is active or idle as requested, and has published everything it did before.
    pub(crate) fn is_settled(&self, is_active: bool) -> bool {
        self.works.load(Ordering::Acquire) == is_active || self.ended.load(Ordering::Acquire)
    }

    fn end(&self) {
        let held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.store(true, Ordering::Release);
        drop(held);
        self.published.notify_all();
    }
}

/// A worker that executes transactions, with everything it needs.
pub(crate) struct TransactionWorker<'a> {
    /// Its place among the workers of the pool, from 0.
    pub index: u32,
    /// Its number in the database.
    pub number: u32,
    /// Share of its transactions that read, from 0 to 100.
    pub read_percent: u32,
    pub transaction_length: u32,
    pub hang: Duration,
    pub block_bytes: u64,
    pub reader: Option<Box<dyn BlockReader>>,
    pub writer: Option<Box<dyn Writer>>,
    pub random: &'a mut dyn FnMut() -> u64,
    /// Called with the number of each acknowledged transaction.
    pub acknowledge: &'a mut dyn FnMut(u64) -> Result<(), DbError>,
    pub shared: &'a Shared,
    pub control: &'a ControlBlock,
}

impl TransactionWorker<'_> {
    /// Executes transactions until the pool stops or one fails.
    pub(crate) fn run(&mut self) {
        let mut counts = WorkerCounts::default();
        let mut since = Instant::now();
        while self.shared.goes_on() {
            if !self.is_active() {
                self.publish(&mut counts, &mut since);
                self.control.works.store(false, Ordering::Release);
                std::thread::sleep(REST);
                // Idle time is not counted.
                since = Instant::now();
                continue;
            }
            self.control.works.store(true, Ordering::Release);
            if let Err(error) = self.turn(&mut counts, &mut since) {
                counts.errors += 1;
                self.shared.fail(self.number, error);
            }
            self.publish_if_wanted(&mut counts, &mut since);
        }
        self.publish(&mut counts, &mut since);
        self.control.end();
    }

    /// Executes one transaction of reads, or one or more of updates, and waits for the hang time.
    fn turn(&mut self, counts: &mut WorkerCounts, since: &mut Instant) -> Result<(), DbError> {
        let reads = match self.read_percent {
            0 => false,
            100.. => true,
            percent => (self.random)() % 100 < u64::from(percent),
        };
        match (&mut self.reader, &mut self.writer) {
            (Some(_), _) if reads => self.read(counts, since)?,
            (_, Some(writer)) if !reads => {
                // In a mix the next transaction may be of the other kind, and hang time follows each transaction.
                let by_itself = self.read_percent == 0 && self.hang.is_zero();
                let transactions = if by_itself { u32::MAX } else { 1 };
                let order = Order { transactions, until: Instant::now() + SLICE };
                let committed = writer.work(&order, counts)?;
                self.control.acknowledged.store(committed, Ordering::Relaxed);
                (self.acknowledge)(committed)?;
            }
            // The share of reads determines whether there is a reader and a writer.
            _ => {}
        }
        if !self.hang.is_zero() {
            self.pause(counts, since);
        }
        Ok(())
    }

    fn is_active(&self) -> bool {
        self.index < self.shared.active.load(Ordering::Relaxed)
    }

    /// Waits for the hang time, or until this worker becomes idle or all must stop.
    fn pause(&self, counts: &mut WorkerCounts, since: &mut Instant) {
        let end = Instant::now() + self.hang;
        while self.shared.goes_on() && self.is_active() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(LOOK));
            self.publish_if_wanted(counts, since);
        }
    }

    fn read(&mut self, counts: &mut WorkerCounts, since: &mut Instant) -> Result<(), DbError> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        for _ in 0..self.transaction_length {
            let random = (self.random)();
            let begin = Instant::now();
            let hit = reader.read(random)?;
            counts.read(nanoseconds(begin.elapsed()), self.block_bytes, hit);
            publish_if_wanted(self.control, counts, since);
            if !self.shared.goes_on() {
                return Ok(());
            }
        }
        counts.read_transactions += 1;
        Ok(())
    }

    fn publish_if_wanted(&self, counts: &mut WorkerCounts, since: &mut Instant) {
        publish_if_wanted(self.control, counts, since);
    }

    fn publish(&self, counts: &mut WorkerCounts, since: &mut Instant) {
        publish(self.control, counts, since);
    }
}

fn publish_if_wanted(control: &ControlBlock, counts: &mut WorkerCounts, since: &mut Instant) {
    if control.wanted.load(Ordering::Relaxed) {
        publish(control, counts, since);
    }
}

/// Publishes the counts and starts new ones.
fn publish(control: &ControlBlock, counts: &mut WorkerCounts, since: &mut Instant) {
    let now = Instant::now();
    counts.elapsed_ns = nanoseconds(now - *since);
    *since = now;
    control.publish(counts);
}

/// Returns a duration in nanoseconds. The maximum is 584 years.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
