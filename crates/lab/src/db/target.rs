//! A database that is there, and what is asked of it.

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
    /// How much lies on the disk.
    pub size: Size,
    /// Time between two samples of the machine beside a load.
    pub cadence: Duration,
    /// The command whose result has the caveats.
    pub command: Command,
    /// Transactions that the run before acknowledged and that were gone when a run began.
    pub(super) lost: AtomicU64,
    pub(super) database: Box<dyn Database>,
}

impl DbTarget {
    /// Opens a database. Changes nothing.
    ///
    /// # Errors
    /// Where it is not there or does not let itself be opened.
    pub fn open(url: DbUrl) -> Result<Self, LabError> {
        let database = backend::open(&url)?;
        let (about, globals) = (database.about()?, database.globals()?);
        let size = database.size()?;
        let (cadence, command, lost) = (CADENCE, Command::DbRun, AtomicU64::new(0));
        Ok(Self { url, about, globals, size, cadence, command, lost, database })
    }

    /// The database itself.
    #[must_use]
    pub fn database(&self) -> &dyn Database {
        self.database.as_ref()
    }

    /// What is measured, in a line: the URL and the name.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{} {}", self.url, self.url.name)
    }

    /// The database for a document.
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
    /// Where it has none, with the way out.
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

    /// The devices under it; none where it is on another machine.
    ///
    /// # Errors
    /// Where the kernel's device tree cannot be read.
    pub fn devices(&self) -> Result<DeviceTree, LabError> {
        Ok(DeviceTree::under_all(self.database.paths()?)?)
    }

    /// The last transaction of each worker that is committed, by its number.
    pub(super) fn sequences(&self) -> Result<Vec<u64>, DbError> {
        let mut sequences = vec![0; self.globals.len()];
        for (worker, sequence) in self.database.committed()? {
            if let Some(slot) = sequences.get_mut((worker as usize).wrapping_sub(1)) {
                *slot = sequence;
            }
        }
        Ok(sequences)
    }

    /// Counts what the run before lost: once another one notes what it acknowledges, that is known no more.
    fn count_lost(&self, path: &Path, identity: &str, sequences: &[u64]) {
        // A file that is none of these, or another database's, says nothing.
        let before = Acknowledged::read(path).ok().flatten();
        let before = before.filter(|known| known.run.database == identity);
        let lost = before.map_or(0, |known| known.lost(sequences));
        self.lost.fetch_add(lost, Ordering::Relaxed);
    }

    /// Where it is noted what a run acknowledges; `None` where it writes nothing or there is no place.
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
            // Where it cannot be made, writing the file says so.
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

/// Where acknowledged transactions are noted: in the database's own directory, or under the user's data, by
/// its identity.
///
/// # Errors
/// Where it is not there.
pub(super) fn acknowledged_path(database: &dyn Database) -> Result<Option<PathBuf>, LabError> {
    if let Some(path) = database.acknowledged_path() {
        return Ok(Some(path));
    }
    let Some(data) = crate::history::data_directory() else { return Ok(None) };
    Ok(Some(data.join("acknowledged").join(database.identity()?)))
}

/// What is asked of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbLoad {
    /// What each process does.
    pub mode: Mode,
    /// Processes at work at the same time; worker `n` writes global `n`.
    pub processes: u32,
    /// Reads or updates in a transaction, at least 1.
    pub transaction_length: u32,
    /// Pause after each transaction, in nanoseconds.
    pub hang_ns: u64,
    /// What all draws follow from.
    pub seed: u64,
}

impl DbLoad {
    /// What it is, in a few words: `write, 50 a transaction, 2 ms hang, 4 processes`.
    #[must_use]
    pub fn label(&self) -> String {
        let processes = if self.processes == 1 { "process" } else { "processes" };
        format!("{}, {} {processes}", self.label_without_processes(), self.processes)
    }

    /// The same where the number of processes is what is searched.
    #[must_use]
    pub fn label_without_processes(&self) -> String {
        let mut label = match self.mode {
            Mode::Io { read_percent } => format!("io {read_percent}/{}", 100 - read_percent),
            _ => self.mode.word().to_owned(),
        };
        if self.mode.writes() {
            label.push_str(&format!(", {} a transaction", self.transaction_length));
        }
        if self.hang_ns > 0 {
            let hang = iogauge_model::limit::Bound(self.hang_ns);
            label.push_str(&format!(", {hang} hang"));
        }
        label
    }

    /// The load for a document.
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

    /// The same as a step of I/O on a device: reads of blocks, updates of values.
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
