//! Tests of consecutive steps on one simulated target.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use iogauge_io::targets::Intent;
use iogauge_lab::measure::{Measured, Watch};
use iogauge_lab::observe::Blind;
use iogauge_lab::{Interrupt, Rig, session};
use iogauge_model::Step;
use iogauge_model::load::{ArrivalProcess, Arrivals, EngineKind, Load, Pattern};
use iogauge_model::result::StepResult;

const SECOND: u64 = 1_000_000_000;
/// 16 MiB of writes fill the cache. Then the device does 1000 writes per second.
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
fn simulated_device_state_persists_between_steps() {
    let rig = rig();
    let iops = |step: &StepResult| step.write.as_ref().unwrap().iops.mean;
    let first = run(&rig, Pattern::RandWrite, 8);
    assert!((5050.0..5150.0).contains(&iops(&first)), "{}", iops(&first));
    let second = run(&rig, Pattern::RandWrite, 8);
    assert!((990.0..1010.0).contains(&iops(&second)), "{}", iops(&second));
    // The time within a step begins at its start.
    assert_eq!(second.seconds, 1.0);
    assert!((second.series[0].at_seconds - 0.1).abs() < 1e-9, "{}", second.series[0].at_seconds);
    // During a second of reads, the cache destages 1000 writes.
    run(&rig, Pattern::RandRead, 1);
    let third = run(&rig, Pattern::RandWrite, 8);
    assert!((1980.0..2020.0).contains(&iops(&third)), "{}", iops(&third));
}

/// Runs a step of 10 s on a device that pauses iogauge now and then.
fn paused_run(pause: &str, load: Load) -> Measured {
    let device = format!("sim:channels=8,service=100us,dist=const{pause}");
    let rig = Rig::open(&device, Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, iodepth: 8, ..load };
    let (mut observer, interrupt) = (Blind, Interrupt::default());
    let mut watch = Watch { observer: &mut observer, interrupt: &interrupt };
    let step = Step::single(load, SECOND, 10 * SECOND);
    session::run_on(&rig, &step, &[], &mut watch).unwrap()
}

#[test]
fn client_pauses_are_excluded_from_results() {
    let open = Arrivals { rate_iops: 20_000.0, process: ArrivalProcess::Linear, only: None };
    for arrivals in [None, Some(open)] {
        let measured = paused_run(",pause=every:3s,for:2s", Load { arrivals, ..Load::default() });
        // The pauses come after 2, 5 and 8 s of the measurement, because the ramp takes the first second.
        assert_eq!((measured.pauses.paused.times, measured.pauses.paused.ns), (3, 6 * SECOND));
        let worked_ns = measured.pauses.left_out_ns - measured.pauses.paused.ns;
        assert!((1..SECOND / 2).contains(&worked_ns), "{worked_ns}");
        let result = &measured.result;
        let read = result.read.as_ref().unwrap();
        assert_eq!(read.service_histogram.max_ns(), 100_000);
        if let Some(responses) = &read.response_histogram {
            assert_eq!(responses.max_ns(), 100_000);
        }
        let iops = if arrivals.is_some() { 20_000.0 } else { 80_000.0 };
        assert!((read.iops.mean / iops - 1.0).abs() < 0.001, "{}", read.iops.mean);
        assert!((result.seconds - 10.0).abs() < 0.11, "{}", result.seconds);
        assert!(measured.pauses.ios > 0);
    }
}

#[test]
fn ios_in_flight_during_a_pause_are_excluded() {
    // An I/O takes as long as ten windows, so those in flight complete long after the pause.
    let rig =
        Rig::open("sim:service=1s,dist=const,pause=every:3500ms,for:300ms", Intent::default());
    let load = Load { engine: EngineKind::Sim, iodepth: 4, ..Load::default() };
    let (mut observer, interrupt) = (Blind, Interrupt::default());
    let mut watch = Watch { observer: &mut observer, interrupt: &interrupt };
    let step = Step::single(load, 0, 10 * SECOND);
    let measured = session::run_on(&rig.unwrap(), &step, &[], &mut watch).unwrap();
    assert!(measured.pauses.paused.times >= 2);
    let read = measured.result.read.unwrap();
    assert!(read.ios > 0);
    assert_eq!(read.service_histogram.max_ns(), SECOND);
}

#[test]
fn repeatedly_paused_run_terminates() {
    let measured = paused_run(",pause=every:1ms,for:1ms", Load::default());
    assert!(measured.pauses.paused.times > 1000);
    assert!(measured.pauses.left_out_ns < 60 * SECOND, "{:?}", measured.pauses);
}

#[test]
fn same_steps_on_a_new_rig_reproduce_the_results() {
    let steps = || {
        let rig = rig();
        let loads = [(Pattern::RandWrite, 8), (Pattern::RandRw, 4), (Pattern::RandWrite, 8)];
        loads.map(|(rw, iodepth)| serde_json::to_value(run(&rig, rw, iodepth)).unwrap())
    };
    let first = steps();
    assert_ne!(first[0]["write"], first[2]["write"]);
    assert_eq!(first, steps());
}

#[test]
fn step_on_several_hosts_has_the_results_of_each() {
    let device = "sim:channels=8,service=100us,dist=const,hosts=3,far_host=1ms";
    let rig = Rig::open(device, Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, iodepth: 7, ..Load::default() };
    let (mut observer, interrupt) = (Blind, Interrupt::default());
    let mut watch = Watch { observer: &mut observer, interrupt: &interrupt };
    let step = Step::single(load, 0, SECOND);
    let measured = session::run_on(&rig, &step, &[], &mut watch).unwrap();
    let hosts = &measured.result.hosts;
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["host-1", "host-2", "host-3"]);
    assert_eq!((hosts[0].ios, hosts[1].ios), (30_000, 20_000));
    assert_eq!((hosts[0].latency_ns_mean, hosts[2].latency_ns_mean), (1e5, 1.1e6));
    assert_eq!((hosts[0].queue_depth, hosts[0].iops), (3.0, 30_000.0));
    assert_eq!(hosts.iter().map(|host| host.ios).sum::<u64>(), measured.result.ios());
    let limits = ["each:mean<=1ms", "mean<=1ms", "each:p99.9<=2ms"].map(|l| l.parse().unwrap());
    let values = iogauge_lab::suite::measured_limit_values(&measured, &limits);
    let broken: Vec<bool> = values.iter().map(|value| value.is_broken()).collect();
    assert_eq!(broken, [true, false, false]);
    assert_eq!((values[0].value_ns, values[0].n), (Some(1.1e6), hosts[2].ios));
    let fact = iogauge_lab::caveats::straggler_of(&measured, &limits).unwrap();
    let message = rig.caveats([fact])[0].message.clone();
    assert!(
        message.starts_with("host-3 alone breaks each:mean <= 1 ms: 1.10 ms there"),
        "{message}"
    );
}
