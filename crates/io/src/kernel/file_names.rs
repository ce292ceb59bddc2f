//! Unnamed files, and naming and renaming without replacing an existing file.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

/// Returns the path under which this process reaches the object of a descriptor, even if its names have changed
/// (proc_pid_fd(5)). A child that inherits the descriptor can use the same path.
pub(crate) fn path_of_fd(fd: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd()))
}

/// Creates an unnamed file in a directory; `None` if the file system does not support unnamed files.
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

/// Gives an unnamed file a name.
///
/// # Errors
/// Returns [`Errno::EXIST`] if the name is taken.
pub(crate) fn name_file(file: &File, directory: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    rustix::fs::linkat(CWD, path_of_fd(file), directory, name, AtFlags::SYMLINK_FOLLOW)
}

/// Renames a file to a name that must be free. If the file system has no rename that never replaces a file, links the
/// new name and removes the old one.
///
/// # Errors
/// Returns [`Errno::EXIST`] if the new name is taken.
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
