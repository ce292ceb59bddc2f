//! What can go wrong with the history, in words for the user.

use super::RunId;
use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHORT_READ};
use std::io;
use std::path::{Path, PathBuf};

/// Why the history could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// `--history` with nothing behind it.
    #[error("--history is empty; hint: use a file, \"default\" or \"none\"")]
    EmptyPath,
    /// The default place cannot be told.
    #[error(
        "no place for the history: neither XDG_DATA_HOME nor HOME is set; hint: use --history FILE, or \
         --history none"
    )]
    NoHome,
    /// The directory of the history is missing and cannot be made.
    #[error(
        "cannot make {}, the directory of the history: {source}; hint: use another --history FILE", .path.display()
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open the history {}: {reason}; hint: use another --history FILE", .path.display())]
    CannotOpen {
        /// The history.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file or its directory cannot be written.
    #[error(
        "the history {} cannot be written: it or its directory is read-only; hint: use another \
         --history FILE, or --history none", .path.display()
    )]
    ReadOnly {
        /// The history.
        path: PathBuf,
    },
    /// No space left where the history lies.
    #[error(
        "no space left for the history {}; what it held is safe; hint: free some space, or use \
         --history FILE on another disk", .path.display()
    )]
    DiskFull {
        /// The history.
        path: PathBuf,
    },
    /// Another process kept the history locked for too long.
    #[error("the history {} was locked by another process for {seconds} s; hint: try again, or use \
    another --history FILE", .path.display())]
    Busy {
        /// The history.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// A later iogauge wrote it.
    #[error(
        "the history {} has schema version {found}, this iogauge knows {known}; hint: use the iogauge \
         that wrote it or a later one, or another --history FILE", .path.display()
    )]
    NewerSchema {
        /// The history.
        path: PathBuf,
        /// Version in the file.
        found: i32,
        /// Version this program writes.
        known: i32,
    },
    /// Something else than a database.
    #[error("{} is no SQLite database, so no history; hint: use another --history FILE", .path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// A database of another program.
    #[error("{} is another application's database, not a history of iogauge; hint: use another \
    --history FILE", .path.display())]
    OtherApplication {
        /// The file.
        path: PathBuf,
    },
    /// A file beside the history that is not one of its own.
    #[error(
        "{} is not a file that belongs to a history, and is left alone; hint: move it away, or use \
         another --history FILE", .path.display()
    )]
    Beside {
        /// The file.
        path: PathBuf,
    },
    /// The file beside the history that its runs lock cannot be made or locked.
    #[error("cannot lock {}, by which runs of the history prove themselves: {source}; hint: use another \
    --history FILE", .path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `--history` with a name that is no path.
    #[error(
        "--history {name} names no file; hint: use a file, \"default\" or \"none\" (a file of this name \
         is ./{name})"
    )]
    SpecialName {
        /// What was typed.
        name: String,
    },
    /// What is to be written is a file of the history.
    #[error(
        "{} is {}, which a run writes its results to; hint: use another target, or another --history", .target.display(), .what
    )]
    IsTarget {
        /// The target.
        target: PathBuf,
        /// Which file of the history it is.
        what: &'static str,
    },
    /// The content is not what was written.
    #[error(
        "the history {} is damaged: {reason}; hint: move it away; \"sqlite3 FILE .recover\" may save \
         the rest", .path.display()
    )]
    Damaged {
        /// The history.
        path: PathBuf,
        /// What SQLite or the reader says.
        reason: String,
    },
    /// The text names no run.
    #[error(
        "\"{0}\" names no run; hint: use last, last-1, or the beginning or the last four characters of \
         an id such as 20261121-101530-x7k2"
    )]
    BadReference(String),
    /// No run of that name.
    #[error("no run \"{reference}\" in the history; {hint}")]
    NoSuchRun {
        /// What was asked for.
        reference: String,
        /// What there is.
        hint: String,
    },
    /// Several runs of that name.
    #[error("\"{reference}\" could be {}; hint: add characters", names(.candidates))]
    Ambiguous {
        /// What was asked for.
        reference: String,
        /// The runs it fits, newest first.
        candidates: Vec<RunId>,
    },
    /// Runs to be removed are under way.
    #[error("still in progress: {}; hint: run iogauge stop, or force the removal", names(.runs))]
    StillRunning {
        /// The runs.
        runs: Vec<RunId>,
    },
    /// A run to be taken up again is under way.
    #[error("run {run} is in progress; hint: run iogauge stop {run}")]
    UnderWay {
        /// The run.
        run: RunId,
    },
    /// A run to be taken up again came to its end.
    #[error("run {run} is done: nothing of it is left to resume")]
    NothingToResume {
        /// The run.
        run: RunId,
    },
    /// A run to be stopped is not under way.
    #[error("run {run} is not in progress: it is {state}")]
    NotRunning {
        /// The run.
        run: RunId,
        /// Its state.
        state: super::RunState,
    },
    /// Nothing to stop.
    #[error("no run is in progress")]
    NothingRunning,
    /// Several runs could be meant.
    #[error("several runs are in progress: {}; hint: name one", names(.runs))]
    SeveralRunning {
        /// The runs, newest first.
        runs: Vec<RunId>,
    },
    /// The run's process belongs to another PID namespace.
    #[error("run {run} is in progress in another container (PID namespace); hint: stop it there")]
    Elsewhere {
        /// The run.
        run: RunId,
    },
    /// The process that a history names does not write it.
    #[error(
        "process {pid}, which the history names for run {run}, holds no lock on this history, so it does not write the run; nothing was sent to it"
    )]
    Unproven {
        /// The run.
        run: RunId,
        /// The process.
        pid: u32,
    },
    /// The signal was refused.
    #[error(
        "cannot signal process {pid} of run {run}: {source}; hint: run it as the user who started it, \
         or as root"
    )]
    Signal {
        /// The run.
        run: RunId,
        /// Its process.
        pid: u32,
        /// Why.
        source: io::Error,
    },
    /// The run was removed while it was under way.
    #[error(
        "run {run} was removed from the history while it was in progress; its results are not kept"
    )]
    RunRemoved {
        /// The run.
        run: RunId,
    },
    /// This process cannot be told from others.
    #[error(
        "cannot read {path}, which tells this process from others: {source}; hint: mount /proc"
    )]
    Process {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A value to be kept has no JSON form.
    #[error("a result of run {run} cannot be kept as JSON: {source}")]
    Json {
        /// The run.
        run: RunId,
        /// Why.
        source: serde_json::Error,
    },
    /// The export could not be written.
    #[error("cannot write the export: {0}")]
    Export(#[from] io::Error),
    /// Anything else SQLite says.
    #[error("cannot read or write the history {}: {source}; hint: look into the kernel's log (dmesg), \
    or use another --history FILE", .path.display())]
    Sqlite {
        /// The history.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

/// At most five names, and how many more.
fn names(runs: &[RunId]) -> String {
    const SHOWN: usize = 5;
    let mut text = runs.iter().take(SHOWN).map(RunId::as_str).collect::<Vec<_>>().join(", ");
    if runs.len() > SHOWN {
        text.push_str(&format!(" and {} more", runs.len() - SHOWN));
    }
    text
}

impl HistoryError {
    /// Gives an error of SQLite its meaning.
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
            // The shared-memory file beside the database could not grow.
            ErrorCode::SystemIoFailure if failure.extended_code == SQLITE_IOERR_SHMSIZE => {
                Self::DiskFull { path }
            }
            ErrorCode::ReadOnly => Self::ReadOnly { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                Self::Busy { path, seconds: super::store::BUSY_WAIT.as_secs() }
            }
            ErrorCode::NotADatabase => Self::NotADatabase { path },
            // A file that was cut short, and one without its tables.
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
