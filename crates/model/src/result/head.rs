//! The common start of the documents of runs: run, target and workload.

use super::{HostPart, SuiteAsked, TargetFacts};
use crate::load::Load;
use crate::plan::{Job, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The common start of the documents of runs.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Head {
    /// Name and version of the format, such as [`super::RUN_FORMAT`].
    pub format: String,
    /// Version of iogauge that wrote the document.
    pub version: String,
    /// Name of the run in the history.
    pub run_id: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// The user's name for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What was measured.
    pub target: TargetFacts,
    /// The workload.
    pub load: Workload,
    /// The program that did the I/O, if it was not iogauge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// The part of each of several hosts, if they are not equal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_parts: Vec<HostPart>,
}

/// A program, run by iogauge, that did the I/O and measured it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Via {
    /// Name and version as the program reports them: `fio-3.33`.
    pub version: String,
    /// The command that started the program.
    pub binary: String,
}

/// The workload of a run, as far as it is known. Its fields show which kind it is.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Workload {
    /// One workload.
    Load(Box<Load>),
    /// Processes that access a database.
    Database(DatabaseLoad),
    /// Jobs that ran together.
    Jobs { jobs: Vec<Job> },
    /// Steps that ran in order.
    Steps {
        /// Short description of the steps.
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
    /// A workload of which only a description is stored: an import, or a job file that fio ran.
    Label {
        /// The description.
        label: String,
    },
    /// A workload in a format that this version does not know, or none yet (`null`).
    Other(Value),
}

/// The workload of a database.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DatabaseLoad {
    /// Short description of the workload.
    pub label: String,
    /// What processes do: `read`, `write`, `io` or `readers-writers`.
    pub mode: String,
    /// Number of concurrent processes.
    #[serde(default)]
    pub processes: u32,
    /// Reads or updates per transaction.
    #[serde(default)]
    pub transaction_length: u32,
    /// Hang time (think time) after each transaction, in nanoseconds.
    #[serde(default)]
    pub hang_ns: u64,
    /// Seed of all random choices.
    #[serde(default)]
    pub seed: u64,
    /// Percentage of transactions that read, in mode `io`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u32>,
    /// Number of processes that update, the first ones, in mode `readers-writers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writers: Option<u32>,
    /// The numbers of processes that were measured in order, if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<ProcessLadder>,
}

/// Numbers of processes that are measured in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ProcessLadder {
    /// The numbers, ascending.
    pub processes: Vec<u32>,
    /// Why the run ended before the last number; `None` if it did not.
    pub ended_by: Option<String>,
}

impl Workload {
    /// Creates a workload that has only a description.
    #[must_use]
    pub fn label(label: impl Into<String>) -> Self {
        Self::Label { label: label.into() }
    }

    /// Returns the workload, if it is a single one.
    #[must_use]
    pub fn load(&self) -> Option<&Load> {
        match self {
            Self::Load(load) => Some(load),
            Self::Jobs { jobs } => match jobs.as_slice() {
                [job] => Some(&job.load),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the database workload, if it is one.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseLoad> {
        match self {
            Self::Database(load) => Some(load),
            _ => None,
        }
    }

    /// Returns the jobs of each step, as far as they are known.
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
