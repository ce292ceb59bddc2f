//! The document of `iogauge crosscheck`: one load measured by iogauge and by fio.

use super::{Environment, Estimate, Head, StepResult};
use crate::caveat::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of two programs did the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// iogauge's own workers.
    Iogauge,
    /// fio, driven by iogauge.
    Fio,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Reads and writes per second.
    Iops,
    /// Mean service time of reads and writes together, in nanoseconds.
    LatencyNsMean,
    /// Their median.
    LatencyNsP50,
    /// Their 99th percentile.
    LatencyNsP99,
    /// Their 99.9th percentile.
    LatencyNsP999,
}

impl Figure {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 5] = [
        Self::Iops,
        Self::LatencyNsMean,
        Self::LatencyNsP50,
        Self::LatencyNsP99,
        Self::LatencyNsP999,
    ];
}

/// Whether two figures are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// The whole interval of the ratio lies within the tolerance.
    Agree,
    /// The whole interval lies outside of it.
    Differ,
    /// The interval lies on both sides of a bound, or there is none.
    CannotTell,
}

/// One figure of both.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Comparison {
    /// Which.
    pub figure: Figure,
    /// Median of iogauge's rounds.
    pub iogauge: f64,
    /// Median of fio's rounds.
    pub fio: f64,
    /// iogauge's figure over fio's, round by round: geometric mean with its interval.
    pub ratio: Estimate,
    /// What that says.
    pub verdict: Agreement,
    /// Rounds that would decide it, where these do not and so many can be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_wanted: Option<u64>,
}

/// The document of `iogauge crosscheck`. With steps, caveats and environment it has what that of a
/// run has.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CrosscheckDocument {
    /// Format, version, run, target, load, and the fio it was checked against.
    #[serde(flatten)]
    pub head: Head,
    /// All figures together: they agree where each does, and differ where any does.
    pub verdict: Agreement,
    /// How far apart figures may be that agree, as a share.
    pub tolerance: f64,
    /// Rounds measured whole.
    pub rounds: u64,
    /// Time each side measures in a round, in seconds.
    pub round_seconds: f64,
    /// Figure by figure.
    pub figures: Vec<Comparison>,
    /// Who measured each step, in the order of the steps.
    pub sides: Vec<Side>,
    /// The steps in the order they ran: each round one of each side, the first one in turn.
    pub steps: Vec<StepResult>,
    /// True where it ended before its time.
    pub interrupted: bool,
    /// Reasons to doubt the result.
    pub caveats: Vec<Caveat>,
    /// Where it ran.
    pub environment: Environment,
}
