//! The system recorded alone, and together with a load.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, eventually};
use iogauge_model::result::{FindDocument, ProfileDocument, RunDocument, SystemPoint};
use iogauge_test_support::{Loop, or_skip};
use std::path::Path;

const REQUIRED: [&str; 3] = ["at_seconds", "device", "reads_per_sec"];

/// Returns the reads and the bytes read of a device since it was created, from the kernel's counters.
fn read(disk: &Loop) -> (f64, f64) {
    let stat = std::fs::read_to_string(format!("/sys/block/{}/stat", disk.name())).unwrap();
    let counters: Vec<f64> =
        stat.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect();
    (counters[0], counters[2] * 512.0)
}

fn profile_of(text: &str) -> ProfileDocument {
    serde_json::from_str(text).unwrap()
}

/// Returns the reads and the bytes read of a device over all samples.
fn read_by(points: &[SystemPoint], device: &str) -> (f64, f64) {
    let (mut begun, mut reads, mut bytes) = (0.0, 0.0, 0.0);
    for point in points {
        let length = point.at_seconds - begun;
        begun = point.at_seconds;
        let point = point.devices.iter().find(|point| point.device == device).unwrap();
        reads += point.reads_per_sec * length;
        bytes += point.read_bytes_per_sec * length;
    }
    (reads, bytes)
}

#[test]
fn profile_records_io_of_another_program() {
    let disk = or_skip!(
        "profile_records_io_of_another_program",
        Loop::new_in(Path::new("/dev/shm"), 64 << 20)
    );
    let place = Place::new();
    let profile = place.start(&[
        "profile",
        disk.as_str(),
        "--every=200ms",
        "--note=beside a run",
        "--json",
        "-q",
    ]);
    eventually(|| place.history().exists() && place.runs().iter().any(|run| run.1 == "running"));
    let before = read(&disk);
    let line =
        ["run", disk.as_str(), "--bs=8k", "--rate_iops=400", "--runtime=3s", "--ramp-time=0"];
    let load =
        place.run(&[&line[..], &["--sample-interval=100ms", "--json", "-q"]].concat()).ends(0);
    let after = read(&disk);
    profile.signal("INT");
    // The profile was not cut short, because no duration was requested.
    let document = profile_of(&profile.end().ends(0).stdout);
    assert!(
        !document.interrupted && document.caveats.iter().all(|c| c.code.as_str() != "interrupted")
    );

    let ran: RunDocument = serde_json::from_str(&load.stdout).unwrap();
    let step = &ran.steps[0];
    let (reads, bytes) = read_by(&document.system, disk.name());
    // The profile contains all reads of the run, including those before it measured, and beyond them at most what udev
    // may read.
    let (run_reads, run_bytes) = (after.0 - before.0, after.1 - before.1);
    assert!((run_reads - 0.5..run_reads * 1.05).contains(&reads), "{reads} reads of {run_reads}");
    assert!((run_bytes - 1.0..run_bytes * 1.05).contains(&bytes), "{bytes} bytes of {run_bytes}");
    assert_eq!(document.physical.as_ref().unwrap().reads as f64, reads.round());
    let asked = step.read.as_ref().unwrap().ios as f64;
    assert!(reads >= asked && asked >= 1100.0, "{reads} reads for {asked}");

    // The run's own samples start and end with it.
    let beside = &step.system;
    assert!((15..=31).contains(&beside.len()), "{}", beside.len());
    let (reads, _) = read_by(beside, disk.name());
    assert!((reads / asked - 1.0).abs() < 0.05, "{reads} reads for {asked}");
    assert!((beside.last().unwrap().at_seconds - step.seconds).abs() < 0.1);
    for point in document.system.iter().chain(beside) {
        let cpu = point.cpu.unwrap();
        let busy = cpu.user_percent
            + cpu.system_percent
            + cpu.irq_percent
            + cpu.softirq_percent
            + cpu.guest_percent;
        assert!((busy - point.cpu_percent).abs() < 1e-6, "{point:?}");
        let whole = busy + cpu.idle_percent + point.iowait_percent + point.steal_percent;
        assert!(whole == 0.0 || (whole - 100.0).abs() < 1e-6, "{point:?}");
    }
}

#[test]
fn profile_is_stored_shown_drawn_and_exported() {
    let place = Place::new();
    let csv = place.work().join("p.csv");
    let typed =
        ["profile", "--for=700ms", "--every=200ms", "--note", "a quiet day", "--csv", "p.csv"];
    let done = place.run(&typed).ends(0);
    assert!(done.stdout.contains("processors busy") && done.stdout.contains("a quiet day"));
    let runs = place.runs();
    assert_eq!((runs.len(), runs[0].1.as_str()), (1, "done"));
    // The machine may have many devices in use, whose names take space.
    let listed = place.run_on(200, &["history", "list"]).ends(0).stdout;
    assert!(listed.contains("profile") && listed.contains("busy"), "{listed}");
    assert_eq!(place.run(&["history", "show"]).ends(0).stdout, done.stdout);

    let document = profile_of(&place.run(&["history", "show", "--format=json"]).ends(0).stdout);
    assert_eq!(document.head.format, "iogauge.profile/1");
    assert!((2..=4).contains(&document.system.len()), "{}", document.system.len());
    assert!((0.6..5.0).contains(&document.seconds), "{}", document.seconds);

    let rows = std::fs::read_to_string(&csv).unwrap();
    assert!(rows.lines().nth(1).unwrap().starts_with("iogauge.profile-csv/1,"), "{rows}");
    for format in ["--format=profile-csv", "--format=iogauge-csv"] {
        assert_eq!(place.run(&["history", "show", format]).ends(0).stdout, rows);
    }
    let header = rows.lines().next().unwrap();
    assert!(
        REQUIRED.iter().all(|name| header.split(',').any(|column| column == *name)),
        "{header}"
    );
    for format in ["--format=fio-json", "--format=classic"] {
        let told = place.run(&["history", "show", format]).ends(2).stderr;
        assert!(told.contains("without a load"), "{told}");
    }
    place.run(&["report", "--svg=pictures"]).ends(0);
    assert_eq!(common::names(&place.work().join("pictures")), ["system-1.svg"]);
}

#[test]
fn interrupted_profile_keeps_its_samples() {
    let place = Place::new();
    let profile = place.start(&["profile", "--for=1h", "--every=100ms", "--json", "-q"]);
    eventually(|| place.history().exists() && place.runs().iter().any(|run| run.1 == "running"));
    std::thread::sleep(std::time::Duration::from_millis(600));
    profile.signal("INT");
    let document = profile_of(&profile.end().ends(130).stdout);
    assert!(document.interrupted && !document.system.is_empty());
    assert_eq!(place.runs()[0].1, "interrupted");
    let kept = place.run(&["history", "show", "--format=json"]).ends(0);
    assert_eq!(profile_of(&kept.stdout), document);
}

#[test]
fn profile_shorter_than_one_interval_has_one_sample() {
    let place = Place::new();
    let done = place.run(&["profile", "--for=300ms", "--every=10s", "--json", "-q"]).ends(0);
    assert_eq!(profile_of(&done.stdout).system.len(), 1);
}

#[test]
fn search_records_system_samples_over_its_duration() {
    let place = Place::new();
    let line = [
        "find",
        ".",
        "--size=16m",
        "--budget=1s",
        "--max-starvation=100%",
        "--direct=0",
        "--sample-interval=100ms",
        "--json",
    ];
    let done = place.run(&[&line[..], &["-q"]].concat()).ends(0);
    let found: FindDocument = serde_json::from_str(&done.stdout).unwrap();
    assert!(
        found.search.system.len() >= 5 && found.began.is_some(),
        "{}",
        found.search.system.len()
    );
    let end = found.search.system.last().unwrap().at_seconds;
    assert!(
        end >= found.search.measured_seconds * 0.9,
        "{end} of {}",
        found.search.measured_seconds
    );
    let rows = place.run(&["history", "show", "--format=profile-csv"]).ends(0).stdout;
    assert!(rows.lines().count() > 5 && rows.contains(",search,"), "{rows}");
    place.run(&["report", "--svg=pictures", "--panel=system"]).ends(0);
}

#[test]
fn invalid_profile_and_sampling_options_are_rejected() {
    let place = Place::new();
    for (line, words) in [
        ("profile --for=0", &["records nothing", "5m"][..]),
        ("profile --for=soon", &["soon", "5m"]),
        ("profile --every=50ms", &["50ms", "100ms and 60s"]),
        ("profile --every=2m", &["2m", "100ms and 60s"]),
        ("run . --sample-interval=1ms", &["--sample-interval", "100ms and 60s"]),
        ("find . --sample-interval=90s", &["--sample-interval", "100ms and 60s"]),
        ("profile --device=sdnowhere --for=1s", &["sdnowhere", "/proc/diskstats"]),
        ("profile nowhere --for=1s", &["nowhere", "--device"]),
        ("profile sim:nvme --for=1s", &["simulated"]),
        ("profile /proc --for=1s", &["no block device", "every disk"]),
        ("profile --csv=no/such/p.csv --for=1s", &["--csv", "cannot be written"]),
    ] {
        let typed: Vec<&str> = line.split(' ').collect();
        let told = place.run(&typed).ends(2).stderr;
        assert!(crate::common::is_one_message(&told), "{line}: {told}");
        assert!(words.iter().all(|word| told.contains(word)), "{line}: {told}");
    }
    let told = place.run(&["profile", "--csv=/proc/p.csv", "--for=1s"]).ends(3).stderr;
    assert!(told.contains("files of the kernel"), "{told}");
    assert!(place.names().is_empty());
    assert!(!Path::new(&place.history()).exists(), "nothing was entered");
}

#[test]
fn empty_device_name_is_rejected() {
    let place = Place::new();
    for device in [&["--device="][..], &["--device", ""], &["--device=", "--for=1s", "."]] {
        let done = place.run(&[&["profile"], device].concat()).ends(2);
        crate::common::assert_one_message(&done.stderr);
        assert!(done.stderr.contains("--device"), "{}", done.stderr);
    }
    assert!(place.runs().is_empty());
}
