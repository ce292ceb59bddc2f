//! Exit codes, and which error leads to which.

use iogauge_lab::LabError;
use iogauge_lab::db::DbError;
use iogauge_lab::history::HistoryError;
use iogauge_lab::output::OutputError;
use iogauge_lab::suite::SuiteError;
use std::process::ExitCode;

/// How the process ends. Documented in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// A fault of the tool or the machine, or a result that could not be kept.
    Fault = 1,
    Usage = 2,
    /// A guard refused the target.
    Refused = 3,
    /// I/O errors during the run, data that differs from what was written, or a step or search in
    /// which nothing completed. The result is kept.
    IoErrors = 4,
    /// The limit cannot be met even at queue depth 1.
    Unattainable = 5,
    /// The compared results differ.
    Differs = 6,
    /// The search cannot tell whether any load meets the limit, or the client lacked processor
    /// time.
    Undecided = 7,
    /// A host was lost; what was measured until then is kept.
    HostLost = 8,
    /// Interrupted; the result is kept.
    Interrupted = 130,
}

impl Exit {
    const ALL: [Self; 10] = [
        Self::Done,
        Self::Fault,
        Self::Usage,
        Self::Refused,
        Self::IoErrors,
        Self::Unattainable,
        Self::Differs,
        Self::Undecided,
        Self::HostLost,
        Self::Interrupted,
    ];

    /// Returns the meaning of an exit code of iogauge.
    pub fn of_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| *exit as i32 == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Wrong usage found after the arguments were parsed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// A target refused after the arguments were parsed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Returns the exit code for an error.
pub fn of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if cause.is::<Usage>() || cause.is::<SuiteError>() {
            return Exit::Usage;
        }
        if cause.is::<Refused>() {
            return Exit::Refused;
        }
        if let Some(error) = cause.downcast_ref::<DbError>() {
            return of_database(error);
        }
        if let Some(error) = cause.downcast_ref::<LabError>() {
            return match error {
                LabError::InterruptedPreparing => Exit::Interrupted,
                LabError::HostLost { .. } => Exit::HostLost,
                LabError::Db(error) => of_database(error),
                error if error.is_refusal() => Exit::Refused,
                error if error.is_usage() => Exit::Usage,
                _ => Exit::Fault,
            };
        }
        if let Some(error) = cause.downcast_ref::<OutputError>() {
            return if error.is_refusal() { Exit::Refused } else { Exit::Fault };
        }
        if let Some(error) = cause.downcast_ref::<HistoryError>() {
            return match error {
                HistoryError::IsTarget { .. } => Exit::Refused,
                error if names_what_is_not_there(error) => Exit::Usage,
                _ => Exit::Fault,
            };
        }
    }
    Exit::Fault
}

fn of_database(error: &DbError) -> Exit {
    match error {
        DbError::Interrupted => Exit::Interrupted,
        error if error.is_refusal() => Exit::Refused,
        error if error.is_usage() => Exit::Usage,
        _ => Exit::Fault,
    }
}

/// True if the user has to choose another `--history` or another run.
fn names_what_is_not_there(error: &HistoryError) -> bool {
    matches!(
        error,
        HistoryError::EmptyPath
            | HistoryError::CannotOpen { .. }
            | HistoryError::Directory { .. }
            | HistoryError::NewerSchema { .. }
            | HistoryError::NotADatabase { .. }
            | HistoryError::OtherApplication { .. }
            | HistoryError::Beside { .. }
            | HistoryError::SpecialName { .. }
            | HistoryError::Unproven { .. }
            | HistoryError::BadReference(_)
            | HistoryError::BadLabel { .. }
            | HistoryError::NoSuchRun { .. }
            | HistoryError::Ambiguous { .. }
            | HistoryError::StillRunning { .. }
            | HistoryError::UnderWay { .. }
            | HistoryError::NothingToResume { .. }
            | HistoryError::NotRunning { .. }
            | HistoryError::NothingRunning
            | HistoryError::SeveralRunning { .. }
    )
}
