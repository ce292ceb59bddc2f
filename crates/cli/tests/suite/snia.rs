//! Tests after the SNIA specification, on devices that reach a steady state, reach it late, or never do.

use crate::common::{Done, Place, near};
use iogauge_test_support::{Loop, or_skip};
use serde_json::Value;
use std::time::{Duration, Instant};

fn suite(place: &Place, name: &str, target: &str, more: &[&str]) -> Done {
    place.run(&[&["suite", name, target, "--json", "--quiet"], more].concat())
}

/// Returns the findings of a completed run.
fn findings(place: &Place, name: &str, target: &str, more: &[&str]) -> Value {
    suite(place, name, target, more).ends(0).json()["findings"].clone()
}

fn cell(findings: &Value, read_percent: u32, block_bytes: u64) -> &Value {
    let cells = findings["cells"].as_array().unwrap();
    let is =
        |cell: &&Value| cell["read_percent"] == read_percent && cell["block_bytes"] == block_bytes;
    cells.iter().find(is).unwrap_or_else(|| panic!("no {read_percent} {block_bytes} in {cells:?}"))
}

/// Returns the writes per second of each round, on a device with one channel and one I/O outstanding. The device is
/// fresh for this many bytes and then takes longer for a write (docs/simulated.md). A round consists of a second of
/// reads and a second of writes.
fn rounds_of_writes(fresh_bytes: u64, mut written_bytes: u64) -> Vec<f64> {
    const MIB: u64 = 1 << 20;
    let write_ms = |written: u64| {
        let moved = written.saturating_sub(fresh_bytes) as f64 / (fresh_bytes as f64 / 2.0);
        5.0 + 15.0 * moved.clamp(0.0, 1.0)
    };
    let round = |_| {
        let (mut passed_ms, mut writes) = (0.0, 0);
        while passed_ms < 1000.0 {
            passed_ms += write_ms(written_bytes);
            written_bytes += MIB;
            writes += 1;
        }
        f64::from(writes)
    };
    (0..25).map(round).collect()
}

/// Returns the last of the first five consecutive rounds that are steady: their range is at most a fifth of their mean,
/// and their regression line changes by at most a tenth of it.
fn steady_at(rounds: &[f64]) -> Option<usize> {
    let is_steady = |last: &usize| {
        let five = &rounds[last - 5..*last];
        let mean = five.iter().sum::<f64>() / 5.0;
        let most = five.iter().copied().fold(f64::MIN, f64::max);
        let least = five.iter().copied().fold(f64::MAX, f64::min);
        let slope = (-2.0 * five[0] - five[1] + five[3] + 2.0 * five[4]) / 10.0;
        most - least <= 0.2 * mean && (4.0 * slope).abs() <= 0.1 * mean
    };
    (5..=rounds.len()).find(is_steady)
}

#[test]
fn snia_rounds_end_at_steady_state() {
    let place = Place::new();
    let mut ends = Vec::new();
    // Fresh for at least five rounds, worn during them, and worn late.
    for fresh_mib in [2000_u64, 400, 1000] {
        let target = format!(
            "sim:channels=1,service=10ms,dist=const,write_service=20ms,fresh={fresh_mib}m,\
             fresh_service=5ms,size=64m"
        );
        let found = findings(&place, "snia-throughput", &target, &["--scale=60", "--iodepth=1"]);
        let truth = rounds_of_writes(fresh_mib << 20, 128 << 20);
        let last = steady_at(&truth).unwrap();
        assert_eq!(
            (&found["window"]["last_round"], &found["steady"]),
            (&last.into(), &true.into())
        );
        assert_eq!(found["rounds"], last);
        let writes = &found["tracked"][1];
        assert_eq!(
            (&writes["read_percent"], &writes["unit"]),
            (&0.into(), &"bytes_per_sec".into())
        );
        for (value, truth) in writes["rounds"].as_array().unwrap().iter().zip(&truth) {
            near(value, truth * 1_048_576.0, 0.03);
        }
        let mean = truth[last - 5..last].iter().sum::<f64>() / 5.0;
        near(&cell(&found, 0, 1 << 20)["iops"], mean, 0.03);
        near(&cell(&found, 100, 1 << 20)["iops"], 100.0, 0.02);
        ends.push(last);
    }
    assert_eq!(ends[0], 5);
    assert!(ends[0] < ends[1] && ends[1] < ends[2], "{ends:?}");
}

#[test]
fn device_without_steady_state_uses_all_rounds() {
    let place = Place::new();
    let target = "sim:channels=1,service=10ms,dist=const,wander=30%:8s,size=64m";
    let done = suite(&place, "snia-throughput", target, &["--scale=60", "--iodepth=1"]).ends(0);
    let document = done.json();
    let found = &document["findings"];
    assert_eq!((&found["rounds"], &found["steady"]), (&25.into(), &false.into()));
    assert_eq!((&found["window"]["first_round"], &document["steps_left"]), (&21.into(), &0.into()));
    let verdict = document["verdict"].to_string();
    assert!(verdict.contains("Not steady within 25 rounds"), "{verdict}");
    assert!(found["reasons"].to_string().contains("not steady within 25 rounds"));
    let caveats = document["caveats"].as_array().unwrap();
    let of_rounds = |caveat: &Value| {
        let message = caveat["message"].as_str().unwrap_or_default();
        caveat["code"] == "not-steady"
            && message.starts_with("in rounds 21 to 25 100/0 1 MiB ranged")
    };
    assert!(caveats.iter().any(of_rounds), "{caveats:?}");
}

#[test]
fn snia_iops_match_each_mix_and_block_size() {
    let place = Place::new();
    // Eight I/Os keep four channels busy. The largest blocks use the whole bus.
    let target = "sim:channels=4,service=10ms,dist=const,write_service=30ms,bus=100MB/s,size=64m";
    let options = ["--scale=60", "--threads=2", "--iodepth=4"];
    let document = suite(&place, "snia-iops", target, &options).ends(0).json();
    let found = &document["findings"];
    assert_eq!(document["steps"].as_array().unwrap().len(), 1 + 5 * 56);
    assert_eq!(document["steps_left"], 20 * 56);
    assert_eq!(found["cells"].as_array().unwrap().len(), 56);
    for read_percent in [100, 95, 65, 50, 35, 5, 0] {
        let reads = f64::from(read_percent) / 100.0;
        let truth = 4.0 / (reads * 0.010 + (1.0 - reads) * 0.030);
        for block_bytes in [512, 4096, 65536] {
            near(&cell(found, read_percent, block_bytes)["iops"], truth, 0.08);
        }
    }
    near(&cell(found, 100, 1 << 20)["iops"], 1e8 / f64::from(1 << 20), 0.05);
    near(&cell(found, 100, 4096)["iops"], 400.0, 0.02);
    let settings = &found["settings"];
    assert_eq!((&settings["threads"], &settings["iodepth"]), (&2.into(), &4.into()));
    assert_eq!(settings["minute_seconds"], 1.0);
}

#[test]
fn snia_latencies_match_queue_depth_1() {
    let place = Place::new();
    let target = "sim:channels=8,service=2ms,dist=const,write_service=1ms,size=64m";
    let found = findings(&place, "snia-latency", target, &["--scale=60"]);
    for block_bytes in [8192, 4096, 512] {
        for (read_percent, mean_ns, max_ns) in [(100, 2e6, 2e6), (0, 1e6, 1e6), (65, 1.65e6, 2e6)] {
            let cell = cell(&found, read_percent, block_bytes);
            near(&cell["latency_ns_mean"], mean_ns, if read_percent == 65 { 0.03 } else { 1e-4 });
            near(&cell["latency_ns_max"], max_ns, 1e-4);
            assert_eq!(cell["latency_ns_p99999"], Value::Null);
        }
    }
    let reasons = found["reasons"].as_array().unwrap();
    let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons[0].contains("simulated") && reasons[1].contains("--purged"), "{reasons:?}");
    let purged = findings(&place, "snia-latency", target, &["--scale=60", "--purged"]);
    assert_eq!(purged["reasons"].as_array().unwrap().len(), 2);
}

#[test]
fn snia_saturation_shows_write_decline_after_fresh_state() {
    let place = Place::new();
    let target = "sim:channels=1,service=1ms,dist=const,fresh=32m,fresh_service=250us,size=16m";
    let options = ["--scale=600", "--threads=1", "--iodepth=1"];
    let found = findings(&place, "snia-saturation", target, &options);
    near(&found["iops_first"], 4000.0, 0.01);
    near(&found["iops_last"], 1000.0, 0.01);
    let rounds = found["rounds"].as_array().unwrap();
    let written = |round: &Value| round["written_bytes"].as_u64().unwrap();
    let (four, total) = (4 << 24, written(rounds.last().unwrap()));
    assert!(total >= four && written(&rounds[rounds.len() - 2]) < four, "{total}");
    // 2500 IOPS are halfway between the first and the last rate. They correspond to a service time of 400 µs, a
    // fifth of the way from 250 µs to 1 ms, and of the 16 MiB that the change takes.
    let truth = f64::from(32 << 20) + f64::from(16 << 20) / 5.0;
    let a_round = 400.0 * 4096.0;
    let falls_at = found["falls_at_bytes"].as_f64().unwrap();
    assert!((falls_at - truth).abs() <= a_round, "{falls_at} for {truth}");
    let settled = "sim:channels=1,service=1ms,dist=const,size=16m";
    let found = findings(&place, "snia-saturation", settled, &options);
    assert_eq!(found["falls_at_bytes"], Value::Null);
}

#[test]
fn snia_on_a_file_reports_nonconformance() {
    let place = Place::new();
    let options = ["--size=8m", "--scale=6000", "--purged"];
    let done = suite(&place, "snia-latency", ".", &options);
    // On a busy machine, no I/O may complete within the ten milliseconds of a round.
    assert!([Some(0), Some(4)].contains(&done.code), "{}", done.stderr);
    let document = done.json();
    let found = &document["findings"];
    let reasons = found["reasons"].to_string();
    assert!(reasons.contains("a file, not a block device"), "{reasons}");
    let precondition = &document["steps"][0];
    assert_eq!(precondition["key"], "precondition");
    let file = document["target"]["size_bytes"].as_u64().unwrap();
    assert!(precondition["result"]["step"]["write"]["bytes"].as_u64().unwrap() >= 2 * file);
    assert!(cell(found, 100, 4096)["latency_ns_mean"].as_f64().unwrap() > 100.0);
    let text = place.run(&["history", "show", "last"]).ends(0).stdout;
    assert!(text.contains("does not conform to SNIA PTS 2.0.2"), "{text}");
}

#[test]
fn interrupted_snia_run_resumes_within_a_round() {
    let place = Place::new();
    let options = ["--size=8m", "--scale=300", "--ioengine=psync", "--iodepth=1", "--quiet"];
    let arguments = [&["suite", "snia-throughput", "."], &options[..]].concat();
    let kept = || {
        let done = place.run(&["history", "show", "last", "--format=json"]);
        let stored = serde_json::from_str::<Value>(&done.stdout).unwrap_or_default();
        stored["steps"].as_array().map_or(0, Vec::len)
    };
    let mut child = place.command(&arguments).spawn().unwrap();
    let begin = Instant::now();
    // The preconditioning and one and a half rounds.
    while !place.history().exists() || kept() < 4 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no step was kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    crate::common::kill_both(&mut child);
    let document = place.run(&[&arguments[..], &["--resume", "--json"]].concat()).ends(0).json();
    let keys: Vec<&str> =
        document["steps"].as_array().unwrap().iter().map(|s| s["key"].as_str().unwrap()).collect();
    let first = ["precondition", "100/0 1m round 1", "0/100 1m round 1", "100/0 1m round 2"];
    assert_eq!((&keys[..4], keys[4]), (&first[..], "0/100 1m round 2"));
    assert_eq!(keys.len() % 2, 1);
    let found = &document["findings"];
    assert!(found["rounds"].as_u64().unwrap() >= 5);
    assert!(
        found["reasons"].to_string().contains("interrupted and resumed"),
        "{}",
        found["reasons"]
    );
}

#[test]
fn snia_saturation_does_not_prefill_the_block_device() {
    let place = Place::new();
    let image = place.work().join("image");
    std::fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
    let device =
        or_skip!("snia_saturation_does_not_prefill_the_block_device", Loop::on(&image, &[]));
    let options =
        ["suite", "snia-saturation", device.as_str(), "--destroy-data", "--scale=1000", "--json"];
    let done = place.run(&[&options[..], &["--purged"]].concat()).ends(0);
    assert!(!done.stderr.contains("prefilled"), "{}", done.stderr);
    let document = done.json();
    let found = &document["findings"];
    assert_eq!(found["reasons"].as_array().unwrap().len(), 1, "{}", found["reasons"]);
    assert!(found["reasons"][0].as_str().unwrap().contains("--scale"));
    assert!(found["written_bytes"].as_u64().unwrap() >= 4 * (8 << 20));
    let caveats = document["caveats"].as_array().unwrap();
    assert!(caveats.iter().all(|caveat| caveat["code"] != "zero-blocks"), "{caveats:?}");
    // A test of half the device does not conform.
    let done = place.run(&[&options[..], &["--size=4m"]].concat()).ends(0);
    let reasons = done.json()["findings"]["reasons"].to_string();
    assert!(reasons.contains("--size used only 4 MiB of the device"), "{reasons}");
}

#[test]
fn plan_lists_identical_rounds_once() {
    let place = Place::new();
    for (name, rounds, lines) in [("snia-saturation", "1–1440", 1), ("snia-throughput", "1–25", 2)]
    {
        let plan = place.run(&["suite", name, "sim:size=64m", "--dry-run"]).ends(0).stdout;
        assert_eq!(plan.lines().filter(|line| line.contains(rounds)).count(), lines, "{plan}");
        assert!(plan.lines().count() < 12, "{plan}");
    }
}

#[test]
fn unsupported_snia_options_are_rejected() {
    let place = Place::new();
    for (name, target, option, says) in [
        ("snia-iops", "sim:size=64m", "--scale=0", "--scale: must be between 1"),
        ("snia-iops", "sim:size=64m", "--iodepth=0", "--iodepth: must be between 1"),
        ("snia-throughput", "sim:size=64m", "--bs=4k", "hint: use 1m or 128k"),
        ("snia-throughput", "sim:size=512k", "--bs=1m", "do not fit on a target of 512 KiB"),
    ] {
        let done = place.run(&["suite", name, target, option]).ends(2);
        assert!(done.stderr.contains(says), "{}", done.stderr);
        crate::common::assert_one_message(&done.stderr);
    }
}
