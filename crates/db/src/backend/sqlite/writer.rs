//! The writer of a worker: prepared statements on its own connection.

use super::connection::{fault, to_work};
use super::gate::{Gate, Pass};
use super::settings::Settings;
use crate::backend::{Order, WorkerPlan, Writer};
use crate::counts::WorkerCounts;
use crate::error::DbError;
use crate::statement_writer::{SingleStatements, Transactions};
use rusqlite::{CachedStatement, Connection};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BEGIN: &str = "BEGIN IMMEDIATE";
const UPDATE: &str = "UPDATE global SET value = ?2 WHERE subscript = ?1";
const NOTE: &str = "UPDATE worker SET sequence = ?2 WHERE worker = ?1";
const COMMIT: &str = "COMMIT";

/// SQLite's counts on a worker's connections.
#[derive(Debug, Default)]
pub(super) struct WriterCounts {
    /// Number of changed rows of the global.
    pub updates: AtomicU64,
    /// Number of commits, counted by SQLite's commit hook.
    pub commits: AtomicU64,
}

/// Writes to one global.
pub(super) struct SqliteWriter {
    path: PathBuf,
    connection: Connection,
    transactions: Transactions,
    gate: Arc<Gate>,
    tally: Arc<WriterCounts>,
    /// Number of updates that this connection has added to the tally.
    tallied: u64,
    /// Number of changes to the worker's record.
    notes: u64,
}

impl SqliteWriter {
    pub(super) fn open(
        path: &Path,
        settings: &Settings,
        plan: WorkerPlan,
        gate: Arc<Gate>,
        tally: Arc<WriterCounts>,
    ) -> Result<Self, DbError> {
        let mut connection = to_work(path, settings)?;
        let commits = tally.clone();
        // Replaces the hook for SQLite's automatic checkpoints, which are disabled.
        let hooked = connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, _| {
            commits.commits.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
        hooked.map_err(|error| fault(path, &error))?;
        let transactions = Transactions::new(plan);
        let path = path.to_owned();
        Ok(Self { path, connection, transactions, gate, tally, tallied: 0, notes: 0 })
    }

    /// Executes one transaction. The statements are taken from the connection's cache once for all updates.
    fn transaction(&mut self, counts: &mut WorkerCounts) -> Result<u64, DbError> {
        let Self { path, connection, transactions, gate, notes, .. } = self;
        let prepare = |sql| connection.prepare_cached(sql).map_err(|error| fault(path, &error));
        let mut held = ExclusiveLock {
            begin: prepare(BEGIN)?,
            update: prepare(UPDATE)?,
            note: prepare(NOTE)?,
            commit: prepare(COMMIT)?,
            worker: transactions.plan().worker,
            path,
            gate,
            pass: None,
            notes,
        };
        transactions.one(&mut held, counts)
    }
}

impl Writer for SqliteWriter {
    fn work(&mut self, _: &Order, counts: &mut WorkerCounts) -> Result<u64, DbError> {
        let done = self.transaction(counts);
        if done.is_err() && !self.connection.is_autocommit() {
            // Report the first error.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let updates = self.connection.total_changes() - self.notes;
        self.tally.updates.fetch_add(updates - self.tallied, Ordering::Relaxed);
        self.tallied = updates;
        done
    }
}

/// The statements of one transaction.
struct ExclusiveLock<'a> {
    begin: CachedStatement<'a>,
    update: CachedStatement<'a>,
    note: CachedStatement<'a>,
    commit: CachedStatement<'a>,
    worker: u32,
    path: &'a Path,
    gate: &'a Gate,
    pass: Option<Pass<'a>>,
    notes: &'a mut u64,
}

impl SingleStatements for ExclusiveLock<'_> {
    fn begin(&mut self) -> Result<(), DbError> {
        self.pass = Some(self.gate.enter());
        self.begin.execute([]).map(drop).map_err(|error| fault(self.path, &error))
    }

    fn update(&mut self, subscript: u64, value: &str) -> Result<(), DbError> {
        let changed = self.update.execute((subscript as i64, value));
        match changed.map_err(|error| fault(self.path, &error))? {
            1 => Ok(()),
            _ => Err(lacks(self.path, &format!("subscript {subscript}"))),
        }
    }

    fn commit(&mut self, sequence: u64) -> Result<(), DbError> {
        let noted = self.note.execute((self.worker, sequence as i64));
        let noted = noted.map_err(|error| fault(self.path, &error))?;
        *self.notes += noted as u64;
        if noted != 1 {
            return Err(lacks(self.path, &format!("the record of worker {}", self.worker)));
        }
        self.commit.execute([]).map_err(|error| fault(self.path, &error))?;
        self.pass = None;
        Ok(())
    }
}

fn lacks(path: &Path, what: &str) -> DbError {
    DbError::Failed(format!("{}: it lacks {what}; hint: run purge, then setup", path.display()))
}
