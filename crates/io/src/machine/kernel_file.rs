//! A file of `/proc` that is kept open and read repeatedly.

use super::{Roots, SystemError};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// An open `/proc` file and its read buffer. Reading it again takes two or three system calls and only allocates if the
/// text outgrows the buffer.
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
    /// Fails if it cannot be opened.
    pub fn open(roots: &Roots, below: &str) -> Result<Self, SystemError> {
        let path = roots.path(below);
        let file = File::open(&path).map_err(SystemError::unreadable(&path))?;
        Ok(Self { file, path, buffer: vec![0; 16 << 10] })
    }

    /// Reads the file from its beginning and passes its text to `parse`.
    ///
    /// # Errors
    /// Fails if reading fails. If `parse` returns `None`, the error names `wanted`.
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

    /// Reads until the end of the file. The kernel returns long files such as diskstats one page at a time.
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
