//! `oltp`: the matrix of workloads by which database administrators judge storage.
//!
//! Random reads, scans, redo writes and a mix of reads and writes, each by one user and by many. A
//! user issues one I/O at a time, as a server process does that waits for its block.

mod matrix;
mod verdict;

use super::kit::listed;
use super::{Needs, Site, SiteKind, Suite, SuiteError, SuiteOptions, SuiteStep};
use crate::session::Region;
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::result::{Conclusion, StepPlace, SuiteStepResult, SuiteTable};
use iogauge_model::units::{Bytes, size_word};
use iogauge_model::{Caveat, CaveatCode, Step};
use matrix::{Entry, Test};

/// Largest number of users.
const MOST_USERS: u32 = 1024;
/// The ramp time is the measured time divided by this.
const RAMP_SHARE: u64 = 10;
/// Block size for initializing devices; large enough for full bandwidth.
const INIT_BLOCK_BYTES: u64 = 1 << 20;
const INIT_DEPTH: u32 = 16;

#[derive(Debug)]
struct Oltp {
    entries: Vec<Entry>,
    runtime_ns: u64,
    size_bytes: Option<u64>,
    file_per_user: bool,
    init: bool,
}

pub(super) fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let typed = options
        .words("tests")
        .map(|word| word.parse::<Test>().map_err(|reason| SuiteError::option("tests", reason)));
    let typed = typed.collect::<Result<Vec<Test>, _>>()?;
    if typed.is_empty() {
        return Err(SuiteError::option("tests", "none is named; hint: use readrand,read"));
    }
    let sizes_bytes = options.sizes_bytes("bs")?;
    let users = options.counts("users", MOST_USERS)?;
    for (option, none) in [("bs", sizes_bytes.is_empty()), ("users", users.is_empty())] {
        if options.has(option) && none {
            let right = if option == "bs" { "8k,16k" } else { "1,8" };
            return Err(SuiteError::option(option, format!("none is named; hint: use {right}")));
        }
    }
    let tests = Test::ALL.into_iter().filter(|test| typed.contains(test));
    Ok(Box::new(Oltp {
        entries: tests.flat_map(|test| test.entries(&sizes_bytes, &users)).collect(),
        runtime_ns: options.duration_ns("seconds")?.unwrap_or(60_000_000_000),
        size_bytes: options.size_bytes("size")?,
        file_per_user: options.has("file-per-user"),
        init: options.has("init"),
    }))
}

fn unfit(reason: impl Into<String>) -> SuiteError {
    SuiteError::Unfit { suite: "oltp".to_owned(), reason: reason.into() }
}

impl Suite for Oltp {
    fn needs(&self) -> Needs {
        Needs {
            files: if self.file_per_user { self.most_users() } else { 1 },
            size_bytes: self.size_bytes,
            size_is_total: true,
            writes: self.init || self.entries.iter().any(|entry| entry.test.writes()),
            fresh_devices: self.init,
            ..Needs::default()
        }
    }

    /// Omits the caveat of a volatile cache if only the initialization could cause it: the measured writes then wait
    /// for the medium.
    fn keeps_target_caveat(&self, caveat: &Caveat) -> bool {
        caveat.code != CaveatCode::VolatileWriteCache
            || self.entries.iter().any(|entry| entry.test == Test::RandRw)
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        self.check_ground(site)?;
        let part_bytes = self.part_bytes(site);
        self.check_room(site, &part_bytes)?;
        let mut steps = Vec::new();
        if self.init {
            steps.push(init(site, &part_bytes));
        }
        for entry in &self.entries {
            if entry.fits(site) {
                steps.push(self.step(entry, site));
            }
        }
        for test in Test::ALL {
            let of_test = || self.entries.iter().filter(|entry| entry.test == test);
            if of_test().next().is_some() && !of_test().any(|entry| entry.fits(site)) {
                let (word, block) = (test.word(), Bytes(u64::from(site.block_bytes)));
                return Err(unfit(format!(
                    "no block size of {word} is a multiple of {block}, which I/O to the target goes \
                     in; hint: use --bs=8k"
                )));
            }
        }
        Ok(steps)
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let mut left_out: Vec<u64> = self
            .entries
            .iter()
            .filter(|entry| !entry.fits(site))
            .map(|entry| entry.block_bytes)
            .collect();
        left_out.sort_unstable();
        left_out.dedup();
        let points = verdict::points(&self.entries, steps);
        let mut verdict = verdict::sentences(&points);
        if !left_out.is_empty() {
            let were = if left_out.len() == 1 { "was" } else { "were" };
            verdict.push(format!(
                "{} {were} left out: I/O to the target goes in multiples of {}.",
                listed(left_out.iter().copied().map(Bytes), ", "),
                Bytes(u64::from(site.block_bytes))
            ));
        }
        let findings = verdict::findings(&points, &left_out);
        let conclusion = Conclusion { verdict, tables: vec![SuiteTable::Classic], findings };
        (conclusion, Vec::new())
    }
}

impl Oltp {
    fn most_users(&self) -> u32 {
        self.entries.iter().map(|entry| entry.users).max().unwrap_or(1)
    }

    /// Checks that the options fit the target.
    fn check_ground(&self, site: &Site) -> Result<(), SuiteError> {
        let all_bytes = site.size_bytes();
        if let Some(asked) = self.size_bytes.filter(|asked| *asked > all_bytes) {
            // Files and devices were opened with their shares, which are whole blocks.
            if site.kind == SiteKind::Simulated {
                return Err(SuiteError::option(
                    "size",
                    format!(
                        "{} is more than the {} of the simulated device; hint: use {} or less",
                        Bytes(asked),
                        Bytes(all_bytes),
                        size_word(all_bytes)
                    ),
                ));
            }
        }
        if self.init && site.kind == SiteKind::Files {
            let reason = "files are written when they are made; hint: use --recreate";
            return Err(SuiteError::option("init", reason));
        }
        let (parts, users) = (site.part_bytes.len(), self.most_users());
        if self.file_per_user && parts < users as usize {
            let reason = match site.kind {
                SiteKind::Simulated => "a simulated device has no files".to_owned(),
                _ => format!("{users} users need a file or device each, not {parts}"),
            };
            return Err(SuiteError::option(
                "file-per-user",
                format!("{reason}; hint: use a directory"),
            ));
        }
        Ok(())
    }

    /// Returns the measured bytes of each part.
    fn part_bytes(&self, site: &Site) -> Vec<u64> {
        let most = match site.kind {
            SiteKind::Simulated => self.size_bytes.unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let block = u64::from(site.block_bytes);
        site.part_bytes.iter().map(|bytes| (*bytes).min(most) / block * block).collect()
    }

    /// Checks that each user of a sequential test has at least one block to itself, and that each
    /// part has one.
    fn check_room(&self, site: &Site, part_bytes: &[u64]) -> Result<(), SuiteError> {
        let parts = part_bytes.len() as u64;
        let of_each_part = |entry: &Entry| {
            let alone = !entry.test.is_sequential() || self.file_per_user;
            let streams = if alone { 1 } else { u64::from(entry.users) };
            entry.block_bytes.saturating_mul(streams.div_ceil(parts))
        };
        let most = self.entries.iter().filter(|e| e.fits(site)).max_by_key(|e| of_each_part(e));
        let least_bytes = part_bytes.iter().min().copied().unwrap_or(0);
        let Some(entry) = most.filter(|entry| of_each_part(entry) > least_bytes) else {
            return Ok(());
        };
        let needed_bytes = of_each_part(entry).saturating_mul(parts);
        Err(unfit(format!(
            "\"{}\" needs {} on {}, which {} {}; hint: use --size={}, smaller --bs or fewer --users",
            entry.key(),
            Bytes(needed_bytes),
            if parts == 1 { "the target".to_owned() } else { format!("{parts} files or devices") },
            if parts == 1 { "has" } else { "have" },
            Bytes(least_bytes.saturating_mul(parts)),
            size_word(needed_bytes)
        )))
    }

    fn step(&self, entry: &Entry, site: &Site) -> SuiteStep {
        let Entry { test, block_bytes, users } = *entry;
        let mut load = test.load(site, block_bytes);
        if site.kind == SiteKind::Simulated {
            load.size_bytes = self.size_bytes;
        }
        let all = Load { numjobs: users, ..load.clone() };
        let mut step = Step::single(all, self.runtime_ns / RAMP_SHARE, self.runtime_ns);
        if !self.file_per_user || users == 1 {
            let mut step = SuiteStep::single(test.word(), entry.key(), step);
            if self.file_per_user {
                step.regions = vec![Region::Parts(vec![0])];
            }
            return step;
        }
        let of_user = |user: u32| Job {
            name: load.rw.to_string(),
            load: Load { seed: load.seed + u64::from(user), ..load.clone() },
        };
        step.jobs = (0..users).map(of_user).collect();
        let regions = (0..users as usize).map(|user| Region::Parts(vec![user])).collect();
        SuiteStep { regions, sums_up: true, ..SuiteStep::single(test.word(), entry.key(), step) }
    }
}

/// Returns the step that writes every block of every part once: whole mebibytes, then the
/// remainder.
fn init(site: &Site, part_bytes: &[u64]) -> SuiteStep {
    let mut step = Step::single(site.load(), 0, LONGEST_NS);
    step.label = format!("write {} once", Bytes(part_bytes.iter().sum()));
    step.jobs.clear();
    let mut regions = Vec::new();
    for (part, bytes) in part_bytes.iter().enumerate() {
        let whole = bytes / INIT_BLOCK_BYTES * INIT_BLOCK_BYTES;
        let rest = bytes - whole;
        let stretches = [(0, whole, INIT_BLOCK_BYTES, INIT_DEPTH), (whole, rest, rest, 1)];
        for (offset_bytes, size_bytes, block, iodepth) in stretches {
            if size_bytes == 0 {
                continue;
            }
            let load = Load {
                rw: Pattern::Write,
                block: BlockSizes::fixed(block),
                iodepth,
                offset_bytes,
                size_bytes: Some(size_bytes),
                io_size_bytes: Some(size_bytes),
                seed: part as u64 + 1,
                ..site.load()
            };
            step.jobs.push(Job { name: "init".to_owned(), load });
            regions.push(Region::Parts(vec![part]));
        }
    }
    SuiteStep { regions, sums_up: true, ..SuiteStep::single(StepPlace::INIT, "init", step) }
}

#[cfg(test)]
mod tests;
