//! A run that only reads a database's files. The database is not opened, so that another run can write meanwhile.

use crate::backend::{Activity, Counts, Cycle, WorkerPlan, Writer};
use crate::blocks::{BlockFile, Blocks};
use crate::error::DbError;

/// Reads blocks of files. `held` is dropped at its end: the lock that keeps the database from being removed, and files
/// that have to stay open.
#[derive(Debug)]
pub(crate) struct ReadRun<H> {
    files: Vec<BlockFile>,
    block_bytes: u64,
    _held: H,
}

impl<H> ReadRun<H> {
    pub(crate) fn new(files: Vec<BlockFile>, block_bytes: u64, held: H) -> Self {
        Self { files, block_bytes, _held: held }
    }
}

impl<H: Send + Sync> Activity for ReadRun<H> {
    fn writer(&self, _: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        Err(DbError::Usage("the run was begun to read only".to_owned()))
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        Ok(Blocks::Direct(self.files.clone(), self.block_bytes))
    }

    /// The database does not see these reads.
    fn counts(&self) -> Result<Counts, DbError> {
        Ok(Counts { updates: Some(0), commits: Some(0), ..Counts::default() })
    }

    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        Ok(Vec::new())
    }

    fn drain(&self) -> Result<(), DbError> {
        Ok(())
    }
}
