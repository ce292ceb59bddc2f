//! Options of a workload, checked by the figures of a simulated device.
#![allow(clippy::unwrap_used)]

mod common;

use common::{EIGHT, Place, near};
use serde_json::{Value, json};

/// Returns the only step of a run.
#[track_caller]
fn step(options: &[&str]) -> Value {
    let line = [&["run"], options, &["--json", "-q"]].concat();
    Place::new().run(&line).ends(0).json()["steps"][0].clone()
}

#[test]
fn number_ios_is_exact() {
    let counted = step(&[EIGHT, "--number_ios=1234", "--iodepth=7", "--numjobs=3"]);
    assert_eq!(counted["read"]["ios"], 3 * 1234);
    let of_workers: Vec<&Value> =
        counted["workers"].as_array().unwrap().iter().map(|worker| &worker["ios"]).collect();
    assert_eq!(of_workers, [1234, 1234, 1234]);
    let mixed = step(&[EIGHT, "--number_ios=777", "--rw=randrw", "--iodepth=5"]);
    let ios = |name: &str| mixed[name]["ios"].as_u64().unwrap();
    assert_eq!(ios("read") + ios("write"), 777);
}

#[test]
fn io_size_ends_with_the_io_that_reaches_it() {
    let even = step(&[EIGHT, "--io_size=10k", "--numjobs=2", "--iodepth=4"]);
    assert_eq!((&even["read"]["ios"], &even["read"]["bytes"]), (&json!(6), &json!(6 * 4096)));
    let mixed = step(&[EIGHT, "--io_size=1m", "--bssplit=4k/50:64k/50", "--rw=randwrite"]);
    let bytes = mixed["write"]["bytes"].as_u64().unwrap();
    assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&bytes), "{bytes}");
    let first = step(&[EIGHT, "--io_size=1m", "--number_ios=7"]);
    assert_eq!(first["read"]["ios"], 7);
}

#[test]
fn byte_rate_is_converted_with_the_mean_block_size() {
    let line = ["--rate=40m", "--iodepth=64", "--runtime=2"];
    let fixed = step(&[&[EIGHT, "--bs=4k"], &line[..]].concat());
    near(&fixed["rate_iops"], 10_240.0, 1e-9);
    let mixed = ["--rw=randrw", "--rwmixread=75", "--bssplit=4k/50:12k/50,16k"];
    let mixed = step(&[&[EIGHT], &mixed[..], &line[..]].concat());
    near(&mixed["rate_iops"], 4096.0, 1e-9);
    let bytes = |name: &str| mixed[name]["bytes"].as_f64().unwrap();
    near(&json!(bytes("read") + bytes("write")), f64::from(80 << 20), 0.02);
}

#[test]
fn randrepeat_controls_the_seed() {
    let seed = |options: &[&str]| {
        let line = [&["run", "sim:nvme", "--runtime=10ms", "--json", "-q"], options].concat();
        Place::new().run(&line).ends(0).json()["load"]["seed"].as_u64().unwrap()
    };
    assert_eq!(seed(&[]), 1);
    assert_eq!(seed(&["--randrepeat=0", "--randseed=9"]), 9);
    assert_eq!(seed(&["--randrepeat=0", "--allrandrepeat"]), 1);
    assert_ne!(seed(&["--randrepeat=0"]), seed(&["--randrepeat=0"]));
}

#[test]
fn job_file_options_work_on_the_command_line() {
    let load = |options: &[&str]| {
        let line = ["run", "sim:nvme,size=64m", "--runtime=10ms", "--ramp-time=0", "--json", "-q"];
        Place::new().run(&[&line[..], options].concat()).ends(0).json()["load"].clone()
    };
    for (options, field, value) in [
        (&["--buffered"][..], "direct", json!(false)),
        (&["--direct", "0", "--invalidate"], "invalidate", json!(true)),
        (&["--io_size=1m", "--loops=3"], "io_size_bytes", json!(3 << 20)),
        (&["--filesize=4m"], "size_bytes", json!(4 << 20)),
        (&["--size=50%"], "size_bytes", json!(32 << 20)),
        (&["--offset=25%", "--size=16m"], "offset_bytes", json!(16 << 20)),
        (&["--percentile_list=99.9:50"], "percentiles", json!([50.0, 99.9])),
        (&["--rw=randrw", "--rate_iops=3k,1k"], "read_percent", json!(75)),
        (&["--number_ios=0x10"], "number_ios", json!(16)),
        (&["--blockalign=(4*2)k"], "blockalign_bytes", json!(8192)),
        (&["--time_based=1", "--group_reporting=1", "--stonewall"], "numjobs", json!(1)),
    ] {
        assert_eq!(load(options)[field], value, "{options:?}");
    }
    let line = ["run", EIGHT, "--name=mine", "--runtime=00:00:02", "--output-format=json", "-q"];
    let jobs = ["--job", "rw=randread", "--job", "rw=randwrite name=other"];
    let place = Place::new();
    let document = place.run(&[&line[..], &jobs].concat()).ends(0).json();
    let names = [&document["jobs"][0]["jobname"], &document["jobs"][1]["jobname"]];
    assert_eq!(names, ["mine", "other"]);
    near(&document["jobs"][0]["read"]["runtime"], 2000.0, 0.01);
    let stored = place.run(&["history", "show", "--format=json"]).ends(0).json();
    let label = "mine: randread 4 KiB depth 1 + other: randwrite 4 KiB depth 1";
    assert_eq!(stored["steps"][0]["label"], label);
    let line = ["find", EIGHT, "--latency_target=2ms", "--latency_percentile=99", "--json", "-q"];
    let limits = Place::new().run(&line).ends(0).json()["limits"].clone();
    assert_eq!(limits, json!([{ "metric": "p99", "bound_ns": 2_000_000 }]));
}

#[test]
fn unlink_removes_the_test_file() {
    let place = Place::new();
    let line = ["run", ".", "--size=1m", "--buffered", "--ioengine=psync", "--number_ios=10", "-q"];
    place.run(&[&line[..], &["--unlink=1"]].concat()).ends(0);
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn thinktime_applies_after_thinktime_blocks_ios() {
    // Four I/Os at once take 100 µs, and the think time after them is 300 µs: four are outstanding for a quarter of
    // each 400 µs.
    let even = "sim:channels=8,service=100us,dist=const";
    let line = [even, "--iodepth=8", "--thinktime=300", "--thinktime_blocks=4", "--runtime=2"];
    let document = Place::new().run(&[&["run"], &line[..], &["--json", "-q"]].concat()).ends(0);
    let document = document.json();
    let step = &document["steps"][0];
    near(&step["read"]["iops"]["mean"], 10_000.0, 0.01);
    near(&step["depth_achieved"], 1.0, 0.01);
    assert_eq!(step["read"]["service_ns"]["max"], 100_000);
    let codes = document["caveats"].as_array().unwrap().iter().map(|caveat| &caveat["code"]);
    assert!(
        codes.clone().all(|code| code != "depth-not-reached"),
        "{:?}",
        codes.collect::<Vec<_>>()
    );
}

#[test]
fn startdelay_is_excluded_from_the_measured_time() {
    let one = step(&[EIGHT, "--startdelay=5", "--runtime=2"]);
    near(&one["seconds"], 2.0, 0.001);
    near(&one["read"]["iops"]["mean"], 10_000.0, 0.01);
    near(&one["depth_achieved"], 1.0, 0.001);
    let rated = step(&[EIGHT, "--startdelay=5", "--runtime=2", "--rate_iops=1000"]);
    near(&rated["read"]["ios"], 2000.0, 0.01);
    let jobs = ["--job", "rw=randread", "--job", "rw=randwrite startdelay=1s"];
    let both = step(&[&[EIGHT, "--runtime=2", "--ramp-time=0"], &jobs[..]].concat());
    // Each job runs for its two seconds. The first one ends before the second one.
    near(&both["seconds"], 2.0, 0.001);
    near(&both["read"]["ios"], 20_000.0, 0.01);
    near(&both["write"]["ios"], 20_000.0, 0.01);
    near(&both["workers"][1]["iops"], 10_000.0, 0.01);
}
