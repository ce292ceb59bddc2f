//! Helpers of the history tests.

use iogauge_lab::history::{NewRun, UtcTime};
use serde_json::json;

/// Returns a new run, for [`iogauge_lab::history::History::begin`].
pub fn new_run() -> NewRun {
    NewRun {
        kind: "run".to_owned(),
        started: UtcTime::now(),
        command_line: "iogauge run sim:nvme".to_owned(),
        target: "sim:nvme".to_owned(),
        load: "randread".to_owned(),
        head: json!({}),
    }
}
