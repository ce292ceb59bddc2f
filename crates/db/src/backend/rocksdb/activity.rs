//! A run: RocksDB opened in this process, with its statistics.

use super::blocks;
use super::bulk::handle;
use super::events::Events;
use super::fault::fault;
use super::statistics::Statistics;
use super::writer::BatchWriter;
use crate::backend::{Activity, Counts, Cycle, WorkerPlan, Writer};
use crate::blocks::Blocks;
use crate::directory::Lock;
use crate::error::DbError;
use ::rocksdb::{DB, Options, properties};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Interval between checks whether flushes and compactions are idle.
const LOOK: Duration = Duration::from_millis(5);

/// The open database.
pub struct RocksdbRun {
    pub db: Arc<DB>,
    pub folder: PathBuf,
    /// The options that the database was opened with, which give access to its statistics.
    pub options: Options,
    pub families: Vec<String>,
    pub block_bytes: u64,
    pub sync: bool,
    pub events: Mutex<Events>,
    /// The data files that blocks are read from.
    pub held: Mutex<Vec<File>>,
    /// Dropped last, so that the next owner of the lock finds the database closed.
    pub _lock: Lock,
}

impl RocksdbRun {
    fn failed(&self, error: &::rocksdb::Error) -> DbError {
        fault(&self.folder, error)
    }

    /// Returns true if no flush or compaction is running or pending.
    fn rests(&self) -> Result<bool, DbError> {
        let failed = |error| self.failed(&error);
        let errors = self.db.property_int_value(properties::BACKGROUND_ERRORS).map_err(failed)?;
        if errors.is_some_and(|errors| errors > 0) {
            return Err(DbError::Failed(format!(
                "{}: RocksDB: flushes or compactions failed; the file LOG there says why",
                self.folder.display()
            )));
        }
        for name in [properties::NUM_RUNNING_FLUSHES, properties::NUM_RUNNING_COMPACTIONS] {
            if self.db.property_int_value(name).map_err(failed)?.unwrap_or(0) > 0 {
                return Ok(false);
            }
        }
        for family in &self.families {
            let family = handle(&self.db, &self.folder, family)?;
            for name in [properties::MEM_TABLE_FLUSH_PENDING, properties::COMPACTION_PENDING] {
                let value = self.db.property_int_value_cf(family, name).map_err(failed)?;
                if value.unwrap_or(0) > 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl Activity for RocksdbRun {
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        let (db, folder) = (self.db.clone(), self.folder.clone());
        Ok(Box::new(BatchWriter::new(db, folder, worker, self.sync)?))
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        let (blocks, mut files) = blocks::open(&self.db, &self.folder, self.block_bytes)?;
        self.held.lock().unwrap_or_else(PoisonError::into_inner).append(&mut files);
        Ok(Blocks::Direct(blocks, self.block_bytes))
    }

    fn counts(&self) -> Result<Counts, DbError> {
        let text = self.options.get_statistics().unwrap_or_default();
        Ok(Statistics::read(&text).counts(self.block_bytes))
    }

    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).rounds()
    }

    fn drain(&self) -> Result<(), DbError> {
        for family in &self.families {
            let family = handle(&self.db, &self.folder, family)?;
            self.db.flush_cf(family).map_err(|error| self.failed(&error))?;
        }
        while !self.rests()? {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
