//! Counts and latencies of workers.

use iogauge_io::worker::transactions::{OperationSum, TransactionSums};
use iogauge_model::Histogram;

/// Counts and latencies of one worker.
#[derive(Debug, Clone)]
pub struct WorkerCounts {
    /// Latencies of block reads.
    pub reads: Histogram,
    /// Bytes read.
    pub read_bytes: u64,
    /// Reads that the database reports as cache hits.
    pub read_hits: u64,
    /// Latencies of updates.
    pub updates: Histogram,
    /// Bytes of the values written.
    pub update_bytes: u64,
    /// Latencies of commits. Each commit acknowledges a transaction.
    pub commits: Histogram,
    /// Completed transactions of reads.
    pub read_transactions: u64,
    /// Reads, updates and commits that failed.
    pub errors: u64,
    /// Time spent in the database, without hang time, in nanoseconds.
    pub busy_ns: u64,
    /// Time that the counts cover, by the worker's own clock, in nanoseconds.
    pub elapsed_ns: u64,
}

impl Default for WorkerCounts {
    /// Creates counts that use no memory for unused histograms, because a worker starts new ones each time it
    /// publishes.
    fn default() -> Self {
        Self {
            reads: Histogram::empty(),
            read_bytes: 0,
            read_hits: 0,
            updates: Histogram::empty(),
            update_bytes: 0,
            commits: Histogram::empty(),
            read_transactions: 0,
            errors: 0,
            busy_ns: 0,
            elapsed_ns: 0,
        }
    }
}

impl WorkerCounts {
    /// Records a read of a block.
    pub fn read(&mut self, ns: u64, bytes: u64, hit: bool) {
        self.reads.record(ns);
        self.read_bytes += bytes;
        self.read_hits += u64::from(hit);
        self.busy_ns = self.busy_ns.saturating_add(ns);
    }

    /// Records an update of a value of `bytes` bytes.
    pub fn update(&mut self, ns: u64, bytes: u64) {
        self.updates_of(ns, 1, bytes);
    }

    /// Records `n` updates of equal latency, with `bytes` bytes in total.
    pub fn updates_of(&mut self, ns: u64, n: u64, bytes: u64) {
        self.updates.record_n(ns, n);
        self.update_bytes += bytes;
        self.busy_ns = self.busy_ns.saturating_add(ns.saturating_mul(n));
    }

    /// Records a commit.
    pub fn commit(&mut self, ns: u64) {
        self.commits_of(ns, 1);
    }

    /// Records `n` commits of equal latency.
    pub fn commits_of(&mut self, ns: u64, n: u64) {
        self.commits.record_n(ns, n);
        self.busy_ns = self.busy_ns.saturating_add(ns.saturating_mul(n));
    }

    /// Adds the counts of the same or another worker.
    pub fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.read_bytes += other.read_bytes;
        self.read_hits += other.read_hits;
        self.updates.merge(&other.updates);
        self.update_bytes += other.update_bytes;
        self.commits.merge(&other.commits);
        self.read_transactions += other.read_transactions;
        self.errors += other.errors;
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
        self.elapsed_ns += other.elapsed_ns;
    }

    /// Returns the number of completed reads and updates.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.reads.count() + self.updates.count()
    }

    /// Returns the counts without histograms.
    #[must_use]
    pub fn sums(&self) -> TransactionSums {
        TransactionSums {
            reads: OperationSum::of(&self.reads),
            read_hits: self.read_hits,
            updates: OperationSum::of(&self.updates),
            update_bytes: self.update_bytes,
            commits: OperationSum::of(&self.commits),
            read_transactions: self.read_transactions,
            elapsed_ns: self.elapsed_ns,
        }
    }
}
