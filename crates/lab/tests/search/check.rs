//! Checks of requirements: what must not be held against the target.

use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::CheckPlan;
use iogauge_lab::session::check::{CheckedStep, check};
use iogauge_lab::suite::{Check, Requirement, Site, Suite};
use iogauge_lab::{Interrupt, Rig};
use iogauge_model::load::{ArrivalProcess, EngineKind};
use iogauge_model::result::{CheckEnd, CheckVerdict};
use iogauge_model::{CaveatCode, Load, RequiredRate};

fn plan(rate: f64, limit: &str) -> CheckPlan {
    CheckPlan {
        required: RequiredRate::Iops(rate),
        required_iops: rate,
        arrivals: Some(ArrivalProcess::Poisson),
        queue_depth: 16_384,
        limits: vec![limit.parse().unwrap()],
        budget_ns: 30_000_000_000,
        max_starvation: 0.05,
    }
}

fn checked(
    device: &str,
    rate: f64,
    limit: &str,
    change: impl FnOnce(&mut CheckPlan),
) -> CheckedStep {
    let rig = Rig::open(&format!("sim:{device}"), Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let mut plan = plan(rate, limit);
    change(&mut plan);
    let interrupt = Interrupt::default();
    check(&rig, &load, &plan, &mut Watch { observer: &mut Blind, interrupt: &interrupt }).unwrap()
}

fn has(checked: &CheckedStep, code: CaveatCode) -> bool {
    checked.caveats.iter().any(|caveat| caveat.code == code)
}

#[test]
fn pause_of_the_process_breaks_no_maximum() {
    let device = "channels=8,service=100us,pause=every:9s,for:2s";
    let found = checked(device, 1000.0, "max<=20ms", |_| {});
    assert_eq!(found.check.verdict, CheckVerdict::Pass, "{:?}", found.check);
    assert!(has(&found, CaveatCode::Paused));
    // The whole budget was watched, whatever was left out.
    assert!(found.check.seconds > 15.0, "{:?}", found.check);
}

#[test]
fn lack_of_processor_time_breaks_no_limit() {
    let device = "channels=8,service=1ms,starve=every:2s,for:300ms";
    for closed in [false, true] {
        let found = checked(device, 5000.0, "p99<=12ms", |plan| {
            if closed {
                (plan.arrivals, plan.queue_depth) = (None, 16);
            }
        });
        assert_eq!(found.check.verdict, CheckVerdict::Pass, "{:?}", found.check);
    }
    let most =
        checked("channels=8,service=1ms,starve=every:400ms,for:300ms", 7000.0, "p99<=12ms", |_| {});
    assert_eq!(most.check.verdict, CheckVerdict::Undecided, "{:?}", most.check);
    assert_eq!(most.check.ended_by, CheckEnd::Starved);
    assert!(has(&most, CaveatCode::ClientStarved));
}

#[test]
fn interrupt_leaves_the_verdict_open() {
    let rig = Rig::open("sim:channels=8,service=1ms", Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let plan = CheckPlan {
        required: RequiredRate::Iops(6000.0),
        required_iops: 6000.0,
        arrivals: None,
        queue_depth: 8,
        limits: Vec::new(),
        budget_ns: 30_000_000_000,
        max_starvation: 0.05,
    };
    let interrupt = Interrupt::default();
    interrupt.set();
    let watch = &mut Watch { observer: &mut Blind, interrupt: &interrupt };
    let found = check(&rig, &load, &plan, watch).unwrap();
    assert_eq!(
        (found.check.verdict, found.check.ended_by),
        (CheckVerdict::Undecided, CheckEnd::Interrupted)
    );
    assert!(found.interrupted);
}

#[test]
fn requirement_that_was_not_checked_leaves_the_verdict_open() {
    let rig = Rig::open("sim:nvme", Intent::default()).unwrap();
    let plan = plan(1000.0, "p99<=1s");
    let name = "a".to_owned();
    let requirement = Requirement { name, source: None, load: Load::default(), engine: None, plan };
    let check =
        Check { about: None, size_bytes: None, requirements: vec![requirement], baseline: None };
    let (conclusion, _) = check.conclude(&Site::of(&rig, EngineKind::Sim), &[]);
    assert_eq!(conclusion.findings["check"], "undecided");
}

#[test]
fn iops_that_are_the_same_each_tick_are_known_exactly() {
    let device = "channels=8,service=1ms,dist=const";
    let closed = |rate| {
        checked(device, rate, "mean<=1100us", |plan| {
            (plan.arrivals, plan.queue_depth) = (None, 8);
        })
    };
    assert_eq!(closed(7990.0).check.verdict, CheckVerdict::Pass);
    assert_eq!(closed(8010.0).check.verdict, CheckVerdict::Fail);
}
