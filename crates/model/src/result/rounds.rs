//! Findings of suites that repeat their workloads in rounds until they are steady: the part shown as a chart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rounds measured, and those that count.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RoundsFindings {
    /// Number of complete rounds.
    pub rounds: u32,
    /// True if all tracked workloads are steady in the window.
    pub steady: bool,
    /// The rounds that count; `None` if there are fewer than five.
    pub window: Option<RoundsWindow>,
    /// The tracked workloads, which must be steady.
    pub tracked: Vec<TrackedRounds>,
}

/// The rounds that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RoundsWindow {
    /// First round, from 1.
    pub first_round: u32,
    /// Last round.
    pub last_round: u32,
}

impl RoundsWindow {
    /// True if a round counts.
    #[must_use]
    pub fn contains(&self, round: u32) -> bool {
        (self.first_round..=self.last_round).contains(&round)
    }
}

/// The value tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundsUnit {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    BytesPerSec,
    /// Mean latency, in nanoseconds.
    LatencyNsMean,
}

/// A workload that must be steady, judged by the rule of the SNIA Solid State Storage Performance Test
/// Specification in the rounds that count.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TrackedRounds {
    /// Percentage of reads; the rest are writes.
    pub read_percent: u32,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// The value tracked.
    pub unit: RoundsUnit,
    /// The value in each complete round.
    pub rounds: Vec<f64>,
    /// Mean of the rounds that count.
    pub mean: Option<f64>,
    /// Range of the rounds that count (maximum minus minimum), in percent of the mean; `None` if the mean is
    /// 0.
    pub range_percent: Option<f64>,
    /// Rise of the least-squares line through the rounds that count, in percent of the mean; `None` if the
    /// mean is 0.
    pub rise_percent: Option<f64>,
    /// Values of this line in the first and the last round that count.
    pub line: Option<[f64; 2]>,
    /// True if range and rise are within their bounds.
    pub steady: Option<bool>,
}
