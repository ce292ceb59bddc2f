//! The steady state of a job as reported by fio.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The steady state that fio looked for (`ss`), and its state when the job ended.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioSteadyState {
    /// What was judged: `iops`, `iops_slope`, `bw` or `bw_slope`; text output names it so too.
    pub of: String,
    /// Bound in fio's notation, such as `0.3%`, or `2` for an absolute one; empty if not in the file, as in
    /// text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bound: String,
    /// Length of the window that was judged, in seconds; `None` if not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_seconds: Option<f64>,
    /// True if the job ended because it attained the steady state.
    pub attained: bool,
    /// Largest deviation from the mean, or slope, of the last window, in fio's notation, such as `0.28%`.
    /// Empty if no window was complete.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub at_end: String,
}
