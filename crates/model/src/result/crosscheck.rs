//! The document of `iogauge crosscheck`: one workload measured by iogauge and by fio.

use super::{Environment, Estimate, Head, StepResult};
use crate::caveat::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program that did the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// iogauge's own workers.
    Iogauge,
    /// fio, run by iogauge.
    Fio,
}

/// The figure compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Reads and writes per second.
    Iops,
    /// Mean service time of reads and writes together, in nanoseconds.
    LatencyNsMean,
    /// Median service time.
    LatencyNsP50,
    /// 99th percentile of the service time.
    LatencyNsP99,
    /// 99.9th percentile of the service time.
    LatencyNsP999,
}

impl Figure {
    /// All figures, in the order of the output.
    pub const ALL: [Self; 5] = [
        Self::Iops,
        Self::LatencyNsMean,
        Self::LatencyNsP50,
        Self::LatencyNsP99,
        Self::LatencyNsP999,
    ];

    /// Returns its word in texts and options.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::LatencyNsMean => "mean",
            Self::LatencyNsP50 => "p50",
            Self::LatencyNsP99 => "p99",
            Self::LatencyNsP999 => "p99.9",
        }
    }
}

/// Whether two figures agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// The whole interval of the ratio is within the tolerance.
    Agree,
    /// The whole interval of the ratio is outside the tolerance.
    Differ,
    /// The interval contains a bound of the tolerance, or there is no interval.
    CannotTell,
}

/// A figure as measured by both programs.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Comparison {
    /// The figure.
    pub figure: Figure,
    /// Median of iogauge's rounds.
    pub iogauge: f64,
    /// Median of fio's rounds.
    pub fio: f64,
    /// Ratio of iogauge's figure to fio's in the same round: geometric mean with its confidence interval.
    pub ratio: Estimate,
    /// Whether the figures agree.
    pub verdict: Agreement,
    /// Number of rounds that would decide, if these did not and that many can be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_wanted: Option<u64>,
}

/// The document of `iogauge crosscheck`. Steps, caveats and environment are as in the document of a run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CrosscheckDocument {
    /// Format, version, run, target, workload, and the fio compared with.
    #[serde(flatten)]
    pub head: Head,
    /// Verdict over all figures: they agree if each agrees, and differ if any differs.
    pub verdict: Agreement,
    /// Largest relative difference of figures that agree.
    pub tolerance: f64,
    /// Number of complete rounds.
    pub rounds: u64,
    /// Time of each turn, in seconds.
    pub round_seconds: f64,
    /// Each figure.
    pub figures: Vec<Comparison>,
    /// The program that measured each step, in the order of the steps.
    pub sides: Vec<Side>,
    /// The steps in the order they ran. A round has two turns of each program, in a random order and then in the reverse
    /// order. In results of earlier versions, it has one turn of each.
    pub steps: Vec<StepResult>,
    /// True if the run ended early.
    pub interrupted: bool,
    /// Reasons why the result may mislead.
    pub caveats: Vec<Caveat>,
    /// The machine.
    pub environment: Environment,
}
