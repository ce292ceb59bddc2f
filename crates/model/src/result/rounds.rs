//! Rounds of a suite that repeats its loads until they agree: the part of its findings that is drawn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the rounds came, and which of them count.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RoundsFindings {
    /// Rounds that are complete.
    pub rounds: u32,
    /// True where everything tracked is steady in the window.
    pub steady: bool,
    /// The rounds that count; `None` below five.
    pub window: Option<RoundsWindow>,
    /// What has to be steady.
    pub tracked: Vec<TrackedRounds>,
}

/// Rounds that count, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RoundsWindow {
    /// The first of them, from 1.
    pub first_round: u32,
    /// The last of them.
    pub last_round: u32,
}

impl RoundsWindow {
    /// True for the rounds that count.
    #[must_use]
    pub fn contains(&self, round: u32) -> bool {
        (self.first_round..=self.last_round).contains(&round)
    }
}

/// What is tracked by round.
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

/// A load that has to be steady, and what the rule of the SNIA Solid State Storage Performance Test
/// Specification finds in the rounds that count.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TrackedRounds {
    /// Share of reads, in percent; the rest are writes.
    pub read_percent: u32,
    /// Size of its blocks.
    pub block_bytes: u64,
    /// What its values are.
    pub unit: RoundsUnit,
    /// The value of each complete round.
    pub rounds: Vec<f64>,
    /// Mean of the rounds that count.
    pub mean: Option<f64>,
    /// Largest less smallest of them, in percent of the mean; `None` of a mean of 0.
    pub range_percent: Option<f64>,
    /// Rise of the least-squares line through them, in percent of the mean; `None` of a mean of 0.
    pub rise_percent: Option<f64>,
    /// The ends of this line: in the first round that counts and in the last.
    pub line: Option<[f64; 2]>,
    /// True where both are within their bounds.
    pub steady: Option<bool>,
}
