//! `best-worst`: the best case of a target, its worst case, and the capacity to plan with.
//!
//! The best case transfers large blocks sequentially and small ones from the target's cache. The
//! worst case accesses small blocks over a region larger than any cache, after the region was
//! rewritten until it is in steady state. Data sheets give the best case; an application should
//! expect figures near the worst.

mod plan;
mod report;
#[cfg(test)]
mod tests;
mod verdict;

use super::{CaveatFilter, Needs, Site, Suite, SuiteError, SuiteOptions, SuiteStep};
use crate::stats::first_steady;
use iogauge_model::caveat::{Command, Fact, StepTime, TargetFact};
use iogauge_model::load::{Load, Pattern};
use iogauge_model::result::{Conclusion, SuiteStepResult, SuiteTable};
use iogauge_model::{Caveat, CaveatCode, Limit};
use report::Report;

/// The assumed cache of a device; devices rarely report it.
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
    /// Returns the cache of each part: as typed, or guessed.
    fn cache_bytes(&self) -> u64 {
        self.cache_bytes.unwrap_or(GUESSED_CACHE_BYTES)
    }

    /// Returns the limits that bound such a workload.
    fn searched(&self, rw: Pattern) -> Vec<Limit> {
        let load = Load { rw, ..Load::default() };
        self.limits.iter().filter(|limit| limit.check(&load).is_ok()).copied().collect()
    }

    /// Returns a caveat if the target is too small to show its worst case.
    fn too_small(&self, site: &Site) -> Option<Caveat> {
        let size_bytes = site.part_bytes.iter().min().copied().unwrap_or(0);
        let (cache_bytes, guessed) = (self.cache_bytes(), self.cache_bytes.is_none());
        let small = TargetFact::SmallForWorst { size_bytes, cache_bytes, guessed };
        (size_bytes < cache_bytes.saturating_mul(10))
            .then(|| Fact::from(small).caveat(Command::Suite(StepTime::Seconds)))
    }
}

/// Returns the IOPS of the complete rounds, in order.
fn round_rates(steps: &[SuiteStepResult]) -> Vec<f64> {
    let whole = steps.iter().filter(|step| step.place.phase == plan::ROUNDS && !step.interrupted);
    whole.filter_map(|step| Some(step.step()?.total()?.iops)).collect()
}

/// True if a caveat about a step is also one about the result.
fn concerns(caveat: &Caveat, step: &SuiteStepResult) -> bool {
    if step.place.key == plan::FILL_CACHE {
        return matches!(caveat.code, CaveatCode::IoErrors | CaveatCode::Interrupted);
    }
    // Rounds run until the target is steady, and the best case includes the cache.
    let expected = match step.place.phase.as_str() {
        plan::ROUNDS => &[CaveatCode::NotSteady, CaveatCode::PerformanceShift][..],
        plan::BEST => &[CaveatCode::NotSteady, CaveatCode::PerformanceShift, CaveatCode::PageCache],
        _ => &[],
    };
    !expected.contains(&caveat.code)
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

    fn caveat_filter<'a>(
        &'a self,
        _site: &'a Site,
        _steps: &'a [SuiteStepResult],
    ) -> CaveatFilter<'a> {
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
