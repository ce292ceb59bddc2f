//! A file of `/proc` kept open and read again and again.

use super::{Roots, SystemError};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A `/proc` file with the buffer its text is read into. Reading anew costs two or three system
/// calls and allocates only when the text outgrows the buffer.
#[derive(Debug)]
pub(super) struct KernelFile {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl KernelFile {
    /// Opens the file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(roots: &Roots, below: &str) -> Result<Self, SystemError> {
        let path = roots.path(below);
        let file = File::open(&path).map_err(SystemError::unreadable(&path))?;
        Ok(Self { file, path, buffer: vec![0; 16 << 10] })
    }

    /// Reads the file from its beginning and hands its text to `parse`.
    ///
    /// # Errors
    /// When reading fails, or `parse` finds nothing: then the error names what was `wanted`.
    pub fn parse<T>(
        &mut self,
        wanted: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, SystemError> {
        let filled = self.fill().map_err(SystemError::unreadable(&self.path))?;
        std::str::from_utf8(&self.buffer[..filled])
            .ok()
            .and_then(parse)
            .ok_or_else(|| SystemError::Malformed { path: self.path.clone(), wanted })
    }

    /// Reads until the kernel has no more: long files such as diskstats come a page at a time.
    fn fill(&mut self) -> std::io::Result<usize> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(filled * 2, 0);
            }
            match self.file.read_at(&mut self.buffer[filled..], filled as u64) {
                Ok(0) => return Ok(filled),
                Ok(n) => filled += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
