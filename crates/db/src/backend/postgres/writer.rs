//! The statements of a worker: prepared once, with binary parameters, and one round trip per update.

use super::connection::{Connection, Patience, strange};
use super::schema::Schema;
use crate::error::DbError;
use crate::statement_writer::SingleStatements;
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

/// Object identifiers of parameter types in `pg_type`.
const BIGINT: u32 = 20;
const TEXT: u32 = 25;
/// Names of the prepared statements.
const BEGIN: &str = "b";
const UPDATE: &str = "u";
const RECORD: &str = "r";
const COMMIT: &str = "c";

#[derive(Debug, Clone, Copy)]
enum Parameter<'a> {
    Number(i64),
    Text(&'a str),
}

/// The statements of one worker.
#[derive(Debug)]
pub(super) struct PreparedStatements {
    connection: Connection,
    table: String,
}

impl PreparedStatements {
    /// Prepares the statements on the worker's own connection.
    pub(super) fn new(
        mut connection: Connection,
        schema: &Schema,
        worker: u32,
    ) -> Result<Self, DbError> {
        let (table, record) = (schema.global(worker), schema.worker(worker));
        connection.prepare(BEGIN, "BEGIN", &[])?;
        let update = format!("UPDATE {table} SET value = $2 WHERE subscript = $1");
        connection.prepare(UPDATE, &update, &[BIGINT, TEXT])?;
        let record = format!("UPDATE {record} SET sequence = $1");
        connection.prepare(RECORD, &record, &[BIGINT])?;
        connection.prepare(COMMIT, "COMMIT", &[])?;
        // The latency of an update is measured, so it has no time limit.
        connection.set_patience(Patience::Endless);
        Ok(Self { connection, table })
    }

    /// Adds a statement to those to be sent next.
    fn add(&mut self, name: &str, parameters: &[Parameter<'_>]) -> Result<(), DbError> {
        let out = &mut self.connection.out;
        let write = |parameter: &Parameter<'_>, out: &mut BytesMut| {
            match parameter {
                Parameter::Number(number) => out.put_i64(*number),
                Parameter::Text(text) => out.put_slice(text.as_bytes()),
            }
            Ok(IsNull::No)
        };
        let added = frontend::bind("", name, [1], parameters, write, [1], out);
        let added =
            added.map_err(|_| ()).and_then(|()| frontend::execute("", 0, out).map_err(|_| ()));
        added.map_err(|()| {
            DbError::Failed(format!("{}: a value is too long", self.connection.place()))
        })
    }

    /// Sends the statements, waits for all of them, and compares the server's completion messages with `right`.
    fn send(&mut self, right: &[&[u8]]) -> Result<(), DbError> {
        frontend::sync(&mut self.connection.out);
        self.connection.send()?;
        let (mut done, mut wrong) = (0, false);
        self.connection.until_ready(|tag, body| {
            if tag == b'C' {
                wrong |= right.get(done).is_none_or(|right| *right != body);
                done += 1;
            }
            Ok(())
        })?;
        if done == right.len() && !wrong {
            return Ok(());
        }
        // Somebody has changed the tables in the meantime.
        let _ = self.connection.run("ROLLBACK");
        Err(DbError::Failed(format!(
            "{}: a subscript of {}, or the worker's record, is not there any more; hint: run purge, \
             then setup",
            self.connection.place(),
            self.table
        )))
    }
}

/// The statement that begins a transaction is sent with the first update, and the worker's record with the commit. So
/// each takes one round trip.
impl SingleStatements for PreparedStatements {
    fn begin(&mut self) -> Result<(), DbError> {
        self.add(BEGIN, &[])
    }

    fn update(&mut self, subscript: u64, value: &str) -> Result<(), DbError> {
        let is_first = !self.connection.out.is_empty();
        let subscript = i64::try_from(subscript).map_err(|_| strange(self.connection.place()))?;
        self.add(UPDATE, &[Parameter::Number(subscript), Parameter::Text(value)])?;
        let right = [&b"BEGIN\0"[..], b"UPDATE 1\0"];
        self.send(&right[usize::from(!is_first)..])
    }

    fn commit(&mut self, sequence: u64) -> Result<(), DbError> {
        let sequence = i64::try_from(sequence).map_err(|_| strange(self.connection.place()))?;
        self.add(RECORD, &[Parameter::Number(sequence)])?;
        self.add(COMMIT, &[])?;
        self.send(&[b"UPDATE 1\0", b"COMMIT\0"])
    }
}
