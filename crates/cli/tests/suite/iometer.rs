//! `iometer` on a device whose true figures are known, and on files.

use crate::common::{Place, near};
use serde_json::Value;

fn document(place: &Place, target: &str, options: &[&str]) -> Value {
    let fixed = ["suite", "iometer", target, "--json", "--quiet", "--history=none"];
    place.run(&[&fixed, options].concat()).ends(0).json()
}

#[test]
fn four_threads_keep_four_ios_outstanding() {
    let target = "sim:channels=8,service=100us,write_service=200us,dist=const,size=64m";
    let options = ["--threads=4", "--filesize=16", "--seconds=3"];
    let document = document(&Place::new(), target, &options);
    let phases = document["findings"]["phases"].as_array().unwrap();
    // Each thread does one I/O per service time. Half of the last phase's I/Os are writes.
    let truth = [("write", 20_000.0), ("read", 40_000.0), ("random read", 40_000.0)];
    for (phase, (name, iops)) in phases.iter().zip(truth) {
        assert_eq!(phase["phase"], name);
        for figure in ["iops", "iops_min", "iops_max"] {
            near(&phase[figure], iops, 0.001);
        }
        near(&phase["bytes_per_sec"], iops * 65_536.0, 0.001);
    }
    near(&phases[3]["iops"], 4.0 / 150e-6, 0.02);
    assert_eq!(document["findings"]["files_exceed_memory"], Value::Null);
    for step in document["steps"].as_array().unwrap() {
        assert!(step["result"]["step"].get("jobs").is_none(), "threads are one");
        assert_eq!(step["result"]["step"]["workers"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn create_once_writes_each_byte_exactly_once() {
    let target = "sim:channels=8,service=100us,write_service=200us,dist=const,size=64m";
    let options = ["--threads=4", "--filesize=8", "--seconds=1", "--create-once"];
    let document = document(&Place::new(), target, &options);
    let steps = document["steps"].as_array().unwrap();
    let write = &steps[0]["result"]["step"];
    assert_eq!(write["write"]["bytes"], 32 << 20);
    assert_eq!(write["write"]["ios"], 4 * 128);
    // Each thread does 128 I/Os of 200 µs.
    near(&write["seconds"], 128.0 * 200e-6, 0.02);
    near(&document["findings"]["phases"][0]["iops"], 20_000.0, 0.02);
    near(&steps[1]["result"]["step"]["seconds"], 1.0, 0.01);
}

#[test]
fn hints_name_options_of_the_suite() {
    let place = Place::new();
    std::fs::create_dir(place.work().join("io")).unwrap();
    let options = ["--threads=2", "--filesize=1", "--seconds=200ms"];
    let shown = place.run(&[&["suite", "iometer", "io"], &options[..]].concat()).ends(0).stdout;
    let (_, small) = shown.split_once("- smaller-than-cache: ").unwrap();
    // A file system with less room than the cache has another hint.
    assert!(small.contains("increase --filesize") || small.contains("with room for"), "{shown}");
    assert!(!shown.contains("--size="), "{shown}");
}

#[test]
fn threads_stay_within_their_own_ranges() {
    let target = "sim:channels=8,service=100us,size=64m";
    let options = ["--threads=3", "--filesize=8", "--seconds=200ms"];
    let document = document(&Place::new(), target, &options);
    let jobs = document["steps"][0]["asked"]["jobs"].as_array().unwrap();
    let stretch = |job: &Value| {
        (job["load"]["offset_bytes"].as_u64().unwrap(), job["load"]["size_bytes"].as_u64().unwrap())
    };
    let stretches: Vec<(u64, u64)> = jobs.iter().map(stretch).collect();
    assert!(stretches.iter().all(|(_, size)| *size == 8 << 20), "{stretches:?}");
    assert!(stretches.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0), "{stretches:?}");
}

#[test]
fn each_thread_uses_its_own_file() {
    let place = Place::new();
    let options = ["--threads=2", "--filesize=4", "--seconds=300ms", "--ioengine=psync"];
    let document = document(&place, ".", &options);
    assert_eq!(document["findings"]["files_bytes"], 8 << 20);
    assert_eq!(document["findings"]["files_exceed_memory"], false);
    let verdict = document["verdict"].as_array().unwrap();
    let last = verdict.last().unwrap().as_str().unwrap();
    assert!(last.contains("bypassed the page cache"), "{last}");
    let sizes = ["iogauge-1.dat", "iogauge-2.dat"]
        .map(|name| std::fs::metadata(place.work().join(name)).unwrap().len() >> 20);
    assert!(sizes.iter().all(|mib| (4..8).contains(mib)), "{sizes:?}");
    place.run(&["clean", "."]).ends(0);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn buffered_iometer_suite_reports_the_page_cache() {
    let options = ["--threads=2", "--filesize=4", "--seconds=300ms", "--buffered"];
    let document = document(&Place::new(), ".", &options);
    let caveats = document["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|caveat| caveat["code"] == "page-cache"), "{caveats:?}");
    let verdict = document["verdict"].as_array().unwrap();
    assert!(verdict.last().unwrap().as_str().unwrap().contains("(--buffered)"), "{verdict:?}");
}

#[test]
fn iometer_file_size_beyond_the_target_is_rejected() {
    let place = Place::new();
    let arguments = ["suite", "iometer", "sim:size=64m,channels=2", "--threads=4", "--filesize=1g"];
    let done = place.run(&arguments).ends(2);
    assert!(done.stderr.contains("hint: use 16m at most"), "{}", done.stderr);
    crate::common::assert_one_message(&done.stderr);
}
