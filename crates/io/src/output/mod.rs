//! Files that commands write in addition to their result: pages, pictures, rows, manual pages, logs.
//!
//! An output is a new file, or replaces a regular file that iogauge made, as its content shows. Replacing any other
//! file needs the user's permission. An output appears as a whole or not at all. Character devices and FIFOs are
//! written to directly. A history and the files next to it are never replaced.
//!
//! [`OutputFile::check`] checks a path before anything is measured. The output is written to an unnamed or temporary
//! file, which replaces the checked file only if that still has the name.

mod content;
mod error;
mod place;
mod stream;
#[cfg(test)]
mod tests;

pub use content::HISTORY_APPLICATION_ID;
pub use error::OutputError;

use place::{Identity, OutputPlace, Partial};
use rustix::fs::{FileType, OFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What an output may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// Nothing: the output is a new file.
    Nothing,
    /// Only files that iogauge made.
    Ours,
    /// For logs: the same, and logs in fio's formats, by whichever program, and empty files. A log is a regular file.
    Logs,
    /// For verify states: only files that iogauge made.
    VerifyState,
    /// Any regular file other than a history: `--force`.
    Any,
}

impl From<bool> for Replace {
    /// Converts the value of `--force`.
    fn from(force: bool) -> Self {
        if force { Self::Any } else { Self::Ours }
    }
}

/// A directory for outputs.
#[derive(Debug, Clone)]
pub struct OutputDirectory {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl OutputDirectory {
    /// Opens a directory, and creates it if it is missing.
    ///
    /// # Errors
    /// Fails if it cannot be created or opened.
    pub fn make(path: &Path) -> Result<Self, OutputError> {
        std::fs::create_dir_all(path)
            .map_err(|source| io_error(path, "make the directory", source))?;
        Self::open(path)
    }

    /// Opens a directory.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, OutputError> {
        let fd = place::open_directory(path)
            .map_err(|source| io_error(path, "open the directory", source))?;
        Ok(Self { fd: Arc::new(fd), path: path.to_path_buf() })
    }

    /// Checks a file name in it, like [`OutputFile::check`].
    ///
    /// # Errors
    /// As [`OutputFile::check`].
    pub fn check(&self, name: &str, replace: Replace) -> Result<OutputFile, OutputError> {
        let path = self.path.join(name);
        OutputFile::judge(OutputPlace::new(self.fd.clone(), name.into(), path), replace)
    }
}

/// A checked place, and the output written so far.
#[derive(Debug)]
pub struct OutputFile {
    place: OutputPlace,
    way: Way,
}

/// How an output is written.
#[derive(Debug)]
enum Way {
    /// As a new file, or in place of the checked file.
    File { judged: Option<Identity>, partial: Option<Partial> },
    /// Directly to a device or FIFO.
    Stream(File),
}

impl OutputFile {
    /// Checks a path, and whether a file can be written there. Changes nothing and leaves nothing behind.
    ///
    /// # Errors
    /// Refuses a file that iogauge did not make, a history, a symbolic link to a file, a block device, a directory and
    /// a socket. Fails if the place cannot be written.
    pub fn check(path: &Path, replace: Replace) -> Result<Self, OutputError> {
        Self::judge(OutputPlace::of(path)?, replace)
    }

    /// Like [`Self::check`], for a file that belongs to a history.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn for_history(path: &Path, replace: Replace) -> Result<Self, OutputError> {
        Self::judge_place(OutputPlace::of(path)?, replace)
    }

    fn judge(place: OutputPlace, replace: Replace) -> Result<Self, OutputError> {
        place.refuse_beside_history()?;
        Self::judge_place(place, replace)
    }

    fn judge_place(place: OutputPlace, replace: Replace) -> Result<Self, OutputError> {
        let Some(found) = place.look()? else {
            place.refuse_among_kernel_files()?;
            place.probe()?;
            return Ok(Self { place, way: Way::File { judged: None, partial: None } });
        };
        if replace == Replace::Nothing {
            return Err(OutputError::Exists { path: place.path });
        }
        let way = match found.kind {
            FileType::RegularFile => {
                judge_file(&place, &found.identity, replace)?;
                place.probe()?;
                Way::File { judged: Some(found.identity), partial: None }
            }
            // A log must be a regular file: a run would block at a pipe until something reads it.
            FileType::Symlink if replace == Replace::Logs => {
                return Err(OutputError::Link { path: place.path });
            }
            _ if replace == Replace::Logs => return Err(OutputError::NoLog { path: place.path }),
            FileType::Symlink => Way::Stream(stream::behind_link(&place.path)?),
            _ => Way::Stream(stream::open(&place.path)?),
        };
        Ok(Self { place, way })
    }

    /// Returns the path as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Writes all bytes and commits the output.
    ///
    /// # Errors
    /// As [`Self::commit`]. Also fails if the bytes cannot be written.
    pub fn put(mut self, bytes: &[u8]) -> Result<(), OutputError> {
        let written = self.write_all(bytes);
        written.map_err(|source| io_error(&self.place.path, "write", source))?;
        self.commit()
    }

    /// Gives the output its name. An output that is dropped without a commit leaves nothing behind.
    ///
    /// # Errors
    /// Returns [`OutputError::Changed`] if the file with this name has changed since it was checked. Nothing is
    /// replaced then. Also fails if the file system refuses.
    pub fn commit(mut self) -> Result<(), OutputError> {
        // An empty output also creates a file.
        self.write_all(&[]).map_err(|source| io_error(&self.place.path, "write", source))?;
        match self.way {
            Way::File { judged, partial: Some(partial) } => partial.put(&self.place, judged),
            Way::File { partial: None, .. } | Way::Stream(_) => Ok(()),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.way {
            Way::Stream(file) => file.write(bytes),
            Way::File { judged, partial } => {
                if partial.is_none() {
                    *partial = Some(Partial::make(&self.place, judged.as_ref())?);
                }
                partial.as_mut().map_or(Ok(0), |partial| partial.file.write(bytes))
            }
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Creates the file even if there is nothing to write.
        let written = self.write(bytes)?;
        let mut rest = &bytes[written..];
        while !rest.is_empty() {
            match self.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Refuses a regular file that iogauge did not make or that belongs to a database.
fn judge_file(place: &OutputPlace, found: &Identity, replace: Replace) -> Result<(), OutputError> {
    let path = place.path.clone();
    let file = match place.open_file(OFlags::RDONLY) {
        Ok(file) => file,
        Err(source)
            if source.kind() == io::ErrorKind::PermissionDenied && replace != Replace::Any =>
        {
            return Err(OutputError::foreign(path, replace));
        }
        Err(source) => return Err(io_error(&path, "read what is there", source)),
    };
    if !found.is_same_file(&Identity::of(&file).map_err(|e| io_error(&path, "look at it", e))?) {
        return Err(OutputError::Changed { path });
    }
    let mut head = Vec::new();
    let read = (&file).take(content::HEAD_BYTES as u64).read_to_end(&mut head);
    read.map_err(|source| io_error(&path, "read what is there", source))?;
    match content::content(&head) {
        content::FirstBytes::Database(what) => {
            // Closing it would release the locks that this process holds on it (fcntl(2), F_SETLK).
            std::mem::forget(file);
            Err(OutputError::Database { path, what })
        }
        content::FirstBytes::Output => Ok(()),
        content::FirstBytes::Log if replace == Replace::Logs => Ok(()),
        content::FirstBytes::Foreign if replace == Replace::Logs && head.is_empty() => Ok(()),
        _ if replace == Replace::Any => Ok(()),
        _ => Err(OutputError::foreign(path, replace)),
    }
}

fn io_error(path: &Path, action: &'static str, source: impl Into<io::Error>) -> OutputError {
    OutputError::Io { path: path.to_path_buf(), action, source: source.into() }
}
