//! What a job file refers to outside its own text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files, environment and machine of a job file. The crate makes no system calls, so its callers provide
/// them.
pub trait Source {
    /// Returns the text of a file; a relative path is relative to the working directory.
    ///
    /// # Errors
    /// Returns the system's error.
    fn read(&self, path: &Path) -> std::io::Result<String>;

    /// Returns the first bytes of a file, at most `most`.
    ///
    /// # Errors
    /// Returns the system's error.
    fn read_bytes(&self, path: &Path, most: usize) -> std::io::Result<Vec<u8>>;

    /// Returns an environment variable, for `${NAME}`; `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns the number of processors online, for `$ncpus`.
    fn processors(&self) -> u64;

    /// Returns the size of a memory page in bytes, for `$pagesize`.
    fn page_bytes(&self) -> u64;

    /// Returns the memory of the machine in bytes, for `$mb_memory`.
    fn memory_bytes(&self) -> u64;

    /// Returns a number that differs from run to run, for `randrepeat=0`.
    fn random(&self) -> u64;
}

/// Files and variables held in memory, on a machine with 4 processors and 8 GiB: for job files that are not
/// stored in files, and for tests.
#[derive(Debug, Clone, Default)]
pub struct MemorySource {
    files: BTreeMap<PathBuf, String>,
    variables: BTreeMap<String, String>,
}

impl MemorySource {
    /// Adds a file with the path by which job files refer to it.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>, text: &str) -> Self {
        self.files.insert(path.into(), text.to_owned());
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }
}

impl Source for MemorySource {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        self.files.get(path).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    fn read_bytes(&self, path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
        self.read(path).map(|text| text.bytes().take(most).collect())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn processors(&self) -> u64 {
        4
    }

    fn page_bytes(&self) -> u64 {
        4096
    }

    fn memory_bytes(&self) -> u64 {
        8 << 30
    }

    fn random(&self) -> u64 {
        42
    }
}
