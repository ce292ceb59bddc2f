//! Imports fio's output files as runs of the history.
//!
//! A file is streamed: one thread reads it and makes steps, the other writes them. At most a few
//! mebibytes are buffered between them, whatever the size of the file.

use crate::history::{
    HistoryError, IMPORT, Imported, Importer, Label, NewRun, ReadySteps, UnderWay, UtcTime,
    WholeRun,
};
pub use iogauge_fio::Problem;
use iogauge_fio::{Reading, read_results};
use iogauge_model::result::{
    Environment, FioResult, FioTarget, Head, RUN_FORMAT, RunDocument, StepResult, TargetFacts,
    Workload,
};
use serde_json::json;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use xxhash_rust::xxh3::Xxh3;

/// Bytes per read.
const BUFFER_BYTES: usize = 1 << 17;
/// Bytes of JSON that are written in one transaction.
const BATCH_BYTES: usize = 2 << 20;
/// Size of a file from which hashing takes longer than checking whether a file of the same length
/// is known.
const LONG_FILE_BYTES: u64 = 16 << 20;
/// Maximum number of batches that wait to be written.
const BATCHES_WAITING: usize = 4;

/// The contents of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FioFile {
    /// Its results, in order.
    pub results: Vec<FioResult>,
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
        read_results(&path.display().to_string(), input, &mut |found| match found {
            Reading::Result(result) => read.results.push(*result),
            Reading::Interim(reports) => read.interim_reports = reports,
            Reading::Problem(problem) => read.problems.push(problem),
        })?;
        Ok(read)
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
    /// Its run.
    pub run: Imported,
    /// Number of its results; 0 for a file that was already known.
    pub results: u32,
    /// Number of reports that were left out because a later one of the same run follows.
    pub interim_reports: u64,
}

/// What accompanies the steps of an imported run.
pub struct Words<'a> {
    /// The measured system. Charts group runs by it.
    pub system: String,
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
        && (length < LONG_FILE_BYTES || importer.may_know(&content_end(length))?)
        && let Some(known) = importer.known(&content_of(&file)?)?
    {
        return Ok(Some(ImportedFile {
            run: Imported::Known(known),
            results: 0,
            interim_reports: 0,
        }));
    }
    let about = About::new(path, modified);
    let (sender, batches) = sync_channel(BATCHES_WAITING);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || read_batches(file, about, &sender));
        let mut under_way = None;
        let kept = keep(importer, batches, words, tell, &mut under_way);
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let closed = match (kept, read) {
            (Ok(last), Ok((about, content))) => {
                close(importer, last, &about, &content, words, &mut under_way)
            }
            (Err(error), _) => Err(error.into()),
            (_, Err(error)) => Err(error.into()),
        };
        if closed.is_err()
            && let Some(begun) = under_way
        {
            // The user needs the first error, not this one.
            let _ = importer.discard(begun);
        }
        closed
    })
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

/// Steps to be written, with what is known about their file by then.
struct Batch {
    steps: ReadySteps,
    problems: Vec<Problem>,
    about: About,
}

/// What is known about a file, as far as it has been read.
#[derive(Debug, Clone)]
struct About {
    path: String,
    modified: UtcTime,
    results: u32,
    interim_reports: u64,
    reported_unix_seconds: Option<i64>,
    first: Option<Box<FioResult>>,
}

impl About {
    fn new(path: &Path, modified: UtcTime) -> Self {
        Self {
            path: path.display().to_string(),
            modified,
            results: 0,
            interim_reports: 0,
            reported_unix_seconds: None,
            first: None,
        }
    }

    fn add(&mut self, result: &FioResult) {
        self.first.get_or_insert_with(|| Box::new(result.clone()));
        self.results += 1;
        let reported = [self.reported_unix_seconds, result.reported_unix_seconds];
        self.reported_unix_seconds = reported.into_iter().flatten().min();
    }

    fn load(&self) -> String {
        let label = self.first.as_ref().map_or_else(String::new, |first| first.label());
        match self.results {
            0 | 1 => label,
            all => format!("{label} and {} more", all - 1),
        }
    }

    /// Returns when fio reported the first result, or the file's modification time if it did not.
    fn started(&self) -> UtcTime {
        let reported = self.reported_unix_seconds.and_then(|s| s.checked_mul(1_000_000_000));
        reported.map_or(self.modified, UtcTime::from_unix_ns)
    }

    /// Returns the run of the file. Without `content` the run is incomplete.
    fn run(&self, content: Option<&str>, words: &Words<'_>) -> WholeRun {
        let started = self.started();
        let version = self.first.as_ref().map_or("", |first| &first.fio_version);
        let target = TargetFacts::Fio(FioTarget {
            path: self.path.clone(),
            fio_version: version.to_owned(),
            system: words.system.clone(),
            content: content.map(str::to_owned),
        });
        let head = Head {
            format: RUN_FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: String::new(),
            started: started.to_string(),
            target,
            load: Workload::label(self.load()),
            label: None,
            via: None,
            host_parts: Vec::new(),
        };
        let run = NewRun {
            kind: IMPORT.to_owned(),
            started,
            command_line: words.command_line.clone(),
            target: self.path.clone(),
            load: self.load(),
            label: words.label.clone(),
            head: json!(head),
        };
        let document = RunDocument {
            head,
            steps: Vec::new(),
            interrupted: false,
            caveats: Vec::new(),
            environment: Environment::default(),
        };
        let verdict = self.first.as_ref().map(|f| (words.verdict)(&f.to_step(), self.results));
        WholeRun { run, document, verdict: verdict.unwrap_or_default() }
    }
}

/// Reads a file and sends its steps in batches. Returns what is known about the file, and its
/// content digest.
fn read_batches(
    file: File,
    mut about: About,
    batches: &SyncSender<Batch>,
) -> io::Result<(About, String)> {
    let unwanted = Cell::new(false);
    let input = Fingerprint { input: file, hash: Xxh3::new(), length: 0, ends: &unwanted };
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let (mut steps, mut problems) = (ReadySteps::default(), Vec::new());
    let mut problem_bytes = 0;
    let path = about.path.clone();
    read_results(&path, &mut input, &mut |found| {
        match found {
            Reading::Problem(problem) => {
                problem_bytes += problem.reason.len();
                problems.push(problem);
            }
            Reading::Interim(reports) => about.interim_reports = reports,
            Reading::Result(result) => {
                about.add(&result);
                steps.push(&result.into_step());
            }
        }
        if steps.bytes() + problem_bytes >= BATCH_BYTES {
            problem_bytes = 0;
            // Steps are far smaller than a batch; a full batch exceeds its size by at most one
            // step.
            let next = ReadySteps::with_capacity(BATCH_BYTES + BATCH_BYTES / 8);
            let (steps, problems) =
                (std::mem::replace(&mut steps, next), std::mem::take(&mut problems));
            let batch = Batch { steps, problems, about: about.clone() };
            unwanted.set(unwanted.get() || batches.send(batch).is_err());
        }
    })?;
    // If the receiver is gone, it reports the reason.
    let _ = batches.send(Batch { steps, problems, about: about.clone() });
    Ok((about, input.into_inner().text()))
}

/// Writes the batches as they arrive, except the last one, which is written when the run is closed.
fn keep(
    importer: &mut Importer,
    batches: Receiver<Batch>,
    words: &Words<'_>,
    tell: &mut dyn FnMut(Problem),
    under_way: &mut Option<UnderWay>,
) -> Result<ReadySteps, HistoryError> {
    let mut waiting: Option<(ReadySteps, About)> = None;
    for Batch { steps, problems, about } in batches {
        problems.into_iter().for_each(&mut *tell);
        if let Some((steps, about)) = waiting.replace((steps, about)) {
            importer.put(&about.run(None, words).run, under_way, &steps)?;
        }
    }
    Ok(waiting.map(|(steps, _)| steps).unwrap_or_default())
}

fn close(
    importer: &mut Importer,
    last: ReadySteps,
    about: &About,
    content: &str,
    words: &Words<'_>,
    under_way: &mut Option<UnderWay>,
) -> Result<Option<ImportedFile>, ImportError> {
    if about.results == 0 {
        return Ok(None);
    }
    let run = importer.close(&about.run(Some(content), words), content, under_way, &last)?;
    let About { results, interim_reports, .. } = *about;
    Ok(Some(ImportedFile { run, results, interim_reports }))
}

/// Identifies a file by its bytes while they are read: XXH3 (128 bits) and the length. Resistance
/// against deliberate collisions is not needed.
struct Fingerprint<'a, R> {
    input: R,
    hash: Xxh3,
    length: u64,
    /// True if the rest is no longer wanted.
    ends: &'a Cell<bool>,
}

impl<R> Fingerprint<'_, R> {
    fn text(&self) -> String {
        format!("xxh3-128:{:032x}{}", self.hash.digest128(), content_end(self.length))
    }
}

/// Returns the suffix of a digest, which is the length of the content.
fn content_end(length: u64) -> String {
    format!(":{length}")
}

impl<R: Read> Read for Fingerprint<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ends.get() {
            return Ok(0);
        }
        let taken = self.input.read(buffer)?;
        self.hash.update(&buffer[..taken]);
        self.length += taken as u64;
        Ok(taken)
    }
}

/// Returns the digest of a file's bytes, and rewinds the file.
fn content_of(mut file: &File) -> io::Result<String> {
    let mut input =
        Fingerprint { input: file, hash: Xxh3::new(), length: 0, ends: &Cell::new(false) };
    let mut buffer = vec![0; BUFFER_BYTES];
    while input.read(&mut buffer)? > 0 {}
    let content = input.text();
    io::Seek::rewind(&mut file)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_matches_xxh3_128_of_the_content() {
        let of = |bytes: &[u8]| {
            let ends = Cell::new(false);
            let mut input = Fingerprint { input: bytes, hash: Xxh3::new(), length: 0, ends: &ends };
            io::copy(&mut input, &mut io::sink()).unwrap();
            input.text()
        };
        // The value that xxhsum -H2 prints.
        assert_eq!(of(b""), "xxh3-128:99aa06d3014798d86001c324468d497f:0");
        assert_ne!(of(b"ab"), of(b"ba"));
    }
}
