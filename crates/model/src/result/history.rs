//! The list of runs that the history keeps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document of `iogauge history list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HistoryDocument {
    /// Format word with version: [`super::HISTORY_FORMAT`].
    pub format: String,
    /// The runs, the last one first.
    pub runs: Vec<HistoryRun>,
}

/// One run of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HistoryRun {
    /// Name of the run.
    pub id: String,
    /// The command: `run`, `find`, `suite`, `db-run` and so on; `import` for results of fio.
    pub kind: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// End, RFC 3339 in UTC; `null` while it runs, and of a run whose process crashed.
    pub ended: Option<String>,
    /// `running`, `done`, `interrupted`, `failed` or `crashed`.
    pub state: String,
    /// Exit code of the command; `null` where it has not ended.
    pub exit_code: Option<i32>,
    /// The target in the user's words.
    pub target: String,
    /// The workload in a few words.
    pub load: String,
    /// The result in one line; empty until the run has ended.
    pub verdict: String,
    /// Number of steps or points that are kept.
    pub steps: u32,
}
