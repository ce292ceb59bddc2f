//! Removing what iogauge made, and nothing else.

use super::error::TargetError;
use super::guard::GuardError;
use super::marker::{
    Ownership, TEST_FILE_NAME, is_numbered_test_file, is_our_side_file, lock, ownership, remove,
    side_file,
};
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why something was left where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftBecause {
    /// Nothing is there.
    NotThere,
    /// iogauge did not make it; with how that is known.
    NotOurs(String),
    /// A block device: iogauge leaves no file on it.
    BlockDevice,
    /// A symbolic link, which iogauge never makes.
    Symlink,
    /// Another iogauge is using it.
    InUse,
}

/// What became of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleaned {
    /// Removed.
    Removed {
        /// The test file.
        path: PathBuf,
        /// Room given back, in bytes.
        freed_bytes: u64,
    },
    /// Left alone.
    Left {
        /// What was looked at.
        path: PathBuf,
        /// Why it was left.
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
            Self::Left { path, because } => {
                write!(f, "{}: ", path.display())?;
                match because {
                    LeftBecause::NotThere => f.write_str("nothing there"),
                    LeftBecause::NotOurs(reason) => {
                        write!(f, "left, iogauge did not make it ({reason})")
                    }
                    LeftBecause::BlockDevice => f.write_str("a block device, nothing to remove"),
                    LeftBecause::Symlink => f.write_str("left, iogauge makes no symbolic links"),
                    LeftBecause::InUse => f.write_str("left, another iogauge is using it"),
                }
            }
        }
    }
}

/// Removes the test files of a target and their side files; of a directory the one file that is made
/// there by itself, and those that are made where several are wanted.
///
/// # Errors
/// Where a file of ours cannot be looked at or removed.
pub fn clean(paths: &[PathBuf]) -> Result<Vec<Cleaned>, TargetError> {
    let mut cleaned = Vec::new();
    for path in paths {
        let numbered = numbered_files(path)?;
        let one = clean_path(path)?;
        // Where there are several, nobody misses the one.
        let missed = matches!(&one, Cleaned::Left { because: LeftBecause::NotThere, .. });
        if !missed || numbered.is_empty() {
            cleaned.push(one);
        }
        for file in numbered {
            cleaned.push(clean_path(&file)?);
        }
    }
    Ok(cleaned)
}

/// The test files of a directory that have a number, by it.
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

fn clean_path(path: &Path) -> Result<Cleaned, TargetError> {
    let path = if path.is_dir() { path.join(TEST_FILE_NAME) } else { path.to_owned() };
    let left = |path: &Path, because| Cleaned::Left { path: path.to_owned(), because };
    let Ok(meta) = path.symlink_metadata() else {
        return clean_orphan(&path);
    };
    if fs::metadata(&path).is_ok_and(|meta| meta.file_type().is_block_device()) {
        return Ok(left(&path, LeftBecause::BlockDevice));
    }
    if meta.is_symlink() {
        return Ok(left(&path, LeftBecause::Symlink));
    }
    if !meta.is_file() {
        return Ok(left(&path, LeftBecause::NotOurs("it is no regular file".into())));
    }
    if let Ownership::NotOurs(reason) = ownership(&path)? {
        return Ok(left(&path, LeftBecause::NotOurs(reason)));
    }
    let _lock = match lock(&path, true) {
        Err(TargetError::Guard(GuardError::InUse { .. })) => {
            return Ok(left(&path, LeftBecause::InUse));
        }
        other => other?,
    };
    remove(&path)?;
    Ok(Cleaned::Removed { freed_bytes: meta.blocks().saturating_mul(512), path })
}

/// A side file may have outlived its test file where somebody removed that by hand.
fn clean_orphan(path: &Path) -> Result<Cleaned, TargetError> {
    let side = side_file(path);
    if !is_our_side_file(&side) {
        return Ok(Cleaned::Left { path: path.to_owned(), because: LeftBecause::NotThere });
    }
    remove(path)?;
    Ok(Cleaned::Removed { path: side, freed_bytes: 0 })
}
