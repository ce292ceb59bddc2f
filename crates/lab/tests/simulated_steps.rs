//! Steps one after the other on one simulated target.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use iogauge_io::target::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::{Interrupt, Rig, session};
use iogauge_model::Step;
use iogauge_model::load::{EngineKind, Load, Pattern};
use iogauge_model::result::StepResult;

const SECOND: u64 = 1_000_000_000;
/// 16 MiB of writes fill the cache; then 1000 go per second.
const CACHED: &str = "sim:cache=16m,cache_service=20us,destage=4096000";

fn rig() -> Rig {
    Rig::open(CACHED, Intent { writes: true, ..Intent::default() }).unwrap()
}

fn run(rig: &Rig, rw: Pattern, iodepth: u32) -> StepResult {
    let load = Load { rw, iodepth, engine: EngineKind::Sim, ..Load::default() };
    let (mut observer, interrupt) = (Blind, Interrupt::default());
    let mut watch = Watch { observer: &mut observer, interrupt: &interrupt };
    let step = Step::single(load, 0, SECOND);
    session::run_on(rig, &step, &[], &mut watch).unwrap().result
}

#[test]
fn a_step_finds_the_device_as_the_one_before_left_it() {
    let rig = rig();
    let iops = |step: &StepResult| step.write.as_ref().unwrap().iops.mean;
    let first = run(&rig, Pattern::RandWrite, 8);
    assert!((5050.0..5150.0).contains(&iops(&first)), "{}", iops(&first));
    let second = run(&rig, Pattern::RandWrite, 8);
    assert!((990.0..1010.0).contains(&iops(&second)), "{}", iops(&second));
    // The step's own time begins with it.
    assert_eq!(second.seconds, 1.0);
    assert!((second.series[0].at_seconds - 0.1).abs() < 1e-9, "{}", second.series[0].at_seconds);
    // A second of reads empties the cache by a thousand writes.
    run(&rig, Pattern::RandRead, 1);
    let third = run(&rig, Pattern::RandWrite, 8);
    assert!((1980.0..2020.0).contains(&iops(&third)), "{}", iops(&third));
}

#[test]
fn the_same_steps_give_the_same_results_and_another_rig_a_new_device() {
    let steps = || {
        let rig = rig();
        let loads = [(Pattern::RandWrite, 8), (Pattern::RandRw, 4), (Pattern::RandWrite, 8)];
        loads.map(|(rw, iodepth)| serde_json::to_value(run(&rig, rw, iodepth)).unwrap())
    };
    let first = steps();
    assert_ne!(first[0]["write"], first[2]["write"]);
    assert_eq!(first, steps());
}
