//! The one descriptor on which a file or device is judged and used.
//!
//! A name can lead elsewhere at any moment. A descriptor cannot: what is judged on it is true of
//! whatever is opened through `/proc/self/fd/N` of it later (proc_pid_fd(5)).

use super::error::TargetError;
use crate::kernel::{DeviceNumber, path_of_fd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, statx};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Which file or device something is, by whatever name or node it was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A block device.
    Device(DeviceNumber),
    /// A regular file, by the device it lies on and its inode.
    File {
        /// Number of the device, as `stat` has it in `st_dev`.
        device: DeviceNumber,
        /// Number of the inode.
        inode: u64,
    },
}

impl Identity {
    /// What an open descriptor is of; `None` for anything but a regular file or a block device.
    #[must_use]
    pub fn of(fd: impl AsFd) -> Option<Self> {
        Self::from_stat(&rustix::fs::fstat(fd).ok()?)
    }

    /// What the path leads to, links followed, asking no server of a network file system for it.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let flags = AtFlags::STATX_DONT_SYNC;
        let stat = statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::INO).ok()?;
        let number = |major, minor| DeviceNumber { major, minor };
        match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::BlockDevice => {
                Some(Self::Device(number(stat.stx_rdev_major, stat.stx_rdev_minor)))
            }
            FileType::RegularFile => Some(Self::File {
                device: number(stat.stx_dev_major, stat.stx_dev_minor),
                inode: stat.stx_ino,
            }),
            _ => None,
        }
    }

    pub(crate) fn from_stat(stat: &rustix::fs::Stat) -> Option<Self> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => Some(Self::Device(DeviceNumber::from_raw(stat.st_rdev))),
            FileType::RegularFile => {
                Some(Self::File { device: DeviceNumber::from_raw(stat.st_dev), inode: stat.st_ino })
            }
            _ => None,
        }
    }
}

/// Finds what a name leads to without opening it (`O_PATH`): nothing waits for the other end of a
/// pipe, and no device notices.
pub(crate) fn look_at(
    directory: impl AsFd,
    name: impl AsRef<OsStr>,
    follow: bool,
) -> Result<OwnedFd, Errno> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    rustix::fs::openat(directory, name.as_ref(), flags, Mode::empty())
}

/// Opens a directory to reach what is in it, whatever its own name leads to later.
pub(crate) fn look_at_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Opens once more what a descriptor is of.
pub(crate) fn reopen(fd: impl AsFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    // The last step of this path is a link of the kernel's own, which has to be followed.
    let flags = (flags | OFlags::CLOEXEC) - OFlags::NOFOLLOW;
    rustix::fs::open(path_of_fd(fd), flags, Mode::empty())
}

/// As [`reopen`], leaving the access time alone where the file is this user's.
pub(crate) fn reopen_quietly(fd: impl AsFd, flags: OFlags) -> Result<File, Errno> {
    match reopen(&fd, flags | OFlags::NOATIME) {
        // A file of another user.
        Err(Errno::PERM) => reopen(&fd, flags),
        other => other,
    }
    .map(File::from)
}

/// What kind of thing a descriptor is of.
pub(crate) fn kind_of(fd: impl AsFd, path: &Path) -> Result<FileType, TargetError> {
    rustix::fs::fstat(fd)
        .map(|stat| FileType::from_raw_mode(stat.st_mode))
        .map_err(|source| TargetError::io(path, "look at it", source))
}

/// The absolute path of what a descriptor is of, without symbolic links.
pub(crate) fn real_path(fd: impl AsFd, path: &Path) -> Result<PathBuf, TargetError> {
    std::fs::read_link(path_of_fd(fd))
        .map_err(|source| TargetError::io(path, "find where it leads (is /proc mounted?)", source))
}

/// An error of [`reopen`] in words: without procfs nothing can be opened once more.
pub(crate) fn reopen_error(path: &Path, source: Errno) -> TargetError {
    if source == Errno::NOENT && !Path::new("/proc/self/fd").exists() {
        return TargetError::NoProc { path: path.into() };
    }
    TargetError::io(path, "open it", source)
}
