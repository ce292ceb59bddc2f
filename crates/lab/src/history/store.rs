//! The open database: one connection, and two ways to use it.

use super::HistoryError;
use super::export::Broken;
use super::files::HistoryFiles;
use super::schema::{self, Opened, SCHEMA_VERSION};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for other processes.
pub(super) const BUSY_WAIT: Duration = Duration::from_secs(30);
/// How long to try again if SQLite cannot open a file. After a process was killed, the next ones rebuild the index of the
/// log that it left, and the last of them removes both; another one that opens them meanwhile may fail.
const REMOVAL_WAIT: Duration = Duration::from_millis(200);

/// A page of a new history holds several steps of an imported run, of one or two kilobytes each.
/// Larger pages would lengthen the log of single steps. The changes of one transaction fit into the
/// cache.
const TO_WRITE: &str =
    "PRAGMA page_size = 8192; PRAGMA cache_size = -8192; PRAGMA foreign_keys = ON";

/// Only one thread uses a connection at a time. The path has no symbolic link, and one that appears
/// later is not followed.
const HARDENED: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// How far a commit reaches.
#[derive(Debug, Clone, Copy)]
pub(super) enum Durability {
    /// To the page cache: survives the process, however it ends, but not the machine. Costs no
    /// flush, which would wait behind the very load that is being measured.
    Process,
    /// To the medium: survives the machine. Costs one flush.
    Machine,
}

/// What an open history allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Full,
    /// The medium or the permissions allow only reading.
    Reading,
    /// The disk is full. No other process can open the history in the meantime.
    Alone,
}

#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    path: PathBuf,
    access: Access,
    /// Closed after the connection, which would otherwise lose its locks.
    files: Arc<HistoryFiles>,
}

impl Store {
    /// Opens the history for reading and writing, and makes it if it is missing. If it cannot be
    /// written, opens it for reading.
    pub(super) fn open(path: &Path) -> Result<Self, HistoryError> {
        make_directory(path)?;
        let files = HistoryFiles::judge(path)?;
        let existed = fs::metadata(files.real()).is_ok_and(|file| file.len() > 0);
        let error = match Self::open_to_write(path, &files) {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        let reading = match error {
            HistoryError::ReadOnly { .. } | HistoryError::CannotOpen { .. } if existed => {
                Self::open_unchanging(path, &files)
            }
            HistoryError::DiskFull { .. } if existed => Self::open_alone(path, &files),
            _ => return Err(error),
        };
        reading.map_err(|_| error)
    }

    /// Opens the history to read, and to remove kept runs. If the file is missing or empty, makes
    /// nothing and returns an in-memory history without runs.
    pub(super) fn open_kept(path: &Path) -> Result<Self, HistoryError> {
        let files = HistoryFiles::judge(path)?;
        if fs::metadata(files.real()).is_ok_and(|file| file.len() > 0) {
            return Self::open(path);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_MEMORY;
        let mut store = Self::connect(path, &files, OsStr::new(":memory:"), flags, "")?;
        store.write(Durability::Process, schema::create)?;
        Ok(store)
    }

    fn connect(
        path: &Path,
        files: &Arc<HistoryFiles>,
        name: &OsStr,
        flags: OpenFlags,
        first: &str,
    ) -> Result<Self, HistoryError> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(name, flags | HARDENED)?;
            connection.busy_timeout(Duration::from_secs(5))?;
            connection.execute_batch(first)?;
            schema::identify(&connection)?;
            Ok(connection)
        };
        let connection = retry_busy(open).map_err(|e| HistoryError::sqlite(path, e))?;
        let access = match connection.is_readonly(MAIN_DB) {
            Ok(false) => Access::Full,
            Ok(true) => Access::Reading,
            Err(error) => return Err(HistoryError::sqlite(path, error)),
        };
        Ok(Self { connection, path: path.to_path_buf(), access, files: files.clone() })
    }

    fn open_to_write(path: &Path, files: &Arc<HistoryFiles>) -> Result<Self, HistoryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut store = Self::connect(path, files, files.real().as_os_str(), flags, TO_WRITE)?;
        if store.found()? == Opened::Empty {
            // Made under a rollback journal, so that the first page identifies the file as soon as
            // anything is in it.
            store.write(Durability::Machine, schema::create)?;
        }
        if store.access == Access::Full && store.found()? == Opened::Older {
            store.write(Durability::Machine, schema::convert)?;
        }
        store.refuse_unknown()?;
        // With a write-ahead log, readers and one writer do not wait for each other.
        if store.access == Access::Full {
            let wal = || store.connection.pragma_update(None, "journal_mode", "wal");
            retry_busy(wal).map_err(|e| store.error(e))?;
            if !store.read(schema::has_views)? {
                // Nothing here needs them. If they cannot be made, the next process to open the history
                // tries again.
                let _ = store.write(Durability::Process, schema::create_views);
            }
        }
        Ok(store)
    }

    /// Opens a history on a medium that cannot be written. Refused if a log has yet to be read;
    /// without one, nothing can change while it is read.
    fn open_unchanging(path: &Path, files: &Arc<HistoryFiles>) -> Result<Self, HistoryError> {
        if fs::metadata(files.beside("-wal")).is_ok_and(|log| log.len() > 0) {
            return Err(HistoryError::ReadOnly { path: path.to_path_buf() });
        }
        let mut uri = b"file:".to_vec();
        for byte in files.real().as_os_str().as_bytes() {
            match byte {
                b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02x}").bytes()),
                _ => uri.push(*byte),
            }
        }
        uri.extend(b"?immutable=1");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let store = Self::connect(path, files, OsStr::from_bytes(&uri), flags, "")?;
        store.refuse_unknown()?;
        Ok(store)
    }

    /// Opens a history on a full disk, on which the file shared between processes cannot grow. In
    /// exclusive mode, the log's index is kept in memory (SQLite, "Write-Ahead Logging", 8).
    fn open_alone(path: &Path, files: &Arc<HistoryFiles>) -> Result<Self, HistoryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let first = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA foreign_keys = ON";
        let mut store = Self::connect(path, files, files.real().as_os_str(), flags, first)?;
        store.access = Access::Alone;
        store.refuse_unknown()?;
        Ok(store)
    }

    fn found(&self) -> Result<Opened, HistoryError> {
        self.read(schema::identify)
    }

    fn refuse_unknown(&self) -> Result<(), HistoryError> {
        let path = self.path.clone();
        match self.found()? {
            Opened::Current => Ok(()),
            Opened::Older => schema::stand_in(&self.connection).map_err(|e| self.error(e)),
            Opened::Newer(found) => {
                Err(HistoryError::NewerSchema { path, found, known: SCHEMA_VERSION })
            }
            // An empty file that cannot be written stays empty.
            Opened::Empty => Err(HistoryError::ReadOnly { path }),
            Opened::Foreign => Err(HistoryError::OtherApplication { path }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn files(&self) -> &HistoryFiles {
        &self.files
    }

    /// Returns an error if runs cannot be kept.
    pub(super) fn refuse_unwritable(&self) -> Result<(), HistoryError> {
        let path = self.path.clone();
        match self.access {
            Access::Full => Ok(()),
            Access::Reading => Err(HistoryError::ReadOnly { path }),
            Access::Alone => Err(HistoryError::DiskFull { path }),
        }
    }

    pub(super) fn error(&self, error: rusqlite::Error) -> HistoryError {
        HistoryError::sqlite(&self.path, error)
    }

    /// Reads from one state of the database.
    pub(super) fn read<T>(
        &self,
        mut query: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        retry_busy(|| {
            let transaction = self.connection.unchecked_transaction()?;
            query(&transaction)
        })
        .map_err(|e| self.error(e))
    }

    /// Reads from one state of the database and sends it straight to a writer. Never retries,
    /// because the writer cannot undo anything.
    pub(super) fn stream<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Broken>,
    ) -> Result<T, HistoryError> {
        let transaction = self.connection.unchecked_transaction().map_err(|e| self.error(e))?;
        query(&transaction).map_err(|broken| match broken {
            Broken::Read(error) => self.error(error),
            Broken::Write(error) => error,
        })
    }

    /// Makes a change completely or not at all. `change` may run more than once.
    pub(super) fn write<T>(
        &mut self,
        durability: Durability,
        mut change: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        let synchronous = match durability {
            Durability::Process => "NORMAL",
            Durability::Machine => "FULL",
        };
        let connection = &mut self.connection;
        retry_busy(|| {
            connection.pragma_update(None, "synchronous", synchronous)?;
            // Takes the lock first: a transaction that reads and then writes could find that
            // another one has written in between, and waiting would not help.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = change(&transaction)?;
            // Writes the first page, which identifies the owner of a log. The version does not
            // change.
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            transaction.commit()?;
            Ok(value)
        })
        .map_err(|e| HistoryError::sqlite(&self.path, e))
    }

    /// Keeps commits from copying the log into the database, which would flush both.
    pub(super) fn defer_checkpoints(&self, defer: bool) -> Result<(), HistoryError> {
        let pages = if defer { 0 } else { 1000 };
        let set = |_: &rusqlite::Row<'_>| Ok(());
        self.connection
            .query_row(&format!("PRAGMA wal_autocheckpoint = {pages}"), [], set)
            .map_err(|e| self.error(e))
    }

    /// Releases the space of removed runs.
    pub(super) fn shrink(&self) -> Result<(), HistoryError> {
        retry_busy(|| self.connection.execute_batch("VACUUM")).map_err(|e| self.error(e))
    }
}

fn make_directory(path: &Path) -> Result<(), HistoryError> {
    let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    // The XDG Base Directory Specification requires 0700 for directories that a program makes.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|source| HistoryError::Directory { path: directory.to_path_buf(), source })
}

/// Retries what another process blocked. SQLite's own waiting does not cover every case, such as
/// the change to a write-ahead log.
fn retry_busy<T>(mut attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let begin = Instant::now();
    loop {
        let result = attempt();
        let wait = match result.as_ref().err().and_then(rusqlite::Error::sqlite_error_code) {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => BUSY_WAIT,
            Some(ErrorCode::CannotOpen) => REMOVAL_WAIT,
            _ => return result,
        };
        if begin.elapsed() >= wait {
            return result;
        }
        sleep(Duration::from_millis(5));
    }
}
