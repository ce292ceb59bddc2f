//! What the documents of runs begin with: which run it is, what was measured, and with which workload.

use super::{SuiteAsked, TargetFacts};
use crate::load::Load;
use crate::plan::{Job, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the document of a run begins with.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Head {
    /// Format word with version, such as [`super::RUN_FORMAT`].
    pub format: String,
    /// Version of iogauge that wrote it.
    pub version: String,
    /// Name of the run in the history.
    pub run_id: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// What was measured.
    pub target: TargetFacts,
    /// The workload.
    pub load: Workload,
    /// The program that did the I/O, where it was not iogauge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

/// A program that did the I/O and measured it, driven by iogauge.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Via {
    /// What it calls itself: `fio-3.33`.
    pub version: String,
    /// The program as it was started.
    pub binary: String,
}

/// The workload of a run as far as it is known. The fields tell the kinds apart.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Workload {
    /// One load.
    Load(Box<Load>),
    /// Processes that work on a database.
    Database(DatabaseLoad),
    /// Jobs that ran together.
    Jobs {
        /// The jobs.
        jobs: Vec<Job>,
    },
    /// Steps that ran one after the other.
    Steps {
        /// The steps in a few words.
        label: String,
        /// The steps, in order.
        steps: Vec<Step>,
    },
    /// A suite.
    Suite {
        /// Name of the suite.
        label: String,
        /// The suite and its options.
        suite: SuiteAsked,
    },
    /// A workload of which only a description is kept: an import, a job file that fio ran.
    Label {
        /// The description.
        label: String,
    },
    /// A workload in a form that this version does not know, or none yet (`null`).
    Other(Value),
}

/// What was asked of a database.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseLoad {
    /// The workload in a few words.
    pub label: String,
    /// What each process does: `read`, `write` or `io`.
    pub mode: String,
    /// Processes at work at the same time.
    #[serde(default)]
    pub processes: u32,
    /// Reads or updates in a transaction.
    #[serde(default)]
    pub transaction_length: u32,
    /// Pause after each transaction, in nanoseconds.
    #[serde(default)]
    pub hang_ns: u64,
    /// Seed of all draws.
    #[serde(default)]
    pub seed: u64,
    /// Share of the transactions that read, in percent, where the mode is `io`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u32>,
    /// The numbers of processes that were measured in turn, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<ProcessLadder>,
}

/// Numbers of processes that are measured one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ProcessLadder {
    /// The numbers, rising.
    pub processes: Vec<u32>,
    /// Why the run ended before the last one; `None` where it did not.
    pub ended_by: Option<String>,
}

impl Workload {
    /// A workload of which there is only a description.
    #[must_use]
    pub fn label(label: impl Into<String>) -> Self {
        Self::Label { label: label.into() }
    }

    /// The load, where it is one.
    #[must_use]
    pub fn load(&self) -> Option<&Load> {
        match self {
            Self::Load(load) => Some(load),
            _ => None,
        }
    }

    /// What was asked of a database, where it is one.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseLoad> {
        match self {
            Self::Database(load) => Some(load),
            _ => None,
        }
    }

    /// The jobs of each step, as far as they are known.
    #[must_use]
    pub fn jobs_of_steps(&self) -> Vec<Vec<Job>> {
        match self {
            Self::Load(load) => {
                vec![vec![Job { name: load.rw.to_string(), load: (**load).clone() }]]
            }
            Self::Jobs { jobs } => vec![jobs.clone()],
            Self::Steps { steps, .. } => steps.iter().map(|step| step.jobs.clone()).collect(),
            _ => Vec::new(),
        }
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self::Other(Value::Null)
    }
}

impl From<Load> for Workload {
    fn from(load: Load) -> Self {
        Self::Load(Box::new(load))
    }
}
