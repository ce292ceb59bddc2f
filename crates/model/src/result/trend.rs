//! The document of `iogauge history trend`: the changes in a series of runs.

use super::{Environment, Estimate, Head};
use crate::caveat::Caveat;
use crate::limit::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metric of a series, in the unit that its name ends with. Latencies are those of the run's answer: service times,
/// response times in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendMetric {
    /// I/Os per second: the capacity of a search, the reads and writes of a run.
    Iops,
    /// Bytes per second.
    BytesPerSec,
    /// Mean latency.
    LatencyNsMean,
    /// Median latency.
    LatencyNsP50,
    /// 99th percentile of the latency.
    LatencyNsP99,
    /// 99.9th percentile of the latency.
    LatencyNsP999,
}

impl TrendMetric {
    /// All metrics with their words on the command line, and their names in documents and CSV.
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Iops, "iops", "iops"),
        (Self::BytesPerSec, "bandwidth", "bytes_per_sec"),
        (Self::LatencyNsMean, "mean", "latency_ns_mean"),
        (Self::LatencyNsP50, "p50", "latency_ns_p50"),
        (Self::LatencyNsP99, "p99", "latency_ns_p99"),
        (Self::LatencyNsP999, "p99.9", "latency_ns_p999"),
    ];

    /// Returns its word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(metric, ..)| *metric == self).map_or("", |(_, word, _)| word)
    }

    /// True if smaller values are better.
    #[must_use]
    pub fn is_latency(self) -> bool {
        !matches!(self, Self::Iops | Self::BytesPerSec)
    }
}

/// A run of a series.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TrendPoint {
    /// Name of the run in the history.
    pub run_id: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// The target as typed.
    pub target: String,
    /// The value of the metric.
    pub value: f64,
    /// 95 % confidence interval of the value, within the run; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
}

/// Consecutive runs without a change.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TrendSegment {
    /// Number of the first run in `points`, from 0.
    pub first: u32,
    /// Number of runs.
    pub runs: u32,
    /// Geometric mean of the values.
    pub mean: f64,
}

/// A change between two segments.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TrendChange {
    /// Number of the first run after the change in `points`, from 0.
    pub at: u32,
    /// Name of that run.
    pub run_id: String,
    /// Start of that run, RFC 3339 in UTC.
    pub started: String,
    /// Geometric mean of the segment before the change.
    pub before: f64,
    /// Geometric mean of the segment after the change.
    pub after: f64,
    /// `after` divided by `before`.
    pub ratio: Estimate,
    /// The p value of the permutation test.
    pub p: f64,
    /// True if the change is for the worse: fewer IOPS, less bandwidth, or a higher latency.
    pub worse: bool,
}

/// Selected runs that are not in the series.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TrendLeftOut {
    /// Number of runs.
    pub runs: u32,
    /// Why they are not in it.
    pub reason: String,
}

/// Why a run of the series has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendFailure {
    /// Its search found no answer, or it completed no reads and writes.
    NoAnswer,
    /// I/Os failed in it.
    IoErrors,
    /// It did not end.
    NotEnded,
}

/// A run of the series without a value.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TrendFailed {
    /// Name of the run in the history.
    pub run_id: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// The target as typed.
    pub target: String,
    /// Number of runs in `points` that began before it.
    pub after: u32,
    /// Why it has no value.
    pub failure: TrendFailure,
}

/// The document of `iogauge history trend`. Its head is that of the newest run in the series.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TrendDocument {
    /// Format and version of this document; newest run, target, workload.
    #[serde(flatten)]
    pub head: Head,
    /// The command of the runs: `find`, `run`, `db-find`, `db-run` or `import`.
    pub kind: String,
    /// Limits of the searches; empty for other runs.
    pub limits: Vec<Limit>,
    /// The metric.
    pub metric: TrendMetric,
    /// Maximum chance of one or more changes that are not there, if the runs are independent.
    pub p_max: f64,
    /// The smallest change that is reported: a ratio of 1 + this, or 1 / (1 + this).
    pub min_change: f64,
    /// The runs of the series in the order in which they began.
    pub points: Vec<TrendPoint>,
    /// The segments between the changes; at least one.
    pub segments: Vec<TrendSegment>,
    /// The changes.
    pub changes: Vec<TrendChange>,
    /// Runs of the series without a value, which may be a change for the worse. They are also in `left_out`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<TrendFailed>,
    /// Number of runs below which no change can be found with `p_max`, however large; `None` if an older version made this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest_runs: Option<u32>,
    /// Number of runs that carry the information of one independent run, from the autocorrelation of the values about
    /// the means of their segments; 1 if they are independent.
    pub autocorrelation_runs: f64,
    /// Selected runs that are not in the series.
    pub left_out: Vec<TrendLeftOut>,
    /// Reasons why the changes may mislead.
    pub caveats: Vec<Caveat>,
    /// The machine of the newest run.
    pub environment: Environment,
}

impl TrendDocument {
    /// Returns the runs without a value among the newest runs of the series, oldest first.
    pub fn failed_of_newest(&self, newest: u32) -> impl Iterator<Item = &TrendFailed> {
        let all = self.failed.len();
        // Of the runs after this one, some have a value, and the later ones of this list have none.
        let younger = move |place: usize, failed: &TrendFailed| {
            self.points.len() - (failed.after as usize).min(self.points.len()) + all - 1 - place
        };
        let places = self.failed.iter().enumerate();
        places
            .filter(move |(place, failed)| younger(*place, failed) < newest as usize)
            .map(|(_, failed)| failed)
    }

    /// True if no change can be found, however large.
    #[must_use]
    pub fn has_too_few_runs(&self) -> bool {
        self.fewest_runs.is_some_and(|fewest| self.points.len() < fewest as usize)
    }

    /// Returns the runs without a value after the last one with a value.
    #[must_use]
    pub fn failed_last(&self) -> &[TrendFailed] {
        let is_last = |failed: &TrendFailed| failed.after as usize >= self.points.len();
        let first = self.failed.iter().position(is_last).unwrap_or(self.failed.len());
        &self.failed[first..]
    }
}
