//! The steps: best, rounds of rewriting, worst, dependent I/O, capacity.

use super::BestWorst;
use crate::search::SearchPlan;
use crate::session::HostsUsed;
use crate::suite::kit::{block_fits, counted};
use crate::suite::{Site, SuiteError, SuiteStep, Work};
use iogauge_model::Step;
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::result::StepPlace;
use iogauge_model::units::{Bytes, size_word};

/// Phases.
pub(super) const BEST: &str = "best";
pub(super) const ROUNDS: &str = "rounds";
pub(super) const WORST: &str = "worst";
pub(super) const DEPENDENT: &str = "dependent";
pub(super) const CAPACITY: &str = "capacity";

/// Keys of the steps that the report looks for.
pub(super) const SEQUENTIAL_READ: &str = "sequential read";
pub(super) const SEQUENTIAL_WRITE: &str = "sequential write";
pub(super) const FILL_CACHE: &str = "fill cache";
pub(super) const CACHED_READ: &str = "cached read";
pub(super) const CACHED_WRITE: &str = "cached write";
pub(super) const RANDOM_READ: &str = "random read";
pub(super) const RANDOM_WRITE: &str = "random write";
pub(super) const HYBRID: &str = "hybrid";
pub(super) const CAPACITY_READ: &str = "capacity random read";
pub(super) const CAPACITY_MIXED: &str = "capacity random 70/30";

/// Block size of sequential I/O.
const LARGE_BYTES: u64 = 1 << 20;
/// Queue depth of sequential I/O.
const LARGE_DEPTH: u32 = 8;

/// Returns the key of a step that compares dependent and independent I/O.
pub(super) fn chains_key(dependent: bool, users: u32) -> String {
    let word = if dependent { "dependent" } else { "independent" };
    format!("{word} {}", counted(users, "user"))
}

impl BestWorst {
    /// Returns the numbers of users at which dependent and independent I/O are compared.
    pub(super) fn chains(&self) -> Vec<u32> {
        let mut users = vec![1, self.users];
        users.dedup();
        users
    }

    /// Returns the size of the region of each part that should fit into the cache: half of the
    /// cache, which also holds other data, and at most a tenth of the part.
    pub(super) fn hot_bytes(&self, site: &Site) -> u64 {
        let hot = (self.cache_bytes() / 2).min(site.smallest_bytes() / 10);
        (hot / self.block_bytes * self.block_bytes).max(self.block_bytes)
    }

    pub(super) fn steps(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        block_fits(site, "bs", self.block_bytes)?;
        let smallest = site.smallest_bytes();
        let least = LARGE_BYTES * u64::from(LARGE_DEPTH);
        if smallest < least {
            let reason = format!(
                "the target has {}, too little for a best and a worst; hint: use {} or more",
                Bytes(smallest),
                size_word(least)
            );
            return Err(SuiteError::Unfit { suite: "best-worst".to_owned(), reason });
        }
        let mut steps = self.best(site);
        if !self.read_only {
            steps.extend((1..=self.rounds).map(|round| self.round(site, round)));
        }
        steps.extend(self.worst(site));
        steps.extend(self.capacity(site));
        Ok(steps)
    }

    fn random(&self, site: &Site, rw: Pattern) -> Load {
        let block = BlockSizes::fixed(self.block_bytes);
        Load { rw, block, iodepth: self.users, ..site.load() }
    }

    fn timed(&self, phase: &str, key: &str, load: Load) -> SuiteStep {
        SuiteStep::single(phase, key, Step::single(load, self.runtime_ns / 10, self.runtime_ns))
    }

    fn best(&self, site: &Site) -> Vec<SuiteStep> {
        let large = |rw| Load {
            rw,
            block: BlockSizes::fixed(LARGE_BYTES),
            iodepth: LARGE_DEPTH,
            ..site.load()
        };
        let hot_bytes = self.hot_bytes(site);
        let hot = |rw| Load { size_bytes: Some(hot_bytes), ..self.random(site, rw) };
        let warm = Load {
            block: BlockSizes::fixed(LARGE_BYTES.min(hot_bytes)),
            size_bytes: Some(hot_bytes),
            io_size_bytes: Some(hot_bytes * site.part_bytes.len() as u64),
            ..large(Pattern::Read)
        };
        let steps = [
            self.timed(BEST, SEQUENTIAL_READ, large(Pattern::Read)),
            self.timed(BEST, SEQUENTIAL_WRITE, large(Pattern::Write)),
            SuiteStep::single(BEST, FILL_CACHE, Step::single(warm, 0, LONGEST_NS)),
            self.timed(BEST, CACHED_READ, hot(Pattern::RandRead)),
            self.timed(BEST, CACHED_WRITE, hot(Pattern::RandWrite)),
        ];
        steps.into_iter().filter(|step| !(self.read_only && step.writes())).collect()
    }

    fn round(&self, site: &Site, round: u32) -> SuiteStep {
        let load = Load { seed: u64::from(round), ..self.random(site, Pattern::RandWrite) };
        let step = Step::single(load, 0, self.round_ns);
        SuiteStep::single(ROUNDS, format!("round {round}"), step).in_round(round)
    }

    fn worst(&self, site: &Site) -> Vec<SuiteStep> {
        let random = |rw| self.random(site, rw);
        let mut steps = vec![
            self.timed(WORST, RANDOM_READ, random(Pattern::RandRead)),
            self.timed(WORST, RANDOM_WRITE, random(Pattern::RandWrite)),
            self.hybrid(site),
        ];
        for users in self.chains() {
            for dependent in [true, false] {
                let load = Load { dependent, iodepth: users, ..random(Pattern::RandRw) };
                steps.push(self.timed(DEPENDENT, &chains_key(dependent, users), load));
            }
        }
        steps.into_iter().filter(|step| !(self.read_only && step.writes())).collect()
    }

    /// Returns a step with an independent reader and writer at the same time, each with half of the
    /// I/Os.
    fn hybrid(&self, site: &Site) -> SuiteStep {
        let job = |rw: Pattern, seed| Job {
            name: rw.to_string(),
            load: Load { iodepth: (self.users / 2).max(1), seed, ..self.random(site, rw) },
        };
        let jobs = vec![job(Pattern::RandRead, 1), job(Pattern::RandWrite, 2)];
        let label = format!("randread beside randwrite {}", Bytes(self.block_bytes));
        let ramp_ns = self.runtime_ns / 10;
        SuiteStep::single(WORST, HYBRID, Step { label, jobs, ramp_ns, runtime_ns: self.runtime_ns })
    }

    fn capacity(&self, site: &Site) -> Vec<SuiteStep> {
        let search = |key: &str, rw| {
            let limits = self.searched(rw);
            let load = Load { read_percent: 70, iodepth: 1, ..self.random(site, rw) };
            if limits.is_empty() || (self.read_only && load.writes()) {
                return None;
            }
            let plan = SearchPlan { limits, budget_ns: self.budget_ns, ..SearchPlan::default() };
            Some(SuiteStep {
                place: StepPlace { key: key.to_owned(), phase: CAPACITY.to_owned(), round: None },
                work: Work::Search { load: Box::new(load), plan },
                regions: Vec::new(),
                sums_up: false,
                hosts: HostsUsed::All,
            })
        };
        let reads = search(CAPACITY_READ, Pattern::RandRead);
        reads.into_iter().chain(search(CAPACITY_MIXED, Pattern::RandRw)).collect()
    }
}
