//! Findings of `iogauge compare`: how subjects compare with a baseline.

use super::{Conclusion, Estimate, Figure, TargetFacts, Workload};
use crate::caveat::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was compared: a target with a load and with what was set up for it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CompareSubject {
    /// Its letter: `A` for the first one.
    pub name: String,
    /// What distinguishes it from the others, as typed: a target, options, or a command.
    pub about: String,
    /// The target.
    pub target: TargetFacts,
    /// The load.
    pub load: Workload,
    /// The command that ran before each turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
}

/// A command that ran before a turn, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CompareSetup {
    /// Key of the step that it prepared.
    pub step: String,
    /// What it wrote to standard output and standard error, at most the last 4,096 bytes.
    pub output: String,
    /// Why it failed; `None` if it ended with exit code 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// How a subject compares with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareVerdict {
    /// The interval of the ratio lies within the margin.
    Equivalent,
    /// The interval lies beyond the margin: more IOPS, or lower latency.
    Better,
    /// The interval lies beyond the margin: fewer IOPS, or higher latency.
    Worse,
    /// The interval contains a bound of the margin, or there is no interval.
    Undecided,
}

/// The findings of a comparison.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CompareFindings {
    /// The figure that decides.
    pub metric: Figure,
    /// Relative difference up to which subjects are equivalent.
    pub margin: f64,
    /// The subject with which the others are compared.
    pub baseline: String,
    /// The other subjects.
    pub compared: Vec<Compared>,
    /// Number of complete blocks that count. In a block, each subject is measured twice.
    pub blocks: u64,
    /// Number of complete blocks that do not count, because a turn lacks the figure that decides. If they are more than a
    /// third, the verdict is undecided.
    #[serde(default)]
    pub blocks_left_out: u64,
    /// Maximum number of blocks within the budget.
    pub blocks_most: u64,
}

/// A subject compared with the baseline.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Compared {
    /// The subject.
    pub subject: String,
    /// Verdict on the figure that decides.
    pub verdict: CompareVerdict,
    /// Each figure that all turns have. The intervals of all looks at the data and of all subjects together have 95 %
    /// confidence.
    pub figures: Vec<ComparedFigure>,
    /// The ratio of the deciding figure in each block.
    pub block_ratios: Vec<f64>,
    /// Relative difference beyond the margin that as many blocks detect in 80 % of comparisons, from the standard
    /// deviation of the blocks. `None` with fewer than two blocks.
    pub smallest_difference: Option<f64>,
    /// Number of further blocks that would decide if ratio and standard deviation stay the same. `None` if the verdict is
    /// decided or more than 1000 are needed.
    pub blocks_wanted: Option<u64>,
}

/// A figure of a subject and of the baseline.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ComparedFigure {
    /// The figure.
    pub figure: Figure,
    /// Geometric mean of the baseline's turns.
    pub baseline: f64,
    /// Geometric mean of the subject's turns.
    pub subject: f64,
    /// Ratio of the subject's figure to the baseline's in the same block: geometric mean with its confidence interval. `n`
    /// is the number of blocks.
    pub ratio: Estimate,
}

impl CompareFindings {
    /// Returns true if more than a third of the complete blocks do not count: what makes their turns fail may be what is
    /// to be compared.
    #[must_use]
    pub fn leaves_out_too_many(left_out: u64, complete: u64) -> bool {
        3 * left_out > complete
    }

    /// Returns the findings of a suite's conclusion; `None` if they are of another suite.
    #[must_use]
    pub fn of(findings: &serde_json::Value) -> Option<Self> {
        let is_own = findings.get("compared").is_some();
        is_own.then(|| Self::deserialize(findings).ok()).flatten()
    }

    /// Returns the verdict over all subjects: worse if one is worse, undecided if one is undecided and none is worse.
    #[must_use]
    pub fn verdict(&self) -> CompareVerdict {
        use CompareVerdict::{Better, Equivalent, Undecided, Worse};
        let has = |verdict| self.compared.iter().any(|compared| compared.verdict == verdict);
        match () {
            () if has(Worse) => Worse,
            () if has(Undecided) || self.compared.is_empty() => Undecided,
            () if has(Better) => Better,
            () => Equivalent,
        }
    }
}

impl Compared {
    /// Returns a figure; `None` if a turn lacks it.
    #[must_use]
    pub fn figure(&self, figure: Figure) -> Option<&ComparedFigure> {
        self.figures.iter().find(|compared| compared.figure == figure)
    }
}

/// Saved runs that are one side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ComparedRuns {
    /// Its letter: `A` for the first one.
    pub name: String,
    /// The runs as typed: `label:before`.
    pub about: String,
    /// Their IDs, in the order in which they began.
    pub runs: Vec<String>,
}

/// Something in which saved runs differ besides their figures.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CompareDifference {
    /// What differs: `load.iodepth`, `environment.kernel`.
    pub what: String,
    /// Its value for each side; several values of one side are separated by ` / `.
    pub values: Vec<String>,
}

/// The document of `iogauge compare` for runs of the history.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CompareDocument {
    /// Name and version of the format: [`super::COMPARE_FORMAT`].
    pub format: String,
    /// The sides.
    pub subjects: Vec<ComparedRuns>,
    /// In what they differ.
    pub differences: Vec<CompareDifference>,
    /// Verdict, tables, and [`CompareFindings`].
    #[serde(flatten)]
    pub conclusion: Conclusion,
    /// Reasons why the result may mislead.
    pub caveats: Vec<Caveat>,
}
