//! The writer of a worker: a batch for each transaction.

use super::bulk::handle;
use super::fault::fault;
use super::library::{family_of, key};
use crate::backend::{Order, WorkerPlan, Writer};
use crate::counts::WorkerCounts;
use crate::error::DbError;
use crate::subscript_stream::SubscriptStream;
use crate::value::Stamp;
use crate::worker::nanoseconds;
use ::rocksdb::{DB, WriteBatch, WriteOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Writes one batch for each transaction.
///
/// An update only adds a key and its value to the batch. Nothing is read, and its latency is that of a small copy. The
/// commit writes the batch to the log, waits for the device if the settings require it, and inserts it into the
/// memtables. It also includes write stalls, which occur if flushes and compactions do not keep up.
pub struct BatchWriter {
    db: Arc<DB>,
    folder: PathBuf,
    family: String,
    plan: WorkerPlan,
    draws: SubscriptStream,
    sequence: u64,
    value: String,
    options: WriteOptions,
}

impl BatchWriter {
    /// Returns the writer of a worker, with or without waiting for the log.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if its global does not exist.
    pub fn new(
        db: Arc<DB>,
        folder: PathBuf,
        plan: WorkerPlan,
        sync: bool,
    ) -> Result<Self, DbError> {
        let family = family_of(plan.global.number);
        handle(&db, &folder, &family)?;
        let mut options = WriteOptions::default();
        options.set_sync(sync);
        let draws = SubscriptStream::from_state(plan.draws_state);
        let value = String::with_capacity(plan.global.value_bytes);
        Ok(Self { db, folder, family, plan, draws, sequence: plan.sequence, value, options })
    }
}

impl Writer for BatchWriter {
    fn work(&mut self, _: &Order, counts: &mut WorkerCounts) -> Result<u64, DbError> {
        let WorkerPlan { worker, global, transaction_length, .. } = self.plan;
        let sequence = self.sequence + 1;
        let mut begin = Instant::now();
        let family = handle(&self.db, &self.folder, &self.family)?;
        // A new batch each time, because writing a batch consumes it.
        let mut batch = WriteBatch::default();
        for _ in 0..transaction_length {
            let subscript = self.draws.subscript(global.subscripts);
            let stamp = Stamp { global: global.number, subscript, worker, sequence };
            stamp.write(global.value_bytes, &mut self.value);
            batch.put_cf(family, key(subscript), &self.value);
            let end = Instant::now();
            counts.update(nanoseconds(end - begin), self.value.len() as u64);
            begin = end;
        }
        batch.put(key(u64::from(worker)), key(sequence));
        let written = self.db.write_opt(batch, &self.options);
        written.map_err(|error| fault(&self.folder, &error))?;
        counts.commit(nanoseconds(begin.elapsed()));
        self.sequence = sequence;
        Ok(sequence)
    }
}
