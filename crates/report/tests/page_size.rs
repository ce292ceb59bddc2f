//! Tests the size of pages with all the data of many runs, and the notes about what is left out.
#![allow(clippy::unwrap_used)]

mod common;

use common::{caveats, find_document, loads, point};
use iogauge_model::Histogram;
use iogauge_model::result::{
    CpuKinds, DevicePoint, IntervalPoint, LatencyBands, StoppedBy, SystemPoint,
};
use iogauge_report::exhibit::{Exhibit, GroupBy, Shown, grouped};
use iogauge_report::html;
use iogauge_report::panel::{PANELS, Panel};
use serde_json::json;

fn exhibit(document: Shown) -> Exhibit {
    Exhibit { system: "db1".to_owned(), document }
}

/// Returns a page with all panels of runs of one system.
fn page(exhibits: Vec<Exhibit>, title: &str) -> String {
    let panels: Vec<&Panel> = PANELS.iter().collect();
    html::page(&grouped(exhibits, GroupBy::System), &panels, title, "0.1.0").unwrap()
}

/// Returns a generator of pseudo-random numbers from 0 to 1, the same ones each time.
fn scattered(mut seed: u64) -> impl FnMut() -> f64 {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1u32 << 31)
    }
}

/// Returns latencies with a long tail, like those of a device under load.
fn tailed(next: &mut impl FnMut() -> f64, mean_ns: f64, ios: u32) -> Histogram {
    let mut histogram = Histogram::new();
    for _ in 0..ios {
        histogram.record_n((mean_ns * (6.0 * next().powi(3) - 1.0).exp()) as u64, 9);
    }
    histogram
}

/// Returns 15 s at a rising queue depth, in this many intervals, with system samples every half second.
fn searched(run: u64, intervals: u32) -> (Vec<IntervalPoint>, Vec<SystemPoint>) {
    let mut next = scattered(run);
    let seconds = 15.0 / f64::from(intervals);
    let interval = |number: u32| {
        let queue_depth = f64::from(1 << (number * 10 / intervals));
        let histogram = tailed(&mut next, 60_000.0 * queue_depth.powf(0.7), 60);
        IntervalPoint {
            at_seconds: f64::from(number + 1) * seconds,
            seconds,
            reads: histogram.count(),
            read_bytes: histogram.count() * 4096,
            read_latency_sum_ns: histogram.sum_ns() as u64,
            latency_max_ns: histogram.max_ns(),
            queue_depth: queue_depth * (0.9 + 0.1 * next()),
            queue_depth_asked: Some(queue_depth),
            read_bands: LatencyBands::of(&histogram),
            ..IntervalPoint::default()
        }
    };
    let series = (0..intervals).map(interval).collect();
    let mut next = scattered(run + 1000);
    let sample = |number: u32| {
        let device = DevicePoint {
            device: "nvme0n1".to_owned(),
            reads_per_sec: 1e5 * next(),
            read_await_ns: Some(3e6 * next()),
            queue_depth: 100.0 * next(),
            busy_percent: 100.0 * next(),
            ..DevicePoint::default()
        };
        let cpu = CpuKinds {
            user_percent: 40.0 * next(),
            system_percent: 40.0 * next(),
            softirq_percent: 5.0 * next(),
            ..CpuKinds::default()
        };
        SystemPoint {
            at_seconds: f64::from(number) * 0.5,
            read_bytes_per_sec: 4e8 * next(),
            write_bytes_per_sec: 4e6 * next(),
            busy_percent: device.busy_percent,
            cpu_percent: 80.0 * next(),
            iowait_percent: 20.0 * next(),
            steal_percent: 5.0 * next(),
            memory_available_bytes: (8e9 * next()) as u64,
            dirty_bytes: (8e8 * next()) as u64,
            cpu: Some(cpu),
            devices: vec![device],
            ..SystemPoint::default()
        }
    };
    (series, (1..=30).map(sample).collect())
}

/// Returns a search with as much data as a real one.
fn real_search(run: u64) -> Exhibit {
    let mut document = find_document(StoppedBy::Limit);
    document.head.run_id = format!("20261121-101530-{run:04}");
    (document.search.series, document.search.system) = searched(run, 600);
    let mut next = scattered(run + 2000);
    document.search.curve = (0..14)
        .map(|n| point(1 << n, 9e3 * f64::from(n + 1) * (0.8 + 0.2 * next()), n < 12))
        .collect();
    document.caveats = caveats();
    exhibit(Shown::Find(Box::new(document)))
}

#[test]
fn page_of_fifty_searches_is_below_1_5_mb() {
    let fifty = page((1..=50).map(real_search).collect(), "fifty");
    assert!(fifty.len() < 1_500_000, "{} bytes", fifty.len());
    assert!(fifty.contains("a run over time has 24 points at most here, neighbours joined."));
    // A single run has all its points and no note.
    assert!(!page(vec![real_search(1)], "one").contains("points at most here"));
}

/// Returns a suite with as many steps as `oltp`; some of them read and write.
fn real_suite(run: u64) -> Exhibit {
    let step = |number: u32| {
        let load = loads::load(if number < 22 { 100 } else { 80 }, 8192, 1 + number);
        let mut result = loads::measured(&load);
        let mut next = scattered(run * 100 + u64::from(number));
        for direction in [&mut result.read, &mut result.write].into_iter().flatten() {
            direction.service_histogram = tailed(&mut next, 1e5 * f64::from(number + 1), 300);
        }
        (result.series, result.system) = searched(run * 100 + u64::from(number), 60);
        loads::suite_step(format!("step {number}"), None, load, result)
    };
    let mut document = loads::suite((0..27).map(step).collect(), json!({}));
    document.head.run_id = format!("20261121-101530-{run:04}");
    document.head.started = format!("2026-11-21T10:15:{run:02}Z");
    exhibit(Shown::Suite(Box::new(document)))
}

#[test]
fn page_of_fifty_suites_is_bounded_and_states_omissions() {
    let fifty = page((1..=50).map(real_suite).collect(), "fifty");
    assert!(fifty.len() < 3_000_000, "{} bytes", fifty.len());
    // 32 workloads by 50 runs are 1600 curves.
    assert!(fifty.contains("8 loads, of the 12 latest runs of each"));
    assert!(fifty.contains("leaves out 1216 curves of earlier ones."));
    assert!(fifty.contains("run 0039: ") && !fifty.contains("run 0038: "));
}
