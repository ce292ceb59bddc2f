//! Removes what iogauge made, and nothing else.

use super::creation::{leftovers, remove_made};
use super::descriptor::{kind_of, look_at, look_at_directory, reopen_error, reopen_quietly};
use super::error::TargetError;
use super::marker::{Ownership, TEST_FILE_NAME, is_numbered_test_file, judge, lock};
use super::part::{Part, PartKind};
use super::place::FilePlace;
use crate::guard::{self, GuardError, takes_writes};
use crate::kernel::Roots;
use rustix::fs::{CWD, FileType, OFlags};
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why a file was not removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftBecause {
    /// It does not exist.
    NotThere,
    /// iogauge did not make it. Contains the evidence.
    NotOurs(String),
    /// It is a block device, on which iogauge leaves no files.
    BlockDevice,
    /// It is a symbolic link, which iogauge never makes.
    Symlink,
    /// Another iogauge is using it.
    InUse,
    /// Another file has its name.
    Replaced,
    /// A guard refuses writing to it, for example because a loop device is on it.
    Refused(GuardError),
}

/// What was done about a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleaned {
    /// Removed.
    Removed {
        path: PathBuf,
        /// Freed space, in bytes.
        freed_bytes: u64,
    },
    /// Not removed.
    Left {
        /// The path that was checked.
        path: PathBuf,
        /// The reason.
        because: LeftBecause,
    },
}

impl fmt::Display for Cleaned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed { path, freed_bytes } => {
                let freed = iogauge_model::units::Bytes(*freed_bytes);
                write!(f, "{}: removed, {freed} freed", path.display())
            }
            // The message of a refusal contains the path.
            Self::Left { because: LeftBecause::Refused(refusal), .. } => {
                write!(f, "left: {refusal}")
            }
            Self::Left { path, because } => {
                write!(f, "{}: ", path.display())?;
                match because {
                    LeftBecause::NotThere => f.write_str("nothing there"),
                    LeftBecause::NotOurs(reason) => {
                        write!(f, "left, iogauge did not make it ({reason})")
                    }
                    LeftBecause::BlockDevice => f.write_str("a block device, nothing to remove"),
                    LeftBecause::Symlink => f.write_str("left, iogauge makes no symbolic links"),
                    LeftBecause::Replaced => {
                        f.write_str("left, it is not the file that was measured")
                    }
                    LeftBecause::InUse => f.write_str("left, another iogauge is using it"),
                    LeftBecause::Refused(_) => Ok(()),
                }
            }
        }
    }
}

/// Removes the test files of a target and their side files. For a directory these are the default test file and the
/// numbered ones of a target with several files. Also removes what a killed process left in the same directory.
///
/// # Errors
/// Fails if a file made by iogauge cannot be examined or removed.
pub fn clean(paths: &[PathBuf]) -> Result<Vec<Cleaned>, TargetError> {
    let mut cleaned = Vec::new();
    for path in paths {
        let numbered = numbered_files(path)?;
        let one = clean_path(path)?;
        // If there are numbered files, a missing default file is not worth reporting.
        let missed = matches!(&one, Cleaned::Left { because: LeftBecause::NotThere, .. });
        if !missed || numbered.is_empty() {
            cleaned.push(one);
        }
        for file in numbered {
            cleaned.push(clean_path(&file)?);
        }
        let left = place_of(path).map_or_else(|_| Ok(Vec::new()), |place| leftovers(&place))?;
        let left = left.into_iter();
        cleaned.extend(left.map(|(path, freed_bytes)| Cleaned::Removed { path, freed_bytes }));
    }
    Ok(cleaned)
}

/// Returns the numbered test files of a directory, in order of their numbers.
fn numbered_files(directory: &Path) -> Result<Vec<PathBuf>, TargetError> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |source| TargetError::io(directory, "look into it", source);
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_str().is_some_and(is_numbered_test_file) {
            files.push(entry.path());
        }
    }
    files.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(files)
}

/// Removes the test files of a finished run: those that were checked, if they still have their names.
///
/// # Errors
/// Fails if a file made by iogauge cannot be examined or removed.
pub fn clean_parts(parts: &[Part]) -> Result<Vec<Cleaned>, TargetError> {
    parts.iter().map(clean_part).collect()
}

fn clean_part(part: &Part) -> Result<Cleaned, TargetError> {
    let left = |because| Ok(Cleaned::Left { path: part.path.clone(), because });
    if part.kind == PartKind::BlockDevice {
        return left(LeftBecause::BlockDevice);
    }
    match (&part.judged, &part.place) {
        (Some(judged), Some(place)) => clean_file(judged, place, part.lock.is_some()),
        _ => left(LeftBecause::NotThere),
    }
}

/// Returns the place of the test file for a path given by the user.
fn place_of(path: &Path) -> Result<FilePlace, TargetError> {
    let Ok(directory) = look_at_directory(path) else { return FilePlace::of(path) };
    FilePlace::within(directory, TEST_FILE_NAME, path)
}

fn clean_path(path: &Path) -> Result<Cleaned, TargetError> {
    let left = |path: &Path, because| Ok(Cleaned::Left { path: path.to_owned(), because });
    let leads_to = look_at(CWD, path, true);
    let device = leads_to.is_ok_and(|fd| kind_of(&fd, path).ok() == Some(FileType::BlockDevice));
    if device {
        return left(path, LeftBecause::BlockDevice);
    }
    let place = match place_of(path) {
        Err(TargetError::NotFound { .. }) => return left(path, LeftBecause::NotThere),
        place => place?,
    };
    let path = place.path();
    let Some(found) = place.look()? else { return left(path, LeftBecause::NotThere) };
    match kind_of(&found, path)? {
        FileType::RegularFile => {}
        FileType::Symlink => return left(path, LeftBecause::Symlink),
        _ => return left(path, LeftBecause::NotOurs("it is not a regular file".into())),
    }
    let file = reopen_quietly(&found, OFlags::RDONLY);
    clean_file(&file.map_err(|error| reopen_error(path, error))?, &place, false)
}

/// Removes the open file of a place, if iogauge made it.
fn clean_file(judged: &File, place: &FilePlace, locked: bool) -> Result<Cleaned, TargetError> {
    let path = place.path();
    let left = |because| Ok(Cleaned::Left { path: path.to_owned(), because });
    let header = match judge(judged, place)? {
        Ownership::Ours(header) => header,
        Ownership::NotOurs(reason) => return left(LeftBecause::NotOurs(reason)),
    };
    guard::lets_remove(place.directory(), path)?;
    let _lock = if locked {
        None
    } else {
        match lock(judged, path, true) {
            Err(TargetError::Guard(GuardError::InUse { .. })) => return left(LeftBecause::InUse),
            other => Some(other?),
        }
    };
    // Removing a file destroys as much as writing to it.
    match takes_writes(judged, path, true, &Roots::real()) {
        Err(TargetError::Guard(refusal)) => return left(LeftBecause::Refused(refusal)),
        judged => judged?,
    }
    let about = judged.metadata();
    let about = about.map_err(|source| TargetError::io(path, "look at it", source))?;
    if !place.is_taken() {
        remove_made(place, judged, &header)?;
        return left(LeftBecause::NotThere);
    }
    match remove_made(place, judged, &header) {
        Err(TargetError::Changed { .. }) => left(LeftBecause::Replaced),
        removed => removed.map(|()| Cleaned::Removed {
            freed_bytes: about.blocks().saturating_mul(512),
            path: path.to_owned(),
        }),
    }
}
