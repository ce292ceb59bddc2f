//! A test in rounds: preconditioning, then the same accesses again and again until five rounds
//! agree.

pub(super) mod report;

use super::super::kit::{Total, p99999};
use super::super::{CaveatFilter, Needs, Site, Suite, SuiteError, SuiteStep};
use super::settings::Settings;
use super::window::{MOST_ROUNDS, Window};
use super::{PRECONDITION_DEPTH, PRECONDITION_PASSES};
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::plan::LONGEST_NS;
use iogauge_model::result::{Cell, Conclusion, RoundsUnit, StepResult, SuiteStepResult, Table};
use iogauge_model::units::{Bytes, size_word};
use iogauge_model::{Caveat, Histogram, Step};
use report::Report;
use serde::Serialize;
use std::fmt;

/// Key and phase of the preconditioning.
pub(super) const PRECONDITION: &str = "precondition";
const ROUNDS: &str = "rounds";

/// One element of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Access {
    /// Percentage of reads; the rest are writes.
    pub read_percent: u32,
    pub block_bytes: u64,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", mix(self.read_percent), Bytes(self.block_bytes))
    }
}

impl Access {
    /// Returns each block size of each mix, in this order.
    pub fn each(mixes: &[u32], sizes_bytes: &[u64]) -> Vec<Self> {
        let of_mix = |read_percent: &u32| {
            let read_percent = *read_percent;
            sizes_bytes.iter().map(move |bytes| Self { read_percent, block_bytes: *bytes })
        };
        mixes.iter().flat_map(of_mix).collect()
    }

    /// Returns the access of a step of a round.
    fn of(step: &SuiteStepResult) -> Option<Self> {
        let load = &step.asked.jobs.first()?.load;
        let read_percent = match (load.rw.reads(), load.rw.writes()) {
            (true, true) => load.read_percent,
            (true, false) => 100,
            _ => 0,
        };
        Some(Self { read_percent, block_bytes: load.block.read.entries().first()?.0 })
    }

    fn pattern(self, random: bool) -> Pattern {
        match (random, self.read_percent) {
            (true, 100) => Pattern::RandRead,
            (true, 0) => Pattern::RandWrite,
            (true, _) => Pattern::RandRw,
            (false, 100) => Pattern::Read,
            (false, 0) => Pattern::Write,
            (false, _) => Pattern::ReadWrite,
        }
    }
}

/// Example: `65/35`, the percentages of reads and writes.
pub(super) fn mix(read_percent: u32) -> String {
    format!("{read_percent}/{}", 100 - read_percent)
}

/// The figure that has to be steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Iops,
    BytesPerSec,
    LatencyMean,
}

impl Measure {
    fn of(self, step: &StepResult) -> Option<f64> {
        let total = step.total()?;
        Some(match self {
            Self::Iops => total.iops,
            Self::BytesPerSec => total.bytes_per_sec,
            Self::LatencyMean => total.mean_ns,
        })
    }

    pub fn cell(self, value: f64) -> Cell {
        match self {
            Self::Iops => Cell::Iops(value),
            Self::BytesPerSec => Cell::BytesPerSec(value),
            Self::LatencyMean => Cell::LatencyNs(value),
        }
    }

    /// Its unit in findings.
    pub fn unit(self) -> RoundsUnit {
        match self {
            Self::Iops => RoundsUnit::Iops,
            Self::BytesPerSec => RoundsUnit::BytesPerSec,
            Self::LatencyMean => RoundsUnit::LatencyNsMean,
        }
    }
}

/// A test in rounds. The tests differ only in this data.
#[derive(Debug, Clone)]
pub(super) struct Rounds {
    /// Its name.
    pub name: &'static str,
    /// Its settings.
    pub settings: Settings,
    /// The elements of a round, in order.
    pub accesses: Vec<Access>,
    /// Those that have to be steady.
    pub trackers: Vec<Access>,
    pub measure: Measure,
    /// True for random offsets, false for sequential ones.
    pub random: bool,
    /// Block size of the preconditioning.
    pub precondition_bytes: u64,
    /// Returns the figures for the first sentence, and those of the window as a table.
    pub figures: fn(&Report<'_>) -> (String, Table),
}

impl Rounds {
    /// Returns the elements of a round that the target accepts.
    pub fn accesses_on(&self, site: &Site) -> Vec<Access> {
        let takes = |access: &&Access| site.takes(access.block_bytes);
        self.accesses.iter().filter(takes).copied().collect()
    }

    /// Returns the accesses that have to be steady on this target.
    pub fn trackers_on(&self, site: &Site) -> Vec<Access> {
        let takes = |access: &&Access| site.takes(access.block_bytes);
        self.trackers.iter().filter(takes).copied().collect()
    }

    /// Returns the block sizes that the target does not accept, each once.
    pub fn left_out(&self, site: &Site) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.accesses.iter().map(|a| a.block_bytes).collect();
        sizes.retain(|bytes| !site.takes(*bytes));
        sizes.dedup();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn precondition(&self, site: &Site) -> SuiteStep {
        let load = Load {
            rw: Pattern::Write,
            block: BlockSizes::fixed(self.precondition_bytes),
            iodepth: PRECONDITION_DEPTH,
            io_size_bytes: Some(PRECONDITION_PASSES * site.size_bytes()),
            ..site.load()
        };
        SuiteStep::single(PRECONDITION, PRECONDITION, Step::single(load, 0, LONGEST_NS))
    }

    fn step(&self, site: &Site, access: Access, seed: u64, round: u32) -> SuiteStep {
        let load = Load {
            rw: access.pattern(self.random),
            read_percent: access.read_percent,
            block: BlockSizes::fixed(access.block_bytes),
            iodepth: self.settings.iodepth,
            numjobs: self.settings.threads,
            seed,
            ..site.load()
        };
        let step = Step::single(load, 0, self.settings.minute_ns());
        let Access { read_percent, block_bytes } = access;
        let key = format!("{} {} round {round}", mix(read_percent), size_word(block_bytes));
        SuiteStep::single(ROUNDS, key, step).in_round(round)
    }
}

impl Suite for Rounds {
    fn needs(&self) -> Needs {
        self.settings.needs()
    }

    /// Returns the preconditioning and all possible rounds.
    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        let accesses = self.accesses_on(site);
        let block_bytes = accesses.iter().map(|a| a.block_bytes).max().unwrap_or(0);
        let largest = block_bytes.max(self.precondition_bytes);
        let unfit = |reason| SuiteError::Unfit { suite: self.name.to_owned(), reason };
        if self.trackers_on(site).is_empty() {
            let reason = format!(
                "the target accepts multiples of {}, and none of the sizes that have to be steady is one",
                Bytes(u64::from(site.block_bytes))
            );
            return Err(unfit(reason));
        }
        let small = site.smallest_bytes();
        if small < largest {
            let reason = format!(
                "blocks of {} do not fit on a target of {}; hint: use a larger one",
                Bytes(largest),
                Bytes(small)
            );
            return Err(unfit(reason));
        }
        let mut steps = vec![self.precondition(site)];
        for round in 1..=MOST_ROUNDS {
            steps.extend(accesses.iter().enumerate().map(|(index, access)| {
                // No two steps access the same offsets in the same order.
                let seed = u64::from(round) * 1000 + index as u64;
                self.step(site, *access, seed, round)
            }));
        }
        Ok(steps)
    }

    /// Returns true if a step is to run after the steps `done`. Rounds end with the one that
    /// completes the first steady window.
    fn wants(&self, site: &Site, step: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        step.place.round.is_none() || !Progress::of(self, site, done).is_steady()
    }

    /// Keeps caveats about steps in the window, because the result depends only on these, and about
    /// I/O errors in any step.
    fn caveat_filter<'a>(
        &'a self,
        site: &'a Site,
        steps: &'a [SuiteStepResult],
    ) -> CaveatFilter<'a> {
        let window = Progress::of(self, site, steps).window;
        let within = move |round| window.is_none_or(|window: Window| window.contains(round));
        Box::new(move |_, step| {
            step.step().is_some_and(|step| step.errors() > 0)
                || step.place.round.is_some_and(within)
        })
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let report = Report::of(self, site, steps);
        let (headline, table) = (self.figures)(&report);
        report.conclude(&headline, table)
    }
}

/// The progress of the rounds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Progress {
    /// Number of complete rounds, counted from the first one.
    pub rounds: u32,
    /// The tracked accesses that were measured, with a value for each complete round: 0 if no I/O
    /// completed.
    pub tracked: Vec<(Access, Vec<f64>)>,
    /// The rounds that count.
    pub window: Option<Window>,
}

impl Progress {
    /// Returns the progress after some steps.
    pub fn of(test: &Rounds, site: &Site, steps: &[SuiteStepResult]) -> Self {
        let elements = test.accesses_on(site).len();
        let most = MOST_ROUNDS as usize;
        let mut seen = vec![0_usize; most];
        let mut values = vec![vec![None; most]; test.trackers.len()];
        for step in steps.iter().filter(|step| !step.interrupted) {
            let round = step.place.round.map_or(most, |round| round as usize - 1);
            let (Some(count), Some(access)) = (seen.get_mut(round), Access::of(step)) else {
                continue;
            };
            *count += 1;
            if let Some(tracker) = test.trackers.iter().position(|known| *known == access) {
                let value = step.step().and_then(|step| test.measure.of(step));
                values[tracker][round] = Some(value.unwrap_or(0.0));
            }
        }
        let rounds = seen.iter().take_while(|count| **count >= elements).count();
        let complete = |values: Vec<Option<f64>>| -> Option<Vec<f64>> {
            values.into_iter().take(rounds).collect()
        };
        let tracked: Vec<(Access, Vec<f64>)> = test
            .trackers
            .iter()
            .zip(values)
            .filter_map(|(access, values)| Some((*access, complete(values)?)))
            .collect();
        let series: Vec<Vec<f64>> = tracked.iter().map(|(_, values)| values.clone()).collect();
        Self { rounds: rounds as u32, window: Window::of(&series), tracked }
    }

    pub fn is_steady(&self) -> bool {
        self.window.is_some_and(|window| window.steady)
    }
}

/// The figures of an access in the rounds that count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Figures {
    #[serde(flatten)]
    pub access: Access,
    /// Means over the rounds.
    pub iops: f64,
    pub bytes_per_sec: f64,
    pub latency_ns_mean: f64,
    /// 99.999th percentile of all I/Os of these rounds; `None` if there are fewer than 100 000.
    pub latency_ns_p99999: Option<u64>,
    /// Maximum over the rounds.
    pub latency_ns_max: u64,
}

impl Figures {
    /// Returns the figures of each access that was measured in every round of a window, in the
    /// order of the test.
    pub fn of(test: &Rounds, window: Window, steps: &[SuiteStepResult]) -> Vec<Self> {
        let mut found: Vec<Vec<&StepResult>> = vec![Vec::new(); test.accesses.len()];
        for step in steps.iter().filter(|step| !step.interrupted) {
            let counts = step.place.round.is_some_and(|round| window.contains(round));
            let index = Access::of(step).and_then(|a| test.accesses.iter().position(|b| a == *b));
            if let (true, Some(index), Some(result)) = (counts, index, step.step()) {
                found[index].push(result);
            }
        }
        let both = test.accesses.iter().zip(&found);
        both.filter_map(|(access, results)| Self::of_access(*access, results)).collect()
    }

    fn of_access(access: Access, results: &[&StepResult]) -> Option<Self> {
        let totals: Vec<_> = results.iter().filter_map(|result| result.total()).collect();
        let max = totals.iter().map(|total| total.max_ns).max()?;
        let mean = |figure: fn(&Total) -> f64| {
            totals.iter().map(figure).sum::<f64>() / totals.len() as f64
        };
        let mut latencies = Histogram::new();
        results.iter().for_each(|result| latencies.merge(&result.service_histogram()));
        Some(Self {
            access,
            iops: mean(|total| total.iops),
            bytes_per_sec: mean(|total| total.bytes_per_sec),
            latency_ns_mean: mean(|total| total.mean_ns),
            latency_ns_p99999: p99999(&latencies),
            latency_ns_max: max,
        })
    }
}
