//! Guards of files and directories.

use super::error::GuardError;
use super::loops::{self, Loop};
use super::patience::unless_held_for_long;
use super::proc;
use crate::kernel::{Roots, is_open_here_alone, path_of_fd, pseudo_file_system};
use crate::targets::descriptor::Identity;
use crate::targets::error::TargetError;
use rustix::fs::{Access, AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::Path;

/// Checks that an open file can be written safely, after it has been decided that it should be. `path` is for messages.
/// A file that iogauge made passes if no loop device is known to be on it. Any other file passes only if it is certain
/// that no loop device is on it.
///
/// # Errors
/// Fails if the file is read-only, active swap, behind a loop device or open for writing elsewhere.
pub(crate) fn takes_writes(
    judged: impl AsFd,
    path: &Path,
    made_by_us: bool,
    roots: &Roots,
) -> Result<(), TargetError> {
    if let Err(reason) = write_access(&judged) {
        let what = if reason == Errno::ROFS { "its file system" } else { "it" };
        return Err(GuardError::ReadOnly { path: path.into(), what: what.into() }.into());
    }
    let Some(object) = Identity::of(&judged) else {
        return Err(TargetError::Changed { path: path.into() });
    };
    if proc::swaps(roots).iter().any(|swap| Identity::at(swap) == Some(object)) {
        return Err(GuardError::Swap { path: path.into(), what: "it".into() }.into());
    }
    refuse_behind_loop(&judged, path, object, made_by_us, roots)?;
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

/// Checks that an open object (`O_PATH` is enough) lies on a file system that holds data. `path` is for messages.
///
/// # Errors
/// Returns [`GuardError::KernelFile`] if it does not.
pub(crate) fn holds_data(fd: impl AsFd, path: &Path) -> Result<(), GuardError> {
    match pseudo_file_system(fd) {
        Some(file_system) => Err(GuardError::KernelFile { path: path.into(), file_system }),
        None => Ok(()),
    }
}

fn refuse_behind_loop(
    judged: impl AsFd,
    path: &Path,
    object: Identity,
    made_by_us: bool,
    roots: &Roots,
) -> Result<(), GuardError> {
    let Some(loops) = loops::all(roots) else {
        return Err(GuardError::LoopsUnlisted { path: path.into() });
    };
    if let Some(on_it) = loops.iter().find(|candidate| candidate.is_on(object)) {
        let device = on_it.device.name.clone();
        return Err(GuardError::LoopBacking { path: path.into(), device });
    }
    let has_one_name = has_one_name(&judged);
    let may_be_on_it = |candidate: &&Loop| match made_by_us {
        true => candidate.is_lost_and_named_like(path),
        false => candidate.may_be_on(path, has_one_name),
    };
    match loops.iter().find(may_be_on_it) {
        Some(candidate) if made_by_us || !is_open_here_alone(&judged) => {
            let device = candidate.device.name.clone();
            Err(GuardError::LoopUnknown { path: path.into(), device })
        }
        _ => Ok(()),
    }
}

/// Returns true if a file can be reached under one name only, in any mount namespace.
fn has_one_name(judged: impl AsFd) -> bool {
    let stat = statx(judged, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK);
    stat.is_ok_and(|stat| {
        stat.stx_nlink == 1 && !stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
    })
}

/// Checks that files can be created in a directory.
///
/// # Errors
/// Fails if its mode, its attributes or its file system forbid it.
pub(crate) fn directory_takes_files(directory: impl AsFd, path: &Path) -> Result<(), GuardError> {
    write_access(directory).map_err(|error| {
        let reason = match error {
            Errno::ROFS => "its file system is read-only".to_owned(),
            Errno::ACCESS => "permission denied".to_owned(),
            Errno::PERM => "it is immutable".to_owned(),
            other => other.to_string(),
        };
        GuardError::DirectoryNotWritable { path: path.into(), reason }
    })
}

/// Checks that a file can be removed from a directory; `path` is that of the file.
///
/// # Errors
/// Returns [`GuardError::NotRemovable`] if the file system is read-only.
pub(crate) fn lets_remove(directory: impl AsFd, path: &Path) -> Result<(), GuardError> {
    match write_access(directory) {
        Err(Errno::ROFS) => Err(GuardError::NotRemovable { path: path.into() }),
        // Removing the file reports any other obstacle.
        _ => Ok(()),
    }
}

/// Checks write access with this process's effective rights, without writing.
fn write_access(fd: impl AsFd) -> Result<(), Errno> {
    rustix::fs::accessat(CWD, path_of_fd(fd), Access::WRITE_OK, AtFlags::EACCESS)
}
