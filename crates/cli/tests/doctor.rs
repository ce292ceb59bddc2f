//! `iogauge doctor` on real targets: what it reports, and that it changes nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place};
use iogauge_test_support::{Loop, MIB, fill, image, mounted_ext4, or_skip};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;

const REFUSED: i32 = 3;
const NULL: serde_json::Value = serde_json::Value::Null;

fn doctor(place: &Place, target: &str) -> serde_json::Value {
    let document = place.run(&["doctor", target, "--json"]).ends(0).json();
    assert_eq!(document["format"], "iogauge.doctor/1");
    assert_eq!(document["target"], target);
    document
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn doctor_reports_a_file_without_modifying_it() {
    let place = Place::new();
    let path = place.work().join("file");
    std::fs::File::create(&path).unwrap().set_len(8 * MIB).unwrap();
    fill(&path, 6 * MIB);
    let before = path.metadata().unwrap();
    let document = doctor(&place, "file");
    let part = &document["parts"][0];
    assert_eq!(part["form"], "foreign_file");
    assert_eq!(part["size_bytes"], 8 * MIB);
    assert_eq!(part["extents"]["hole_bytes"], 2 * MIB);
    assert!(part["writes_refused"].as_str().unwrap().contains("--overwrite-file"), "{part}");
    assert!(part["file_system"]["available_bytes"].as_u64().unwrap() > 0, "{part}");
    assert!(document["machine"]["environment"]["memory_bytes"].as_u64().unwrap() > 0);
    assert!(document["machine"]["engines"].as_array().unwrap().len() >= 3);
    let codes: Vec<&str> = document["caveats"]
        .as_array()
        .unwrap()
        .iter()
        .inspect(|caveat| assert_ne!(caveat["remedy"], "", "{caveat}"))
        .map(|caveat| caveat["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"sparse-holes"), "{codes:?}");

    let after = path.metadata().unwrap();
    let times =
        |m: &std::fs::Metadata| (m.atime_nsec(), m.mtime_nsec(), m.ctime_nsec(), m.blocks());
    assert_eq!(times(&before), times(&after));
    assert_eq!(place.names(), ["file"]);
    assert!(!place.history().exists(), "nothing measured, nothing kept");
}

#[test]
fn doctor_creates_no_file_in_a_directory() {
    let place = Place::new();
    let document = doctor(&place, ".");
    assert_eq!(document["parts"][0]["form"], "file_to_make");
    assert_eq!(document["parts"][0]["reads_refused"], serde_json::Value::Null);
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn doctor_recognizes_a_test_file_without_locking_it() {
    let place = Place::new();
    if !common::direct_io("a_test_file", &place.work()) {
        return;
    }
    place.run(&["prepare", ".", "--size=16m", "--quiet"]).ends(0);
    let part = &doctor(&place, ".")["parts"][0];
    assert_eq!(part["form"], "own_file");
    assert_eq!((&part["reads_refused"], &part["writes_refused"]), (&NULL, &NULL), "{part}");
    assert_eq!(part["extents"]["hole_bytes"], 0);
    place.run(&["clean", "."]).ends(0);
}

#[test]
fn doctor_reports_a_block_device_and_its_queue() {
    let place = Place::new();
    let device = or_skip!("a_block_device", Loop::new(64 * MIB));
    let document = doctor(&place, word(&device.path));
    let (part, facts) = (&document["parts"][0], &document["devices"][0]);
    assert_eq!(part["form"], "block_device");
    assert_eq!(part["size_bytes"], 64 * MIB);
    assert!(part["writes_refused"].as_str().unwrap().contains("--destroy-data"), "{part}");
    assert_eq!(facts["name"], *device.path.file_name().unwrap().to_str().unwrap());
    assert_eq!(facts["backing_file"], word(device.image()));
    assert!(facts["nr_requests"].as_u64().unwrap() > 0, "{facts}");
    for known in ["size_bytes", "rotational", "scheduler", "write_cache", "logical_block_bytes"] {
        assert!(!facts[known].is_null(), "{known}: {facts}");
    }
    let mount = or_skip!("a_block_device", mounted_ext4(&device.path));
    let document = doctor(&place, word(&device.path));
    let part = &document["parts"][0];
    assert_eq!(part["mounted_on"][0], word(&mount.point));
    assert!(part["writes_refused"].as_str().unwrap().contains("mounted"), "{part}");
    let file = mount.point.join("file");
    std::fs::write(&file, vec![1; MIB as usize]).unwrap();
    let document = doctor(&place, word(&file));
    assert_eq!(document["parts"][0]["file_system"]["name"], "ext4");
    assert!(document["chain"].as_str().unwrap().starts_with("loop"), "{}", document["chain"]);
}

#[test]
fn doctor_reports_each_target_of_a_list() {
    let place = Place::new();
    let (one, two) = (image(MIB), image(2 * MIB));
    let target = format!("{},{}", word(one.path()), word(two.path()));
    let document = doctor(&place, &target);
    let sizes: Vec<_> = document["parts"].as_array().unwrap().iter().collect();
    assert_eq!(sizes.iter().map(|p| p["size_bytes"].as_u64().unwrap()).sum::<u64>(), 3 * MIB);
    assert_eq!(sizes.len(), 2);
}

#[test]
fn doctor_on_a_simulated_device_reports_no_parts() {
    let place = Place::new();
    let document = doctor(&place, "sim:nvme");
    assert_eq!(document["parts"], serde_json::json!([]));
    assert_eq!(document["devices"], serde_json::json!([]));
    assert_eq!(document["caveats"][0]["code"], "simulated");
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn doctor_text_fits_narrow_terminals() {
    let place = Place::new();
    std::fs::write(place.work().join("file"), vec![0; MIB as usize]).unwrap();
    for columns in [60, 80, 100] {
        let text = place.run_on(columns, &["doctor", "file"]).ends(0).stdout;
        for line in text.lines() {
            assert!(line.chars().count() <= usize::from(columns), "{columns}: {line}");
        }
        for wanted in ["to doubt a measurement of file", "kernel", "zero-blocks", "→ "] {
            assert!(text.contains(wanted), "{wanted} is not in {text}");
        }
    }
}

#[test]
fn doctor_exits_with_3_if_a_run_would_be_refused() {
    let place = Place::new();
    let done = place.run(&["doctor", "/dev/null"]).ends(REFUSED);
    assert!(done.stdout.contains("character device"), "{}", done.stdout);
    assert!(!done.stdout.contains("Next:"), "{}", done.stdout);
    let why = &done.stderr;
    assert!(why.starts_with("error: ") && why.contains("character device"), "{why}");
    crate::common::assert_one_message(why);
    let done = place.run(&["doctor", "/dev/null", "--json"]).ends(REFUSED);
    assert_eq!(done.json()["parts"][0]["form"], "unknown");
    assert!(done.stderr.contains("character device"), "{}", done.stderr);
}

#[test]
fn doctor_reports_an_unreadable_file() {
    let place = Place::new();
    let path = place.work().join("file");
    std::fs::write(&path, vec![1; MIB as usize]).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let owner = chown(&path, Some(12_345), Some(12_345)).map_err(|error| error.to_string());
    or_skip!("a_file_that_may_not_be_read", owner);
    let mut command = place.command(&["doctor", "file"]);
    // SAFETY: between fork and exec, the closure makes two system calls, which access no memory.
    unsafe {
        command.pre_exec(|| {
            const CAP_DAC_OVERRIDE: libc::c_ulong = 1;
            const CAP_DAC_READ_SEARCH: libc::c_ulong = 2;
            for capability in [CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH] {
                if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    let done = Done::from(command.output().unwrap()).ends(REFUSED);
    let words: Vec<&str> = done.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("Permission denied"), "{}", done.stdout);
}
