//! The search for a queue depth.

use crate::close;
use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::{Blind, Decision, Judgement, Next, Verdict, Why};
use iogauge_lab::search::{CARE, SearchOutcome, SearchPlan};
use iogauge_lab::session::{self, Searched};
use iogauge_lab::{Interrupt, Observer, Rig, Status};
use iogauge_model::load::{ArrivalProcess, EngineKind, Pattern};
use iogauge_model::result::{CurvePoint, Knee, Search, StoppedBy};
use iogauge_model::{CaveatCode, Load};

pub fn find(device: &str, limits: &[&str], change: impl FnOnce(&mut SearchPlan)) -> Searched {
    find_of(Pattern::RandRead, device, limits, change)
}

/// Runs a search with a load of another pattern.
pub fn find_of(
    rw: Pattern,
    device: &str,
    limits: &[&str],
    change: impl FnOnce(&mut SearchPlan),
) -> Searched {
    let rig = Rig::open(&format!("sim:{device}"), Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, rw, ..Load::default() };
    let limits = limits.iter().map(|l| l.parse().unwrap()).collect();
    let mut plan = SearchPlan { limits, ..SearchPlan::default() };
    change(&mut plan);
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    session::find(&rig, &load, &plan, watch).unwrap()
}

#[test]
fn exponential_device_matches_analytical_solution() {
    for seed in 1..=4 {
        let searched =
            find(&format!("channels=8,service=100us,seed={seed}"), &["mean<=10ms"], |_| {});
        let answer = &searched.outcome.search.answer;
        assert!(answer.met);
        assert_eq!(answer.stopped_by, StoppedBy::Limit);
        close(answer.iops.mean, 80_000.0, 3.0);
        close(f64::from(answer.queue_depth), 800.0, 3.0);
        let knee = searched.outcome.search.knee.unwrap();
        close(f64::from(knee.queue_depth), 8.0, 13.0);
    }
}

/// Checks that each point of a curve has the distribution of its latencies.
pub fn has_shares(curve: &[CurvePoint]) {
    for point in curve.iter().filter(|point| point.latency_ns.n > 0) {
        let shares = &point.latency_shares;
        let sum: f64 = shares.iter().map(|share| share.percent).sum();
        assert!((sum - 100.0).abs() < 1e-6 && shares.len() <= 16, "{shares:?}");
        // The median lies in the first share that takes the sum past a half.
        let mut sum = 0.0;
        let half = shares.iter().find(|share| {
            sum += share.percent;
            sum >= 50.0
        });
        let below_ns = half.unwrap().below_ns.unwrap_or(u64::MAX);
        // Both are as exact as the histogram's buckets.
        let most_ns = below_ns.saturating_add(below_ns / 64);
        assert!(point.latency_ns.p50 <= most_ns, "{} {shares:?}", point.latency_ns.p50);
    }
}

#[test]
fn search_keeps_the_latencies_of_each_point() {
    let found = find("channels=8,service=100us", &["mean<=10ms"], |_| {}).outcome;
    assert!(found.search.curve.len() > 5);
    has_shares(&found.search.curve);
    let old = serde_json::to_value(&found.search).map(|mut search| {
        for point in search["curve"].as_array_mut().unwrap() {
            point.as_object_mut().unwrap().remove("latency_shares");
        }
        search
    });
    let old: Search = serde_json::from_value(old.unwrap()).unwrap();
    assert!(old.curve.iter().all(|point| point.latency_shares.is_empty()));
}

#[test]
fn queue_depth_disturbed_by_a_pause_is_remeasured() {
    for (pause, times) in [("every:1s,for:2s", 3), ("every:12s,for:2s", 1)] {
        let device = format!("channels=8,service=100us,pause={pause}");
        let searched = find(&device, &["p99.9<=2ms"], |_| {});
        let found = &searched.outcome;
        close(found.search.answer.iops.mean, 80_000.0, 3.0);
        assert_eq!(found.pauses.repeats, times, "{pause}");
        assert!(found.pauses.paused.times >= u64::from(times), "{:?}", found.pauses);
        // No I/O that was outstanding during a pause is in any figure.
        let max_ns = found.search.curve.iter().map(|point| point.latency_ns.max).max().unwrap();
        assert!(max_ns < 20_000_000, "{max_ns}");
        // Spoilt points and pauses do not count towards the budget.
        let spent = found.search.measured_seconds - found.spoilt_seconds;
        assert!((10.0..=30.3).contains(&spent), "{spent}");
        assert!(found.spoilt_seconds > 0.0);
        let told = searched.caveats.iter().find(|c| c.code == CaveatCode::Paused).unwrap();
        assert!(told.message.contains("measured again"), "{}", told.message);
        let ordered = found.search.series.windows(2).all(|w| w[0].at_seconds < w[1].at_seconds);
        assert!(
            ordered,
            "{:?}",
            found.search.series.iter().map(|p| p.at_seconds).collect::<Vec<_>>()
        );
    }
}

#[test]
fn repeatedly_paused_search_terminates() {
    let searched =
        find("channels=8,service=100us,pause=every:1ms,for:1ms", &["mean<=10ms"], |_| {});
    assert!(searched.outcome.pauses.paused.times > 1000);
}

#[test]
fn every_curve_point_obeys_littles_law() {
    for device in ["", "dist=const", "dist=lognormal:1", "sata-ssd", "nvme", "cloud-volume"] {
        for point in &find(device, &["mean<=10ms"], |_| {}).outcome.search.curve {
            let by_law = point.iops.mean * point.latency_ns.mean / 1e9;
            close(by_law, point.queue_depth_achieved, 2.0);
        }
    }
}

/// I/Os of one queue depth that complete while another is measured count for neither.
#[test]
fn windows_exclude_ios_of_other_queue_depths() {
    for (device, limit) in [
        ("channels=1,service=10ms", "mean<=30s"),
        ("hdd", "mean<=30s"),
        ("hdd", "p99<=10s"),
        ("channels=64,service=10ms,iops_cap=500,burst=20000", "mean<=1s"),
    ] {
        for seed in 1..=3 {
            let device = format!("{device},seed={seed}");
            let found = find(&device, &[limit], |plan| plan.budget_ns = 60_000_000_000).outcome;
            assert!(
                found.search.answer.met && found.search.measured_seconds < 61.0,
                "{device} {limit}"
            );
            for point in &found.search.curve {
                let by_law = point.iops.mean * point.latency_ns.mean / 1e9;
                let share = by_law / f64::from(point.queue_depth);
                // With few I/Os, those in progress at both ends of the window make a difference.
                let off = 0.1 + 3.0 / (point.latency_ns.n as f64).sqrt();
                assert!((1.0 - off..=1.0 + off).contains(&share), "{device} {limit}: {point:?}");
                assert!(
                    point.queue_depth_achieved <= f64::from(point.queue_depth) * 1.02,
                    "{point:?}"
                );
            }
        }
    }
}

#[test]
fn flat_curve_is_saturated_at_any_maximum_queue_depth() {
    for max_depth in [3, 4, 7, 16, 100] {
        for seed in 1..=4 {
            let device = format!("channels=1,service=1ms,seed={seed}");
            let answer = find(&device, &["mean<=200ms"], |plan| plan.max_depth = max_depth);
            let stopped_by = answer.outcome.search.answer.stopped_by;
            assert_eq!(stopped_by, StoppedBy::Saturated, "{max_depth} {seed}");
        }
    }
}

/// The answer is what was measured before I/Os failed, and a caveat reports the failures.
#[test]
fn search_ends_when_ios_begin_to_fail() {
    let searched = find_of(Pattern::Write, "nvme,space=500m,size=1g", &["p99<=5ms"], |plan| {
        plan.budget_ns = 3_000_000_000;
    });
    let answer = &searched.outcome.search.answer;
    assert_eq!((answer.stopped_by, answer.met), (StoppedBy::Ended, true));
    assert!(searched.outcome.errors > 0 && answer.latency_ns.n > 0, "{answer:?}");
    assert!(searched.caveats.iter().any(|caveat| caveat.code == CaveatCode::IoErrors));
}

#[test]
fn constant_service_time_yields_exact_queue_depth() {
    let searched = find("channels=4,service=200us,dist=const", &["mean<=2ms"], |_| {});
    let answer = &searched.outcome.search.answer;
    // R(N) = N·s/c: 40 I/Os keep 2 ms, and 41 do not.
    assert_eq!((answer.queue_depth, answer.met), (40, true));
    close(answer.iops.mean, 20_000.0, 0.1);
}

#[test]
fn tightest_of_several_limits_determines_the_answer() {
    let mean = find("", &["mean<=10ms"], |_| {}).outcome.search.answer.queue_depth;
    let both = find("", &["mean<=10ms", "p99<=5ms"], |_| {}).outcome.search.answer;
    assert!(both.queue_depth < mean, "{} {mean}", both.queue_depth);
    assert!(both.latency_ns.p99 <= 5_000_000 && both.latency_ns.mean <= 10e6);
}

/// Collects the decisions of a search.
#[derive(Default)]
struct Listener(Vec<Decision>);

impl Observer for Listener {
    fn status(&mut self, _status: &Status<'_>) {}

    fn decision(&mut self, decision: &Decision) {
        self.0.push(decision.clone());
    }
}

/// Runs a search and returns its decisions as well.
fn listen(device: &str, plan: &SearchPlan) -> (SearchOutcome, Vec<Decision>) {
    let rig = Rig::open(device, Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let mut listener = Listener::default();
    let watch = &mut Watch { observer: &mut listener, interrupt: &Interrupt::default() };
    let found = session::find(&rig, &load, plan, watch).unwrap().outcome;
    (found, listener.0)
}

fn assert_judged_by_its_interval(judgement: &Judgement) {
    let bound = judgement.value.limit.bound_ns as f64;
    let (Some(value), Some(ci95)) = (judgement.value.value_ns, judgement.value.ci95_ns) else {
        return;
    };
    let wanted = match ci95.map(|end| value + (end - value) * CARE) {
        [_, high] if high <= bound => Verdict::Holds,
        [low, _] if low > bound => Verdict::Breaks,
        _ => Verdict::Open,
    };
    assert_eq!(judgement.verdict, wanted, "{judgement:?}");
}

/// Checks that the points named by a decision are known and gave what it says.
fn assert_based_on(next: &Next, known: &[(u32, bool)], plan: &SearchPlan) {
    let is_known = |queue_depth| known.iter().any(|(known, _)| *known == queue_depth);
    let based = match next.why {
        Why::Doubling { from } => known.contains(&(from, true)),
        Why::Between { holds, breaks, .. } => {
            let inside = holds < next.queue_depth && next.queue_depth < breaks;
            inside && known.contains(&(holds, true)) && known.contains(&(breaks, false))
        }
        Why::Predicted(crossing) => {
            let furthest = (crossing.through[1] * 64).min(plan.max_depth);
            let beyond =
                f64::from(next.queue_depth) > crossing.queue_depth || next.queue_depth == furthest;
            beyond && crossing.through.into_iter().all(is_known)
        }
        Why::Contradicted { by, .. } => is_known(by) && is_known(next.queue_depth),
        Why::Missing => !is_known(next.queue_depth) && next.queue_depth.is_power_of_two(),
        Why::Knee { knee, below } => {
            let inside = below < next.queue_depth && next.queue_depth < knee;
            inside && is_known(knee) && is_known(below)
        }
        Why::Open { below } => {
            below < next.queue_depth && known.contains(&(next.queue_depth, false))
        }
        Why::Ceiling { confirmed } => {
            confirmed < next.queue_depth && known.contains(&(next.queue_depth, false))
        }
        Why::Room { confirmed } => {
            let kept =
                known.iter().any(|(queue_depth, met)| *queue_depth >= next.queue_depth && *met);
            confirmed < next.queue_depth && known.contains(&(confirmed, true)) && kept
        }
        Why::Flat { deeper } => is_known(deeper) && is_known(next.queue_depth),
        Why::Smallest => next.queue_depth == 1 && is_known(1),
        Why::Higher => known.contains(&(next.queue_depth, true)),
        Why::Again => !known.is_empty(),
        Why::Beyond { broke } => broke < next.queue_depth && known.contains(&(broke, false)),
        Why::Starved | Why::Maximum => known.contains(&(next.queue_depth, false)),
    };
    assert!(based, "{next:?}: {known:?}");
}

#[test]
fn each_measured_queue_depth_follows_from_earlier_results() {
    for device in ["sim:channels=8,service=100us", "sim:cloud-volume", "sim:sata-ssd"] {
        let limits = vec!["mean<=10ms".parse().unwrap(), "read:p99<=15ms".parse().unwrap()];
        let plan = SearchPlan { limits, ..SearchPlan::default() };
        let (found, decisions) = listen(device, &plan);

        let mut known = Vec::new();
        let (mut decided, mut confirmed) = (Some(1), None);
        for decision in &decisions {
            match decision {
                Decision::Measured(point) => {
                    assert_eq!(decided.take(), Some(point.queue_depth), "{device}: {decision:?}");
                    assert_eq!(point.limits.len(), 2);
                    point.limits.iter().for_each(assert_judged_by_its_interval);
                    known.push((point.queue_depth, point.met));
                }
                Decision::Next(next) => {
                    assert_based_on(next, &known, &plan);
                    decided = Some(next.queue_depth);
                }
                Decision::GoingBack { from, to, .. } => {
                    assert!(known.contains(&(*from, false)) && to < from);
                    decided = Some(*to);
                }
                Decision::Confirm { queue_depth, .. }
                | Decision::ConfirmFurther { queue_depth, .. } => {
                    decided = Some(*queue_depth);
                    confirmed = Some(*queue_depth);
                }
                // Earlier points no longer count, except the one that shows the shift.
                Decision::PerformanceShift { .. } => drop(known.drain(..known.len() - 1)),
                Decision::Drained { .. } | Decision::Budget { .. } => {}
                open => panic!("{device}: {open:?}, in a closed loop"),
            }
        }
        assert_eq!(confirmed, Some(found.search.answer.queue_depth), "{device}");
    }
}

#[test]
fn cautious_answer_is_increased_if_headroom_remains() {
    let (mut went_up, mut higher) = (0, 0);
    for seed in 0..30 {
        let device = format!("sim:channels=2,service=1ms,gc=every:200ms,stall:60ms,seed={seed}");
        let limits = vec!["mean<=10ms".parse().unwrap()];
        let plan = SearchPlan { limits, budget_ns: 20_000_000_000, ..SearchPlan::default() };
        let (found, decisions) = listen(&device, &plan);
        for decision in &decisions {
            let Decision::Next(Next { queue_depth, why: Why::Room { confirmed } }) = decision
            else {
                continue;
            };
            went_up += 1;
            higher += u32::from(found.search.answer.queue_depth == *queue_depth);
            // If the larger queue depth fails, the confirmed one remains the answer.
            assert!(
                found.search.answer.met && found.search.answer.queue_depth >= *confirmed,
                "seed {seed}: {decision:?}"
            );
        }
    }
    assert!(went_up > 0 && higher > went_up / 2, "{higher} of {went_up}");
}

#[test]
fn curve_contains_every_doubling_and_a_narrowed_knee() {
    let devices =
        ["channels=8,service=100us", "channels=50,service=400us", "sata-ssd", "nvme", "hdd"];
    for device in devices {
        let found = find(device, &["mean<=20ms"], |_| {}).outcome;
        let answer = &found.search.answer;
        assert!(answer.met, "{device}");
        let queue_depths: Vec<u32> =
            found.search.curve.iter().map(|point| point.queue_depth).collect();
        let doublings =
            (0..14).map(|power| 1 << power).filter(|queue_depth| *queue_depth < answer.queue_depth);
        for queue_depth in doublings {
            assert!(
                queue_depths.contains(&queue_depth),
                "{device}: {queue_depth} of {queue_depths:?}"
            );
        }
        let knee = found.search.knee.unwrap();
        let share = knee.share.unwrap();
        let point =
            found.search.curve.iter().find(|point| point.queue_depth == knee.queue_depth).unwrap();
        assert!(
            point.met && knee.queue_depth <= answer.queue_depth && share.mean >= Knee::SHARE,
            "{device}"
        );
        assert!((share.ci95[0]..=share.ci95[1]).contains(&share.mean), "{share:?}");
        assert_eq!(knee.iops, point.iops.mean);
        let below: Vec<_> = found
            .search
            .curve
            .iter()
            .filter(|point| point.queue_depth < knee.queue_depth)
            .collect();
        for point in &below {
            let gives = point.iops.mean / answer.iops.mean;
            assert!(
                !point.met || gives < Knee::SHARE,
                "{device}: {} gives {gives}",
                point.queue_depth
            );
        }
        if let Some(next) = below.last() {
            let is_close = knee.queue_depth - next.queue_depth == 1
                || f64::from(knee.queue_depth) <= f64::from(next.queue_depth) * 1.25;
            assert!(is_close, "{device}: {} and {}", knee.queue_depth, next.queue_depth);
        }
    }
    // From this number of I/Os on, all channels are busy.
    let knee =
        find("channels=50,service=400us", &["mean<=20ms"], |_| {}).outcome.search.knee.unwrap();
    close(f64::from(knee.queue_depth), 50.0, 15.0);
}

#[test]
fn short_budget_search_skips_doublings() {
    let found = find("hdd", &["mean<=2s"], |plan| plan.budget_ns = 6_000_000_000).outcome;
    assert!(found.search.answer.met);
    let doublings =
        found.search.curve.iter().filter(|point| point.queue_depth.is_power_of_two()).count();
    assert!(
        doublings < 8,
        "{:?}",
        found.search.curve.iter().map(|p| p.queue_depth).collect::<Vec<_>>()
    );
}

#[test]
fn closed_loop_limit_below_service_time_is_unattainable() {
    let answer = find("service=1ms,dist=const", &["mean<=500us"], |_| {}).outcome.search.answer;
    assert_eq!(
        (answer.stopped_by, answer.met, answer.queue_depth),
        (StoppedBy::Unattainable, false, 1)
    );
    close(answer.latency_ns.mean, 1e6, 0.1);
    assert_eq!(answer.pi95, None);
}

#[test]
fn maximum_queue_depth_ends_the_search() {
    let rising = find("channels=4096,service=1ms", &["mean<=1s"], |p| p.max_depth = 64).outcome;
    assert_eq!(
        (rising.search.answer.stopped_by, rising.search.answer.queue_depth),
        (StoppedBy::MaxDepth, 64)
    );
    let flat = find("channels=4,service=1ms", &["mean<=100s"], |p| p.max_depth = 64).outcome;
    assert_eq!(flat.search.answer.stopped_by, StoppedBy::Saturated);
}

#[test]
fn search_stays_within_its_time_budget() {
    for device in ["", "hdd", "sata-ssd", "cloud-volume", "gc=every:2s,stall:200ms"] {
        for budget_s in [2, 5] {
            let found =
                find(device, &["p99<=20ms"], |p| p.budget_ns = budget_s * 1_000_000_000).outcome;
            // A tick and the draining of the last queue depth add to the budget.
            let allowed = budget_s as f64 * 1.02 + 0.3;
            assert!(
                found.search.measured_seconds <= allowed,
                "{device}: {} s",
                found.search.measured_seconds
            );
        }
    }
}

#[test]
fn interrupted_closed_loop_search_reports_interruption() {
    let rig = Rig::open("sim:", Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let interrupt = Interrupt::default();
    interrupt.set();
    let watch = &mut Watch { observer: &mut Blind, interrupt: &interrupt };
    let searched = session::find(&rig, &load, &SearchPlan::default(), watch).unwrap();
    assert_eq!(searched.outcome.search.answer.stopped_by, StoppedBy::Interrupted);
    assert!(!searched.outcome.search.curve.is_empty());
}

#[test]
fn burst_credits_do_not_inflate_the_answer() {
    // 64 channels of 350 µs would give 180,000 IOPS. The cap allows 3000 once 60,000 credits are used up.
    let answer = find("cloud-volume", &["mean<=10ms"], |_| {}).outcome.search.answer;
    close(answer.iops.mean, 3_000.0, 3.0);
    assert!(answer.met);
}

/// The credits run out within the first stretch of the confirmation, which then breaks the limit.
#[test]
fn results_before_a_performance_shift_are_not_noise() {
    for limit in ["mean<=2ms", "mean<=4ms", "p99<=10ms"] {
        let found = find("cloud-volume", &[limit], |_| {}).outcome;
        let [low, high] = found.search.answer.pi95.unwrap();
        close(found.search.answer.iops.mean, 3_000.0, 3.0);
        assert!(high - low < 100.0, "{limit}: {low} to {high}");
        assert_eq!(found.search.shifts.len(), 1, "{limit}");
        assert!(found.search.curve.iter().all(|point| point.iops.mean < 3_500.0), "{limit}");
    }
}

#[test]
fn search_ends_without_answer_if_every_io_fails() {
    for open_loop in [None, Some(ArrivalProcess::Poisson)] {
        let found = find("service=1ms,eio=100", &["mean<=10ms"], |plan| {
            (plan.open_loop, plan.budget_ns) = (open_loop, 2_000_000_000);
        })
        .outcome;
        assert!(
            found.search.answer.is_empty() && !found.search.answer.met,
            "{:?}",
            found.search.answer
        );
    }
}

/// One I/O in a hundred is a write, and a write takes five times as long. By chance, some windows of a hundred writes
/// break the limit, which the device keeps.
#[test]
fn few_slow_ios_do_not_make_a_limit_unattainable() {
    let device = "channels=8,service=200us,dist=exp,write_service=1ms";
    for seed in 1..=8 {
        let rig = Rig::open(&format!("sim:{device},seed={seed}"), Intent::default()).unwrap();
        let load = Load {
            engine: EngineKind::Sim,
            rw: "randrw".parse().unwrap(),
            read_percent: 99,
            ..Load::default()
        };
        let limits = vec!["write:p99<=5ms".parse().unwrap()];
        let plan = SearchPlan { limits, ..SearchPlan::default() };
        let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
        let found = session::find(&rig, &load, &plan, watch).unwrap().outcome;
        assert_ne!(found.search.answer.stopped_by, StoppedBy::Unattainable, "{seed}");
    }
}

#[test]
fn prediction_interval_contains_confidence_interval() {
    for seed in 1..=6 {
        let device = format!("hdd,noise=10%:300ms,seed={seed}");
        let answer = find(&device, &["p95<=600ms"], |_| {}).outcome.search.answer;
        let ([low, high], ci95) = (answer.pi95.unwrap(), answer.iops.ci95);
        assert!(low <= ci95[0] && ci95[1] <= high, "{seed}: {answer:?}");
    }
}
