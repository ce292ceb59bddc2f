//! What one step measured.

use super::{
    BlockTrace, CpuUse, DatabaseResult, Estimate, FioResult, LatencyBands, LatencySummary,
    PerformanceShift, Physical, SystemPoint, VerifyResult,
};
use crate::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one direction (read, write or sync) did during a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DirectionResult {
    /// I/Os completed without error.
    pub ios: u64,
    /// Bytes moved by them.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// I/Os completed that moved fewer bytes than asked (end of file, signals).
    pub short: u64,
    /// I/Os completed per second.
    pub iops: Estimate,
    /// Bytes moved per second.
    pub bytes_per_sec: f64,
    /// Service time: submission to completion, both ends inside.
    pub service_ns: LatencySummary,
    /// Response time from the intended start, where arrivals were scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_ns: Option<LatencySummary>,
    /// All service times.
    pub service_histogram: Histogram,
    /// All response times, where arrivals were scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_histogram: Option<Histogram>,
}

/// What one worker did during a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WorkerResult {
    /// Job the worker belonged to, from 0.
    pub job: u32,
    /// Number of the worker, from 0.
    pub worker: u32,
    /// I/Os completed, all directions.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os failed.
    pub errors: u64,
    /// Time average of the I/Os it had outstanding.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// I/Os completed per second.
    pub iops: f64,
}

/// What one of several jobs did during a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JobResult {
    /// What the job was: `randread 4 KiB depth 32`.
    pub name: String,
    /// Length of its own measurement, in seconds; `None` in results of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Depth asked, over the job's workers.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Time average of the job's I/Os outstanding.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// Reads; `None` where none was made.
    pub read: Option<DirectionResult>,
    /// Writes; `None` where none was made.
    pub write: Option<DirectionResult>,
    /// Explicit cache flushes; `None` where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionResult>,
    /// The job's figures over time; empty in results of versions that did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<IntervalPoint>,
}

/// Figures of one interval of a step or a search. Intervals lengthen in long runs, so a series never has
/// more than a fixed number of them. As JSON about 220 bytes, and those of [`LatencyBands`] for each
/// direction.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IntervalPoint {
    /// End of the interval, in seconds since measuring began.
    pub at_seconds: f64,
    /// Length of the interval, in seconds.
    pub seconds: f64,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum of the service times of reads, in nanoseconds.
    pub read_latency_sum_ns: u64,
    /// Sum of the service times of writes, in nanoseconds.
    pub write_latency_sum_ns: u64,
    /// Flushes completed: fsync of files, commits of databases.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub syncs: u64,
    /// Sum of the service times of flushes, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sync_latency_sum_ns: u64,
    /// Largest service time of reads and writes, in nanoseconds.
    pub latency_max_ns: u64,
    /// Time average of the I/Os outstanding.
    #[serde(rename = "depth")]
    pub queue_depth: f64,
    /// Time average of the depth asked, in a search for a depth.
    #[serde(rename = "depth_asked", default, skip_serializing_if = "Option::is_none")]
    pub queue_depth_asked: Option<f64>,
    /// Time average of the arrival rate asked, in I/Os per second, in a search for a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_asked_iops: Option<f64>,
    /// Service times of reads; empty in results of versions that did not keep them.
    #[serde(default, skip_serializing_if = "LatencyBands::is_empty")]
    pub read_bands: LatencyBands,
    /// Service times of writes.
    #[serde(default, skip_serializing_if = "LatencyBands::is_empty")]
    pub write_bands: LatencyBands,
    /// Service times of flushes.
    #[serde(default, skip_serializing_if = "LatencyBands::is_empty")]
    pub sync_bands: LatencyBands,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl IntervalPoint {
    /// Reads and writes completed per second.
    #[must_use]
    pub fn iops(&self) -> f64 {
        if self.seconds > 0.0 { (self.reads + self.writes) as f64 / self.seconds } else { 0.0 }
    }

    /// Mean service time of reads and writes, in nanoseconds; 0 where none completed.
    #[must_use]
    pub fn latency_mean_ns(&self) -> f64 {
        let ios = self.reads + self.writes;
        let sum = self.read_latency_sum_ns + self.write_latency_sum_ns;
        if ios == 0 { 0.0 } else { sum as f64 / ios as f64 }
    }

    /// Joins the interval that follows this one to it.
    pub fn append(&mut self, next: &Self) {
        let seconds = self.seconds + next.seconds;
        if seconds > 0.0 {
            let mean =
                |mine: f64, theirs: f64| (mine * self.seconds + theirs * next.seconds) / seconds;
            let asked = |mine: Option<f64>, theirs: Option<f64>| match (mine, theirs) {
                (Some(mine), Some(theirs)) => Some(mean(mine, theirs)),
                (mine, theirs) => mine.or(theirs),
            };
            self.queue_depth = mean(self.queue_depth, next.queue_depth);
            self.queue_depth_asked = asked(self.queue_depth_asked, next.queue_depth_asked);
            self.rate_asked_iops = asked(self.rate_asked_iops, next.rate_asked_iops);
        }
        self.at_seconds = next.at_seconds;
        self.seconds = seconds;
        self.reads += next.reads;
        self.writes += next.writes;
        self.read_bytes += next.read_bytes;
        self.write_bytes += next.write_bytes;
        self.read_latency_sum_ns += next.read_latency_sum_ns;
        self.write_latency_sum_ns += next.write_latency_sum_ns;
        self.syncs += next.syncs;
        self.sync_latency_sum_ns += next.sync_latency_sum_ns;
        self.latency_max_ns = self.latency_max_ns.max(next.latency_max_ns);
        self.read_bands.append(&next.read_bands);
        self.write_bands.append(&next.write_bands);
        self.sync_bands.append(&next.sync_bands);
    }
}

/// What one step measured.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StepResult {
    /// What the step was: `randread 4 KiB depth 32`.
    pub label: String,
    /// Depth asked, over all workers.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Time average of the I/Os outstanding, measured by integration, not by Little's law.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// Arrival rate asked, in I/Os per second, where arrivals were scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// Length of the measurement, in seconds; ramp time is not in it.
    pub seconds: f64,
    /// When measuring began, RFC 3339 in UTC; `None` in results of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// Reads; `None` where none was made.
    pub read: Option<DirectionResult>,
    /// Writes; `None` where none was made.
    pub write: Option<DirectionResult>,
    /// Explicit cache flushes (fsync); `None` where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionResult>,
    /// Each job alone, where there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobResult>,
    /// Each worker alone.
    pub workers: Vec<WorkerResult>,
    /// What the devices under the target did.
    pub physical: Option<Physical>,
    /// Processor time.
    pub cpu: CpuUse,
    /// The load's figures over time.
    pub series: Vec<IntervalPoint>,
    /// Performance shifts within the series, beyond chance.
    #[serde(default, rename = "regimes", skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<PerformanceShift>,
    /// The machine's figures over time.
    #[serde(default)]
    pub system: Vec<SystemPoint>,
    /// What came of checking the data, in a step that verifies. Its reads are in no other figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyResult>,
    /// What a database did, where the load went through one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Box<DatabaseResult>>,
    /// What fio reported, where the step was read from its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<Box<FioResult>>,
    /// What the block layer saw meanwhile, where it was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<BlockTrace>>,
}

/// Reads and writes of a step as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTotal {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// Mean service time, in nanoseconds.
    pub mean_ns: f64,
    /// Largest service time, in nanoseconds.
    pub max_ns: u64,
}

impl StepResult {
    /// Reads and writes, as far as there are any.
    pub fn moved(&self) -> impl Iterator<Item = &DirectionResult> {
        self.read.iter().chain(&self.write)
    }

    /// Reads, writes and flushes, as far as there are any.
    pub fn directions(&self) -> impl Iterator<Item = &DirectionResult> {
        self.moved().chain(&self.sync)
    }

    /// Reads and writes as one; `None` where none was completed.
    #[must_use]
    pub fn total(&self) -> Option<StepTotal> {
        let moved: Vec<&DirectionResult> = self.moved().filter(|d| d.ios > 0).collect();
        let ios: f64 = moved.iter().map(|d| d.ios as f64).sum();
        let sum_ns: f64 = moved.iter().map(|d| d.service_ns.mean * d.ios as f64).sum();
        (ios > 0.0).then(|| StepTotal {
            iops: moved.iter().map(|d| d.iops.mean).sum(),
            bytes_per_sec: moved.iter().map(|d| d.bytes_per_sec).sum(),
            mean_ns: sum_ns / ios,
            max_ns: moved.iter().map(|d| d.service_ns.max).max().unwrap_or(0),
        })
    }

    /// Reads and writes completed.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.moved().map(|d| d.ios).sum()
    }

    /// Reads and writes that failed, and syncs.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.directions().map(|d| d.errors).sum()
    }

    /// True where no read, write or flush was completed, none failed, and no data was checked: nothing
    /// was measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let ended = |d: &DirectionResult| d.ios + d.errors;
        let checked = self.verify.as_ref().is_some_and(|verify| verify.units + verify.unjudged > 0);
        self.directions().map(ended).sum::<u64>() == 0 && !checked
    }

    /// Units of data that are not as they were written.
    #[must_use]
    pub fn corrupted(&self) -> u64 {
        self.verify.as_ref().map_or(0, |verify| verify.corrupted)
    }

    /// Bytes moved, both directions.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.moved().map(|d| d.bytes).sum()
    }

    /// Service times of reads and writes together.
    #[must_use]
    pub fn service_histogram(&self) -> Histogram {
        let mut merged = Histogram::new();
        for direction in self.moved() {
            merged.merge(&direction.service_histogram);
        }
        merged
    }
}
