//! A database in a folder: creation, bulk loading, reading, and opening for a run.

use super::activity::RocksdbRun;
use super::blocks;
use super::bulk::{Bulk, handle};
use super::events::Events;
use super::fault::fault;
use super::files;
use super::library::{self, FILLER, family_of, key, number};
use super::settings::Settings;
use crate::backend::{About, Activity, Database, Global, Purged, RunPlan, Size};
use crate::confined_database::ConfinedDatabase;
use crate::directory::{Directory, Marker, disk_bytes};
use crate::error::DbError;
use crate::exclusive_lock::ExclusiveLock;
use crate::incompressible::IncompressibleText;
use crate::progress::Progress;
use crate::read_run::ReadRun;
use crate::url::DbUrl;
use crate::value::Stamp;
use ::rocksdb::{DB, DEFAULT_COLUMN_FAMILY_NAME, IteratorMode, Options, ReadOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Upper bound of the bytes that RocksDB adds to the single row of a block. The row is this much smaller than its
/// block.
const ROW_OVERHEAD_BYTES: u64 = 32;
/// Number of bytes that a walk reads at once.
const READAHEAD_BYTES: usize = 2 << 20;

/// A database of RocksDB, which need not exist yet.
#[derive(Debug)]
pub struct RocksDb {
    directory: Directory,
    settings: Settings,
}

impl RocksDb {
    /// Returns the database of a URL, confined to its directory. Writes nothing.
    ///
    /// # Errors
    /// Fails if a setting is invalid.
    pub fn open(url: &DbUrl) -> Result<Box<dyn Database>, DbError> {
        let (directory, settings) = (Directory::of(url, "rocksdb"), Settings::of(url)?);
        let block_bytes = settings.setup_block_bytes();
        let database = Self { directory: directory.clone(), settings };
        Ok(Box::new(ConfinedDatabase::new(database, directory, block_bytes)))
    }

    fn folder(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the marker of an existing database whose block size agrees with the settings.
    fn marker(&self) -> Result<Marker, DbError> {
        let marker = self.directory.marker()?;
        self.directory.there()?.check_files(files::is_ours)?;
        match self.settings.block_bytes {
            Some(bytes) if bytes != marker.block_bytes => Err(DbError::Usage(format!(
                "{}: its blocks have {} bytes since setup; hint: leave out block={bytes}",
                self.folder().display(),
                marker.block_bytes
            ))),
            _ => Ok(marker),
        }
    }

    fn options(&self, marker: &Marker) -> Result<Options, DbError> {
        self.settings.options(marker.block_bytes)
    }

    /// Creates everything in a folder that contains only the marker.
    fn fill(
        &self,
        size_bytes: u64,
        marker: &Marker,
        progress: &mut Progress<'_>,
    ) -> Result<(), DbError> {
        let options = self.options(marker)?;
        let db = library::create(self.folder(), &options)?;
        let row_bytes = marker.block_bytes - ROW_OVERHEAD_BYTES;
        let rows = size_bytes.div_ceil(marker.block_bytes);
        let bulk = Bulk {
            folder: self.folder(),
            options: &options,
            rows,
            row_bytes,
            told_per_row: marker.block_bytes,
            told_total: size_bytes,
        };
        let rows = |file: u64| {
            let mut filler = IncompressibleText::new(file);
            move |_, row: &mut Vec<u8>| {
                row.resize(row_bytes as usize, 0);
                filler.bytes(row);
            }
        };
        let paths = bulk.write(&rows, progress)?;
        bulk.ingest(&db, FILLER, paths)
    }

    /// Creates and fills a column family.
    fn fill_global(
        &self,
        db: &mut DB,
        options: &Options,
        global: Global,
        progress: &mut Progress<'_>,
    ) -> Result<(), DbError> {
        let bulk = Bulk {
            folder: self.folder(),
            options,
            rows: global.subscripts,
            row_bytes: global.value_bytes as u64,
            told_per_row: 1,
            told_total: global.subscripts,
        };
        let rows = |_| {
            move |subscript, value: &mut String| {
                Stamp::initial(global.number, subscript).write(global.value_bytes, value);
            }
        };
        let paths = bulk.write(&rows, progress)?;
        let family = family_of(global.number);
        db.create_cf(&family, options).map_err(|error| fault(self.folder(), &error))?;
        bulk.ingest(db, &family, paths)
    }

    /// Calls `see` with each key and value of a column family.
    fn each(
        &self,
        marker: &Marker,
        family: &str,
        mut see: impl FnMut(u64, &[u8]) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        let options = self.options(marker)?;
        let db = library::read(self.folder(), &options, family)?;
        let mut how = ReadOptions::default();
        how.fill_cache(false);
        how.set_readahead_size(READAHEAD_BYTES);
        let handle = handle(&db, self.folder(), family)?;
        for row in db.iterator_cf_opt(handle, how, IteratorMode::Start) {
            let (key, value) = row.map_err(|error| fault(self.folder(), &error))?;
            let number = number(&key).ok_or_else(|| self.strange(family))?;
            see(number, &value)?;
        }
        Ok(())
    }

    fn strange(&self, family: &str) -> DbError {
        let folder = self.folder().display();
        DbError::Failed(format!(
            "{folder}: column family {family} holds what iogauge did not write"
        ))
    }

    fn drop_family(&self, db: &mut DB, family: &str) -> Result<(), DbError> {
        if db.cf_handle(family).is_none() {
            return Ok(());
        }
        db.drop_cf(family).map_err(|error| fault(self.folder(), &error))
    }
}

impl Database for RocksDb {
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError> {
        let mut marker = self.directory.make(self.settings.setup_block_bytes())?;
        let made = self.fill(size_bytes, &marker, progress).and_then(|()| {
            marker.complete = true;
            self.directory.write(&marker)
        });
        if made.is_err() {
            // The first error is more useful than that of the removal.
            let _ = self.directory.purge(|_, name, _| files::is_ours(name));
        }
        made
    }

    fn is_there(&self) -> Result<bool, DbError> {
        Ok(self.directory.read()?.is_some_and(|marker| marker.complete))
    }

    fn about(&self) -> Result<About, DbError> {
        let marker = self.marker()?;
        let lost = "a crash of the machine loses the commits of its last seconds: the log is written \
                    without waiting for the device; a crash of iogauge alone loses none";
        Ok(About {
            software: format!("RocksDB {}", version(self.folder())),
            block_bytes: marker.block_bytes,
            may_lose: (!self.settings.sync).then(|| lost.to_owned()),
            settings: self.settings.shown(),
        })
    }

    fn globals(&self) -> Result<Vec<Global>, DbError> {
        Ok(self.directory.marker()?.globals)
    }

    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
        self.marker()?;
        let lock = self.directory.lock()?;
        // Read again, because the marker may have changed before the lock was taken.
        let mut marker = self.marker()?;
        let next = marker.globals.len() as u32 + 1;
        if global.number != next {
            let Global { number, .. } = global;
            return Err(DbError::Usage(format!(
                "global {number} cannot be made; hint: use {next}"
            )));
        }
        let options = self.options(&marker)?;
        let (mut db, _) = library::open(self.folder(), &options)?;
        let family = family_of(global.number);
        // A killed process may have left it.
        self.drop_family(&mut db, &family)?;
        let made = self.fill_global(&mut db, &options, global, progress).and_then(|()| {
            marker.globals.push(global);
            self.directory.write(&marker)
        });
        if made.is_err() {
            let _ = self.drop_family(&mut db, &family);
        }
        drop(db);
        drop(lock);
        made
    }

    fn drop_globals(&self) -> Result<(), DbError> {
        self.marker()?;
        let locks = self.directory.lock_alone()?;
        let mut marker = self.marker()?;
        let (mut db, _) = library::open(self.folder(), &self.options(&marker)?)?;
        let globals = std::mem::take(&mut marker.globals);
        self.directory.write(&marker)?;
        for Global { number, .. } in globals {
            self.drop_family(&mut db, &family_of(number))?;
            db.delete(key(number.into())).map_err(|error| fault(self.folder(), &error))?;
        }
        drop(db);
        drop(locks);
        Ok(())
    }

    fn walk(
        &self,
        global: u32,
        see: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
    ) -> Result<(), DbError> {
        let marker = self.marker()?;
        if !marker.globals.iter().any(|other| other.number == global) {
            let (folder, count) = (self.folder().display(), marker.globals.len());
            return Err(DbError::Missing(format!(
                "{folder}: there is no global {global} of {count}"
            )));
        }
        let family = family_of(global);
        self.each(&marker, &family, |subscript, value| {
            let value = std::str::from_utf8(value).map_err(|_| self.strange(&family))?;
            see(subscript, value)
        })
    }

    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError> {
        let mut workers = Vec::new();
        let family = DEFAULT_COLUMN_FAMILY_NAME;
        self.each(&self.marker()?, family, |worker, sequence| {
            let worker = u32::try_from(worker).ok();
            let (worker, sequence) =
                worker.zip(number(sequence)).ok_or_else(|| self.strange(family))?;
            workers.push((worker, sequence));
            Ok(())
        })?;
        Ok(workers)
    }

    fn size(&self) -> Result<Size, DbError> {
        self.directory.marker()?;
        let mut size = Size::default();
        let entries = std::fs::read_dir(self.folder());
        let entries = entries.map_err(|error| crate::directory::fault(self.folder(), &error))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let bytes = disk_bytes(&entry.path());
            if files::is_log(&name) {
                size.log_bytes += bytes;
            } else if files::is_ours(&name) {
                size.data_bytes += bytes;
            }
        }
        Ok(size)
    }

    fn paths(&self) -> Result<Vec<PathBuf>, DbError> {
        Ok(vec![self.folder().to_owned()])
    }

    fn acknowledged_path(&self) -> Option<PathBuf> {
        Some(self.directory.acknowledged())
    }

    fn identity(&self) -> Result<String, DbError> {
        Ok(self.directory.marker()?.identity)
    }

    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
        let marker = self.marker()?;
        if plan.writers == 0 {
            let lock = self.directory.lock_to_read()?;
            let db = library::read_all(self.folder(), &self.options(&marker)?)?;
            let (blocks, files) = blocks::open(&db, self.folder(), marker.block_bytes)?;
            return Ok(Box::new(ReadRun::new(blocks, marker.block_bytes, (files, lock))));
        }
        let lock = self.directory.lock()?;
        let marker = self.marker()?;
        let mut options = self.options(&marker)?;
        options.enable_statistics();
        let (db, families) = library::open(self.folder(), &options)?;
        let events = Mutex::new(Events::follow(self.folder(), marker.block_bytes)?);
        Ok(Box::new(RocksdbRun {
            db: Arc::new(db),
            folder: self.folder().to_owned(),
            options,
            families,
            block_bytes: marker.block_bytes,
            sync: self.settings.sync,
            events,
            held: Mutex::default(),
            _lock: lock,
        }))
    }

    fn hold(&self) -> Result<ExclusiveLock, DbError> {
        self.directory.hold().map(ExclusiveLock::new)
    }

    fn purge(&self) -> Result<Purged, DbError> {
        self.directory.purge(|_, name, _| files::is_ours(name))
    }
}

/// Returns the version that last had the database open, because the library itself does not report its version.
fn version(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let options = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.starts_with("OPTIONS-") && files::is_ours(&name))
    });
    let text =
        options.max().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let version = text.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version="));
    version.unwrap_or("of unknown version").to_owned()
}
