//! Counts by name, as M databases write them: `SET:12,KIL:0`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedCounts(BTreeMap<String, u64>);

impl NamedCounts {
    /// Parses the counts, and ignores other text.
    pub fn read(text: &str) -> Self {
        let pairs = text.split(',').filter_map(|pair| pair.split_once(':'));
        let count =
            |(name, n): (&str, &str)| Some((name.trim().to_owned(), n.trim().parse().ok()?));
        Self(pairs.filter_map(count).collect())
    }

    /// Returns a count; 0 if it is not there.
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// Returns the updates of subscripts and the commits of one worker, from the database's counts of its process.
pub type UpdatesAndCommits = fn(&NamedCounts) -> (u64, u64);

/// The database's own counts of a run's workers that have ended.
#[derive(Debug)]
pub struct WorkerTally {
    of_worker: UpdatesAndCommits,
    updates: AtomicU64,
    commits: AtomicU64,
}

impl WorkerTally {
    /// Returns the tally of no workers.
    pub fn new(of_worker: UpdatesAndCommits) -> Self {
        Self { of_worker, updates: AtomicU64::new(0), commits: AtomicU64::new(0) }
    }

    /// Adds the counts of a worker that ends, as its process has answered.
    pub fn add(&self, answer: &str) {
        let (updates, commits) = (self.of_worker)(&NamedCounts::read(answer));
        self.updates.fetch_add(updates, Ordering::Relaxed);
        self.commits.fetch_add(commits, Ordering::Relaxed);
    }

    /// Returns the updates of subscripts.
    pub fn updates(&self) -> u64 {
        self.updates.load(Ordering::Relaxed)
    }

    /// Returns the commits.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}
