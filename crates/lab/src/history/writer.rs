//! Keeps a run while it is measured.

use super::process::ProcessIdentity;
use super::store::{Durability, Store};
use super::{HistoryError, Label, RunId, UtcTime, run_lock};
use rusqlite::{ErrorCode, Transaction, named_params, params};
use serde::Serialize;
use serde_json::Value;

/// What is known about a run before its first step.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The command: `run`, `find`, `suite`, `db`, `import`.
    pub kind: String,
    pub started: UtcTime,
    /// The command line, for the user to repeat. It must not contain passwords.
    pub command_line: String,
    /// The target as typed: `/data`, `sim:nvme`.
    pub target: String,
    /// A short description of the workload: `randread 4 KiB depth 32`.
    pub load: String,
    /// The user's name for it.
    pub label: Option<Label>,
    /// The head of its document, as far as it is known.
    pub head: Value,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It did what was requested.
    Done,
    /// The user ended it early.
    Interrupted,
    /// It ended with a fault.
    Failed,
}

impl Ending {
    fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// Keeps one run, each step in a transaction of its own.
///
/// A step is kept once [`RunWriter::add_step`] returns, whatever happens to the process. It reaches
/// the medium with [`RunWriter::finish`] at the latest, so that no flush of the history disturbs a
/// measurement. A run that is dropped without `finish` shows as crashed when its process ends.
#[derive(Debug)]
pub struct RunWriter {
    store: Store,
    id: RunId,
    seq: i64,
}

impl RunWriter {
    pub(super) fn begin(mut store: Store, run: &NewRun) -> Result<Self, HistoryError> {
        let process = ProcessIdentity::of_this_process()?;
        run_lock::hold(store.files(), &process)?;
        store.defer_checkpoints(true)?;
        let mut id = RunId::generate(run.started);
        let seq = loop {
            let inserted =
                store.write(Durability::Process, |t| insert_run(t, &id, run, &process))?;
            match inserted {
                Some(seq) => break seq,
                None => id = RunId::generate(run.started),
            }
        };
        Ok(Self { store, id, seq })
    }

    /// Resumes a run that was interrupted, failed or crashed: sets it to running and removes its
    /// result. `seq` is its number. `None` if it is done, or another process resumed it in the
    /// meantime.
    pub(super) fn resume(
        mut store: Store,
        id: RunId,
        seq: i64,
        known: &ProcessIdentity,
    ) -> Result<Option<Self>, HistoryError> {
        let process = ProcessIdentity::of_this_process()?;
        run_lock::hold(store.files(), &process)?;
        store.defer_checkpoints(true)?;
        let taken = store.write(Durability::Process, |t| take_up(t, seq, known, &process))?;
        Ok(taken.then_some(Self { store, id, seq }))
    }

    /// Returns the ID of the run.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Keeps one step's result (`StepResult`, `CurvePoint`, …) as JSON and replaces a step with the
    /// same index. Costs a write of the JSON's size to the page cache and no flush.
    ///
    /// # Errors
    /// [`HistoryError::DiskFull`], [`HistoryError::Busy`], [`HistoryError::RunRemoved`] …; the
    /// earlier steps are safe in each case, and the run may continue.
    pub fn add_step(
        &mut self,
        index: u32,
        label: &str,
        result: &impl Serialize,
    ) -> Result<(), HistoryError> {
        let result = self.json(result)?;
        let seq = self.seq;
        let added = self.store.write(Durability::Process, |t| {
            match put_step(t, seq, index, label, &result) {
                // The only constraint that the values cannot guarantee is that the run exists.
                Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                    Ok(false)
                }
                put => put.map(|()| true),
            }
        })?;
        if added { Ok(()) } else { Err(HistoryError::RunRemoved { run: self.id.clone() }) }
    }

    /// Closes the run: sets its state, the exit code of the command, the printed document and the
    /// result in one line. Everything kept of the run is on the medium afterwards; costs a flush.
    ///
    /// # Errors
    /// As [`RunWriter::add_step`].
    pub fn finish(
        mut self,
        ending: Ending,
        exit_code: i32,
        document: &impl Serialize,
        verdict: &str,
    ) -> Result<RunId, HistoryError> {
        let document = self.json(document)?;
        let seq = self.seq;
        self.store.defer_checkpoints(false)?;
        let closed = self.store.write(Durability::Machine, |t| {
            close_run(t, seq, ending, exit_code, &document, verdict)
        })?;
        if closed { Ok(self.id) } else { Err(HistoryError::RunRemoved { run: self.id }) }
    }

    fn json(&self, value: &impl Serialize) -> Result<String, HistoryError> {
        serde_json::to_string(value)
            .map_err(|source| HistoryError::Json { run: self.id.clone(), source })
    }
}

/// Begins a run and returns its number; `None` if another run has the ID.
pub(super) fn insert_run(
    transaction: &Transaction<'_>,
    id: &RunId,
    run: &NewRun,
    process: &ProcessIdentity,
) -> rusqlite::Result<Option<i64>> {
    let inserted = transaction.execute(
        "INSERT INTO run (id, kind, state, started_ns, command_line, target, load, label, head,
                          pid, pid_started_ticks, pid_namespace, boot_id)
         VALUES (:id, :kind, 'running', :started, :command_line, :target, :load, :label, :head,
                 :pid, :ticks, :namespace, :boot)
         ON CONFLICT (id) DO NOTHING",
        named_params! {
            ":id": id.as_str(),
            ":kind": run.kind,
            ":started": run.started.unix_ns(),
            ":command_line": run.command_line,
            ":target": run.target,
            ":load": run.load,
            ":label": run.label.as_ref().map(Label::as_str),
            ":head": run.head,
            ":pid": process.pid,
            ":ticks": process.started_ticks.cast_signed(),
            ":namespace": process.namespace,
            ":boot": process.boot_id,
        },
    )?;
    Ok((inserted == 1).then(|| transaction.last_insert_rowid()))
}

/// Assigns a run that has ended, but is not done, to this process. Returns false if it is no longer
/// in that state.
fn take_up(
    transaction: &Transaction<'_>,
    seq: i64,
    known: &ProcessIdentity,
    process: &ProcessIdentity,
) -> rusqlite::Result<bool> {
    let taken = transaction.execute(
        "UPDATE run SET state = 'running', finished_ns = NULL, exit_code = NULL, document = NULL,
                        verdict = '', pid = :pid, pid_started_ticks = :ticks,
                        pid_namespace = :namespace, boot_id = :boot
         WHERE seq = :seq AND state <> 'done' AND pid = :known_pid
           AND pid_started_ticks = :known_ticks AND boot_id = :known_boot",
        named_params! {
            ":seq": seq,
            ":pid": process.pid,
            ":ticks": process.started_ticks.cast_signed(),
            ":namespace": process.namespace,
            ":boot": process.boot_id,
            ":known_pid": known.pid,
            ":known_ticks": known.started_ticks.cast_signed(),
            ":known_boot": known.boot_id,
        },
    )?;
    Ok(taken == 1)
}

/// Keeps a step of a run, and replaces one with the same index.
pub(super) fn put_step(
    transaction: &Transaction<'_>,
    seq: i64,
    index: u32,
    label: &str,
    result: &str,
) -> rusqlite::Result<()> {
    let mut put = transaction.prepare_cached(
        "INSERT OR REPLACE INTO step (run_seq, step_index, label, recorded_ns, result)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    put.execute(params![seq, index, label, UtcTime::now().unix_ns(), result]).map(drop)
}

/// Closes a run; returns false if it no longer exists.
pub(super) fn close_run(
    transaction: &Transaction<'_>,
    seq: i64,
    ending: Ending,
    exit_code: i32,
    document: &str,
    verdict: &str,
) -> rusqlite::Result<bool> {
    let closed = transaction.execute(
        "UPDATE run SET state = ?2, finished_ns = ?3, exit_code = ?4, document = ?5, verdict = ?6
         WHERE seq = ?1",
        params![seq, ending.as_str(), UtcTime::now().unix_ns(), exit_code, document, verdict],
    )?;
    Ok(closed == 1)
}
