//! Guards of files and directories.

use super::error::GuardError;
use super::patience::unless_held_for_long;
use super::proc::{self, object_at};
use super::stack;
use crate::kernel::Roots;
use crate::target::error::TargetError;
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;
use std::path::Path;

/// Checks that an existing file may be written, once it is known that it should be.
///
/// `path` must not be a symbolic link.
///
/// # Errors
/// Where the file is read-only, active swap, behind a loop device or open for writing elsewhere.
pub(in crate::target) fn takes_writes(path: &Path, roots: &Roots) -> Result<(), TargetError> {
    if let Err(reason) = write_access(path) {
        let what = if reason == Errno::ROFS { "its file system" } else { "it" };
        return Err(GuardError::ReadOnly { path: path.into(), what: what.into() }.into());
    }
    let Some(object) = object_at(path) else { return Ok(()) };
    if proc::swaps(roots).iter().any(|swap| object_at(swap) == Some(object)) {
        return Err(GuardError::Swap { path: path.into(), what: "it".into() }.into());
    }
    if let Some(device) = stack::loop_on_file(object, roots) {
        return Err(GuardError::LoopBacking { path: path.into(), device }.into());
    }
    unless_held_for_long(|| {
        match proc::users(&[object], roots).into_iter().find(|user| user.writes) {
            Some(user) => {
                let holder = format!("{} has it open for writing", user.describe());
                Err(GuardError::Held { path: path.into(), holder }.into())
            }
            None => Ok(()),
        }
    })
}

/// Checks that files can be made in a directory.
///
/// # Errors
/// Where its mode, its attributes or its file system forbid it.
pub(in crate::target) fn directory_takes_files(path: &Path) -> Result<(), GuardError> {
    write_access(path).map_err(|error| {
        let reason = match error {
            Errno::ROFS => "its file system is read-only".to_owned(),
            Errno::ACCESS => "permission denied".to_owned(),
            Errno::PERM => "it is immutable".to_owned(),
            other => other.to_string(),
        };
        GuardError::DirectoryNotWritable { path: path.into(), reason }
    })
}

/// Asks the kernel with the rights this process acts under; writes nothing.
fn write_access(path: &Path) -> Result<(), Errno> {
    rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)
}
