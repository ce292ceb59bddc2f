//! Reads blocks through the server: selecting a row by its `ctid` reads one block.

use super::Server;
use super::connection::{Connection, Patience, strange};
use super::message::two_numbers;
use crate::blocks::{BlockReader, BlockServer, below};
use crate::error::DbError;
use bytes::BufMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

/// Object identifier of the type `tid` in `pg_type`.
const TID: u32 = 27;

/// Tables and their numbers of blocks.
#[derive(Debug)]
pub(super) struct TableBlocks {
    server: Server,
    /// Name of each table, and the number of blocks up to its end, including all previous tables.
    tables: Vec<(String, u64)>,
    block_bytes: u64,
}

impl TableBlocks {
    pub(super) fn new(
        server: Server,
        connection: &mut Connection,
        names: Vec<String>,
        block_bytes: u64,
    ) -> Result<Self, DbError> {
        let (mut tables, mut end) = (Vec::new(), 0);
        for name in names {
            let sql = format!("SELECT pg_relation_size('{name}'::regclass)");
            let bytes =
                connection.field(&sql)?.and_then(|bytes| bytes.parse().ok()).unwrap_or(0u64);
            // A `ctid` has four bytes for the block.
            let blocks = (bytes / block_bytes).min(u64::from(u32::MAX));
            if blocks > 0 {
                end += blocks;
                tables.push((name, end));
            }
        }
        if tables.is_empty() {
            let reason = "the database has no block to read; hint: run setup with --size";
            return Err(DbError::Missing(reason.to_owned()));
        }
        Ok(Self { server, tables, block_bytes })
    }
}

impl BlockServer for TableBlocks {
    fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    fn connect(&self) -> Result<Box<dyn BlockReader>, DbError> {
        let mut connection = self.server.connect()?;
        let mut tables = Vec::new();
        for (index, (name, end)) in self.tables.iter().enumerate() {
            // The server's counts of blocks that this session has requested, and has found in the cache. The server
            // occasionally resets these counts, when it reports them.
            let sql = format!(
                "SELECT pg_stat_get_xact_blocks_fetched('{name}'::regclass), \
                 pg_stat_get_xact_blocks_hit('{name}'::regclass), count(*) FROM {name} WHERE ctid = $1"
            );
            let statement = format!("r{index}");
            connection.prepare(&statement, &sql, &[TID])?;
            tables.push(Table { statement, end: *end, fetched: 0, hit: 0 });
        }
        connection.set_patience(Patience::Endless);
        Ok(Box::new(TableReader { connection, tables }))
    }
}

/// A table with the state of one session.
#[derive(Debug)]
struct Table {
    statement: String,
    /// Number of blocks up to its end, including all previous tables.
    end: u64,
    /// The server's counts at the last read.
    fetched: i64,
    hit: i64,
}

#[derive(Debug)]
struct TableReader {
    connection: Connection,
    tables: Vec<Table>,
}

impl BlockReader for TableReader {
    fn read(&mut self, random: u64) -> Result<bool, DbError> {
        let Self { connection, tables } = self;
        // There is at least one table, and its end is above 0.
        let block = below(random, tables.last().map_or(1, |table| table.end));
        let index = tables.partition_point(|table| table.end <= block);
        let first = if index == 0 { 0 } else { tables[index - 1].end };
        let table = &mut tables[index];
        let place = (block - first) as u32;
        let out = &mut connection.out;
        let bound = frontend::bind(
            "",
            &table.statement,
            [1],
            [place],
            |place, out| {
                out.put_u32(place);
                // The first row of the block.
                out.put_u16(1);
                Ok(IsNull::No)
            },
            [1],
            out,
        );
        bound
            .map_err(|_| ())
            .and_then(|()| frontend::execute("", 0, out).map_err(|_| ()))
            .map_err(|()| DbError::Failed("the place of a row cannot be sent".to_owned()))?;
        frontend::sync(out);
        connection.send()?;
        let mut counts = None;
        connection.until_ready(|tag, body| {
            if tag == b'D' {
                counts = two_numbers(body);
            }
            Ok(())
        })?;
        let (fetched, hit) = counts.ok_or_else(|| strange(connection.place()))?;
        // The count is one more than before, or starts anew after the server has reset it.
        let before = if fetched == table.fetched.wrapping_add(1) { table.hit } else { 0 };
        (table.fetched, table.hit) = (fetched, hit);
        Ok(hit > before)
    }
}
