//! The server's files, if the server is on this machine and its files can be read.

use super::connection::Connection;
use crate::backend::FillPlace;
use crate::blocks::{BlockFile, Blocks};
use crate::error::DbError;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The server's data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataDirectory {
    path: PathBuf,
    /// True if its files can be read and belong to this server.
    pub is_readable: bool,
}

impl DataDirectory {
    /// Returns the data directory of a server; `None` if it is on another machine, or the user may not see its path.
    pub(super) fn find(
        connection: &mut Connection,
        by_socket: bool,
    ) -> Result<Option<Self>, DbError> {
        let sql = "SELECT setting FROM pg_settings WHERE name = 'data_directory'";
        let rows = connection.rows(sql)?;
        let Some(Some(path)) = rows.into_iter().flatten().next() else { return Ok(None) };
        let path = PathBuf::from(path);
        let sql = "SELECT system_identifier FROM pg_control_system()";
        let identifier = connection.field(sql)?.and_then(|text| text.parse().ok());
        let is_readable = identifier.is_some() && system_identifier(&path) == identifier;
        // A server with a socket on this machine also has its files here.
        let is_here = is_readable || (by_socket && path.is_dir());
        Ok(is_here.then_some(Self { path, is_readable }))
    }

    /// Returns the distinct directories of the data, the log and these tables.
    pub(super) fn paths(
        &self,
        connection: &mut Connection,
        tables: &[String],
    ) -> Result<Vec<PathBuf>, DbError> {
        let mut paths = vec![self.path.clone(), self.path.join("pg_wal")];
        for table in tables {
            let relative = relation_path(connection, table)?;
            paths.extend(self.path.join(relative).parent().map(Path::to_owned));
        }
        // The log and tablespaces may be symbolic links. Paths below the data directory are omitted.
        let mut found: Vec<PathBuf> = Vec::new();
        for path in paths.iter().filter_map(|path| path.canonicalize().ok()) {
            if !found.iter().any(|other| path.starts_with(other)) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Returns the directories of new tables and of the log. `max_wal_size` limits the size of the log.
    pub(super) fn fill_places(
        &self,
        connection: &mut Connection,
    ) -> Result<Vec<FillPlace>, DbError> {
        // The tablespace of new tables has no path if it is in the data directory.
        let sql = "SELECT pg_tablespace_location(coalesce(
                       (SELECT oid FROM pg_tablespace
                        WHERE spcname = current_setting('default_tablespace')), dattablespace)),
                   pg_size_bytes(current_setting('max_wal_size'))
                   FROM pg_database WHERE datname = current_database()";
        let row = connection.rows(sql)?.into_iter().next().unwrap_or_default();
        let mut fields = row.into_iter().map(Option::unwrap_or_default);
        let space = fields.next().filter(|path| !path.is_empty());
        let most_log_bytes = fields.next().and_then(|bytes| bytes.parse().ok()).unwrap_or(0u64);
        let log = self.path.join("pg_wal");
        let left_bytes = most_log_bytes.saturating_sub(bytes_in(&log));
        Ok(vec![
            FillPlace {
                path: space.map_or_else(|| self.path.clone(), PathBuf::from),
                most_bytes: None,
            },
            FillPlace { path: log, most_bytes: Some(left_bytes) },
        ])
    }

    /// Returns the blocks of these tables in their files.
    pub(super) fn blocks(
        &self,
        connection: &mut Connection,
        tables: &[String],
        block_bytes: u64,
    ) -> Result<Blocks, DbError> {
        let mut files = Vec::new();
        for table in tables {
            let first = self.path.join(relation_path(connection, table)?);
            // Beyond a certain size, usually 1 GiB, a table continues in the next file.
            for segment in 0u32.. {
                let mut path = first.clone().into_os_string();
                if segment > 0 {
                    path.push(format!(".{segment}"));
                }
                let path = PathBuf::from(path);
                let Ok(about) = std::fs::metadata(&path) else { break };
                files.push(BlockFile { path, base_bytes: 0, blocks: about.len() / block_bytes });
            }
        }
        Ok(Blocks::Direct(files, block_bytes))
    }
}

/// Returns the total size of the visible files in a folder, in bytes.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok()).filter(|about| about.is_file());
    files.map(|about| about.len()).sum()
}

/// Returns the system identifier of a server, from the start of its control file.
fn system_identifier(data_directory: &Path) -> Option<u64> {
    let mut bytes = [0; 8];
    let mut file = std::fs::File::open(data_directory.join("global/pg_control")).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(u64::from_ne_bytes(bytes))
}

/// Returns the path of a table's first file, relative to the data directory.
fn relation_path(connection: &mut Connection, table: &str) -> Result<String, DbError> {
    let sql = format!("SELECT pg_relation_filepath('{table}'::regclass)");
    Ok(connection.field(&sql)?.unwrap_or_default())
}
