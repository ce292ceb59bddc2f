//! A run on a schema.

use super::connection::{Connection, Patience};
use super::files::DataDirectory;
use super::reads::TableBlocks;
use super::schema::{Schema, block_bytes, write_out};
use super::statistics::Statistics;
use super::watch::CheckpointWatch;
use super::writer::PreparedStatements;
use super::{Reads, Server};
use crate::backend::{Activity, Counts, Cycle, RunPlan, WorkerPlan, Writer};
use crate::blocks::Blocks;
use crate::error::DbError;
use crate::statement_writer::StatementWriter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of checkpoints that are requested until one finds nothing to write.
const MOST_CHECKPOINTS: u32 = 10;
/// Delay between the end of a checkpoint and its counts.
const REPORT: Duration = Duration::from_millis(50);
/// Maximum wait for counts.
const COUNTS: Patience = Patience::For(Duration::from_secs(3));
/// Takes a lock that other hosts of the run can take, too, and no other run.
const SHARED_LOCK: &str = "pg_try_advisory_lock_shared";
/// Age of the counts shown by servers before version 15.
const OLD_COUNTS: Duration = Duration::from_millis(600);

/// A run on a server. Its connection holds the lock against other runs.
#[derive(Debug)]
pub(super) struct PostgresRun {
    connection: Mutex<Connection>,
    server: Server,
    schema: Schema,
    reads: Reads,
    statistics: Statistics,
    /// `None` on a host that has joined the run.
    watch: Option<CheckpointWatch>,
    version: u32,
    writes: bool,
    /// True once other hosts may join, and on those that did.
    is_shared: AtomicBool,
}

impl PostgresRun {
    pub(super) fn begin(
        server: &Server,
        schema: &Schema,
        reads: Reads,
        plan: &RunPlan,
    ) -> Result<Self, DbError> {
        let server = &server.for_a_run();
        let mut connection = server.connect()?;
        schema.must_be_there(&mut connection)?;
        if plan.writers == 0 {
            schema.lock_readers(&mut connection, SHARED_LOCK)?;
        } else {
            schema.lock(&mut connection, "pg_try_advisory_lock")?;
        }
        if plan.writers > 0
            && connection.field("SHOW transaction_read_only")?.as_deref() == Some("on")
        {
            return Err(DbError::ReadOnly(format!(
                "{server}: it takes no writes; hint: use the primary server, with \
                 default_transaction_read_only off"
            )));
        }
        let mut watching = server.connect()?;
        // Counts are available at once, and a server that hangs must not delay the end of a run.
        watching.set_patience(COUNTS);
        let mut run = Self::on(server, schema, reads, connection, plan)?;
        let statistics = Statistics::new(run.version, schema);
        run.watch = Some(CheckpointWatch::begin(watching, statistics)?);
        Ok(run)
    }

    /// Joins a run of another host.
    pub(super) fn join(
        server: &Server,
        schema: &Schema,
        reads: Reads,
        plan: &RunPlan,
    ) -> Result<Self, DbError> {
        let server = &server.for_a_run();
        let mut connection = server.connect()?;
        schema.must_be_there(&mut connection)?;
        if plan.writers == 0 {
            schema.lock_readers(&mut connection, SHARED_LOCK)?;
        } else {
            schema.lock(&mut connection, SHARED_LOCK)?;
        }
        let run = Self::on(server, schema, reads, connection, plan)?;
        run.is_shared.store(true, Ordering::Relaxed);
        Ok(run)
    }

    /// Makes a run of a connection that holds the lock.
    fn on(
        server: &Server,
        schema: &Schema,
        reads: Reads,
        mut connection: Connection,
        plan: &RunPlan,
    ) -> Result<Self, DbError> {
        let version = version(&mut connection)?;
        connection.set_patience(COUNTS);
        Ok(Self {
            connection: Mutex::new(connection),
            server: server.clone(),
            schema: schema.clone(),
            reads,
            statistics: Statistics::new(version, schema),
            watch: None,
            version,
            writes: plan.writers > 0,
            is_shared: AtomicBool::new(false),
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tables whose blocks are read.
    fn tables(&self, connection: &mut Connection) -> Result<Vec<String>, DbError> {
        let globals = self.schema.globals(connection)?;
        let globals = globals.iter().map(|global| self.schema.global(global.number));
        Ok(std::iter::once(self.schema.table("filler")).chain(globals).collect())
    }

    /// Returns the blocks in the server's files, or why the files cannot be read.
    fn direct(&self, connection: &mut Connection, block_bytes: u64) -> Result<Blocks, DbError> {
        let cannot = |why: &str| {
            DbError::Denied(format!(
                "{}: the server's files cannot be read: {why}; hint: use reads=server",
                self.server
            ))
        };
        let by_socket = self.server.is_socket();
        let Some(directory) = DataDirectory::find(connection, by_socket)? else {
            return Err(cannot(
                "they are not on this machine, or this user may not see their location",
            ));
        };
        if !directory.is_readable {
            return Err(cannot("the system does not let this user"));
        }
        // Blocks that were never written back are not in the files yet.
        if !write_out(connection, &mut || Ok(()))? {
            return Err(cannot("this user may not run CHECKPOINT first"));
        }
        let tables = self.tables(connection)?;
        let blocks = directory.blocks(connection, &tables, block_bytes)?;
        blocks.reader()?;
        Ok(blocks)
    }
}

impl Activity for PostgresRun {
    fn share(&self) -> Result<(), DbError> {
        // Runs that only read share their lock anyway.
        if self.writes {
            let mut connection = self.connection();
            // A session can hold both locks, so no other run comes in between.
            self.schema.lock(&mut connection, SHARED_LOCK)?;
            self.schema.lock(&mut connection, "pg_advisory_unlock")?;
        }
        self.is_shared.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        let connection = self.server.connect()?;
        let statements = PreparedStatements::new(connection, &self.schema, worker.worker)?;
        Ok(Box::new(StatementWriter::new(statements, worker)))
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        let mut connection = self.connection();
        let block_bytes = block_bytes(&mut connection)?;
        // Hosts read in the same way, and the files are on one of them at most.
        let is_shared = self.is_shared.load(Ordering::Relaxed);
        if self.reads == Reads::Direct || self.reads == Reads::Auto && !is_shared {
            match self.direct(&mut connection, block_bytes) {
                Err(gone @ DbError::Gone(_)) => return Err(gone),
                Err(_) if self.reads == Reads::Auto => {}
                result => return result,
            }
        }
        let tables = self.tables(&mut connection)?;
        let server = self.server.clone();
        let through = TableBlocks::new(server, &mut connection, tables, block_bytes)?;
        Ok(Blocks::Through(Box::new(through)))
    }

    /// Counts of ended sessions are complete. Open sessions report theirs at most once per second.
    fn counts(&self) -> Result<Counts, DbError> {
        if self.version < 150_000 {
            std::thread::sleep(OLD_COUNTS);
        }
        self.statistics.counts(&mut self.connection())
    }

    /// A round is a checkpoint, which is noticed at most a quarter of a second after its end.
    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        self.watch.as_ref().map_or(Ok(Vec::new()), CheckpointWatch::cycles)
    }

    fn abandon(&self) {
        self.server.lines.hang_up();
    }

    fn drain(&self) -> Result<(), DbError> {
        let mut connection = self.connection();
        let look = || self.watch.as_ref().map_or(Ok(()), CheckpointWatch::look);
        let mut before = self.statistics.daemon(&mut connection)?;
        for _ in 0..MOST_CHECKPOINTS {
            // A server that hangs does not answer.
            if !write_out(&mut connection, &mut || look())? {
                return Err(DbError::Denied(format!(
                    "{}: this user may not run CHECKPOINT; hint: run GRANT pg_checkpoint",
                    self.server
                )));
            }
            look()?;
            // The server reports its writes a moment later.
            std::thread::sleep(REPORT);
            let after = self.statistics.daemon(&mut connection)?;
            if after.blocks == before.blocks {
                break;
            }
            before = after;
        }
        Ok(())
    }
}

/// Returns the server's version as a number: 150018 for 15.18.
pub(super) fn version(connection: &mut Connection) -> Result<u32, DbError> {
    let number = connection.field("SHOW server_version_num")?;
    number.and_then(|number| number.parse().ok()).ok_or_else(|| {
        DbError::Failed(format!("{}: the server does not report its version", connection.place()))
    })
}
