//! The lines that name jobs: one for each job before a run, and one for each result after it.

use super::figure::{Prefix, bytes, cut, field, once, pieces, unix_seconds};
use crate::reported_workload::{ALL_CLIENTS, ReportedWorkload};
use iogauge_model::result::BlockRange;
use memchr::{memchr, memchr_iter};
use std::collections::BTreeMap;
use std::ops::Range;

/// The text between name and group in the line of a job before a run.
const BEFORE_GROUP: &str = ": (g=";

/// The jobs of a run by group and name, and what the jobs of each group have in common.
#[derive(Debug, Default)]
pub(super) struct AskedJobs {
    jobs: Vec<Job>,
    /// True if `jobs` is sorted by group and name.
    are_sorted: bool,
    /// Names of the jobs, concatenated.
    names: String,
    /// Their workloads. Consecutive clones of a job share one.
    loads: Vec<ReportedWorkload>,
    groups: BTreeMap<u32, ReportedWorkload>,
    /// The last line without its name; empty if the line began with a host.
    last: String,
}

#[derive(Debug)]
struct Job {
    group: u32,
    name: Range<usize>,
    load: usize,
}

impl AskedJobs {
    pub(super) fn add(&mut self, group: u32, name: &str, asked: ReportedWorkload) {
        match self.groups.get_mut(&group) {
            Some(common) => common.join(&asked),
            None => drop(self.groups.insert(group, asked.clone())),
        }
        self.loads.push(asked);
        self.add_job(group, name);
    }

    /// Adds a job with the same workload as the last one.
    fn add_job(&mut self, group: u32, name: &str) {
        let begin = self.names.len();
        self.names.push_str(name);
        let name = begin..self.names.len();
        self.jobs.push(Job { group, name, load: self.loads.len().saturating_sub(1) });
        self.are_sorted = false;
    }

    /// Stores the line of the added job for [`Self::add_like_last`].
    pub(super) fn remember(&mut self, line: &str) {
        self.last.clear();
        match cut(line, BEFORE_GROUP) {
            Some((name, rest)) if !name.starts_with('<') => self.last.push_str(rest),
            _ => {}
        }
    }

    /// Adds the job of a line that differs from the last one only in its name: fio writes such a line for
    /// each of a thousand clones. Returns false for any other line.
    pub(super) fn add_like_last(&mut self, line: &str) -> bool {
        let Some(last) = self.jobs.last() else { return false };
        let Some((name, rest)) = cut(line, BEFORE_GROUP) else { return false };
        let is_like = !rest.is_empty() && rest == self.last && !name.starts_with('<');
        if is_like {
            self.add_job(last.group, name);
        }
        is_like
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        let Self { jobs, are_sorted: _, names, loads, groups, last } = self;
        jobs.clear();
        names.clear();
        loads.clear();
        groups.clear();
        last.clear();
    }

    /// Returns the workload of a result: that of its job, or of its whole group if the result is of several
    /// jobs.
    pub(super) fn of(&mut self, group: u32, name: &str, users: u32) -> ReportedWorkload {
        if name == ALL_CLIENTS {
            return ReportedWorkload::common(self.groups.values());
        }
        if users == 1 {
            self.sort();
        }
        let Some(common) = self.groups.get(&group) else { return ReportedWorkload::default() };
        let job = if users == 1 { self.load(group, name) } else { None };
        // Clients run jobs with the same name, and the text does not say which of them a result belongs to.
        ReportedWorkload { host: common.host.clone(), ..job.unwrap_or(common).clone() }
    }

    /// Returns the workload of the first job with this group and name.
    fn load(&self, group: u32, name: &str) -> Option<&ReportedWorkload> {
        let key = |job: &Job| (job.group, &self.names[job.name.clone()]);
        let at = self.jobs.partition_point(|job| key(job) < (group, name));
        let job = self.jobs.get(at).filter(|job| key(job) == (group, name))?;
        self.loads.get(job.load)
    }

    fn sort(&mut self) {
        if !self.are_sorted {
            let names = &self.names;
            self.jobs.sort_by_key(|job| (job.group, &names[job.name.clone()]));
            self.are_sorted = true;
        }
    }
}

/// Returns true if a line may be one for [`asked`] or [`reported`] because it contains `: (g`. This check
/// is faster than they are, for every line.
pub(super) fn may_name_a_job(line: &str) -> bool {
    let bytes = line.as_bytes();
    let is_there = |at| bytes[..at].ends_with(b": ") && bytes.get(at + 1) == Some(&b'g');
    memchr_iter(b'(', bytes).any(is_there)
}

/// Parses a line `NAME: (g=GROUP): rw=…`, which begins with `<HOST> ` in client mode, into group, name and
/// workload; `None` for any other line.
pub(super) fn asked(line: &str) -> Option<(u32, String, ReportedWorkload)> {
    let (name, rest) = cut(line, BEFORE_GROUP)?;
    let (group, rest) = cut(rest, "):")?;
    let group = group.trim().parse().ok()?;
    let rw = field(rest, "rw=")?;
    let (host, name) = match name.strip_prefix('<').and_then(|name| cut(name, "> ")) {
        Some((host, name)) => (host, name),
        None => ("", name),
    };
    let sizes = cut(rest, "bs=").map_or("", |(_, sizes)| sizes);
    let sizes = cut(sizes, ", ioengine=").map_or(sizes, |(sizes, _)| sizes);
    let asked = ReportedWorkload {
        host: host.to_owned(),
        rw: rw.to_owned(),
        blocks: blocks(sizes),
        engine: field(rest, "ioengine=").unwrap_or_default().to_owned(),
        iodepth: field(rest, "iodepth=").and_then(|queue_depth| queue_depth.parse().ok()),
        is_synchronous: None,
    };
    Some((group, name.to_owned(), asked))
}

/// Parses the block sizes of reads, writes and trims: `8K-8K/8K-8K`, `4096B-4096B,4096B-4096B,…`, or `(R)
/// 16.0KiB-16.0KiB, (W) …`.
fn blocks(text: &str) -> [Option<BlockRange>; 3] {
    let prefix = if cut(text, "B-").is_some() { Prefix::Decimal } else { Prefix::Binary };
    let by = if memchr(b'/', text.as_bytes()).is_some() { b'/' } else { b',' };
    let mut ranges = pieces(text, by).map(|part| {
        let part = part.trim_ascii();
        let part = part.strip_prefix('(').and_then(|p| once(p, b')')).map_or(part, |p| p.1);
        let (min, max) = once(part, b'-').unwrap_or((part, part));
        let size = |text| Some(bytes(text, prefix)?.value.round() as u64);
        Some(BlockRange { min_bytes: size(min)?, max_bytes: size(max)? })
    });
    std::array::from_fn(|_| ranges.next().flatten())
}

/// A line `NAME: (groupid=GROUP, jobs=USERS): err= 0: pid=…: TIME`.
#[derive(Debug, PartialEq)]
pub(super) struct Reported<'a> {
    pub(super) name: &'a str,
    pub(super) group: u32,
    pub(super) users: u32,
    pub(super) error: i32,
    pub(super) pid: Option<u64>,
    pub(super) unix_seconds: Option<i64>,
}

/// Parses a line of that kind; `None` for any other line.
pub(super) fn reported(line: &str) -> Option<Result<Reported<'_>, &'static str>> {
    let (name, rest) = cut(line, ": (groupid=")?;
    Some(read_reported(name, rest))
}

fn read_reported<'a>(name: &'a str, rest: &'a str) -> Result<Reported<'a>, &'static str> {
    let (group, behind) = once(rest, b',').ok_or("groupid= without jobs=")?;
    let group = group.trim().parse().map_err(|_| "groupid= is not a number")?;
    let (users, behind) = once(behind, b')').ok_or("jobs= does not end")?;
    let users = users.trim().strip_prefix("jobs=").and_then(|users| users.parse().ok());
    let users = users.filter(|users| *users > 0).ok_or("jobs= is not a number above 0")?;
    let error = cut(behind, "err=").map_or("", |(_, error)| error).trim_start();
    let digits = error.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(error.len());
    let error = error[..digits].parse().map_err(|_| "err= is not a number")?;
    let behind_pid = cut(behind, "pid=").map(|(_, pid)| pid);
    let pid =
        behind_pid.and_then(|pid| once(pid, b':').map_or(pid, |(pid, _)| pid).trim().parse().ok());
    let time = behind_pid.and_then(|pid| cut(pid, ": "));
    let unix_seconds = time.and_then(|(_, time)| unix_seconds(time));
    Ok(Reported { name, group, users, error, pid, unix_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(size: u64) -> Option<BlockRange> {
        Some(BlockRange { min_bytes: size, max_bytes: size })
    }

    #[test]
    fn all_block_size_notations_are_parsed() {
        let all = [fixed(8192); 3];
        assert_eq!(blocks("8K-8K/8K-8K"), [fixed(8192), fixed(8192), None]);
        assert_eq!(blocks("8K-8K/8K-8K/8K-8K"), all);
        assert_eq!(blocks("8192B-8192B,8192B-8192B,8192B-8192B"), all);
        assert_eq!(blocks("(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B"), all);
        let mixed = blocks("(R) 4096B-64.0KiB, (W) 1024KiB-1024KiB, (T) 4096B-4096B");
        assert_eq!(mixed[0], Some(BlockRange { min_bytes: 4096, max_bytes: 65_536 }));
        assert_eq!(mixed[1], fixed(1 << 20));
        assert_eq!(blocks("512-512/512-512"), [fixed(512), fixed(512), None]);
        assert_eq!(blocks(""), [None; 3]);
    }

    #[test]
    fn job_lines_before_a_run_are_parsed() {
        let line = "job 1: (g=2): rw=randrw, bs=8K-8K/8K-8K, ioengine=psync, iodepth=4";
        let (group, name, asked_for) = asked(line).unwrap();
        assert_eq!((group, name.as_str()), (2, "job 1"));
        assert_eq!((asked_for.rw.as_str(), asked_for.engine.as_str()), ("randrw", "psync"));
        assert_eq!(asked_for.iodepth, Some(4));
        let remote = asked("<10.0.0.1> a: (g=0): rw=read, bs=4K-4K/4K-4K, ioengine=sync").unwrap();
        assert_eq!((remote.1.as_str(), remote.2.host.as_str()), ("a", "10.0.0.1"));
        assert_eq!(asked("lat (usec): min=1"), None);
    }

    #[test]
    fn job_lines_before_a_result_are_parsed() {
        let line = "job1: (groupid=0, jobs=8): err= 0: pid=4181";
        let read = reported(line).unwrap().unwrap();
        assert_eq!((read.name, read.group, read.users, read.error), ("job1", 0, 8, 0));
        let line = "a: b: (groupid=1, jobs=2): err=28 (file:io_u.c:1, func=io, error=No space \
                    left on device): pid=7: Sat Nov 21 09:06:36 2026";
        let read = reported(line).unwrap().unwrap();
        assert_eq!((read.name, read.error), ("a: b", 28));
        assert_eq!(read.unix_seconds, Some(1_795_251_996));
        assert!(reported("a: (groupid=x, jobs=2): err= 0").unwrap().is_err());
        assert!(reported("a: (groupid=0, jobs=0): err= 0").unwrap().is_err());
        assert_eq!(reported("a: (g=0): rw=read"), None);
    }

    #[test]
    fn repeated_job_line_adds_another_job() {
        let mut jobs = AskedJobs::default();
        let first = "b: (g=0): rw=read, bs=8K-8K/8K-8K, ioengine=psync, iodepth=1";
        assert!(!jobs.add_like_last(first), "there is no last one");
        let (group, name, load) = asked(first).unwrap();
        jobs.add(group, &name, load.clone());
        jobs.remember(first);
        assert!(jobs.add_like_last(&first.replace("b:", "a: x:")));
        assert!(!jobs.add_like_last(&first.replace("g=0", "g=1")));
        assert!(!jobs.add_like_last(&format!("<host> {first}")));
        assert_eq!((jobs.of(0, "a: x", 1), jobs.of(0, "b", 1)), (load.clone(), load.clone()));
        assert_eq!(jobs.of(0, "c", 1), load, "of its group");

        let remote = format!("<host> {first}");
        let (group, name, load) = asked(&remote).unwrap();
        jobs.add(group, &name, load);
        jobs.remember(&remote);
        assert!(!jobs.add_like_last(first) && !jobs.add_like_last("b: (g="));
        jobs.clear();
        assert_eq!(jobs.of(0, "b", 1), ReportedWorkload::default());
    }

    #[test]
    fn group_of_different_jobs_merges_their_options() {
        let mut jobs = AskedJobs::default();
        for line in [
            "a: (g=0): rw=read, bs=8K-8K/8K-8K, ioengine=psync, iodepth=1",
            "b: (g=0): rw=write, bs=4K-4K/4K-4K, ioengine=psync, iodepth=2",
        ] {
            let (group, name, asked) = asked(line).unwrap();
            jobs.add(group, &name, asked);
        }
        assert_eq!(jobs.of(0, "b", 1).rw, "write");
        let both = jobs.of(0, "a", 2);
        assert_eq!((both.rw.as_str(), both.iodepth), ("read+write", None));
        assert_eq!(both.blocks[0], Some(BlockRange { min_bytes: 4096, max_bytes: 8192 }));
        assert_eq!(jobs.of(7, "c", 1), ReportedWorkload::default());

        let (group, name, asked) =
            asked("<h> c: (g=1): rw=read, bs=1K-1K, ioengine=psync").unwrap();
        jobs.add(group, &name, asked);
        let all = jobs.of(1, "All clients", 3);
        assert_eq!(
            (all.rw.as_str(), all.engine.as_str(), all.iodepth),
            ("read+write", "psync", None)
        );
        assert_eq!(all.blocks[0].unwrap().min_bytes, 1024);
    }
}
