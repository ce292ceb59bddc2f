//! The descriptor on which a file or device is checked and used.
//!
//! A name may refer to another file at any moment, but a descriptor may not. What was checked on a descriptor also
//! holds for everything opened later through its `/proc/self/fd/N` (proc_pid_fd(5)).

use super::error::TargetError;
use crate::kernel::{DeviceNumber, path_of_fd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, statx};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Identifies a file or device, regardless of the name or node used to reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A block device.
    Device(DeviceNumber),
    /// A regular file, identified by device and inode.
    File {
        /// Device number from `st_dev`.
        device: DeviceNumber,
        /// Inode number.
        inode: u64,
    },
}

impl Identity {
    /// Returns the identity of an open descriptor; `None` if it is neither a regular file nor a block device.
    #[must_use]
    pub fn of(fd: impl AsFd) -> Option<Self> {
        Self::from_stat(&rustix::fs::fstat(fd).ok()?)
    }

    /// Returns the identity of the file at `path`. Follows symbolic links, and does not contact the server of a network
    /// file system.
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

/// Looks up a name without opening the file (`O_PATH`). This does not block on a FIFO and does not affect a device.
pub(crate) fn look_at(
    directory: impl AsFd,
    name: impl AsRef<OsStr>,
    follow: bool,
) -> Result<OwnedFd, Errno> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    rustix::fs::openat(directory, name.as_ref(), flags, Mode::empty())
}

/// Opens a directory to access files in it even if its own name changes later.
pub(crate) fn look_at_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Opens the object of a descriptor again.
pub(crate) fn reopen(fd: impl AsFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    // The last component of this path is a symbolic link of the kernel, which has to be followed.
    let flags = (flags | OFlags::CLOEXEC) - OFlags::NOFOLLOW;
    rustix::fs::open(path_of_fd(fd), flags, Mode::empty())
}

/// Like [`reopen`], but does not update the access time if this user owns the file.
pub(crate) fn reopen_quietly(fd: impl AsFd, flags: OFlags) -> Result<File, Errno> {
    match reopen(&fd, flags | OFlags::NOATIME) {
        // The file belongs to another user.
        Err(Errno::PERM) => reopen(&fd, flags),
        other => other,
    }
    .map(File::from)
}

/// Returns the file type of a descriptor.
pub(crate) fn kind_of(fd: impl AsFd, path: &Path) -> Result<FileType, TargetError> {
    rustix::fs::fstat(fd)
        .map(|stat| FileType::from_raw_mode(stat.st_mode))
        .map_err(|source| TargetError::io(path, "look at it", source))
}

/// Returns the absolute path of a descriptor's object, without symbolic links.
pub(crate) fn real_path(fd: impl AsFd, path: &Path) -> Result<PathBuf, TargetError> {
    std::fs::read_link(path_of_fd(fd))
        .map_err(|source| TargetError::io(path, "find where it leads (is /proc mounted?)", source))
}

/// Converts an error of [`reopen`]. Without procfs nothing can be opened again.
pub(crate) fn reopen_error(path: &Path, source: Errno) -> TargetError {
    if source == Errno::NOENT && !Path::new("/proc/self/fd").exists() {
        return TargetError::NoProc { path: path.into() };
    }
    TargetError::io(path, "open it", source)
}
