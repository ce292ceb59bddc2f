//! What a job file reads beside its own text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files, environment and machine behind a job file. The crate makes no system calls, so whoever
/// reads a job file says what they are.
pub trait Source {
    /// The text of a file; a relative path is relative to the working directory.
    ///
    /// # Errors
    /// What the system said.
    fn read(&self, path: &Path) -> std::io::Result<String>;

    /// A variable of the environment, for `${NAME}`; `None` where it is not set.
    fn variable(&self, name: &str) -> Option<String>;

    /// Processors online, for `$ncpus`.
    fn processors(&self) -> u64;

    /// Size of a memory page in bytes, for `$pagesize`.
    fn page_bytes(&self) -> u64;

    /// Memory of the machine in bytes, for `$mb_memory`.
    fn memory_bytes(&self) -> u64;

    /// A number that differs from run to run, for `randrepeat=0`.
    fn random(&self) -> u64;
}

/// Files and variables held in memory, on a machine of 4 processors and 8 GiB: for job files that are
/// in no file, and for tests.
#[derive(Debug, Clone, Default)]
pub struct MemorySource {
    files: BTreeMap<PathBuf, String>,
    variables: BTreeMap<String, String>,
}

impl MemorySource {
    /// With a file, under the path that job files know it by.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>, text: &str) -> Self {
        self.files.insert(path.into(), text.to_owned());
        self
    }

    /// With a variable set.
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
