//! Reads runs back.

use super::process::{Liveness, ProcessIdentity, Surroundings};
use super::schema::IMPORT;
use super::{Label, RunId, UtcTime};
use rusqlite::{Connection, Row, params};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    Running,
    /// It did what was requested.
    Done,
    /// The user ended it early.
    Interrupted,
    /// It ended with a fault.
    Failed,
    /// Its process ended without closing it. The steps that were complete by then are kept.
    Crashed,
}

impl RunState {
    /// Every state with its word.
    pub const ALL: &[(Self, &'static str)] = &[
        (Self::Running, "running"),
        (Self::Done, "done"),
        (Self::Interrupted, "interrupted"),
        (Self::Failed, "failed"),
        (Self::Crashed, "crashed"),
    ];

    /// Returns the word used on the command line and in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, word)| word)
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for RunState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A word that is no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no state of a run; hint: use running, done, interrupted, failed or crashed")]
pub struct StateError(String);

impl FromStr for RunState {
    type Err = StateError;

    fn from_str(text: &str) -> Result<Self, StateError> {
        let found = Self::ALL.iter().find(|(_, word)| *word == text);
        found.map(|(state, _)| *state).ok_or_else(|| StateError(text.to_owned()))
    }
}

/// One run, without its results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    pub id: RunId,
    pub kind: String,
    pub state: RunState,
    pub started: UtcTime,
    /// When it was closed.
    pub finished: Option<UtcTime>,
    /// Exit code of the command.
    pub exit_code: Option<i32>,
    /// The result in one line; empty until the run is closed.
    pub verdict: String,
    pub command_line: String,
    /// The target as typed.
    pub target: String,
    /// A short description of the workload.
    pub load: String,
    /// The user's name for it.
    pub label: Option<Label>,
    /// PID of the process that wrote it, in its PID namespace.
    pub pid: u32,
    /// Number of steps kept.
    pub steps: u32,
    #[serde(skip)]
    pub(super) seq: i64,
    /// The process that writes it, or wrote it last.
    #[serde(skip)]
    pub(super) process: ProcessIdentity,
}

/// One step as it was kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredStep {
    /// Number of the step in its run.
    pub index: u32,
    /// A short description of the step.
    pub label: String,
    /// When it was kept.
    pub recorded: UtcTime,
    /// The result: JSON of a `StepResult`, a `CurvePoint` or another type.
    pub result: Value,
}

/// One run with everything kept of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredRun {
    pub row: RunRow,
    /// The head of its document.
    pub head: Value,
    /// Its steps by index.
    pub steps: Vec<StoredStep>,
    /// The document that the command printed; `None` if the run was not closed.
    pub document: Option<Value>,
}

/// Which runs to list. The default lists all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Maximum number of runs, newest first.
    pub limit: Option<usize>,
    /// Only runs of this command.
    pub kind: Option<String>,
    /// Only runs in this state.
    pub state: Option<RunState>,
    /// Only runs whose target contains this text, case-sensitive.
    pub target_contains: Option<String>,
    /// Only runs with this label.
    pub label: Option<Label>,
}

impl Filter {
    fn takes(&self, row: &RunRow) -> bool {
        self.kind.as_ref().is_none_or(|kind| *kind == row.kind)
            && self.state.is_none_or(|state| state == row.state)
            && self.target_contains.as_ref().is_none_or(|text| row.target.contains(text))
            && (self.label.is_none() || self.label == row.label)
    }
}

const RUN_COLUMNS: &str = "run.seq, run.id, run.kind, run.state, run.started_ns,
    run.finished_ns, run.exit_code, run.verdict, run.command_line, run.target, run.load, run.label, run.pid,
    run.pid_started_ticks, run.pid_namespace, run.boot_id,
    (SELECT count(*) FROM step WHERE step.run_seq = run.seq) AS steps";

fn run_row(row: &Row<'_>, here: &Surroundings) -> rusqlite::Result<RunRow> {
    let process = ProcessIdentity {
        pid: row.get("pid")?,
        started_ticks: row.get::<_, i64>("pid_started_ticks")?.cast_unsigned(),
        namespace: row.get("pid_namespace")?,
        boot_id: row.get("boot_id")?,
    };
    let stored: String = row.get("state")?;
    let state = match stored.parse::<RunState>() {
        Ok(RunState::Running) if process.liveness(here) == Liveness::Dead => RunState::Crashed,
        Ok(state) => state,
        Err(e) => {
            let column = row.as_ref().column_index("state")?;
            let kind = rusqlite::types::Type::Text;
            return Err(rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(e)));
        }
    };
    Ok(RunRow {
        id: RunId::stored(row.get("id")?),
        kind: row.get("kind")?,
        state,
        started: UtcTime::from_unix_ns(row.get("started_ns")?),
        finished: row.get::<_, Option<i64>>("finished_ns")?.map(UtcTime::from_unix_ns),
        exit_code: row.get("exit_code")?,
        verdict: row.get("verdict")?,
        command_line: row.get("command_line")?,
        target: row.get("target")?,
        load: row.get("load")?,
        label: row.get::<_, Option<String>>("label")?.map(Label::stored),
        pid: process.pid,
        steps: row.get("steps")?,
        seq: row.get("seq")?,
        process,
    })
}

/// Runs, and the numbers of damaged rows, each with the error. Damaged rows cannot be filtered.
pub(super) type Listed = (Vec<RunRow>, Vec<(i64, rusqlite::Error)>);

pub(super) fn list(
    connection: &Connection,
    filter: &Filter,
    here: &Surroundings,
) -> rusqlite::Result<Listed> {
    let sql = format!("SELECT {RUN_COLUMNS} FROM run ORDER BY run.seq DESC");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let (mut found, mut damaged) = (Vec::new(), Vec::new());
    while found.len() < filter.limit.unwrap_or(usize::MAX) {
        let Some(row) = rows.next()? else { break };
        match run_row(row, here) {
            Ok(row) if filter.takes(&row) => found.push(row),
            Ok(_) => {}
            Err(error) => damaged.push((row.get("seq")?, error)),
        }
    }
    Ok((found, damaged))
}

/// Returns the IDs with their numbers, newest first. A damaged ID counts, so that `last-1` is the
/// run before the last, but cannot be typed.
pub(super) fn names(connection: &Connection) -> rusqlite::Result<(Vec<RunId>, Vec<i64>)> {
    let mut statement = connection.prepare("SELECT id, seq FROM run ORDER BY seq DESC")?;
    let pairs = statement.query_map([], |row| {
        let name = row.get(0).unwrap_or_default();
        Ok((RunId::stored(name), row.get::<_, i64>(1)?))
    })?;
    pairs.collect()
}

/// Returns the IDs of the runs that have a label, oldest first.
pub(super) fn of_label(connection: &Connection, label: &Label) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT id FROM run WHERE label = ?1 ORDER BY seq")?;
    statement.query_map([label.as_str()], |row| row.get(0))?.collect()
}

/// Returns the IDs of the runs whose workload contains a text, oldest first.
pub(super) fn of_load(connection: &Connection, load: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT id FROM run WHERE instr(load, ?1) > 0 ORDER BY seq";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([load], |row| row.get(0))?.collect()
}

/// Returns the IDs of the runs of a system, oldest first: the host, or the system that an import names, or the target.
/// A damaged document names no host.
pub(super) fn of_system(connection: &Connection, system: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT id FROM run WHERE coalesce(
            CASE WHEN json_valid(document)
                THEN nullif(json_extract(document, '$.environment.host'), '') END,
            CASE WHEN json_valid(head) THEN nullif(json_extract(head, '$.target.system'), '') END,
            target) = ?1
        ORDER BY seq";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([system], |row| row.get(0))?.collect()
}

pub(super) fn row_of(
    connection: &Connection,
    seq: i64,
    here: &Surroundings,
) -> rusqlite::Result<RunRow> {
    let sql = format!("SELECT {RUN_COLUMNS} FROM run WHERE run.seq = ?1");
    connection.query_row(&sql, [seq], |row| run_row(row, here))
}

pub(super) fn head(connection: &Connection, seq: i64) -> rusqlite::Result<Value> {
    connection.query_row("SELECT head FROM run WHERE seq = ?1", [seq], |row| row.get(0))
}

pub(super) fn show(
    connection: &Connection,
    seq: i64,
    here: &Surroundings,
) -> rusqlite::Result<StoredRun> {
    let row = row_of(connection, seq, here)?;
    let (head, mut document): (Value, Option<Value>) = connection.query_row(
        "SELECT head, document FROM run WHERE seq = ?1",
        params![seq],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mut statement = connection.prepare(
        "SELECT step_index, label, recorded_ns, result FROM step
         WHERE run_seq = ?1 ORDER BY step_index",
    )?;
    let steps: Vec<StoredStep> = statement
        .query_map([seq], |row| {
            Ok(StoredStep {
                index: row.get(0)?,
                label: row.get(1)?,
                recorded: UtcTime::from_unix_ns(row.get(2)?),
                result: row.get(3)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    if row.kind == IMPORT
        && let Some(document) = &mut document
        && let Some(Value::Array(its_steps)) = document.get_mut("steps")
        && its_steps.is_empty()
    {
        // The document was stored without them.
        its_steps.extend(steps.iter().map(|step| step.result.clone()));
    }
    if let Some(Value::Object(document)) = &mut document {
        // The label may have changed since the document was stored.
        document.remove("label");
        if let Some(label) = &row.label {
            document.insert("label".to_owned(), Value::from(label.as_str()));
        }
    }
    Ok(StoredRun { row, head, steps, document })
}

/// Returns the document of a run as JSON; `None` if it was not closed.
pub(super) fn document(connection: &Connection, seq: i64) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT document FROM run WHERE seq = ?1")?;
    statement.query_row([seq], |row| row.get(0))
}

/// Returns the result of the first step of a run as JSON.
pub(super) fn first_step(connection: &Connection, seq: i64) -> rusqlite::Result<String> {
    let sql = "SELECT result FROM step WHERE run_seq = ?1 ORDER BY step_index LIMIT 1";
    connection.prepare_cached(sql)?.query_row([seq], |row| row.get(0))
}
