//! Files without a name, and names that are given without taking the place of anything.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

/// The path by which this process reaches what a descriptor is of, whatever its names lead to by now
/// (proc_pid_fd(5)). A child that inherits the descriptor reaches it by the same path.
pub(crate) fn path_of_fd(fd: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd()))
}

/// Makes a file without a name in a directory; `None` where the file system has no such files.
pub(crate) fn unnamed_file(
    directory: impl AsFd,
    access: OFlags,
    mode: Mode,
) -> Result<Option<File>, Errno> {
    let flags = access | OFlags::TMPFILE | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, ".", flags, mode) {
        Ok(fd) => Ok(Some(fd.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a file without a name this one.
///
/// # Errors
/// [`Errno::EXIST`] where the name is taken.
pub(crate) fn name_file(file: &File, directory: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    rustix::fs::linkat(CWD, path_of_fd(file), directory, name, AtFlags::SYMLINK_FOLLOW)
}

/// Gives what has the name `from` the name `to`, which must be free. Where the file system cannot promise
/// that it replaces nothing, a second link does, and the first name goes.
///
/// # Errors
/// [`Errno::EXIST`] where the name is taken.
pub(crate) fn rename_to_free(
    (directory, from): (impl AsFd, &OsStr),
    (to_directory, to): (impl AsFd, &OsStr),
) -> Result<(), Errno> {
    let flags = RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(&directory, from, &to_directory, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rustix::fs::linkat(&directory, from, to_directory, to, AtFlags::empty())?;
            rustix::fs::unlinkat(directory, from, AtFlags::empty())
        }
        renamed => renamed,
    }
}
