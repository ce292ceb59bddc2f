//! Figures, tables and findings of the steps.

use super::plan::{
    CACHED_READ, CACHED_WRITE, CAPACITY_MIXED, CAPACITY_READ, HYBRID, RANDOM_READ, RANDOM_WRITE,
    ROUNDS, SEQUENTIAL_READ, SEQUENTIAL_WRITE, chains_key,
};
use super::{BestWorst, round_rates};
use crate::stats::{SteadyCheck, first_steady};
use crate::suite::Site;
use crate::suite::kit::{Row, table, words};
use iogauge_model::Caveat;
use iogauge_model::caveat::{Command, Fact, SteadinessFact, StepTime};
use iogauge_model::result::{Cell, DirectionResult, Search, StoppedBy, SuiteStepResult, Table};
use iogauge_model::units::Bytes;
use serde_json::{Value, json};

/// Dependent and independent I/O at one number of users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Chains {
    pub(super) users: u32,
    /// Blocks read, modified and written back, per second.
    pub(super) updates_per_sec: f64,
    pub(super) independent_iops: f64,
    read_ns: f64,
    write_ns: f64,
}

/// All measured figures.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) best: Vec<Row>,
    pub(super) worst: Vec<Row>,
    /// Reads and writes of the hybrid step.
    pub(super) hybrid: Option<(DirectionResult, DirectionResult)>,
    rounds: Vec<(u32, Row)>,
    /// The round that ended the rounds, and the result of the steady-state rule there.
    pub(super) steady: Option<(u32, SteadyCheck)>,
    /// How many times the target was rewritten during the rounds.
    pub(super) rewritten: f64,
    pub(super) chains: Vec<Chains>,
    /// The region of each part that should fit into the cache, in bytes.
    hot_bytes: u64,
    pub(super) reads: Option<&'a Search>,
    pub(super) mixed: Option<&'a Search>,
}

impl<'a> Report<'a> {
    pub(super) fn of(suite: &BestWorst, site: &Site, steps: &'a [SuiteStepResult]) -> Self {
        let find = |key: &str| steps.iter().find(|step| step.place.key == key);
        let step = |key: &str| find(key)?.step();
        let figures = |keys: &[&str]| -> Vec<Row> {
            keys.iter().filter_map(|key| Row::of(*key, step(key)?)).collect()
        };
        let rounds = || steps.iter().filter(|s| s.place.phase == ROUNDS && !s.interrupted);
        let round = |s: &SuiteStepResult| Some((s.place.round?, Row::of("round", s.step()?)?));
        let chain = |users: &u32| {
            let dependent = step(&chains_key(true, *users))?;
            let independent = step(&chains_key(false, *users))?.total()?;
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

    /// The highest bandwidth of the best case.
    pub(super) fn most_bytes(&self) -> Option<f64> {
        self.best.iter().map(|figure| figure.all.bytes_per_sec).reduce(f64::max)
    }

    /// The highest IOPS from the cache.
    pub(super) fn most_iops(&self) -> Option<&Row> {
        let cached = |figure: &&Row| matches!(figure.key.as_str(), CACHED_READ | CACHED_WRITE);
        let cached = self.best.iter().filter(cached);
        cached.max_by(|a, b| a.all.iops.total_cmp(&b.all.iops))
    }

    /// The lowest IOPS of the worst case.
    pub(super) fn least_iops(&self) -> Option<&Row> {
        self.worst.iter().min_by(|a, b| a.all.iops.total_cmp(&b.all.iops))
    }

    /// Number of complete rounds.
    pub(super) fn round_count(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// Returns a caveat if all rounds ran and the target never reached a steady state.
    pub(super) fn never_steady(&self, most: u32) -> Option<Caveat> {
        (self.round_count() >= most && self.steady.is_none()).then(|| {
            let fact = SteadinessFact::NeverSteady { rounds: most };
            Fact::from(fact).caveat(Command::Suite(StepTime::Seconds))
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
        let row = |end: &'static str| move |row: &Row| (row.clone(), end);
        let both = self.best.iter().map(row("best")).chain(self.worst.iter().map(row("worst")));
        let side = |(key, side): (&str, &DirectionResult)| (Row::of_direction(key, side), "worst");
        let sides =
            self.hybrid.iter().flat_map(|(r, w)| [("- its reader", r), ("- its writer", w)]);
        let mut table = table(
            title,
            both.chain(sides.map(side)),
            &[
                ("#load", &|(row, _)| words(&row.key)),
                ("#at its", &|(_, end)| words(*end)),
                ("IOPS", &|(row, _)| row.iops()),
                ("bandwidth", &|(row, _)| row.bandwidth()),
                ("mean", &|(row, _)| row.mean()),
                ("p99", &|(row, _)| row.p99()),
                ("max", &|(row, _)| row.max()),
            ],
        );
        if self.most_iops().is_some() {
            let hot = Bytes(self.hot_bytes);
            table.notes.push(format!("cached: random over {hot}, which should fit into a cache."));
        }
        table
    }

    fn course(&self) -> Table {
        let mut table = table(
            "Random writes until steady",
            &self.rounds,
            &[
                ("round", &|(round, _)| Cell::Count(u64::from(*round))),
                ("IOPS", &|(_, row)| row.iops()),
                ("bandwidth", &|(_, row)| row.bandwidth()),
                ("mean", &|(_, row)| row.mean()),
                ("p99", &|(_, row)| row.p99()),
                ("max", &|(_, row)| row.max()),
            ],
        );
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
        let mut table = table(
            "Dependent and independent I/O, in IOPS",
            &self.chains,
            &[
                ("users", &|chains| Cell::Count(u64::from(chains.users))),
                ("updates/s", &|chains| Cell::Iops(chains.updates_per_sec)),
                ("dependent", &|chains| Cell::Iops(2.0 * chains.updates_per_sec)),
                ("independent", &|chains| Cell::Iops(chains.independent_iops)),
                ("share", &|chains| {
                    Cell::Percent(200.0 * chains.updates_per_sec / chains.independent_iops)
                }),
                ("read", &|chains| Cell::LatencyNs(chains.read_ns)),
                ("write back", &|chains| Cell::LatencyNs(chains.write_ns)),
            ],
        );
        let note = "An update is a block read, changed and written back before the next is read: two I/Os. \
                    Independent: as many reads as writes, each user with one at a time.";
        table.notes.push(note.to_owned());
        table
    }

    fn capacities(&self) -> Table {
        let searches = [("random read", self.reads), ("random 70/30", self.mixed)];
        let answered =
            searches.iter().filter_map(|(name, search)| Some((*name, &search.as_ref()?.answer)));
        table(
            "Capacity at its worst",
            answered,
            &[
                ("#load", &|(name, _)| words(*name)),
                ("IOPS", &|(_, answer)| Cell::Iops(answer.iops.mean)),
                ("at least", &|(_, answer)| Cell::Iops(answer.iops.ci95[0])),
                ("at most", &|(_, answer)| Cell::Iops(answer.iops.ci95[1])),
                ("depth", &|(_, answer)| Cell::Count(u64::from(answer.queue_depth))),
                ("mean", &|(_, answer)| Cell::LatencyNs(answer.latency_ns.mean)),
                ("p99", &|(_, answer)| Cell::LatencyNs(answer.latency_ns.p99 as f64)),
                ("#ended by", &|(_, answer)| words(ended_by(answer.stopped_by))),
            ],
        )
    }

    pub(super) fn findings(&self) -> Value {
        let figure = |figure: &Row| {
            json!({
                "load": figure.key,
                "iops": figure.all.iops,
                "bytes_per_sec": figure.all.bytes_per_sec,
                "mean_ns": figure.all.mean_ns,
            })
        };
        let figures = |of: &[Row]| of.iter().map(figure).collect::<Vec<_>>();
        let side = |side: &DirectionResult| json!({ "iops": side.iops.mean, "mean_ns": side.service_ns.mean });
        let chains = |chains: &Chains| {
            json!({
                "users": chains.users,
                "updates_per_sec": chains.updates_per_sec,
                "independent_iops": chains.independent_iops,
            })
        };
        let capacity = |search: Option<&Search>| {
            let answer = &search?.answer;
            Some(json!({ "met": answer.met, "iops": answer.iops, "depth": answer.queue_depth }))
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

    /// Returns the IOPS of the best case divided by those of the worst.
    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.most_iops()?.all.iops / self.least_iops()?.all.iops)
    }
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
