//! The write-ahead log of one global, and its checkpoints.

use super::connection::{fault, to_work};
use super::gate::Gate;
use super::settings::Settings;
use super::wal_index::WalIndex;
use crate::error::DbError;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes before each page in the log.
const FRAME_HEAD_BYTES: u64 = 24;
/// Maximum wait for a worker before the restart of the log is postponed.
const WORKER_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum time that a worker waits at the gate for readers of other programs, and the pause before the next attempt if
/// that fails.
const RESTART_PATIENCE: Duration = Duration::from_millis(100);
const RESTART_PAUSE: Duration = Duration::from_secs(2);
/// Maximum wait for readers of other programs when everything must reach the data file.
const READER_PATIENCE: Duration = Duration::from_secs(30);

/// Counts all bytes written to a log that is restarted from time to time.
#[derive(Debug)]
pub(super) struct LogCount {
    index: WalIndex,
    counted: Mutex<Counted>,
    frame_bytes: u64,
}

#[derive(Debug)]
struct Counted {
    /// Generation of the log when last seen.
    salt: u32,
    /// Frames of all earlier generations.
    before: u64,
    /// Frames that existed when counting began.
    others: u64,
    /// Frames of this generation. They do not grow after a complete checkpoint, because the next generation begins.
    frames: u32,
}

impl LogCount {
    /// Returns the number of bytes written since counting began.
    pub(super) fn bytes(&self) -> Result<u64, DbError> {
        Ok(self.frames(0)? * self.frame_bytes)
    }

    /// Returns the number of frames written since counting began. `seen` is the number that a checkpoint has found in
    /// the last known generation.
    fn frames(&self, seen: u32) -> Result<u64, DbError> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.frames = counted.frames.max(seen);
        let now = self.index.read()?;
        if now.salt != counted.salt {
            counted.before += u64::from(counted.frames);
            counted.salt = now.salt;
        }
        counted.frames = now.frames;
        Ok((counted.before + u64::from(now.frames)).saturating_sub(counted.others))
    }
}

/// A log, with the write daemon's connection to it.
pub(super) struct Log {
    path: PathBuf,
    /// Dropped before the index in `count`, which the daemon's owner keeps.
    connection: Connection,
    count: Arc<LogCount>,
    gate: Arc<Gate>,
    page_bytes: u64,
    /// The log is not restarted before this moment.
    restart_from: Cell<Instant>,
}

/// Result of a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// Number of frames copied from the log to the data file.
    pub frames: u64,
    /// True if the log is restarted.
    pub restarted: bool,
}

impl Log {
    /// Opens the log. Pages left by a killed run are first copied to the data file.
    pub(super) fn open(
        path: &Path,
        settings: &Settings,
        page_bytes: u64,
        gate: Arc<Gate>,
    ) -> Result<Self, DbError> {
        let connection = to_work(path, settings)?;
        let look = || {
            // Creates the index if it does not exist.
            connection.query_row("SELECT count(*) FROM worker", [], |row| row.get::<_, i64>(0))?;
            connection.busy_timeout(RESTART_PATIENCE)?;
            connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::TRUNCATE)
        };
        match look() {
            // A reader is active. The first checkpoint of the run copies them.
            Err(error) if is_busy(&error) => {}
            looked => drop(looked.map_err(|error| fault(path, &error))?),
        }
        let index = WalIndex::open(path)?;
        let now = index.read()?;
        let counted =
            Counted { salt: now.salt, before: 0, others: now.frames.into(), frames: now.frames };
        let count = Arc::new(LogCount {
            index,
            counted: Mutex::new(counted),
            frame_bytes: page_bytes + FRAME_HEAD_BYTES,
        });
        let restart_from = Cell::new(Instant::now());
        Ok(Self { path: path.to_owned(), connection, count, gate, page_bytes, restart_from })
    }

    /// Returns its counter, which must be kept until the log is closed.
    pub(super) fn count(&self) -> Arc<LogCount> {
        self.count.clone()
    }

    /// Returns the number of bytes in pages that are not yet in the data file.
    pub(super) fn pending_bytes(&self) -> Result<u64, DbError> {
        Ok(u64::from(self.count.index.read()?.pending()) * self.page_bytes)
    }

    /// Copies pages to the data file while the worker continues. If the log is then longer than `restart_bytes`, copies
    /// the remaining pages while the worker waits at the gate, so that the log is restarted.
    pub(super) fn checkpoint(&self, restart_bytes: u64) -> Result<Moved, DbError> {
        let mut moved =
            Moved { frames: self.move_pages(CheckpointMode::PASSIVE)?, restarted: false };
        let state = self.count.index.read()?;
        let log_bytes = u64::from(state.frames) * self.count.frame_bytes;
        let begins_anew = log_bytes > restart_bytes && Instant::now() >= self.restart_from.get();
        if state.pending() > 0 && begins_anew {
            let Some(_closed) = self.gate.close(WORKER_PATIENCE) else { return Ok(moved) };
            moved.frames += self.move_pages(CheckpointMode::RESTART)?;
            moved.restarted = self.count.index.read()?.pending() == 0;
            if !moved.restarted {
                self.restart_from.set(Instant::now() + RESTART_PAUSE);
            }
        }
        Ok(moved)
    }

    /// Copies every page to the data file.
    pub(super) fn empty(&self) -> Result<Moved, DbError> {
        let mut moved = Moved::default();
        let end = Instant::now() + READER_PATIENCE;
        loop {
            self.restart_from.set(Instant::now());
            let more = self.checkpoint(0)?;
            moved.frames += more.frames;
            moved.restarted |= more.restarted;
            if self.count.index.read()?.pending() == 0 {
                return Ok(moved);
            }
            if Instant::now() > end {
                return Err(DbError::Busy(format!(
                    "{}: another program reads it, and its log cannot be emptied; hint: end that first",
                    self.path.display()
                )));
            }
        }
    }

    /// Runs an SQLite checkpoint if there is anything to copy. The log can only restart after a complete checkpoint, so
    /// no generation is missed.
    fn move_pages(&self, mode: CheckpointMode) -> Result<u64, DbError> {
        self.count.frames(0)?;
        let before = self.count.index.read()?;
        if before.pending() == 0 {
            return Ok(0);
        }
        match self.connection.wal_checkpoint_v2(None::<&str>, mode) {
            Ok((frames, backfilled)) => {
                self.count.frames(u32::try_from(frames).unwrap_or(0))?;
                let backfilled = u32::try_from(backfilled).unwrap_or(0);
                Ok(u64::from(backfilled.saturating_sub(before.backfilled)))
            }
            // A reader uses an older state. The next round copies the rest.
            Err(error) if is_busy(&error) => Ok(0),
            Err(error) => Err(fault(&self.path, &error)),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
