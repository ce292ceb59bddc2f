//! What a step through a database did that a step on a device does not.

use super::{Answer, CurvePoint, Environment, Head, LimitValue, Physical};
use crate::caveat::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a database test did, beside reads, updates and commits with their latencies, which stand where
/// every step has them: reads of blocks as `read`, updates of subscripts as `write`, commits as `sync`.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseResult {
    /// `read`, `write` or `io`.
    pub mode: String,
    /// Transactions acknowledged: those of reads, and those that committed.
    pub transactions: u64,
    /// Of these, the ones that read.
    pub read_transactions: u64,
    /// Of a hundred transactions so many were to read; in mode `io` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent_asked: Option<f64>,
    /// True where reads went around every cache, to the database's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_direct: Option<bool>,
    /// Of the blocks read through a server, the share in percent that it had in its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_hit_percent: Option<f64>,
    /// Each worker's transactions and operations.
    pub workers: Vec<DatabaseWorker>,
    /// What the database itself counted from the first transaction to the last, ramp time included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<DatabaseCounts>,
    /// What the limits' statistics came to, in their order, where there were limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitValue>,
    /// Rounds of the write daemon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<DaemonCycle>,
    /// What waiting for the write daemon took, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<Drain>,
    /// Bytes the devices wrote for each byte updated, the drain included where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_per_updated: Option<f64>,
    /// Dirty blocks in each write of the devices while the database was drained; absent where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_per_device_write: Option<f64>,
}

/// One worker of a database test.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseWorker {
    /// Its number, from 1, and that of its global.
    pub worker: u32,
    /// Time it worked, in seconds.
    pub seconds: f64,
    /// Blocks read.
    pub reads: u64,
    /// Subscripts updated.
    pub updates: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Mean latency of its reads, in nanoseconds; 0 without any.
    pub read_latency_ns_mean: f64,
    /// Mean latency of its updates, in nanoseconds; 0 without any.
    pub update_latency_ns_mean: f64,
    /// Mean latency of its commits, in nanoseconds; 0 without any.
    pub commit_latency_ns_mean: f64,
}

/// The database's counts beside iogauge's over the same span.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseCounts {
    /// Updates that iogauge made, ramp time included.
    pub updates_made: u64,
    /// Updates that the database counted; `None` where it counts none.
    pub updates: Option<u64>,
    /// Commits that iogauge saw acknowledged, ramp time included.
    pub commits_made: u64,
    /// Commits that the database counted.
    pub commits: Option<u64>,
    /// Blocks it asked the system for.
    pub blocks_read: Option<u64>,
    /// Blocks it had in its cache.
    pub blocks_hit: Option<u64>,
    /// Blocks it handed to the system.
    pub blocks_written: Option<u64>,
    /// Bytes that went to its log.
    pub log_bytes: Option<u64>,
    /// Anything else it counts: name with its unit last, and how much.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<(String, u64)>,
}

impl DatabaseCounts {
    /// True where the database counted otherwise than iogauge.
    #[must_use]
    pub fn differ(&self) -> bool {
        let other = |theirs: Option<u64>, ours| theirs.is_some_and(|theirs| theirs != ours);
        other(self.updates, self.updates_made) || other(self.commits, self.commits_made)
    }
}

/// One round of a write daemon.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DaemonCycle {
    /// When it ended, in seconds since measuring began.
    pub at_seconds: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Blocks it wrote.
    pub blocks: u64,
}

/// Waiting until everything that was committed lay in the data files.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Drain {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What the devices did meanwhile.
    pub physical: Option<Physical>,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseCheck {
    /// [`super::DB_VERIFY_FORMAT`].
    pub format: String,
    /// Values looked at.
    pub values: u64,
    /// Values that are not what the last run or the creation of globals left there.
    pub wrong: u64,
    /// The first of them, in words.
    pub named: Vec<String>,
    /// True where it is known what the last run acknowledged.
    pub acknowledged_known: bool,
    /// Transactions of the last run that were acknowledged.
    pub acknowledged: u64,
    /// Of these, the ones that are not there.
    pub lost: u64,
    /// Each worker of the last run.
    pub workers: Vec<WorkerCheck>,
    /// What a commit that does not wait for its log may lose, where it does not.
    pub may_lose: Option<String>,
}

impl DatabaseCheck {
    /// True where everything is as it was acknowledged.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.wrong == 0 && self.lost == 0
    }
}

/// What became of one worker's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WorkerCheck {
    /// Its number.
    pub worker: u32,
    /// Its last transaction that was acknowledged.
    pub acknowledged: u64,
    /// Its last transaction that is in the database.
    pub committed: u64,
    /// Transactions that were acknowledged and are not there.
    pub lost: u64,
}

/// The document of `iogauge db beside`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BesideDocument {
    /// Format, version, run, target, load.
    #[serde(flatten)]
    pub head: Head,
    /// What the device under the database sustains, with blocks of the database's size.
    pub device: BesideSide,
    /// What the database on it sustains; `None` where the run was ended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<BesideSide>,
    /// I/Os a second of the devices while the database did what was found; `None` where they are not
    /// known, as the next two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_iops: Option<f64>,
    /// Bytes a second of the devices meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_bytes_per_sec: Option<f64>,
    /// Share of the device's capacity that the database reaches, in percent: of I/Os or of bytes,
    /// whichever is larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_percent: Option<f64>,
    /// What keeps it from more, in words; none where the run was ended before that was known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back_by: Vec<String>,
    /// Reasons to doubt the result.
    pub caveats: Vec<Caveat>,
    /// Where it ran.
    pub environment: Environment,
}

/// One side of the comparison of a database with its device.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BesideSide {
    /// What was asked, in a few words.
    pub load: String,
    /// The capacity.
    pub answer: Answer,
    /// Each point that was measured.
    pub curve: Vec<CurvePoint>,
}
