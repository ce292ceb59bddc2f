//! Bulk loading: sorted files are written beside the database, which then ingests them.

use super::fault::fault;
use super::files;
use super::library::key;
use crate::error::DbError;
use crate::folder::{Folder, FolderEntry};
use crate::progress::Progress;
use ::rocksdb::{DB, IngestExternalFileOptions, Options, SstFileWriter};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Smallest file, as large as RocksDB's own.
const FILE_BYTES: u64 = 64 << 20;
/// Approximate largest number of files, because every reader has every file open.
const MOST_FILES: u64 = 64;
/// Approximate bytes that the key and block ends add to a row.
const ROW_OVERHEAD_BYTES: u64 = 20;
/// Rows between two checks whether to stop.
const ROWS_BETWEEN: u64 = 1024;
/// Time between two checks whether everything is written.
const LOOK: Duration = Duration::from_millis(1);
/// Time between two reports of progress.
const BETWEEN_WORDS: Duration = Duration::from_millis(50);

/// State that the threads which write files share.
#[derive(Default)]
struct Shared {
    /// The file to write next.
    next: AtomicU64,
    /// Approximate number of rows written.
    rows: AtomicU64,
    stop: AtomicBool,
    fault: Mutex<Option<DbError>>,
}

/// Rows under the keys from 1 on.
pub struct Bulk<'a> {
    /// Folder of the database.
    pub folder: &'a Path,
    /// Options of the column family.
    pub options: &'a Options,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Amount of progress that a row adds.
    pub told_per_row: u64,
    /// Total amount of progress.
    pub told_total: u64,
}

impl Bulk<'_> {
    /// Writes the files in as many threads as there are processors; `rows` returns for a file the
    /// generator of its values. Files of an earlier interrupted load are removed first, and those of
    /// this one if it fails.
    pub fn write<V: AsRef<[u8]> + Default, R: FnMut(u64, &mut V)>(
        &self,
        rows: &(impl Fn(u64) -> R + Sync),
        progress: &mut Progress<'_>,
    ) -> Result<Vec<PathBuf>, DbError> {
        clear(self.folder);
        let file_bytes = FILE_BYTES.max(self.rows.saturating_mul(self.row_bytes) / MOST_FILES);
        let file_rows = (file_bytes / (self.row_bytes + ROW_OVERHEAD_BYTES)).max(1);
        let files = self.rows.div_ceil(file_rows);
        let shared = Shared::default();
        let work = || {
            while !shared.stop.load(Ordering::Relaxed) {
                let file = shared.next.fetch_add(1, Ordering::Relaxed);
                if file >= files {
                    break;
                }
                let (from, to) = (file * file_rows + 1, self.rows.min((file + 1) * file_rows));
                let written =
                    self.write_file(&self.path(file), from..=to, &mut rows(file), &shared);
                if let Err(error) = written {
                    shared.stop.store(true, Ordering::Relaxed);
                    let mut fault = shared.fault.lock().unwrap_or_else(PoisonError::into_inner);
                    fault.get_or_insert(error);
                }
            }
        };
        let told = progress.done(0, self.told_total).and_then(|()| {
            let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
            std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..processors.min(files)).map(|_| scope.spawn(work)).collect();
                let told = self.tell(&shared, progress, || threads.iter().all(|t| t.is_finished()));
                shared.stop.store(true, Ordering::Relaxed);
                told
            })
        });
        let fault = shared.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
        let written = told.and(fault.map_or(Ok(()), Err));
        let written = written.and_then(|()| progress.done(self.told_total, self.told_total));
        if written.is_err() {
            clear(self.folder);
        }
        written.map(|()| (0..files).map(|file| self.path(file)).collect())
    }

    fn path(&self, file: u64) -> PathBuf {
        self.folder.join(files::filling(file + 1))
    }

    /// Reports the progress of the threads until they have ended or have to stop.
    fn tell(
        &self,
        shared: &Shared,
        progress: &mut Progress<'_>,
        at_end: impl Fn() -> bool,
    ) -> Result<(), DbError> {
        let mut last = Instant::now();
        while !at_end() {
            std::thread::sleep(LOOK);
            if last.elapsed() >= BETWEEN_WORDS {
                last = Instant::now();
                let told = shared.rows.load(Ordering::Relaxed).saturating_mul(self.told_per_row);
                progress.done(told.min(self.told_total), self.told_total)?;
            }
        }
        Ok(())
    }

    /// Writes one file, or a part of it if it has to stop.
    fn write_file<V: AsRef<[u8]> + Default>(
        &self,
        path: &Path,
        rows: RangeInclusive<u64>,
        row: &mut impl FnMut(u64, &mut V),
        shared: &Shared,
    ) -> Result<(), DbError> {
        let failed = |error| fault(self.folder, &error);
        let mut writer = SstFileWriter::create(self.options);
        writer.open(path).map_err(failed)?;
        let mut value = V::default();
        for subscript in rows {
            row(subscript, &mut value);
            writer.put(key(subscript), &value).map_err(failed)?;
            if subscript.is_multiple_of(ROWS_BETWEEN) {
                shared.rows.fetch_add(ROWS_BETWEEN, Ordering::Relaxed);
                if shared.stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        writer.finish().map_err(failed)
    }

    /// Ingests the files into a column family, atomically.
    pub fn ingest(&self, db: &DB, family: &str, paths: Vec<PathBuf>) -> Result<(), DbError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        let handle = handle(db, self.folder, family)?;
        let taken = db.ingest_external_file_cf_opts(handle, &options, paths);
        clear(self.folder);
        taken.map_err(|error| fault(self.folder, &error))
    }
}

/// An existing column family.
pub fn handle<'a>(
    db: &'a DB,
    folder: &Path,
    family: &str,
) -> Result<&'a ::rocksdb::ColumnFamily, DbError> {
    let missing = || {
        let reason = format!("{}: there is no column family {family}", folder.display());
        DbError::Missing(format!("{reason}; hint: run create-globals"))
    };
    db.cf_handle(family).ok_or_else(missing)
}

/// Removes files that were not ingested.
pub fn clear(folder: &Path) {
    // Files that cannot be removed now are removed by the next load, or by purge.
    let Ok(Some(folder)) = Folder::open(folder) else { return };
    for name in folder.names().unwrap_or_default() {
        if name.starts_with(files::FILLING)
            && files::is_ours(&name)
            && let Ok(FolderEntry::File(file)) = folder.find(&name)
        {
            let _ = folder.remove(&name, &file);
        }
    }
}
