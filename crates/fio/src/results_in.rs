//! Reads fio's results from files: text, terse text, JSON and json+, and classic tables made from them, one after the
//! other, with other text in between.

use super::classic_in::{self, ClassicReader, System};
use super::json_in::{Document, Fed, Report};
use super::text_in::{Found, TextReader, shown};
use iogauge_model::result::{FioDirection, FioResult};
use memchr::{memchr, memchr_iter, memchr3, memrchr};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

/// Something found while reading.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// The system of the results that follow, as named in the file; `None` if it is not. Results before the first one
    /// have no name.
    System(Option<Arc<str>>),
    Result(Box<FioResult>),
    /// Number of reports in the file that are an earlier state of a run with a later one
    /// (`--status-interval`). Their results are left out.
    Interim(u64),
    /// A result, or a part of one, that cannot be read; everything around it is read.
    Problem(Problem),
}

/// What could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The name of the file, as given.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    pub reason: String,
}

impl Problem {
    pub(super) fn new(file: &str, line: u64, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, reason: reason.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

/// Longer lines of text are read in pieces; fio writes none.
const LONGEST_LINE: usize = 1 << 20;

/// Further problems of a file are only counted: a file of another kind has one in each line.
const MOST_PROBLEMS: u64 = 1000;

/// Maximum number of bytes of text lines that are read together; a few of them may be read again.
const LINES_BYTES: usize = 1 << 12;

/// Reads every result in the output of any fio version since 2.0.7: normal and terse text, JSON and json+,
/// several of them in one file, also of client/server runs, with anything else in between. If a run was
/// written both as text and as JSON, only its JSON counts. If it was reported several times while it ran,
/// only the last complete report counts. Rows of classic tables are results, too
/// ([`FioResult::from_table`]).
///
/// `file` names the source in the results. The results of two reports are in memory, and one job's JSON.
///
/// # Errors
/// Fails if `input` fails. What cannot be parsed becomes a [`Reading::Problem`] instead.
pub fn read_results(
    file: &str,
    mut input: impl BufRead,
    sink: &mut dyn FnMut(Reading),
) -> io::Result<()> {
    let mut reader = Reader::new(file, sink);
    let mut line = Vec::new();
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let taken = reader.bare_lines(chunk);
        if taken > 0 {
            input.consume(taken);
            continue;
        }
        if reader.wants_bytes(chunk) {
            // It takes at least a byte, or leaves a document that was cut off.
            let taken = reader.bytes(chunk);
            input.consume(taken);
            continue;
        }
        if let Some(end) = memchr(b'\n', &chunk[..chunk.len().min(LONGEST_LINE)]) {
            reader.line(&chunk[..=end]);
            input.consume(end + 1);
            continue;
        }
        line.clear();
        input.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
        reader.line(&line);
    }
    reader.finish();
    Ok(())
}

struct Reader<'a> {
    file: &'a str,
    output: Output<'a>,
    text: TextReader<'a>,
    tables: ClassicReader<'a>,
    document: Option<Document<'a>>,
    /// Number of the current line, from 1.
    number: u64,
    /// True if nothing of the current line was read yet.
    at_line_start: bool,
    /// True after a document that was cut off: its remainder is not taken for another document unless a
    /// brace begins a line.
    broken: bool,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, sink: &'a mut dyn FnMut(Reading)) -> Self {
        Self {
            file,
            output: Output::new(sink),
            text: TextReader::new(file),
            tables: ClassicReader::new(file),
            document: None,
            number: 1,
            at_line_start: true,
            broken: false,
        }
    }

    /// Returns true if the bytes are blank or part of a document. They are not read by lines, because they may
    /// go on for any length.
    fn wants_bytes(&self, chunk: &[u8]) -> bool {
        let first = chunk.first().copied().unwrap_or_default();
        let begins = first == b'{' && (self.at_line_start || !self.broken);
        self.document.is_some() || first.is_ascii_whitespace() || begins
    }

    /// Takes bytes for which [`Self::wants_bytes`] is true; returns how many.
    fn bytes(&mut self, chunk: &[u8]) -> usize {
        if self.document.is_none() {
            let blank = chunk.iter().take_while(|b| b.is_ascii_whitespace()).count();
            for byte in &chunk[..blank] {
                self.at_line_start = *byte == b'\n';
                self.number += u64::from(*byte == b'\n');
            }
            if blank > 0 {
                return blank;
            }
            self.begin();
        }
        let chunk = self.up_to_nul(chunk);
        self.feed(chunk)
    }

    /// Returns the bytes before the first NUL byte. If they begin with it, notes it and returns all of them.
    fn up_to_nul<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        match self.output.first_nul(bytes) {
            Some(0) => {
                self.output.has_nul = true;
                bytes
            }
            Some(at) => &bytes[..at],
            None => bytes,
        }
    }

    fn begin(&mut self) {
        self.document = Some(Document::new(self.file, self.number));
        self.broken = false;
    }

    /// Passes bytes to the current document; returns how many it took.
    fn feed(&mut self, bytes: &[u8]) -> usize {
        let Some(document) = &mut self.document else { return 0 };
        let taken = match document.feed(bytes, &mut |found| self.output.take(found)) {
            Fed::All => return bytes.len(),
            Fed::Ended(taken) => taken,
            Fed::Broken(taken) => {
                self.broken = true;
                taken
            }
        };
        self.end();
        taken
    }

    /// Leaves the current document.
    fn end(&mut self) {
        let Some(document) = self.document.take() else { return };
        self.number = document.line();
        self.at_line_start = document.is_at_line_start();
        self.output.take_report(document.into_report(), self.text.has_results());
    }

    /// Takes a line of text, up to the document that begins in it.
    fn line(&mut self, mut line: &[u8]) {
        let ends = line.ends_with(b"\n");
        self.output.has_nul |= self.output.first_nul(line).is_some();
        while let Some(at) = document_in(line).filter(|_| !self.broken) {
            self.text_line(&line[..at]);
            self.begin();
            let taken = self.feed(&line[at..]);
            if self.document.is_some() {
                return;
            }
            line = &line[at + taken..];
        }
        self.text_line(line);
        self.number += u64::from(ends);
        self.at_line_start = ends;
    }

    /// Takes whole lines as long as they contain neither braces nor carriage returns, which is almost all
    /// of fio's text; returns how many bytes. Validating UTF-8 is faster for many lines at once.
    fn bare_lines(&mut self, chunk: &[u8]) -> usize {
        let within = &chunk[..chunk.len().min(LINES_BYTES)];
        let within = &within[..self.output.first_nul(within).unwrap_or(within.len())];
        let whole = memrchr(b'\n', within).map_or(0, |end| end + 1);
        if whole == 0 || self.document.is_some() {
            return 0;
        }
        let Ok(lines) = str::from_utf8(&within[..whole]) else { return 0 };
        let mut taken = 0;
        while let Some(length) = memchr3(b'\n', b'{', b'\r', &lines.as_bytes()[taken..]) {
            let end = taken + length;
            if lines.as_bytes()[end] != b'\n' {
                break;
            }
            let line = lines[taken..end].trim_ascii();
            self.bare_line(line);
            self.number += 1;
            self.at_line_start = true;
            taken = end + 1;
        }
        taken
    }

    fn text_line(&mut self, line: &[u8]) {
        // Replacing invalid UTF-8 is slow, byte by byte; almost no line needs it.
        let line = str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::from);
        self.bare_line(shown(&line));
    }

    /// Takes a trimmed line of text without carriage returns.
    fn bare_line(&mut self, line: &str) {
        // A byte order mark, also of one of several files that were put together.
        let line = line.trim_start_matches('\u{feff}').trim_ascii_start();
        let (number, output) = (self.number, &mut self.output);
        if line.is_empty() || self.tables.line(line, number, &mut |found| output.take_row(found)) {
            return;
        }
        self.text.bare_line(line, number, &mut |found| output.take_text(found));
    }

    fn finish(mut self) {
        if let Some(document) = &mut self.document {
            document.cut_off(&mut |found| self.output.take(found));
            self.end();
        }
        self.output.flush();
        self.text.finish(&mut |found| self.output.take_text(found));
        self.tables.finish(&mut |found| self.output.take_row(found));
        if !self.output.found {
            self.output.has_nul = false;
            let reason = "no result of fio found; hint: use its text or JSON output";
            self.output.take(Reading::Problem(Problem::new(self.file, 1, reason)));
        }
        self.output.sum_up(self.file, self.number);
        let interim = self.output.interim;
        if interim > 0 {
            self.output.take(Reading::Interim(interim));
        }
    }
}

/// Distinguishes the results of one fio run in text and JSON: name, group, reads, writes.
type ResultKey = (String, u32, u64, u64);

/// Returns the key of a result.
fn key(result: &FioResult) -> ResultKey {
    let ios = |direction: &Option<FioDirection>| direction.as_ref().map_or(0, |d| d.ios);
    (result.name.clone(), result.group, ios(&result.read), ios(&result.write))
}

/// Distinguishes the results of one fio run in terse output, which has no numbers of I/Os, and in the other
/// formats: run times in milliseconds and IOPS without decimals, of reads and writes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Rates {
    name: String,
    group: u32,
    runtime_ms: [u64; 2],
    iops: [u64; 2],
}

impl Rates {
    pub(super) fn of(result: &FioResult) -> Self {
        let directions = [&result.read, &result.write].map(Option::as_ref);
        Self {
            name: result.name.clone(),
            group: result.group,
            runtime_ms: directions.map(|d| d.map_or(0, |d| d.runtime_ns / 1_000_000)),
            // A computed rate may be less than a whole number by a rounding error.
            iops: directions.map(|d| d.map_or(0, |d| (d.iops + 1e-6) as u64)),
        }
    }
}

struct Output<'a> {
    sink: &'a mut dyn FnMut(Reading),
    /// The system of the last result.
    system: System,
    /// True if something was found.
    found: bool,
    /// True if a result was found.
    has_result: bool,
    /// True if a NUL byte was read before any result.
    has_nul: bool,
    /// Problems after that byte. They count only if a result follows: without one, the file is no text.
    held: Vec<Problem>,
    /// Number of problems that were not even held.
    more_held: u64,
    /// Number of problems found.
    problems: u64,
    /// Results of the JSON documents next to the current text, which repeats them with fewer digits.
    seen: HashSet<ResultKey>,
    seen_rates: HashSet<Rates>,
    /// The last document. The next one may be a later state of it.
    report: Option<Report>,
    /// Number of reports that were left out.
    interim: u64,
    /// Those of the text whose results come next.
    interim_text: u64,
}

impl<'a> Output<'a> {
    fn new(sink: &'a mut dyn FnMut(Reading)) -> Self {
        Self {
            sink,
            system: None,
            found: false,
            has_result: false,
            has_nul: false,
            held: Vec::new(),
            more_held: 0,
            problems: 0,
            seen: HashSet::new(),
            seen_rates: HashSet::new(),
            report: None,
            interim: 0,
            interim_text: 0,
        }
    }

    /// Takes a document. `is_beside_text` is true if there are text results that may repeat it.
    fn take_report(&mut self, report: Report, is_beside_text: bool) {
        if !is_beside_text {
            self.seen.clear();
            self.seen_rates.clear();
        }
        self.seen.extend(report.results().map(key));
        self.seen_rates.extend(report.results().map(Rates::of));
        if self.report.as_ref().is_some_and(|earlier| report.continues(earlier)) {
            self.interim += 1;
            if report.is_complete() {
                self.report = Some(report);
            }
            return;
        }
        self.flush();
        self.report = Some(report);
    }

    /// Emits the last document.
    fn flush(&mut self) {
        let results = self.report.take().into_iter().flat_map(Report::into_results);
        results.for_each(|result| self.take(Reading::Result(result)));
    }

    /// Returns the position of the first NUL byte, as long as it matters.
    fn first_nul(&self, bytes: &[u8]) -> Option<usize> {
        if self.has_nul || self.has_result { None } else { memchr(0, bytes) }
    }

    /// Takes what is of no named system.
    fn take(&mut self, found: Reading) {
        self.take_of(&None, found);
    }

    fn take_of(&mut self, system: &System, found: Reading) {
        let found = match found {
            Reading::Problem(problem) if self.has_nul && !self.has_result => {
                return self.hold(problem);
            }
            found => found,
        };
        if matches!(found, Reading::Result(_)) && !self.has_result {
            self.has_result = true;
            self.release();
        }
        self.found = true;
        if matches!(found, Reading::Result(_)) && self.system != *system {
            self.system.clone_from(system);
            (self.sink)(Reading::System(system.clone()));
        }
        if matches!(found, Reading::Problem(_)) {
            self.problems += 1;
            if self.problems > MOST_PROBLEMS {
                return;
            }
        }
        (self.sink)(found);
    }

    fn hold(&mut self, problem: Problem) {
        if (self.held.len() as u64) < MOST_PROBLEMS {
            self.held.push(problem);
        } else {
            self.more_held += 1;
        }
    }

    /// Reports the problems held.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        held.into_iter().for_each(|problem| self.take(Reading::Problem(problem)));
        self.problems += std::mem::take(&mut self.more_held);
    }

    /// Reports how many problems were only counted.
    fn sum_up(&mut self, file: &str, line: u64) {
        let untold = self.problems.saturating_sub(MOST_PROBLEMS);
        if untold > 0 {
            let problem =
                Problem::new(file, line, format!("{untold} more problems before this line"));
            (self.sink)(Reading::Problem(problem));
        }
    }

    fn take_text(&mut self, found: Found) {
        match found {
            // If the results repeat a document, so do the reports before them.
            Found::Interim(reports) => self.interim_text = reports,
            Found::Result(result) => {
                if self.seen.is_empty() || !self.seen.contains(&key(&result)) {
                    self.interim += std::mem::take(&mut self.interim_text);
                    self.take_result(result);
                }
            }
            Found::Terse(result) => {
                if self.seen_rates.is_empty() || !self.seen_rates.contains(&Rates::of(&result)) {
                    self.take_result(result);
                }
            }
            Found::Problem(problem) => self.take(Reading::Problem(problem)),
        }
    }

    fn take_row(&mut self, found: classic_in::Found) {
        self.flush();
        match found {
            classic_in::Found::Result(system, row) => self.take_of(&system, Reading::Result(row)),
            classic_in::Found::Problem(problem) => self.take(Reading::Problem(problem)),
        }
    }

    fn take_result(&mut self, result: Box<FioResult>) {
        self.flush();
        self.take(Reading::Result(result));
    }
}

/// Returns where a JSON document begins in a line of text: at a brace before a name or the end of the line.
fn document_in(line: &[u8]) -> Option<usize> {
    memchr_iter(b'{', line).find(|at| {
        let behind = line[at + 1..].iter().find(|b| !b.is_ascii_whitespace());
        matches!(behind, None | Some(b'"'))
    })
}
