//! The answer of a search, its row of the curve, and its interval say the same.

use iogauge_io::target::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::{Observer, Phase, Status};
use iogauge_lab::search::{Decision, Found, Measured, SearchPlan};
use iogauge_lab::{Interrupt, Rig, session};
use iogauge_model::Load;
use iogauge_model::load::{ArrivalProcess, EngineKind};
use iogauge_model::result::StoppedBy;

/// Devices whose windows disagree: they stall, come to other levels, or spread widely.
const DEVICES: &[&str] = &[
    "channels=8,service=100us",
    "channels=4,service=1ms,dist=lognormal:1.5",
    "channels=8,service=1ms,gc=every:1s,stall:100ms",
    "cloud-volume",
    "sata-ssd",
    "hdd",
];
const LIMITS: &[&[&str]] =
    &[&["mean<=5ms"], &["p99<=20ms"], &["p99.9<=110ms", "mean<=10ms"], &["max<=30ms"]];

fn find(device: &str, seed: u64, plan: &SearchPlan) -> Found {
    find_until(device, seed, plan, u32::MAX)
}

/// Interrupts a search after so many looks at its status.
struct Impatient {
    left: u32,
    interrupt: Interrupt,
}

impl Observer for Impatient {
    fn status(&mut self, _status: &Status<'_>) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.interrupt.set();
        }
    }
}

fn find_until(device: &str, seed: u64, plan: &SearchPlan, looks: u32) -> Found {
    let rig = Rig::open(&format!("sim:{device},seed={seed}"), Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let interrupt = Interrupt::default();
    let mut observer = Impatient { left: looks, interrupt: interrupt.clone() };
    let watch = &mut Watch { observer: &mut observer, interrupt: &interrupt };
    session::find(&rig, &load, plan, watch).unwrap().found
}

fn assert_one_answer(found: &Found, what: &str) {
    let answer = &found.answer;
    let rows: Vec<_> = found
        .curve
        .iter()
        .filter(|row| row.depth == answer.depth && row.rate_iops == answer.rate_iops)
        .collect();
    let [row] = rows[..] else { panic!("{what}: {} rows of the answer", rows.len()) };
    assert_eq!(row.met, answer.met, "{what}");
    assert_eq!(row.iops.mean, answer.iops.mean, "{what}");
    assert_eq!(row.latency_ns, answer.latency_ns, "{what}");
    assert_eq!(row.limits, answer.limits, "{what}");
    assert_eq!(row.depth_achieved, answer.depth_achieved, "{what}");
    let [low, high] = answer.iops.ci95;
    assert!((low..=high).contains(&row.iops.mean), "{what}: {:?}", answer.iops);
    assert!(row.depth_achieved <= f64::from(row.depth) * 1.02, "{what}: {row:?}");
    // What says that no limit was in the way has none broken above.
    let no_limit = [StoppedBy::MaxDepth, StoppedBy::Saturated, StoppedBy::QueueFull];
    let is_closed = answer.rate_iops.is_none();
    if is_closed && answer.met && no_limit.contains(&answer.stopped_by) {
        let broken = found.curve.iter().find(|row| row.depth > answer.depth && !row.met);
        assert_eq!(broken, None, "{what}: {:?}", answer.stopped_by);
    }
    for limit in &row.limits {
        let kept = limit.value_ns.is_some_and(|ns| ns <= limit.limit.bound_ns as f64);
        assert!(kept || !row.met, "{what}: {limit:?}");
    }
}

#[test]
fn the_answer_is_a_row_of_its_curve() {
    for device in DEVICES {
        for limits in LIMITS {
            for (seed, budget_ms) in [(1, 30_000), (2, 3_000), (3, 1_000), (4, 1_000), (5, 2_000)] {
                for open_loop in [None, Some(ArrivalProcess::Poisson)] {
                    let plan = SearchPlan {
                        limits: limits.iter().map(|limit| limit.parse().unwrap()).collect(),
                        budget_ns: budget_ms * 1_000_000,
                        max_depth: 2048,
                        open_loop,
                        ..SearchPlan::default()
                    };
                    let what = format!("{device} {limits:?} {seed} {budget_ms} ms {open_loop:?}");
                    assert_one_answer(&find(device, seed, &plan), &what);
                }
            }
        }
    }
}

/// The largest depth lies right at the limit, so that some holds break what a short window kept.
#[test]
fn a_limit_that_a_hold_breaks_ends_the_search() {
    let mut ended_by_limit = 0;
    for seed in 1..=12 {
        let plan = SearchPlan {
            limits: vec!["mean<=8ms".parse().unwrap()],
            budget_ns: 10_000_000_000,
            max_depth: 64,
            ..SearchPlan::default()
        };
        let found = find("channels=8,service=1ms", seed, &plan);
        assert_one_answer(&found, &format!("seed {seed}"));
        ended_by_limit += u32::from(found.answer.stopped_by == StoppedBy::Limit);
    }
    assert!(ended_by_limit > 0);
}

#[test]
fn an_interrupted_search_answers_with_what_it_knows() {
    for (device, limit) in [("channels=8,service=1ms", "mean<=20ms"), ("hdd", "mean<=400ms")] {
        let plan = SearchPlan { limits: vec![limit.parse().unwrap()], ..SearchPlan::default() };
        for looks in (1..1200).step_by(37) {
            let what = format!("{device} after {looks} looks");
            let found = find_until(device, 1, &plan, looks);
            if !found.interrupted {
                continue;
            }
            assert_eq!(found.answer.stopped_by, StoppedBy::Interrupted, "{what}");
            assert_one_answer(&found, &what);
            let whole = found.curve.iter().filter(|row| row.met && row.seconds > 0.24);
            let known = whole.map(|row| row.depth).max();
            let short = found.answer.depth < known.unwrap_or(0) && !found.answer.met;
            assert!(!short && (known.is_none() || found.answer.met), "{what}: {:?}", found.answer);
        }
    }
}

/// Depth 1 breaks the limit in every window.
#[test]
fn an_interrupted_window_that_broke_a_limit_is_kept() {
    let limits = vec!["mean<=10ms".parse().unwrap()];
    let plan = SearchPlan { limits, budget_ns: 600_000_000_000, ..SearchPlan::default() };
    let found = find_until("channels=1,service=100ms", 1, &plan, 160);
    assert!(found.interrupted && !found.answer.met);
    assert!(found.answer.latency_ns.n > 20, "{:?}", found.answer);
}

/// No depth that was once seen to break a maximum is below the answer.
#[test]
fn a_maximum_that_was_seen_is_not_forgotten() {
    for seed in 1..=12 {
        for device in ["channels=8,service=1ms,late=0.01%:55ms:1s", "hdd,late=0.1%:500ms:1s"] {
            let limits = vec!["max<=400ms".parse().unwrap(), "max<=60ms".parse().unwrap()];
            let limits = vec![limits[usize::from(!device.starts_with("hdd"))]];
            let plan = SearchPlan { limits, ..SearchPlan::default() };
            let mut broken = Broken::default();
            let rig = Rig::open(&format!("sim:{device},seed={seed}"), Intent::default()).unwrap();
            let load = Load { engine: EngineKind::Sim, ..Load::default() };
            let watch = &mut Watch { observer: &mut broken, interrupt: &Interrupt::default() };
            let found = session::find(&rig, &load, &plan, watch).unwrap().found;
            let least = broken.until_held.iter().min();
            let is_below = least.is_none_or(|least| found.answer.depth < *least);
            let what = format!("{device} seed {seed}: {:?} {:?}", found.answer, broken.until_held);
            assert!(!found.answer.is_given() || is_below || !found.regimes.is_empty(), "{what}");
        }
    }
}

/// Depths that broke a limit.
#[derive(Default)]
struct Broken {
    all: Vec<u32>,
    /// Those before the last hold ended: after it only the curve is completed.
    until_held: Vec<u32>,
}

impl Observer for Broken {
    fn status(&mut self, _status: &Status<'_>) {}

    fn decision(&mut self, decision: &Decision) {
        let Decision::Measured(Measured { phase, depth, met, .. }) = decision else { return };
        if !met {
            self.all.push(*depth);
        }
        if *phase == Phase::Holding {
            self.until_held.clone_from(&self.all);
        }
    }
}
