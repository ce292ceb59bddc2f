//! The history: every run, kept step by step in one SQLite file.
//!
//! A run begins before its first step and is closed after its last. Each change is a transaction. A
//! process that dies, even by `kill -9`, loses at most the step under way; its run then shows as
//! crashed. Any number of processes may write and read at once.
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
//!         label: None,
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
mod label;
mod path;
mod process;
mod query;
mod results;
mod run_id;
mod run_lock;
mod run_ref;
mod runs;
mod schema;
mod stop;
mod store;
mod utc;
mod writer;

pub use error::HistoryError;
pub use export::{
    EXPORT_CSV_COLUMNS, EXPORT_CSV_FORMAT, EXPORT_FORMAT, ExportFormat, ExportFormatError,
};
pub use import::{Content, Imported, Importer, ReadySteps, UnderWay, WholeRun};
pub use label::Label;
pub use path::{HistoryPath, data_directory};
pub use query::{Filter, RunRow, RunState, StateError, StoredRun, StoredStep};
pub use results::KeptResult;
pub use run_id::RunId;
pub use run_ref::RunRef;
pub use runs::Runs;
pub use schema::IMPORT;
pub use schema::SCHEMA_VERSION;
pub use stop::Stopped;
pub use utc::UtcTime;
pub use writer::{Ending, NewRun, RunWriter};

use process::Surroundings;
use std::io::Write;
use std::path::Path;
use store::{Durability, Store};

/// What to do with running runs when runs are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// Refuses, and removes nothing.
    Refuse,
    /// Removes them, too. Their processes notice at their next step.
    Remove,
}

/// An open history.
#[derive(Debug)]
pub struct History {
    store: Store,
    here: Surroundings,
}

impl History {
    /// Opens the history in this file. Makes the file and its directory if they are missing. If the
    /// history cannot be written (read-only medium, no permission, full disk), opens it for
    /// reading; [`Self::check_writable`] then returns the reason.
    ///
    /// # Errors
    /// The file cannot be opened, is not a history, or was written by a later version.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        Ok(Self { here: Surroundings::here()?, store: Store::open(path)? })
    }

    /// Opens the history given by `--history`; `None` if runs are not kept.
    ///
    /// # Errors
    /// As [`Self::open`], or the default path is unknown.
    pub fn open_at(path: &HistoryPath) -> Result<Option<Self>, HistoryError> {
        path.resolve()?.map(|path| Self::open(&path)).transpose()
    }

    /// Opens the history given by `--history` for the runs in it, and makes nothing: a missing or
    /// empty file is a history without runs. `None` if runs are not kept.
    ///
    /// # Errors
    /// As [`Self::open_at`].
    pub fn open_kept(path: &HistoryPath) -> Result<Option<Self>, HistoryError> {
        let open = |path| Ok(Self { here: Surroundings::here()?, store: Store::open_kept(path)? });
        path.resolve()?.as_deref().map(open).transpose()
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Writes a page of the file to check that runs can be kept. Call it before a measurement;
    /// costs one flush.
    ///
    /// # Errors
    /// [`HistoryError::ReadOnly`], [`HistoryError::DiskFull`], [`HistoryError::Busy`] …
    pub fn check_writable(&self) -> Result<(), HistoryError> {
        let mut store = self.another()?;
        store.write(Durability::Machine, |_| Ok(()))
    }

    /// Begins a run and sets its state to running.
    ///
    /// # Errors
    /// As [`Self::check_writable`], or `/proc` cannot be read.
    pub fn begin(&self, run: &NewRun) -> Result<RunWriter, HistoryError> {
        RunWriter::begin(self.another()?, run)
    }

    /// Resumes a run that ended without being done. New steps follow the kept ones.
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

    /// Prepares to keep runs that another program measured.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn importer(&self) -> Result<Importer, HistoryError> {
        Importer::new(self.another()?)
    }

    /// Opens a second connection, to write while this one reads.
    fn another(&self) -> Result<Store, HistoryError> {
        self.store.refuse_unwritable()?;
        let store = Store::open(self.path())?;
        store.refuse_unwritable()?;
        Ok(store)
    }

    /// Returns runs without their results, newest first.
    ///
    /// # Errors
    /// The file cannot be read, or a row is damaged.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, HistoryError> {
        let (rows, damaged) = self.store.read(|c| query::list(c, filter, &self.here))?;
        match damaged.into_iter().next() {
            Some((_, error)) => Err(self.store.error(error)),
            None => Ok(rows),
        }
    }

    /// As [`Self::list`], but skips damaged rows. Also returns one line for each of them, with the
    /// reason.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn list_undamaged(
        &self,
        filter: &Filter,
    ) -> Result<(Vec<RunRow>, Vec<String>), HistoryError> {
        let (rows, damaged) = self.store.read(|c| query::list(c, filter, &self.here))?;
        let lines = damaged.iter().map(|(seq, error)| format!("run number {seq}: {error}"));
        Ok((rows, lines.collect()))
    }

    /// Returns the running runs, newest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn running(&self) -> Result<Vec<RunRow>, HistoryError> {
        self.list(&Filter { state: Some(RunState::Running), ..Filter::default() })
    }

    /// Returns the run that a user names.
    ///
    /// # Errors
    /// [`HistoryError::NoSuchRun`] or [`HistoryError::Ambiguous`], or the file cannot be read.
    pub fn resolve(&self, reference: &RunRef) -> Result<RunRow, HistoryError> {
        let seq = self.seq_of(reference)?;
        self.store.read(|c| query::row_of(c, seq, &self.here))
    }

    /// Returns the head of a run's document.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn head(&self, reference: &RunRef) -> Result<serde_json::Value, HistoryError> {
        let seq = self.seq_of(reference)?;
        self.store.read(|c| query::head(c, seq))
    }

    /// Returns a run with everything kept of it. All its steps and their histograms are in memory.
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

    /// Removes runs, all or none of them, and returns their IDs.
    ///
    /// # Errors
    /// As [`Self::resolve`]; [`HistoryError::StillRunning`]; the file cannot be written.
    pub fn rm(
        &mut self,
        references: &[RunRef],
        running: Running,
    ) -> Result<Vec<RunId>, HistoryError> {
        self.remove(&self.distinct(references)?, running)
    }

    /// Returns the runs that users name, each once.
    fn distinct(&self, references: &[RunRef]) -> Result<Vec<RunRow>, HistoryError> {
        let mut rows: Vec<RunRow> = Vec::new();
        for reference in references {
            let row = self.resolve(reference)?;
            if rows.iter().all(|other| other.id != row.id) {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// Removes every run, releases the space, and returns the number of runs.
    ///
    /// # Errors
    /// [`HistoryError::StillRunning`]; the file cannot be written.
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
            let mut delete = t.prepare("DELETE FROM main.run WHERE seq = ?1")?;
            rows.iter().try_for_each(|row| delete.execute([row.seq]).map(|_| ()))
        })?;
        Ok(rows.iter().map(|row| row.id.clone()).collect())
    }

    /// Writes everything kept, oldest run first: one line for each step for JSON,
    /// [`EXPORT_CSV_COLUMNS`] for CSV. Holds one step in memory at a time. Skips damaged rows and
    /// returns one line for each of them, with the reason.
    ///
    /// # Errors
    /// [`HistoryError::Export`] if the writer fails, or the file cannot be read.
    pub fn export(
        &self,
        format: ExportFormat,
        writer: &mut dyn Write,
    ) -> Result<Vec<String>, HistoryError> {
        self.store.stream(|c| export::export(c, &self.here, format, writer))
    }

    /// Asks the process of a run to end (SIGTERM) and to keep what it measured. Without a
    /// reference, uses the only running run. The process is identified by its start time and boot,
    /// and must hold the history's lock: the content of a database alone is no reason to signal a
    /// process.
    ///
    /// # Errors
    /// [`HistoryError::NothingRunning`], [`HistoryError::SeveralRunning`],
    /// [`HistoryError::NotRunning`], [`HistoryError::Unproven`], [`HistoryError::Elsewhere`],
    /// [`HistoryError::Signal`], or as [`Self::resolve`].
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
