//! Options of a load, by the figures of a simulated device.
#![allow(clippy::unwrap_used)]

mod common;

use common::{EIGHT, Place, near};
use serde_json::{Value, json};

/// The one step of a run.
#[track_caller]
fn step(options: &[&str]) -> Value {
    let line = [&["run"], options, &["--json", "-q"]].concat();
    Place::new().run(&line).ends(0).json()["steps"][0].clone()
}

#[test]
fn a_number_of_ios_is_exact() {
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
fn a_number_of_bytes_ends_with_the_io_that_reaches_it() {
    let even = step(&[EIGHT, "--io_size=10k", "--numjobs=2", "--iodepth=4"]);
    assert_eq!((&even["read"]["ios"], &even["read"]["bytes"]), (&json!(6), &json!(6 * 4096)));
    let mixed = step(&[EIGHT, "--io_size=1m", "--bssplit=4k/50:64k/50", "--rw=randwrite"]);
    let bytes = mixed["write"]["bytes"].as_u64().unwrap();
    assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&bytes), "{bytes}");
    let first = step(&[EIGHT, "--io_size=1m", "--number_ios=7"]);
    assert_eq!(first["read"]["ios"], 7);
}

#[test]
fn a_rate_in_bytes_goes_by_the_mean_block() {
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
fn runs_repeat_unless_they_are_not_to() {
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
fn thinktime_pauses_between_so_many_ios() {
    // Four at once, 100 µs, and a pause of 300: of 400 µs a quarter has four outstanding.
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
fn a_delayed_start_is_no_time_of_the_job() {
    let one = step(&[EIGHT, "--startdelay=5", "--runtime=2"]);
    near(&one["seconds"], 2.0, 0.001);
    near(&one["read"]["iops"]["mean"], 10_000.0, 0.01);
    near(&one["depth_achieved"], 1.0, 0.001);
    let rated = step(&[EIGHT, "--startdelay=5", "--runtime=2", "--rate_iops=1000"]);
    near(&rated["read"]["ios"], 2000.0, 0.01);
    let jobs = ["--job", "rw=randread", "--job", "rw=randwrite startdelay=1s"];
    let both = step(&[&[EIGHT, "--runtime=2", "--ramp-time=0"], &jobs[..]].concat());
    // Each has its two seconds, the first one before the second one's end.
    near(&both["seconds"], 2.0, 0.001);
    near(&both["read"]["ios"], 20_000.0, 0.01);
    near(&both["write"]["ios"], 20_000.0, 0.01);
    near(&both["workers"][1]["iops"], 10_000.0, 0.01);
}
