//! The search for a rate, compared with Erlang's formulas.

use crate::close;
use crate::closed::{find_of, has_shares};
use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::session::{self, Searched};
use iogauge_lab::{Interrupt, Rig};
use iogauge_model::load::{ArrivalProcess, EngineKind, Pattern};
use iogauge_model::result::StoppedBy;
use iogauge_model::{CaveatCode, Load};
use iogauge_test_support::mmc::Queue;

fn find(device: &str, limit: &str, change: impl FnOnce(&mut SearchPlan)) -> Searched {
    find_with(device, limit, &Interrupt::default(), change)
}

fn find_with(
    device: &str,
    limit: &str,
    interrupt: &Interrupt,
    change: impl FnOnce(&mut SearchPlan),
) -> Searched {
    let rig = Rig::open(&format!("sim:{device}"), Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let mut plan = SearchPlan {
        limits: vec![limit.parse().unwrap()],
        open_loop: Some(ArrivalProcess::Poisson),
        ..SearchPlan::default()
    };
    change(&mut plan);
    let watch = &mut Watch { observer: &mut Blind, interrupt };
    session::find(&rig, &load, &plan, watch).unwrap()
}

#[test]
fn rate_disturbed_by_a_pause_is_remeasured() {
    let truth = highest_rate(8, 1e-4, 3e-4);
    for pause in ["every:14s,for:2s", "every:1500ms,for:2s"] {
        let device = format!("channels=8,service=100us,pause={pause}");
        let searched = find(&device, "mean<=300us", |_| {});
        let found = &searched.outcome;
        assert!(found.search.answer.met, "{pause}");
        close(found.search.answer.rate_iops.unwrap(), truth, 4.0);
        has_shares(&found.search.curve);
        assert!((1..=6).contains(&found.pauses.repeats), "{:?}", found.pauses);
        let max_ns = found.search.curve.iter().map(|point| point.latency_ns.max).max().unwrap();
        assert!(max_ns < 200_000_000, "{max_ns}");
        assert!(searched.caveats.iter().any(|c| c.code == CaveatCode::Paused));
    }
}

/// Returns the highest rate at which an M/M/c queue answers within a mean time, in seconds.
fn highest_rate(servers: u32, service: f64, mean: f64) -> f64 {
    let queue = Queue { servers, service };
    queue.highest_rate(|rate| queue.mean(rate) <= mean)
}

#[test]
fn highest_rate_matches_erlang_formula_for_any_seed() {
    for (channels, service_us, mean_us) in [(8, 100, 300), (8, 100, 110), (1, 1000, 3000)] {
        let truth = highest_rate(channels, f64::from(service_us) / 1e6, f64::from(mean_us) / 1e6);
        for seed in 1..=3 {
            let device = format!("channels={channels},service={service_us}us,seed={seed}");
            // A thousand I/Os per second give little information in half a minute.
            let budget_s = if channels == 1 { 300 } else { 30 };
            let limit = format!("mean<={mean_us}us");
            let searched = find(&device, &limit, |p| p.budget_ns = budget_s * 1_000_000_000);
            let answer = &searched.outcome.search.answer;
            assert!(answer.met, "{device}");
            assert!(matches!(answer.stopped_by, StoppedBy::Limit | StoppedBy::Budget));
            close(answer.rate_iops.unwrap(), truth, 4.0);
            close(answer.iops.mean, answer.rate_iops.unwrap(), 3.0);
            // Nothing waits in front of the device: its own queue is part of the service time.
            close(answer.service_ns.unwrap().mean, answer.latency_ns.mean, 0.1);
            assert!(answer.latency_ns.mean <= f64::from(mean_us) * 1e3);
            assert!(searched.caveats.is_empty(), "{:?}", searched.caveats);
        }
    }
}

#[test]
fn open_loop_curve_consists_of_sorted_rates() {
    let found = find("channels=8,service=100us", "mean<=300us", |_| {}).outcome;
    let rates: Vec<f64> = found.search.curve.iter().map(|point| point.rate_iops.unwrap()).collect();
    assert!(
        rates.is_sorted() && rates.contains(&found.search.answer.rate_iops.unwrap()),
        "{rates:?}"
    );
    for point in &found.search.curve {
        assert_eq!((point.queue_depth, point.backlog_max), (16_384, Some(0)));
        assert!(point.latency_ns.mean >= point.service_ns.unwrap().mean * 0.999);
        close(point.offered_iops.unwrap(), point.rate_iops.unwrap(), 5.0);
        // An answer does not leave arrivals behind.
        assert!(!point.met || point.iops.mean >= 0.96 * point.rate_iops.unwrap());
    }
    assert!(found.search.measured_seconds <= 31.0, "{}", found.search.measured_seconds);
}

#[test]
fn waiting_arrivals_produce_a_caveat() {
    // Four I/Os may be outstanding on a device that would take eight; the others wait in front of it.
    let searched = find("channels=8,service=100us", "mean<=300us", |p| p.max_depth = 4);
    let answer = &searched.outcome.search.answer;
    close(answer.rate_iops.unwrap(), highest_rate(4, 100e-6, 300e-6), 3.0);
    close(answer.service_ns.unwrap().mean, 100e3, 2.0);
    let told = searched.caveats.iter().any(|caveat| caveat.code == CaveatCode::ArrivalsWaited);
    assert!(told, "{:?}", searched.caveats);
}

#[test]
fn linear_arrivals_do_not_queue_at_a_constant_device() {
    let device = "channels=4,service=200us,dist=const";
    let found = find(device, "mean<=250us", |p| p.open_loop = Some(ArrivalProcess::Linear)).outcome;
    close(found.search.answer.rate_iops.unwrap(), 20_000.0, 3.0);
    close(found.search.answer.latency_ns.mean, 200e3, 2.0);
}

#[test]
fn open_loop_limit_below_service_time_is_unattainable() {
    let answer = find("service=1ms,dist=const", "mean<=500us", |_| {}).outcome.search.answer;
    assert_eq!((answer.stopped_by, answer.met), (StoppedBy::Unattainable, false));
    close(answer.latency_ns.mean, 1e6, 1.0);
}

/// One I/O at a time fills the cache and breaks the limit. Arrivals that leave it room do not.
#[test]
fn limit_broken_only_in_closed_loop_is_attainable() {
    let device = "channels=1,service=300us,cache=1m,cache_service=20us,destage=2MB/s";
    let searched = find_of(Pattern::Write, device, &["p95<=50us"], |plan| {
        plan.open_loop = Some(ArrivalProcess::Poisson);
        plan.budget_ns = 120_000_000_000;
    });
    let answer = searched.outcome.search.answer;
    assert!(answer.met && answer.stopped_by != StoppedBy::Unattainable, "{answer:?}");
    // Rate at which the cache is emptied.
    let [low, high] = answer.iops.ci95;
    assert!((low..high).contains(&(2e6 / 4096.0)), "{answer:?}");
}

#[test]
fn interrupted_open_loop_search_reports_interruption() {
    let interrupt = Interrupt::default();
    interrupt.set();
    let found = find_with("", "mean<=10ms", &interrupt, |_| {}).outcome;
    assert_eq!(found.search.answer.stopped_by, StoppedBy::Interrupted);
    // No rate was offered yet, and what the closed loop gave is not an answer.
    assert!(
        found.search.answer.is_empty()
            && found.search.answer.rate_iops.is_some()
            && found.search.curve.is_empty()
    );
}

/// A tenth of all arrivals encounters a stall of 100 ms, at any rate.
#[test]
fn few_ios_do_not_prove_a_percentile_limit() {
    for seed in 1..=8 {
        let device = format!("channels=8,service=1ms,dist=exp,gc=every:1s,stall:100ms,seed={seed}");
        let answer = find(&device, "p99<=5ms", |_| {}).outcome.search.answer;
        assert_ne!(answer.stopped_by, StoppedBy::Limit, "{seed}: {answer:?}");
    }
}
