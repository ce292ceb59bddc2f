//! The bulk path: sorted files are written beside the database, which then takes them over as they are.

use super::fault::fault;
use super::files;
use super::library::key;
use crate::error::DbError;
use crate::progress::Progress;
use ::rocksdb::{DB, IngestExternalFileOptions, Options, SstFileWriter};
use std::path::{Path, PathBuf};

/// A file at least: what RocksDB makes by itself.
const FILE_BYTES: u64 = 64 << 20;
/// Every reader has every file open: there are not many more of them than this.
const MOST_FILES: u64 = 64;
/// Rows between two words of progress.
const ROWS_BETWEEN: u64 = 1024;

/// Rows under the keys from 1 on.
pub struct Bulk<'a> {
    /// Folder of the database.
    pub folder: &'a Path,
    /// Options of the column family.
    pub options: &'a Options,
    /// How many rows.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// What a row counts in the progress.
    pub told_per_row: u64,
    /// What the progress is told in all.
    pub told_total: u64,
}

impl Bulk<'_> {
    /// Writes the files; `row` makes a value. Files of an earlier filling that was cut short go before,
    /// those of this one where it fails.
    pub fn write<V: AsRef<[u8]>>(
        &self,
        mut row: impl FnMut(u64, &mut V),
        value: &mut V,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<PathBuf>, DbError> {
        clear(self.folder);
        let mut paths = Vec::new();
        let written = (|| {
            progress.done(0, self.told_total)?;
            let mut next = 1;
            while next <= self.rows {
                let path = self.folder.join(files::filling(paths.len() + 1));
                paths.push(path.clone());
                next = self.write_file(&path, next, &mut row, value, progress)?;
            }
            progress.done(self.told_total, self.told_total)
        })();
        if written.is_err() {
            clear(self.folder);
        }
        written.map(|()| paths)
    }

    /// Writes one file with rows from `from` on, and gives back the row behind its last.
    fn write_file<V: AsRef<[u8]>>(
        &self,
        path: &Path,
        from: u64,
        row: &mut impl FnMut(u64, &mut V),
        value: &mut V,
        progress: &mut Progress<'_>,
    ) -> Result<u64, DbError> {
        let failed = |error| fault(self.folder, &error);
        let file_bytes = FILE_BYTES.max(self.rows * self.row_bytes / MOST_FILES);
        let mut writer = SstFileWriter::create(self.options);
        writer.open(path).map_err(failed)?;
        let mut next = from;
        while next <= self.rows {
            row(next, value);
            writer.put(key(next), &*value).map_err(failed)?;
            next += 1;
            if next % ROWS_BETWEEN == 0 {
                let told = (next - 1).saturating_mul(self.told_per_row).min(self.told_total);
                progress.done(told, self.told_total)?;
                if writer.file_size() >= file_bytes {
                    break;
                }
            }
        }
        writer.finish().map_err(failed)?;
        Ok(next)
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
        DbError::Missing(format!("{reason}; right would be create-globals"))
    };
    db.cf_handle(family).ok_or_else(missing)
}

/// Removes files that no database took over.
pub fn clear(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(files::FILLING) && files::is_ours(&name) {
            // What cannot be removed now is removed by the next filling, or by purge.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
