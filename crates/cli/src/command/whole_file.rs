//! Files that are there as a whole or not at all.

use anyhow::Context;
use std::path::{Path, PathBuf};

/// Writes a file beside its place and moves it there: what is cut short leaves the one before.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn put(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let (partial, context) = (beside(path), || format!("{} cannot be written", path.display()));
    let moved = std::fs::write(&partial, bytes).and_then(|()| std::fs::rename(&partial, path));
    if moved.is_err() {
        // The first error is what the user has to hear.
        let _ = std::fs::remove_file(&partial);
    }
    moved.with_context(context)
}

/// Finds out whether [`put`] will be able to write a file, and leaves nothing behind.
///
/// # Errors
/// Why it will not.
pub(super) fn check(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    let partial = beside(path);
    std::fs::write(&partial, [])?;
    std::fs::remove_file(&partial)
}

fn beside(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    PathBuf::from(partial)
}
