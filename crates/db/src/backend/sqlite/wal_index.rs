//! The head of SQLite's index of a log: how long the log is, and how much of it is in the data file.
//!
//! Its form is written down in <https://www.sqlite.org/walformat.html>, section 2.1.

use crate::directory::fault;
use crate::error::DbError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of each of the two copies of the head.
const COPY: usize = 48;
/// Looks until both copies agree; each disagrees only while a commit writes them.
const LOOKS: u32 = 1000;

/// What stands in the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogState {
    /// Changes whenever the log begins anew.
    pub salt: u32,
    /// Valid frames of the log, each a page.
    pub frames: u32,
    /// Of them, those that are in the data file.
    pub backfilled: u32,
}

impl LogState {
    /// Frames that are not yet in the data file.
    pub(super) fn pending(&self) -> u32 {
        self.frames.saturating_sub(self.backfilled)
    }
}

/// The file of an index. Closing it would end SQLite's locks on it (POSIX, `fcntl`): it must be kept open
/// for longer than every connection of this process to the database.
#[derive(Debug)]
pub(super) struct WalIndex {
    file: File,
    path: PathBuf,
}

impl WalIndex {
    /// The index of a database that a connection has looked into.
    pub(super) fn open(database: &Path) -> Result<Self, DbError> {
        let mut path = database.as_os_str().to_owned();
        path.push("-shm");
        let path = PathBuf::from(path);
        let file = File::open(&path).map_err(|error| fault(&path, &error))?;
        Ok(Self { file, path })
    }

    /// How it stands.
    pub(super) fn read(&self) -> Result<LogState, DbError> {
        let mut head = [0; 2 * COPY + 4];
        for _ in 0..LOOKS {
            let read = self.file.read_exact_at(&mut head, 0);
            read.map_err(|error| fault(&self.path, &error))?;
            if head[..COPY] == head[COPY..2 * COPY] {
                return Ok(LogState {
                    salt: u32::from_be_bytes(four(&head, 32)),
                    frames: u32::from_ne_bytes(four(&head, 16)),
                    backfilled: u32::from_ne_bytes(four(&head, 2 * COPY)),
                });
            }
            std::thread::yield_now();
        }
        Err(DbError::Failed(format!("{}: its two heads never agree", self.path.display())))
    }
}

fn four(bytes: &[u8], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}
