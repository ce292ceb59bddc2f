//! An existing database.

use super::place::place;
use super::pool::DatabasePool;
use super::reserve::DbReserveWatch;
use crate::error::LabError;
use crate::session::hosts::{self, Opening, Starting, Wanted, Work};
use crate::session::profile::CADENCE;
use crate::suite::{Site, SiteKind, processors};
use crate::transactions::{DbLoad, DbReport};
use iogauge_db::acknowledged::{Acknowledged, FORMAT, MOST_WORKERS, RunOfWorkers};
use iogauge_db::backend::{self, About, Global, Size};
use iogauge_db::pool::{DbPool, DbPoolPlan, Mode};
use iogauge_db::{Database, DbError, DbUrl};
use iogauge_io::machine::{DeviceTree, Memory, Roots};
use iogauge_io::pool::WorkerPool;
use iogauge_model::Step;
use iogauge_model::caveat::Command;
use iogauge_model::load::{BlockSizes, EngineKind, Load, Pattern};
use iogauge_model::result::{DatabaseTarget, TargetFacts};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A database that setup made.
#[derive(Debug)]
pub struct DbTarget {
    pub url: DbUrl,
    pub about: About,
    pub globals: Vec<Global>,
    /// Its size on disk.
    pub size: Size,
    /// Time between two samples of the machine during a load.
    pub cadence: Duration,
    /// The command whose result has the caveats.
    pub command: Command,
    /// Transactions that the previous run acknowledged and that were missing when a run began.
    pub(super) lost: AtomicU64,
    pub(super) database: Box<dyn Database>,
}

impl DbTarget {
    /// Opens a database, on all hosts if this process leads several. Changes nothing.
    ///
    /// # Errors
    /// It does not exist or cannot be opened, or a host reaches another one.
    pub fn open(url: DbUrl) -> Result<Self, LabError> {
        let Some(hosts) = hosts::led() else { return Self::open_here(url) };
        let backend = backend::backend(&url.backend)?;
        if !backend.is_server {
            let reason = format!(
                "{url}: {} is on one host; hint: use one host, or a server that all hosts reach, as in {}",
                backend.name,
                servers()
            );
            return Err(LabError::Mismatch(reason));
        }
        let target = Self::open_here(url)?;
        let identity = target.database.identity()?;
        let wanted = Wanted::Database { url: Box::new(target.url.clone()), identity };
        hosts.open(&Opening { text: target.text(), wanted })?;
        Ok(target)
    }

    /// Opens the database that another host has opened.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_same(url: &DbUrl, identity: &str) -> Result<Self, LabError> {
        let target = Self::open_here(url.clone())?;
        if target.database.identity()? == identity {
            return Ok(target);
        }
        Err(LabError::Mismatch(format!(
            "{url}: this is another database than on the first host; hint: name the server so that every host \
             reaches the same one"
        )))
    }

    fn open_here(url: DbUrl) -> Result<Self, LabError> {
        let database = backend::open(&url)?;
        let (about, globals) = (database.about()?, database.globals()?);
        let size = database.size()?;
        let (cadence, command, lost) = (CADENCE, Command::DbRun, AtomicU64::new(0));
        Ok(Self { url, about, globals, size, cadence, command, lost, database })
    }

    /// Joins the run of the host that leads, and starts this host's workers.
    ///
    /// # Errors
    /// The run cannot be joined, or a worker cannot be connected.
    pub(crate) fn start_joining(
        &self,
        starting: &Starting,
        report: Arc<Mutex<DbReport>>,
    ) -> Result<Box<dyn WorkerPool>, LabError> {
        let Work::Database(load, numbers) = starting.work else {
            return Err(hosts::other_target());
        };
        let plan = load.pool_plan(starting.max_depth, numbers);
        let room = self.room(&plan)?;
        let activity = self.database.join(&plan.mode.run_plan(starting.max_depth))?.into();
        let sequences = if plan.mode.writes() { self.sequences()? } else { Vec::new() };
        let workers = DbPool::new(activity, plan, &self.globals, &sequences, None)?;
        Ok(Box::new(DatabasePool::start(workers, load.processes, room, report)?))
    }

    /// Returns a watch on the free space of the disks, if the workload writes.
    ///
    /// # Errors
    /// A disk has reached its reserve.
    pub(super) fn room(&self, plan: &DbPoolPlan) -> Result<Option<DbReserveWatch>, DbError> {
        let writes = plan.mode.writes();
        let mut room = writes.then(|| DbReserveWatch::begin(self.database())).transpose()?;
        room.as_mut().map_or(Ok(()), DbReserveWatch::check)?;
        Ok(room)
    }

    /// Returns the database itself.
    #[must_use]
    pub fn database(&self) -> &dyn Database {
        self.database.as_ref()
    }

    /// Returns the target in one line: the URL and the name.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{} {}", self.url, self.url.name)
    }

    /// Returns the database for a document.
    #[must_use]
    pub fn describe(&self) -> TargetFacts {
        let About { software, block_bytes, may_lose, settings } = self.about.clone();
        TargetFacts::Database(Box::new(DatabaseTarget {
            name: self.text(),
            url: self.url.to_string(),
            place: Some(place(&self.url)),
            database: self.url.name.clone(),
            backend: self.url.backend.clone(),
            software,
            block_bytes,
            size_bytes: self.size.data_bytes,
            log_bytes: self.size.log_bytes,
            settings: settings.into_iter().collect(),
            may_lose,
            globals: self.globals.len() as u64,
            subscripts: self.globals.iter().map(|global| global.subscripts).sum(),
            chain: self.devices().map(|tree| tree.chain()).unwrap_or_default(),
        }))
    }

    /// Checks that every process that writes has a global.
    ///
    /// # Errors
    /// A process has none; includes a hint.
    pub fn check_globals(&self, load: &DbLoad) -> Result<(), DbError> {
        let (there, processes) = (self.globals.len(), load.mode.writers(load.processes));
        if there >= processes as usize {
            return Ok(());
        }
        let url = self.url.typed();
        Err(DbError::Usage(match there {
            0 => format!(
                "there is no global to write to; hint: run iogauge db create-globals {url} \
                 --globals {processes} --subscripts 1m"
            ),
            _ => format!(
                "{processes} processes need a global each, and there are {there}; hint: use \
                 {} {there}, or iogauge db add-globals {url} --globals {}",
                if matches!(load.mode, Mode::ReadersWriters { .. }) {
                    "--writers"
                } else {
                    "--processes"
                },
                processes as usize - there
            ),
        }))
    }

    /// Returns the site for suites whose steps are turns of databases.
    #[must_use]
    pub fn site(&self) -> Site {
        Site {
            kind: SiteKind::Files,
            part_bytes: vec![self.size.data_bytes],
            whole_devices: false,
            block_bytes: self.about.block_bytes as u32,
            engine: EngineKind::Psync,
            processors: processors(),
            memory_bytes: Memory::read(&Roots::default()).unwrap_or_default().total_bytes,
            hosts: 1,
            disks: 1,
            requests: 0,
        }
    }

    /// Returns the step of device I/O that is equivalent to a workload: block reads and value updates.
    pub(super) fn step(&self, load: &DbLoad, runtime_ns: u64) -> Step {
        let value_bytes = self.globals.first().map_or(0, |global| global.value_bytes as u64);
        let (rw, bytes) = match load.mode {
            Mode::Read => (Pattern::RandRead, self.about.block_bytes),
            Mode::Write => (Pattern::RandWrite, value_bytes),
            Mode::Io { .. } | Mode::ReadersWriters { .. } => {
                (Pattern::RandRw, self.about.block_bytes)
            }
        };
        let equivalent = Load {
            rw,
            block: BlockSizes::fixed(bytes.max(1)),
            numjobs: load.processes,
            iodepth: 1,
            engine: EngineKind::Psync,
            ..Load::default()
        };
        Step { label: load.label(), ..Step::single(equivalent, 0, runtime_ns) }
    }

    /// Returns the devices under it; none if it is on another machine.
    ///
    /// # Errors
    /// The kernel's device tree cannot be read.
    pub fn devices(&self) -> Result<DeviceTree, LabError> {
        Ok(DeviceTree::under_all(self.database.paths()?)?)
    }

    /// Returns the number of the last committed transaction of each worker.
    pub(super) fn sequences(&self) -> Result<Vec<u64>, DbError> {
        let mut sequences = vec![0; self.globals.len()];
        for (worker, sequence) in self.database.committed()? {
            if let Some(slot) = sequences.get_mut((worker as usize).wrapping_sub(1)) {
                *slot = sequence;
            }
        }
        Ok(sequences)
    }

    /// Counts the transactions that the previous run lost, before a new record of acknowledged
    /// transactions replaces its record.
    fn count_lost(&self, path: &Path, identity: &str, sequences: &[u64]) {
        // A file of another kind, or of another database, is ignored.
        let before = Acknowledged::read(path).ok().flatten();
        let before = before.filter(|known| known.run.database == identity);
        let lost = before.map_or(0, |known| known.lost(sequences));
        self.lost.fetch_add(lost, Ordering::Relaxed);
    }

    /// Returns the record of acknowledged transactions; `None` if the run writes nothing or there
    /// is no place for it.
    /// It has room for this many workers, over all hosts.
    pub(super) fn note(
        &self,
        plan: &DbPoolPlan,
        workers: u32,
        sequences: &[u64],
    ) -> Result<Option<Acknowledged>, LabError> {
        if !plan.mode.writes() || workers > MOST_WORKERS {
            return Ok(None);
        }
        let Some(path) = acknowledged_path(self.database())? else { return Ok(None) };
        if let Some(parent) = path.parent() {
            // If it cannot be made, writing the file reports the error.
            let _ = std::fs::create_dir_all(parent);
        }
        let identity = self.database.identity()?;
        self.count_lost(&path, &identity, sequences);
        let run = RunOfWorkers {
            format: FORMAT.to_owned(),
            database: identity,
            seed: plan.seed,
            transaction_length: plan.transaction_length,
            workers: plan.mode.writers(workers),
            may_lose: self.about.may_lose.clone(),
        };
        let sequences = &sequences[..(run.workers as usize).min(sequences.len())];
        Ok(Some(Acknowledged::new(&path, run, sequences)))
    }
}

/// Returns the path of the record of acknowledged transactions: in the database's own directory, or
/// in the user's data directory, by the database's identity.
///
/// # Errors
/// The database does not exist.
pub(super) fn acknowledged_path(database: &dyn Database) -> Result<Option<PathBuf>, LabError> {
    if let Some(path) = database.acknowledged_path() {
        return Ok(Some(path));
    }
    let Some(data) = crate::history::data_directory() else { return Ok(None) };
    Ok(Some(data.join("acknowledged").join(database.identity()?)))
}

/// Returns examples of the URLs of servers.
fn servers() -> String {
    let servers = backend::BACKENDS.iter().filter(|backend| backend.is_server);
    servers.map(|backend| backend.url).collect::<Vec<_>>().join(", ")
}
