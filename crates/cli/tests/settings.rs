//! Settings of other software through the binary: the load that they mean, their text, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, assert_one_message, near, skip};
use iogauge_report::settings::{MeasuredBy, SETTINGS};
use iogauge_test_support::{Group, Loop, MIB, or_skip};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// 80,000 IOPS at queue depth 8, up to 1 GB/s.
const SIM: &str = "sim:channels=8,service=100us,dist=const,bus=1GB/s,size=1g";

fn find(place: &Place, more: &[&str]) -> Done {
    place.run(&[&["find", SIM, "--budget=5s"], more].concat())
}

/// Returns the lines of a setting that are not comments.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Returns the setting of the last run.
fn export(place: &Place, name: &str) -> String {
    place.run(&["history", "export", "--for", name]).ends(0).stdout
}

/// Returns the number behind a text.
fn number_after(text: &str, before: &str) -> f64 {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no \"{before}\" in {text}")).1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn is_near(got: f64, truth: f64, share: f64) {
    assert!((got / truth - 1.0).abs() <= share, "{got} is not {truth}");
}

#[test]
fn find_measures_the_load_that_a_setting_means_and_prints_it() {
    // The bus carries 16 KiB in 16.4 µs, and the channels one I/O in 12.5 µs.
    let cases = [
        ("ceph", "randwrite", 4096, "osd_mclock_max_capacity_iops_ssd ", 80_000.0),
        ("mysql", "randwrite", 16_384, "innodb_io_capacity = ", 1e9 / 16_384.0),
        ("io.max", "randread", 4096, "MAJ:MIN riops=", 80_000.0),
        ("systemd", "randread", 4096, "IOReadIOPSMax=/dev/DEVICE ", 80_000.0),
    ];
    let searched = SETTINGS.iter().filter(|s| matches!(s.measured_by, MeasuredBy::Search { .. }));
    assert!(searched.map(|s| s.name).eq(cases.map(|case| case.0)), "a setting has no case");
    for (name, rw, block_bytes, before, truth) in cases {
        let place = Place::new();
        let done = find(&place, &["--for", name]).ends(0);
        let text = export(&place, name);
        assert!(done.stdout.ends_with(&text), "{}", done.stdout);
        is_near(number_after(&text, before), truth, 0.01);
        assert!(lines(&text).len() < 4 && text.contains("# Source: https://"), "{text}");
        let found = place.run(&["history", "show", "--format=json"]).ends(0).json();
        assert_eq!((&found["load"]["rw"], &found["answer"]["met"]), (&rw.into(), &true.into()));
        assert_eq!(found["load"]["block"]["read"][0][0], block_bytes);
    }
}

#[test]
fn typed_options_choose_among_the_loads_of_a_setting() {
    let place = Place::new();
    let text = find(&place, &["--for", "ceph", "--rw=write"]).ends(0).stdout;
    is_near(number_after(&text, "osd_mclock_max_sequential_bandwidth_hdd "), 1e9, 0.01);
    let text = find(&place, &["--for", "io.max", "--rw=write", "--bs=1m"]).ends(0).stdout;
    is_near(number_after(&text, "MAJ:MIN wbps="), 1e9, 0.01);
    // The capacity under a limit may be the maximum of a group.
    let limit = ["--for", "systemd", "--rw=randwrite", "--limit=mean<=1ms"];
    let text = find(&place, &limit).ends(0).stdout;
    is_near(number_after(&text, "IOWriteIOPSMax=/dev/DEVICE "), 80_000.0, 0.01);
    // A name in another case, and an alias.
    assert!(find(&place, &["--for", "MySQL"]).ends(0).stdout.contains("[mysqld]"));
}

#[test]
fn maximum_has_no_usual_limit_but_a_largest_queue_depth() {
    // One I/O takes longer than the limit of a search without --for.
    let place = Place::new();
    let find = |device: &str| place.run(&["find", device, "--for", "mysql", "--budget=20s"]);
    let text = find("sim:channels=50,service=40ms,dist=const").ends(0).stdout;
    is_near(number_after(&text, "innodb_io_capacity = "), 1250.0, 0.02);
    let rising = find("sim:channels=500,service=40ms,dist=const").ends(7).stderr;
    assert!(rising.contains("with a larger --max-depth"), "{rising}");
}

#[test]
fn json_stays_alone_on_stdout() {
    let place = Place::new();
    let done = find(&place, &["--for", "mysql", "--json"]).ends(0);
    assert_eq!(done.json()["format"], "iogauge.find/1");
    assert!(done.stderr.contains("\ninnodb_io_capacity_max = "), "{}", done.stderr);
    let done = find(&place, &["--for", "mysql", "--json", "--quiet"]).ends(0);
    assert!(done.json().is_object() && done.stderr.is_empty(), "{}", done.stderr);
}

#[test]
fn contradicting_options_are_refused_before_anything_is_measured() {
    let place = Place::new();
    std::fs::write(place.work().join("job.fio"), "[a]\nfilename=x\nsize=1m\n").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["find", SIM, "--for", "mysql", "--bs=4k"], "random writes of 16 KiB"),
        (&["find", SIM, "--for", "mysql", "--rw=randread"], "not 16 KiB random reads"),
        (&["find", SIM, "--for", "ceph", "--rw=read"], "sequential reads"),
        (&["find", SIM, "--for", "ceph", "--limit=p99<=5ms"], "no latency limit"),
        (&["find", SIM, "--for", "ceph", "--guide=etcd"], "no latency limit"),
        (&["find", SIM, "--for", "ceph", "--latency_target=5ms"], "no latency limit"),
        (&["find", SIM, "--for", "mysql", "--open-loop"], "no arrival rate"),
        (&["find", SIM, "--for", "mysql", "--direct=0"], "page cache"),
        (&["find", SIM, "--for", "ceph", "--sync=dsync"], "wait for the medium"),
        (&["find", SIM, "--for", "systemd", "--rw=randrw"], "reads and writes"),
        (&["find", SIM, "--for", "io.max", "--bs=64k"], "neither the maximum of I/Os"),
        (&["find", SIM, "--for", "seastar"], "figures of several"),
        (&["find", SIM, "--for", "io.cost"], "figures of several"),
        (&["find", "sim:nvme,hosts=2", "--for", "ceph"], "several hosts"),
        (&["find", "job.fio", "--for", "ceph"], "a job file has a load of its own"),
        (&["hosts-curve", "sim:nvme,hosts=2", "--for", "ceph"], "several hosts"),
        (&["find", SIM, "--for", "postgres"], "not a setting"),
    ];
    for (line, reason) in cases {
        let done = place.run(line).ends(2);
        assert_one_message(&done.stderr);
        assert!(done.stderr.contains(reason), "{}", done.stderr);
        assert!(done.stderr.contains("\nhint: use "), "{}", done.stderr);
    }
    assert!(!place.history().exists());
}

#[test]
fn figures_that_are_not_certain_or_not_of_the_definition_are_marked_or_refused() {
    let place = Place::new();
    let noisy = ["find", "sim:channels=8,service=1ms,noise=30%:5s", "--for", "mysql"];
    let text = place.run(&noisy).ends(0).stdout;
    assert!(text.contains("# In doubt: the 95 % CI of innodb_io_capacity is ± "), "{text}");
    let text = place.run(&["suite", "seastar", SIM, "--duration=1"]).ends(0).stdout;
    assert!(text.contains("# In doubt: read_bandwidth has no interval."), "{text}");
    for (line, reason) in [
        (&["suite", "seastar", SIM, "--iodepth=1", "--duration=10"][..], "--iodepth=1 is not the"),
        (&["suite", "iocost", SIM, "--seconds=3", "--bs=1m"], "--bs=1m is not the load"),
        (&["suite", "iocost", SIM, "--seconds=3", "--numjobs=4"], "--numjobs=4 is not the load"),
        (&["suite", "seastar", "sim:hdd,hosts=2", "--duration=10"], "several hosts measured"),
    ] {
        let text = place.run(line).ends(0).stdout;
        assert!(text.contains("\nNo setting for ") && text.contains(reason), "{text}");
        assert!(
            text.contains("\nhint: use iogauge suite ") && !text.contains("# Source"),
            "{text}"
        );
    }
}

#[test]
fn hints_keep_what_was_typed_and_replace_what_is_wrong() {
    const SLOW: &str = "sim:channels=1,service=20ms,dist=const";
    let place = Place::new();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--for", "mysql"], 7, "find TARGET --for mysql with a faster TARGET"),
        (
            &["--for", "ceph", "--rw=write", "--bs=4k"],
            2,
            "find sim:channels=1,service=20ms,dist=const --for ceph --rw=write, which sets the load",
        ),
        (
            &["--limit", "p99<=9s", "--for", "io.max", "--rw=randrw", "-q"],
            2,
            "--for io.max '--limit=p99<=9s' -q --rw=randread, and then",
        ),
        (
            &["--for=systemd", "--max-depth=1", "--size=1g"],
            7,
            "--for systemd --size=1g with a larger",
        ),
    ];
    for (options, code, hint) in cases {
        let done = place.run(&[&["find", SLOW, "--budget=60s"], *options].concat()).ends(*code);
        let said = done.stderr.replace(" --budget=60s", "");
        assert!(said.contains("\nhint: use iogauge find ") && said.contains(hint), "{said}");
    }
    let done = find(&place, &["--for", "io.max", "--rw=randread:8"]).ends(2);
    assert!(done.stderr.contains("the load has --rw=randread:8,"), "{}", done.stderr);
    let failing = ["find", "sim:channels=8,service=1ms,eio=20", "--for", "mysql"];
    let done = place.run(&[&failing[..], &["--budget=2s"]].concat()).ends(4);
    assert!(done.stderr.contains("when its I/Os no longer fail"), "{}", done.stderr);
}

#[test]
fn kept_runs_that_do_not_fit_are_refused() {
    let place = Place::new();
    let refused = |name: &str, reason: &str| {
        let done = place.run(&["history", "export", "--for", name, "last"]).ends(2);
        assert_one_message(&done.stderr);
        assert!(done.stderr.contains(reason) && done.stdout.is_empty(), "{}", done.stderr);
        assert!(done.stderr.contains("\nhint: use iogauge "), "{}", done.stderr);
    };
    find(&place, &["--limit=mean<=1s"]).ends(0);
    refused("ceph", "not 4 KiB random reads");
    refused("mysql", "not 4 KiB random reads");
    refused("seastar", "figures of several");
    assert_eq!(lines(&export(&place, "io.max")).len(), 1);
    find(&place, &["--rw=randwrite", "--limit=mean<=75us"]).ends(5);
    refused("io.max", "does not keep its limit");
    find(&place, &["--rw=randwrite", "--max-depth=4"]).ends(0);
    refused("ceph", "may be larger");
    let slow = ["find", "sim:service=4ms,dist=const,channels=64", "--rw=randwrite"];
    place.run(&[&slow[..], &["--limit=mean<=4200us"]].concat()).ends(0);
    refused("ceph", "the limit mean <= 4.2 ms ended the search");
    place.run(&["run", SIM, "--rw=randwrite", "--runtime=1"]).ends(0);
    refused("ceph", "a run at a fixed load");
    place.run(&["suite", "ladder", SIM, "--seconds=200ms"]).ends(0);
    refused("seastar", "suite ladder does not measure it");
    refused("io.max", "suite ladder does not measure it");
    let done = place.run(&["history", "export", "last"]).ends(2);
    assert!(done.stderr.contains("--for"), "{}", done.stderr);
    let done = place.run(&["history", "export", "--for", "ceph", "nosuchrun"]).ends(2);
    assert!(done.stderr.contains("nosuchrun"), "{}", done.stderr);
    place.run(&["history", "export", "--for", "ceph", "--format", "csv"]).ends(2);
    place.run(&["history", "export"]).ends(0);
}

#[test]
fn search_whose_answer_does_not_fit_ends_undecided_and_is_kept() {
    let place = Place::new();
    let done = find(&place, &["--for", "ceph", "--max-depth=4"]).ends(7);
    assert!(
        done.stdout.contains("IOPS") && !done.stdout.contains("ceph config"),
        "{}",
        done.stdout
    );
    assert!(
        done.stderr.contains("error: --for ceph: the capacity may be larger"),
        "{}",
        done.stderr
    );
    let runs = place.run(&["history", "list", "--json"]).ends(0).json();
    assert_eq!(
        (&runs["runs"][0]["exit_code"], &runs["runs"][0]["state"]),
        (&7.into(), &"done".into())
    );
}

/// Returns a Python with a parser of YAML; otherwise reports that the test is skipped.
fn python_with_yaml(test: &str) -> Option<&'static str> {
    let imports = |python: &&str| {
        let tried = Command::new(python).args(["-c", "import yaml"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(imports);
    if found.is_none() {
        skip(test, "no Python with the module yaml");
    }
    found
}

/// Reads YAML, as Seastar does, into JSON.
fn parsed(python: &str, yaml: &str) -> Value {
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))";
    let output = Command::new(python).args(["-c", script, yaml]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn seastar_suite_prints_io_properties_with_the_figures_of_the_device() {
    const TEST: &str = "seastar_suite_prints_io_properties_with_the_figures_of_the_device";
    let Some(python) = python_with_yaml(TEST) else { return };
    let place = Place::new();
    // Sequential I/O of 1 MiB with 4 outstanding is bound by the bus, random I/O by the channels.
    let target = format!("{SIM},write_service=200us");
    let done = place.run(&["suite", "seastar", &target, "--duration=10"]).ends(0);
    let text = export(&place, "scylladb");
    assert!(done.stdout.ends_with(&text), "{}", done.stdout);
    let disk = &parsed(python, &text)["disks"][0];
    assert_eq!(disk["mountpoint"], "/MOUNTPOINT");
    near(&disk["read_iops"], 80_000.0, 0.005);
    near(&disk["write_iops"], 40_000.0, 0.005);
    near(&disk["read_bandwidth"], 1e9, 0.01);
    near(&disk["write_bandwidth"], 1e9, 0.01);
    assert!(disk["read_iops"].is_u64() && disk["write_bandwidth"].is_u64());
    assert!(text.contains("read_iops 80,") && text.contains("4 KiB depth 128"), "{text}");
}

#[test]
fn seastar_suite_names_the_mount_point_of_a_directory() {
    const TEST: &str = "seastar_suite_names_the_mount_point_of_a_directory";
    let Some(python) = python_with_yaml(TEST) else { return };
    let place = Place::new();
    if !common::direct_io(TEST, &place.work()) {
        return;
    }
    let line = ["suite", "seastar", ".", "--duration=1", "--size=32m", "--rm"];
    let done = place.run(&line).ends(0);
    let (_, yaml) = done.stdout.split_once("\ndisks:").unwrap();
    let disk = &parsed(python, &format!("disks:{yaml}"))["disks"][0];
    // The nearest directory above that is on another file system is above the mount point.
    let device = |path: &std::path::Path| std::fs::metadata(path).unwrap().dev();
    let mut place = place.work().canonicalize().unwrap();
    while let Some(above) = place.parent().filter(|above| device(above) == device(&place)) {
        place = above.to_owned();
    }
    assert_eq!(disk["mountpoint"], place.to_str().unwrap());
    assert!(disk["write_iops"].as_u64().unwrap() > 0);
}

#[test]
fn iocost_suite_prints_the_coefficients_of_the_device() {
    let place = Place::new();
    let done = place.run(&["suite", "iocost", SIM, "--seconds=10"]).ends(0);
    let text = export(&place, "io.cost");
    assert!(done.stdout.ends_with(&text), "{}", done.stdout);
    let line = lines(&text)[0];
    assert!(line.starts_with("MAJ:MIN rbps="), "{line}");
    // One block of 128 MiB at a time: the service time, and the transfer over the bus.
    let large = f64::from(128 << 20);
    let bandwidth = large / (100e-6 + large / 1e9);
    for (name, truth) in [
        ("rbps=", bandwidth),
        ("rseqiops=", 80_000.0),
        ("rrandiops=", 80_000.0),
        ("wbps=", bandwidth),
        ("wseqiops=", 80_000.0),
        ("wrandiops=", 80_000.0),
    ] {
        is_near(number_after(line, &format!(" {name}")), truth, 0.06);
    }
}

/// The kernel takes whole disks only. Settings of their figures are tested with the report.
#[test]
fn results_of_a_partition_have_the_number_of_its_disk() {
    const TEST: &str = "results_of_a_partition_have_the_number_of_its_disk";
    let place = Place::new();
    let device = or_skip!(TEST, Loop::new(64 * MIB));
    let number = |path: &std::path::Path| {
        let number = std::fs::metadata(path).unwrap().rdev();
        format!("{}:{}", libc::major(number), libc::minor(number))
    };
    let disk = number(&device.path);
    let partition = or_skip!(TEST, device.add_partition(2048, 98_304));
    assert_ne!(number(&partition), disk);
    let options = ["--destroy-data", "--yes", "--seconds=100ms", "--bs=1m", "--json"];
    for (target, field) in [(device.path.clone(), "number"), (partition, "disk_number")] {
        let target = target.to_str().unwrap();
        let done = place.run(&[&["suite", "iocost", target][..], &options].concat()).ends(0);
        assert_eq!(done.json()["target"]["devices"][0][field], disk.as_str());
    }
}

#[test]
fn kernel_takes_the_line_for_io_max() {
    const TEST: &str = "kernel_takes_the_line_for_io_max";
    let device = or_skip!(TEST, Loop::new(MIB));
    let number = std::fs::metadata(&device.path).unwrap().rdev();
    let number = format!("{}:{}", libc::major(number), libc::minor(number));
    let place = Place::new();
    for options in [&["--rw=randread"][..], &["--rw=write", "--bs=1m"]] {
        find(&place, &[&["--for", "io.max"], options].concat()).ends(0);
        let text = export(&place, "io.max");
        let line = lines(&text)[0].replace("MAJ:MIN", &number);
        let _group = or_skip!(TEST, Group::of_io_max(&line));
    }
}

#[test]
fn systemd_takes_the_lines_for_a_unit() {
    const TEST: &str = "systemd_takes_the_lines_for_a_unit";
    let place = Place::new();
    let unit = place.work().join("iogauge-test.service");
    for options in [&["--rw=randread"][..], &["--rw=write", "--bs=1m"]] {
        find(&place, &[&["--for", "systemd"], options].concat()).ends(0);
        let text = format!("{}ExecStart=/bin/true\n", export(&place, "systemd"));
        std::fs::write(&unit, text).unwrap();
        let Ok(verified) = Command::new("systemd-analyze").arg("verify").arg(&unit).output() else {
            skip(TEST, "no systemd-analyze");
            return;
        };
        // Values that it does not understand are ignored with a message.
        let stderr = String::from_utf8_lossy(&verified.stderr);
        assert!(!stderr.contains("iogauge-test.service"), "{stderr}");
    }
}
