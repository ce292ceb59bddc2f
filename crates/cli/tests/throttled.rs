//! A real device of known speed through the binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Place;
use iogauge_test_support::{Loop, MIB, Throttle, or_skip};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn is_near(got: f64, wanted: f64, share: f64) -> bool {
    (got - wanted).abs() <= wanted * share
}

/// The kernel releases the I/Os of a tenth of a second at once (`throtl_slice`, 100 ms). A run starts and ends anywhere
/// between two releases, so it may contain one release more or less than its length suggests: 0.5 % of 20 s. Another
/// 0.5 % is allowed for the throttle, whose rate differs that much from its setting.
#[test]
fn run_measures_the_rate_of_a_throttled_device() {
    const IOPS: u32 = 1000;
    let place = Place::new();
    let device = or_skip!("run_measures_the_rate_of_a_throttled_device", Loop::new(64 * MIB));
    let limit = Throttle::this_process(&device.path, IOPS);
    let _limit = or_skip!("run_measures_the_rate_of_a_throttled_device", limit);
    let target = device.path.to_str().unwrap();
    let times = ["--runtime=20", "--ramp_time=2"];
    let line = [&["run", target, "--iodepth=32", "--json"][..], &times].concat();
    // A throttle gives its full rate only to a load that is always ready, which the run is not if the machine is busy.
    // Also, I/Os that were held back when the run began have waited longer than the run measured. One of several runs
    // must be correct in all figures.
    let mut read = Vec::new();
    loop {
        let step = &place.run(&line).ends(0).json()["steps"][0];
        let (reads, queue_depth) = (&step["read"], number(&step["depth_achieved"]));
        let iops = number(&reads["iops"]["mean"]);
        let law = iops * number(&reads["service_ns"]["mean"]) / 1e9;
        assert_eq!(reads["errors"], 0);
        assert!(is_near(queue_depth, 32.0, 0.02), "depth kept: {queue_depth}, not 32");
        if is_near(iops, f64::from(IOPS), 0.01) && is_near(law, queue_depth, 0.02) {
            return;
        }
        read.push(format!("{iops} IOPS, depth {queue_depth}, by Little's law {law}"));
        assert!(read.len() < 4, "not {IOPS} IOPS at depth 32: {}", read.join("; "));
    }
}

/// By Little's law, the device reaches its full rate with 20 I/Os outstanding and a latency of 10 ms.
#[test]
fn search_finds_rate_and_queue_depth_of_a_throttled_device() {
    const TEST: &str = "search_finds_rate_and_queue_depth_of_a_throttled_device";
    const IOPS: u32 = 2000;
    let place = Place::new();
    let device =
        or_skip!("search_finds_rate_and_queue_depth_of_a_throttled_device", Loop::new(64 * MIB));
    let limit = Throttle::this_process(&device.path, IOPS);
    let _limit = or_skip!("search_finds_rate_and_queue_depth_of_a_throttled_device", limit);
    let line = [
        "find",
        device.path.to_str().unwrap(),
        "--max-starvation=100%",
        "--limit",
        "mean<=10ms",
        "--json",
    ];
    let mut answers = Vec::new();
    // As above: one of several searches must find the device's rate.
    loop {
        let found = place.run(&line).ends(0).json();
        let answer = &found["answer"];
        let (iops, queue_depth) = (number(&answer["iops"]["mean"]), number(&answer["depth"]));
        if is_near(iops, f64::from(IOPS), 0.02) && (queue_depth - 20.0).abs() <= 1.0 {
            return;
        }
        answers.push((iops, queue_depth));
        assert!(answers.len() < 4, "{TEST}: {answers:?}, not {IOPS} IOPS at depth 20");
    }
}
