//! The answer of a search, its row of the curve, and its interval agree.

use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::{Decision, MeasuredPoint, Next, Observer, Phase, Status, Why};
use iogauge_lab::search::{SearchOutcome, SearchPlan};
use iogauge_lab::{Interrupt, Rig, session};
use iogauge_model::Load;
use iogauge_model::limit::Metric;
use iogauge_model::load::{ArrivalProcess, EngineKind};
use iogauge_model::result::{CurvePoint, LimitValue, StoppedBy};

/// Devices whose windows disagree: they stall, have performance shifts, or vary widely.
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

fn find(device: &str, seed: u64, plan: &SearchPlan) -> SearchOutcome {
    find_until(device, seed, plan, u32::MAX)
}

/// Interrupts a search after a number of status calls.
#[derive(Default)]
struct Impatient {
    left: u32,
    interrupt: Interrupt,
    /// Loads of whole confirmations that broke a limit since the last performance shift.
    broken_confirmations: Vec<f64>,
    /// Value of `left` when a search went up from a confirmation.
    left_at_going_up: Option<u32>,
    offers_rates: bool,
}

impl Impatient {
    fn after(looks: u32) -> Self {
        Self { left: looks, ..Self::default() }
    }
}

impl Observer for Impatient {
    fn status(&mut self, _status: &Status<'_>) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.interrupt.set();
        }
    }

    fn decision(&mut self, decision: &Decision) {
        let (load, phase, met, seconds) = match decision {
            Decision::Measured(point) => {
                let is_rate = point.rate_iops.is_some();
                if is_rate && !std::mem::replace(&mut self.offers_rates, true) {
                    // The closed-loop search at the beginning has ended.
                    self.broken_confirmations.clear();
                }
                let load = point.rate_iops.unwrap_or(f64::from(point.queue_depth));
                (load, point.phase, point.met, point.seconds)
            }
            Decision::PerformanceShift { .. } => return self.broken_confirmations.clear(),
            Decision::Next(Next { why: Why::Room { .. }, .. }) => {
                self.left_at_going_up = Some(self.left);
                return;
            }
            // Noise had broken them.
            Decision::Next(Next { queue_depth, why: Why::Higher }) => {
                return self
                    .broken_confirmations
                    .retain(|broken| *broken < f64::from(*queue_depth));
            }
            _ => return,
        };
        if phase == Phase::Confirming && seconds > 0.24 {
            // A confirmation that continues may keep the limits that it broke at first.
            self.broken_confirmations.retain(|broken| *broken != load);
            self.broken_confirmations.extend((!met).then_some(load));
        }
    }
}

fn find_seen(device: &str, seed: u64, plan: &SearchPlan, seen: &mut Seen) -> SearchOutcome {
    find_with(device, seed, plan, &mut Watch { observer: seen, interrupt: &Interrupt::default() })
}

fn find_until(device: &str, seed: u64, plan: &SearchPlan, looks: u32) -> SearchOutcome {
    find_impatient(device, seed, plan, &mut Impatient::after(looks))
}

fn find_impatient(
    device: &str,
    seed: u64,
    plan: &SearchPlan,
    observer: &mut Impatient,
) -> SearchOutcome {
    let interrupt = observer.interrupt.clone();
    find_with(device, seed, plan, &mut Watch { observer, interrupt: &interrupt })
}

fn find_with(device: &str, seed: u64, plan: &SearchPlan, watch: &mut Watch<'_>) -> SearchOutcome {
    let rig = Rig::open(&format!("sim:{device},seed={seed}"), Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    session::find(&rig, &load, plan, watch).unwrap().outcome
}

fn assert_one_answer(found: &SearchOutcome, what: &str) {
    let answer = &found.search.answer;
    let rows: Vec<_> = found
        .search
        .curve
        .iter()
        .filter(|row| row.queue_depth == answer.queue_depth && row.rate_iops == answer.rate_iops)
        .collect();
    let [row] = rows[..] else { panic!("{what}: {} rows of the answer", rows.len()) };
    assert_eq!(row.met, answer.met, "{what}");
    assert_eq!(row.iops.mean, answer.iops.mean, "{what}");
    assert_eq!(row.latency_ns, answer.latency_ns, "{what}");
    assert_eq!(row.limits, answer.limits, "{what}");
    assert_eq!(row.queue_depth_achieved, answer.queue_depth_achieved, "{what}");
    let [low, high] = answer.iops.ci95;
    assert!((low..=high).contains(&row.iops.mean), "{what}: {:?}", answer.iops);
    assert!(row.queue_depth_achieved <= f64::from(row.queue_depth) * 1.02, "{what}: {row:?}");
    // If no limit stopped the search, none is broken above the answer.
    let no_limit = [StoppedBy::MaxDepth, StoppedBy::Saturated, StoppedBy::QueueFull];
    let is_closed = answer.rate_iops.is_none();
    if is_closed && answer.met && no_limit.contains(&answer.stopped_by) {
        let broken =
            found.search.curve.iter().find(|row| row.queue_depth > answer.queue_depth && !row.met);
        assert_eq!(broken, None, "{what}: {:?}", answer.stopped_by);
    }
    found.search.curve.iter().for_each(|row| assert_intervals_agree(row, what));
    for limit in &row.limits {
        let kept = limit.value_ns.is_some_and(|ns| ns <= limit.limit.bound_ns as f64);
        assert!(kept || !row.met, "{what}: {limit:?}");
    }
}

/// Fails if a percentile of all I/Os has two different intervals.
fn assert_intervals_agree(row: &CurvePoint, what: &str) {
    let of_limit = row.limits.iter().find(|l| l.limit.statistic() == "p99");
    let (Some(limit), Some(all)) = (of_limit, row.latency_ns.percentiles_ci95) else { return };
    let ends = all.p99[0].zip(all.p99[1]).map(|(low, high)| [low as f64, high as f64]);
    let known = limit.ci95_ns.filter(|[low, _]| *low > 0.0);
    assert_eq!(ends, known.map(|ends| ends.map(f64::trunc)), "{what}: {row:?}");
}

#[test]
fn answer_is_a_point_of_the_curve() {
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

/// The maximum queue depth lies at the limit, so some confirmations break what a short window kept.
#[test]
fn limit_broken_in_confirmation_ends_the_search() {
    let mut ended_by_a_confirmation = 0;
    for seed in 1..=12 {
        let plan = SearchPlan {
            limits: vec!["mean<=8ms".parse().unwrap()],
            budget_ns: 10_000_000_000,
            max_depth: 64,
            ..SearchPlan::default()
        };
        let mut seen = Seen::default();
        let found = find_seen("channels=8,service=1ms", seed, &plan, &mut seen);
        assert_one_answer(&found, &format!("seed {seed}"));
        if seen.confirmations_that_broke > 0 && found.search.answer.met {
            assert_eq!(found.search.answer.stopped_by, StoppedBy::Limit, "seed {seed}");
            ended_by_a_confirmation += 1;
        }
    }
    assert!(ended_by_a_confirmation > 0);
}

#[test]
fn interrupted_search_answers_from_measured_points() {
    let mut cut = 0;
    for (device, limit) in [("channels=8,service=1ms", "mean<=20ms"), ("hdd", "mean<=400ms")] {
        for open_loop in [None, Some(ArrivalProcess::Poisson)] {
            let limits = vec![limit.parse().unwrap()];
            let plan = SearchPlan { limits, open_loop, ..SearchPlan::default() };
            for looks in (1..1200).step_by(37) {
                let what = format!("{device} {open_loop:?} after {looks} looks");
                let found = find_until(device, 1, &plan, looks);
                if !found.interrupted {
                    continue;
                }
                cut += 1;
                let answer = &found.search.answer;
                assert_eq!(answer.stopped_by, StoppedBy::Interrupted, "{what}");
                if answer.is_empty() {
                    assert!(found.search.curve.iter().all(|row| row.latency_ns.n == 0), "{what}");
                    continue;
                }
                assert_one_answer(&found, &what);
                let is_answer = |row: &&CurvePoint| {
                    row.queue_depth == answer.queue_depth && row.rate_iops == answer.rate_iops
                };
                let row = found.search.curve.iter().find(is_answer).unwrap();
                let whole = |row: &&CurvePoint| row.met && row.seconds > 0.24;
                if found.search.curve.iter().any(|row| whole(&row)) {
                    assert!(whole(&row), "{what}: {row:?}");
                }
            }
        }
    }
    assert!(cut > 50, "{cut}");
}

#[test]
fn interrupted_answer_stays_below_a_failed_confirmation() {
    let mut after_broken = 0;
    for (device, limit) in [
        ("channels=8,service=1ms,noise=30%:1s", "mean<=10ms"),
        ("channels=2,service=1ms,gc=every:200ms,stall:60ms", "mean<=10ms"),
        ("channels=8,service=1ms,late=2%:20ms:500ms", "p99<=15ms"),
        ("channels=1,service=1ms,noise=20%:1s", "mean<=1ms"),
    ] {
        for open_loop in [None, Some(ArrivalProcess::Poisson)] {
            let limits = vec![limit.parse().unwrap()];
            let budget_ns = 20_000_000_000;
            let plan = SearchPlan { limits, open_loop, budget_ns, ..SearchPlan::default() };
            for looks in (200..800).step_by(29) {
                let mut observer = Impatient::after(looks);
                let found = find_impatient(device, u64::from(looks), &plan, &mut observer);
                let answer = &found.search.answer;
                if !found.interrupted || answer.is_empty() {
                    continue;
                }
                let what = format!("{device} {open_loop:?} after {looks} looks: {answer:?}");
                assert_one_answer(&found, &what);
                let load = answer.rate_iops.unwrap_or(f64::from(answer.queue_depth));
                after_broken += u32::from(!observer.broken_confirmations.is_empty());
                let is_below = observer.broken_confirmations.iter().all(|broken| load < *broken);
                assert!(!answer.met || is_below, "{what} {:?}", observer.broken_confirmations);
                let are_whole = found.search.curve.iter().all(|row| row.seconds > 0.22);
                assert!(are_whole || found.search.curve.len() == 1, "{what}");
            }
        }
    }
    assert!(after_broken > 20, "{after_broken}");
}

/// A finished confirmation takes precedence over the beginning of the next one.
#[test]
fn interruption_while_increasing_returns_confirmed_answer() {
    let device = "channels=2,service=1ms,gc=every:200ms,stall:60ms";
    let limits = vec!["mean<=10ms".parse().unwrap()];
    let plan = SearchPlan { limits, budget_ns: 20_000_000_000, ..SearchPlan::default() };
    let mut went_up = 0;
    for seed in 0..30 {
        let mut patient = Impatient::after(u32::MAX);
        find_impatient(device, seed, &plan, &mut patient);
        let Some(left) = patient.left_at_going_up else { continue };
        went_up += 1;
        for later in [1, 2, 5, 12, 40] {
            let found = find_until(device, seed, &plan, u32::MAX - left + later);
            let what = format!("seed {seed}, {later} looks later: {:?}", found.search.answer);
            assert!(found.interrupted, "{what}");
            assert_one_answer(&found, &what);
            let queue_depth = found.search.answer.queue_depth;
            let row = found.search.curve.iter().find(|row| row.queue_depth == queue_depth).unwrap();
            assert!(found.search.answer.met && row.seconds > 2.0, "{what}");
        }
    }
    assert!(went_up > 0);
}

/// Queue depth 1 breaks the limit in every window. The first ends after at most 200 status calls.
#[test]
fn interrupted_window_that_broke_a_limit_is_retained() {
    let limits = vec!["mean<=10ms".parse().unwrap()];
    let plan = SearchPlan { limits, budget_ns: 600_000_000_000, ..SearchPlan::default() };
    for looks in [160, 199, 200, 201, 202, 203, 210, 230] {
        let found = find_until("channels=1,service=100ms", 1, &plan, looks);
        assert!(found.interrupted && !found.search.answer.met);
        assert!(found.search.answer.latency_ns.n > 20, "{looks}: {:?}", found.search.answer);
    }
}

/// No queue depth that ever broke a maximum is at or below the answer's.
#[test]
fn answer_respects_every_observed_maximum_violation() {
    let cases: [(&str, &[&str]); 3] = [
        ("channels=8,service=1ms,late=0.01%:55ms:1s", &["max<=60ms"]),
        ("channels=8,service=1ms,late=0.01%:55ms:1s", &["mean<=3ms", "max<=60ms"]),
        ("hdd,late=0.1%:500ms:1s", &["max<=400ms"]),
    ];
    for (device, limits) in cases {
        let (mut broken, mut given) = (0, 0);
        for seed in 1..=12 {
            let limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
            // Half a minute is too short to distinguish occasional late I/Os from those due to queue depth.
            let plan = SearchPlan { limits, budget_ns: 120_000_000_000, ..SearchPlan::default() };
            let mut seen = Seen::default();
            let found = find_seen(device, seed, &plan, &mut seen);
            let least = seen.maximum_broken.iter().min();
            broken += u32::from(least.is_some());
            if !found.search.answer.is_given() || !found.search.shifts.is_empty() {
                continue;
            }
            given += 1;
            let is_below = least.is_none_or(|least| found.search.answer.queue_depth < *least);
            assert!(is_below, "{device} seed {seed}: {:?} {seen:?}", found.search.answer);
        }
        assert!(broken > 0 && (given > 0 || device.starts_with("hdd")), "{device} {limits:?}");
    }
}

/// Stalls between two windows are seen, and so are those at smaller queue depths after the confirmation.
#[test]
fn maximum_limit_is_measured_longer_than_stall_interval() {
    let cases = [("every:3s,stall:500ms", 10, 50), ("every:1s,stall:200ms", 3, 50)];
    for (stalls, seconds, bound_ms) in cases {
        let limits = vec![format!("max<={bound_ms}ms").parse().unwrap()];
        let budget_ns = seconds * 1_000_000_000;
        let plan = SearchPlan { limits, budget_ns, ..SearchPlan::default() };
        let device = format!("channels=8,service=1ms,gc={stalls}");
        let seeds = [9765, 30446, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        let claimed: Vec<u64> = seeds
            .into_iter()
            .filter(|seed| find(&device, *seed, &plan).search.answer.stopped_by == StoppedBy::Limit)
            .collect();
        // One in twenty may be wrong.
        assert!(claimed.len() <= 1, "{stalls}: {claimed:?}");
    }
}

/// Stalls that occur occasionally at any queue depth are not due to the queue depth.
#[test]
fn confirmation_between_stalls_does_not_prove_a_maximum() {
    for device in ["channels=64,service=1ms,dist=const", "channels=8,service=1ms"] {
        let limits = vec!["max<=100ms".parse().unwrap()];
        let plan = SearchPlan { limits, ..SearchPlan::default() };
        for seed in 1..=6 {
            let stalls = format!("{device},gc=every:5s,stall:200ms");
            let found = find(&stalls, seed, &plan);
            assert!(!found.search.answer.is_given(), "{stalls} {seed}: {:?}", found.search.answer);
            let found = find(device, seed, &plan);
            assert_eq!(found.search.answer.stopped_by, StoppedBy::Limit, "{device} {seed}");
        }
    }
}

/// Decisions of a search up to the end of its last confirmation. After that only the curve is completed.
#[derive(Debug, Default)]
struct Seen {
    confirmations_that_broke: u32,
    /// Queue depths at which a maximum was over its bound.
    maximum_broken: Vec<u32>,
    later: Vec<u32>,
}

impl Observer for Seen {
    fn status(&mut self, _status: &Status<'_>) {}

    fn decision(&mut self, decision: &Decision) {
        let Decision::Measured(MeasuredPoint {
            phase,
            queue_depth,
            rate_iops: None,
            met,
            limits,
            ..
        }) = decision
        else {
            return;
        };
        let over = |value: &LimitValue| {
            let bound_ns = value.limit.bound_ns as f64;
            value.limit.metric == Metric::Max && value.value_ns.is_some_and(|ns| ns > bound_ns)
        };
        if limits.iter().any(|limit| over(&limit.value)) {
            self.later.push(*queue_depth);
        }
        if *phase == Phase::Confirming {
            self.confirmations_that_broke += u32::from(!met);
            self.maximum_broken.append(&mut self.later);
        }
    }
}
