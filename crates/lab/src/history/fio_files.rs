//! Files that fio wrote, as runs of the history.
//!
//! A file goes through in one stream: one thread reads it and makes steps, the other writes them,
//! and a few mebibytes are between them, however large the file is.

use crate::history::{
    HistoryError, IMPORT, Imported, Importer, NewRun, ReadySteps, UnderWay, UtcTime, WholeRun,
};
use iogauge_fio::{Problem, Reading, read_results};
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

/// Read at a time.
const BUFFER_BYTES: usize = 1 << 17;
/// JSON of the steps that are written in one transaction.
const BATCH_BYTES: usize = 2 << 20;
/// Hashing a file this long takes longer than looking whether one of its length is known.
const LONG_FILE_BYTES: u64 = 16 << 20;
/// Batches made and not written yet, at most.
const BATCHES_WAITING: usize = 4;

/// What was read of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FioFile {
    /// Its results, in their order.
    pub results: Vec<FioResult>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl FioFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be opened or read. What is in it and cannot be understood is in
    /// [`Self::problems`].
    pub fn read(path: &Path) -> io::Result<Self> {
        let (file, _) = open(path)?;
        let mut read = Self { results: Vec::new(), problems: Vec::new() };
        let input = BufReader::with_capacity(BUFFER_BYTES, file);
        read_results(&path.display().to_string(), input, &mut |found| match found {
            Reading::Result(result) => read.results.push(*result),
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
    /// The history cannot take it.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// A file that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// The run it is.
    pub run: Imported,
    /// Its results; 0 for a file that was known before.
    pub results: u32,
}

/// What stands beside the steps of a run made of a file.
pub struct Words<'a> {
    /// The system that was measured, by which runs are drawn together.
    pub system: String,
    /// What the user typed.
    pub command_line: String,
    /// The result in one line, of the first step and how many there are.
    pub verdict: &'a dyn Fn(&StepResult, u32) -> String,
}

/// Imports a file, unless its bytes are in the history already; tells what could not be read of it.
/// `None` where it holds no result. Costs a flush when the importer is finished, and memory of a
/// few batches and the longest job's JSON or run's text.
///
/// # Errors
/// Where the file cannot be read or the history not be written; nothing of it is then kept.
pub fn import(
    importer: &mut Importer,
    path: &Path,
    words: &Words<'_>,
    tell: &mut dyn FnMut(Problem),
) -> Result<Option<ImportedFile>, ImportError> {
    let (file, modified) = open(path)?;
    let file_about = file.metadata()?;
    let length = file_about.len();
    // Looking whether it is known is far quicker than reading it; a pipe can be read once only.
    if file_about.is_file()
        && (length < LONG_FILE_BYTES || importer.may_know(&content_end(length))?)
        && let Some(known) = importer.known(&content_of(&file)?)?
    {
        return Ok(Some(ImportedFile { run: Imported::Known(known), results: 0 }));
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
            // The first error is what the user has to hear.
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

/// Steps on their way, with what is known of their file by then.
struct Batch {
    steps: ReadySteps,
    problems: Vec<Problem>,
    about: About,
}

/// What is known of a file, as far as it is read.
#[derive(Debug, Clone)]
struct About {
    path: String,
    modified: UtcTime,
    results: u32,
    reported_unix_seconds: Option<i64>,
    first: Option<Box<FioResult>>,
}

impl About {
    fn new(path: &Path, modified: UtcTime) -> Self {
        Self {
            path: path.display().to_string(),
            modified,
            results: 0,
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

    /// When fio reported the first result; the file's last change where it reported none.
    fn started(&self) -> UtcTime {
        let reported = self.reported_unix_seconds.and_then(|s| s.checked_mul(1_000_000_000));
        reported.map_or(self.modified, UtcTime::from_unix_ns)
    }

    /// The run of the file; without `content` one that is not whole yet.
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
            via: None,
        };
        let run = NewRun {
            kind: IMPORT.to_owned(),
            started,
            command_line: words.command_line.clone(),
            target: self.path.clone(),
            load: self.load(),
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

/// Reads a file and hands out its steps in batches; what is known of it then, and its content.
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
            Reading::Result(result) => {
                about.add(&result);
                steps.push(&result.into_step());
            }
        }
        if steps.bytes() + problem_bytes >= BATCH_BYTES {
            problem_bytes = 0;
            // Steps are far smaller than a batch, which is one step longer than what fills it.
            let next = ReadySteps::with_capacity(BATCH_BYTES + BATCH_BYTES / 8);
            let (steps, problems) =
                (std::mem::replace(&mut steps, next), std::mem::take(&mut problems));
            let batch = Batch { steps, problems, about: about.clone() };
            unwanted.set(unwanted.get() || batches.send(batch).is_err());
        }
    })?;
    // Where nobody takes it, the other side says why.
    let _ = batches.send(Batch { steps, problems, about: about.clone() });
    Ok((about, input.into_inner().text()))
}

/// Writes batches as they come, but for the last one, which is closed with the run.
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
    Ok(Some(ImportedFile { run, results: about.results }))
}

/// Tells files apart by their bytes while they are read: XXH3 of 128 bits and the length. Nobody
/// gains by making two files equal in it.
struct Fingerprint<'a, R> {
    input: R,
    hash: Xxh3,
    length: u64,
    /// What comes behind is not wanted any more.
    ends: &'a Cell<bool>,
}

impl<R> Fingerprint<'_, R> {
    fn text(&self) -> String {
        format!("xxh3-128:{:032x}{}", self.hash.digest128(), content_end(self.length))
    }
}

/// What tells the length of a content, at its end.
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

/// The same for files of the same bytes, different for others. The file stands at its begin again.
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
    fn contents_are_those_of_their_bytes() {
        let of = |bytes: &[u8]| {
            let ends = Cell::new(false);
            let mut input = Fingerprint { input: bytes, hash: Xxh3::new(), length: 0, ends: &ends };
            io::copy(&mut input, &mut io::sink()).unwrap();
            input.text()
        };
        // As xxhsum -H2 prints it.
        assert_eq!(of(b""), "xxh3-128:99aa06d3014798d86001c324468d497f:0");
        assert_ne!(of(b"ab"), of(b"ba"));
    }
}
