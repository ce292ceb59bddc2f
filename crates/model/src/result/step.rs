//! Results of a step.

use super::SteadyStateResult;
use super::{
    BlockTrace, CpuUse, DatabaseResult, Estimate, FioResult, HostResult, LatencyBands,
    LatencySummary, LimitValue, PerformanceShift, Physical, SystemPoint, VerifyResult,
};
use crate::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of one direction (read, write or sync) in a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DirectionResult {
    /// I/Os completed without error.
    pub ios: u64,
    /// Bytes transferred by these I/Os.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Completed I/Os that transferred fewer bytes than requested (end of file, signals).
    pub short: u64,
    /// I/Os completed per second.
    pub iops: Estimate,
    /// Bytes transferred per second.
    pub bytes_per_sec: f64,
    /// Service time, from submission to completion, including the time of the system call.
    pub service_ns: LatencySummary,
    /// Response time, from the intended start to completion; only in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_ns: Option<LatencySummary>,
    /// All service times.
    pub service_histogram: Histogram,
    /// All response times; only in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_histogram: Option<Histogram>,
}

impl DirectionResult {
    /// Returns the weight of the direction in a mean over directions: its I/Os, or its IOPS if only these are known.
    #[must_use]
    pub fn weight(&self) -> f64 {
        if self.ios > 0 { self.ios as f64 } else { self.iops.mean }
    }
}

/// Results of one worker in a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WorkerResult {
    /// Number of the worker's job, from 0.
    pub job: u32,
    /// Number of the worker, from 0.
    pub worker: u32,
    /// I/Os completed in all directions.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Queue depth achieved: time average of the worker's I/Os outstanding.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// I/Os completed per second.
    pub iops: f64,
}

/// Results of one of several jobs in a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JobResult {
    /// Short description of the job: `randread 4 KiB depth 32`.
    pub name: String,
    /// Duration of the job's measurement, in seconds; missing in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Queue depth requested, over the job's workers.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Queue depth achieved: time average of the job's I/Os outstanding.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// Reads; `None` if there were none.
    pub read: Option<DirectionResult>,
    /// Writes; `None` if there were none.
    pub write: Option<DirectionResult>,
    /// Explicit cache flushes (fsync); missing if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionResult>,
    /// The job's figures over time; missing in results of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<IntervalPoint>,
}

/// Figures of one interval of a step or a search. Long runs have longer intervals, so a series never exceeds
/// a fixed number of them. In JSON, about 220 bytes plus the [`LatencyBands`] of each direction.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IntervalPoint {
    /// End of the interval, in seconds since the measurement began.
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
    /// Maximum service time of reads and writes, in nanoseconds.
    pub latency_max_ns: u64,
    /// Queue depth achieved: time average of the I/Os outstanding.
    #[serde(rename = "depth")]
    pub queue_depth: f64,
    /// Time average of the queue depth requested, in a search that varies the queue depth.
    #[serde(rename = "depth_asked", default, skip_serializing_if = "Option::is_none")]
    pub queue_depth_asked: Option<f64>,
    /// Time average of the arrival rate requested, in I/Os per second, in a search that varies the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_asked_iops: Option<f64>,
    /// Service times of reads; missing in results of older versions.
    #[serde(default, skip_serializing_if = "LatencyBands::is_empty")]
    pub read_bands: LatencyBands,
    /// Service times of writes.
    #[serde(default, skip_serializing_if = "LatencyBands::is_empty")]
    pub write_bands: LatencyBands,
    /// Service times of flushes.
    #[serde(default, skip_serializing_if = "LatencyBands::is_empty")]
    pub sync_bands: LatencyBands,
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl IntervalPoint {
    /// Reads and writes completed per second.
    #[must_use]
    pub fn iops(&self) -> f64 {
        if self.seconds > 0.0 { (self.reads + self.writes) as f64 / self.seconds } else { 0.0 }
    }

    /// Mean service time of reads and writes, in nanoseconds; 0 if none completed.
    #[must_use]
    pub fn latency_mean_ns(&self) -> f64 {
        let ios = self.reads + self.writes;
        let sum = self.read_latency_sum_ns + self.write_latency_sum_ns;
        if ios == 0 { 0.0 } else { sum as f64 / ios as f64 }
    }

    /// Extends this interval by the one that follows it.
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

/// Results of a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StepResult {
    /// Short description of the step: `randread 4 KiB depth 32`.
    pub label: String,
    /// Queue depth requested, over all workers.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Queue depth achieved: time average of the I/Os outstanding, measured by integration, not by Little's
    /// law.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// Arrival rate requested, in I/Os per second, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// Duration of the measurement, in seconds, without the ramp.
    pub seconds: f64,
    /// Start of the measurement, RFC 3339 in UTC; missing in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// Reads; `None` if there were none.
    pub read: Option<DirectionResult>,
    /// Writes; `None` if there were none.
    pub write: Option<DirectionResult>,
    /// Explicit cache flushes (fsync); missing if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionResult>,
    /// Results of each job, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobResult>,
    /// Results of each host, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostResult>,
    /// Results of each worker.
    pub workers: Vec<WorkerResult>,
    /// I/O of the devices under the target.
    pub physical: Option<Physical>,
    /// Processor time.
    pub cpu: CpuUse,
    /// The workload's figures over time.
    pub series: Vec<IntervalPoint>,
    /// Limits that the step was to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitValue>,
    /// The steady state that all jobs together were to attain; `None` if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<Box<SteadyStateResult>>,
    /// Performance shifts within the series that are not explained by chance.
    #[serde(default, rename = "regimes", skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<PerformanceShift>,
    /// Samples of the machine over time.
    #[serde(default)]
    pub system: Vec<SystemPoint>,
    /// Result of verification, in a step that verifies. Its reads are not in any other figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyResult>,
    /// Results of the database, if the workload ran through one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Box<DatabaseResult>>,
    /// Results reported by fio, if the step was read from its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<Box<FioResult>>,
    /// Block layer trace, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<BlockTrace>>,
}

/// Reads and writes of a step together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTotal {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// Mean service time, in nanoseconds.
    pub mean_ns: f64,
    /// Maximum service time, in nanoseconds.
    pub max_ns: u64,
}

impl StepResult {
    /// Returns the results of reads and writes that are there.
    pub fn moved(&self) -> impl Iterator<Item = &DirectionResult> {
        self.read.iter().chain(&self.write)
    }

    /// Returns the results of reads, writes and flushes that are there.
    pub fn directions(&self) -> impl Iterator<Item = &DirectionResult> {
        self.moved().chain(&self.sync)
    }

    /// Returns reads and writes together; `None` if none completed.
    #[must_use]
    pub fn total(&self) -> Option<StepTotal> {
        let moved: Vec<&DirectionResult> = self.moved().filter(|d| d.weight() > 0.0).collect();
        let weight: f64 = moved.iter().map(|d| d.weight()).sum();
        let sum_ns: f64 = moved.iter().map(|d| d.service_ns.mean * d.weight()).sum();
        (weight > 0.0).then(|| StepTotal {
            iops: moved.iter().map(|d| d.iops.mean).sum(),
            bytes_per_sec: moved.iter().map(|d| d.bytes_per_sec).sum(),
            mean_ns: sum_ns / weight,
            max_ns: moved.iter().map(|d| d.service_ns.max).max().unwrap_or(0),
        })
    }

    /// Reads and writes completed.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.moved().map(|d| d.ios).sum()
    }

    /// Reads, writes and flushes that failed.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.directions().map(|d| d.errors).sum()
    }

    /// True if nothing was measured: no read, write or flush completed or failed, and no data was verified.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let ended = |d: &DirectionResult| d.weight() > 0.0 || d.errors > 0;
        let checked = self.verify.as_ref().is_some_and(|verify| verify.units + verify.unjudged > 0);
        !self.directions().any(ended) && !checked
    }

    /// Verification units with wrong data.
    #[must_use]
    pub fn corrupted(&self) -> u64 {
        self.verify.as_ref().map_or(0, |verify| verify.corrupted)
    }

    /// Bytes read and written.
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
