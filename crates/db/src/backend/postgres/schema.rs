//! The objects that iogauge creates in PostgreSQL: a schema with a comment that marks it, and tables.
//!
//! | table | contents |
//! |---|---|
//! | `iogauge` | format and identity |
//! | `globals` | number, subscripts and value length of each global |
//! | `filler` | a row of random bytes for each block of the requested size |
//! | `global1` … | subscript and value |
//! | `worker1` … | last transaction of each worker; separate tables, so that workers do not wait for each other |

use super::connection::{Connection, Patience};
use super::copy::{Copy, Field};
use crate::backend::{Global, Purged};
use crate::directory::FORMAT;
use crate::error::DbError;
use crate::incompressible::IncompressibleText;
use crate::marker::{check_global, is_identity};
use crate::progress::Progress;
use crate::value::Stamp;

/// First half of the advisory lock's key, the same for all databases of iogauge. The other half is a hash of the name.
const LOCK_CLASS: i32 = 0x696f_6761;
const READERS_CLASS: i32 = LOCK_CLASS + 1;
/// Upper bound of the overhead of a page with one row, in bytes: page header, line pointer, row header, length.
const PAGE_OVERHEAD_BYTES: u64 = 64;
/// Block sizes with which PostgreSQL can be built.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 1 << 10..=32 << 10;

/// A schema with this name, which consists of letters, digits and underscores.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    name: String,
}

/// The owner of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Nobody,
    Iogauge,
    Others,
}

impl Schema {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    /// Returns the quoted name of one of its tables, for use in a statement.
    pub(super) fn table(&self, table: &str) -> String {
        format!("\"{}\".{table}", self.name)
    }

    /// Returns its name as a string literal.
    pub(super) fn literal(&self) -> String {
        format!("'{}'", self.name)
    }

    fn owner(&self, connection: &mut Connection) -> Result<Owner, DbError> {
        let rows = connection.rows(&format!(
            "SELECT obj_description(oid, 'pg_namespace'), to_regclass('{}') FROM pg_namespace \
             WHERE nspname = {}",
            self.table("iogauge"),
            self.literal()
        ))?;
        Ok(match rows.first().map(Vec::as_slice) {
            None => Owner::Nobody,
            Some([Some(mark), Some(_)]) if mark == FORMAT => Owner::Iogauge,
            Some(_) => Owner::Others,
        })
    }

    pub(super) fn is_there(&self, connection: &mut Connection) -> Result<bool, DbError> {
        Ok(self.owner(connection)? == Owner::Iogauge)
    }

    /// Fails unless the schema was created by setup.
    pub(super) fn must_be_there(&self, connection: &mut Connection) -> Result<(), DbError> {
        let place = connection.place().to_owned();
        match self.owner(connection)? {
            Owner::Iogauge => Ok(()),
            Owner::Nobody => Err(DbError::Missing(format!(
                "{place}: there is no schema \"{}\"; hint: run iogauge db setup first",
                self.name
            ))),
            Owner::Others => Err(self.foreign(&place)),
        }
    }

    fn foreign(&self, place: &str) -> DbError {
        DbError::Foreign(format!(
            "{place}: iogauge did not make the schema \"{}\"; hint: use another --name",
            self.name
        ))
    }

    /// Locks the schema for a run that writes, or a change, for a session or a transaction.
    pub(super) fn lock(&self, connection: &mut Connection, function: &str) -> Result<(), DbError> {
        self.take(connection, function, LOCK_CLASS)
    }

    /// Takes the lock of runs that only read: they share it, and what removes data has it alone.
    pub(super) fn lock_readers(
        &self,
        connection: &mut Connection,
        function: &str,
    ) -> Result<(), DbError> {
        self.take(connection, function, READERS_CLASS)
    }

    fn take(&self, connection: &mut Connection, function: &str, class: i32) -> Result<(), DbError> {
        // FNV-1a. A collision only prevents two databases of one server from being used at the same time.
        let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let key = self.name.bytes().fold(0x811c_9dc5, hash) as i32;
        let taken = connection.field(&format!("SELECT {function}({class}, {key})"))?;
        if taken.as_deref() == Some("t") {
            return Ok(());
        }
        Err(DbError::Busy(format!(
            "{}: another run works on the schema \"{}\"; hint: wait for it, or run iogauge db \
             stop",
            connection.place(),
            self.name
        )))
    }

    /// Fails if a session has written to one of its tables in an open transaction.
    pub(super) fn nobody_writes(&self, connection: &mut Connection) -> Result<(), DbError> {
        let writers = connection.field(&format!(
            "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
             WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
                 AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = {})
                 AND relkind = 'r' AND mode = 'RowExclusiveLock'",
            self.literal()
        ))?;
        if writers.as_deref() == Some("0") {
            return Ok(());
        }
        Err(DbError::Busy(format!(
            "{}: another session writes to the schema \"{}\"; hint: wait for it",
            connection.place(),
            self.name
        )))
    }

    /// Creates the schema with `size_bytes` bytes of blocks, atomically.
    pub(super) fn make(
        &self,
        connection: &mut Connection,
        size_bytes: u64,
        progress: &mut Progress<'_>,
    ) -> Result<(), DbError> {
        match self.owner(connection)? {
            Owner::Nobody => {}
            Owner::Iogauge => {
                return Err(DbError::Foreign(format!(
                    "{}: there is a schema \"{}\" already; hint: use another --name, or run purge first",
                    connection.place(),
                    self.name
                )));
            }
            Owner::Others => return Err(self.foreign(connection.place())),
        }
        let block_bytes = block_bytes(connection)?;
        let rows = size_bytes.div_ceil(block_bytes);
        in_transaction(connection, |connection| {
            self.lock(connection, "pg_try_advisory_xact_lock")?;
            let (schema, filler) = (format!("\"{}\"", self.name), self.table("filler"));
            connection.run(&format!(
                "CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS '{FORMAT}';
                 CREATE TABLE {} AS SELECT '{FORMAT}'::text AS format, gen_random_uuid()::text AS identity;
                 CREATE TABLE {} (number int PRIMARY KEY, subscripts bigint NOT NULL, value_bytes int NOT NULL);
                 CREATE TABLE {filler} (data bytea NOT NULL) WITH (autovacuum_enabled = off);
                 ALTER TABLE {filler} ALTER data SET STORAGE PLAIN",
                self.table("iogauge"),
                self.table("globals"),
            ))?;
            let mut bytes = vec![0; (block_bytes - PAGE_OVERHEAD_BYTES) as usize];
            let mut random = IncompressibleText::new(rows);
            let row = |copy: &mut Copy<'_>, _| {
                random.bytes(&mut bytes);
                copy.row(&[Field::Bytes(&bytes)])
            };
            let (target, all) = (format!("{filler} (data)"), rows * block_bytes);
            fill(connection, &target, rows, row, &mut |done| {
                progress.done(done * block_bytes, all)
            })?;
            progress.done(all, all)
        })?;
        write_out(connection, &mut || Ok(())).map(|_| ())
    }

    /// Creates a global and its worker's record, atomically.
    pub(super) fn make_global(
        &self,
        connection: &mut Connection,
        global: Global,
        fillfactor: u32,
        progress: &mut Progress<'_>,
    ) -> Result<(), DbError> {
        let Global { number, subscripts, value_bytes } = global;
        in_transaction(connection, |connection| {
            let next = self.globals(connection)?.len() + 1;
            if number as usize != next {
                return Err(DbError::Usage(format!(
                    "global {number} cannot be made; hint: use {next}, the next number"
                )));
            }
            self.lock(connection, "pg_try_advisory_xact_lock")?;
            let (table, worker) = (self.global(number), self.worker(number));
            connection.run(&format!(
                "INSERT INTO {} VALUES ({number}, {subscripts}, {value_bytes});
                 CREATE TABLE {worker} AS SELECT 0::bigint AS sequence;
                 CREATE TABLE {table} (subscript bigint NOT NULL, value text NOT NULL)
                     WITH (fillfactor = {fillfactor});
                 ALTER TABLE {table} ALTER value SET STORAGE PLAIN",
                self.table("globals"),
            ))?;
            let mut value = String::with_capacity(value_bytes);
            let row = |copy: &mut Copy<'_>, index: u64| {
                Stamp::initial(number, index + 1).write(value_bytes, &mut value);
                let subscript = Field::Number((index + 1) as i64);
                copy.row(&[subscript, Field::Bytes(value.as_bytes())])
            };
            let target = format!("{table} (subscript, value)");
            fill(connection, &target, subscripts, row, &mut |done| {
                progress.done(done, subscripts)
            })?;
            let sql = format!("ALTER TABLE {table} ADD PRIMARY KEY (subscript)");
            connection.run_long(&sql, progress, (subscripts, subscripts))?;
            progress.done(subscripts, subscripts)
        })
    }

    /// Removes every global and the records of the workers, atomically.
    pub(super) fn drop_globals(&self, connection: &mut Connection) -> Result<(), DbError> {
        in_transaction(connection, |connection| {
            let globals = self.globals(connection)?;
            self.lock(connection, "pg_try_advisory_xact_lock")?;
            self.lock_readers(connection, "pg_try_advisory_xact_lock")?;
            for Global { number, .. } in globals {
                let (table, worker) = (self.global(number), self.worker(number));
                connection.run(&format!("DROP TABLE {table}; DROP TABLE {worker}"))?;
            }
            connection.run(&format!("DELETE FROM {}", self.table("globals")))
        })
    }

    /// Returns the table of a global.
    pub(super) fn global(&self, number: u32) -> String {
        self.table(&format!("global{number}"))
    }

    /// Returns the table with the record of a worker.
    pub(super) fn worker(&self, number: u32) -> String {
        self.table(&format!("worker{number}"))
    }

    pub(super) fn identity(&self, connection: &mut Connection) -> Result<String, DbError> {
        self.must_be_there(connection)?;
        let sql = format!("SELECT identity FROM {}", self.table("iogauge"));
        let identity = connection.field(&sql)?.filter(|identity| is_identity(identity));
        identity.ok_or_else(|| self.strange(connection, "iogauge"))
    }

    /// Returns the error for a table with impossible contents.
    fn strange(&self, connection: &Connection, table: &str) -> DbError {
        DbError::Failed(format!(
            "{}: {} is damaged: it holds what iogauge did not write; hint: run purge, then setup",
            connection.place(),
            self.table(table)
        ))
    }

    pub(super) fn globals(&self, connection: &mut Connection) -> Result<Vec<Global>, DbError> {
        self.must_be_there(connection)?;
        let table = self.table("globals");
        let sql = format!("SELECT number, subscripts, value_bytes FROM {table} ORDER BY number");
        let rows = connection.rows(&sql)?;
        let numbers = |row: &Vec<Option<String>>| -> Option<Global> {
            let [Some(number), Some(subscripts), Some(value_bytes)] = row.as_slice() else {
                return None;
            };
            Some(Global {
                number: number.parse().ok()?,
                subscripts: subscripts.parse().ok()?,
                value_bytes: value_bytes.parse().ok()?,
            })
        };
        let globals: Option<Vec<Global>> = rows.iter().map(numbers).collect();
        let sound = globals.filter(|globals| {
            (1..).zip(globals).all(|(number, global)| check_global(number, global).is_ok())
        });
        sound.ok_or_else(|| self.strange(connection, "globals"))
    }

    /// Returns all tables made by setup and by creating globals.
    fn tables(&self, connection: &mut Connection) -> Result<Vec<String>, DbError> {
        let globals = self.globals(connection)?;
        let mut tables = ["iogauge", "globals", "filler"].map(|table| self.table(table)).to_vec();
        for Global { number, .. } in globals {
            tables.extend([self.global(number), self.worker(number)]);
        }
        Ok(tables)
    }

    /// Returns the total size of its tables and their indexes, in bytes.
    pub(super) fn data_bytes(&self, connection: &mut Connection) -> Result<u64, DbError> {
        let tables = self.tables(connection)?;
        let rows: Vec<String> = tables.iter().map(|table| format!("('{table}')")).collect();
        let bytes = connection.field(&format!(
            "SELECT sum(pg_total_relation_size(name::regclass)) FROM (VALUES {}) AS tables (name)",
            rows.join(", ")
        ))?;
        Ok(bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
    }

    /// Drops its tables, and the schema if it contains nothing else, atomically.
    pub(super) fn purge(&self, connection: &mut Connection) -> Result<Purged, DbError> {
        self.must_be_there(connection)?;
        self.lock(connection, "pg_try_advisory_lock")?;
        self.lock_readers(connection, "pg_try_advisory_lock")?;
        let mut purged = Purged { freed_bytes: self.data_bytes(connection)?, left: Vec::new() };
        let tables = self.tables(connection)?;
        in_transaction(connection, |connection| {
            // Dropped one by one, without CASCADE.
            for table in tables {
                if let Err(said) = connection.try_run(&format!("DROP TABLE {table}"))? {
                    let fault = said.fault(connection.place());
                    return Err(match said.code.as_str() {
                        "2BP01" => DbError::Foreign(format!(
                            "{fault}; hint: first drop what iogauge did not make"
                        )),
                        _ => fault,
                    });
                }
            }
            let schema = format!("\"{}\"", self.name);
            connection.run("SAVEPOINT tables")?;
            let Err(said) = connection.try_run(&format!("DROP SCHEMA {schema}"))? else {
                return Ok(());
            };
            if said.code != "2BP01" {
                return Err(said.fault(connection.place()));
            }
            // Foreign objects, one per line.
            purged.left = said.detail.lines().map(left).collect();
            connection
                .run(&format!("ROLLBACK TO SAVEPOINT tables; COMMENT ON SCHEMA {schema} IS NULL"))
        })?;
        Ok(purged)
    }
}

/// Returns the object in a line such as `table "RAN".thesis depends on schema "RAN"`.
fn left(line: &str) -> String {
    line.split_once(" depends on ").map_or(line, |(object, _)| object).to_owned()
}

/// Copies rows into a table and reports how many were sent.
fn fill(
    connection: &mut Connection,
    target: &str,
    rows: u64,
    mut row: impl FnMut(&mut Copy<'_>, u64) -> Result<bool, DbError>,
    tell: &mut dyn FnMut(u64) -> Result<(), DbError>,
) -> Result<(), DbError> {
    let mut copy = Copy::begin(connection, target)?;
    for index in 0..rows {
        if row(&mut copy, index)?
            && let Err(error) = tell(index)
        {
            copy.give_up()?;
            return Err(error);
        }
    }
    copy.finish()
}

/// Executes statements in one transaction.
fn in_transaction<T>(
    connection: &mut Connection,
    act: impl FnOnce(&mut Connection) -> Result<T, DbError>,
) -> Result<T, DbError> {
    // The commit may have to write everything to the device.
    connection.with_patience(Patience::WhileAlive, |connection| {
        connection.run("BEGIN ISOLATION LEVEL READ COMMITTED")?;
        match act(connection) {
            Ok(value) => connection.run("COMMIT").map(|()| value),
            Err(error) => {
                // If the server is gone, it has rolled back.
                let _ = connection.run("ROLLBACK");
                Err(error)
            }
        }
    })
}

/// Returns the block size in bytes.
pub(super) fn block_bytes(connection: &mut Connection) -> Result<u64, DbError> {
    let bytes = connection.field("SHOW block_size")?.and_then(|bytes| bytes.parse().ok());
    let bytes = bytes.filter(|bytes: &u64| bytes.is_power_of_two() && BLOCK_BYTES.contains(bytes));
    bytes.ok_or_else(|| {
        DbError::Failed(format!(
            "{}: its block_size is none that PostgreSQL has, 1 to 32 KiB",
            connection.place()
        ))
    })
}

/// Returns the approximate size of a row of a new global and its index entry. Blocks are filled up to the fill factor,
/// an index entry has 20 bytes, and an index is filled to 90 %.
pub(super) fn row_bytes(value_bytes: u64, fillfactor: u32) -> u64 {
    // A block of the default size, the same without its header, and a row's header, number and pointer.
    let (block_bytes, usable_bytes, beside_bytes) = (8192, 8168, 40);
    let row_bytes = (value_bytes + beside_bytes).next_multiple_of(8);
    let rows = (usable_bytes * u64::from(fillfactor) / 100 / row_bytes).max(1);
    block_bytes / rows + 23
}

/// Requests a checkpoint. Returns false if the user may not request one.
pub(super) fn write_out(
    connection: &mut Connection,
    tell: &mut dyn FnMut() -> Result<(), DbError>,
) -> Result<bool, DbError> {
    match connection.until_told("CHECKPOINT", tell) {
        Ok(()) => Ok(true),
        Err(DbError::Denied(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
