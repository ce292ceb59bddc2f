//! Imports fio's output files as runs of the history.
//!
//! A file is streamed: one thread reads it and makes steps, the other writes them. At most a few
//! mebibytes are buffered between them, whatever the size of the file.

mod about;
mod batches;
mod fingerprint;

use crate::history::{
    Content, HistoryError, Imported, Importer, Label, ReadySteps, RunId, UnderWay, UtcTime,
};
use about::About;
use batches::{Batch, Part, WholeFile};
use fingerprint::content_of;
pub use iogauge_fio::Problem;
use iogauge_fio::{Reading, read_results};
use iogauge_model::result::{FioResult, StepResult};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

/// Bytes per read.
const BUFFER_BYTES: usize = 1 << 17;
/// Bytes of JSON that are written in one transaction.
const BATCH_BYTES: usize = 2 << 20;
/// Size of a file from which hashing takes longer than checking whether a file of the same length
/// is known.
const LONG_FILE_BYTES: u64 = 16 << 20;
/// Maximum number of batches that wait to be written.
const BATCHES_WAITING: usize = 4;
/// Results of more systems in one file are left out.
const MOST_SYSTEMS: usize = 1000;

/// The contents of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FioFile {
    /// Its results, in order, each with its system if the file names it.
    pub results: Vec<(Option<String>, FioResult)>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Number of reports that were left out because a later one of the same run follows.
    pub interim_reports: u64,
}

impl FioFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be opened or read. Contents that cannot be parsed are in [`Self::problems`].
    pub fn read(path: &Path) -> io::Result<Self> {
        let (file, _) = open(path)?;
        let mut read = Self { results: Vec::new(), problems: Vec::new(), interim_reports: 0 };
        let input = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut system = None;
        read_results(&path.display().to_string(), input, &mut |found| match found {
            Reading::System(next) => system = next.map(|name| name.to_string()),
            Reading::Result(result) => read.results.push((system.clone(), *result)),
            Reading::Interim(reports) => read.interim_reports = reports,
            Reading::Problem(problem) => read.problems.push(problem),
        })?;
        Ok(read)
    }

    /// Returns true if its results are of several systems.
    #[must_use]
    pub fn has_several_systems(&self) -> bool {
        let mut systems = self.results.iter().map(|(system, _)| system);
        let first = systems.next();
        systems.any(|system| Some(system) != first)
    }
}

/// Returns the name of a system from the one that the user typed and the one in the file. If the file has several, the
/// typed name is put before each; otherwise it replaces the one in the file. `None` if there is neither.
#[must_use]
pub fn system_name(typed: Option<&str>, own: Option<&str>, has_several: bool) -> Option<String> {
    match (typed, own) {
        (Some(typed), Some(own)) if has_several => Some(format!("{typed} {own}")),
        (Some(name), _) | (None, Some(name)) => Some(name.to_owned()),
        (None, None) => None,
    }
}

/// Why a file was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be opened or read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The history cannot store it.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// An imported file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// Its runs: one, or one for each system that it names.
    pub runs: Vec<ImportedRun>,
    /// Number of reports that were left out because a later one of the same run follows.
    pub interim_reports: u64,
}

/// An imported run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRun {
    pub run: Imported,
    /// Its system as named in the file.
    pub system: Option<String>,
    /// Number of its results; 0 for a file that was already known.
    pub results: u32,
}

/// What accompanies the steps of an imported run.
pub struct Words<'a> {
    /// Returns the measured system, by which charts group runs, from its name in the file, and true if the file has
    /// several ([`system_name`]).
    pub system: &'a dyn Fn(Option<&str>, bool) -> String,
    /// The label of the runs.
    pub label: Option<Label>,
    /// The command line as typed.
    pub command_line: String,
    /// Returns the result in one line, from the first step and the number of steps.
    pub verdict: &'a dyn Fn(&StepResult, u32) -> String,
}

/// Imports a file, unless its contents are already in the history, and reports what could not be
/// read. Returns `None` if it has no result. Costs a flush when the importer is finished, and
/// memory for a few batches and for the JSON of the longest job or the text of the longest run.
///
/// # Errors
/// The file cannot be read or the history cannot be written. Nothing of the file is kept then.
pub fn import(
    importer: &mut Importer,
    path: &Path,
    words: &Words<'_>,
    tell: &mut dyn FnMut(Problem),
) -> Result<Option<ImportedFile>, ImportError> {
    let (file, modified) = open(path)?;
    let file_about = file.metadata()?;
    let length = file_about.len();
    // Checking whether it is known is far quicker than parsing it. A pipe can be read only once.
    if file_about.is_file()
        && (length < LONG_FILE_BYTES || importer.may_know(&Content::end(length))?)
    {
        let known = importer.known(&content_of(&file)?)?;
        if !known.is_empty() {
            return Ok(Some(already(known)));
        }
    }
    let about = About::new(path, modified);
    let (sender, batches) = sync_channel(BATCHES_WAITING);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || batches::read(file, about, &sender));
        let mut open = Vec::new();
        let kept = keep(importer, batches, words, tell, &mut open);
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let closed = match (kept, read) {
            (Ok(()), Ok(file)) => close(importer, &file, words, &mut open),
            (Err(error), _) => Err(error.into()),
            (_, Err(error)) => Err(error.into()),
        };
        if closed.is_err() {
            for begun in open.into_iter().filter_map(|run| run.under_way) {
                // The user needs the first error, not this one.
                let _ = importer.discard(begun);
            }
        }
        closed
    })
}

/// Returns what an import of a file that is in the history found.
fn already(known: Vec<RunId>) -> ImportedFile {
    let run = |id| ImportedRun { run: Imported::Known(id), system: None, results: 0 };
    ImportedFile { runs: known.into_iter().map(run).collect(), interim_reports: 0 }
}

fn open(path: &Path) -> io::Result<(File, UtcTime)> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::Error::other("it is a directory; hint: name the files in it"));
    }
    let modified = about.modified().map_or_else(|_| UtcTime::now(), UtcTime::from);
    Ok((file, modified))
}

/// A run that is not closed.
#[derive(Default)]
struct OpenRun {
    under_way: Option<UnderWay>,
    /// Steps that are written when the run is closed.
    last: ReadySteps,
}

/// Writes the batches as they arrive, except the last one, which is written when the runs are closed.
fn keep(
    importer: &mut Importer,
    batches: Receiver<Batch>,
    words: &Words<'_>,
    tell: &mut dyn FnMut(Problem),
    open: &mut Vec<OpenRun>,
) -> Result<(), HistoryError> {
    let mut waiting: Vec<Part> = Vec::new();
    for Batch { parts, problems } in batches {
        problems.into_iter().for_each(&mut *tell);
        if parts.is_empty() {
            continue;
        }
        for Part { number, about, steps } in std::mem::replace(&mut waiting, parts) {
            let under_way = &mut opened(open, number).under_way;
            importer.put(&about.run(None, false, words).run, under_way, &steps)?;
        }
    }
    for Part { number, steps, .. } in waiting {
        opened(open, number).last = steps;
    }
    Ok(())
}

/// Returns the run of a system.
fn opened(open: &mut Vec<OpenRun>, number: usize) -> &mut OpenRun {
    if open.len() <= number {
        open.resize_with(number + 1, OpenRun::default);
    }
    &mut open[number]
}

/// Closes the run of each system: all of them or none.
fn close(
    importer: &mut Importer,
    file: &WholeFile,
    words: &Words<'_>,
    open: &mut Vec<OpenRun>,
) -> Result<Option<ImportedFile>, ImportError> {
    let all = file.systems.len();
    let mut runs: Vec<ImportedRun> = Vec::new();
    for (number, about) in file.systems.iter().enumerate() {
        let content =
            if all == 1 { file.content.whole() } else { file.content.part(number + 1, all) };
        let whole = about.run(Some(&content), all > 1, words);
        let OpenRun { under_way, last } = opened(open, number);
        match importer.close(&whole, &content, under_way, last) {
            Ok(run) => {
                let system = about.system.as_deref().map(str::to_owned);
                runs.push(ImportedRun { run, system, results: about.results });
            }
            Err(error) => {
                let new = runs.into_iter().filter_map(|run| match run.run {
                    Imported::New(id) => Some(id),
                    Imported::Known(_) => None,
                });
                // The user needs the first error, not this one.
                let _ = importer.remove(&new.collect::<Vec<_>>());
                return Err(error.into());
            }
        }
    }
    let interim_reports = file.interim_reports;
    Ok((!runs.is_empty()).then_some(ImportedFile { runs, interim_reports }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_name_replaces_one_system_and_precedes_several() {
        let name = |typed, own, several| system_name(typed, own, several);
        assert_eq!(name(None, None, false), None);
        assert_eq!(name(None, Some("A"), true).as_deref(), Some("A"));
        assert_eq!(name(Some("x"), None, true).as_deref(), Some("x"));
        assert_eq!(name(Some("x"), Some("A"), false).as_deref(), Some("x"));
        assert_eq!(name(Some("x"), Some("A"), true).as_deref(), Some("x A"));
    }
}
