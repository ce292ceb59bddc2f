//! The bulk path: sorted files are written beside the database, which then takes them over as they are.

use super::fault::fault;
use super::files;
use super::library::key;
use crate::error::DbError;
use crate::folder::{Entry, Folder};
use crate::progress::Progress;
use ::rocksdb::{DB, IngestExternalFileOptions, Options, SstFileWriter};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A file at least: what RocksDB makes by itself.
const FILE_BYTES: u64 = 64 << 20;
/// Every reader has every file open: there are not many more of them than this.
const MOST_FILES: u64 = 64;
/// What the key and the ends of blocks add to a row, about.
const ROW_OVERHEAD_BYTES: u64 = 20;
/// Rows between two looks at whether to stop.
const ROWS_BETWEEN: u64 = 1024;
/// How often it is looked whether all is written.
const LOOK: Duration = Duration::from_millis(1);
/// How often progress is told.
const BETWEEN_WORDS: Duration = Duration::from_millis(50);

/// What threads that write files share.
#[derive(Default)]
struct Shared {
    /// The file to write next.
    next: AtomicU64,
    /// Rows written, more or less.
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
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// What a row counts in the progress.
    pub told_per_row: u64,
    /// What the progress is told in all.
    pub told_total: u64,
}

impl Bulk<'_> {
    /// Writes the files, each in one of as many threads as there are processors; `rows` gives for a file
    /// what makes its values. Files of an earlier filling that was cut short go before, those of this one
    /// where it fails.
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

    /// Tells how far the threads are until they are at their end, or are to be.
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

    /// Writes one file, or a part of it where it is to stop.
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

    /// Lets a column family take the files over: all of them or none.
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

/// A column family that is there.
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

/// Removes files that no database took over.
pub fn clear(folder: &Path) {
    // What cannot be removed now is removed by the next filling, or by purge.
    let Ok(Some(folder)) = Folder::open(folder) else { return };
    for name in folder.names().unwrap_or_default() {
        if name.starts_with(files::FILLING)
            && files::is_ours(&name)
            && let Ok(Entry::File(file)) = folder.find(&name)
        {
            let _ = folder.remove(&name, &file);
        }
    }
}
