//! A writer that executes transactions statement by statement, for databases that this process controls directly.

use crate::backend::{Order, WorkerPlan, Writer};
use crate::counts::WorkerCounts;
use crate::error::DbError;
use crate::subscript_stream::SubscriptStream;
use crate::value::Stamp;
use crate::worker::nanoseconds;
use std::time::Instant;

/// The single statements of a transaction.
pub trait SingleStatements {
    /// Begins a transaction.
    ///
    /// # Errors
    /// Returns errors of the database.
    fn begin(&mut self) -> Result<(), DbError>;

    /// Writes a value to an existing subscript of the worker's global.
    ///
    /// # Errors
    /// Returns errors of the database. Also fails if the subscript is missing.
    fn update(&mut self, subscript: u64, value: &str) -> Result<(), DbError>;

    /// Writes the transaction's number to the worker's record, and commits.
    ///
    /// # Errors
    /// Returns errors of the database.
    fn commit(&mut self, sequence: u64) -> Result<(), DbError>;
}

/// Executes transactions statement by statement. The latency of the first update includes the statement that begins the
/// transaction. That of the commit includes the update of the worker's record.
#[derive(Debug)]
pub struct StatementWriter<S> {
    statements: S,
    transactions: Transactions,
}

impl<S: SingleStatements> StatementWriter<S> {
    /// Creates a writer that uses these statements.
    pub fn new(statements: S, plan: WorkerPlan) -> Self {
        Self { statements, transactions: Transactions::new(plan) }
    }
}

impl<S: SingleStatements + Send> Writer for StatementWriter<S> {
    fn work(&mut self, _: &Order, counts: &mut WorkerCounts) -> Result<u64, DbError> {
        // One at a time, because the caller may need the counts in between and records acknowledged transactions.
        self.transactions.one(&mut self.statements, counts)
    }
}

/// Generates a worker's transactions, for writers whose statements do not outlive a transaction.
#[derive(Debug)]
pub(crate) struct Transactions {
    plan: WorkerPlan,
    draws: SubscriptStream,
    sequence: u64,
    value: String,
}

impl Transactions {
    pub(crate) fn new(plan: WorkerPlan) -> Self {
        let value = String::with_capacity(plan.global.value_bytes);
        let draws = SubscriptStream::from_state(plan.draws_state);
        Self { plan, draws, sequence: plan.sequence, value }
    }

    pub(crate) fn plan(&self) -> &WorkerPlan {
        &self.plan
    }

    /// Executes one transaction and returns its number.
    pub(crate) fn one(
        &mut self,
        statements: &mut impl SingleStatements,
        counts: &mut WorkerCounts,
    ) -> Result<u64, DbError> {
        let WorkerPlan { worker, global, transaction_length, .. } = self.plan;
        let sequence = self.sequence + 1;
        let mut begin = Instant::now();
        statements.begin()?;
        for _ in 0..transaction_length {
            let subscript = self.draws.subscript(global.subscripts);
            let stamp = Stamp { global: global.number, subscript, worker, sequence };
            stamp.write(global.value_bytes, &mut self.value);
            statements.update(subscript, &self.value)?;
            let end = Instant::now();
            counts.update(nanoseconds(end - begin), self.value.len() as u64);
            begin = end;
        }
        statements.commit(sequence)?;
        counts.commit(nanoseconds(begin.elapsed()));
        self.sequence = sequence;
        Ok(sequence)
    }
}
