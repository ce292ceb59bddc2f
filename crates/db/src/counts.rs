//! What a worker writes down.

use iogauge_model::Histogram;

/// What one worker did.
#[derive(Debug, Clone)]
pub struct WorkerCounts {
    /// Latencies of block reads.
    pub reads: Histogram,
    /// Bytes read.
    pub read_bytes: u64,
    /// Of the reads, those the database says it had in its cache.
    pub read_hits: u64,
    /// Latencies of updates.
    pub updates: Histogram,
    /// Bytes of the values written.
    pub update_bytes: u64,
    /// Latencies of commits; each is a transaction that is acknowledged.
    pub commits: Histogram,
    /// Transactions of reads that are done.
    pub read_transactions: u64,
    /// Reads, updates and commits that failed.
    pub errors: u64,
    /// Time spent in the database, pauses excluded, in nanoseconds.
    pub busy_ns: u64,
    /// Time from the begin of these counts to their end, by the worker's own clock, in nanoseconds.
    pub elapsed_ns: u64,
}

impl Default for WorkerCounts {
    /// WorkerCounts without memory for what is not counted: a worker begins new ones whenever it hands over.
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
    /// Notes a read of a block.
    pub fn read(&mut self, ns: u64, bytes: u64, hit: bool) {
        self.reads.record(ns);
        self.read_bytes += bytes;
        self.read_hits += u64::from(hit);
        self.busy_ns = self.busy_ns.saturating_add(ns);
    }

    /// Notes an update of a value of so many bytes.
    pub fn update(&mut self, ns: u64, bytes: u64) {
        self.updates_of(ns, 1, bytes);
    }

    /// Notes `n` updates that took equally long, of so many bytes together.
    pub fn updates_of(&mut self, ns: u64, n: u64, bytes: u64) {
        self.updates.record_n(ns, n);
        self.update_bytes += bytes;
        self.busy_ns = self.busy_ns.saturating_add(ns.saturating_mul(n));
    }

    /// Notes a commit.
    pub fn commit(&mut self, ns: u64) {
        self.commits_of(ns, 1);
    }

    /// Notes `n` commits that took equally long.
    pub fn commits_of(&mut self, ns: u64, n: u64) {
        self.commits.record_n(ns, n);
        self.busy_ns = self.busy_ns.saturating_add(ns.saturating_mul(n));
    }

    /// Adds what the same or another worker did.
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

    /// Reads and updates that are done.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.reads.count() + self.updates.count()
    }
}

/// How many operations of one kind there were, and how long they took together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Operations.
    pub count: u64,
    /// Their latencies summed up, in nanoseconds.
    pub latency_ns: u128,
}

impl Sum {
    fn add(&mut self, latencies: &Histogram) {
        self.count += latencies.count();
        self.latency_ns += latencies.sum_ns();
    }

    /// Mean latency, in nanoseconds; 0 without any operation.
    #[must_use]
    pub fn latency_ns_mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.latency_ns as f64 / self.count as f64 }
    }
}

/// WorkerCounts summed up: what is kept of each worker over a run, without its histograms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Block reads.
    pub reads: Sum,
    /// Of the reads, those the database says it had in its cache.
    pub read_hits: u64,
    /// Updates.
    pub updates: Sum,
    /// Commits.
    pub commits: Sum,
    /// Transactions of reads that are done.
    pub read_transactions: u64,
    /// Time the counts cover, by the worker's own clock, in nanoseconds.
    pub elapsed_ns: u64,
}

impl Sums {
    /// Adds what stands in counts.
    pub fn add(&mut self, counts: &WorkerCounts) {
        self.reads.add(&counts.reads);
        self.read_hits += counts.read_hits;
        self.updates.add(&counts.updates);
        self.commits.add(&counts.commits);
        self.read_transactions += counts.read_transactions;
        self.elapsed_ns += counts.elapsed_ns;
    }
}
