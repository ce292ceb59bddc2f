//! Results that only steps through a database have.

use super::{Answer, CurvePoint, Environment, Head, LimitValue, Physical};
use crate::caveat::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of a database test. Reads, updates and commits with their latencies are in the fields of every
/// step: reads of blocks in `read`, updates of subscripts in `write`, commits in `sync`.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseResult {
    /// `read`, `write`, `io` or `readers-writers`.
    pub mode: String,
    /// Number of the last worker that updates; those above it read. Only in mode `readers-writers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writers: Option<u32>,
    /// Transactions acknowledged: those that read, and those that committed.
    pub transactions: u64,
    /// Transactions that read.
    pub read_transactions: u64,
    /// Percentage of transactions requested to read; only in mode `io`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent_asked: Option<f64>,
    /// True if reads bypassed all caches and accessed the database's files directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_direct: Option<bool>,
    /// Percentage of the blocks read through a server that were in its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_hit_percent: Option<f64>,
    /// Transactions and operations of each worker.
    pub workers: Vec<DatabaseWorker>,
    /// Counts of the database from the first transaction to the last, including ramp time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<DatabaseCounts>,
    /// The values of the limits' statistics, in the order of the limits; empty without limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitValue>,
    /// Cycles of the write daemon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<DaemonCycle>,
    /// The wait for the write daemon, if requested (`--drain`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<Drain>,
    /// Bytes written by the devices per byte updated, including the drain if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_per_updated: Option<f64>,
    /// Dirty blocks per write of the devices during the drain; missing without a drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_per_device_write: Option<f64>,
}

/// A worker of a database test.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseWorker {
    /// Number of the worker and of its global, from 1.
    pub worker: u32,
    /// Time the worker ran, in seconds.
    pub seconds: f64,
    /// Blocks read.
    pub reads: u64,
    /// Subscripts updated.
    pub updates: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Mean latency of reads, in nanoseconds; 0 if there were none.
    pub read_latency_ns_mean: f64,
    /// Mean latency of updates, in nanoseconds; 0 if there were none.
    pub update_latency_ns_mean: f64,
    /// Mean latency of commits, in nanoseconds; 0 if there were none.
    pub commit_latency_ns_mean: f64,
}

/// The database's counts and iogauge's over the same time.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseCounts {
    /// Updates made by iogauge, including ramp time.
    pub updates_made: u64,
    /// Updates counted by the database; `None` if it does not count them.
    pub updates: Option<u64>,
    /// Commits acknowledged to iogauge, including ramp time.
    pub commits_made: u64,
    /// Commits counted by the database; `None` if it does not count them.
    pub commits: Option<u64>,
    /// Blocks the database requested from the operating system.
    pub blocks_read: Option<u64>,
    /// Blocks found in the database's cache.
    pub blocks_hit: Option<u64>,
    /// Blocks the database passed to the operating system to write.
    pub blocks_written: Option<u64>,
    /// Bytes written to the database's log.
    pub log_bytes: Option<u64>,
    /// Other counts of the database: name, ending in the unit, and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<(String, u64)>,
}

impl DatabaseCounts {
    /// True if the database's counts differ from iogauge's.
    #[must_use]
    pub fn differ(&self) -> bool {
        let other = |theirs: Option<u64>, ours| theirs.is_some_and(|theirs| theirs != ours);
        other(self.updates, self.updates_made) || other(self.commits, self.commits_made)
    }
}

/// A cycle of a write daemon.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DaemonCycle {
    /// End of the cycle, in seconds since the measurement began.
    pub at_seconds: f64,
    /// Duration, in seconds.
    pub seconds: f64,
    /// Blocks written.
    pub blocks: u64,
}

/// The wait until all committed data was in the data files.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Drain {
    /// Duration, in seconds.
    pub seconds: f64,
    /// I/O of the devices during the wait.
    pub physical: Option<Physical>,
}

/// Result of `iogauge db verify`.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseCheck {
    /// [`super::DB_VERIFY_FORMAT`].
    pub format: String,
    /// Values checked.
    pub values: u64,
    /// Values that differ from what the last run or the creation of globals wrote.
    pub wrong: u64,
    /// Descriptions of the first wrong values.
    pub named: Vec<String>,
    /// True if it is known which transactions of the last run were acknowledged.
    pub acknowledged_known: bool,
    /// Acknowledged transactions of the last run.
    pub acknowledged: u64,
    /// Acknowledged transactions that are missing.
    pub lost: u64,
    /// Each worker of the last run.
    pub workers: Vec<WorkerCheck>,
    /// What a commit may lose, if commits do not wait for the log.
    pub may_lose: Option<String>,
}

impl DatabaseCheck {
    /// True if no value is wrong and no acknowledged transaction is missing.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.wrong == 0 && self.lost == 0
    }
}

/// Transactions of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WorkerCheck {
    /// Number of the worker.
    pub worker: u32,
    /// Number of the last acknowledged transaction.
    pub acknowledged: u64,
    /// Number of the last transaction in the database.
    pub committed: u64,
    /// Acknowledged transactions that are missing.
    pub lost: u64,
}

/// The document of `iogauge db beside`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BesideDocument {
    /// Format, version, run, target, workload.
    #[serde(flatten)]
    pub head: Head,
    /// Capacity of the device under the database, with blocks of the database's size.
    pub device: BesideSide,
    /// Capacity of the database on the device; `None` if the run ended before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<BesideSide>,
    /// I/Os per second of the devices at the database's capacity. `None` if the I/O of the devices is not
    /// known, as are the next two fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_iops: Option<f64>,
    /// Bytes per second of the devices at the database's capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_bytes_per_sec: Option<f64>,
    /// Percentage of the device's capacity that the database reaches, in I/Os or in bytes, whichever is
    /// larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_percent: Option<f64>,
    /// What limits the database, in words; empty if the run ended before this was known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back_by: Vec<String>,
    /// Reasons why the result may mislead.
    pub caveats: Vec<Caveat>,
    /// The machine.
    pub environment: Environment,
}

/// One side of the comparison of a database with its device.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BesideSide {
    /// Short description of the workload.
    pub load: String,
    /// The capacity.
    pub answer: Answer,
    /// The measured points.
    pub curve: Vec<CurvePoint>,
}
