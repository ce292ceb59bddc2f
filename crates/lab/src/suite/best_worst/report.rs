//! What the steps came to: figures, tables, findings.

use super::plan::{
    CACHED_READ, CACHED_WRITE, CAPACITY_MIXED, CAPACITY_READ, HYBRID, RANDOM_READ, RANDOM_WRITE,
    ROUNDS, SEQUENTIAL_READ, SEQUENTIAL_WRITE, chains_key,
};
use super::{BestWorst, round_rates};
use crate::stats::{SteadyCheck, first_steady};
use crate::suite::Site;
use crate::suite::figures::{Total, total};
use iogauge_model::result::{
    Cell, DirectionResult, SearchResult, StepResult, StoppedBy, SuiteStepResult, Table,
};
use iogauge_model::units::Bytes;
use iogauge_model::{Caveat, CaveatCode};
use serde_json::{Value, json};

/// A measurement with its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) key: &'static str,
    pub(super) all: Total,
    p99_ns: u64,
}

/// Dependent and independent I/O of so many users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Chains {
    pub(super) users: u32,
    /// Reads that were changed and written back, per second.
    pub(super) updates_per_sec: f64,
    pub(super) independent_iops: f64,
    read_ns: f64,
    write_ns: f64,
}

/// Everything that was measured.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) best: Vec<Figure>,
    pub(super) worst: Vec<Figure>,
    /// Reads and writes of the hybrid.
    pub(super) hybrid: Option<(DirectionResult, DirectionResult)>,
    rounds: Vec<(u32, Figure)>,
    /// The round that ended them, and what the rule found there.
    pub(super) steady: Option<(u32, SteadyCheck)>,
    /// How often the target was written during the rounds.
    pub(super) rewritten: f64,
    pub(super) chains: Vec<Chains>,
    /// What a cache was taken to hold of each part, in bytes.
    hot_bytes: u64,
    pub(super) reads: Option<&'a SearchResult>,
    pub(super) mixed: Option<&'a SearchResult>,
}

impl<'a> Report<'a> {
    pub(super) fn of(suite: &BestWorst, site: &Site, steps: &'a [SuiteStepResult]) -> Self {
        let find = |key: &str| steps.iter().find(|step| step.place.key == key);
        let step = |key: &str| find(key)?.step();
        let figures = |keys: &[&'static str]| -> Vec<Figure> {
            keys.iter().filter_map(|key| figure(key, step(key)?)).collect()
        };
        let rounds = || steps.iter().filter(|s| s.place.phase == ROUNDS && !s.interrupted);
        let round = |s: &SuiteStepResult| Some((s.place.round?, figure("round", s.step()?)?));
        let chain = |users: &u32| {
            let dependent = step(&chains_key(true, *users))?;
            let independent = total(step(&chains_key(false, *users))?)?;
            let (read, write) = (dependent.read.as_ref()?, dependent.write.as_ref()?);
            Some(Chains {
                users: *users,
                updates_per_sec: write.iops.mean,
                independent_iops: independent.iops,
                read_ns: read.service_ns.mean,
                write_ns: write.service_ns.mean,
            })
        };
        let hybrid = step(HYBRID);
        let written: u64 = rounds().filter_map(|s| Some(s.step()?.bytes())).sum();
        Self {
            best: figures(&[SEQUENTIAL_READ, SEQUENTIAL_WRITE, CACHED_READ, CACHED_WRITE]),
            worst: figures(&[RANDOM_READ, RANDOM_WRITE, HYBRID]),
            hybrid: hybrid.and_then(|step| step.read.clone().zip(step.write.clone())),
            rounds: rounds().filter_map(round).collect(),
            steady: first_steady(&round_rates(steps)).map(|(last, c)| (last as u32 + 1, c)),
            rewritten: written as f64 / site.size_bytes().max(1) as f64,
            hot_bytes: suite.hot_bytes(site),
            chains: suite.chains().iter().filter_map(chain).collect(),
            reads: find(CAPACITY_READ).and_then(SuiteStepResult::search),
            mixed: find(CAPACITY_MIXED).and_then(SuiteStepResult::search),
        }
    }

    /// Most bytes per second at its best.
    pub(super) fn most_bytes(&self) -> Option<f64> {
        self.best.iter().map(|figure| figure.all.bytes_per_sec).reduce(f64::max)
    }

    /// Most IOPS of what the cache holds.
    pub(super) fn most_iops(&self) -> Option<&Figure> {
        let cached = |figure: &&Figure| matches!(figure.key, CACHED_READ | CACHED_WRITE);
        let cached = self.best.iter().filter(cached);
        cached.max_by(|a, b| a.all.iops.total_cmp(&b.all.iops))
    }

    /// Fewest IOPS at its worst.
    pub(super) fn least_iops(&self) -> Option<&Figure> {
        self.worst.iter().min_by(|a, b| a.all.iops.total_cmp(&b.all.iops))
    }

    /// Rounds that came to their end.
    pub(super) fn round_count(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// A doubt where all rounds ran and the target never got steady.
    pub(super) fn never_steady(&self, most: u32) -> Option<Caveat> {
        (self.round_count() >= most && self.steady.is_none()).then(|| {
            Caveat::new(
                CaveatCode::NotSteady,
                format!(
                    "{most} rounds of random writes did not bring the target to a steady state"
                ),
                "more --rounds, or longer ones with --round",
            )
        })
    }

    pub(super) fn tables(&self, suite: &BestWorst) -> Vec<Table> {
        let tables = [self.ends(suite), self.course(), self.dependence(), self.capacities()];
        tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }

    fn ends(&self, suite: &BestWorst) -> Table {
        let title = format!(
            "At its best and at its worst; random I/O of {}, {} outstanding",
            Bytes(suite.block_bytes),
            suite.users
        );
        let headings = ["#load", "#at its", "IOPS", "bandwidth", "mean", "p99", "max"];
        let mut table = Table::new(title, &headings);
        let best = self.best.iter().map(|figure| ("best", figure));
        for (end, figure) in best.chain(self.worst.iter().map(|figure| ("worst", figure))) {
            table.row([
                Cell::Text(figure.key.to_owned()),
                Cell::Text(end.to_owned()),
                Cell::Iops(figure.all.iops),
                Cell::BytesPerSec(figure.all.bytes_per_sec),
                Cell::LatencyNs(figure.all.mean_ns),
                Cell::LatencyNs(figure.p99_ns as f64),
                Cell::LatencyNs(figure.all.max_ns as f64),
            ]);
        }
        if self.most_iops().is_some() {
            let hot = Bytes(self.hot_bytes);
            table.notes.push(format!("cached: all over {hot}, which a cache is to hold."));
        }
        let hybrid = self.hybrid.iter();
        let sides =
            hybrid.flat_map(|(read, write)| [("- its reader", read), ("- its writer", write)]);
        for (name, side) in sides {
            table.row([
                Cell::Text(name.to_owned()),
                Cell::Text("worst".to_owned()),
                Cell::Iops(side.iops.mean),
                Cell::BytesPerSec(side.bytes_per_sec),
                Cell::LatencyNs(side.service_ns.mean),
                Cell::LatencyNs(side.service_ns.p99 as f64),
                Cell::LatencyNs(side.service_ns.max as f64),
            ]);
        }
        table
    }

    fn course(&self) -> Table {
        let headings = ["round", "IOPS", "bandwidth", "mean", "p99", "max"];
        let mut table = Table::new("Random writes until steady", &headings);
        for (round, figure) in &self.rounds {
            table.row([
                Cell::Count(u64::from(*round)),
                Cell::Iops(figure.all.iops),
                Cell::BytesPerSec(figure.all.bytes_per_sec),
                Cell::LatencyNs(figure.all.mean_ns),
                Cell::LatencyNs(figure.p99_ns as f64),
                Cell::LatencyNs(figure.all.max_ns as f64),
            ]);
        }
        table.notes.extend(self.steady.map(|(last, check)| {
            format!(
                "Steady in rounds {} to {last}: they range over {:.1} % of their mean, and their line rises \
                 by {:.1} %.",
                last - 4,
                check.range * 100.0,
                check.rise * 100.0
            )
        }));
        table
    }

    fn dependence(&self) -> Table {
        let headings =
            ["users", "updates/s", "dependent", "independent", "share", "read", "write back"];
        let mut table = Table::new("Dependent and independent I/O, in IOPS", &headings);
        for chains in &self.chains {
            table.row([
                Cell::Count(u64::from(chains.users)),
                Cell::Iops(chains.updates_per_sec),
                Cell::Iops(2.0 * chains.updates_per_sec),
                Cell::Iops(chains.independent_iops),
                Cell::Percent(200.0 * chains.updates_per_sec / chains.independent_iops),
                Cell::LatencyNs(chains.read_ns),
                Cell::LatencyNs(chains.write_ns),
            ]);
        }
        let note = "An update is a block read, changed and written back before the next is read: two I/Os. \
                    Independent: as many reads as writes, each user with one at a time.";
        table.notes.push(note.to_owned());
        table
    }

    fn capacities(&self) -> Table {
        let headings =
            ["#load", "IOPS", "at least", "at most", "depth", "mean", "p99", "#ended by"];
        let mut table = Table::new("Capacity at its worst", &headings);
        let searches = [("random read", self.reads), ("random 70/30", self.mixed)];
        for (name, search) in searches {
            let Some(SearchResult { answer, .. }) = search else { continue };
            table.row([
                Cell::Text(name.to_owned()),
                Cell::Iops(answer.iops.mean),
                Cell::Iops(answer.iops.ci95[0]),
                Cell::Iops(answer.iops.ci95[1]),
                Cell::Count(u64::from(answer.depth)),
                Cell::LatencyNs(answer.latency_ns.mean),
                Cell::LatencyNs(answer.latency_ns.p99 as f64),
                Cell::Text(ended_by(answer.stopped_by).to_owned()),
            ]);
        }
        table
    }

    pub(super) fn findings(&self) -> Value {
        let figure = |figure: &Figure| {
            json!({
                "load": figure.key,
                "iops": figure.all.iops,
                "bytes_per_sec": figure.all.bytes_per_sec,
                "mean_ns": figure.all.mean_ns,
            })
        };
        let figures = |of: &[Figure]| of.iter().map(figure).collect::<Vec<_>>();
        let side = |side: &DirectionResult| json!({ "iops": side.iops.mean, "mean_ns": side.service_ns.mean });
        let chains = |chains: &Chains| {
            json!({
                "users": chains.users,
                "updates_per_sec": chains.updates_per_sec,
                "independent_iops": chains.independent_iops,
            })
        };
        let capacity = |search: Option<&SearchResult>| {
            let answer = &search?.answer;
            Some(json!({ "met": answer.met, "iops": answer.iops, "depth": answer.depth }))
        };
        json!({
            "best": figures(&self.best),
            "worst": figures(&self.worst),
            "hybrid": self.hybrid.as_ref().map(|(r, w)| json!({ "read": side(r), "write": side(w) })),
            "best_to_worst": self.ratio(),
            "rounds": self.round_count(),
            "steady_at_round": self.steady.map(|(last, _)| last),
            "rewritten": self.rewritten,
            "dependent": self.chains.iter().map(chains).collect::<Vec<_>>(),
            "capacity_read": capacity(self.reads),
            "capacity_mixed": capacity(self.mixed),
        })
    }

    /// How many times its worst IOPS a target does at its best.
    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.most_iops()?.all.iops / self.least_iops()?.all.iops)
    }
}

fn figure(key: &'static str, step: &StepResult) -> Option<Figure> {
    let p99_ns = step.service_histogram().percentile_ns(99.0);
    Some(Figure { key, all: total(step)?, p99_ns })
}

fn ended_by(stopped_by: StoppedBy) -> &'static str {
    match stopped_by {
        StoppedBy::Limit => "limit",
        StoppedBy::Saturated => "saturation",
        StoppedBy::QueueFull => "a full queue",
        StoppedBy::Client => "this machine",
        StoppedBy::MaxDepth => "depth",
        StoppedBy::Budget => "budget",
        StoppedBy::Unattainable => "limit at depth 1",
        StoppedBy::Undecided => "windows that disagree",
        StoppedBy::Starved => "a lack of processor time",
        StoppedBy::Ended => "I/O errors",
        StoppedBy::Interrupted => "interrupt",
    }
}
