//! Files that commands write beside their result: pages, pictures, rows, manual pages, logs.
//!
//! An output is a new file, or a regular file that iogauge made, as its content shows; any other file
//! takes the user's permission. It is there as a whole or not at all. Character devices and FIFOs are
//! written into. A history, and the files beside it, are never an output.
//!
//! [`OutputFile::check`] judges a path before anything is measured. What is written goes into a file
//! without a name, or of a name of its own, and takes the place of the judged file only where that one still
//! stands at the name.

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

/// Whether an output may replace a file that iogauge did not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// No: only one that iogauge made.
    Ours,
    /// Yes, any regular file other than a history: `--force`.
    Any,
}

impl From<bool> for Replace {
    /// What `--force` says.
    fn from(force: bool) -> Self {
        if force { Self::Any } else { Self::Ours }
    }
}

/// A directory that outputs are written into.
#[derive(Debug, Clone)]
pub struct OutputDirectory {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl OutputDirectory {
    /// Opens a directory, and makes it where it is missing.
    ///
    /// # Errors
    /// Where it cannot be made or opened.
    pub fn make(path: &Path) -> Result<Self, OutputError> {
        std::fs::create_dir_all(path)
            .map_err(|source| io_error(path, "make the directory", source))?;
        let fd = place::open_directory(path)
            .map_err(|source| io_error(path, "open the directory", source))?;
        Ok(Self { fd: Arc::new(fd), path: path.to_path_buf() })
    }

    /// Checks a file of this name in it, as [`OutputFile::check`].
    ///
    /// # Errors
    /// As [`OutputFile::check`].
    pub fn check(&self, name: &str, replace: Replace) -> Result<OutputFile, OutputError> {
        let path = self.path.join(name);
        OutputFile::judge(OutputPlace::new(self.fd.clone(), name.into(), path), replace)
    }
}

/// A place that was checked, and what is written there.
#[derive(Debug)]
pub struct OutputFile {
    place: OutputPlace,
    way: Way,
}

/// How bytes get there.
#[derive(Debug)]
enum Way {
    /// In place of nothing, or of the file that was judged.
    File { judged: Option<Identity>, partial: Option<Partial> },
    /// Straight into a device or FIFO.
    Stream(File),
}

impl OutputFile {
    /// Judges a path, and finds out whether a file can be written there. Changes nothing and leaves
    /// nothing behind.
    ///
    /// # Errors
    /// A foreign file, a history, a symbolic link to a file, a block device, a directory, a socket; a
    /// place that cannot be written.
    pub fn check(path: &Path, replace: Replace) -> Result<Self, OutputError> {
        Self::judge(OutputPlace::of(path)?, replace)
    }

    /// As [`Self::check`], for a file that belongs to a history itself.
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
        let way = match found.kind {
            FileType::RegularFile => {
                judge_file(&place, &found.identity, replace)?;
                place.probe()?;
                Way::File { judged: Some(found.identity), partial: None }
            }
            FileType::Symlink => Way::Stream(stream::behind_link(&place.path)?),
            _ => Way::Stream(stream::open(&place.path)?),
        };
        Ok(Self { place, way })
    }

    /// The path as it was typed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Writes all of it and puts it in its place.
    ///
    /// # Errors
    /// As [`Self::commit`], or where it cannot be written.
    pub fn put(mut self, bytes: &[u8]) -> Result<(), OutputError> {
        let written = self.write_all(bytes);
        written.map_err(|source| io_error(&self.place.path, "write", source))?;
        self.commit()
    }

    /// Puts what was written in its place. What is dropped without this was never there.
    ///
    /// # Errors
    /// [`OutputError::Changed`] where something else stands there than when it was judged; nothing is
    /// replaced then. Where the file system refuses.
    pub fn commit(mut self) -> Result<(), OutputError> {
        // An empty output is a file, too.
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
        // Makes the file where there is nothing to write as well.
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

/// Refuses a regular file that is not ours, or that is of a database.
fn judge_file(place: &OutputPlace, found: &Identity, replace: Replace) -> Result<(), OutputError> {
    let path = place.path.clone();
    let file = match place.open_file(OFlags::RDONLY) {
        Ok(file) => file,
        Err(source)
            if source.kind() == io::ErrorKind::PermissionDenied && replace == Replace::Ours =>
        {
            return Err(OutputError::Foreign { path });
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
        content::FirstBytes::Foreign if replace == Replace::Ours => {
            Err(OutputError::Foreign { path })
        }
        content::FirstBytes::Foreign | content::FirstBytes::Output => Ok(()),
    }
}

fn io_error(path: &Path, action: &'static str, source: impl Into<io::Error>) -> OutputError {
    OutputError::Io { path: path.to_path_buf(), action, source: source.into() }
}
