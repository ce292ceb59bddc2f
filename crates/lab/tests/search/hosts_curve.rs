//! The capacity by number of hosts, and parts of unlike hosts, on simulated devices.

use crate::close;
use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::session::solo;
use iogauge_lab::suite::{self, HostsCurve, Ran, Site, Suite};
use iogauge_lab::{Interrupt, Region, Rig, session};
use iogauge_model::load::EngineKind;
use iogauge_model::result::{HostsCurveFindings, HostsOutcome, SuiteStepResult};
use iogauge_model::{CaveatCode, Load, Step};
use serde::Deserialize;

const SECOND: u64 = 1_000_000_000;
/// Each host's link takes 1,000 IOPS of 4 KiB.
const LINKS: &str = "channels=64,service=1ms,host_link=4096000";

fn load() -> Load {
    Load { engine: EngineKind::Sim, ..Load::default() }
}

fn curve(rig: &mut Rig, limit: &str, done: Vec<SuiteStepResult>) -> Ran {
    let limits = vec![limit.parse().unwrap()];
    let plan = SearchPlan { limits, ..SearchPlan::default() };
    let suite = HostsCurve::new(load(), plan, rig.hosts());
    let site = Site::of(rig, EngineKind::Sim);
    let plan = suite.plan(&site).unwrap();
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    suite::run(rig, &suite, &site, &plan, done, None, watch).unwrap()
}

fn opened(device: &str) -> Rig {
    Rig::open(&format!("sim:{device}"), Intent::default()).unwrap()
}

fn findings(ran: &Ran) -> HostsCurveFindings {
    HostsCurveFindings::deserialize(&ran.conclusion.findings).unwrap()
}

#[test]
fn capacity_of_hosts_is_that_of_their_links_or_of_the_bus() {
    // X(n) = min(n · L, B) / b: links of 1,000 IOPS each behind a bus of B/b IOPS.
    use HostsOutcome::{SaturatesAt, ScalesAt};
    for seed in 1..=8 {
        for (bus_iops, outcome) in [
            (1_000.0, SaturatesAt(1)),
            (1_900.0, SaturatesAt(2)),
            (3_000.0, SaturatesAt(4)),
            (20_000.0, ScalesAt(6)),
        ] {
            let bus = bus_iops * 4096.0;
            let mut rig = opened(&format!("{LINKS},bus={bus},hosts=6,seed={seed}"));
            let found = findings(&curve(&mut rig, "mean<=50ms", Vec::new()));
            let hosts: Vec<u32> = found.hosts_curve.iter().map(|point| point.hosts).collect();
            assert_eq!(hosts, [1, 2, 4, 6]);
            for point in &found.hosts_curve {
                let wanted = (f64::from(point.hosts) * 1_000.0).min(bus_iops);
                close(point.iops.mean, wanted, 3.0);
                close(point.iops_per_host, wanted / f64::from(point.hosts), 3.0);
                let efficiency = wanted / f64::from(point.hosts) / 1_000.0;
                close(point.scaling_efficiency.unwrap(), efficiency, 5.0);
                // N = L · X, by Little's law.
                close(f64::from(point.queue_depth), wanted * 0.05, 8.0);
            }
            assert_eq!(found.outcome, Some(outcome), "seed {seed}, bus {bus_iops}");
        }
    }
}

#[test]
fn only_the_first_hosts_take_part() {
    let mut rig = opened(&format!("{LINKS},hosts=3"));
    let ran = curve(&mut rig, "each:mean<=50ms", Vec::new());
    for (step, hosts) in ran.steps.iter().zip(1..) {
        let search = step.search().unwrap();
        assert!(search.answer.met, "{}", step.place.key);
        for point in &search.curve {
            let names: Vec<&str> = point.hosts.iter().map(|host| host.name.as_str()).collect();
            assert_eq!(names, &["host-1", "host-2", "host-3"][..hosts]);
        }
    }
    assert_eq!(ran.steps[1].place.key, "2 hosts");
    assert_eq!(ran.conclusion.verdict[0], {
        let iops = findings(&ran).hosts_curve[2].iops.mean.round();
        let iops = iogauge_model::units::Count(iops);
        format!("The capacity still scales at 3 hosts: {iops} IOPS; more hosts would reach more.")
    });
}

#[test]
fn complete_steps_are_kept_and_the_others_run() {
    let mut rig = opened(&format!("{LINKS},hosts=2"));
    let whole = curve(&mut rig, "mean<=50ms", Vec::new());
    let mut first = whole.steps[0].clone();
    let mut kept = first.search().unwrap().clone();
    kept.answer.iops.mean = 123.0;
    first.result = iogauge_model::result::SuiteOutcome::Search(Box::new(kept));
    let ran = curve(&mut rig, "mean<=50ms", vec![first]);
    let points = findings(&ran).hosts_curve;
    assert_eq!(points[0].iops.mean, 123.0);
    close(points[1].iops.mean, 2_000.0, 3.0);
}

#[test]
fn unattainable_limit_leaves_the_curve_undecided() {
    let mut rig = opened(&format!("{LINKS},hosts=2"));
    let ran = curve(&mut rig, "mean<=10us", Vec::new());
    assert_eq!(findings(&ran).outcome, Some(HostsOutcome::UndecidedAt(1)));
    let wanted = "Undecided: the search on 1 host found no load that keeps the limit.";
    assert_eq!(ran.conclusion.verdict[0], wanted);
}

#[test]
fn parts_of_hosts_follow_what_each_reaches_alone() {
    // At queue depth 10, a near host reaches 10/s, and the far one 10/(s + d).
    let mut rig = opened("channels=10,service=1ms,hosts=3,far_host=4ms");
    let jobs = [(Load { iodepth: 30, ..load() }, Region::All)];
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    solo::measure(&mut rig, &jobs, watch).unwrap();
    let parts = rig.host_parts();
    for (part, (name, alone)) in
        parts.iter().zip([("host-1", 1e4), ("host-2", 1e4), ("host-3", 2e3)])
    {
        assert_eq!(part.name, name);
        close(part.alone_iops, alone, 3.0);
        close(part.part, alone / 2.2e4, 3.0);
    }
    let step = Step::single(Load { iodepth: 22, ..load() }, SECOND, 5 * SECOND);
    let measured = session::run_on(&rig, &step, &[], watch).unwrap();
    let depths: Vec<f64> = measured.result.hosts.iter().map(|h| h.queue_depth.round()).collect();
    assert_eq!(depths, [10.0, 10.0, 2.0]);
    // The limit on each host no longer leaves the near hosts idle.
    let limits = vec!["each:mean<=10ms".parse().unwrap()];
    let plan = SearchPlan { limits, ..SearchPlan::default() };
    let searched = session::find(&rig, &load(), &plan, watch).unwrap();
    close(searched.outcome.search.answer.iops.mean, 1e4, 3.0);
    assert!(!searched.caveats.iter().any(|caveat| caveat.code == CaveatCode::IoErrors));
}

#[test]
fn one_host_has_no_parts() {
    let mut rig = opened("channels=10,service=1ms");
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    let error = solo::measure(&mut rig, &[(load(), Region::All)], watch).unwrap_err();
    assert!(error.is_usage(), "{error}");
    assert!(error.to_string().starts_with("--share=solo: there is one host; hint: "), "{error}");
}
