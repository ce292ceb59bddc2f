//! The tables, and how a history is distinguished from other databases.

use iogauge_io::output::HISTORY_APPLICATION_ID as APPLICATION_ID;
use rusqlite::{Connection, Error, ErrorCode, Transaction};

/// The kind of imported runs.
pub const IMPORT: &str = "import";

/// `PRAGMA user_version`: the version of the tables that this program reads and writes.
pub const SCHEMA_VERSION: i32 = 2;

/// A run's state is `running` from its beginning to its end. A reader finds out from the process's
/// identity whether the process died in between. Times are nanoseconds since 1970 in UTC. `seq`
/// rises with every run and is never reused. `label` is missing in version 1.
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
    label TEXT,
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

/// Every column of the tables of version 1.
const COLUMNS: [&str; 2] = [
    "SELECT seq, id, kind, state, started_ns, finished_ns, exit_code, verdict, command_line, target, load, head, \
     document, pid, pid_started_ticks, pid_namespace, boot_id FROM run",
    "SELECT run_seq, step_index, label, recorded_ns, result FROM step",
];

/// The column that version 2 adds.
const LABEL: &str = "SELECT label FROM run";
const ADD_LABEL: &str = "ALTER TABLE run ADD COLUMN label TEXT";

/// Stands in front of the table of version 1 on a medium that cannot be written. A temporary view hides a table of the
/// same name.
const STAND_IN: &str = "
PRAGMA temp_store = MEMORY;
CREATE TEMP VIEW run AS SELECT *, NULL AS label FROM main.run;
";

/// Figures of each database worker, from the results of steps, for users who read the file with
/// SQL. The tables have all the data, so a file without the views has the same version.
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

/// The steps on databases with the columns that vendors' own I/O suites keep, as in the files of `iogauge db export`.
/// Standard deviations are those of a sample over the processes. Needs SQLite's mathematical functions, which the command
/// `sqlite3` has from version 3.35 on; nothing in iogauge reads it.
const DB_RUN: &str = "
CREATE VIEW IF NOT EXISTS db_run AS
WITH step_of_database AS (
    SELECT run.seq, run.id AS run_id, run.label, step.step_index, step.result,
        coalesce(json_extract(step.result, '$.began'), json_extract(run.head, '$.started')) AS began,
        json_extract(run.head, '$.target.url') AS url,
        json_extract(run.head, '$.target.database') AS name,
        json_extract(step.result, '$.depth') AS processes,
        json_extract(step.result, '$.seconds') AS seconds,
        json_extract(step.result, '$.database.mode') AS mode,
        json_extract(step.result, '$.database.writers') AS writers,
        json_extract(step.result, '$.database.read_percent_asked') AS read_percent
    FROM run JOIN step ON step.run_seq = run.seq
    WHERE json_type(step.result, '$.database.workers') = 'array'
), worker_of_step AS (
    SELECT step_of_database.*,
        CASE WHEN mode <> 'readers-writers' THEN mode
            WHEN json_extract(each.value, '$.worker') <= writers THEN 'write'
            ELSE 'read' END AS does,
        json_extract(each.value, '$.reads') AS reads,
        json_extract(each.value, '$.updates') AS writes,
        json_extract(each.value, '$.reads') / max(json_extract(each.value, '$.seconds'), 1e-9) AS reads_ps,
        json_extract(each.value, '$.updates') / max(json_extract(each.value, '$.seconds'), 1e-9) AS writes_ps
    FROM step_of_database, json_each(step_of_database.result, '$.database.workers') AS each
), deviation AS (
    SELECT *,
        reads - avg(reads) OVER alike AS d_reads, writes - avg(writes) OVER alike AS d_writes,
        reads_ps - avg(reads_ps) OVER alike AS d_reads_ps, writes_ps - avg(writes_ps) OVER alike AS d_writes_ps
    FROM worker_of_step WINDOW alike AS (PARTITION BY seq, step_index, does)
), figures AS (
    SELECT *, count(*) - 1 AS others,
        avg(reads) AS mean_reads, avg(writes) AS mean_writes,
        avg(reads_ps) AS mean_reads_ps, avg(writes_ps) AS mean_writes_ps,
        sum(reads) AS all_reads, sum(writes) AS all_writes,
        sum(reads_ps) AS all_reads_ps, sum(writes_ps) AS all_writes_ps,
        sum(d_reads * d_reads) AS q_reads, sum(d_writes * d_writes) AS q_writes,
        sum(d_reads_ps * d_reads_ps) AS q_reads_ps, sum(d_writes_ps * d_writes_ps) AS q_writes_ps
    FROM deviation GROUP BY seq, step_index, does
)
SELECT run_id, step_index, label, does AS mode, seconds,
    substr(began, 1, 10) AS RunDate,
    substr(began, 12, 8) AS RunTime,
    url AS \"Database\",
    name AS Namespace,
    iif(does = 'write', NULL, all_reads) AS Reads,
    iif(does = 'read', NULL, all_writes) AS Writes,
    iif(does = 'write', NULL, all_reads_ps) AS ReadsPS,
    iif(does = 'read', NULL, all_writes_ps) AS WritesPS,
    iif(does = 'write', NULL, sqrt(q_reads / others)) AS StdDevR,
    iif(does = 'read', NULL, sqrt(q_writes / others)) AS StdDevW,
    iif(does = 'write', NULL, sqrt(q_reads_ps / others)) AS StdDevRPS,
    iif(does = 'read', NULL, sqrt(q_writes_ps / others)) AS StdDevWPS,
    iif(does = 'write', NULL, sqrt(q_reads / others) / mean_reads) AS CVReads,
    iif(does = 'read', NULL, sqrt(q_writes / others) / mean_writes) AS CVWrites,
    iif(does = 'write', NULL, sqrt(q_reads_ps / others) / mean_reads_ps) AS CVReadsPerS,
    iif(does = 'read', NULL, sqrt(q_writes_ps / others) / mean_writes_ps) AS CVWritesPerS,
    CASE WHEN mode <> 'readers-writers' THEN processes WHEN does = 'write' THEN writers ELSE processes - writers END
        AS Processes,
    CASE does WHEN 'read' THEN 100 WHEN 'write' THEN 0 ELSE read_percent END AS ReadPct
FROM figures ORDER BY seq, step_index, does;
";

/// What an opened database is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    /// It is empty.
    Empty,
    /// A history of this version.
    Current,
    /// A history of an earlier version.
    Older,
    /// A history of a later version.
    Newer(i32),
    /// A database of another program.
    Foreign,
}

pub(super) fn identify(connection: &Connection) -> rusqlite::Result<Opened> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    Ok(match (application, version, tables) {
        (0, 0, 0) => Opened::Empty,
        // A process of an earlier version that was running during the conversion sets its version again.
        (APPLICATION_ID, 1..=SCHEMA_VERSION, _) if have(connection, &COLUMNS)? => {
            if have(connection, &[LABEL])? { Opened::Current } else { Opened::Older }
        }
        (APPLICATION_ID, later, _) if later > SCHEMA_VERSION => Opened::Newer(later),
        _ => Opened::Foreign,
    })
}

/// Returns true if all columns exist: an application ID alone is easily set.
fn have(connection: &Connection, columns: &[&str]) -> rusqlite::Result<bool> {
    for columns in columns {
        match connection.prepare(columns) {
            Ok(_) => {}
            Err(error) if is_unknown_name(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Returns true if the error is about an unknown table or column.
fn is_unknown_name(error: &Error) -> bool {
    matches!(error, Error::SqlInputError { .. })
        || error.sqlite_error_code() == Some(ErrorCode::Unknown)
}

/// Returns true if the views exist.
pub(super) fn has_views(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) = 2 FROM sqlite_master WHERE type = 'view' AND name IN ('worker', 'db_run')";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Makes the views, also in an older history without them.
pub(super) fn create_views(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(WORKER)?;
    transaction.execute_batch(DB_RUN)
}

/// Converts the tables of an earlier version. If several processes do so at once, the first one converts them.
pub(super) fn convert(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    if identify(transaction)? == Opened::Older {
        transaction.execute_batch(ADD_LABEL)?;
    }
    Ok(())
}

/// Lets queries read the tables of an earlier version, which stay as they are.
pub(super) fn stand_in(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(STAND_IN)
}

/// Makes the tables. If several processes do so at once, the first one makes them.
pub(super) fn create(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    if identify(transaction)? == Opened::Empty {
        transaction.execute_batch(TABLES)?;
        create_views(transaction)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    Ok(())
}
