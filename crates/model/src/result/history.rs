//! The list of runs in the history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document of `iogauge history list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HistoryDocument {
    /// Name and version of the format: [`super::HISTORY_FORMAT`].
    pub format: String,
    /// The runs, newest first.
    pub runs: Vec<HistoryRun>,
}

/// What is kept of a run without a result: one that is still running, or that crashed or failed. Printed by
/// `iogauge history show --format json`.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct UnfinishedDocument {
    /// Name and version of the format: [`super::UNFINISHED_FORMAT`].
    pub format: String,
    pub run: HistoryRun,
    /// The fields of the run's document that were known at its start; `null` if none were.
    pub head: serde_json::Value,
    /// The steps or points that were completed, or kept before.
    pub steps: Vec<UnfinishedStep>,
}

/// A step or point of a run without a result.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct UnfinishedStep {
    /// Number of the step, from 0.
    pub index: u32,
    /// A short description.
    pub label: String,
    /// When it was kept, RFC 3339 in UTC.
    pub recorded: String,
    /// The result as in the run's document.
    pub result: serde_json::Value,
}

/// A run in the history.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HistoryRun {
    /// Name of the run.
    pub id: String,
    /// The command: `run`, `find`, `suite`, `db-run` and so on; `import` for results of fio.
    pub kind: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// End, RFC 3339 in UTC; `null` if the run has not ended or its process crashed.
    pub ended: Option<String>,
    /// `running`, `done`, `interrupted`, `failed` or `crashed`.
    pub state: String,
    /// Exit code of the command; `null` if it has not ended.
    pub exit_code: Option<i32>,
    /// The target as typed.
    pub target: String,
    /// Short description of the workload.
    pub load: String,
    /// The result in one line; empty until the run has ended.
    pub verdict: String,
    /// Number of stored steps or points.
    pub steps: u32,
    /// The user's name for the run; `null` if it has none.
    #[serde(default)]
    pub label: Option<String>,
}
