//! What can go wrong with a target, and which of it is a refusal.

use crate::confine::ConfineError;
use crate::guard::GuardError;
use iogauge_model::units::Bytes;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// Why a target could not be prepared, opened or looked at.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A guard refused the target (exit code 3).
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// Nothing there, and nothing was to be made.
    #[error("{} does not exist; hint: use {wanted}", path.display())]
    NotFound {
        /// What was looked for.
        path: PathBuf,
        /// What would be right.
        wanted: String,
    },
    /// The test file has yet to be made.
    #[error("{} is not made yet; hint: prefill it first (iogauge prepare)", path.display())]
    NotPrepared {
        /// The file.
        path: PathBuf,
    },
    /// Less than one block can be used.
    #[error(
        "{} holds {}, less than one block of {}; hint: use a larger file or device",
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
        "{} holds {}, not the {} asked; hint: use --size={size_bytes} or less",
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
        "{}: {file_system} does not support direct I/O; hint: use --direct=0, which goes through the \
         page cache",
        path.display()
    )]
    DirectUnsupported {
        /// The file.
        path: PathBuf,
        /// The file system's name.
        file_system: String,
    },
    /// No file can have this name.
    #[error("{}: the name is longer than any file's; hint: use a shorter one", path.display())]
    NameTooLong {
        /// The path.
        path: PathBuf,
    },
    /// The same file or device twice in one target.
    #[error("{} and {} are the same; hint: name each once", first.display(), second.display())]
    NamedTwice {
        /// One name.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// No part at all.
    #[error("the target names nothing; hint: use a directory, a file or a block device")]
    Nothing,
    /// Something else is at the path than when the target was checked.
    #[error("{} changed while iogauge looked at it; hint: start again", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than this process may write.
    #[error(
        "{}: it ends at {}, and this process may write no file beyond {} (ulimit -f); hint: run ulimit \
         -f unlimited, or use a smaller --size",
        path.display(), Bytes(*end_bytes), Bytes(*limit_bytes)
    )]
    FileLimit {
        /// The file.
        path: PathBuf,
        /// Where it ends, in bytes.
        end_bytes: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The file system takes no file of this size.
    #[error(
        "{}: its file system takes no file of {}; hint: use a smaller --size, or another file \
         system",
        path.display(), Bytes(*size_bytes)
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The size, in bytes.
        size_bytes: u64,
    },
    /// Writing came to the room that has to stay free.
    #[error(
        "{}: stopped, going on would leave less than {} of the disk free; hint: use a smaller \
         --size, or less on this disk",
        path.display(), Bytes(*reserve_bytes)
    )]
    ReserveReached {
        /// The file that was written.
        path: PathBuf,
        /// What stays free, in bytes.
        reserve_bytes: u64,
    },
    /// A file was moved aside to be removed, turned out to be another one, and its name was taken
    /// meanwhile.
    #[error(
        "{} is another file than the one judged, and is at {} now; hint: move it back",
        path.display(), aside.display()
    )]
    PutAside {
        /// Where it was.
        path: PathBuf,
        /// Where it is.
        aside: PathBuf,
    },
    /// Nothing can be opened by its descriptor without procfs.
    #[error("{}: /proc is needed to open it; hint: run mount -t proc proc /proc", path.display())]
    NoProc {
        /// What was to be opened.
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
    /// The thread that was to open it for writing cannot be confined to it.
    #[error("{}: not opened for writing: {source}", path.display())]
    Confine {
        /// The file or device.
        path: PathBuf,
        /// Why not.
        source: ConfineError,
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
pub(crate) fn fits(fits_bytes: u64) -> String {
    if fits_bytes == 0 {
        "nothing fits: hint: use another directory, or less on this disk".to_owned()
    } else {
        format!("hint: use --size={}m or less", fits_bytes >> 20)
    }
}

impl TargetError {
    /// True where a guard refused, so that the binary can exit with 3.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Guard(_))
    }

    pub(crate) fn io(path: &Path, action: &'static str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        if source.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) {
            return Self::NameTooLong { path: path.to_owned() };
        }
        Self::Io { path: path.to_owned(), action, source }
    }
}
