//! Runs that another program measured. Each is kept only once.

use super::process::ProcessIdentity;
use super::store::{Durability, Store};
use super::writer::{close_run, insert_run};
use super::{Ending, HistoryError, NewRun, RunId, UtcTime, run_lock};
use iogauge_model::result::{RunDocument, StepResult};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::BTreeMap;

/// Finds imported runs by their content: the head's `target.content`. The index is not part of the
/// schema, so a history of the same version may lack it.
const CONTENT_INDEX: &str = "CREATE INDEX IF NOT EXISTS import_content
    ON run (json_extract(head, '$.target.content')) WHERE kind = 'import'";

/// A complete run to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRun {
    /// The common fields of all runs. Its kind is [`IMPORT`](super::IMPORT); its head has
    /// `target.content`, the digest of the imported file.
    pub run: NewRun,
    /// Its document without the steps, which are stored separately. `run_id` is filled in.
    pub document: RunDocument,
    /// The result in one line.
    pub verdict: String,
}

/// Steps in their stored form, in one piece of memory, because one thread makes them and another
/// one drops them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadySteps {
    /// Label and JSON of each step.
    text: Vec<u8>,
    /// The offsets in `text` at which label and JSON of each step end.
    ends: Vec<[usize; 2]>,
    /// Why a step is missing.
    error: Option<String>,
}

impl ReadySteps {
    /// Makes an empty value with memory for a number of bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { text: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// Adds a step. An error of the conversion to JSON is reported when the steps are written.
    pub fn push(&mut self, step: &StepResult) {
        let begin = self.text.len();
        self.text.extend_from_slice(step.label.as_bytes());
        let label_end = self.text.len();
        match serde_json::to_writer(&mut self.text, step) {
            Ok(()) => self.ends.push([label_end, self.text.len()]),
            Err(error) => {
                self.text.truncate(begin);
                self.error.get_or_insert(error.to_string());
            }
        }
    }

    /// Returns the size of the steps in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    fn put(&self, t: &Transaction<'_>, seq: i64, first: u32) -> rusqlite::Result<()> {
        if let Some(error) = &self.error {
            return Err(rusqlite::Error::ToSqlConversionFailure(error.clone().into()));
        }
        // Both parts were valid UTF-8 when they were added.
        let text = |range| ToSqlOutput::Borrowed(ValueRef::Text(&self.text[range]));
        let mut put = t.prepare_cached(
            "INSERT INTO step (run_seq, step_index, label, recorded_ns, result)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let now_ns = UtcTime::now().unix_ns();
        let mut begin = 0;
        for (index, [label_end, end]) in (first..).zip(&self.ends) {
            let (label, result) = (text(begin..*label_end), text(*label_end..*end));
            put.execute(params![seq, index, label, now_ns, result])?;
            begin = *end;
        }
        Ok(())
    }
}

/// The outcome of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// The run is new in the history.
    New(RunId),
    /// The run was already in the history.
    Known(RunId),
}

/// The content of a file: a hash of its bytes, and their number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Algorithm and hash: `xxh3-128:99aa…`.
    pub hash: String,
    /// Length of the file in bytes.
    pub length: u64,
}

impl Content {
    /// Returns the stored form of the only run of the file: `xxh3-128:99aa…:4096`.
    #[must_use]
    pub fn whole(&self) -> String {
        format!("{}{}", self.hash, Self::end(self.length))
    }

    /// Returns the stored form of one of several runs, by its number from 1: `xxh3-128:99aa…/2/3:4096`.
    #[must_use]
    pub fn part(&self, number: usize, all: usize) -> String {
        format!("{}/{number}/{all}{}", self.hash, Self::end(self.length))
    }

    /// Returns the end of the stored form, which is the length of the file.
    #[must_use]
    pub fn end(length: u64) -> String {
        format!(":{length}")
    }

    /// Parses the number of a run and the number of all of them.
    fn part_of(&self, stored: &str) -> Option<(usize, usize)> {
        let part = stored.strip_prefix(&self.hash)?.strip_suffix(&Self::end(self.length))?;
        if part.is_empty() {
            return Some((1, 1));
        }
        let (number, all) = part.strip_prefix('/')?.split_once('/')?;
        Some((number.parse().ok()?, all.parse().ok()?))
    }
}

/// A run of which some steps are kept.
#[derive(Debug)]
pub struct UnderWay {
    id: RunId,
    seq: i64,
    steps: u32,
}

/// Keeps runs that arrive in pieces. Without [`Importer::finish`], the runs survive the process but
/// not necessarily the machine.
#[derive(Debug)]
pub struct Importer {
    store: Store,
    process: ProcessIdentity,
}

impl Importer {
    pub(super) fn new(mut store: Store) -> Result<Self, HistoryError> {
        let process = ProcessIdentity::of_this_process()?;
        run_lock::hold(store.files(), &process)?;
        store.write(Durability::Process, |t| t.execute_batch(CONTENT_INDEX))?;
        Ok(Self { store, process })
    }

    /// Returns the runs of a file with this content, in their order; none if one of them is missing.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn known(&self, content: &Content) -> Result<Vec<RunId>, HistoryError> {
        self.store.read(|connection| of_file(connection, content))
    }

    /// Returns true if there may be a run whose content digest ends like this. Scans every imported
    /// run.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn may_know(&self, content_end: &str) -> Result<bool, HistoryError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM run WHERE kind = 'import'
                   AND substr(json_extract(head, '$.target.content'), -length(?1)) = ?1)";
        self.store.read(|connection| {
            connection.prepare_cached(sql)?.query_row([content_end], |row| row.get(0))
        })
    }

    /// Appends steps to an incomplete run. Until it is closed, the run shows as running, and as
    /// crashed after this process has ended.
    ///
    /// # Errors
    /// [`HistoryError::DiskFull`], [`HistoryError::Busy`] …; none of these steps is kept then.
    pub fn put(
        &mut self,
        run: &NewRun,
        under_way: &mut Option<UnderWay>,
        steps: &ReadySteps,
    ) -> Result<(), HistoryError> {
        let process = &self.process;
        let (id, seq, index) = loop {
            let drawn = drawn(under_way.as_ref(), run);
            let kept = self.store.write(Durability::Process, |t| {
                let Some((seq, index)) = begun(t, under_way.as_ref(), &drawn, run, process)? else {
                    return Ok(None);
                };
                steps.put(t, seq, index).map(|()| Some((seq, index)))
            })?;
            if let Some((seq, index)) = kept {
                break (drawn, seq, index);
            }
        };
        *under_way = Some(UnderWay { id, seq, steps: index + steps.ends.len() as u32 });
        Ok(())
    }

    /// Keeps the last steps of a run and closes it, unless there is one with the same content.
    /// Several processes may do this at once.
    ///
    /// # Errors
    /// [`HistoryError::DiskFull`], [`HistoryError::Busy`] …; the run is not closed then.
    pub fn close(
        &mut self,
        whole: &WholeRun,
        content: &str,
        under_way: &mut Option<UnderWay>,
        steps: &ReadySteps,
    ) -> Result<Imported, HistoryError> {
        let WholeRun { run, document, verdict } = whole;
        let process = &self.process;
        loop {
            let id = drawn(under_way.as_ref(), run);
            let mut document = document.clone();
            document.head.run_id = id.to_string();
            let document = serde_json::to_string(&document)
                .map_err(|source| HistoryError::Json { run: id.clone(), source })?;
            let kept = self.store.write(Durability::Process, |t| {
                if let Some(known) = of_content(t, content)? {
                    if let Some(begun) = under_way.as_ref() {
                        remove(t, begun)?;
                    }
                    return Ok(Some(Imported::Known(known)));
                }
                let Some((seq, index)) = begun(t, under_way.as_ref(), &id, run, process)? else {
                    return Ok(None);
                };
                steps.put(t, seq, index)?;
                t.execute(
                    "UPDATE run SET load = ?2, head = ?3 WHERE seq = ?1",
                    params![seq, run.load, run.head],
                )?;
                close_run(t, seq, Ending::Done, 0, &document, verdict)?;
                Ok(Some(Imported::New(id.clone())))
            })?;
            // If another run has the ID, another ID is drawn.
            if let Some(kept) = kept {
                *under_way = None;
                return Ok(kept);
            }
        }
    }

    /// Removes a run that will not be closed.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn discard(&mut self, begun: UnderWay) -> Result<(), HistoryError> {
        self.store.write(Durability::Process, |t| remove(t, &begun))
    }

    /// Removes closed runs.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn remove(&mut self, runs: &[RunId]) -> Result<(), HistoryError> {
        self.store.write(Durability::Process, |t| {
            runs.iter().try_for_each(|id| {
                t.execute("DELETE FROM run WHERE id = ?1", [id.as_str()]).map(drop)
            })
        })
    }

    /// Writes all kept runs to the medium; costs one flush.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn finish(mut self) -> Result<(), HistoryError> {
        self.store.write(Durability::Machine, |_| Ok(()))
    }
}

/// Returns the ID of the run under way, or a new one.
fn drawn(under_way: Option<&UnderWay>, run: &NewRun) -> RunId {
    under_way.map_or_else(|| RunId::generate(run.started), |begun| begun.id.clone())
}

/// Returns the number of the run and of its next step; `None` if another run has the ID.
fn begun(
    t: &Transaction<'_>,
    under_way: Option<&UnderWay>,
    id: &RunId,
    run: &NewRun,
    process: &ProcessIdentity,
) -> rusqlite::Result<Option<(i64, u32)>> {
    match under_way {
        Some(begun) => Ok(Some((begun.seq, begun.steps))),
        None => Ok(insert_run(t, id, run, process)?.map(|seq| (seq, 0))),
    }
}

fn remove(t: &Transaction<'_>, begun: &UnderWay) -> rusqlite::Result<()> {
    t.execute("DELETE FROM run WHERE seq = ?1", [begun.seq]).map(drop)
}

fn of_content(connection: &Connection, content: &str) -> rusqlite::Result<Option<RunId>> {
    let sql = "SELECT id FROM run
               WHERE kind = 'import' AND json_extract(head, '$.target.content') = ?1";
    let id = connection.prepare_cached(sql)?.query_row([content], |row| row.get(0)).optional()?;
    Ok(id.map(RunId::stored))
}

fn of_file(connection: &Connection, content: &Content) -> rusqlite::Result<Vec<RunId>> {
    let sql = "SELECT json_extract(head, '$.target.content'), id FROM run
               WHERE kind = 'import' AND json_extract(head, '$.target.content') >= ?1
               AND json_extract(head, '$.target.content') < ?1 || '~'";
    let mut query = connection.prepare_cached(sql)?;
    let rows = query.query_map([&content.hash], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    // A version of iogauge that reads more of a file makes more runs of it.
    let mut by_number: BTreeMap<usize, BTreeMap<usize, RunId>> = BTreeMap::new();
    for row in rows {
        let (stored, id) = row?;
        if let Some((number, all)) = content.part_of(&stored) {
            by_number.entry(all).or_default().entry(number).or_insert(RunId::stored(id));
        }
    }
    let whole = by_number.into_iter().find(|(all, runs)| runs.len() == *all);
    Ok(whole.map(|(_, runs)| runs.into_values().collect()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_content_tells_the_part_of_a_file() {
        let content = Content { hash: "xxh3-128:ab".to_owned(), length: 7 };
        assert_eq!(content.part_of(&content.whole()), Some((1, 1)));
        assert_eq!(content.part_of(&content.part(2, 3)), Some((2, 3)));
        for other in ["xxh3-128:ab:8", "xxh3-128:abc:7", "xxh3-128:ab/2:7", "xxh3-128:ab/2/x:7"] {
            assert_eq!(content.part_of(other), None, "{other}");
        }
    }
}
