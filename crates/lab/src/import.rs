//! Files that fio wrote, as runs of the history.

use crate::history::{IMPORT, NewRun, UtcTime, WholeRun};
use iogauge_model::fio::{FioResult, Found, Problem, read_results};
use iogauge_model::result::{Environment, Head, RUN_FORMAT, RunDocument, StepResult};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Read at a time.
const BUFFER_BYTES: usize = 1 << 17;

/// What was read of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct FioFile {
    /// The file, as it was named.
    pub path: String,
    /// Its results, in their order.
    pub results: Vec<FioResult>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// The same for files of the same bytes, different for others.
    pub content: String,
    modified: UtcTime,
}

impl FioFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be opened or read. What is in it and cannot be understood is in
    /// [`Self::problems`].
    pub fn read(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::Error::other("it is a directory; right would be the files in it"));
        }
        let mut read = Self {
            path: path.display().to_string(),
            results: Vec::new(),
            problems: Vec::new(),
            content: String::new(),
            modified: about.modified().map_or_else(|_| UtcTime::now(), UtcTime::from),
        };
        let mut input = BufReader::with_capacity(BUFFER_BYTES, Fingerprint::of(file));
        read_results(&read.path, &mut input, &mut |found| match found {
            Found::Result(result) => read.results.push(*result),
            Found::Problem(problem) => read.problems.push(problem),
        })?;
        read.content = input.into_inner().text();
        Ok(read)
    }

    /// A step for each result, made as they are asked for: one takes far more memory than its
    /// result.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = StepResult> + '_ {
        self.results.iter().map(FioResult::to_step)
    }

    /// The file as a run, at the time fio reported the first result; that of the file's last change
    /// where it reported none. The line is what the user typed, the verdict that of
    /// [`Self::steps`].
    #[must_use]
    pub fn run(&self, line: &str, verdict: String) -> WholeRun {
        let reported = self.results.iter().filter_map(|result| result.reported_unix_seconds).min();
        let started = reported.and_then(|seconds| seconds.checked_mul(1_000_000_000));
        let started = started.map_or(self.modified, UtcTime::from_unix_ns);
        let version = self.results.first().map_or("", |result| result.fio_version.as_str());
        let load = match self.results.as_slice() {
            [] => String::new(),
            [only] => only.label(),
            [first, others @ ..] => format!("{} and {} more", first.label(), others.len()),
        };
        let head = Head {
            format: RUN_FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: String::new(),
            started: started.to_string(),
            target: json!({
                "path": self.path,
                "kind": "fio",
                "fio_version": version,
                "content": self.content,
            }),
            load: json!({ "label": load }),
        };
        let document = RunDocument {
            head: head.clone(),
            steps: Vec::new(),
            interrupted: false,
            caveats: Vec::new(),
            environment: Environment::default(),
        };
        let run = NewRun {
            kind: IMPORT.to_owned(),
            started,
            command_line: line.to_owned(),
            target: self.path.clone(),
            load,
            head: json!(head),
        };
        WholeRun { run, document, verdict }
    }
}

/// Tells files apart by their bytes while they are read: FNV-1a of 128 bits (Fowler, Noll, Vo),
/// and the length. Nobody gains by making two files equal in it.
struct Fingerprint<R> {
    input: R,
    hash: u128,
    length: u64,
}

impl<R: Read> Fingerprint<R> {
    fn of(input: R) -> Self {
        Self { input, hash: 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, length: 0 }
    }

    fn text(&self) -> String {
        format!("fnv1a-128:{:032x}:{}", self.hash, self.length)
    }
}

impl<R: Read> Read for Fingerprint<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        let taken = self.input.read(buffer)?;
        for byte in &buffer[..taken] {
            self.hash = (self.hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
        self.length += taken as u64;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_their_authors() {
        let of = |bytes: &[u8]| {
            let mut fingerprint = Fingerprint::of(bytes);
            io::copy(&mut fingerprint, &mut io::sink()).unwrap();
            fingerprint.text()
        };
        assert_eq!(of(b"a"), "fnv1a-128:d228cb696f1a8caf78912b704e4a8964:1");
        assert_eq!(of(b"foobar"), "fnv1a-128:343e1662793c64bf6f0d3597ba446f18:6");
        assert_ne!(of(b"ab"), of(b"ba"));
    }
}
