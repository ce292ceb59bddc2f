//! Why an output cannot be written.

use super::Replace;
use std::io;
use std::path::PathBuf;

/// Why a file is not a valid place for an output, or could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("{} exists, and is not replaced; hint: run the command again", .path.display())]
    Exists { path: PathBuf },
    #[error(
        "{} exists, and iogauge did not make it; hint: use a new file, or --force to replace it", .path.display()
    )]
    Foreign { path: PathBuf },
    #[error("{} exists, and it is not a log; hint: use another name for the log", .path.display())]
    NoLog { path: PathBuf },
    #[error(
        "{} exists, and it is not a verify state of iogauge; hint: give the job another name", .path.display()
    )]
    NoVerifyState { path: PathBuf },
    #[error(
        "{} is {what}, which no output replaces, not with --force either; hint: use another file", .path.display()
    )]
    Database { path: PathBuf, what: &'static str },
    #[error(
        "{} is a symbolic link; hint: use the file it leads to, or another name", .path.display()
    )]
    Link { path: PathBuf },
    #[error("{} is {what}; hint: use a regular file", .path.display())]
    Harmful { path: PathBuf, what: &'static str },
    #[error("{} cannot be written: it is {what}; hint: use a regular file", .path.display())]
    NoFile { path: PathBuf, what: &'static str },
    #[error(
        "{} would be a new file among devices or files of the kernel; hint: use another directory",
        .path.display()
    )]
    AmongKernelFiles { path: PathBuf },
    #[error(
        "{} was changed by another process after it was checked; nothing was replaced; hint: run the \
         command again", .path.display()
    )]
    Changed { path: PathBuf },
    #[error("{} cannot be written: {action}: {source}", .path.display())]
    Io { path: PathBuf, action: &'static str, source: io::Error },
}

impl OutputError {
    /// Returns the error for a file that may not be replaced.
    pub(super) fn foreign(path: PathBuf, replace: Replace) -> Self {
        match replace {
            Replace::Nothing => Self::Exists { path },
            Replace::Logs => Self::NoLog { path },
            Replace::VerifyState => Self::NoVerifyState { path },
            Replace::Ours | Replace::Any => Self::Foreign { path },
        }
    }

    /// Returns true if writing would have damaged something that iogauge did not make.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::NoFile { .. })
    }
}
