//! fio's JSON and json+ from fio 2 and 3, also from client/server runs.

mod figures;
mod report;
mod reported_workload;
mod split;
mod stored;

pub(super) use report::Report;

use super::reported_workload::{ALL_CLIENTS, ReportedWorkload};
use super::results_in::{Problem, Reading};
use figures::{disk, figures, moved, real, shares, steady_state, whole};
use iogauge_model::result::{FioDirection, FioResult};
use report::{Progress, Reported};
use reported_workload::{JobOptions, Processes};
use split::{Piece, Splitter, Step, Take};
use stored::{Direction, Job, StoredOptions};

/// How many of the bytes a document took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fed {
    /// All of them; the document continues.
    All,
    /// This many; the document has ended.
    Ended(usize),
    /// This many; the next byte does not belong to the document, which is incomplete.
    Broken(usize),
}

/// A JSON document of fio, parsed while its bytes arrive.
#[derive(Debug)]
pub(super) struct Document<'a> {
    splitter: Splitter,
    content: Content<'a>,
}

#[derive(Debug)]
struct Content<'a> {
    file: &'a str,
    first_line: u64,
    version: String,
    unix_seconds: Option<i64>,
    options: StoredOptions,
    /// What the clients so far have in common; the result for all clients does not contain it.
    clients: Option<ReportedWorkload>,
    report: Report,
    has_jobs: bool,
    /// Length of the last job, in bytes.
    job_bytes: usize,
}

impl<'a> Document<'a> {
    /// Creates a document whose first brace is on this line of `file`.
    pub(super) fn new(file: &'a str, line: u64) -> Self {
        let content = Content {
            file,
            first_line: line,
            version: String::new(),
            unix_seconds: None,
            options: StoredOptions::default(),
            clients: None,
            report: Report::default(),
            has_jobs: false,
            job_bytes: 0,
        };
        Self { splitter: Splitter::new(line), content }
    }

    /// Returns the current line.
    pub(super) fn line(&self) -> u64 {
        self.splitter.line()
    }

    /// Returns true if nothing of the current line was taken.
    pub(super) fn is_at_line_start(&self) -> bool {
        self.splitter.is_at_line_start()
    }

    /// Returns its results.
    pub(super) fn into_report(self) -> Report {
        self.content.report.finished()
    }

    /// Takes bytes and passes problems to `sink`.
    pub(super) fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Reading)) -> Fed {
        let Self { splitter, content } = self;
        let (taken, step) = splitter.feed(bytes, &mut Taking { content, sink });
        match step {
            Step::More => Fed::All,
            Step::Ended => {
                content.report.is_complete = true;
                content.end(sink);
                Fed::Ended(taken)
            }
            Step::Broken(reason) => {
                content.problem(splitter.line(), reason, sink);
                Fed::Broken(taken)
            }
        }
    }

    /// Reports that the file ends before the document does.
    pub(super) fn cut_off(&self, sink: &mut dyn FnMut(Reading)) {
        let reason = format!(
            "the file ends in the middle of the document that begins at line {}",
            self.content.first_line
        );
        self.content.problem(self.splitter.line(), &reason, sink);
    }
}

/// Content that takes pieces, with the sink for its results.
struct Taking<'a, 'b> {
    content: &'a mut Content<'b>,
    sink: &'a mut dyn FnMut(Reading),
}

impl Take for Taking<'_, '_> {
    fn piece(&mut self, piece: &Piece<'_>) {
        self.content.take(piece, self.sink);
    }

    fn whole(&mut self, ahead: &Piece<'_>) -> Option<usize> {
        // The jobs of a document have about the same length: parsing one that is incomplete would fail.
        if !is_jobs(ahead.key) || ahead.value.len() < self.content.job_bytes {
            return None;
        }
        let mut jobs = serde_json::Deserializer::from_slice(ahead.value).into_iter();
        let job = jobs.next()?.ok()?;
        self.content.job_bytes = jobs.byte_offset();
        self.content.take_job(job, ahead.line);
        Some(self.content.job_bytes)
    }
}

/// Returns true for members whose elements are results.
fn is_jobs(key: &str) -> bool {
    matches!(key, "jobs" | "client_stats")
}

impl Content<'_> {
    fn problem(&self, line: u64, reason: &str, sink: &mut dyn FnMut(Reading)) {
        sink(Reading::Problem(Problem::new(self.file, line, reason)));
    }

    fn take(&mut self, piece: &Piece<'_>, sink: &mut dyn FnMut(Reading)) {
        let wrong = match (piece.key, piece.is_element) {
            ("fio version", false) => read(piece.value).map(|text: String| {
                self.version = text.strip_prefix("fio-").unwrap_or(&text).to_owned();
            }),
            ("timestamp", false) => read(piece.value).map(|time| self.unix_seconds = Some(time)),
            ("timestamp_ms", false) => {
                read(piece.value).map(|time| self.report.unix_ms = Some(time))
            }
            ("disk_util", true) => read(piece.value).map(|it| self.report.disks.push(disk(it))),
            ("global options", false) => read(piece.value).map(|options| self.options = options),
            (key, true) if is_jobs(key) => {
                (self.has_jobs, self.job_bytes) = (true, piece.value.len());
                read(piece.value).map(|job| self.take_job(job, piece.line))
            }
            _ => Ok(()),
        };
        if let Err(error) = wrong {
            // serde_json counts lines from the first one of the piece.
            let line = piece.line + (error.line() as u64).saturating_sub(1);
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or(&text);
            self.problem(line, &format!("{}: {reason}", piece.key), sink);
        }
    }

    fn take_job(&mut self, job: Job, line: u64) {
        self.has_jobs = true;
        let reported = self.reported(job, line);
        self.report.jobs.push(reported);
    }

    fn end(&self, sink: &mut dyn FnMut(Reading)) {
        if !self.has_jobs {
            let reason = "a JSON document without \"jobs\" or \"client_stats\": no result of fio";
            self.problem(self.first_line, reason, sink);
        }
    }

    fn add_client(&mut self, asked: &ReportedWorkload) {
        match &mut self.clients {
            Some(common) => common.join(asked),
            None => self.clients = Some(asked.clone()),
        }
    }

    fn reported(&mut self, job: Job, line: u64) -> Reported {
        let ways = [&job.read, &job.write, &job.trim, &job.mixed].into_iter().flatten();
        let progress = Progress {
            runtime_ms: ways.map(|way| way.runtime).fold(0.0, f64::max),
            elapsed_seconds: job.elapsed,
            job_start_ms: job.job_start,
            context_switches: job.ctx,
        };
        let (asked, processes) = if job.jobname == ALL_CLIENTS {
            (self.clients.take().unwrap_or_default(), Processes::default())
        } else {
            let options = JobOptions::of(job.options.as_ref(), &self.options);
            if !job.hostname.is_empty() {
                self.add_client(&options.asked);
            }
            let processes = options.processes(job.job_runtime, progress.runtime_ms);
            (options.asked, processes)
        };
        let result = Box::new(self.result(job, line, asked));
        Reported { result, processes, progress }
    }

    fn result(&self, job: Job, line: u64, asked: ReportedWorkload) -> FioResult {
        let direction = |direction: Option<Direction>, index: usize| {
            let asked_block = asked.blocks.get(index).copied().flatten();
            direction.map(|d| FioDirection { block: asked_block, ..figures(d) }).filter(moved)
        };
        FioResult {
            file: self.file.to_owned(),
            line,
            from_table: false,
            fio_version: self.version.clone(),
            reported_unix_seconds: self.unix_seconds,
            host: job.hostname,
            name: job.jobname,
            group: whole(job.groupid) as u32,
            users: None,
            iodepth: asked.iodepth,
            error: job.error as i32,
            failed_ios: whole(job.total_err),
            read: direction(job.read, 0),
            write: direction(job.write, 1),
            trim: direction(job.trim, 2),
            mixed: direction(job.mixed, 0),
            sync: direction(job.sync, usize::MAX),
            shares: shares(&[
                (1, job.latency_ns),
                (1000, job.latency_us),
                (1_000_000, job.latency_ms),
            ]),
            user_cpu_percent: real(job.usr_cpu.unwrap_or_default()),
            system_cpu_percent: real(job.sys_cpu.unwrap_or_default()),
            rw: asked.rw,
            engine: asked.engine,
            is_synchronous: asked.is_synchronous,
            steady_state: job.steadystate.map(steady_state),
            disks: Vec::new(),
        }
    }
}

/// Parses a piece, which may contain what JSON does not allow: `nan`, `inf`, a trailing comma.
fn read<T: serde::de::DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| {
        // The error refers to the original text.
        serde_json::from_slice(&repaired(json)).map_err(|_| error)
    })
}

/// Replaces the floating-point words that C prints by 0, and removes trailing commas.
fn repaired(json: &[u8]) -> Vec<u8> {
    let mut repaired = Vec::with_capacity(json.len());
    let (mut at, mut in_string) = (0, false);
    while at < json.len() {
        let byte = json[at];
        if in_string && byte == b'\\' {
            repaired.extend_from_slice(&json[at..(at + 2).min(json.len())]);
            at += 2;
            continue;
        }
        in_string ^= byte == b'"';
        // One byte more than the longest of the words, to tell it from longer ones.
        let ahead = &json[at..(at + 5).min(json.len())];
        let word = ahead.iter().take_while(|b| b.is_ascii_alphabetic() || **b == b'-').count();
        let word = &json[at..at + word];
        if !in_string && [&b"nan"[..], b"-nan", b"inf", b"-inf"].contains(&word) {
            repaired.push(b'0');
            at += word.len();
            continue;
        }
        if !in_string && matches!(byte, b'}' | b']') {
            let kept = repaired.iter().rposition(|b| !b.is_ascii_whitespace());
            if let Some(comma) = kept.filter(|at| repaired[*at] == b',') {
                repaired.truncate(comma);
            }
        }
        repaired.push(byte);
        at += 1;
    }
    repaired
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feed(text: &str, chunk: usize) -> (Vec<FioResult>, Vec<String>) {
        let mut problems = Vec::new();
        let mut sink = |found| match found {
            Reading::Problem(problem) => problems.push(problem.to_string()),
            other => panic!("{other:?}"),
        };
        let mut document = Document::new("a.json", 1);
        let mut pieces = text.as_bytes().chunks(chunk);
        if pieces.all(|piece| document.feed(piece, &mut sink) == Fed::All) {
            document.cut_off(&mut sink);
        }
        let results = document.into_report().into_results().map(|result| *result).collect();
        (results, problems)
    }

    /// As fio 2.2.10 writes it: microseconds, KiB in `io_bytes`, no options.
    const FIO_2: &str = r#"{
  "fio version" : "fio-2.2.10",
  "timestamp" : 1444144664,
  "jobs" : [
    {
      "jobname" : "a", "groupid" : 0, "error" : 0, "elapsed" : 26,
      "read" : {
        "io_bytes" : 7116, "bw" : 275, "iops" : 68.99, "runtime" : 25788, "total_ios" : 1779,
        "slat" : { "min" : 0, "max" : 0, "mean" : 0.00, "stddev" : 0.00 },
        "clat" : { "min" : 53, "max" : 6329, "mean" : 112.5, "stddev" : -nan,
          "percentile" : { "95.000000" : 241, "0.00" : 0 },
          "bins" : { "FIO_IO_U_PLAT_BITS" : 6, "53" : 1778, "192" : 1, } },
        "lat" : { "min" : 54, "max" : 6330, "mean" : 113.5, "stddev" : 7.5 }
      },
      "latency_us" : { "2" : 0.00, "100" : 99.94 },
      "latency_ms" : { "10" : 0.06, ">=2000" : 0.01 }
    }
  ]
}"#;

    #[test]
    fn fio_2_units_are_microseconds_and_kibibytes() {
        for chunk in [1, 7, 4096] {
            let (results, problems) = feed(FIO_2, chunk);
            assert_eq!(problems, [""; 0]);
            let result = &results[0];
            assert_eq!((result.fio_version.as_str(), result.users), ("2.2.10", None));
            assert_eq!((result.line, result.reported_unix_seconds), (5, Some(1_444_144_664)));
            let read = result.read.as_ref().unwrap();
            assert_eq!((read.bytes, read.ios, read.slat.as_ref()), (7116 * 1024, 1779, None));
            let clat = read.clat.as_ref().unwrap();
            assert_eq!((clat.min_ns, clat.mean_ns, clat.stddev_ns), (53_000, 112_500.0, 0.0));
            assert_eq!(clat.percentiles, [(95.0, 241_000)]);
            assert_eq!(clat.bins, [(53_000, 1778), (258_000, 1)]);
            assert_eq!(read.latency().unwrap().max_ns, 6_330_000);
            let below: Vec<_> = result.shares.iter().map(|share| share.below_ns).collect();
            assert_eq!(below, [Some(100_000), Some(10_000_000), None]);
        }
    }

    #[test]
    fn unreadable_job_does_not_affect_other_jobs() {
        let text = r#"{ "jobs" : [
            {"jobname" : "a", "read" : {"io_bytes" : 4096,
             "iops" : "many"}},
            {"jobname" : "b", "write" : {"io_bytes" : 4096, "total_ios" : 1}},
            {"jobname" : "c", "write" : {"io_bytes" : 40"#;
        let (results, problems) = feed(text, 4096);
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].name, "b");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("a.json:3: jobs: invalid type"), "{}", problems[0]);
        assert!(problems[1].contains("ends in the middle"), "{}", problems[1]);
    }

    proptest! {
        #[test]
        fn json_results_are_independent_of_chunk_size(
            at in 0..FIO_2.len(),
            with in prop::sample::select(vec!["", "{", "}", "]", "\"", "\n", "\n{", "nan", ",", "\\"]),
            chunk in 1usize..2000,
        ) {
            let sound = FIO_2.replace("-nan", "0.5").replace("1, }", "1 }").replace("    }\n  ]", "
                }, {\"jobname\": \"b\", \"read\": {\"io_bytes\": 1}}, {\"jobname\": \"c\"}\n  ]");
            let spoiled = [&sound[..at], with, &sound[at + 1..]].concat();
            for text in [sound, spoiled] {
                prop_assert_eq!(feed(&text, 1), feed(&text, chunk));
            }
        }
    }

    #[test]
    fn client_stats_and_all_clients_total_are_read() {
        let client = |host: &str| {
            format!(
                r#"{{"jobname": "a", "hostname": "{host}", "job_runtime": 2000, "job options":
                    {{"rw": "randread", "numjobs": "2", "group_reporting": "1"}},
                    "read": {{"io_bytes": 8192, "io_kbytes": 8, "runtime": 1000, "total_ios": 2}}}}"#
            )
        };
        let all = r#"{"jobname": "All clients", "hostname": "", "read": {"total_ios": 4}}"#;
        let text = format!("{{\"client_stats\": [{}, {}, {all}]}}", client("one"), client("two"));
        let (results, problems) = feed(&text, 4096);
        assert_eq!(problems, [""; 0]);
        let users: Vec<_> = results.iter().map(|result| result.users).collect();
        assert_eq!(users, [Some(2), Some(2), Some(4)]);
        assert_eq!((results[1].host.as_str(), results[2].rw.as_str()), ("two", "randread"));

        let other = client("two").replace("randread", "write");
        let text = format!("{{\"client_stats\": [{}, {other}, {all}]}}", client("one"));
        let (results, _) = feed(&text, 4096);
        assert_eq!((results[2].rw.as_str(), results[2].users), ("randread+write", Some(4)));
    }

    #[test]
    fn non_fio_json_is_reported() {
        let (results, problems) = feed("{\"a\": {\"jobs\": [1]}}", 4096);
        assert!(results.is_empty());
        assert!(problems[0].contains("no result of fio"), "{problems:?}");
    }
}
