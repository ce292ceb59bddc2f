//! What verification found, from all workers of a step.

use iogauge_model::result::VerifyFault;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of findings that are kept; the others are only counted.
pub const MOST_FINDINGS: usize = 16;

/// A unit that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadUnit {
    /// Index of the file or device in the target.
    pub part: u32,
    pub offset_bytes: u64,
    pub len: u32,
    /// What is wrong with it.
    pub fault: VerifyFault,
}

/// Counts of what was judged so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Units judged.
    pub units: u64,
    /// Bytes judged.
    pub bytes: u64,
    /// Units that could not be judged.
    pub unjudged: u64,
    /// Units among them that were never written.
    pub unwritten: u64,
    /// Units that are not as they were written.
    pub corrupted: u64,
}

/// Collects the findings of workers.
#[derive(Debug, Default)]
pub struct Findings {
    units: AtomicU64,
    bytes: AtomicU64,
    unjudged: AtomicU64,
    unwritten: AtomicU64,
    corrupted: AtomicU64,
    /// Wrong units of each job.
    corrupted_of: Box<[AtomicU64]>,
    over: AtomicBool,
    first: Mutex<Vec<BadUnit>>,
}

impl Findings {
    /// Creates the findings of a step with this many jobs.
    #[must_use]
    pub fn new(jobs: usize) -> Self {
        let corrupted_of = (0..jobs).map(|_| AtomicU64::new(0)).collect();
        Self { corrupted_of, ..Self::default() }
    }

    pub(super) fn right(&self, len: u32) {
        self.units.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len.into(), Ordering::Relaxed);
    }

    /// Counts a unit that could not be judged, because it was never written or for another reason.
    pub(super) fn unjudged(&self, is_unwritten: bool) {
        self.unjudged.fetch_add(1, Ordering::Relaxed);
        self.unwritten.fetch_add(is_unwritten.into(), Ordering::Relaxed);
    }

    /// Adds a finding of a job. If `fatal`, it ends the check.
    pub(super) fn wrong(&self, job: usize, found: BadUnit, fatal: bool) {
        self.right(found.len);
        self.corrupted.fetch_add(1, Ordering::Relaxed);
        if let Some(own) = self.corrupted_of.get(job) {
            own.fetch_add(1, Ordering::Relaxed);
        }
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |known: &BadUnit| known.part == found.part && known.offset_bytes == found.offset_bytes;
        // A unit that is read again is found wrong again.
        if first.len() < MOST_FINDINGS && !first.iter().any(same) {
            first.push(found);
        }
        if fatal {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if a finding has ended the check.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Returns the counts of what was judged so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            units: load(&self.units),
            bytes: load(&self.bytes),
            unjudged: load(&self.unjudged),
            unwritten: load(&self.unwritten),
            corrupted: load(&self.corrupted),
        }
    }

    /// Returns the number of wrong units of a job.
    #[must_use]
    pub fn corrupted_of(&self, job: usize) -> u64 {
        self.corrupted_of.get(job).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Returns the first findings, in order of part and offset.
    #[must_use]
    pub fn first(&self) -> Vec<BadUnit> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner).clone();
        first.sort_by_key(|found| (found.part, found.offset_bytes));
        first
    }
}
