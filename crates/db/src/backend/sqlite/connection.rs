//! Connections to a file, and what SQLite says where one cannot be had.

use super::settings::Settings;
use crate::error::DbError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// How long a lock of another program is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Each connection stays in one thread.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// A connection to a file that is there and is no link.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite takes no link anywhere in the path; those of the folder's parents are the user's.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let place = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    Connection::open_with_flags(place.as_deref().unwrap_or(path), FLAGS)
}

/// A file without a byte, with pages of this size, to be filled at once: no journal, no waiting for the device. What
/// is cut short is thrown away.
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

/// A file that is there, for updates or for its checkpoints. Nothing but the write daemon takes
/// checkpoints.
pub(super) fn to_work(path: &Path, settings: &Settings) -> Result<Connection, DbError> {
    let opened = || {
        let connection = open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "synchronous", settings.synchronous.word())?;
        // Negative is KiB.
        connection.pragma_update(None, "cache_size", -((settings.cache_bytes >> 10) as i64))?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(connection)
    };
    opened().map_err(|error| fault(path, &error))
}

/// A file that is there, to look at.
pub(super) fn to_look(path: &Path) -> Result<Connection, DbError> {
    let opened = || {
        let connection = open(path)?;
        connection.busy_timeout(PATIENCE)?;
        leave_log(&connection)?;
        Ok(connection)
    };
    opened().map_err(|error| fault(path, &error))
}

/// Lets the log stay when the connection is closed: a run of another process may be at work on it, whose
/// locks on the file, which would keep the log from being taken away, end when it closes the descriptors
/// that it reads blocks through (POSIX, `fcntl`).
pub(super) fn leave_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
}

/// What SQLite says about a file, as a fault of the right kind.
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
            "{path_word}: no room is left on the disk; hint: use a smaller --size or another disk"
        )),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => read_only(),
        Some(ErrorCode::CannotOpen) if is_foreign(path) => DbError::Foreign(format!(
            "{path_word}: it is no regular file, so that iogauge did not make it; hint: move it \
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

/// True where files can be made beside a path.
fn may_be_written(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

/// True where something that is no regular file stands.
fn is_foreign(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| !about.is_file())
}
