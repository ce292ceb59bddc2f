//! A writer made of single statements, for databases that this process talks to one at a time.

use crate::backend::{Order, WorkerPlan, Writer};
use crate::counts::WorkerCounts;
use crate::error::DbError;
use crate::subscript_stream::SubscriptStream;
use crate::value::Stamp;
use crate::worker::nanoseconds;
use std::time::Instant;

/// The statements of a transaction.
pub trait SingleStatements {
    /// Begins one.
    ///
    /// # Errors
    /// What the database says.
    fn begin(&mut self) -> Result<(), DbError>;

    /// Puts a value under a subscript of the worker's global, which is there.
    ///
    /// # Errors
    /// What the database says, and where the subscript is not there.
    fn update(&mut self, subscript: u64, value: &str) -> Result<(), DbError>;

    /// Notes the transaction's number in the worker's record, and commits.
    ///
    /// # Errors
    /// What the database says.
    fn commit(&mut self, sequence: u64) -> Result<(), DbError>;
}

/// Does transactions statement by statement. The statement that begins one counts to the first update,
/// the one that notes its number to the commit.
#[derive(Debug)]
pub struct StatementWriter<S> {
    statements: S,
    transactions: Transactions,
}

impl<S: SingleStatements> StatementWriter<S> {
    /// A writer over these statements.
    pub fn new(statements: S, plan: WorkerPlan) -> Self {
        Self { statements, transactions: Transactions::new(plan) }
    }
}

impl<S: SingleStatements + Send> Writer for StatementWriter<S> {
    fn work(&mut self, _: &Order, counts: &mut WorkerCounts) -> Result<u64, DbError> {
        // One at a time: whoever asks may want the counts in between, and to note what is acknowledged.
        self.transactions.one(&mut self.statements, counts)
    }
}

/// What a worker's transactions are made of, for writers whose statements do not outlive one.
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

    /// Does one, and gives back its number.
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
