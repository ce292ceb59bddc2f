//! The tables, and how a history is told from other files.

use super::HistoryError;
use rusqlite::{Connection, Transaction};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// `PRAGMA application_id`: "IOGg".
pub(super) const APPLICATION_ID: i32 = 0x494f_4767;

/// `PRAGMA user_version`: version of the tables this program reads and writes.
pub const SCHEMA_VERSION: i32 = 1;

/// A run's state is `running` from its beginning to its finish; that the process died in between
/// is found by who reads, from the process's identity. Times are nanoseconds since 1970 in UTC.
/// `seq` rises with every run begun and is never used twice.
const TABLES: &str = "
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
";

/// Figures of each worker of a database, out of the results of steps: for whoever reads the file with SQL.
/// Tables keep everything, so that files without it are of the same version.
const WORKER: &str = "
CREATE VIEW IF NOT EXISTS worker AS
SELECT run.id AS run_id, step.step_index, step.label,
    json_extract(each.value, '$.worker') AS worker,
    json_extract(each.value, '$.seconds') AS seconds,
    json_extract(each.value, '$.reads') AS reads,
    json_extract(each.value, '$.updates') AS updates,
    json_extract(each.value, '$.commits') AS commits,
    json_extract(each.value, '$.read_latency_ns_mean') AS read_latency_ns_mean,
    json_extract(each.value, '$.update_latency_ns_mean') AS update_latency_ns_mean,
    json_extract(each.value, '$.commit_latency_ns_mean') AS commit_latency_ns_mean
FROM run JOIN step ON step.run_seq = run.seq, json_each(step.result, '$.database.workers') AS each;
";

const MAGIC: &[u8] = b"SQLite format 3\0";
const APPLICATION_ID_AT: usize = 68;

/// Refuses by its first bytes a file that is no history, before SQLite touches it: opening a
/// foreign database could already change its log (SQLite, "Database File Format", 1.3).
pub(super) fn refuse_foreign_file(path: &Path) -> Result<(), HistoryError> {
    let Ok(file) = File::open(path) else {
        // A missing file is a new history; any other trouble comes up again at opening.
        return Ok(());
    };
    if path.is_dir() {
        let reason = "it is a directory".to_owned();
        return Err(HistoryError::CannotOpen { path: path.to_path_buf(), reason });
    }
    let mut head = Vec::new();
    file.take(100).read_to_end(&mut head).map_err(|source| HistoryError::CannotOpen {
        path: path.to_path_buf(),
        reason: source.to_string(),
    })?;
    if head.is_empty() {
        return Ok(());
    }
    if head.len() < 100 || !head.starts_with(MAGIC) {
        return Err(HistoryError::NotADatabase { path: path.to_path_buf() });
    }
    let mut id = [0; 4];
    id.copy_from_slice(&head[APPLICATION_ID_AT..APPLICATION_ID_AT + 4]);
    // 0 is for `check` to judge: it may be a history whose making was cut short.
    match i32::from_be_bytes(id) {
        0 | APPLICATION_ID => Ok(()),
        _ => Err(HistoryError::OtherApplication { path: path.to_path_buf() }),
    }
}

/// What an opened database is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing in it yet.
    Empty,
    /// A history of this version.
    Current,
    /// A history of a later version.
    Newer(i32),
    /// Somebody else's.
    Foreign,
}

pub(super) fn identify(connection: &Connection) -> rusqlite::Result<Found> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    Ok(match (application, version, tables) {
        (0, 0, 0) => Found::Empty,
        (APPLICATION_ID, SCHEMA_VERSION, _) => Found::Current,
        (APPLICATION_ID, later, _) if later > SCHEMA_VERSION => Found::Newer(later),
        _ => Found::Foreign,
    })
}

/// True where the view is there.
pub(super) fn has_view(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'view' AND name = 'worker'";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Makes the view, in a history of before it was thought of, too.
pub(super) fn create_view(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(WORKER)
}

/// Makes the tables. Several processes may come here at once: the first makes them.
pub(super) fn create(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    if identify(transaction)? == Found::Empty {
        transaction.execute_batch(TABLES)?;
        create_view(transaction)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    Ok(())
}
