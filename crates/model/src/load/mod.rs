//! Workloads: direction mix, block sizes, offsets, concurrency, arrivals.

mod block;
mod check;
mod content;
mod cpus;
mod data_pattern;
mod engine;
mod logs;
mod offsets;
pub mod options;
mod pattern;
mod steady_state;
mod verify;

pub use block::{BlockRange, BlockSizes, BlockSplit};
pub use content::Content;
pub use cpus::{CpuPolicy, Cpus};
pub use data_pattern::{DataPattern, DataPatternError};
pub use engine::{EngineKind, REMOTE_ENGINES};
pub use logs::Logs;
pub use offsets::{Distribution, Zone};
pub use pattern::{Modifier, Pattern, Rw, Sequencer};
pub use steady_state::{SteadyMetric, SteadyState};
pub use verify::{
    AlgorithmInfo, HEADER_FIXED_BYTES, Verify, VerifyAlgorithm, VerifyBacklog, VerifyRound,
    VerifyState,
};

use crate::units::size_word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// An invalid part of a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {reason}")]
pub struct LoadError {
    /// The option, by its name in fio.
    pub option: &'static str,
    /// What is wrong, and what would be valid.
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
    /// `O_DSYNC`: a write returns when its data is on the medium.
    Dsync,
    /// `O_SYNC`: a write returns when its data and all metadata are on the medium.
    Sync,
}

impl SyncMode {
    /// Returns the word used on the command line.
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

/// Advice to the kernel about the order of buffered I/O, for its read-ahead: fio's `fadvise_hint`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FadviseHint {
    /// The order of the workload.
    #[default]
    Workload,
    /// Nothing.
    None,
    /// Random, whatever the workload is.
    Random,
    /// Sequential, whatever the workload is.
    Sequential,
}

impl FadviseHint {
    fn is_workload(&self) -> bool {
        *self == Self::Workload
    }

    /// Returns the word of fio.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workload => "1",
            Self::None => "0",
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}

impl FromStr for FadviseHint {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        match text {
            "1" => Ok(Self::Workload),
            "0" => Ok(Self::None),
            "random" => Ok(Self::Random),
            "sequential" => Ok(Self::Sequential),
            _ => Err(LoadError::new(
                "fadvise_hint",
                format!("\"{text}\" is not one of 0, 1, random, sequential"),
            )),
        }
    }
}

/// How arrivals are spaced in an open loop: fio's `rate_process`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalProcess {
    /// Evenly spaced.
    #[default]
    Linear,
    /// Exponentially distributed gaps: independent arrivals.
    Poisson,
}

impl ArrivalProcess {
    /// Returns the word used on the command line.
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

/// A direction whose I/Os arrive at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RatedDirection {
    Read,
    Write,
}

/// Arrivals at a rate, in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Arrivals {
    /// Rate over all workers of the job, in I/Os per second, above 0.
    pub rate_iops: f64,
    pub process: ArrivalProcess,
    /// The direction that has the rate, in a mixed workload whose other direction has none: fio's `rate=,1m`. I/Os of
    /// the other direction fill the queue depth. `None` if all I/Os have the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<RatedDirection>,
}

/// How many I/Os are submitted and reaped per call: fio's `iodepth_batch_*`.
///
/// Batches save system calls and lower the queue depth achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Batch {
    /// Maximum number of I/Os submitted per call. 0 for as many as there is room for.
    pub submit: u32,
    /// Completions to wait for, at least 1.
    pub complete_min: u32,
    /// Maximum number of completions reaped per call. 0 for all that are available; if the other fields have
    /// their defaults too, the worker reaps one at a time while it has idle processor time, otherwise all.
    pub complete_max: u32,
}

impl Default for Batch {
    fn default() -> Self {
        Self { submit: 0, complete_min: 1, complete_max: 0 }
    }
}

/// Think time: pauses of a worker between its I/Os, fio's `thinktime`.
///
/// The worker starts up to `blocks` I/Os, waits until they complete, pauses, and continues. At most `blocks`
/// I/Os are outstanding at any time. Pauses are part of the measurement: they lower the queue depth achieved,
/// which is an average over the whole time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Thinktime {
    /// Length of a pause in nanoseconds, above 0.
    pub pause_ns: u64,
    /// Reads and writes between two pauses, at least 1: fio's `thinktime_blocks`.
    pub blocks: u32,
}

/// Times of a job that differ from those of its step: fio's `ramp_time` and `runtime`, from the start of the
/// job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OwnTime {
    /// Time at the start in which I/Os are issued and not counted, in nanoseconds.
    pub ramp_ns: u64,
    /// Time after the ramp during which the job starts I/Os, in nanoseconds; `None` for as long as the step
    /// lasts.
    pub runtime_ns: Option<u64>,
}

/// A workload, checked and ready to run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Load {
    /// Direction and order.
    pub rw: Pattern,
    /// What is done with offsets after they are chosen.
    #[serde(default)]
    pub modifier: Modifier,
    /// Percentage of reads in a mixed pattern.
    pub read_percent: u32,
    pub block: BlockSizes,
    /// Random offsets are multiples of this, relative to the first byte; `None` for the smallest block size.
    pub blockalign_bytes: Option<u64>,
    pub distribution: Distribution,
    /// True if every block is visited once before any block is visited again.
    pub coverage: bool,
    /// True if each I/O depends on the previous one: a block is read, changed and written back before the
    /// next one is read. The queue depth is then the number of such chains.
    pub dependent: bool,
    /// True if I/O bypasses the page cache (`O_DIRECT`).
    pub direct: bool,
    /// True if the page cache of the files is dropped before a workload with buffered I/O starts.
    #[serde(default)]
    pub invalidate: bool,
    /// Advice to the kernel about the order of buffered I/O.
    #[serde(default, skip_serializing_if = "FadviseHint::is_workload")]
    pub fadvise_hint: FadviseHint,
    pub sync: SyncMode,
    /// An fsync after this many writes of a worker; 0 for none.
    pub fsync_every: u32,
    /// An fdatasync instead of an fsync after this many writes of a worker; 0 for none.
    #[serde(default)]
    pub fdatasync_every: u32,
    /// True if each worker of a workload that writes ends with an fsync.
    #[serde(default)]
    pub end_fsync: bool,
    /// Delay before the workers start, in nanoseconds. It is not part of the measurement.
    #[serde(default)]
    pub startdelay_ns: u64,
    /// Ramp and runtime of the job; `None` for those of the step.
    #[serde(default)]
    pub own_time: Option<OwnTime>,
    /// Pauses of each worker; `None` for none.
    pub thinktime: Option<Thinktime>,
    /// Queue depth of each worker, at least 1.
    pub iodepth: u32,
    /// Number of workers, at least 1.
    pub numjobs: u32,
    /// Arrivals at a rate (open loop); `None` for a closed loop.
    pub arrivals: Option<Arrivals>,
    /// Batching of system calls.
    pub batch: Batch,
    /// First byte of the target that the workload may access.
    pub offset_bytes: u64,
    /// Distance between the first bytes of consecutive `numjobs` workers, each of which then has a range of
    /// `size_bytes`. `None` if they have one range in common: sequential workers divide it, random workers
    /// each use all of it.
    pub offset_increment_bytes: Option<u64>,
    /// Bytes of the target that the workload may access; `None` for all bytes after the offset.
    pub size_bytes: Option<u64>,
    /// Number of I/Os after which each of the `numjobs` workers ends; `None` for as long as the step lasts.
    pub number_ios: Option<u64>,
    /// Number of bytes after which each of the `numjobs` workers ends, including the I/O that reaches it;
    /// `None` for as long as the step lasts.
    pub io_size_bytes: Option<u64>,
    /// The I/O engine.
    pub engine: EngineKind,
    /// The data of writes.
    #[serde(default)]
    pub content: Content,
    /// A pattern that fills each block of writes instead; `None` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_pattern: Option<DataPattern>,
    /// How written data is verified; `None` if it is not.
    pub verify: Option<Verify>,
    /// Processors that the workers may run on; `None` for those of the process.
    pub cpus: Option<Cpus>,
    /// How these processors are assigned to workers.
    #[serde(default)]
    pub cpu_policy: CpuPolicy,
    /// Added to the workers' nice value, from -20 (needs privilege) to 19.
    #[serde(default)]
    pub nice: i32,
    /// Percentiles in fio's JSON output, above 0 and up to 100, ascending; empty for fio's default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<f64>,
    /// Log files in fio's formats; `None` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<Logs>,
    /// The steady state at which the workload ends; `None` to end as otherwise requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyState>,
    /// True if fio's JSON output has percentiles of `clat`.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub clat_percentiles: bool,
    /// True if fio's JSON output has percentiles of `lat`.
    #[serde(default, skip_serializing_if = "not")]
    pub lat_percentiles: bool,
    /// Seed of offsets, mix, block sizes and arrivals. The same seed gives the same I/Os.
    pub seed: u64,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn not(value: &bool) -> bool {
    !*value
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
            fadvise_hint: FadviseHint::Workload,
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
            buffer_pattern: None,
            verify: None,
            cpus: None,
            cpu_policy: CpuPolicy::Shared,
            nice: 0,
            percentiles: Vec::new(),
            logs: None,
            steady_state: None,
            clat_percentiles: true,
            lat_percentiles: false,
            seed: 1,
        }
    }
}

impl Load {
    /// Returns the advice to the kernel about buffered I/O: true for random, false for sequential, `None` for
    /// no advice.
    #[must_use]
    pub fn advised_random(&self) -> Option<bool> {
        match self.fadvise_hint {
            FadviseHint::Workload => Some(self.rw.is_random()),
            FadviseHint::None => None,
            FadviseHint::Random => Some(true),
            FadviseHint::Sequential => Some(false),
        }
    }

    /// Queue depth over all workers.
    #[must_use]
    pub fn queue_depth(&self) -> u32 {
        self.iodepth.saturating_mul(self.numjobs)
    }

    /// Number of workers: with an engine that has one I/O outstanding in each, as many as the queue depth.
    #[must_use]
    pub fn workers(&self) -> u32 {
        if self.engine.is_synchronous() { self.queue_depth() } else { self.numjobs }
    }

    /// Returns the value of `rw` for the pattern and its modifier: `randread:8`, `read:-8k`. It does not
    /// contain whether I/Os are `identical`, which is a value of `rw_sequencer`.
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

    /// True if the workload ends after a number of I/Os or bytes.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.number_ios.is_some() || self.io_size_bytes.is_some()
    }

    /// True if the workload ends after an amount or after its own runtime.
    #[must_use]
    pub fn ends_by_itself(&self) -> bool {
        self.is_counted() || self.own_time.is_some_and(|time| time.runtime_ns.is_some())
    }

    /// True if the workload changes the target.
    #[must_use]
    pub fn writes(&self) -> bool {
        (self.rw.writes() && !self.only_checks()) || self.dependent
    }

    /// True if the workload reads and checks what it would write: fio's `verify_only`.
    #[must_use]
    pub fn only_checks(&self) -> bool {
        self.verify.as_ref().is_some_and(|verify| verify.only)
    }

    /// Returns the mean size of an I/O over both directions, weighted by their shares.
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

    /// Returns a short label of the workload: `randread 4 KiB depth 32`.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = format!("{}{}", self.rw, self.modifier);
        if self.dependent {
            label.push_str(" dependent");
        } else if self.rw.is_mixed() {
            label.push_str(&format!(" {}/{}", self.read_percent, 100 - self.read_percent));
        }
        label.push_str(&format!(" {}", self.block));
        let depth = self.queue_depth();
        match self.arrivals.map(|arrivals| (arrivals.rate_iops, arrivals.only)) {
            Some((rate, None)) => label.push_str(&format!(" at {rate} IOPS")),
            Some((rate, Some(RatedDirection::Read))) => {
                label.push_str(&format!(" depth {depth}, reads at {rate} IOPS"));
            }
            Some((rate, Some(RatedDirection::Write))) => {
                label.push_str(&format!(" depth {depth}, writes at {rate} IOPS"));
            }
            None => label.push_str(&format!(" depth {depth}")),
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
    fn mean_block_size_is_weighted_by_shares() {
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
    fn loads_stored_without_newer_options_are_readable() {
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
