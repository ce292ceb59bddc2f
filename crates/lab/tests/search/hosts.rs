//! Several hosts on one simulated device.

use crate::close;
use crate::closed::{find, find_of};
use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::session::{self, Searched};
use iogauge_lab::{Interrupt, Rig};
use iogauge_model::load::{ArrivalProcess, EngineKind, Pattern};
use iogauge_model::result::{CurvePoint, HostResult, Search, StoppedBy, fairness};
use iogauge_model::{CaveatCode, Load};
use iogauge_test_support::mmc::Queue;

const SECOND: u64 = 1_000_000_000;
/// Ten channels of 1 ms give 10,000 IOPS. I/Os of the third host take 4 ms longer.
const FAR: &str = "channels=10,service=1ms,hosts=3,far_host=4ms";

fn answered(search: &Search) -> &CurvePoint {
    let is_place = |point: &&CurvePoint| point.queue_depth == search.answer.queue_depth;
    search.curve.iter().find(is_place).unwrap()
}

fn message(searched: &Searched, code: CaveatCode) -> Option<&str> {
    let found = searched.caveats.iter().find(|caveat| caveat.code == code)?;
    Some(found.message.as_str())
}

/// Checks that the figures of all hosts add up to those of the point.
fn adds_up(point: &CurvePoint) {
    let sum = |of: fn(&HostResult) -> f64| point.hosts.iter().map(of).sum::<f64>();
    close(sum(|host| host.iops), point.iops.mean, 0.01);
    close(sum(|host| host.queue_depth), point.queue_depth_achieved, 0.01);
    close(sum(|host| host.share), 1.0, 0.01);
    let weighted = sum(|host| host.ios as f64 * host.latency_ns_mean);
    close(weighted / sum(|host| host.ios as f64), point.latency_ns.mean, 0.01);
    let max_ns = point.hosts.iter().map(|host| host.latency_ns_max).max().unwrap();
    assert_eq!(max_ns, point.latency_ns.max);
}

#[test]
fn hosts_on_one_device_have_its_capacity_together() {
    // X = c/s and, by Little's law, N = L · c/s, however many hosts share the device.
    for (hosts, seed) in [(3, 1), (64, 2), (64, 3)] {
        let device = format!("channels=8,service=1ms,hosts={hosts},seed={seed}");
        let searched = find(&device, &["mean<=20ms"], |_| {});
        let search = &searched.outcome.search;
        assert_eq!((search.answer.met, search.answer.stopped_by), (true, StoppedBy::Limit));
        close(search.answer.iops.mean, 8_000.0, 3.0);
        close(f64::from(search.answer.queue_depth), 160.0, 6.0);
        let point = answered(search);
        assert_eq!(point.hosts.len(), hosts);
        assert_eq!(point.hosts[1].name, "host-2");
        search.curve.iter().for_each(adds_up);
        // Some hosts have three I/Os outstanding and some two.
        assert!(fairness(point.hosts.iter().map(|host| host.iops)) > 0.93);
        assert!(message(&searched, CaveatCode::SeveralHosts).is_some());
        assert_eq!(message(&searched, CaveatCode::Straggler), None);
    }
    let alone = find("channels=8,service=1ms", &["mean<=20ms"], |_| {});
    assert!(alone.outcome.search.curve.iter().all(|point| point.hosts.is_empty()));
    assert_eq!(message(&alone, CaveatCode::SeveralHosts), None);
}

#[test]
fn limit_on_each_host_is_kept_by_the_slowest_one() {
    // With R the latency of the near hosts, R + d is that of the far one, and each has N/3 I/Os outstanding:
    // N/3 · (2/R + 1/(R + d)) = c/s. Under a limit L on each host, R + d = L.
    let (limit, far, rate) = (10e-3, 4e-3, 1e4);
    let each = 3.0 * rate / (2.0 / (limit - far) + 1.0 / limit);
    let together = rate * limit;
    for (text, queue_depth) in [("each:mean<=10ms", each), ("mean<=10ms", together)] {
        let searched = find(FAR, &[text], |_| {});
        let search = &searched.outcome.search;
        assert!(search.answer.met, "{text}");
        close(search.answer.iops.mean, rate, 3.0);
        close(f64::from(search.answer.queue_depth), queue_depth, 5.0);
        let hosts = &answered(search).hosts;
        close(hosts[2].latency_ns_mean - hosts[0].latency_ns_mean, far * 1e9, 6.0);
        let judged = search.answer.limits[0];
        assert_eq!(judged.limit.to_string(), text.replace("<=", " <= ").replace("10ms", "10 ms"));
        let worst = hosts.iter().map(|host| host.latency_ns_mean).fold(0.0, f64::max);
        let wanted =
            if text.starts_with("each") { worst } else { answered(search).latency_ns.mean };
        close(judged.value_ns.unwrap(), wanted, 0.01);
        let named = message(&searched, CaveatCode::Straggler).unwrap();
        assert!(named.starts_with("host-3 alone breaks"), "{named}");
    }
}

#[test]
fn limit_on_each_of_many_hosts_converges() {
    // Each of 64 hosts completes 100 I/Os per second.
    let searched = find("channels=64,service=10ms,hosts=64", &["each:mean<=300ms"], |_| {});
    let answer = &searched.outcome.search.answer;
    assert_eq!((answer.met, answer.stopped_by), (true, StoppedBy::Limit));
    close(answer.iops.mean, 6_400.0, 3.0);
    // The slowest of them is above their mean by chance.
    let queue_depth = f64::from(answer.queue_depth);
    assert!((1_600.0..=1_930.0).contains(&queue_depth), "{queue_depth}");
}

#[test]
fn percentile_limit_on_each_host_converges() {
    let searched = find("channels=8,service=1ms,hosts=3", &["each:p99<=20ms"], |_| {});
    let answer = &searched.outcome.search.answer;
    assert!(answer.met);
    close(answer.iops.mean, 8_000.0, 3.0);
    // Equal hosts: the same as all together, apart from chance.
    let together = find("channels=8,service=1ms,hosts=3", &["p99<=20ms"], |_| {});
    let queue_depth = f64::from(together.outcome.search.answer.queue_depth);
    close(f64::from(answer.queue_depth), queue_depth, 8.0);
    assert_eq!(message(&searched, CaveatCode::Straggler), None);
}

#[test]
fn limits_on_each_host_and_on_all_together_hold_at_once() {
    let limits = ["each:read:mean<=10ms", "mean<=9ms", "each:write:p99<=25ms"];
    let searched = find_of(Pattern::RandRw, FAR, &limits, |_| {});
    let search = &searched.outcome.search;
    assert!(search.answer.met);
    close(search.answer.iops.mean, 10_000.0, 3.0);
    // The first binds, at the same queue depth as for reads alone.
    close(f64::from(search.answer.queue_depth), 69.2, 6.0);
    let stopped_by = search.answer.stopped_by_limit.unwrap();
    assert!(stopped_by.each, "{stopped_by}");
    assert!(search.answer.limits.iter().all(|value| !value.is_broken() && value.n > 0));
}

#[test]
fn idle_hosts_count_for_no_limit() {
    let device = "channels=8,service=1ms,hosts=64";
    let searched = find(device, &["each:mean<=20ms"], |plan| {
        plan.max_depth = 16;
        plan.budget_ns = 10 * SECOND;
    });
    let search = &searched.outcome.search;
    assert_eq!((search.answer.met, search.answer.queue_depth), (true, 16));
    let hosts = &answered(search).hosts;
    assert_eq!(hosts.iter().filter(|host| host.is_idle()).count(), 48);
    assert!(hosts[16..].iter().all(|host| host.ios == 0 && host.latency_ns_mean == 0.0));
    close(search.answer.limits[0].value_ns.unwrap(), 2e6, 10.0);
}

#[test]
fn open_loop_shares_its_rate_among_hosts() {
    let queue = Queue { servers: 8, service: 1e-3 };
    let truth = queue.highest_rate(|rate| queue.mean(rate) <= 3e-3);
    for limit in ["mean<=3ms", "each:mean<=3ms"] {
        let searched = find("channels=8,service=1ms,hosts=3", &[limit], |plan| {
            plan.open_loop = Some(ArrivalProcess::Poisson);
        });
        let search = &searched.outcome.search;
        assert!(search.answer.met, "{limit}");
        close(search.answer.rate_iops.unwrap(), truth, 4.0);
        let rate_iops = search.answer.rate_iops;
        let point = search.curve.iter().find(|point| point.rate_iops == rate_iops).unwrap();
        assert!(point.hosts.iter().all(|host| (host.share - 1.0 / 3.0).abs() < 0.02));
    }
}

#[test]
fn limit_on_each_host_is_refused_for_a_single_one() {
    let rig = Rig::open("sim:nvme", Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let limits = vec!["each:p99<=5ms".parse().unwrap()];
    let plan = SearchPlan { limits, ..SearchPlan::default() };
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    let error = session::find(&rig, &load, &plan, watch).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("there is one; hint: "), "{error}");
}

#[test]
fn thousand_hosts_have_the_capacity_of_their_device() {
    let searched = find("channels=64,service=10ms,hosts=1000", &["mean<=300ms"], |plan| {
        plan.budget_ns = 15 * SECOND;
    });
    let search = &searched.outcome.search;
    assert!(search.answer.met);
    close(search.answer.iops.mean, 6_400.0, 3.0);
    close(f64::from(search.answer.queue_depth), 1_920.0, 10.0);
    assert_eq!(answered(search).hosts.len(), 1000);
}
