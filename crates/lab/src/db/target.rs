//! An existing database, and the workload for it.

use super::place::place;
use crate::error::LabError;
use crate::session::profile::CADENCE;
use iogauge_db::acknowledged::{Acknowledged, FORMAT, MOST_WORKERS, RunOfWorkers};
use iogauge_db::backend::{self, About, Global, Size};
use iogauge_db::pool::{DbPoolPlan, Mode};
use iogauge_db::{Database, DbError, DbUrl};
use iogauge_io::machine::DeviceTree;
use iogauge_model::Step;
use iogauge_model::caveat::Command;
use iogauge_model::load::{BlockSizes, EngineKind, Load, Pattern};
use iogauge_model::result::{DatabaseLoad, DatabaseTarget, TargetFacts};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// Opens a database. Changes nothing.
    ///
    /// # Errors
    /// It does not exist or cannot be opened.
    pub fn open(url: DbUrl) -> Result<Self, LabError> {
        let database = backend::open(&url)?;
        let (about, globals) = (database.about()?, database.globals()?);
        let size = database.size()?;
        let (cadence, command, lost) = (CADENCE, Command::DbRun, AtomicU64::new(0));
        Ok(Self { url, about, globals, size, cadence, command, lost, database })
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
        let (there, processes) = (self.globals.len(), load.processes);
        if !load.mode.writes() || there >= processes as usize {
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
                 --processes {there}, or iogauge db add-globals {url} --globals {}",
                processes as usize - there
            ),
        }))
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
    pub(super) fn note(
        &self,
        plan: &DbPoolPlan,
        sequences: &[u64],
    ) -> Result<Option<Acknowledged>, LabError> {
        if !plan.mode.writes() || plan.workers > MOST_WORKERS {
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
            workers: plan.workers,
            may_lose: self.about.may_lose.clone(),
        };
        let sequences = &sequences[..(plan.workers as usize).min(sequences.len())];
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

/// The workload for a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbLoad {
    /// What each process does.
    pub mode: Mode,
    /// Number of concurrent processes; worker `n` writes global `n`.
    pub processes: u32,
    /// Reads or updates in a transaction, at least 1.
    pub transaction_length: u32,
    /// Hang time after each transaction, in nanoseconds.
    pub hang_ns: u64,
    /// Seed of all random choices.
    pub seed: u64,
}

impl DbLoad {
    /// Returns a short description: `write, 50 per transaction, 2 ms hang, 4 processes`.
    #[must_use]
    pub fn label(&self) -> String {
        let processes = if self.processes == 1 { "process" } else { "processes" };
        format!("{}, {} {processes}", self.label_without_processes(), self.processes)
    }

    /// Returns the description without the number of processes, for a search over it.
    #[must_use]
    pub fn label_without_processes(&self) -> String {
        let mut label = match self.mode {
            Mode::Io { read_percent } => format!("io {read_percent}/{}", 100 - read_percent),
            _ => self.mode.word().to_owned(),
        };
        if self.mode.writes() {
            label.push_str(&format!(", {} per transaction", self.transaction_length));
        }
        if self.hang_ns > 0 {
            let hang = iogauge_model::limit::Bound(self.hang_ns);
            label.push_str(&format!(", {hang} hang"));
        }
        label
    }

    /// Returns the workload for a document.
    #[must_use]
    pub fn describe(&self) -> DatabaseLoad {
        DatabaseLoad {
            label: self.label(),
            mode: self.mode.word().to_owned(),
            processes: self.processes,
            transaction_length: self.transaction_length,
            hang_ns: self.hang_ns,
            seed: self.seed,
            read_percent: match self.mode {
                Mode::Io { read_percent } => Some(read_percent),
                _ => None,
            },
            ladder: None,
        }
    }

    pub(super) fn pool_plan(&self, most_processes: u32) -> DbPoolPlan {
        DbPoolPlan {
            mode: self.mode,
            workers: most_processes,
            transaction_length: self.transaction_length,
            hang: Duration::from_nanos(self.hang_ns),
            seed: self.seed,
        }
    }

    /// Returns the equivalent step of device I/O: block reads and value updates.
    pub(super) fn step(&self, target: &DbTarget, runtime_ns: u64) -> Step {
        let value_bytes = target.globals.first().map_or(0, |global| global.value_bytes as u64);
        let (rw, bytes) = match self.mode {
            Mode::Read => (Pattern::RandRead, target.about.block_bytes),
            Mode::Write => (Pattern::RandWrite, value_bytes),
            Mode::Io { .. } => (Pattern::RandRw, target.about.block_bytes),
        };
        let load = Load {
            rw,
            block: BlockSizes::fixed(bytes.max(1)),
            numjobs: self.processes,
            iodepth: 1,
            engine: EngineKind::Psync,
            ..Load::default()
        };
        Step { label: self.label(), ..Step::single(load, 0, runtime_ns) }
    }
}
