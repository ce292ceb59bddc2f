//! What is asked of a target: direction mix, block sizes, offsets, concurrency, arrivals.

mod block;
mod check;
mod content;
mod cpus;
mod engine;
mod offsets;
pub mod options;
mod pattern;
mod verify;

pub use block::{BlockRange, BlockSizes, BlockSplit};
pub use content::Content;
pub use cpus::{CpuPolicy, Cpus};
pub use engine::{EngineKind, REMOTE_ENGINES};
pub use offsets::{Distribution, Zone};
pub use pattern::{Modifier, Pattern, Rw, Sequencer};
pub use verify::{AlgorithmInfo, Verify, VerifyAlgorithm, VerifyPattern, VerifyRound};

use crate::units::size_word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A part of a load that could not be read: what it was, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {reason}")]
pub struct LoadError {
    /// The option, by its fio name.
    pub option: &'static str,
    /// What is wrong and what would be right.
    pub reason: String,
}

impl LoadError {
    pub(crate) fn new(option: &'static str, reason: impl Into<String>) -> Self {
        Self { option, reason: reason.into() }
    }
}

/// Whether writes wait for the medium: fio's `sync`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// Writes may stay in the device's cache.
    #[default]
    None,
    /// `O_DSYNC`: data is on the medium when a write returns.
    Dsync,
    /// `O_SYNC`: data and all metadata are.
    Sync,
}

impl SyncMode {
    /// The word used on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Dsync => "dsync",
            Self::Sync => "sync",
        }
    }
}

impl FromStr for SyncMode {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        match text {
            "0" | "none" => Ok(Self::None),
            "dsync" => Ok(Self::Dsync),
            "1" | "sync" => Ok(Self::Sync),
            _ => Err(LoadError::new("sync", format!("\"{text}\" is not one of none, sync, dsync"))),
        }
    }
}

/// How scheduled arrivals are spaced: fio's `rate_process`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalProcess {
    /// Evenly spaced.
    #[default]
    Linear,
    /// Exponential gaps: arrivals that know nothing of each other.
    Poisson,
}

impl ArrivalProcess {
    /// The word used on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Poisson => "poisson",
        }
    }
}

impl FromStr for ArrivalProcess {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        match text {
            "linear" | "fixed" => Ok(Self::Linear),
            "poisson" => Ok(Self::Poisson),
            _ => Err(LoadError::new(
                "rate_process",
                format!("\"{text}\" is not one of linear, poisson"),
            )),
        }
    }
}

/// Arrivals scheduled at a rate.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Arrivals {
    /// Rate over all workers of the job, in I/Os per second, above 0.
    pub rate_iops: f64,
    /// Spacing.
    pub process: ArrivalProcess,
}

/// How many I/Os are handed over and taken back at once: fio's `iodepth_batch_*`.
///
/// Batches save system calls and lower the depth achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Batch {
    /// Most I/Os submitted in one call; 0 for as many as were reaped.
    pub submit: u32,
    /// Completions to wait for, at least 1.
    pub complete_min: u32,
    /// Most completions taken at once. 0 lets the worker choose where it chooses the others, too: one as
    /// long as it has time to spare, else all there are.
    pub complete_max: u32,
}

impl Default for Batch {
    fn default() -> Self {
        Self { submit: 0, complete_min: 1, complete_max: 0 }
    }
}

/// Pauses of a worker between its I/Os: fio's `thinktime`.
///
/// The worker begins no more than `blocks` I/Os, waits until all of them are done, pauses, and goes
/// on; so no more than `blocks` are ever outstanding. Pauses are part of what is measured: they
/// lower the depth achieved, which is an average over all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Thinktime {
    /// Length of a pause in nanoseconds, above 0.
    pub pause_ns: u64,
    /// Reads and writes between two pauses, at least 1: fio's `thinktime_blocks`.
    pub blocks: u32,
}

/// Times of a job that are not those of its step: fio's `ramp_time` and `runtime`, which count from
/// the job's own beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OwnTime {
    /// Time in which I/Os are issued and not counted, in nanoseconds.
    pub ramp_ns: u64,
    /// Time behind it after which no more I/Os begin, in nanoseconds; `None` for as long as the
    /// step lasts.
    pub runtime_ns: Option<u64>,
}

/// One load, checked and ready to be put on a target.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Load {
    /// Direction and order.
    pub rw: Pattern,
    /// What becomes of offsets after they are drawn.
    #[serde(default)]
    pub modifier: Modifier,
    /// Share of reads in a mixed pattern, in percent.
    pub read_percent: u32,
    /// Block sizes of both directions.
    pub block: BlockSizes,
    /// Random offsets are multiples of this, behind the first byte; `None` for the smallest block
    /// size.
    pub blockalign_bytes: Option<u64>,
    /// Distribution of random offsets.
    pub distribution: Distribution,
    /// True where every block is visited once before any is visited again.
    pub coverage: bool,
    /// True where each I/O depends on the one before: a block is read, changed and written back
    /// before the next one is read. Depth is then the number of such chains.
    pub dependent: bool,
    /// True where the page cache is bypassed (`O_DIRECT`).
    pub direct: bool,
    /// True where what the page cache holds of the files goes before a load that uses it begins.
    #[serde(default)]
    pub invalidate: bool,
    /// Whether writes wait for the medium.
    pub sync: SyncMode,
    /// An fsync after so many writes of a worker; 0 for none.
    pub fsync_every: u32,
    /// An fdatasync after so many writes of a worker, instead of an fsync; 0 for none.
    #[serde(default)]
    pub fdatasync_every: u32,
    /// True where each worker of a load that writes ends with an fsync.
    #[serde(default)]
    pub end_fsync: bool,
    /// Time before the workers begin, in nanoseconds. It is no part of what is measured of them.
    #[serde(default)]
    pub startdelay_ns: u64,
    /// Ramp and runtime of its own; `None` for those of the step.
    #[serde(default)]
    pub own_time: Option<OwnTime>,
    /// Pauses of each worker; `None` for none.
    pub thinktime: Option<Thinktime>,
    /// I/Os kept outstanding by each worker, at least 1.
    pub iodepth: u32,
    /// Workers, at least 1.
    pub numjobs: u32,
    /// Arrivals scheduled at a rate; `None` for a closed loop.
    pub arrivals: Option<Arrivals>,
    /// Batching of system calls.
    pub batch: Batch,
    /// First byte of the target the load may touch.
    pub offset_bytes: u64,
    /// How far behind the first byte of the one before each of the `numjobs` begins; all of them
    /// then have a stretch of `size_bytes`. `None` has sequential ones share one stretch out
    /// among them, and random ones all use the whole of it.
    pub offset_increment_bytes: Option<u64>,
    /// Bytes of the target the load may touch; `None` for all behind the offset.
    pub size_bytes: Option<u64>,
    /// I/Os after which each of the `numjobs` ends; `None` for as long as the step lasts.
    pub number_ios: Option<u64>,
    /// Bytes after which each of the `numjobs` ends, with the I/O that reaches them; `None` for as
    /// long as the step lasts.
    pub io_size_bytes: Option<u64>,
    /// What carries the I/O.
    pub engine: EngineKind,
    /// What is written.
    #[serde(default)]
    pub content: Content,
    /// Whether what is written is checked; `None` where it is not.
    pub verify: Option<Verify>,
    /// Processors the workers may run on; `None` for those this process may use.
    pub cpus: Option<Cpus>,
    /// Whether the workers share those processors.
    #[serde(default)]
    pub cpu_policy: CpuPolicy,
    /// Added to the workers' nice value, from -20 (which takes privilege) to 19.
    #[serde(default)]
    pub nice: i32,
    /// Percentiles that fio's JSON shows of it, above 0 and up to 100, ascending; none for those fio
    /// has by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<f64>,
    /// Seed of offsets, mix, sizes and arrivals. The same seed issues the same I/Os.
    pub seed: u64,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            rw: Pattern::RandRead,
            modifier: Modifier::None,
            read_percent: 50,
            block: BlockSizes::fixed(4096),
            blockalign_bytes: None,
            distribution: Distribution::Uniform,
            coverage: false,
            dependent: false,
            direct: true,
            invalidate: false,
            sync: SyncMode::None,
            fsync_every: 0,
            fdatasync_every: 0,
            end_fsync: false,
            startdelay_ns: 0,
            own_time: None,
            thinktime: None,
            iodepth: 1,
            numjobs: 1,
            arrivals: None,
            batch: Batch::default(),
            offset_bytes: 0,
            offset_increment_bytes: None,
            size_bytes: None,
            number_ios: None,
            io_size_bytes: None,
            engine: EngineKind::IoUring,
            content: Content::default(),
            verify: None,
            cpus: None,
            cpu_policy: CpuPolicy::Shared,
            nice: 0,
            percentiles: Vec::new(),
            seed: 1,
        }
    }
}

impl Load {
    /// I/Os kept outstanding over all workers.
    #[must_use]
    pub fn queue_depth(&self) -> u32 {
        self.iodepth.saturating_mul(self.numjobs)
    }

    /// The value of `rw` that asks for the pattern and what comes behind it: `randread:8`, `read:-8k`.
    /// Whether such I/Os are `identical` is the word of `rw_sequencer`.
    #[must_use]
    pub fn rw_word(&self) -> String {
        match self.modifier {
            Modifier::None => self.rw.as_str().to_owned(),
            Modifier::Sequential(ios) | Modifier::Identical(ios) => format!("{}:{ios}", self.rw),
            Modifier::Skip(bytes) => {
                let sign = if bytes < 0 { "-" } else { "" };
                format!("{}:{sign}{}", self.rw, size_word(bytes.unsigned_abs()))
            }
        }
    }

    /// True where the load ends by itself, after so many I/Os or bytes.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.number_ios.is_some() || self.io_size_bytes.is_some()
    }

    /// True where the load ends by itself, by an amount or at a time of its own.
    #[must_use]
    pub fn ends_by_itself(&self) -> bool {
        self.is_counted() || self.own_time.is_some_and(|time| time.runtime_ns.is_some())
    }

    /// True where the load changes the target.
    #[must_use]
    pub fn writes(&self) -> bool {
        (self.rw.writes() && !self.only_checks()) || self.dependent
    }

    /// True where the load reads and checks what it would write: fio's `verify_only`.
    #[must_use]
    pub fn only_checks(&self) -> bool {
        self.verify.as_ref().is_some_and(|verify| verify.only)
    }

    /// Mean size of an I/O, over both directions in their shares.
    #[must_use]
    pub fn mean_block_bytes(&self) -> f64 {
        let (read, write) = (self.block.read.mean_bytes(), self.block.write.mean_bytes());
        if self.rw.is_mixed() && !self.dependent {
            let reads = f64::from(self.read_percent) / 100.0;
            reads * read + (1.0 - reads) * write
        } else if self.rw.reads() {
            read
        } else {
            write
        }
    }

    /// A few words that tell this load from others: `randread 4 KiB depth 32`.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = format!("{}{}", self.rw, self.modifier);
        if self.dependent {
            label.push_str(" dependent");
        } else if self.rw.is_mixed() {
            label.push_str(&format!(" {}/{}", self.read_percent, 100 - self.read_percent));
        }
        label.push_str(&format!(" {}", self.block));
        match self.arrivals {
            Some(arrivals) => label.push_str(&format!(" at {} IOPS", arrivals.rate_iops)),
            None => label.push_str(&format!(" depth {}", self.queue_depth())),
        }
        if self.numjobs > 1 {
            label.push_str(&format!(" ({}×{})", self.iodepth, self.numjobs));
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_block_goes_by_the_shares() {
        let load = |rw, dependent| Load {
            rw,
            dependent,
            read_percent: 75,
            block: BlockSizes::parse_bssplit("4k/50:12k/50,16k").unwrap(),
            ..Load::default()
        };
        assert_eq!(load(Pattern::Read, false).mean_block_bytes(), 8192.0);
        assert_eq!(load(Pattern::RandWrite, false).mean_block_bytes(), 16384.0);
        assert_eq!(load(Pattern::RandRw, false).mean_block_bytes(), 10240.0);
    }

    #[test]
    fn loads_stored_before_an_option_was_there_read_back() {
        let now = Load { number_ios: Some(7), ..Load::default() };
        let mut stored = serde_json::to_value(&now).unwrap();
        let fields = stored.as_object_mut().unwrap();
        for added in [
            "modifier",
            "blockalign_bytes",
            "invalidate",
            "fdatasync_every",
            "end_fsync",
            "startdelay_ns",
            "own_time",
            "thinktime",
            "offset_increment_bytes",
            "io_size_bytes",
            "content",
            "verify",
            "cpus",
            "cpu_policy",
            "nice",
        ] {
            assert!(fields.remove(added).is_some(), "{added}");
        }
        assert_eq!(serde_json::from_value::<Load>(stored).unwrap(), now);
    }
}
