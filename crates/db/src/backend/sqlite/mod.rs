//! SQLite: a file for each global, so that workers write in parallel; a write-ahead log for each file; and a thread
//! that copies the logs' pages to the files.
//!
//! `DIR/RAN` contains `filler.db`, which setup fills; `global1.db`, `global2.db` … with the tables `global` and
//! `worker`; and for each global in use its log `-wal` with the index `-shm`. The record of a worker is in the file of
//! its global, so a transaction commits in a single file.

mod connection;
mod daemon;
mod files;
mod fill;
mod gate;
mod log;
mod run;
mod settings;
mod wal_index;
mod writer;

use super::{About, Activity, BackendInfo, Database, Global, Purged, RunPlan, Size};
use crate::confined_database::ConfinedDatabase;
use crate::directory::{Directory, Marker, disk_bytes, fault as system_fault};
use crate::error::DbError;
use crate::exclusive_lock::ExclusiveLock;
use crate::folder::FolderEntry;
use crate::progress::Progress;
use crate::read_run::ReadRun;
use connection::fault;
use files::{FILLER, check_logs, files_of_global, global_file, is_named_so, is_ours};
use run::SqliteRun;
use settings::Settings;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The row of this backend.
pub const INFO: BackendInfo = BackendInfo {
    name: "sqlite",
    url: "sqlite:DIR",
    about: "SQLite, in this process: a file with a write-ahead log for each global",
    is_server: false,
    is_directory: true,
    settings: settings::SETTINGS,
    absent: || None,
    open: |url| {
        let (dir, settings) = (Directory::of(url, "sqlite"), Settings::of(url)?);
        Ok(Box::new(ConfinedDatabase::new(
            Sqlite { dir: dir.clone(), settings },
            dir,
            settings.page_bytes(),
        )))
    },
};

const WALK: &str = "SELECT subscript, value FROM global ORDER BY subscript";

/// A database of SQLite.
#[derive(Debug)]
struct Sqlite {
    dir: Directory,
    settings: Settings,
}

impl Sqlite {
    /// Returns the marker if it agrees with the settings of the URL.
    fn marker(&self) -> Result<Marker, DbError> {
        let marker = self.dir.marker()?;
        let folder = self.dir.there()?;
        folder.check_files(is_named_so)?;
        check_logs(&folder)?;
        match self.settings.page_bytes {
            Some(asked) if asked != marker.block_bytes => Err(DbError::Usage(format!(
                "{}: it was made with page_size={}; hint: use that, or none",
                self.dir.path().display(),
                marker.block_bytes
            ))),
            _ => Ok(marker),
        }
    }

    fn global_path(&self, number: u32) -> PathBuf {
        self.dir.join(&global_file(number))
    }

    /// Removes existing files of a global, the global's own file last, and creates an empty one.
    fn begin_global(&self, number: u32) -> Result<(), DbError> {
        self.remove_global(number)?;
        // Fails if a foreign file has this name.
        self.dir.there()?.create(&global_file(number)).map(drop)
    }

    fn remove_global(&self, number: u32) -> Result<(), DbError> {
        let folder = self.dir.there()?;
        for name in files_of_global(number) {
            if let FolderEntry::File(file) = folder.find(&name)?
                && is_ours(&folder, &name, &file)
            {
                folder.remove(&name, &file)?;
            }
        }
        Ok(())
    }

    /// Writes the marker and flushes it, so that it survives a power failure together with the files it names.
    fn announce(&self, marker: &Marker) -> Result<(), DbError> {
        self.dir.write(marker)?;
        let folder = self.dir.path();
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| system_fault(folder, &error))
    }

    /// Returns the global's entry in the marker.
    fn global(&self, number: u32) -> Result<Global, DbError> {
        let marker = self.marker()?;
        let found = marker.globals.iter().find(|global| global.number == number);
        found.copied().ok_or_else(|| {
            DbError::Usage(format!(
                "{}: there is no global {number}; it has {}",
                self.dir.path().display(),
                marker.globals.len()
            ))
        })
    }
}

impl Database for Sqlite {
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError> {
        let mut marker = self.dir.make(self.settings.page_bytes())?;
        let mut fill = || {
            let _lock = self.dir.lock()?;
            let seed = marker
                .identity
                .bytes()
                .fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
            let path = self.dir.join(FILLER);
            self.dir.there()?.create(FILLER)?;
            fill::filler(&path, marker.block_bytes, size_bytes, seed, progress)?;
            marker.complete = true;
            self.announce(&marker)
        };
        fill().inspect_err(|_| {
            // Report the first error. Purge finds files that cannot be removed now.
            let _ = self.dir.purge(is_ours);
        })
    }

    fn is_there(&self) -> Result<bool, DbError> {
        Ok(self.dir.read()?.is_some_and(|marker| marker.complete))
    }

    fn about(&self) -> Result<About, DbError> {
        let marker = self.marker()?;
        let mut told = vec![("page_size".to_owned(), marker.block_bytes.to_string())];
        if let Some(global) = marker.globals.first() {
            let path = self.global_path(global.number);
            told = pragmas(&path, &self.settings)?;
        }
        told.extend(self.settings.told());
        Ok(About {
            software: format!("SQLite {}", rusqlite::version()),
            block_bytes: marker.block_bytes,
            may_lose: self.settings.synchronous.may_lose(),
            settings: told,
        })
    }

    fn globals(&self) -> Result<Vec<Global>, DbError> {
        Ok(self.marker()?.globals)
    }

    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
        self.marker()?;
        let _lock = self.dir.lock()?;
        // Another process may have created a global in the meantime.
        let mut marker = self.marker()?;
        let next = marker.globals.len() as u32 + 1;
        if global.number != next {
            return Err(DbError::Usage(format!(
                "{}: global {} cannot be made; hint: use {next}",
                self.dir.path().display(),
                global.number
            )));
        }
        // A killed process may have left files.
        self.begin_global(global.number)?;
        let path = self.global_path(global.number);
        let mut fill = || {
            fill::global(&path, marker.block_bytes, global, progress)?;
            marker.globals.push(global);
            self.announce(&marker)
        };
        fill().inspect_err(|_| {
            // Report the first error. The next creation removes files that cannot be removed now.
            let _ = self.remove_global(global.number);
        })
    }

    fn drop_globals(&self) -> Result<(), DbError> {
        self.marker()?;
        let _locks = self.dir.lock_alone()?;
        let mut marker = self.marker()?;
        let globals = std::mem::take(&mut marker.globals);
        self.announce(&marker)?;
        globals.iter().try_for_each(|global| self.remove_global(global.number))
    }

    fn walk(
        &self,
        global: u32,
        see: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
    ) -> Result<(), DbError> {
        self.global(global)?;
        let path = self.global_path(global);
        let connection = connection::to_look(&path)?;
        let failed = |error: rusqlite::Error| fault(&path, &error);
        let mut statement = connection.prepare(WALK).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let subscript: i64 = row.get(0).map_err(failed)?;
            let value = row.get_ref(1).map_err(failed)?;
            let value = value.as_str().map_err(|error| {
                let path = path.display();
                DbError::Failed(format!("{path}: subscript {subscript} holds no text: {error}"))
            })?;
            see(subscript.unsigned_abs(), value)?;
        }
        Ok(())
    }

    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError> {
        let mut committed = Vec::new();
        for global in self.marker()?.globals {
            let path = self.global_path(global.number);
            let connection = connection::to_look(&path)?;
            let sql = "SELECT worker, sequence FROM worker WHERE sequence > 0";
            let mut read = || -> rusqlite::Result<()> {
                let mut statement = connection.prepare(sql)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    committed.push((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
                }
                Ok(())
            };
            read().map_err(|error| fault(&path, &error))?;
        }
        committed.sort_unstable();
        Ok(committed)
    }

    fn size(&self) -> Result<Size, DbError> {
        self.dir.marker()?;
        let entries = std::fs::read_dir(self.dir.path());
        let entries = entries.map_err(|error| system_fault(self.dir.path(), &error))?;
        let mut size = Size::default();
        for entry in entries.flatten() {
            let name = entry.file_name();
            match name.to_string_lossy() {
                name if !is_named_so(&name) => {}
                name if name.ends_with(".db") => size.data_bytes += disk_bytes(&entry.path()),
                _ => size.log_bytes += disk_bytes(&entry.path()),
            }
        }
        Ok(size)
    }

    fn paths(&self) -> Result<Vec<PathBuf>, DbError> {
        Ok(vec![self.dir.path().to_owned()])
    }

    fn acknowledged_path(&self) -> Option<PathBuf> {
        Some(self.dir.acknowledged())
    }

    fn identity(&self) -> Result<String, DbError> {
        Ok(self.dir.marker()?.identity)
    }

    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
        let marker = self.marker()?;
        if plan.writers == 0 {
            let lock = self.dir.lock_to_read()?;
            let files = run::block_files(&self.dir, &marker)?;
            return Ok(Box::new(ReadRun::new(files, marker.block_bytes, lock)));
        }
        Ok(Box::new(SqliteRun::begin(&self.dir, self.settings, marker, plan)?))
    }

    fn hold(&self) -> Result<ExclusiveLock, DbError> {
        self.dir.hold().map(ExclusiveLock::new)
    }

    fn purge(&self) -> Result<Purged, DbError> {
        self.dir.purge(is_ours)
    }
}

/// Returns the settings that a worker's connection reports.
fn pragmas(path: &Path, settings: &Settings) -> Result<Vec<(String, String)>, DbError> {
    let connection = connection::to_work(path, settings)?;
    connection::leave_log(&connection).map_err(|error| fault(path, &error))?;
    let ask = |name: &str| {
        connection.pragma_query_value(None, name, |row| {
            row.get_ref(0).map(|value| match value {
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                other => other.as_str().unwrap_or_default().to_owned(),
            })
        })
    };
    ["page_size", "journal_mode", "synchronous", "cache_size", "wal_autocheckpoint"]
        .into_iter()
        .map(|name| Ok((name.to_owned(), ask(name).map_err(|error| fault(path, &error))?)))
        .collect()
}
