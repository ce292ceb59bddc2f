//! The history: every run, kept step by step in one SQLite file.
//!
//! A run is begun before its first step and closed after its last, and each of these changes is a
//! transaction of its own. A process that dies, even by `kill -9`, loses at most the step under
//! way; its run then shows as crashed. Any number of processes may write and read at once.
//!
//! ```no_run
//! use iogauge_lab::history::{Ending, History, HistoryPath, NewRun, UtcTime};
//! # fn main() -> Result<(), iogauge_lab::history::HistoryError> {
//! if let Some(history) = History::open_at(&HistoryPath::Default)? {
//!     history.check_writable()?;
//!     let run = NewRun {
//!         kind: "run".to_owned(),
//!         started: UtcTime::now(),
//!         command_line: "iogauge run sim:nvme".to_owned(),
//!         target: "sim:nvme".to_owned(),
//!         load: "randread 4 KiB depth 1".to_owned(),
//!         head: serde_json::json!({}),
//!     };
//!     let mut writer = history.begin(&run)?;
//!     writer.add_step(0, "randread 4 KiB depth 1", &serde_json::json!({"depth": 1}))?;
//!     writer.finish(Ending::Done, 0, &serde_json::json!({}), "81,204 IOPS")?;
//! }
//! # Ok(()) }
//! ```

mod error;
mod export;
mod files;
pub mod fio_files;
mod import;
mod path;
mod process;
mod query;
mod run_id;
mod run_lock;
mod run_ref;
mod schema;
mod stop;
mod store;
mod utc;
mod writer;

pub use error::HistoryError;
pub use export::{
    EXPORT_CSV_COLUMNS, EXPORT_CSV_FORMAT, EXPORT_FORMAT, ExportFormat, ExportFormatError,
};
pub use import::{Imported, Importer, ReadySteps, UnderWay, WholeRun};
pub use path::{HistoryPath, data_directory};
pub use query::{Filter, RunRow, RunState, StateError, StoredRun, StoredStep};
pub use run_id::RunId;
pub use run_ref::RunRef;
pub use schema::IMPORT;
pub use schema::SCHEMA_VERSION;
pub use stop::Stopped;
pub use utc::UtcTime;
pub use writer::{Ending, NewRun, RunWriter};

use process::Surroundings;
use std::io::Write;
use std::path::Path;
use store::{Durability, Store};

/// What to do with runs under way when runs are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// Refuse, and remove nothing.
    Refuse,
    /// Remove them too; their processes find out at their next step.
    Remove,
}

/// An open history.
#[derive(Debug)]
pub struct History {
    store: Store,
    here: Surroundings,
}

impl History {
    /// Opens the history in this file, making the file and its directory where they are missing.
    /// Where it cannot be written (read-only medium, no rights, full disk) it opens for reading,
    /// and [`Self::check_writable`] tells why.
    ///
    /// # Errors
    /// Where there is nothing to open, it is no history, or a later version wrote it.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        Ok(Self { here: Surroundings::here()?, store: Store::open(path)? })
    }

    /// Opens the history meant by `--history`; `None` where runs are not kept.
    ///
    /// # Errors
    /// As [`Self::open`], or where the default place cannot be told.
    pub fn open_at(path: &HistoryPath) -> Result<Option<Self>, HistoryError> {
        path.resolve()?.map(|path| Self::open(&path)).transpose()
    }

    /// Opens the history meant by `--history` for what is kept in it, and makes nothing: where there is no file,
    /// or an empty one, no run is kept. `None` where runs are not kept at all.
    ///
    /// # Errors
    /// As [`Self::open_at`].
    pub fn open_kept(path: &HistoryPath) -> Result<Option<Self>, HistoryError> {
        let open = |path| Ok(Self { here: Surroundings::here()?, store: Store::open_kept(path)? });
        path.resolve()?.as_deref().map(open).transpose()
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Writes a page of the file to see that runs can be kept. For use before a measurement; costs
    /// one flush.
    ///
    /// # Errors
    /// [`HistoryError::ReadOnly`], [`HistoryError::DiskFull`], [`HistoryError::Busy`] …
    pub fn check_writable(&self) -> Result<(), HistoryError> {
        let mut store = self.another()?;
        store.write(Durability::Machine, |_| Ok(()))
    }

    /// Begins a run, whose state is running from now on.
    ///
    /// # Errors
    /// As [`Self::check_writable`], or where `/proc` cannot be read.
    pub fn begin(&self, run: &NewRun) -> Result<RunWriter, HistoryError> {
        RunWriter::begin(self.another()?, run)
    }

    /// Takes up a run again that is over and not done: behind the steps that are kept, others follow.
    ///
    /// # Errors
    /// [`HistoryError::UnderWay`], [`HistoryError::NothingToResume`], or as [`Self::begin`].
    pub fn resume(&self, reference: &RunRef) -> Result<RunWriter, HistoryError> {
        let row = self.resolve(reference)?;
        match row.state {
            RunState::Running => return Err(HistoryError::UnderWay { run: row.id }),
            RunState::Done => return Err(HistoryError::NothingToResume { run: row.id }),
            RunState::Interrupted | RunState::Failed | RunState::Crashed => {}
        }
        let writer = RunWriter::resume(self.another()?, row.id.clone(), row.seq, &row.process)?;
        writer.ok_or(HistoryError::UnderWay { run: row.id })
    }

    /// Begins to keep runs that another program measured.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn importer(&self) -> Result<Importer, HistoryError> {
        Importer::new(self.another()?)
    }

    /// A second connection, to write with while this one reads.
    fn another(&self) -> Result<Store, HistoryError> {
        self.store.refuse_unwritable()?;
        let store = Store::open(self.path())?;
        store.refuse_unwritable()?;
        Ok(store)
    }

    /// Runs without their results, the last added first.
    ///
    /// # Errors
    /// Where the file cannot be read, or a row is damaged.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, HistoryError> {
        let (rows, damaged) = self.store.read(|c| query::list(c, filter, &self.here))?;
        match damaged.into_iter().next() {
            Some((_, error)) => Err(self.store.error(error)),
            None => Ok(rows),
        }
    }

    /// As [`Self::list`], going on where a row is damaged; returns also which are, and why, a line each.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn list_undamaged(
        &self,
        filter: &Filter,
    ) -> Result<(Vec<RunRow>, Vec<String>), HistoryError> {
        let (rows, damaged) = self.store.read(|c| query::list(c, filter, &self.here))?;
        let lines = damaged.iter().map(|(seq, error)| format!("run number {seq}: {error}"));
        Ok((rows, lines.collect()))
    }

    /// Runs under way, the last added first.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn running(&self) -> Result<Vec<RunRow>, HistoryError> {
        self.list(&Filter { state: Some(RunState::Running), ..Filter::default() })
    }

    /// The run a user names.
    ///
    /// # Errors
    /// [`HistoryError::NoSuchRun`] or [`HistoryError::Ambiguous`], or where the file cannot be read.
    pub fn resolve(&self, reference: &RunRef) -> Result<RunRow, HistoryError> {
        let seq = self.seq_of(reference)?;
        self.store.read(|c| query::row_of(c, seq, &self.here))
    }

    /// What a run's document begins with.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn head(&self, reference: &RunRef) -> Result<serde_json::Value, HistoryError> {
        let seq = self.seq_of(reference)?;
        self.store.read(|c| query::head(c, seq))
    }

    /// A run with everything kept of it. Cost: its steps with their histograms in memory.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn show(&self, reference: &RunRef) -> Result<StoredRun, HistoryError> {
        let seq = self.seq_of(reference)?;
        self.store.read(|c| query::show(c, seq, &self.here))
    }

    fn seq_of(&self, reference: &RunRef) -> Result<i64, HistoryError> {
        let (names, seqs) = self.store.read(query::names)?;
        Ok(seqs[reference.pick(&names)?])
    }

    /// Removes runs, all or none of them, and returns their names.
    ///
    /// # Errors
    /// As [`Self::resolve`]; [`HistoryError::StillRunning`]; where the file cannot be written.
    pub fn rm(
        &mut self,
        references: &[RunRef],
        running: Running,
    ) -> Result<Vec<RunId>, HistoryError> {
        let rows =
            references.iter().map(|r| self.resolve(r)).collect::<Result<Vec<_>, HistoryError>>()?;
        self.remove(&rows, running)
    }

    /// Removes every run, gives the space back, and returns how many there were.
    ///
    /// # Errors
    /// [`HistoryError::StillRunning`]; where the file cannot be written.
    pub fn reset(&mut self, running: Running) -> Result<usize, HistoryError> {
        let rows = self.list(&Filter::default())?;
        let removed = self.remove(&rows, running)?.len();
        self.store.shrink()?;
        Ok(removed)
    }

    fn remove(&mut self, rows: &[RunRow], running: Running) -> Result<Vec<RunId>, HistoryError> {
        let under_way: Vec<_> = rows
            .iter()
            .filter(|row| row.state == RunState::Running)
            .map(|row| row.id.clone())
            .collect();
        if running == Running::Refuse && !under_way.is_empty() {
            return Err(HistoryError::StillRunning { runs: under_way });
        }
        self.store.write(Durability::Machine, |t| {
            let mut delete = t.prepare("DELETE FROM run WHERE seq = ?1")?;
            rows.iter().try_for_each(|row| delete.execute([row.seq]).map(|_| ()))
        })?;
        Ok(rows.iter().map(|row| row.id.clone()).collect())
    }

    /// Writes everything kept, one line per step for JSON, [`EXPORT_CSV_COLUMNS`] for CSV; the
    /// first run added comes first. Holds one step in memory at a time. Rows that are damaged are left out;
    /// returns which, and why, a line each.
    ///
    /// # Errors
    /// [`HistoryError::Export`] where the writer fails, or where the file cannot be read.
    pub fn export(
        &self,
        format: ExportFormat,
        writer: &mut dyn Write,
    ) -> Result<Vec<String>, HistoryError> {
        self.store.stream(|c| export::export(c, &self.here, format, writer))
    }

    /// Asks the process of a run to end (SIGTERM), keeping what it measured; without a reference,
    /// of the one run under way. The process is told from others by its start time and boot, and has to hold
    /// the history's lock: a process that a database names is not signalled for that.
    ///
    /// # Errors
    /// [`HistoryError::NothingRunning`], [`HistoryError::SeveralRunning`],
    /// [`HistoryError::NotRunning`], [`HistoryError::Unproven`], [`HistoryError::Elsewhere`], [`HistoryError::Signal`], or as
    /// [`Self::resolve`].
    pub fn stop(&self, reference: Option<&RunRef>) -> Result<Stopped, HistoryError> {
        let row = match reference {
            Some(reference) => self.resolve(reference)?,
            None => {
                let mut rows = self.running()?;
                match (rows.pop(), rows.is_empty()) {
                    (Some(row), true) => row,
                    (None, _) => return Err(HistoryError::NothingRunning),
                    (Some(first), false) => {
                        let mut runs: Vec<_> = rows.into_iter().map(|row| row.id).collect();
                        runs.push(first.id);
                        return Err(HistoryError::SeveralRunning { runs });
                    }
                }
            }
        };
        stop::terminate(&row, &self.here, self.store.files())
    }
}
