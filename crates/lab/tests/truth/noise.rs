//! Pairs of searches of devices whose rate varies by chance: do the intervals of the first contain the true capacity,
//! and does its prediction hold for the second?

use super::table::{TELLING, WIDEST, oracle};
use super::{on_all_processors, seeds};
use iogauge_io::sim::SimSpec;
use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::{Interrupt, Rig, session};
use iogauge_model::load::{ArrivalProcess, EngineKind, Load};
use iogauge_model::result::{Answer, StoppedBy};

const FLICKER: &str = "noise=5%:100ms+5%:500ms+5%:2500ms+5%:12s+5%:60s";

/// A device and a limit.
struct Noisy {
    name: &'static str,
    noise: &'static str,
    limit: &'static str,
    open_loop: bool,
    /// True if noise is so fast that a search of half a minute sees all of it: intervals must be right there. For other
    /// devices their coverage is only measured.
    is_fast: bool,
}

const fn fast(name: &'static str, noise: &'static str, limit: &'static str) -> Noisy {
    Noisy { name, noise, limit, open_loop: false, is_fast: true }
}

const fn slow(name: &'static str, noise: &'static str, limit: &'static str) -> Noisy {
    Noisy { is_fast: false, ..fast(name, noise, limit) }
}

/// More pairs take long and add little.
const MOST_SEEDS: usize = 200;
const DEVICE: &str = "channels=8,service=1ms";

/// Minimum percentage of intervals and predictions that hold.
const HOLD: f64 = 90.0;
/// Maximum percentage of searches of a device without noise that report that it wanders.
const FALSE_ALARMS: f64 = 5.0;
/// Minimum percentage of pairs in which both searches answer.
const ANSWERED: f64 = 95.0;

const NOISY: &[Noisy] = &[
    fast("no noise, mean", "seek=0", "mean<=20ms"),
    fast("no noise, p99", "seek=0", "p99<=20ms"),
    fast("10 % over 0.1 s, mean", "noise=10%:100ms", "mean<=20ms"),
    fast("10 % over 0.5 s, mean", "noise=10%:500ms", "mean<=20ms"),
    fast("10 % over 1.5 s, mean", "noise=10%:1500ms", "mean<=20ms"),
    fast("neighbour 50 %, 0.2 s, p99", "neighbour=50%:200ms", "p99<=25ms"),
    fast("late I/Os in bursts of 0.3 s, p99", "late=1.5%:40ms:300ms", "p99<=25ms"),
    fast("a starved client, p99", "starve=every:2s,for:100ms", "p99<=20ms"),
    slow("30 % over 1.5 s, mean", "noise=30%:1500ms", "mean<=20ms"),
    slow("30 % over 1.5 s, p99", "noise=30%:1500ms", "p99<=30ms"),
    slow("10 % over 6 s, mean", "noise=10%:6s", "mean<=20ms"),
    slow("flicker, mean", FLICKER, "mean<=20ms"),
    slow("flicker, p99", FLICKER, "p99<=25ms"),
    slow("a disk as measured, mean", "noise=4%:500ms+8%:5s+40%:100s", "mean<=20ms"),
    slow("neighbour 50 %, 2 s, p99", "neighbour=50%:2s", "p99<=25ms"),
    slow("neighbour 50 %, 20 s, p99", "neighbour=50%:20s", "p99<=25ms"),
    Noisy { open_loop: true, ..slow("open, 10 % over 0.5 s, p99", "noise=10%:500ms", "p99<=20ms") },
    Noisy { open_loop: true, ..slow("open, flicker, p99", FLICKER, "p99<=20ms") },
    Noisy {
        open_loop: true,
        ..slow("open, late I/Os in bursts of 5 s, p99", "late=3%:25ms:5s", "p99<=20ms")
    },
];

impl Noisy {
    fn rig(&self, seed: usize) -> Rig {
        let device = format!("sim:{DEVICE},{},seed={seed}", self.noise);
        Rig::open(&device, Intent::default()).expect("a device of the table")
    }

    fn plan(&self) -> SearchPlan {
        let limits = vec![self.limit.parse().expect("a limit of the table")];
        let open_loop = self.open_loop.then_some(ArrivalProcess::Poisson);
        SearchPlan { limits, open_loop, ..SearchPlan::default() }
    }

    /// When saturated, a channel is never idle, and the rate is the mean of the inverse service time. For a log-normal
    /// factor that is exp(variance / 2).
    fn truth(&self) -> Option<f64> {
        let spec: SimSpec =
            format!("{DEVICE},{}", self.noise).parse().expect("a device of the table");
        let variance: f64 = spec.noise.iter().map(|noise| (noise.percent / 100.0).powi(2)).sum();
        let there = spec.neighbour.map_or(0.0, |there| there.percent / 100.0);
        let free = (1.0 + 1.0 / (1.0 + there)) / 2.0;
        (!self.open_loop).then_some(8e3 * (variance / 2.0).exp() * free)
    }

    /// Runs two consecutive searches of one device.
    fn pair(&self, seed: usize) -> [Answer; 2] {
        let rig = self.rig(seed + 1);
        [1, 2].map(|second| {
            let load = Load { seed: seed as u64 * 2 + second, ..load() };
            let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
            let found = session::find(&rig, &load, &self.plan(), watch).expect("a search").outcome;
            found.search.answer
        })
    }
}

fn load() -> Load {
    Load { engine: EngineKind::Sim, ..Load::default() }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Results of pairs of searches of a device.
struct Row {
    noisy: &'static Noisy,
    /// Pairs in which both searches gave an answer.
    pairs: Vec<[Answer; 2]>,
    searched: usize,
}

impl Row {
    fn answered(&self) -> f64 {
        self.pairs.len() as f64 * 100.0 / self.searched as f64
    }

    fn percent(&self, of: impl Fn(&[Answer; 2]) -> bool) -> f64 {
        let count = self.pairs.iter().filter(|pair| of(pair)).count();
        count as f64 * 100.0 / self.pairs.len() as f64
    }

    fn median(&self, of: impl Fn(&Answer) -> f64) -> f64 {
        median(self.pairs.iter().map(|[first, _]| of(first)))
    }

    fn covered(&self) -> Option<f64> {
        let truth = self.noisy.truth()?;
        Some(self.percent(|[first, _]| is_inside(first.iops.ci95, truth)))
    }

    /// Returns the median half-width of the CIs, relative to the answers.
    fn half_width(&self) -> f64 {
        self.median(|answer| (answer.iops.ci95[1] - answer.iops.ci95[0]) / 2.0 / answer.iops.mean)
    }

    /// Returns the median CI divided by the oracle's.
    fn beside_oracle(&self) -> Option<f64> {
        let truth = self.noisy.truth()?;
        let errors = self.pairs.iter().map(|[first, _]| first.iops.mean / truth - 1.0);
        Some(self.half_width() / oracle(errors))
    }

    /// Returns the percentage of pairs in which the prediction of the first search contains the answer of the second.
    fn predicted(&self) -> f64 {
        self.percent(|[first, next]| first.pi95.is_some_and(|pi95| is_inside(pi95, next.iops.mean)))
    }

    fn wandering(&self) -> f64 {
        self.percent(|[first, _]| first.wander.is_some())
    }

    /// Returns 1.96 times the standard deviation of the difference between the two searches, in percent.
    fn spread(&self) -> f64 {
        let squares = self.pairs.iter().map(|[a, b]| (b.iops.mean / a.iops.mean).ln().powi(2));
        196.0 * (squares.sum::<f64>() / self.pairs.len() as f64).sqrt()
    }

    /// Returns a line of the table in docs/search.md.
    fn line(&self) -> String {
        let half = |[low, high]: [f64; 2], mean: f64| (high - low) / 2.0 / mean * 100.0;
        let off =
            self.noisy.truth().map(|truth| self.median(|a| a.iops.mean / truth - 1.0) * 100.0);
        let or_none = |percent: Option<f64>| percent.map_or(String::new(), |p| format!("{p:.0} %"));
        format!(
            "| {} | {:.0} % | {} | {:.1} % | {} | {} | {:.1} % | {:.1} % | {:.0} % | {:.0} % | {:.0} % |",
            self.noisy.name,
            self.answered(),
            off.map_or(String::new(), |off| format!("{off:+.1} %")),
            self.half_width() * 100.0,
            self.beside_oracle().map_or(String::new(), |times| format!("{times:.2}")),
            or_none(self.covered()),
            self.median(|a| half(a.pi95.unwrap_or([0.0; 2]), a.iops.mean)),
            self.spread(),
            self.predicted(),
            self.wandering(),
            self.percent(|[first, _]| first.stopped_by == StoppedBy::Limit),
        )
    }

    /// Returns what would be wrong in the table.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let n = self.pairs.len() as f64;
        // With few seeds, a percentage is uncertain: this bound fails for 1 of 10,000 good searches.
        let slack = |share: f64| match n {
            n if n >= 200.0 => 0.0,
            n => 4.0 * (share * (100.0 - share) / n).sqrt(),
        };
        let Noisy { name, is_fast, noise, .. } = self.noisy;
        let least = HOLD - slack(HOLD);
        if let Some(covered) = self.covered().filter(|covered| *is_fast && *covered < least) {
            faults.push(format!("{name}: intervals cover the truth in {covered:.1} % of runs"));
        }
        let wider = self.beside_oracle().filter(|_| *is_fast && self.pairs.len() >= TELLING);
        if let Some(wider) = wider.filter(|wider| *wider > WIDEST) {
            faults.push(format!("{name}: intervals are {wider:.2} times as wide as need be"));
        }
        let predicted = self.predicted();
        if *is_fast && predicted < least {
            faults.push(format!("{name}: {predicted:.1} % of the predictions hold"));
        }
        let wandering = self.wandering();
        if *noise == "seek=0" && wandering > FALSE_ALARMS + slack(FALSE_ALARMS) {
            faults.push(format!("{name}: said to wander in {wandering:.1} % of runs"));
        }
        let answered = self.answered();
        if *is_fast && answered < ANSWERED - slack(ANSWERED) {
            faults.push(format!("{name}: {answered:.1} % of the pairs gave answers"));
        }
        let mut without = self.pairs.iter().flatten().filter(|answer| answer.pi95.is_none());
        if let Some(other) = without.next().filter(|_| *is_fast) {
            faults.push(format!(
                "{name}: no prediction for {:?}, {:?}",
                other.iops, other.stopped_by
            ));
        }
        faults
    }
}

fn is_inside([low, high]: [f64; 2], value: f64) -> bool {
    (low..=high).contains(&value)
}

#[test]
fn prediction_intervals_cover_varying_rates() {
    let only = std::env::var("IOGAUGE_TRUTH_ONLY").unwrap_or_default();
    let chosen = NOISY.iter().filter(|noisy| noisy.name.contains(&only));
    let rows: Vec<Row> = chosen
        .map(|noisy| {
            let searched = seeds().min(MOST_SEEDS);
            let mut pairs = on_all_processors(searched, |seed| noisy.pair(seed));
            pairs.retain(|pair| pair.iter().all(Answer::is_given));
            Row { noisy, pairs, searched }
        })
        .collect();
    println!(
        "| noise, limit | answers | off the truth | ci95 ± | of the oracle's | covers | pi95 ± | next ± | predicts | wanders | by the limit |\n\
         |---|---|---|---|---|---|---|---|---|---|---|"
    );
    rows.iter().for_each(|row| println!("{}", row.line()));
    let faults: Vec<String> = rows.iter().flat_map(Row::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
