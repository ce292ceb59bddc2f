//! Errors of the history, worded for the user.

use super::RunId;
use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHORT_READ};
use std::io;
use std::path::{Path, PathBuf};

/// Why the history could not do what was requested.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("--history is empty; hint: use a file, \"default\" or \"none\"")]
    EmptyPath,
    #[error(
        "no place for the history: HOME is not an existing directory, and XDG_DATA_HOME is not an \
         absolute path; hint: use --history FILE, or --history none"
    )]
    NoHome,
    #[error(
        "cannot make {}, the directory of the history: {source}; hint: use another --history FILE, or --history none", .path.display()
    )]
    Directory { path: PathBuf, source: io::Error },
    #[error("cannot open the history {}: {reason}; hint: use another --history FILE", .path.display())]
    CannotOpen { path: PathBuf, reason: String },
    #[error(
        "the history {} cannot be written: it or its directory is read-only; hint: use another \
         --history FILE, or --history none", .path.display()
    )]
    ReadOnly { path: PathBuf },
    #[error(
        "no space left for the history {}; what it held is safe; hint: free some space, or use \
         --history FILE on another disk", .path.display()
    )]
    DiskFull { path: PathBuf },
    #[error("the history {} was locked by another process for {seconds} s; hint: try again, or use \
    another --history FILE", .path.display())]
    Busy { path: PathBuf, seconds: u64 },
    #[error(
        "the history {} has schema version {found}, this iogauge knows {known}; hint: use the iogauge \
         that wrote it or a later one, or another --history FILE", .path.display()
    )]
    NewerSchema { path: PathBuf, found: i32, known: i32 },
    #[error("{} is not an SQLite database, and so not a history; hint: use another --history FILE", .path.display())]
    NotADatabase { path: PathBuf },
    #[error("{} is another application's database, not a history of iogauge; hint: use another \
    --history FILE", .path.display())]
    OtherApplication { path: PathBuf },
    #[error(
        "{} is not a file that belongs to a history, and is left alone; hint: move it away, or use \
         another --history FILE", .path.display()
    )]
    Beside { path: PathBuf },
    #[error("cannot lock {}, by which runs of the history prove themselves: {source}; hint: use another \
    --history FILE", .path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error(
        "--history {name} names no file; hint: use a file, \"default\" or \"none\" (a file of this name \
         is ./{name})"
    )]
    SpecialName { name: String },
    #[error(
        "{} is {}, which a run writes its results to; hint: use another target, or another --history", .target.display(), .what
    )]
    IsTarget {
        target: PathBuf,
        /// Which file of the history it is.
        what: &'static str,
    },
    #[error(
        "the history {} is damaged: {reason}; hint: move it away; \"sqlite3 FILE .recover\" may save \
         the rest", .path.display()
    )]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "\"{0}\" names no run; hint: use last, last-1, or the beginning or the last four characters of \
         an id such as 20261121-101530-x7k2"
    )]
    BadReference(String),
    #[error(
        "\"{label}\" is no label; hint: use 1 to {longest} characters, none of them a control character"
    )]
    BadLabel { label: String, longest: usize },
    #[error("no run \"{reference}\" in the history; {hint}")]
    NoSuchRun { reference: String, hint: String },
    #[error("\"{reference}\" could be {}; hint: add characters", names(.candidates))]
    Ambiguous { reference: String, candidates: Vec<RunId> },
    #[error("still in progress: {}; hint: run iogauge stop, or force the removal", names(.runs))]
    StillRunning { runs: Vec<RunId> },
    #[error("run {run} is in progress; hint: run iogauge stop {run}")]
    UnderWay { run: RunId },
    #[error("run {run} is complete; there is nothing to resume")]
    NothingToResume { run: RunId },
    #[error("run {run} is not in progress: it is {state}")]
    NotRunning { run: RunId, state: super::RunState },
    #[error("no run is in progress")]
    NothingRunning,
    #[error("several runs are in progress: {}; hint: name one", names(.runs))]
    SeveralRunning { runs: Vec<RunId> },
    #[error("run {run} is in progress in another container (PID namespace); hint: stop it there")]
    Elsewhere { run: RunId },
    #[error(
        "process {pid}, which the history names for run {run}, holds no lock on this history, so it does not write the run; nothing was sent to it"
    )]
    Unproven { run: RunId, pid: u32 },
    #[error(
        "cannot signal process {pid} of run {run}: {source}; hint: run it as the user who started it, \
         or as root"
    )]
    Signal { run: RunId, pid: u32, source: io::Error },
    #[error(
        "run {run} was removed from the history while it was in progress; its results are not kept"
    )]
    RunRemoved { run: RunId },
    #[error("cannot read {path}, which identifies this process: {source}; hint: mount /proc")]
    Process { path: String, source: io::Error },
    #[error("a result of run {run} cannot be kept as JSON: {source}")]
    Json { run: RunId, source: serde_json::Error },
    #[error("cannot write the export: {0}")]
    Export(#[from] io::Error),
    #[error("cannot read or write the history {}: {source}; hint: look into the kernel's log (dmesg), \
    or use another --history FILE", .path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

/// Lists at most five names, and counts the rest.
fn names(runs: &[RunId]) -> String {
    const SHOWN: usize = 5;
    let mut text = runs.iter().take(SHOWN).map(RunId::as_str).collect::<Vec<_>>().join(", ");
    if runs.len() > SHOWN {
        text.push_str(&format!(" and {} more", runs.len() - SHOWN));
    }
    text
}

impl HistoryError {
    /// Turns an error of SQLite into one of the history.
    pub(super) fn sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let Some(failure) = error.sqlite_error() else {
            return match error {
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::Utf8Error(..)
                | rusqlite::Error::QueryReturnedNoRows => {
                    Self::Damaged { path, reason: error.to_string() }
                }
                source => Self::Sqlite { path, source },
            };
        };
        match failure.code {
            ErrorCode::DiskFull => Self::DiskFull { path },
            // The shared-memory file next to the database could not grow.
            ErrorCode::SystemIoFailure if failure.extended_code == SQLITE_IOERR_SHMSIZE => {
                Self::DiskFull { path }
            }
            ErrorCode::ReadOnly => Self::ReadOnly { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                Self::Busy { path, seconds: super::store::BUSY_WAIT.as_secs() }
            }
            ErrorCode::NotADatabase => Self::NotADatabase { path },
            // A truncated file, and one without its tables.
            ErrorCode::SystemIoFailure if failure.extended_code == SQLITE_IOERR_SHORT_READ => {
                Self::Damaged { path, reason: "it was cut short".to_owned() }
            }
            ErrorCode::Unknown | ErrorCode::DatabaseCorrupt => {
                Self::Damaged { path, reason: error.to_string() }
            }
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                Self::CannotOpen { path, reason: error.to_string() }
            }
            _ => Self::Sqlite { path, source: error },
        }
    }
}
