//! The header of SQLite's index of a log: the length of the log, and how much of it is in the data file.
//!
//! The format is documented in <https://www.sqlite.org/walformat.html>, section 2.1.

use crate::directory::fault;
use crate::error::DbError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Size of each of the two copies of the header, in bytes.
const COPY: usize = 48;
/// Maximum wait until both copies agree. They differ while a commit writes them. This is short unless the worker loses
/// its processor at that moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of attempts without a pause. Later attempts pause.
const LOOKS: u32 = 100;
/// Pause between later attempts.
const WAIT: Duration = Duration::from_micros(200);

/// Contents of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogState {
    /// Changes whenever the log is restarted.
    pub salt: u32,
    /// Number of valid frames in the log, each a page.
    pub frames: u32,
    /// Number of frames that are in the data file.
    pub backfilled: u32,
}

impl LogState {
    /// Returns the number of frames that are not in the data file yet.
    pub(super) fn pending(&self) -> u32 {
        self.frames.saturating_sub(self.backfilled)
    }
}

/// The file of an index. Closing it would release SQLite's locks on it (POSIX, `fcntl`). So it must stay open until
/// every connection of this process to the database is closed.
#[derive(Debug)]
pub(super) struct WalIndex {
    file: File,
    path: PathBuf,
}

impl WalIndex {
    /// Opens the index of a database that a connection has read.
    pub(super) fn open(database: &Path) -> Result<Self, DbError> {
        let mut path = database.as_os_str().to_owned();
        path.push("-shm");
        let path = PathBuf::from(path);
        let file = File::open(&path).map_err(|error| fault(&path, &error))?;
        Ok(Self { file, path })
    }

    /// Reads the header.
    pub(super) fn read(&self) -> Result<LogState, DbError> {
        let mut head = [0; 2 * COPY + 4];
        let begin = Instant::now();
        for look in 0.. {
            let read = self.file.read_exact_at(&mut head, 0);
            read.map_err(|error| fault(&self.path, &error))?;
            if head[..COPY] == head[COPY..2 * COPY] {
                return Ok(LogState {
                    salt: u32::from_be_bytes(four(&head, 32)),
                    frames: u32::from_ne_bytes(four(&head, 16)),
                    backfilled: u32::from_ne_bytes(four(&head, 2 * COPY)),
                });
            }
            if begin.elapsed() > PATIENCE {
                break;
            }
            if look < LOOKS { std::thread::yield_now() } else { std::thread::sleep(WAIT) }
        }
        Err(DbError::Failed(format!("{}: its two heads never agree", self.path.display())))
    }
}

fn four(bytes: &[u8], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_retries_while_the_wal_index_header_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("db");
        let head = |frames: u32| {
            let mut copy = [0; COPY];
            copy[16..20].copy_from_slice(&frames.to_ne_bytes());
            copy
        };
        let path = dir.path().join("db-shm");
        std::fs::write(&path, [&head(8)[..], &head(7)[..], &5u32.to_ne_bytes()[..]].concat())
            .unwrap();
        let index = WalIndex::open(&database).unwrap();
        let read = std::thread::scope(|scope| {
            let reader = scope.spawn(|| index.read());
            // The worker has lost its processor.
            std::thread::sleep(Duration::from_millis(50));
            assert!(!reader.is_finished());
            let file = File::options().write(true).open(&path).unwrap();
            file.write_all_at(&head(8), COPY as u64).unwrap();
            reader.join().unwrap()
        });
        assert_eq!(read.unwrap(), LogState { salt: 0, frames: 8, backfilled: 5 });
    }
}
