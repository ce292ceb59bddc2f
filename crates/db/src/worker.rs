//! The loop of one worker: reads blocks, updates subscripts, pauses, hands its counts over.

use crate::backend::{Order, Writer};
use crate::blocks::BlockReader;
use crate::counts::WorkerCounts;
use crate::error::DbError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A writer that does several transactions on its own comes back after this.
const SLICE: Duration = Duration::from_millis(50);
/// How often a worker that has nothing to do looks whether it has.
const REST: Duration = Duration::from_millis(2);
/// How often a worker that pauses looks whether all are to end, or its counts are wanted.
const LOOK: Duration = Duration::from_millis(20);

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Reads random blocks.
    Read,
    /// Updates random subscripts of its own global, a transaction at a time.
    Write,
    /// Rolls the dice for each transaction: of a hundred, so many read.
    Io {
        /// Share of the transactions that read, from 0 to 100.
        read_percent: u32,
    },
}

impl Mode {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Io { .. } => "io",
        }
    }

    /// True where blocks are read.
    #[must_use]
    pub fn reads(self) -> bool {
        match self {
            Self::Read => true,
            Self::Write => false,
            Self::Io { read_percent } => read_percent > 0,
        }
    }

    /// True where subscripts are updated.
    #[must_use]
    pub fn writes(self) -> bool {
        match self {
            Self::Read => false,
            Self::Write => true,
            Self::Io { read_percent } => read_percent < 100,
        }
    }
}

/// What all workers of a pool share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Workers up to this number work, the others rest.
    pub active: AtomicU32,
    /// All are to end.
    pub stop: AtomicBool,
    /// The first fault of any.
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

/// Where a worker meets its controller.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// The controller wants the counts so far.
    pub wanted: AtomicBool,
    /// What was handed over and not taken yet.
    counts: Mutex<WorkerCounts>,
    /// Something was handed over.
    handed: Condvar,
    /// The worker has ended.
    ended: AtomicBool,
    /// The worker is in the database, or pauses between transactions: it does not rest.
    works: AtomicBool,
}

impl Desk {
    /// Waits until the counts that are wanted are there, or the worker has ended, or it is this late; takes
    /// what is there. Whoever waits sleeps: looking again and again would take the processor from those
    /// that are measured.
    pub(crate) fn take(&self, until: Instant) -> WorkerCounts {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        while self.wanted.load(Ordering::Acquire) && !self.ended.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.handed.wait_timeout(counts, left);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut *counts)
    }

    fn hand_over(&self, counts: &mut WorkerCounts) {
        let mut handed = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        handed.merge(counts);
        self.wanted.store(false, Ordering::Release);
        drop(handed);
        self.handed.notify_all();
        *counts = WorkerCounts::default();
    }

    /// True where the worker works, or rests, as it is asked to, and all it did before is on the desk.
    pub(crate) fn is_settled(&self, is_active: bool) -> bool {
        self.works.load(Ordering::Acquire) == is_active || self.ended.load(Ordering::Acquire)
    }

    fn end(&self) {
        let held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.store(true, Ordering::Release);
        drop(held);
        self.handed.notify_all();
    }
}

/// A worker with everything it needs.
pub(crate) struct TransactionWorker<'a> {
    pub number: u32,
    pub mode: Mode,
    pub transaction_length: u32,
    pub hang: Duration,
    pub block_bytes: u64,
    pub reader: Option<Box<dyn BlockReader>>,
    pub writer: Option<Box<dyn Writer>>,
    pub random: &'a mut dyn FnMut() -> u64,
    /// Hears of each transaction that is acknowledged.
    pub acknowledge: &'a mut dyn FnMut(u64) -> Result<(), DbError>,
    pub shared: &'a Shared,
    pub desk: &'a Desk,
}

impl TransactionWorker<'_> {
    /// Works until all are to end, or something fails.
    pub(crate) fn run(&mut self) {
        let mut counts = WorkerCounts::default();
        let mut since = Instant::now();
        while self.shared.goes_on() {
            if !self.is_active() {
                self.hand_over(&mut counts, &mut since);
                self.desk.works.store(false, Ordering::Release);
                std::thread::sleep(REST);
                // Time at rest is nobody's.
                since = Instant::now();
                continue;
            }
            self.desk.works.store(true, Ordering::Release);
            if let Err(error) = self.turn(&mut counts, &mut since) {
                counts.errors += 1;
                self.shared.fail(self.number, error);
            }
            self.hand_over_if_wanted(&mut counts, &mut since);
        }
        self.hand_over(&mut counts, &mut since);
        self.desk.end();
    }

    /// A transaction of reads, or some of updates, and the pause behind it.
    fn turn(&mut self, counts: &mut WorkerCounts, since: &mut Instant) -> Result<(), DbError> {
        let reads = match self.mode {
            Mode::Read => true,
            Mode::Write => false,
            Mode::Io { read_percent } => (self.random)() % 100 < u64::from(read_percent),
        };
        match (&mut self.reader, &mut self.writer) {
            (Some(_), _) if reads => self.read(counts, since)?,
            (_, Some(writer)) if !reads => {
                // Whoever mixes rolls the dice for each, and whoever pauses does so behind each.
                let by_itself = self.mode == Mode::Write && self.hang.is_zero();
                let transactions = if by_itself { u32::MAX } else { 1 };
                let order = Order { transactions, until: Instant::now() + SLICE };
                let committed = writer.work(&order, counts)?;
                (self.acknowledge)(committed)?;
            }
            // Both are there where the mode has them.
            _ => {}
        }
        if !self.hang.is_zero() {
            self.pause(counts, since);
        }
        Ok(())
    }

    fn is_active(&self) -> bool {
        self.number <= self.shared.active.load(Ordering::Relaxed)
    }

    /// Waits for the hang time, or until this one is to rest or all are to end.
    fn pause(&self, counts: &mut WorkerCounts, since: &mut Instant) {
        let end = Instant::now() + self.hang;
        while self.shared.goes_on() && self.is_active() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(LOOK));
            self.hand_over_if_wanted(counts, since);
        }
    }

    fn read(&mut self, counts: &mut WorkerCounts, since: &mut Instant) -> Result<(), DbError> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        for _ in 0..self.transaction_length {
            let random = (self.random)();
            let begin = Instant::now();
            let hit = reader.read(random)?;
            counts.read(nanoseconds(begin.elapsed()), self.block_bytes, hit);
            hand_over_if_wanted(self.desk, counts, since);
            if !self.shared.goes_on() {
                return Ok(());
            }
        }
        counts.read_transactions += 1;
        Ok(())
    }

    fn hand_over_if_wanted(&self, counts: &mut WorkerCounts, since: &mut Instant) {
        hand_over_if_wanted(self.desk, counts, since);
    }

    fn hand_over(&self, counts: &mut WorkerCounts, since: &mut Instant) {
        hand_over(self.desk, counts, since);
    }
}

fn hand_over_if_wanted(desk: &Desk, counts: &mut WorkerCounts, since: &mut Instant) {
    if desk.wanted.load(Ordering::Relaxed) {
        hand_over(desk, counts, since);
    }
}

/// Puts the counts on the desk and begins new ones.
fn hand_over(desk: &Desk, counts: &mut WorkerCounts, since: &mut Instant) {
    let now = Instant::now();
    counts.elapsed_ns = nanoseconds(now - *since);
    *since = now;
    desk.hand_over(counts);
}

/// A duration in nanoseconds; 584 years at most.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
