//! The answer of a search, its row of the curve, and its interval say the same.

use iogauge_io::target::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::{Found, SearchPlan};
use iogauge_lab::{Interrupt, Rig, session};
use iogauge_model::Load;
use iogauge_model::load::{ArrivalProcess, EngineKind};

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
    let rig = Rig::open(&format!("sim:{device},seed={seed}"), Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
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
