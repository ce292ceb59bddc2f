//! Bulk loading: sorted files are written next to the database, which then ingests them.

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

/// Minimum file size, as for RocksDB's own files.
const FILE_BYTES: u64 = 64 << 20;
/// Approximate maximum number of files, because every reader opens every file.
const MOST_FILES: u64 = 64;
/// Approximate overhead per row, in bytes: the key, and a share of the block's end.
const ROW_OVERHEAD_BYTES: u64 = 20;
/// Number of rows between checks whether to stop.
const ROWS_BETWEEN: u64 = 1024;
/// Interval between checks whether everything is written.
const LOOK: Duration = Duration::from_millis(1);
/// Interval between progress reports.
const BETWEEN_WORDS: Duration = Duration::from_millis(50);

/// State shared by the threads that write files.
#[derive(Default)]
struct Shared {
    /// The file to write next.
    next: AtomicU64,
    /// Approximate number of rows written.
    rows: AtomicU64,
    stop: AtomicBool,
    fault: Mutex<Option<DbError>>,
}

/// Rows to load, with keys from 1 on.
pub struct Bulk<'a> {
    /// Folder of the database.
    pub folder: &'a Path,
    /// Options of the column family.
    pub options: &'a Options,
    /// Number of rows.
    pub rows: u64,
    /// Size of a row in bytes.
    pub row_bytes: u64,
    /// Progress per row.
    pub told_per_row: u64,
    /// Total progress.
    pub told_total: u64,
}

impl Bulk<'_> {
    /// Writes the files in as many threads as there are processors. `rows` returns, for a file, the generator of its
    /// values. Files of an interrupted earlier load are removed first. The files of this load are removed if it fails.
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

    /// Reports the progress of the threads until they have ended or must stop.
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

    /// Writes one file, or a part of it if it must stop.
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

/// Returns an existing column family.
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
    // The next load or purge removes files that cannot be removed now.
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
