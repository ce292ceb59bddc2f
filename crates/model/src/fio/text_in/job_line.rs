//! The lines that name jobs: one for each before a run, one for each result behind it.

use super::figure::{Prefix, bytes, cut, field, unix_seconds};
use crate::fio::result::BlockRange;
use memchr::memchr_iter;
use std::collections::HashMap;

/// What fio says of a job before it runs: `job1: (g=0): rw=read, bs=8K-8K/8K-8K, ioengine=…`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) host: String,
    pub(super) rw: String,
    /// Block sizes of reads, writes and trims.
    pub(super) blocks: [Option<BlockRange>; 3],
    pub(super) engine: String,
    pub(super) iodepth: Option<u32>,
}

/// The jobs of a run by group and name, and what the jobs of each group have in common.
#[derive(Debug, Default)]
pub(super) struct AskedJobs {
    jobs: HashMap<(u32, String), Asked>,
    groups: HashMap<u32, Asked>,
}

impl AskedJobs {
    pub(super) fn add(&mut self, group: u32, name: String, asked: Asked) {
        match self.groups.get_mut(&group) {
            Some(common) => common.join(&asked),
            None => drop(self.groups.insert(group, asked.clone())),
        }
        // Clones of a job have its name and ask for the same.
        self.jobs.entry((group, name)).or_insert(asked);
    }

    /// What a result was asked for: that of its job, or of its whole group where it is the result
    /// of several.
    pub(super) fn of(&self, group: u32, name: &str, users: u32) -> Asked {
        let Some(common) = self.groups.get(&group) else { return Asked::default() };
        let job = self.jobs.get(&(group, name.to_owned())).filter(|_| users == 1);
        // Clients run jobs of one name; which of them a result is of, the text does not say.
        Asked { host: common.host.clone(), ..job.unwrap_or(common).clone() }
    }
}

impl Asked {
    fn join(&mut self, other: &Self) {
        if !self.rw.split('+').any(|rw| rw == other.rw) {
            self.rw = format!("{}+{}", self.rw, other.rw);
        }
        for (mine, theirs) in self.blocks.iter_mut().zip(other.blocks) {
            *mine = match (*mine, theirs) {
                (Some(a), Some(b)) => Some(BlockRange {
                    min_bytes: a.min_bytes.min(b.min_bytes),
                    max_bytes: a.max_bytes.max(b.max_bytes),
                }),
                _ => None,
            };
        }
        if self.iodepth != other.iodepth {
            self.iodepth = None;
        }
        if self.engine != other.engine {
            self.engine.clear();
        }
        if self.host != other.host {
            self.host.clear();
        }
    }
}

/// True for a line that may be one of [`asked`] or [`reported`]: it has `: (g`. Quicker than they
/// are, for every line.
pub(super) fn may_name_a_job(line: &str) -> bool {
    let bytes = line.as_bytes();
    let is_there = |at| bytes[..at].ends_with(b": ") && bytes.get(at + 1) == Some(&b'g');
    memchr_iter(b'(', bytes).any(is_there)
}

/// The group, name and load of a line `NAME: (g=GROUP): rw=…`, which begins with `<HOST> ` in
/// client mode; `None` for another line.
pub(super) fn asked(line: &str) -> Option<(u32, String, Asked)> {
    let (name, rest) = cut(line, ": (g=")?;
    let (group, rest) = cut(rest, "):")?;
    let group = group.trim().parse().ok()?;
    let rw = field(rest, "rw=")?;
    let (host, name) = match name.strip_prefix('<').and_then(|name| cut(name, "> ")) {
        Some((host, name)) => (host, name),
        None => ("", name),
    };
    let sizes = cut(rest, "bs=").map_or("", |(_, sizes)| sizes);
    let sizes = cut(sizes, ", ioengine=").map_or(sizes, |(sizes, _)| sizes);
    let asked = Asked {
        host: host.to_owned(),
        rw: rw.to_owned(),
        blocks: blocks(sizes),
        engine: field(rest, "ioengine=").unwrap_or_default().to_owned(),
        iodepth: field(rest, "iodepth=").and_then(|depth| depth.parse().ok()),
    };
    Some((group, name.to_owned(), asked))
}

/// Block sizes of reads, writes and trims: `8K-8K/8K-8K`, `4096B-4096B,4096B-4096B,…`, or
/// `(R) 16.0KiB-16.0KiB, (W) …`.
fn blocks(text: &str) -> [Option<BlockRange>; 3] {
    let prefix = if cut(text, "B-").is_some() { Prefix::Decimal } else { Prefix::Binary };
    let mut ranges = text.split(['/', ',']).map(|part| {
        let part = part.trim();
        let part = part.strip_prefix('(').and_then(|p| p.split_once(')')).map_or(part, |p| p.1);
        let (min, max) = part.split_once('-').unwrap_or((part, part));
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
    pub(super) unix_seconds: Option<i64>,
}

/// Where a line is of that kind: what it says, or what is wrong with it.
pub(super) fn reported(line: &str) -> Option<Result<Reported<'_>, &'static str>> {
    let (name, rest) = cut(line, ": (groupid=")?;
    Some(read_reported(name, rest))
}

fn read_reported<'a>(name: &'a str, rest: &'a str) -> Result<Reported<'a>, &'static str> {
    let (group, behind) = rest.split_once(',').ok_or("groupid= without jobs=")?;
    let group = group.trim().parse().map_err(|_| "groupid= is no number")?;
    let (users, behind) = behind.split_once(')').ok_or("jobs= does not end")?;
    let users = users.trim().strip_prefix("jobs=").and_then(|users| users.parse().ok());
    let users = users.filter(|users| *users > 0).ok_or("jobs= is no number above 0")?;
    let error = cut(behind, "err=").map_or("", |(_, error)| error).trim_start();
    let digits = error.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(error.len());
    let error = error[..digits].parse().map_err(|_| "err= is no number")?;
    let time = cut(behind, "pid=").and_then(|(_, pid)| cut(pid, ": "));
    let unix_seconds = time.and_then(|(_, time)| unix_seconds(time));
    Ok(Reported { name, group, users, error, unix_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(size: u64) -> Option<BlockRange> {
        Some(BlockRange { min_bytes: size, max_bytes: size })
    }

    #[test]
    fn every_way_of_writing_block_sizes() {
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
    fn lines_before_a_run() {
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
    fn lines_before_a_result() {
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
    fn a_group_of_different_jobs_has_what_they_share() {
        let mut jobs = AskedJobs::default();
        for line in [
            "a: (g=0): rw=read, bs=8K-8K/8K-8K, ioengine=psync, iodepth=1",
            "b: (g=0): rw=write, bs=4K-4K/4K-4K, ioengine=psync, iodepth=2",
        ] {
            let (group, name, asked) = asked(line).unwrap();
            jobs.add(group, name, asked);
        }
        assert_eq!(jobs.of(0, "b", 1).rw, "write");
        let both = jobs.of(0, "a", 2);
        assert_eq!((both.rw.as_str(), both.iodepth), ("read+write", None));
        assert_eq!(both.blocks[0], Some(BlockRange { min_bytes: 4096, max_bytes: 8192 }));
        assert_eq!(jobs.of(7, "c", 1), Asked::default());
    }
}
