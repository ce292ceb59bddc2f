//! The documents that commands print and the history stores.

use super::{
    BlockTrace, Environment, Estimate, Head, HostResult, IntervalPoint, LatencyShare,
    LatencySummary, PerformanceShift, Physical, StepResult, SystemPoint,
};
use crate::caveat::Caveat;
use crate::limit::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document of `iogauge run`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RunDocument {
    /// Format, version, run, target, workload.
    #[serde(flatten)]
    pub head: Head,
    /// Steps in the order they ran.
    pub steps: Vec<StepResult>,
    /// True if the run ended early.
    pub interrupted: bool,
    /// Reasons why the result may mislead.
    pub caveats: Vec<Caveat>,
    /// The machine.
    pub environment: Environment,
}

/// Why the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// A larger load breaks the limit.
    Limit,
    /// The limits hold, and a larger queue depth gives no more IOPS.
    Saturated,
    /// The processors of this machine were the bottleneck, not the target.
    Client,
    /// The queue in front of the target is full. I/Os beyond `queue` wait where the target does not see them.
    QueueFull,
    /// The limits hold at the largest queue depth allowed.
    MaxDepth,
    /// The time budget ran out.
    Budget,
    /// The smallest load breaks a limit.
    Unattainable,
    /// The measurements do not show whether any load meets the limits.
    Undecided,
    /// iogauge lacked processor time in most of the search, or whenever a limit was broken.
    Starved,
    /// I/Os failed and the workers ended.
    Ended,
    /// The user interrupted the search.
    Interrupted,
}

impl StoppedBy {
    /// True if a limit ended the search, so that the answer is the capacity under it.
    #[must_use]
    pub fn is_limit(self) -> bool {
        matches!(self, Self::Limit | Self::Unattainable)
    }

    /// True if something other than the target ended the search, so that an answer within the limits is a lower bound.
    #[must_use]
    pub fn is_early(self) -> bool {
        match self {
            Self::Budget | Self::Client | Self::MaxDepth | Self::Ended | Self::Interrupted => true,
            Self::Limit
            | Self::Saturated
            | Self::QueueFull
            | Self::Unattainable
            | Self::Undecided
            | Self::Starved => false,
        }
    }
}

/// The value of the statistic that a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LimitValue {
    #[serde(flatten)]
    pub limit: Limit,
    /// The value in nanoseconds; `None` if the direction had no I/O.
    pub value_ns: Option<f64>,
    /// 95 % confidence interval of the value in nanoseconds; `None` if an end of it is unknown.
    pub ci95_ns: Option<[f64; 2]>,
    /// Number of I/Os that the value is based on.
    pub n: u64,
}

impl LimitValue {
    /// True if the value exceeds the bound. False if the direction had no I/O.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.value_ns.is_some_and(|ns| ns > self.limit.bound_ns as f64)
    }
}

/// Number of requests that the queues of the target's devices accept.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct QueueBound {
    /// Requests over all devices.
    pub requests: u64,
    /// Source of the number: a sysfs file per device. Empty if the target itself showed it by accepting no
    /// more.
    pub told_by: Vec<String>,
}

/// The capacity found.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Answer {
    /// True if every limit holds at the answer.
    pub met: bool,
    /// I/Os per second at the answer. The interval is that of the capacity averaged over `observed_seconds`.
    pub iops: Estimate,
    /// 95 % prediction interval for the answer of another search like this one, in I/Os per second. Missing
    /// if too little was observed, if there is no valid answer, and in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pi95: Option<[f64; 2]>,
    /// Time over which the answer was observed, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_seconds: Option<f64>,
    /// How the rate wandered at the answer, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wander: Option<Wander>,
    /// Bytes per second at the answer.
    pub bytes_per_sec: f64,
    /// Queue depth requested; in an open loop, the maximum number of I/Os outstanding.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Arrival rate requested, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// Queue depth achieved: time average of the I/Os outstanding.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// Latency at the answer: service time in a closed loop, response time in an open loop.
    pub latency_ns: LatencySummary,
    /// The values of the limits' statistics, in the order of the limits; missing in results of older
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitValue>,
    /// The queue that was full, if that ended the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueBound>,
    /// Service time, in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<LatencySummary>,
    /// Why the search ended.
    pub stopped_by: StoppedBy,
    /// The limit that a larger load breaks first, or that the answer breaks, if a limit ended the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by_limit: Option<Limit>,
}

impl Answer {
    /// True if the answer meets every limit and the search had enough evidence.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.met && !matches!(self.stopped_by, StoppedBy::Undecided | StoppedBy::Starved)
    }

    /// True if no I/O was completed, so that there is no answer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.latency_ns.n == 0
    }
}

/// A rate that wanders: it varies over times as long as the observation, so that averages over longer times
/// differ as much as averages over shorter times.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Wander {
    /// Allan deviation of the rate, relative to the rate. Consecutive averages over `over_seconds` differ by
    /// this value times √2.
    pub deviation: f64,
    /// Averaging time, in seconds.
    pub over_seconds: f64,
    /// I/Os per second that 95 % of the one-second windows reached or exceeded.
    pub kept_iops: f64,
    /// Number of one-second windows.
    pub windows: u64,
}

/// The knee: the smallest measured queue depth whose IOPS are estimated at 95 % of the answer's or more.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Knee {
    /// Queue depth of the knee, at most that of the answer.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// I/Os per second at the knee.
    pub iops: f64,
    /// IOPS at the knee relative to those at the answer. Missing in results of older versions, whose knee was
    /// the queue depth at which the line through queue depth 1 meets the highest IOPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Estimate>,
}

impl Knee {
    /// Share of the answer's IOPS that the knee reaches.
    pub const SHARE: f64 = 0.95;
}

/// A measured point of the capacity curve.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Queue depth requested.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Arrival rate requested, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// Arrivals per second of the window, in an open loop; `iops` is the rate achieved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// In an open loop, the maximum number of arrivals that waited at once because `depth` I/Os were
    /// outstanding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_max: Option<u64>,
    /// Queue depth achieved: time average of the I/Os outstanding.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// I/Os per second.
    pub iops: Estimate,
    /// Latency: service time in a closed loop, response time in an open loop.
    pub latency_ns: LatencySummary,
    /// Shares of the I/Os by the same latency, ascending, at most 16; missing in results of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_shares: Vec<LatencyShare>,
    /// The values of the limits' statistics, in the order of the limits; missing in results of older
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitValue>,
    /// Service time, in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<LatencySummary>,
    /// Results of each host, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostResult>,
    /// True if every limit held.
    pub met: bool,
    /// Processor time of this process, in percent of one processor.
    pub cpu_percent: f64,
    /// True if there was no drift in the window.
    pub steady: bool,
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// I/Os that failed in the window.
    pub errors: u64,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Search {
    /// The limits of the search.
    pub limits: Vec<Limit>,
    /// The capacity.
    pub answer: Answer,
    /// The knee of the curve, if there is one.
    pub knee: Option<Knee>,
    /// Measured points, in ascending order of queue depth or rate.
    pub curve: Vec<CurvePoint>,
    /// The search over time, including the time between its points; missing in results of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<IntervalPoint>,
    /// Performance shifts during the search. The answer and the curve are from after the last one.
    #[serde(default, rename = "regimes", skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<PerformanceShift>,
    /// Time spent measuring, in seconds.
    pub measured_seconds: f64,
    /// Samples of the machine over the whole search; missing in results of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<SystemPoint>,
    /// Block layer trace, if requested: of the confirmation, the last window at the queue depth or rate of
    /// the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<BlockTrace>>,
}

/// The document of `iogauge find`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FindDocument {
    /// Format, version, run, target, workload.
    #[serde(flatten)]
    pub head: Head,
    #[serde(flatten)]
    pub search: Search,
    /// I/O of the devices over the whole search.
    pub physical: Option<Physical>,
    /// Start of the search, RFC 3339 in UTC; missing in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// Reasons why the result may mislead.
    pub caveats: Vec<Caveat>,
    /// The machine.
    pub environment: Environment,
}
