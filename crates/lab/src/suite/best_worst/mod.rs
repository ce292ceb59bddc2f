//! `best-worst`: what a target does at its best, what at its worst, and what can be counted on.
//!
//! At its best it moves large blocks in sequence, and finds small ones in its cache. At its worst it seeks
//! small blocks all over a region that no cache holds, after it was rewritten until it is steady. What
//! data sheets say is the one; what an application can count on lies near the other.

mod plan;
mod report;
#[cfg(test)]
mod tests;
mod verdict;

use super::{Doubts, Needs, Site, Suite, SuiteError, SuiteOptions, SuiteStep};
use crate::stats::first_steady;
use iogauge_model::caveat::{Command, Fact, StepTime, TargetFact};
use iogauge_model::load::{Load, Pattern};
use iogauge_model::result::{Conclusion, SuiteStepResult, SuiteTable};
use iogauge_model::{Caveat, CaveatCode, Limit};
use report::Report;

/// Cache of devices that do not tell of theirs.
const GUESSED_CACHE_BYTES: u64 = 1 << 30;

#[derive(Debug)]
struct BestWorst {
    block_bytes: u64,
    /// As typed.
    cache_bytes: Option<u64>,
    users: u32,
    runtime_ns: u64,
    round_ns: u64,
    rounds: u32,
    limits: Vec<Limit>,
    budget_ns: u64,
    read_only: bool,
    size_bytes: Option<u64>,
}

pub(super) fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let suite = BestWorst {
        block_bytes: options.size_bytes("bs")?.unwrap_or(4096),
        cache_bytes: options.size_bytes("cache")?,
        users: options.count("users", 4096)?.unwrap_or(32),
        runtime_ns: options.duration_ns("seconds")?.unwrap_or(10_000_000_000),
        round_ns: options.duration_ns("round")?.unwrap_or(60_000_000_000),
        rounds: options.count("rounds", 1000)?.unwrap_or(25),
        limits: options.limits("limit")?,
        budget_ns: options.duration_ns("budget")?.unwrap_or(30_000_000_000),
        read_only: options.has("read-only"),
        size_bytes: options.size_bytes("size")?,
    };
    if suite.rounds < 5 {
        let reason = "whether a target is steady takes five rounds; hint: use 5 or more";
        return Err(SuiteError::option("rounds", reason));
    }
    if suite.budget_ns < 1_000_000_000 {
        let reason = "too short to search in; hint: use 1s or more";
        return Err(SuiteError::option("budget", reason));
    }
    if suite.searched(Pattern::RandRead).is_empty() && suite.read_only {
        let reason = "bounds writes, and --read-only makes none; hint: use mean<=10ms";
        return Err(SuiteError::option("limit", reason));
    }
    Ok(Box::new(suite))
}

impl BestWorst {
    /// The cache of each part: as typed, or guessed.
    fn cache_bytes(&self) -> u64 {
        self.cache_bytes.unwrap_or(GUESSED_CACHE_BYTES)
    }

    /// The limits that bound such a load.
    fn searched(&self, rw: Pattern) -> Vec<Limit> {
        let load = Load { rw, ..Load::default() };
        self.limits.iter().filter(|limit| limit.check(&load).is_ok()).copied().collect()
    }

    /// A doubt where the target is too small to be at its worst.
    fn too_small(&self, site: &Site) -> Option<Caveat> {
        let size_bytes = site.part_bytes.iter().min().copied().unwrap_or(0);
        let (cache_bytes, guessed) = (self.cache_bytes(), self.cache_bytes.is_none());
        let small = TargetFact::SmallForWorst { size_bytes, cache_bytes, guessed };
        (size_bytes < cache_bytes.saturating_mul(10))
            .then(|| Fact::from(small).caveat(Command::Suite(StepTime::Seconds)))
    }
}

/// IOPS of the rounds that came to their end, in order.
fn round_rates(steps: &[SuiteStepResult]) -> Vec<f64> {
    let whole = steps.iter().filter(|step| step.place.phase == plan::ROUNDS && !step.interrupted);
    whole.filter_map(|step| Some(super::kit::total(step.step()?)?.iops)).collect()
}

/// True where a doubt about a step is one about the result.
fn concerns(doubt: &Caveat, step: &SuiteStepResult) -> bool {
    if step.place.key == plan::FILL_CACHE {
        return matches!(doubt.code, CaveatCode::IoErrors | CaveatCode::Interrupted);
    }
    // Rounds are there to become steady, and a cache is what makes the best of a device.
    let expected = match step.place.phase.as_str() {
        plan::ROUNDS => &[CaveatCode::NotSteady, CaveatCode::PerformanceShift][..],
        plan::BEST => &[CaveatCode::NotSteady, CaveatCode::PerformanceShift, CaveatCode::PageCache],
        _ => &[],
    };
    !expected.contains(&doubt.code)
}

impl Suite for BestWorst {
    fn needs(&self) -> Needs {
        Needs { size_bytes: self.size_bytes, writes: !self.read_only, ..Needs::default() }
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        self.steps(site)
    }

    fn wants(&self, _site: &Site, step: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        step.place.phase != plan::ROUNDS || first_steady(&round_rates(done)).is_none()
    }

    fn doubts<'a>(&'a self, _site: &'a Site, _steps: &'a [SuiteStepResult]) -> Doubts<'a> {
        Box::new(concerns)
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let report = Report::of(self, site, steps);
        let mut caveats: Vec<Caveat> = self.too_small(site).into_iter().collect();
        caveats.extend(report.never_steady(self.rounds));
        let conclusion = Conclusion {
            verdict: report.verdict(self),
            tables: report.tables(self).into_iter().map(SuiteTable::Own).collect(),
            findings: report.findings(),
        };
        (conclusion, caveats)
    }
}
