//! fio's normal and terse text output, of fio 2.0.7 and later.
//!
//! The output of a run consists of a line for each job, the version, a block of lines for each result, and
//! a summary of each group. Lines without results are skipped.

mod building;
mod disk;
mod figure;
mod job_line;
mod terse;

use super::results_in::{Problem, Rates};
use crate::reported_workload::ReportedWorkload;
use building::{Building, Way};
pub(super) use figure::number;
use figure::{Prefix, bytes, field};
use iogauge_model::result::{FioDisk, FioResult};
use job_line::{AskedJobs, Reported};
use memchr::memrchr;
use std::collections::HashSet;

/// Longer terse output is not compared with other formats.
const MOST_TERSE: usize = 1000;

/// Something found in text.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// Number of reports that are an earlier state of the results that come next, and were left out.
    Interim(u64),
    Result(Box<FioResult>),
    /// A result of terse output.
    Terse(Box<FioResult>),
    Problem(Problem),
}

/// A result as printed. Results are about two kilobytes long and are boxed for their receivers.
#[derive(Debug)]
struct Printed {
    result: Box<FioResult>,
    /// The process, or the first one of a group; `None` if not printed.
    pid: Option<u64>,
}

/// What is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Jobs and their results.
    Jobs,
    /// The summary of a group; `None` if its number is unreadable.
    Summary(Option<u32>),
    /// The devices, after all summaries.
    Disks,
}

/// Reads text line by line. It keeps the results of one fio run until the run is over, because the summary
/// at its end contains figures that belong to them, and because a later report may replace them.
#[derive(Debug)]
pub struct TextReader<'a> {
    file: &'a str,
    version: String,
    jobs: AskedJobs,
    building: Option<Building>,
    /// The process of the result being built.
    pid: Option<u64>,
    /// The results of the current report.
    report: Vec<Printed>,
    /// The report before it in the same run.
    before: Vec<Printed>,
    /// Number of reports before `before` that were left out.
    interim: u64,
    /// Terse results, which other formats of the same run may repeat.
    terse: Vec<FioResult>,
    /// Rates of the text results beside terse ones.
    rates: HashSet<Rates>,
    summary: Vec<Summary>,
    disks: Vec<FioDisk>,
    section: Section,
    /// True if figures without a job were reported, until the next job.
    told_of_figures: bool,
    /// True if results without a workload were reported, until the next run.
    told_of_workload: bool,
}

/// A line `READ: io=1040.9MB, aggrb=355140KB/s, …` of a group's summary.
#[derive(Debug)]
struct Summary {
    group: u32,
    way: Way,
    bytes_per_sec: f64,
}

impl<'a> TextReader<'a> {
    /// Creates a reader of the text of `file`, a name for use in results and problems.
    #[must_use]
    pub fn new(file: &'a str) -> Self {
        Self {
            file,
            version: String::new(),
            jobs: AskedJobs::default(),
            building: None,
            pid: None,
            report: Vec::new(),
            before: Vec::new(),
            interim: 0,
            terse: Vec::new(),
            rates: HashSet::new(),
            summary: Vec::new(),
            disks: Vec::new(),
            section: Section::Jobs,
            told_of_figures: false,
            told_of_workload: false,
        }
    }

    /// Takes a trimmed line without carriage returns ([`shown`]), and its number, from 1.
    pub fn bare_line(&mut self, text: &str, number: u64, sink: &mut dyn FnMut(Found)) {
        let file = self.file;
        let tell = |sink: &mut dyn FnMut(Found), reason: &str| {
            sink(Found::Problem(Problem::new(file, number, reason)));
        };
        if job_line::may_name_a_job(text) && self.job_line(text, number, sink) {
            return;
        }
        if let Some(rest) = text.strip_prefix("Run status group ") {
            self.close();
            let group = rest.split(' ').next().unwrap_or_default();
            self.section = Section::Summary(group.parse().ok());
            return;
        }
        if let Some(version) = version(text) {
            self.version = version.to_owned();
            return;
        }
        if let Some(building) = &mut self.building {
            if !building.is_of_another_job(text) {
                if let Err(reason) = building.line(text) {
                    tell(sink, &format!("{reason}: \"{text}\""));
                }
                return;
            }
            self.close();
        }
        if building::is_direction(text) {
            if !self.told_of_figures {
                let reason = "figures without the line that names their job, \"JOB: (groupid=…\"; they \
                              are left out";
                tell(sink, reason);
                self.told_of_figures = true;
            }
            return;
        }
        match self.section {
            Section::Summary(_) if text.starts_with("Disk stats") => self.section = Section::Disks,
            Section::Summary(Some(group)) if Way::of(text).is_some() => self.summary(group, text),
            Section::Disks => match disk::disk(text) {
                Some(disk) => self.disks.push(disk),
                None => self.terse_line(text, number, sink),
            },
            _ => self.terse_line(text, number, sink),
        }
    }

    fn terse_line(&mut self, text: &str, number: u64, sink: &mut dyn FnMut(Found)) {
        match terse::result(text) {
            Some(Ok(result)) => {
                let file = self.file.to_owned();
                self.terse.push(FioResult { file, line: number, ..result });
                if self.terse.len() > MOST_TERSE {
                    self.emit_terse(sink);
                }
            }
            Some(Err(reason)) => {
                let reason = format!("terse output: {reason}");
                sink(Found::Problem(Problem::new(self.file, number, reason)));
            }
            None => {}
        }
    }

    /// Takes a line that names a job; returns false for any other line.
    fn job_line(&mut self, text: &str, number: u64, sink: &mut dyn FnMut(Found)) -> bool {
        match job_line::reported(text) {
            Some(Ok(reported)) => {
                self.begin(&reported, number, sink);
                return true;
            }
            Some(Err(reason)) => {
                self.close();
                sink(Found::Problem(Problem::new(self.file, number, reason)));
                return true;
            }
            None => {}
        }
        if !self.has_results() && self.jobs.add_like_last(text) {
            return true;
        }
        let Some((group, name, asked)) = job_line::asked(text) else { return false };
        if self.has_results() {
            self.finish(sink);
            self.jobs.clear();
        }
        (self.told_of_figures, self.told_of_workload) = (false, false);
        self.jobs.add(group, &name, asked);
        self.jobs.remember(text);
        true
    }

    /// Begins a result.
    fn begin(&mut self, reported: &Reported<'_>, number: u64, sink: &mut dyn FnMut(Found)) {
        self.close();
        if self.section != Section::Jobs {
            // fio reports the same run once more.
            self.end_report(sink);
        }
        self.told_of_figures = false;
        let asked = self.jobs.of(reported.group, reported.name, reported.users);
        if asked == ReportedWorkload::default() && !self.told_of_workload {
            let Reported { name, group, .. } = reported;
            let reason = format!(
                "no line \"{name}: (g={group}): rw=…\" before this result: its workload is unknown"
            );
            sink(Found::Problem(Problem::new(self.file, number, reason)));
            self.told_of_workload = true;
        }
        let result = FioResult {
            file: self.file.to_owned(),
            line: number,
            fio_version: self.version.clone(),
            reported_unix_seconds: reported.unix_seconds,
            name: reported.name.to_owned(),
            group: reported.group,
            users: Some(reported.users),
            error: reported.error,
            ..FioResult::default()
        };
        self.building = Some(Building::new(result, asked));
        self.pid = reported.pid;
    }

    /// Returns true if there are results that were not emitted.
    pub(super) fn has_results(&self) -> bool {
        self.building.is_some()
            || !self.report.is_empty()
            || !self.before.is_empty()
            || !self.terse.is_empty()
    }

    /// Emits the remaining results. Call it at the end of the text.
    pub fn finish(&mut self, sink: &mut dyn FnMut(Found)) {
        self.close();
        // A report that was cut off after an earlier one has only some of its jobs, and no summary.
        let is_cut_off = self.section == Section::Jobs
            && !self.before.is_empty()
            && are_processes_of(&self.report, &self.before);
        if is_cut_off {
            self.report.clear();
            self.interim += 1;
        } else if self.section == Section::Jobs
            && let Some(last) = self.report.last()
        {
            let reason = "the text ends before the summary of this run, \"Run status group …\": figures or \
                          results may be missing";
            sink(Found::Problem(Problem::new(self.file, last.result.line, reason)));
        }
        self.end_report(sink);
        self.emit(sink);
        self.emit_terse(sink);
    }

    fn emit_terse(&mut self, sink: &mut dyn FnMut(Found)) {
        let rates = std::mem::take(&mut self.rates);
        let terse = self.terse.drain(..).filter(|result| !rates.contains(&Rates::of(result)));
        terse.for_each(|result| sink(Found::Terse(Box::new(result))));
    }

    /// Ends the current report. It replaces the one before if that is an earlier state of the same processes.
    fn end_report(&mut self, sink: &mut dyn FnMut(Found)) {
        self.complete_report();
        if self.report.is_empty() {
            return;
        }
        if !self.terse.is_empty() {
            self.rates.extend(self.report.iter().map(|printed| Rates::of(&printed.result)));
        }
        if !self.before.is_empty() {
            if are_processes_of(&self.before, &self.report) {
                self.before.clear();
                self.interim += 1;
            } else {
                self.emit(sink);
            }
        }
        self.before = std::mem::take(&mut self.report);
    }

    /// Emits the last report.
    fn emit(&mut self, sink: &mut dyn FnMut(Found)) {
        let interim = std::mem::take(&mut self.interim);
        if !self.before.is_empty() {
            sink(Found::Interim(interim));
        }
        self.before.drain(..).for_each(|printed| sink(Found::Result(printed.result)));
    }

    /// Adds what the summaries say to the results of the report.
    fn complete_report(&mut self) {
        for Summary { group, way, bytes_per_sec } in self.summary.drain(..) {
            let results = self.report.iter_mut().map(|printed| &mut printed.result);
            let mut of_group = results.filter(|result| result.group == group);
            // The sum of a group is the bandwidth of its result if the group has only one.
            let (Some(result), None) = (of_group.next(), of_group.next()) else { continue };
            if let Some(direction) = way.of_result(result) {
                direction.bytes_per_sec = bytes_per_sec;
            }
        }
        let disks = std::mem::take(&mut self.disks);
        if let Some(last) = self.report.last_mut() {
            last.result.disks = disks;
        }
        self.section = Section::Jobs;
    }

    fn close(&mut self) {
        let pid = self.pid;
        let built = self.building.take().map(Building::finish);
        self.report.extend(built.map(|result| Printed { result, pid }));
    }

    /// Takes a line of a summary. Old versions print exact bandwidths there; newer ones shorten them as in
    /// the results.
    fn summary(&mut self, group: u32, text: &str) {
        let Some((way, rest)) = Way::of(text) else { return };
        let speed = field(rest, "aggrb=").and_then(|speed| bytes(speed, Prefix::Binary));
        if let Some(speed) = speed {
            self.summary.push(Summary { group, way, bytes_per_sec: speed.value });
        }
    }
}

/// Returns what a terminal shows of a line: of progress lines, the text after the last carriage return.
pub(super) fn shown(line: &str) -> &str {
    let text = line.trim_ascii();
    memrchr(b'\r', text.as_bytes()).map_or(text, |at| text[at + 1..].trim_ascii_start())
}

/// Returns true if all of these results are of processes that are also in the others.
fn are_processes_of(some: &[Printed], others: &[Printed]) -> bool {
    fn process(printed: &Printed) -> Option<(u32, &str, u64)> {
        Some((printed.result.group, &printed.result.name, printed.pid?))
    }
    let others: HashSet<_> = others.iter().filter_map(process).collect();
    some.iter().all(|printed| process(printed).is_some_and(|process| others.contains(&process)))
}

/// Returns the version in `fio 2.0.7`, `fio-3.33`, or a client's `hostname=…, fio=fio-3.33, …`.
fn version(text: &str) -> Option<&str> {
    let version = match text.strip_prefix("hostname=") {
        Some(rest) => field(rest, " fio=")?.strip_prefix("fio-")?,
        None => text.strip_prefix("fio-").or_else(|| text.strip_prefix("fio "))?,
    };
    let is_number = version.starts_with(|c: char| c.is_ascii_digit());
    (is_number && !version.contains(char::is_whitespace)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the results and the problems, except those of incomplete texts: many of these are parts.
    fn read(text: &str) -> (Vec<FioResult>, Vec<String>) {
        let (mut results, mut problems) = (Vec::new(), Vec::new());
        let mut reader = TextReader::new("a.out");
        let mut sink = |found| match found {
            Found::Result(result) | Found::Terse(result) => results.push(*result),
            Found::Problem(problem) => problems.push(problem.to_string()),
            Found::Interim(reports) => assert_eq!(reports, 0),
        };
        for (line, number) in text.lines().zip(1..) {
            reader.bare_line(shown(line), number, &mut sink);
        }
        reader.finish(&mut sink);
        let of_parts = ["its workload is unknown", "results may be missing"];
        problems.retain(|problem| !of_parts.iter().any(|end| problem.ends_with(end)));
        (results, problems)
    }

    /// Lines as fio 2.8, fio 2.17 and the client of 3.20 write them.
    #[test]
    fn text_formats_of_several_fio_versions_are_read() {
        let (results, problems) = read(
            "a: (g=0): rw=write, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=16\n\
             fio-2.8-1-g87a0\n\
             Starting 1 process\n\
             a: (groupid=0, jobs=1): err= 0: pid=31563: Sat Jun 18 00:38:03 2016\n  \
             write: io=462848B, bw=463775B/s, iops=113, runt=   998msec\n    \
             slat (msec): min=7, max=56, avg= 8.82, stdev= 4.49\n    \
             clat percentiles (msec):\n     \
             |  1.00th=[    9],  5.00th=[   43], 99.99th=[>=128]\n    \
             bw (KB  /s): min=  311, max=  311, per=68.81%, avg=311.00, stdev= 0.00\n    \
             lat (msec) : 10=0.88%, >=2000=0.41%\n     \
             issued    : total=r=0/w=113/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n",
        );
        assert_eq!(problems, [""; 0]);
        let write = results[0].write.as_ref().unwrap();
        assert_eq!((write.ios, write.bytes), (113, 462_848));
        assert_eq!((write.iops, write.bytes_per_sec), (113.0, 463_775.0));
        assert_eq!(write.slat.as_ref().unwrap().mean_ns, 8.82e6);
        let percentiles = [(1.0, 9_000_000), (5.0, 43_000_000), (99.99, 128_000_000)];
        assert_eq!(write.clat.as_ref().unwrap().percentiles, percentiles);
        assert_eq!(results[0].shares[0].below_ns, Some(10_000_000));
        assert_eq!(results[0].shares[1].below_ns, None);
        assert_eq!(results[0].fio_version, "2.8-1-g87a0");

        let (results, problems) = read(
            "All clients: (groupid=0, jobs=4): err= 0: pid=0: Wed Aug 12 15:40:00 2020\n   \
             read: IOPS=3025, BW=23.6Mi (24.8M)(2837MiB/120012msec)\n\
             x: (groupid=1, jobs=1024): err= 0: pid=137705: Tue Jan 24 10:05:53 2017\n   \
             read: IOPS=1859k, BW=7262MiB/s (7614MB/s)(213GiB/30073msec)\n     \
             issued rwt: total=55905088,0,0, short=0,0,0, dropped=0,0,0\n",
        );
        assert_eq!(problems, [""; 0]);
        let all = results[0].read.as_ref().unwrap();
        assert_eq!((results[0].users, all.iops, all.ios), (Some(4), 3025.0, 363_036));
        // The value from 2837 MiB in 120.012 s is more exact than 23.6 MiB/s.
        assert!((all.bytes_per_sec / 1048576.0 - 23.639).abs() < 0.001);
        let many = results[1].read.as_ref().unwrap();
        assert_eq!((many.ios, many.iops.round()), (55_905_088, 1_858_979.0));
    }

    #[test]
    fn fsync_latencies_are_read_separately() {
        let (results, problems) = read(
            "a: (groupid=0, jobs=1): err= 0: pid=1: Sat Nov 21 09:06:36 2026\n  \
             write: IOPS=58, BW=132KiB/s (135kB/s)(21.0MiB/170299msec); 0 zone resets\n    \
             clat (usec): min=2, max=167031, avg=53.34, stdev=1687.68\n  \
             fsync/fdatasync/sync_file_range:\n    \
             sync (usec): min=399, max=5729.7k, avg=16924.38, stdev=135471.87\n    \
             sync percentiles (usec):\n     \
             | 99.00th=[ 299893], 99.99th=[4244636]\n     \
             issued rwts: total=0,10029,0,10028 short=10028,0,0,0 dropped=0,0,0,0\n",
        );
        assert_eq!(problems, [""; 0]);
        let sync = results[0].sync.as_ref().unwrap();
        assert_eq!((sync.ios, sync.lat.as_ref().unwrap().max_ns), (10_028, 5_729_700_000));
        assert_eq!(sync.percentile_ns(99.99), Some(4_244_636_000));
        let write = results[0].write.as_ref().unwrap();
        assert_eq!(write.clat.as_ref().unwrap().percentiles, []);
    }

    #[test]
    fn progress_lines_before_carriage_return_are_ignored() {
        let (results, problems) = read(
            "Jobs: 1 (f=1): [R(1)][100.0%][eta 00m:00s]\r\rjob: (groupid=3, jobs=2): err= 5: pid=1\r\n",
        );
        assert_eq!(problems, [""; 0]);
        let result = &results[0];
        assert_eq!((result.name.as_str(), result.group, result.error), ("job", 3, 5));
    }

    #[test]
    fn unreadable_lines_are_reported_and_the_rest_is_kept() {
        let (results, problems) = read(
            "a: (groupid=0, jobs=1): err= 0: pid=1\n\
             read : io=1MB, bw=1MB/s, iops=1 , runt=  1000msec\n\
             lat (usec): min=34 , max=what , avg=55.47, stdev=131.12\n\
             lat (usec) : 50=47.29%, 100=many\n\
             b: (groupid=0, jobs=none): err= 0: pid=1\n\
             3;fio-3.33;a;0;0;1;2;3\n",
        );
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].shares.len(), 1);
        assert!(results[0].read.is_some());
        let places: Vec<_> = problems.iter().map(|p| p.split(": ").next().unwrap()).collect();
        assert_eq!(places, ["a.out:3", "a.out:4", "a.out:5", "a.out:6"]);
    }
}
