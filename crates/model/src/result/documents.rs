//! The documents the commands print and the history keeps.

use super::{
    BlockTrace, Environment, Estimate, Head, IntervalPoint, LatencySummary, PerformanceShift,
    Physical, StepResult, SystemPoint,
};
use crate::caveat::Caveat;
use crate::limit::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document of `iogauge run`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RunDocument {
    /// Format, version, run, target, load.
    #[serde(flatten)]
    pub head: Head,
    /// Steps in the order they ran.
    pub steps: Vec<StepResult>,
    /// True where the run ended before its time.
    pub interrupted: bool,
    /// Reasons to doubt the result.
    pub caveats: Vec<Caveat>,
    /// Where it ran.
    pub environment: Environment,
}

/// Why a search ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// More load breaks the limit.
    Limit,
    /// More depth brings no more IOPS, and the limit is far away.
    Saturated,
    /// The machine, not the target, gave out.
    Client,
    /// The queue in front of the target is full: what is beyond `queue` waits where the target does not see
    /// it.
    QueueFull,
    /// The largest depth allowed was reached with the limit still holding.
    MaxDepth,
    /// The measuring budget ran out.
    Budget,
    /// The limit is broken at depth 1.
    Unattainable,
    /// What was measured leaves open whether any load keeps the limit.
    Undecided,
    /// The client lacked processor time in most of the search, or in all that says that a limit breaks.
    Starved,
    /// I/Os failed, so that the workers ended.
    Ended,
    /// The user ended it.
    Interrupted,
}

impl StoppedBy {
    /// True where the limit decided, so that the answer is the capacity under it.
    #[must_use]
    pub fn is_limit(self) -> bool {
        matches!(self, Self::Limit | Self::Unattainable)
    }
}

/// What the statistic that a limit bounds came to.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LimitValue {
    /// The limit.
    #[serde(flatten)]
    pub limit: Limit,
    /// The statistic, in nanoseconds; none where its direction had no I/O.
    pub value_ns: Option<f64>,
    /// 95 % interval of the statistic, in nanoseconds; none where an end of it is unknown.
    pub ci95_ns: Option<[f64; 2]>,
    /// I/Os it rests on.
    pub n: u64,
}

/// How many requests the queues in front of a target's devices take.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct QueueBound {
    /// Requests, over all devices.
    pub requests: u64,
    /// Where that stands: a file of sysfs for each device. Empty where the target itself told, by taking no
    /// more.
    pub told_by: Vec<String>,
}

/// The capacity found.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Answer {
    /// True where every limit holds at the answer.
    pub met: bool,
    /// I/Os per second at the answer; the interval is that of the capacity averaged over
    /// `observed_seconds`.
    pub iops: Estimate,
    /// 95 % prediction interval: where the answer of another search like this one lies, in I/Os per second.
    /// None where too little was seen, where the answer is not given, and in results of versions that had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pi95: Option<[f64; 2]>,
    /// Time over which the answer was observed, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_seconds: Option<f64>,
    /// How the rate wandered at the answer, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wander: Option<Wander>,
    /// Bytes per second at the answer.
    pub bytes_per_sec: f64,
    /// Depth asked; in an open loop the most I/Os that may be outstanding.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Arrival rate asked, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// Time average of the I/Os outstanding.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// Latency at the answer; response time in an open loop.
    pub latency_ns: LatencySummary,
    /// What the limits' statistics came to, in the order of the limits; empty in results of
    /// versions that did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitValue>,
    /// The queue that was full, where that ended the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueBound>,
    /// Service time beside it, in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<LatencySummary>,
    /// Why the search ended there.
    pub stopped_by: StoppedBy,
    /// The limit that more load breaks first, or that the answer breaks, where one ended the
    /// search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by_limit: Option<Limit>,
}

impl Answer {
    /// True where the answer keeps every limit, and the search could tell.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.met && !matches!(self.stopped_by, StoppedBy::Undecided | StoppedBy::Starved)
    }

    /// True where no I/O was completed: there is no answer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.latency_ns.n == 0
    }
}

/// A rate that wanders: it varies over times as long as the observation, so that averages over longer times
/// differ as much as averages over shorter ones.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Wander {
    /// Allan deviation of the rate, relative to it: averages over `over_seconds` that follow each other
    /// differ by this times the square root of 2.
    pub deviation: f64,
    /// Length of those averages, in seconds.
    pub over_seconds: f64,
    /// I/Os per second that 95 % of the windows of a second reached or exceeded.
    pub kept_iops: f64,
    /// Windows of a second.
    pub windows: u64,
}

/// The smallest depth measured that gives nearly all of the answer: its IOPS are estimated at
/// [`Knee::SHARE`] of the answer's or more.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Knee {
    /// Depth of the knee, the answer's at most.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// I/Os per second there.
    pub iops: f64,
    /// Those over the answer's; none in results of versions that had another knee: the depth at which the
    /// line through depth 1 meets the highest IOPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Estimate>,
}

impl Knee {
    /// What counts as nearly all.
    pub const SHARE: f64 = 0.95;
}

/// One measured point of the capacity curve.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Depth asked.
    #[serde(rename = "depth")]
    pub queue_depth: u32,
    /// Arrival rate asked, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// I/Os that came due per second of the window, in an open loop; `iops` is what was achieved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_iops: Option<f64>,
    /// Most I/Os that were due and waited because `queue_depth` were outstanding, in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_max: Option<u64>,
    /// Time average of the I/Os outstanding.
    #[serde(rename = "depth_achieved")]
    pub queue_depth_achieved: f64,
    /// I/Os per second.
    pub iops: Estimate,
    /// Latency; response time in an open loop.
    pub latency_ns: LatencySummary,
    /// What the limits' statistics came to, in the order of the limits; empty in results of
    /// versions that did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitValue>,
    /// Service time beside it, in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<LatencySummary>,
    /// True where every limit held.
    pub met: bool,
    /// Processor time of this process, in percent of one processor.
    pub cpu_percent: f64,
    /// True where the point's window showed no drift.
    pub steady: bool,
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// I/Os that failed in the window.
    pub errors: u64,
}

/// The document of `iogauge find`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FindDocument {
    /// Format, version, run, target, load.
    #[serde(flatten)]
    pub head: Head,
    /// Bounds searched under.
    pub limits: Vec<Limit>,
    /// What was found.
    pub answer: Answer,
    /// The knee of the curve, where it has one.
    pub knee: Option<Knee>,
    /// Points measured, by rising depth.
    pub curve: Vec<CurvePoint>,
    /// The search over time, between its points as well; empty in results of versions that did not keep
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<IntervalPoint>,
    /// Performance shifts that the search lived through; answer and curve are those after the
    /// last.
    #[serde(default, rename = "regimes", skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<PerformanceShift>,
    /// What the devices did over the whole search.
    pub physical: Option<Physical>,
    /// What the block layer saw, where it was traced: in the last window at the depth or rate of the
    /// answer, which is the one that held it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<BlockTrace>>,
    /// Time spent measuring, in seconds.
    pub measured_seconds: f64,
    /// When the search began, RFC 3339 in UTC; `None` in results of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// The machine's figures over the whole search; empty in results of versions that did not keep
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<SystemPoint>,
    /// Reasons to doubt the result.
    pub caveats: Vec<Caveat>,
    /// Where it ran.
    pub environment: Environment,
}
