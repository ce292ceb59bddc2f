//! Changes in series of runs: alarms where there is no change, changes that are found, and their intervals.

use super::{on_all_processors, seeds};
use iogauge_lab::trend::{Levels, levels};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of runs of a series.
const RUNS: usize = 100;
/// The defaults of `iogauge history trend`.
const P_MAX: f64 = 0.05;
const MIN_CHANGE: f64 = 0.02;
/// Relative standard deviation of the noise.
const NOISE: f64 = 0.02;
/// Minimum number of series: fewer say little about percentages.
const FEWEST: usize = 30;

fn series_count() -> usize {
    seeds().max(FEWEST)
}

/// Random numbers of a series.
struct Random(Xoshiro256PlusPlus);

impl Random {
    fn new(seed: usize) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed as u64))
    }

    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with 2 degrees of freedom, which has no variance.
    fn heavy(&mut self) -> f64 {
        let square = -2.0 * self.uniform().ln();
        self.normal() / (square / 2.0).sqrt()
    }

    /// AR(1) with standard deviation 1.
    fn ar1(&mut self, correlation: f64) -> Vec<f64> {
        let mut value = self.normal();
        let innovation = (1.0 - correlation * correlation).sqrt();
        let next = |_| {
            value = correlation * value + innovation * self.normal();
            value
        };
        (0..RUNS).map(next).collect()
    }
}

/// Draws a value of a series.
type Draw = fn(&mut Random) -> f64;

/// Returns the largest percentage that is `percent` but for chance: three standard deviations above it.
fn at_most(percent: f64, n: usize) -> f64 {
    percent + 3.0 * (percent * (100.0 - percent) / n as f64).sqrt()
}

fn percent(all: &[Levels], holds: impl Fn(&Levels) -> bool) -> f64 {
    all.iter().filter(|found| holds(found)).count() as f64 * 100.0 / all.len() as f64
}

/// The smallest change is 0, so that each alarm counts.
#[test]
fn independent_series_rarely_have_changes() {
    let n = series_count();
    let kinds: [(&str, Draw); 3] = [
        ("normal, 2 %", |random| 1e4 * (1.0 + NOISE * random.normal())),
        ("lognormal, factor 1.6", |random| 1e4 * (0.5 * random.normal()).exp()),
        ("heavy tails", |random| 1e4 * (NOISE * random.heavy()).exp()),
    ];
    println!(
        "| {RUNS} independent runs | false alarms, % | with changes below 2 % left out, % |\n|---|---|---|"
    );
    for (name, draw) in kinds {
        let series = |seed| {
            let mut random = Random::new(seed);
            (0..RUNS).map(|_| draw(&mut random)).collect::<Vec<f64>>()
        };
        let all = on_all_processors(n, |seed| levels(&series(seed), P_MAX, 0.0));
        let alarms = percent(&all, |found| !found.changes.is_empty());
        let shown = percent(&all, |found| {
            found.changes.iter().any(|change| change.ratio.mean.ln().abs() >= MIN_CHANGE.ln_1p())
        });
        println!("| {name} | {alarms:.1} | {shown:.1} |");
        assert!(alarms <= at_most(100.0 * P_MAX, n), "{name}: {alarms} % of {n}");
        let correlated = percent(&all, |found| found.correlation.is_some());
        assert!(correlated <= at_most(5.0, n), "{name}: {correlated} % correlated");
    }
}

/// A lasting change, or one that is taken back.
struct Step {
    size: f64,
    from: usize,
    to: usize,
    /// Minimum percentage that is found within two runs.
    found: f64,
}

const STEPS: [Step; 8] = [
    Step { size: 0.05, from: 50, to: RUNS, found: 90.0 },
    Step { size: 0.10, from: 50, to: RUNS, found: 98.0 },
    Step { size: 0.05, from: 90, to: RUNS, found: 85.0 },
    Step { size: 0.05, from: 95, to: RUNS, found: 0.0 },
    Step { size: 0.10, from: 97, to: RUNS, found: 90.0 },
    Step { size: 0.05, from: 50, to: 60, found: 85.0 },
    Step { size: 0.10, from: 50, to: 55, found: 95.0 },
    Step { size: 0.03, from: 50, to: RUNS, found: 0.0 },
];

#[test]
fn steps_are_found_where_they_are() {
    let n = series_count();
    println!(
        "| fall by, % | runs | found within 2 runs, % | at the run, % | more changes than there are, % | CI covers, % |\n\
         |---|---|---|---|---|---|"
    );
    for Step { size, from, to, found: least } in STEPS {
        let series = |seed| {
            let mut random = Random::new(seed + 7000);
            let level = |run| if (from..to).contains(&run) { 1e4 * (1.0 - size) } else { 1e4 };
            (0..RUNS).map(|run| level(run) * (NOISE * random.normal()).exp()).collect::<Vec<f64>>()
        };
        let all = on_all_processors(n, |seed| levels(&series(seed), P_MAX, MIN_CHANGE));
        let near = |reach: usize| {
            percent(&all, |found| found.changes.iter().any(|c| c.at.abs_diff(from) <= reach))
        };
        let truth = if to == RUNS { 1 } else { 2 };
        let more = percent(&all, |found| found.changes.len() > truth);
        let single: Vec<Levels> =
            all.iter().filter(|found| found.changes.len() == truth).cloned().collect();
        let covers = percent(&single, |found| {
            let [low, high] = found.changes[0].ratio.ci95;
            (low..=high).contains(&(1.0 - size))
        });
        println!(
            "| {:.0} | {} to {to} | {:.1} | {:.1} | {more:.1} | {covers:.1} |",
            size * 100.0,
            from + 1,
            near(2),
            near(0)
        );
        assert!(near(2) >= least, "a fall by {size} from {from} to {to}: {} %", near(2));
        assert!(more <= at_most(100.0 * P_MAX, n), "a fall by {size}: {more} % have more changes");
    }
}

/// No bound can be promised here. The table is in docs/history.md, and the caveat has to come with most alarms.
#[test]
fn correlated_series_raise_alarms_with_a_caveat() {
    let n = series_count();
    println!(
        "| correlation of neighbours | alarms, % | of them with the caveat, % |\n|---|---|---|"
    );
    for correlation in [0.3, 0.6, 0.9] {
        let series = |seed| -> Vec<f64> {
            let values = Random::new(seed + 90_000).ar1(correlation);
            values.into_iter().map(|value| 1e4 * (NOISE * value).exp()).collect()
        };
        let all = on_all_processors(n, |seed| levels(&series(seed), P_MAX, MIN_CHANGE));
        let alarmed: Vec<Levels> = all.iter().filter(|l| !l.changes.is_empty()).cloned().collect();
        let alarms = alarmed.len() as f64 * 100.0 / n as f64;
        let told = percent(&alarmed, |found| found.correlation.is_some());
        println!("| {correlation} | {alarms:.1} | {told:.1} |");
    }
}
