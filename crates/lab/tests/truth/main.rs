//! Tests the search on devices with a known capacity, and the analysis of series of runs, with many seeds each.
//!
//! `make test` runs a quick set. `make truth` runs the full set and prints the tables of docs/search.md and docs/history.md.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod check;
mod comparisons;
mod noise;
mod random;
mod scenarios;
mod sweep;
mod table;
mod trend;

use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::{Interrupt, Rig, session};
use iogauge_model::CaveatCode;
use iogauge_model::limit::Metric;
use iogauge_model::load::{EngineKind, Load};
use iogauge_test_support::mmc::Queue;
use scenarios::{CLOSED, OPEN, Scenario, Truth};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use table::{Outcome, Row};

/// Number of seeds per scenario; `IOGAUGE_TRUTH_SEEDS=400` selects the full set.
fn seeds() -> usize {
    let asked = std::env::var("IOGAUGE_TRUTH_SEEDS").ok();
    asked.map_or(4, |text| text.parse().expect("IOGAUGE_TRUTH_SEEDS is a number"))
}

/// Number of seeds per open-loop scenario. Those searches have ten times as many I/Os.
fn seeds_of_open_loops() -> usize {
    seeds().div_ceil(2)
}

/// Runs a function for every index on all processors.
fn on_all_processors<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let result = work(index);
                    done.lock().unwrap()[index] = Some(result);
                }
            });
        }
    });
    done.into_inner().unwrap().into_iter().map(|result| result.expect("every index")).collect()
}

fn search(scenario: &Scenario, seed: usize, truth: f64) -> Outcome {
    let device = format!("sim:{},seed={}", scenario.device, seed + 1);
    let rig = Rig::open(&device, Intent::default()).expect("a device of the table");
    let mut load = sweep::load(scenario);
    load.seed = seed as u64 + 1;
    let plan = scenario.plan();
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    let found = session::find(&rig, &load, &plan, watch).expect("a search in virtual time").outcome;
    let outcome = Outcome::new(&found, truth, plan.budget_ns as f64 / 1e9);
    if std::env::var_os("IOGAUGE_TRUTH_EACH").is_some() {
        println!("{} seed {}: {outcome:?}", scenario.name, seed + 1);
    }
    outcome
}

fn row(scenario: &'static Scenario, seeds: usize) -> Row {
    let truth = match scenario.truth {
        Truth::Formula(iops) => iops,
        Truth::Erlang { servers, service_seconds } => {
            let queue = Queue { servers, service: service_seconds };
            let limit = scenario.plan().limits[0];
            let bound = limit.bound_ns as f64 / 1e9;
            queue.highest_rate(|rate| match limit.metric {
                Metric::Mean => queue.mean(rate) <= bound,
                Metric::Percentile(percent) => {
                    queue.longer_than(rate, bound) <= 1.0 - percent / 100.0
                }
                Metric::Max => false,
            })
        }
        Truth::Sweep => sweep::capacity(scenario),
    };
    let outcomes = on_all_processors(seeds, |seed| search(scenario, seed, truth));
    Row { scenario, truth, outcomes }
}

fn compare(scenarios: &'static [Scenario], seeds: usize) {
    let only = std::env::var("IOGAUGE_TRUTH_ONLY").unwrap_or_default();
    let chosen = scenarios.iter().filter(|s| s.name.contains(&only));
    let rows: Vec<Row> = chosen.map(|scenario| row(scenario, seeds)).collect();
    println!("{}", table::render(&rows));
    let faults: Vec<String> = rows.iter().flat_map(Row::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn closed_loop_answers_match_the_true_capacity() {
    compare(CLOSED, seeds());
}

#[test]
fn open_loop_answers_match_the_true_capacity() {
    compare(OPEN, seeds_of_open_loops());
}

/// Returns the caveats of a search with the limit `limit` on a device.
fn doubts(device: &str, limit: &str, seed: usize) -> Vec<CaveatCode> {
    let rig = Rig::open(device, Intent::default()).expect("a device");
    let load = Load { engine: EngineKind::Sim, seed: seed as u64 + 1, ..Load::default() };
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    let limits = vec![limit.parse().expect("a limit")];
    let plan = SearchPlan { limits, ..SearchPlan::default() };
    let searched = session::find(&rig, &load, &plan, watch).expect("a search in virtual time");
    searched.caveats.iter().map(|caveat| caveat.code).collect()
}

/// Each second, the device becomes slower by 2 % of its initial service time, so it is never steady. An answer that
/// does not say so is wrong.
#[test]
fn drifting_device_is_not_reported_as_steady() {
    let seeds = seeds();
    let told = on_all_processors(seeds, |seed| {
        let device = format!("sim:channels=8,service=1ms,fade=2,seed={}", seed + 1);
        let told = doubts(&device, "mean<=50ms", seed);
        [CaveatCode::NotSteady, CaveatCode::PerformanceShift]
            .iter()
            .any(|doubt| told.contains(doubt))
    });
    let silent = told.iter().filter(|told| !**told).count();
    println!("drifting device: called steady in {silent} of {seeds} searches");
    assert!(silent as f64 <= 0.05 * seeds as f64, "called steady in {silent} of {seeds} searches");
}

/// A rate that wanders is not a performance shift.
#[test]
fn noise_is_not_reported_as_performance_shift() {
    let seeds = seeds();
    for noise in ["20%:500ms", "30%:1s"] {
        let told = on_all_processors(seeds, |seed| {
            let device = format!("sim:sata-ssd,noise={noise},seed={}", seed + 1);
            doubts(&device, "mean<=1ms", seed).contains(&CaveatCode::PerformanceShift)
        });
        let changed = told.iter().filter(|told| **told).count();
        println!("noise of {noise}: called a change of level in {changed} of {seeds} searches");
        // A quick run has four seeds; one of them may report a shift.
        assert!(changed as f64 <= 1.0_f64.max(0.1 * seeds as f64), "{changed} of {seeds}");
    }
}
