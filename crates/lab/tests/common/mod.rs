//! Helpers of the history tests.
#![allow(clippy::unwrap_used)]

use iogauge_lab::history::{NewRun, UtcTime};
use serde_json::json;

/// Returns a new run, for [`iogauge_lab::history::History::begin`].
#[allow(dead_code, reason = "not all tests use it")]
pub fn new_run() -> NewRun {
    NewRun {
        kind: "run".to_owned(),
        started: UtcTime::now(),
        command_line: "iogauge run sim:nvme".to_owned(),
        target: "sim:nvme".to_owned(),
        load: "randread".to_owned(),
        label: None,
        head: json!({}),
    }
}

/// The tables of version 1 with a run, `20261121-101530-x7k2`.
const VERSION_1: &str = "
CREATE TABLE run (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted', 'failed')),
    started_ns INTEGER NOT NULL,
    finished_ns INTEGER,
    exit_code INTEGER,
    verdict TEXT NOT NULL DEFAULT '',
    command_line TEXT NOT NULL,
    target TEXT NOT NULL,
    load TEXT NOT NULL,
    head TEXT NOT NULL,
    document TEXT,
    pid INTEGER NOT NULL,
    pid_started_ticks INTEGER NOT NULL,
    pid_namespace TEXT NOT NULL,
    boot_id TEXT NOT NULL
) STRICT;
CREATE TABLE step (
    run_seq INTEGER NOT NULL REFERENCES run (seq) ON DELETE CASCADE,
    step_index INTEGER NOT NULL,
    label TEXT NOT NULL,
    recorded_ns INTEGER NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (run_seq, step_index)
) STRICT;
INSERT INTO run VALUES (1, '20261121-101530-x7k2', 'run', 'done', 1795256130000000000, 1795256160000000000, 0,
    'fine', 'iogauge run /data', '/data', 'randread 4 KiB', '{}', '{\"steps\": []}', 7, 8, 'pid:[9]', 'boot');
INSERT INTO step VALUES (1, 0, 'randread 4 KiB', 1795256160000000000, '{\"depth\": 1}');
PRAGMA user_version = 1;
PRAGMA application_id = 0x494f4767;
";

/// Makes a history as version 1 did.
#[allow(dead_code, reason = "not all tests use it")]
pub fn version_1(path: &std::path::Path) {
    rusqlite::Connection::open(path).unwrap().execute_batch(VERSION_1).unwrap();
}
