//! Errors of targets, including refusals.

use crate::confine::ConfineError;
use crate::guard::GuardError;
use iogauge_model::units::Bytes;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Why a target could not be prepared, opened or examined.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A guard refused the target (exit code 3).
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error("{} does not exist; hint: use {wanted}", path.display())]
    NotFound { path: PathBuf, wanted: String },
    #[error("{} is not made yet; hint: prefill it first (iogauge prepare)", path.display())]
    NotPrepared { path: PathBuf },
    #[error(
        "{} holds {}, less than one block of {}; hint: use a larger file or device",
        path.display(), Bytes(*size_bytes), Bytes(*block_bytes)
    )]
    TooSmall {
        path: PathBuf,
        size_bytes: u64,
        /// The smallest possible block, in bytes.
        block_bytes: u64,
    },
    #[error(
        "{} holds {}, not the {} asked{}; hint: use --size={} or less{}",
        path.display(),
        Bytes(*size_bytes),
        Bytes(*asked_bytes),
        if *offset_bytes > 0 { " with the offset" } else { "" },
        size_bytes.saturating_sub(*offset_bytes).max(1),
        if *offset_bytes > 0 { ", or a smaller --offset" } else { "" },
    )]
    SizeBeyondEnd {
        path: PathBuf,
        size_bytes: u64,
        asked_bytes: u64,
        /// First byte asked for.
        offset_bytes: u64,
    },
    #[error(
        "{}: {file_system} does not support direct I/O; hint: use --direct=0, which goes through the \
         page cache",
        path.display()
    )]
    DirectUnsupported { path: PathBuf, file_system: String },
    #[error("{}: the name is longer than any file's; hint: use a shorter one", path.display())]
    NameTooLong { path: PathBuf },
    #[error("{} and {} are the same; hint: name each once", first.display(), second.display())]
    NamedTwice { first: PathBuf, second: PathBuf },
    #[error("the target names nothing; hint: use a directory, a file or a block device")]
    Nothing,
    #[error("{} changed while iogauge looked at it; hint: start again", path.display())]
    Changed { path: PathBuf },
    #[error(
        "{}: it ends at {}, and this process may write no file beyond {} (ulimit -f); hint: run ulimit \
         -f unlimited, or use a smaller --size",
        path.display(), Bytes(*end_bytes), Bytes(*limit_bytes)
    )]
    FileLimit { path: PathBuf, end_bytes: u64, limit_bytes: u64 },
    #[error(
        "{}: its file system takes no file of {}; hint: use a smaller --size, or another file \
         system",
        path.display(), Bytes(*size_bytes)
    )]
    TooLarge { path: PathBuf, size_bytes: u64 },
    #[error(
        "{}: stopped, going on would leave less than {} of the disk free; hint: use a smaller \
         --size, or less on this disk",
        path.display(), Bytes(*reserve_bytes)
    )]
    ReserveReached { path: PathBuf, reserve_bytes: u64 },
    /// A file was moved aside to be removed, but turned out to be another file, and its name was taken in the meantime.
    #[error(
        "{} is another file than the one judged, and is at {} now; hint: move it back",
        path.display(), aside.display()
    )]
    PutAside { path: PathBuf, aside: PathBuf },
    #[error("{}: /proc is needed to open it; hint: run mount -t proc proc /proc", path.display())]
    NoProc { path: PathBuf },
    #[error("{}: no space left while writing; {}", path.display(), fits(*fits_bytes))]
    DiskFull { path: PathBuf, fits_bytes: u64 },
    #[error("{}: not opened for writing: {source}", path.display())]
    Confine { path: PathBuf, source: ConfineError },
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        path: PathBuf,
        /// The attempted action, as a verb phrase.
        action: &'static str,
        source: io::Error,
    },
}

/// Returns a hint with the largest `--size` that fits.
pub(crate) fn fits(fits_bytes: u64) -> String {
    if fits_bytes == 0 {
        "nothing fits; hint: use another directory, or less on this disk".to_owned()
    } else {
        format!("hint: use --size={}m or less", fits_bytes >> 20)
    }
}

impl TargetError {
    /// Returns true if a guard refused, so that the exit code is 3.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Guard(_))
    }

    /// Returns true if a guard refused the target because a process uses it.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Guard(GuardError::Held { .. } | GuardError::InUse { .. }))
    }

    pub(crate) fn io(path: &Path, action: &'static str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        if source.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) {
            return Self::NameTooLong { path: path.to_owned() };
        }
        Self::Io { path: path.to_owned(), action, source }
    }
}
