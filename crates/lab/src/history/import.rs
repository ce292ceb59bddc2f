//! Runs that were measured by another program: kept whole, and once.

use super::process::ProcessIdentity;
use super::store::{Durability, Store};
use super::writer::{close_run, insert_run, put_step};
use super::{Ending, HistoryError, NewRun, RunId};
use iogauge_model::result::{RunDocument, StepResult};
use rusqlite::{OptionalExtension, Transaction};

/// The kind of the runs that are kept here.
pub const IMPORT: &str = "import";

/// Finds imported runs by their content: the head's `target.content`. Not one of the tables, which
/// a history of the same version may be without.
const CONTENT_INDEX: &str = "CREATE INDEX IF NOT EXISTS import_content
    ON run (json_extract(head, '$.target.content')) WHERE kind = 'import'";

/// A run to be kept, with everything that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRun {
    /// What every run has. Its kind is [`IMPORT`]; its head has `target.content`, which tells what
    /// was imported from everything else.
    pub run: NewRun,
    /// Its document without the steps, which are kept once; `run_id` is filled in.
    pub document: RunDocument,
    /// The result in one line.
    pub verdict: String,
}

/// What became of a run that was to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// It is in the history now.
    New(RunId),
    /// It was there before.
    Known(RunId),
}

/// Keeps runs, each in a transaction of its own. What is dropped without
/// [`Importer::finish`] outlives the process, but perhaps not the machine.
#[derive(Debug)]
pub struct Importer {
    store: Store,
    process: ProcessIdentity,
}

impl Importer {
    pub(super) fn new(mut store: Store) -> Result<Self, HistoryError> {
        let process = ProcessIdentity::of_this_process()?;
        store.write(Durability::Process, |t| t.execute_batch(CONTENT_INDEX))?;
        Ok(Self { store, process })
    }

    /// Keeps a run with its steps, unless one of the same content is there; several processes may
    /// do so at once. One step is in memory at a time.
    ///
    /// # Errors
    /// [`HistoryError::DiskFull`], [`HistoryError::Busy`] …; the run is then not in the history.
    pub fn keep<S: Iterator<Item = StepResult>>(
        &mut self,
        mut whole: WholeRun,
        steps: impl Fn() -> S,
    ) -> Result<Imported, HistoryError> {
        let content = whole.run.head.pointer("/target/content").and_then(|c| c.as_str());
        let content = content.unwrap_or_default().to_owned();
        loop {
            let id = RunId::generate(whole.run.started);
            whole.document.head.run_id = id.to_string();
            let document = serde_json::to_string(&whole.document)
                .map_err(|source| HistoryError::Json { run: id.clone(), source })?;
            let process = &self.process;
            let kept = self.store.write(Durability::Process, |t| {
                if let Some(known) = of_content(t, &content)? {
                    return Ok(Some(Imported::Known(known)));
                }
                let Some(seq) = insert_run(t, &id, &whole.run, process)? else { return Ok(None) };
                for (index, step) in (0..).zip(steps()) {
                    let result = serde_json::to_string(&step)
                        .map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
                    put_step(t, seq, index, &step.label, &result)?;
                }
                close_run(t, seq, Ending::Done, 0, &document, &whole.verdict)?;
                Ok(Some(Imported::New(id.clone())))
            })?;
            // Where another run has the name, another one is drawn.
            if let Some(kept) = kept {
                return Ok(kept);
            }
        }
    }

    /// Puts everything kept on the medium; costs one flush.
    ///
    /// # Errors
    /// As [`Self::keep`].
    pub fn finish(mut self) -> Result<(), HistoryError> {
        let version = super::SCHEMA_VERSION;
        self.store.write(Durability::Machine, |t| t.pragma_update(None, "user_version", version))
    }
}

fn of_content(t: &Transaction<'_>, content: &str) -> rusqlite::Result<Option<RunId>> {
    let sql = "SELECT id FROM run
               WHERE kind = 'import' AND json_extract(head, '$.target.content') = ?1";
    let id = t.prepare_cached(sql)?.query_row([content], |row| row.get(0)).optional()?;
    Ok(id.map(RunId::stored))
}
