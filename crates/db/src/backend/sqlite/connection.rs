//! Connections to a file, and errors of SQLite.

use super::settings::Settings;
use crate::error::DbError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// Maximum wait for a lock of another program.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection is used by one thread only.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// Opens an existing file that is not a symbolic link.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite refuses symbolic links anywhere in the path. Links in the folder's parents belong to the user, so they are
    // resolved first.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let place = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    Connection::open_with_flags(place.as_deref().unwrap_or(path), FLAGS)
}

/// Opens an empty file with this page size for bulk loading, without a journal and without waiting for the device. An
/// interrupted load is discarded.
pub(super) fn to_fill(path: &Path, page_bytes: u64) -> Result<Connection, DbError> {
    let opened = || {
        let connection = open(path)?;
        connection.pragma_update(None, "page_size", page_bytes as i64)?;
        connection.pragma_update(None, "journal_mode", "off")?;
        connection.pragma_update(None, "synchronous", "off")?;
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        Ok(connection)
    };
    opened().map_err(|error| fault(path, &error))
}

/// Opens an existing file for updates or checkpoints. Only the write daemon runs checkpoints.
pub(super) fn to_work(path: &Path, settings: &Settings) -> Result<Connection, DbError> {
    let opened = || {
        let connection = open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "synchronous", settings.synchronous.word())?;
        // A negative number is in KiB.
        connection.pragma_update(None, "cache_size", -((settings.cache_bytes >> 10) as i64))?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(connection)
    };
    opened().map_err(|error| fault(path, &error))
}

/// Opens an existing file for reading.
pub(super) fn to_look(path: &Path) -> Result<Connection, DbError> {
    let opened = || {
        let connection = open(path)?;
        connection.busy_timeout(PATIENCE)?;
        leave_log(&connection)?;
        Ok(connection)
    };
    opened().map_err(|error| fault(path, &error))
}

/// Keeps the log when the connection is closed, because a run of another process may use it. The log is not reliably
/// protected by locks: they end when that process closes any descriptor through which it reads blocks (POSIX, `fcntl`).
pub(super) fn leave_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
}

/// Converts an error of SQLite about a file.
pub(super) fn fault(path: &Path, error: &rusqlite::Error) -> DbError {
    let path_word = path.display();
    let text = format!("{path_word}: {}", error.to_string().replace('\n', " "));
    let read_only = || {
        DbError::ReadOnly(format!(
            "{path_word}: it cannot be written; hint: use a directory that you may write"
        ))
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => DbError::Full(format!(
            "{path_word}: no room is left on the disk; hint: use a smaller database or another disk"
        )),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => read_only(),
        Some(ErrorCode::CannotOpen) if is_foreign(path) => DbError::Foreign(format!(
            "{path_word}: it is not a regular file, so that iogauge did not make it; hint: move it \
             elsewhere"
        )),
        Some(ErrorCode::CannotOpen) if !may_be_written(path) => read_only(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => DbError::Busy(format!(
            "{path_word}: another program has it locked; hint: end that first"
        )),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => DbError::Failed(format!(
            "{path_word}: it is damaged ({}); hint: run purge, then setup",
            error.to_string().replace('\n', " ")
        )),
        _ => DbError::Failed(text),
    }
}

/// Returns true if files can be created next to a path.
fn may_be_written(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Returns true if the path is something other than a regular file.
fn is_foreign(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| !about.is_file())
}
