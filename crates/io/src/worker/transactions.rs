//! Sums of what the workers of a database did.

use iogauge_model::Histogram;
use serde::{Deserialize, Serialize};

/// Number and total latency of operations of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSum {
    /// Number of operations.
    pub count: u64,
    /// Sum of their latencies, in nanoseconds.
    pub latency_ns: u128,
}

impl OperationSum {
    /// Sums up latencies.
    #[must_use]
    pub fn of(latencies: &Histogram) -> Self {
        Self { count: latencies.count(), latency_ns: latencies.sum_ns() }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.latency_ns += other.latency_ns;
    }

    /// Returns the mean latency, in nanoseconds; 0 if there are no operations.
    #[must_use]
    pub fn latency_ns_mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.latency_ns as f64 / self.count as f64 }
    }
}

/// What one worker of a database did in a window, or several workers together, without histograms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionSums {
    /// Block reads.
    pub reads: OperationSum,
    /// Reads that the database reports as cache hits.
    pub read_hits: u64,
    /// Updates.
    pub updates: OperationSum,
    /// Bytes of the values written.
    pub update_bytes: u64,
    /// Commits.
    pub commits: OperationSum,
    /// Completed transactions of reads.
    pub read_transactions: u64,
    /// Time that the counts cover, by the worker's own clock, in nanoseconds.
    pub elapsed_ns: u64,
}

impl TransactionSums {
    /// Adds the sums of another window or worker.
    pub fn add(&mut self, other: &Self) {
        self.reads.add(&other.reads);
        self.read_hits += other.read_hits;
        self.updates.add(&other.updates);
        self.update_bytes += other.update_bytes;
        self.commits.add(&other.commits);
        self.read_transactions += other.read_transactions;
        self.elapsed_ns += other.elapsed_ns;
    }
}
