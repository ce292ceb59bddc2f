//! Runs that were measured by another program: kept whole, and once.

use super::process::ProcessIdentity;
use super::store::{Durability, Store};
use super::{HistoryError, NewRun, RunId, UtcTime};
use iogauge_model::result::RunDocument;
use rusqlite::{OptionalExtension, Transaction, named_params, params};

/// Finds imported runs by their content: the head's `target.content`. Not one of the tables, which
/// a history of the same version may be without.
const CONTENT_INDEX: &str = "CREATE INDEX IF NOT EXISTS import_content
    ON run (json_extract(head, '$.target.content')) WHERE kind = 'import'";

/// A run to be kept, with everything that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRun {
    /// What every run has. Its kind is `import`; its head has `target.content`, which tells what
    /// was imported from everything else.
    pub run: NewRun,
    /// Its document, whose steps are the run's; `run_id` is filled in.
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

    /// Keeps a run, unless one of the same content is there; several processes may do so at once.
    ///
    /// # Errors
    /// [`HistoryError::DiskFull`], [`HistoryError::Busy`] …; the run is then not in the history.
    pub fn keep(&mut self, mut whole: WholeRun) -> Result<Imported, HistoryError> {
        let content = whole.run.head.pointer("/target/content").and_then(|c| c.as_str());
        let content = content.unwrap_or_default().to_owned();
        loop {
            let id = RunId::generate(whole.run.started);
            whole.document.head.run_id = id.to_string();
            let written = Written::of(&id, &whole)?;
            let process = &self.process;
            let kept = self.store.write(Durability::Process, |t| {
                if let Some(known) = of_content(t, &content)? {
                    return Ok(Some(Imported::Known(known)));
                }
                Ok(insert(t, &id, &whole, &written, process)?.then(|| Imported::New(id.clone())))
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

/// What goes into the tables as JSON.
struct Written {
    document: String,
    steps: Vec<String>,
}

impl Written {
    fn of(id: &RunId, whole: &WholeRun) -> Result<Self, HistoryError> {
        let failed = |source| HistoryError::Json { run: id.clone(), source };
        let steps = whole.document.steps.iter().map(serde_json::to_string);
        Ok(Self {
            document: serde_json::to_string(&whole.document).map_err(failed)?,
            steps: steps.collect::<Result<_, _>>().map_err(failed)?,
        })
    }
}

fn of_content(t: &Transaction<'_>, content: &str) -> rusqlite::Result<Option<RunId>> {
    let sql = "SELECT id FROM run
               WHERE kind = 'import' AND json_extract(head, '$.target.content') = ?1";
    let id = t.prepare_cached(sql)?.query_row([content], |row| row.get(0)).optional()?;
    Ok(id.map(RunId::stored))
}

/// True where the run is in, false where another one has its name.
fn insert(
    t: &Transaction<'_>,
    id: &RunId,
    whole: &WholeRun,
    written: &Written,
    process: &ProcessIdentity,
) -> rusqlite::Result<bool> {
    let WholeRun { run, document, verdict } = whole;
    let now = UtcTime::now().unix_ns();
    let inserted = t.execute(
        "INSERT INTO run (id, kind, state, started_ns, finished_ns, exit_code, verdict,
                          command_line, target, load, head, document,
                          pid, pid_started_ticks, pid_namespace, boot_id)
         VALUES (:id, :kind, 'done', :started, :finished, 0, :verdict,
                 :command_line, :target, :load, :head, :document, :pid, :ticks, :namespace, :boot)
         ON CONFLICT (id) DO NOTHING",
        named_params! {
            ":id": id.as_str(),
            ":kind": run.kind,
            ":started": run.started.unix_ns(),
            ":finished": now,
            ":verdict": verdict,
            ":command_line": run.command_line,
            ":target": run.target,
            ":load": run.load,
            ":head": run.head,
            ":document": written.document,
            ":pid": process.pid,
            ":ticks": process.started_ticks.cast_signed(),
            ":namespace": process.namespace,
            ":boot": process.boot_id,
        },
    )?;
    if inserted == 0 {
        return Ok(false);
    }
    let seq = t.last_insert_rowid();
    let mut add = t.prepare_cached(
        "INSERT INTO step (run_seq, step_index, label, recorded_ns, result)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (index, (step, result)) in document.steps.iter().zip(&written.steps).enumerate() {
        add.execute(params![seq, index as u32, step.label, now, result])?;
    }
    Ok(true)
}
