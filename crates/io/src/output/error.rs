//! Why an output cannot be written.

use std::io;
use std::path::PathBuf;

/// Why a file is no place for an output, or could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file that something else made.
    #[error(
        "{} exists, and iogauge did not make it; hint: use a new file, or --force to replace it", .path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A history, one of the files beside it, or the log of another database.
    #[error(
        "{} is {what}, which no output replaces, not with --force either; hint: use another file", .path.display()
    )]
    Database {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A symbolic link to something that could be replaced.
    #[error(
        "{} is a symbolic link; hint: use the file it leads to, or another name", .path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Something that can be written, and that an output would harm or set off.
    #[error("{} is {what}; hint: use a regular file", .path.display())]
    Harmful {
        /// The path.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// Something that takes no output.
    #[error("{} cannot be written: it is {what}; hint: use a regular file", .path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// A new file among devices or files of the kernel.
    #[error(
        "{} would be a new file among devices or files of the kernel; hint: use another directory",
        .path.display()
    )]
    AmongKernelFiles {
        /// The file.
        path: PathBuf,
    },
    /// Something else stands at the name than when it was checked.
    #[error(
        "{} was changed by another process after it was checked; nothing was replaced; hint: run the \
         command again", .path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("{} cannot be written: {action}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl OutputError {
    /// True where writing would have harmed what iogauge did not make.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::NoFile { .. })
    }
}
