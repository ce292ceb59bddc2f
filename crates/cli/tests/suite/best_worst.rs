//! `best-worst` on a device whose best and worst are known: fresh writes take 20 µs, settled writes 200 µs, reads
//! 100 µs, eight I/Os at a time, behind a bus of 2 GB/s.

use crate::common::{Place, near};
use serde_json::Value;

const DEVICE: &str = "sim:channels=8,service=100us,write_service=200us,fresh=2g,fresh_service=20us,\
                      bus=2GB/s,dist=const,size=10g";

fn document(target: &str, options: &[&str]) -> Value {
    let fixed = ["suite", "best-worst", target, "--json", "--quiet", "--history=none"];
    Place::new().run(&[&fixed, options].concat()).ends(0).json()
}

fn of<'a>(findings: &'a Value, end: &str, load: &str) -> &'a Value {
    let figures = findings[end].as_array().unwrap();
    figures.iter().find(|figure| figure["load"] == load).unwrap()
}

fn codes(document: &Value) -> Vec<&str> {
    let caveats = document["caveats"].as_array().unwrap();
    caveats.iter().map(|caveat| caveat["code"].as_str().unwrap()).collect()
}

#[test]
fn best_and_worst_case_of_a_simulated_device() {
    let options = [
        "--seconds=300ms",
        "--round=700ms",
        "--budget=10s",
        "--cache=1g",
        "--users=32",
        "--limit=mean<=10ms",
    ];
    let document = document(DEVICE, &options);
    let findings = &document["findings"];
    near(&of(findings, "best", "sequential read")["bytes_per_sec"], 2e9, 0.02);
    near(&of(findings, "best", "cached read")["iops"], 80_000.0, 0.001);
    near(&of(findings, "best", "cached write")["iops"], 400_000.0, 0.001);
    near(&of(findings, "worst", "random read")["iops"], 80_000.0, 0.001);
    near(&of(findings, "worst", "random write")["iops"], 40_000.0, 0.001);
    near(&findings["best_to_worst"], 10.0, 0.001);
    // Sixteen readers and sixteen writers share channels that serve in order of arrival. Both wait equally long before
    // their own service time.
    let hybrid = |side: &str| findings["hybrid"][side]["iops"].as_f64().unwrap();
    let busy = hybrid("read") * 100e-6 + hybrid("write") * 200e-6;
    assert!((busy - 8.0).abs() < 0.05, "{busy} channels are busy");
    // A single user reads in 100 µs and writes in 200 µs. Each transfer on the bus takes 2 µs.
    let dependent = &findings["dependent"];
    near(&dependent[0]["updates_per_sec"], 1.0 / 304.1e-6, 0.005);
    near(&dependent[0]["independent_iops"], 1.0 / 152.05e-6, 0.02);
    near(&dependent[1]["updates_per_sec"], 8.0 / 300e-6, 0.01);
    near(&dependent[1]["independent_iops"], 8.0 / 150e-6, 0.02);
    near(&findings["capacity_read"]["iops"]["mean"], 80_000.0, 0.03);
    near(&findings["capacity_mixed"]["iops"]["mean"], 8.0 / 130e-6, 0.03);
    assert_eq!(findings["capacity_read"]["met"], true);
    let rounds = findings["rounds"].as_u64().unwrap();
    assert!(findings["steady_at_round"] == rounds && rounds > 5 && rounds < 25, "{rounds}");
    assert_eq!(document["steps_left"], 25 - rounds);
    assert!(!codes(&document).contains(&"not-steady"), "{:?}", codes(&document));
    let verdict = document["verdict"][0].as_str().unwrap();
    assert!(
        verdict.starts_with(
            "At its best 2.00 GB/s and 400,000 IOPS, at its worst 40,000 IOPS (random write; the best is 10.0 times as \
             high); you can count on "
        ) && verdict.ends_with(" of random 4 KiB reads under mean <= 10 ms."),
        "{verdict}"
    );
}

#[test]
fn best_worst_flags_a_device_that_is_never_steady() {
    let wandering = "sim:channels=8,service=100us,wander=60%:1s,size=64m";
    let options = ["--seconds=100ms", "--round=250ms", "--rounds=9", "--budget=1s", "--users=4"];
    let document = document(wandering, &options);
    assert_eq!(document["findings"]["rounds"], 9);
    assert_eq!(document["findings"]["steady_at_round"], Value::Null);
    assert!(
        codes(&document).contains(&"not-steady")
            && codes(&document).contains(&"smaller-than-cache")
    );
}

#[test]
fn best_worst_with_a_short_search_gives_a_lower_bound() {
    let options = ["--seconds=50ms", "--round=50ms", "--rounds=5", "--users=1", "--budget=1s"];
    let document = document("sim:nvme,size=256m", &options);
    let verdict = document["verdict"][0].as_str().unwrap();
    assert!(verdict.contains("; you can count on at least "), "{verdict}");
    let caveats = document["caveats"].as_array().unwrap();
    let short = caveats.iter().find(|caveat| caveat["code"] == "search-cut-short").unwrap();
    assert_eq!(short["remedy"], "increase --budget");
}

#[test]
fn best_worst_applies_the_limit_to_its_search() {
    let options = [
        "--read-only",
        "--seconds=100ms",
        "--budget=10s",
        "--limit=mean<=200us",
        "--users=4",
        "--cache=8m",
    ];
    let document = document("sim:channels=8,service=100us,dist=const,size=1g", &options);
    let searched = document["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(searched["key"], "capacity random read");
    let answer = &searched["result"]["search"]["answer"];
    near(&answer["iops"]["mean"], 80_000.0, 0.01);
    assert!(answer["latency_ns"]["mean"].as_f64().unwrap() <= 200_000.0);
    assert!(!codes(&document).contains(&"smaller-than-cache"));
}

#[test]
fn read_only_best_worst_leaves_data_unchanged() {
    let place = Place::new();
    let path = place.work().join("data");
    let bytes: Vec<u8> =
        (0..16 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let options =
        ["--read-only", "--seconds=100ms", "--budget=1s", "--users=2", "--json", "--quiet"];
    let fixed = ["suite", "best-worst", "data"];
    let document = place.run(&[&fixed, &options[..]].concat()).ends(0).json();
    assert_eq!(document["steps"].as_array().unwrap().len(), 5);
    assert!(std::fs::read(&path).unwrap() == bytes, "the file was changed");
    // Without the option, a foreign file is not written.
    place.run(&["suite", "best-worst", "data", "--quiet"]).ends(3);
    assert!(std::fs::read(&path).unwrap() == bytes, "the file was changed");
}

#[test]
fn best_worst_measures_a_directory() {
    let options = [
        "--size=16m",
        // On a busy disk, a single write may take longer than a short step.
        "--seconds=1s",
        "--round=1s",
        "--rounds=5",
        "--budget=1s",
        "--users=2",
        "--ioengine=psync",
    ];
    let document = document(".", &options);
    let findings = &document["findings"];
    assert_eq!(findings["best"].as_array().unwrap().len(), 4);
    assert_eq!(findings["worst"].as_array().unwrap().len(), 3);
    assert_eq!(findings["dependent"].as_array().unwrap().len(), 2);
    let (reads, writes) = (&findings["hybrid"]["read"], &findings["hybrid"]["write"]);
    assert!(reads["iops"].as_f64() > Some(0.0) && writes["iops"].as_f64() > Some(0.0));
    assert!(findings["capacity_mixed"]["iops"]["mean"].as_f64() > Some(0.0));
}
