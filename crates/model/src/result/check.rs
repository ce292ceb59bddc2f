//! Results of `iogauge check`: whether a target meets requirements.

mod words;

use super::{Estimate, LimitValue};
use crate::required_rate::RequiredRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a requirement is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// It is met, beyond chance.
    Pass,
    /// It is not met, beyond chance.
    Fail,
    /// The measurement shows neither.
    Undecided,
}

impl CheckVerdict {
    /// Returns the word that is printed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
        }
    }

    /// Returns the verdict on several requirements together: one that is not met decides, then one that is undecided.
    #[must_use]
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().fold(Self::Pass, |all, one| match (all, one) {
            (Self::Fail, _) | (_, Self::Fail) => Self::Fail,
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Pass, Self::Pass) => Self::Pass,
        })
    }
}

/// Why the measurement for a requirement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckEnd {
    /// The verdict was proven.
    Proven,
    /// The time budget ran out.
    Budget,
    /// The processors of this machine were the bottleneck, so that a broken requirement says nothing about the target.
    Client,
    /// iogauge lacked processor time in most of the measurement.
    Starved,
    /// I/Os failed, or none completed.
    Errors,
    /// The user interrupted it.
    Interrupted,
}

/// The rate of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CheckedRate {
    /// The rate as it was required.
    pub required: RequiredRate,
    /// The same in reads and writes per second.
    pub required_iops: f64,
    /// Reads and writes completed per second. The interval holds for all looks at the data together.
    pub iops: Estimate,
    /// In an open loop: share of the arrivals that were served. The interval holds for all looks at the data together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Estimate>,
    /// Whether the rate is served.
    pub verdict: CheckVerdict,
}

impl CheckedRate {
    /// In an open loop, the share of the arrivals that has to be served. A target that gives 3 % less than the rate
    /// serves less, one that gives the rate serves all of them.
    pub const SERVED: f64 = 0.985;
}

/// A latency limit of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CheckedLimit {
    /// The limit and its statistic. The interval holds for all looks at the data together.
    #[serde(flatten)]
    pub value: LimitValue,
    /// Whether the limit is kept. A maximum can be broken, but never proven for all time: pass means that no I/O was
    /// over it in the time that was watched.
    pub verdict: CheckVerdict,
    /// `Some` if the interval is within the bound, but does not decide yet: the latency varies over about this time, in
    /// seconds, and too few such stretches were seen to know how slow rare ones are. 0 if too little was seen to tell
    /// how it varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varies_over_seconds: Option<f64>,
}

/// The check of a requirement.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CheckResult {
    /// Whether the requirement is met.
    pub verdict: CheckVerdict,
    /// Why the measurement ended.
    pub ended_by: CheckEnd,
    /// The rate.
    pub rate: CheckedRate,
    /// The latency limits: on response times in an open loop, on service times in a closed one.
    pub limits: Vec<CheckedLimit>,
    /// Measured time, in seconds.
    pub seconds: f64,
    /// Time that the measurement could take, in seconds.
    pub budget_seconds: f64,
    /// If the budget ran out: the budget that would probably decide, in seconds; `None` if the figures are too close to
    /// the requirement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_seconds: Option<f64>,
}

/// A requirement with its check.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CheckedRequirement {
    /// Name of the requirement: the key of its step.
    pub name: String,
    /// Where the requirement comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The check; `None` if it did not run.
    pub check: Option<CheckResult>,
}

/// An earlier run that a requirement comes from.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CheckBaseline {
    /// ID of the run.
    pub run_id: String,
    /// Its IOPS, taken as an exact number.
    pub iops: f64,
    /// How much less is required, in percent.
    pub margin_percent: f64,
}

/// Findings of `iogauge check`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CheckFindings {
    /// The verdict on all requirements together. A requirement that was not checked is undecided.
    pub check: CheckVerdict,
    /// The requirements, in order.
    pub requirements: Vec<CheckedRequirement>,
    /// The run that the requirement comes from, if it comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<CheckBaseline>,
}

#[cfg(test)]
mod tests {
    use super::CheckVerdict::{Fail, Pass, Undecided};
    use super::*;

    #[test]
    fn failed_requirement_decides_before_an_undecided_one() {
        assert_eq!(CheckVerdict::of_all([]), Pass);
        assert_eq!(CheckVerdict::of_all([Pass, Pass]), Pass);
        assert_eq!(CheckVerdict::of_all([Pass, Undecided, Pass]), Undecided);
        assert_eq!(CheckVerdict::of_all([Undecided, Fail, Pass]), Fail);
        assert_eq!(CheckVerdict::of_all([Fail, Undecided]), Fail);
    }
}
