//! Fills files in the fastest way: rows in order, one transaction, no journal. The files are on the device before they
//! are entered in the marker.

use super::connection::{fault, open, to_fill};
use super::files::APPLICATION_ID;
use crate::backend::Global;
use crate::error::DbError;
use crate::incompressible::IncompressibleText;
use crate::progress::Progress;
use crate::value::Stamp;
use rusqlite::Connection;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Number of bytes of a page that its single row does not use: page header, cell pointer, lengths, row number.
const ROW_OVERHEAD: u64 = 40;
/// Number of filler rows between progress reports. Each row fills a page.
const FILLER_STEP: u64 = 256;
/// Number of rows of a global between progress reports.
const GLOBAL_STEP: u64 = 10_000;
/// Number of bytes written between flushes, so that the last flush does not take minutes.
const FLUSH_BYTES: u64 = 256 << 20;

/// The table that setup fills. Purge recognizes files by it.
pub(super) const FILLER_TABLE: &str =
    "CREATE TABLE filler (block INTEGER PRIMARY KEY, data BLOB NOT NULL)";
/// The table of a global. Purge recognizes files by it.
pub(super) const GLOBAL_TABLE: &str =
    "CREATE TABLE global (subscript INTEGER PRIMARY KEY, value TEXT NOT NULL)";
/// The record of a global's worker.
const WORKER_TABLE: &str =
    "CREATE TABLE worker (worker INTEGER PRIMARY KEY, sequence INTEGER NOT NULL)";

/// A file that is being filled.
struct Filling {
    path: PathBuf,
    connection: Connection,
    /// Used for flushes. Closing it releases no lock that matters, because nobody else uses the file.
    file: File,
    unflushed_bytes: u64,
}

impl Filling {
    /// Starts with an empty file. The tables are created before the first row, so that a file left by a killed process
    /// is recognized.
    fn begin(path: &Path, page_bytes: u64, tables: &[&str]) -> Result<Self, DbError> {
        let connection = to_fill(path, page_bytes)?;
        let sql = format!("PRAGMA application_id = {APPLICATION_ID}; {}; BEGIN", tables.join("; "));
        connection.execute_batch(&sql).map_err(|error| fault(path, &error))?;
        let file = File::open(path).map_err(|error| crate::directory::fault(path, &error))?;
        Ok(Self { path: path.to_owned(), connection, file, unflushed_bytes: 0 })
    }

    /// Records the number of bytes written, and flushes the file from time to time.
    fn wrote(&mut self, bytes: u64) -> Result<(), DbError> {
        self.unflushed_bytes += bytes;
        if self.unflushed_bytes < FLUSH_BYTES {
            return Ok(());
        }
        self.unflushed_bytes = 0;
        self.file.sync_data().map_err(|error| crate::directory::fault(&self.path, &error))
    }

    /// Commits, and waits until everything is on the device.
    fn end(self, journal_mode: &str) -> Result<(), DbError> {
        let Self { path, connection, file, .. } = self;
        let end = || {
            connection.execute_batch("COMMIT; PRAGMA locking_mode=normal")?;
            drop(connection);
            let connection = open(&path)?;
            connection.pragma_update(None, "journal_mode", journal_mode)
        };
        end().map_err(|error| fault(&path, &error))?;
        file.sync_all().map_err(|error| crate::directory::fault(&path, &error))
    }
}

/// Creates a file of at least `size_bytes` with one row in each page. Reports progress in bytes.
pub(super) fn filler(
    path: &Path,
    page_bytes: u64,
    size_bytes: u64,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<(), DbError> {
    let mut filling = Filling::begin(path, page_bytes, &[FILLER_TABLE])?;
    let rows = size_bytes.div_ceil(page_bytes);
    let mut random = IncompressibleText::new(seed);
    let mut data = vec![0; (page_bytes - ROW_OVERHEAD) as usize];
    let mut done = 0;
    progress.done(0, size_bytes)?;
    while done < rows {
        let end = rows.min(done + FILLER_STEP);
        let mut step = || -> rusqlite::Result<()> {
            let mut insert =
                filling.connection.prepare_cached("INSERT INTO filler VALUES (?1, ?2)")?;
            for row in done..end {
                random.bytes(&mut data);
                insert.execute((row as i64 + 1, &data))?;
            }
            Ok(())
        };
        step().map_err(|error| fault(path, &error))?;
        filling.wrote((end - done) * page_bytes)?;
        done = end;
        progress.done(size_bytes.min(done * page_bytes), size_bytes)?;
    }
    filling.end("delete")
}

/// Creates the file of a global with its initial values, and the record of its worker. Reports progress in subscripts.
pub(super) fn global(
    path: &Path,
    page_bytes: u64,
    global: Global,
    progress: &mut Progress<'_>,
) -> Result<(), DbError> {
    let mut filling = Filling::begin(path, page_bytes, &[WORKER_TABLE, GLOBAL_TABLE])?;
    let insert_record = "INSERT INTO worker VALUES (?1, 0)";
    let recorded = filling.connection.execute(insert_record, [global.number]);
    recorded.map_err(|error| fault(path, &error))?;
    let mut value = String::with_capacity(global.value_bytes);
    let mut done = 0;
    progress.done(0, global.subscripts)?;
    while done < global.subscripts {
        let end = global.subscripts.min(done + GLOBAL_STEP);
        let mut step = || -> rusqlite::Result<()> {
            let mut insert =
                filling.connection.prepare_cached("INSERT INTO global VALUES (?1, ?2)")?;
            for subscript in done + 1..=end {
                Stamp::initial(global.number, subscript).write(global.value_bytes, &mut value);
                insert.execute((subscript as i64, &value))?;
            }
            Ok(())
        };
        step().map_err(|error| fault(path, &error))?;
        filling.wrote((end - done) * global.value_bytes as u64)?;
        done = end;
        progress.done(done, global.subscripts)?;
    }
    filling.end("wal")
}
