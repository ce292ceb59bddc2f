//! What can go wrong with a target, and which of it is a refusal.

use super::guard::GuardError;
use iogauge_model::units::Bytes;
use std::io;
use std::path::{Path, PathBuf};

/// Why a target could not be prepared, opened or looked at.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A guard refused the target (exit code 3).
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// Nothing there, and nothing was to be made.
    #[error("{} does not exist; right would be {wanted}", path.display())]
    NotFound {
        /// What was looked for.
        path: PathBuf,
        /// What would be right.
        wanted: String,
    },
    /// The test file has yet to be made.
    #[error("{} is not made yet; right would be to prefill it first (iogauge prepare)", path.display())]
    NotPrepared {
        /// The file.
        path: PathBuf,
    },
    /// Less than one block can be used.
    #[error(
        "{} holds {}, less than one block of {}; right would be a larger file or device",
        path.display(), Bytes(*size_bytes), Bytes(*block_bytes)
    )]
    TooSmall {
        /// The file or device.
        path: PathBuf,
        /// What it holds, in bytes.
        size_bytes: u64,
        /// The smallest block it takes, in bytes.
        block_bytes: u64,
    },
    /// A size beyond the end of a device or of a file that is not ours to grow.
    #[error(
        "{} holds {}, not the {} asked; right would be --size={size_bytes} or less",
        path.display(), Bytes(*size_bytes), Bytes(*asked_bytes)
    )]
    SizeBeyondEnd {
        /// The file or device.
        path: PathBuf,
        /// What it holds, in bytes.
        size_bytes: u64,
        /// What was asked, in bytes.
        asked_bytes: u64,
    },
    /// The file system has no direct I/O.
    #[error(
        "{}: {file_system} does not support direct I/O; --direct=0 would work, through the page cache",
        path.display()
    )]
    DirectUnsupported {
        /// The file.
        path: PathBuf,
        /// The file system's name.
        file_system: String,
    },
    /// The same file or device twice in one target.
    #[error("{} and {} are the same; right would be each once", first.display(), second.display())]
    NamedTwice {
        /// One name.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// No part at all.
    #[error("the target names nothing; right would be a directory, a file or a block device")]
    Nothing,
    /// Something else is at the path than when the target was checked.
    #[error("{} changed while iogauge looked at it; right would be to start again", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// The disk filled up while the test file was written.
    #[error("{}: no space left while writing; {}", path.display(), fits(*fits_bytes))]
    DiskFull {
        /// The test file.
        path: PathBuf,
        /// A size that fits, in bytes.
        fits_bytes: u64,
    },
    /// A system call failed.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// What it was done to.
        path: PathBuf,
        /// What was tried, as a verb phrase.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// The `--size` that would do, in words.
pub(super) fn fits(fits_bytes: u64) -> String {
    if fits_bytes == 0 {
        "nothing fits: right would be another directory or less on this disk".to_owned()
    } else {
        format!("right would be --size={}m or less", fits_bytes >> 20)
    }
}

impl TargetError {
    /// True where a guard refused, so that the binary can exit with 3.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Guard(_))
    }

    pub(super) fn io(path: &Path, action: &'static str, source: impl Into<io::Error>) -> Self {
        Self::Io { path: path.to_owned(), action, source: source.into() }
    }
}
