//! Bulk loading of a table by COPY in binary format.
//!
//! The format: <https://www.postgresql.org/docs/current/sql-copy.html>.

use super::connection::{Connection, strange, unsayable};
use crate::error::DbError;
use bytes::{BufMut, BytesMut};
use postgres_protocol::message::frontend;

/// Header of every copy: a signature, no flags, no extension.
const HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Number of bytes sent to the server at once.
const BATCH_BYTES: usize = 128 << 10;
/// Position of the length field in a message.
const LENGTH: std::ops::Range<usize> = 1..5;

/// A field of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field<'a> {
    /// A bigint.
    Number(i64),
    /// A text, or bytes.
    Bytes(&'a [u8]),
}

/// A running copy. Its rows are invisible to others until [`Self::finish`].
#[derive(Debug)]
pub(super) struct Copy<'a> {
    connection: &'a mut Connection,
    batch: BytesMut,
}

impl<'a> Copy<'a> {
    /// Starts a copy. `target` is a table with its columns. The table must have been created in the same transaction,
    /// so that its rows can be frozen and need no later visit by readers or vacuum.
    pub(super) fn begin(connection: &'a mut Connection, target: &str) -> Result<Self, DbError> {
        let sql = format!("COPY {target} FROM STDIN (FORMAT binary, FREEZE)");
        let said = frontend::query(&sql, &mut connection.out);
        said.map_err(|error| unsayable(connection.place(), &error))?;
        connection.send()?;
        let message = connection.message()?;
        match message.tag {
            b'G' => {}
            b'E' => {
                let said = super::fault::Said::read(connection.body(&message));
                connection.until_ready(|_, _| Ok(()))?;
                return Err(said.fault(connection.place()));
            }
            _ => return Err(strange(connection.place())),
        }
        let mut copy = Self { connection, batch: BytesMut::with_capacity(BATCH_BYTES * 2) };
        copy.begin_batch();
        copy.batch.put_slice(HEAD);
        Ok(copy)
    }

    fn begin_batch(&mut self) {
        self.batch.clear();
        self.batch.put_slice(b"d\0\0\0\0");
    }

    /// Adds a row. Returns true if a buffer was sent to the server, which is the time to report progress.
    pub(super) fn row(&mut self, fields: &[Field<'_>]) -> Result<bool, DbError> {
        self.batch.put_u16(fields.len() as u16);
        for field in fields {
            match field {
                Field::Number(number) => {
                    self.batch.put_u32(8);
                    self.batch.put_i64(*number);
                }
                Field::Bytes(bytes) => {
                    self.batch.put_u32(bytes.len() as u32);
                    self.batch.put_slice(bytes);
                }
            }
        }
        if self.batch.len() < BATCH_BYTES {
            return Ok(false);
        }
        self.send_batch()?;
        self.begin_batch();
        // A server that has failed discards the data it receives.
        if let Some(said) = self.connection.overheard()? {
            self.connection.until_ready(|_, _| Ok(()))?;
            return Err(said.fault(self.connection.place()));
        }
        Ok(true)
    }

    fn send_batch(&mut self) -> Result<(), DbError> {
        let length = (self.batch.len() - LENGTH.start) as u32;
        self.batch[LENGTH].copy_from_slice(&length.to_be_bytes());
        std::mem::swap(&mut self.batch, &mut self.connection.out);
        let sent = self.connection.send();
        std::mem::swap(&mut self.batch, &mut self.connection.out);
        sent
    }

    /// Ends the copy. All rows are then in the table.
    pub(super) fn finish(mut self) -> Result<(), DbError> {
        self.batch.put_i16(-1);
        self.send_batch()?;
        frontend::copy_done(&mut self.connection.out);
        self.connection.send()?;
        self.connection.until_ready(|_, _| Ok(()))
    }

    /// Cancels the copy. None of its rows will be in the table.
    pub(super) fn give_up(self) -> Result<(), DbError> {
        let said = frontend::copy_fail("not wanted any more", &mut self.connection.out);
        said.map_err(|error| unsayable(self.connection.place(), &error))?;
        self.connection.send()?;
        // The server confirms with an error.
        match self.connection.until_ready(|_, _| Ok(())) {
            Err(gone @ DbError::Gone(_)) => Err(gone),
            _ => Ok(()),
        }
    }
}
