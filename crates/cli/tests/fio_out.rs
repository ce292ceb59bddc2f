//! What iogauge writes for programs that read fio's output, and for fio itself.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, fio_plot, python_for, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const QUICK: [&str; 4] = ["run", "sim:nvme", "--runtime=1", "--ramp-time=0"];

fn quick(place: &Place, more: &[&str]) -> Done {
    place.run(&[&QUICK[..], more].concat())
}

/// Returns true if the program can be started.
fn starts(program: &str) -> bool {
    Command::new(program).arg("--help").output().is_ok()
}

#[test]
fn fio_json_goes_to_stdout_and_text_to_stderr() {
    let place = Place::new();
    let load = ["--rw=randrw", "--iodepth=4", "--numjobs=2", "--lat_percentiles=1"];
    let done = quick(&place, &[&load[..], &["--output-format=json+"]].concat()).ends(0);
    assert!(done.stderr.contains("IOPS"), "{}", done.stderr);
    let document = done.json();
    assert!(document["fio version"].as_str().unwrap().starts_with("fio-3."));
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1);
    let options = &jobs[0]["job options"];
    for (name, value) in
        [("rw", "randrw"), ("bs", "4k"), ("iodepth", "4"), ("numjobs", "2"), ("runtime", "1")]
    {
        assert_eq!(options[name], value, "{options}");
    }
    let native = place.run(&["history", "show", "--format=json"]).ends(0).json();
    for direction in ["read", "write"] {
        let fio = &jobs[0][direction];
        let ours = &native["steps"][0][direction];
        assert_eq!(fio["total_ios"], ours["ios"]);
        assert_eq!(fio["io_bytes"], ours["bytes"]);
        assert_eq!(fio["iops"], ours["iops"]["mean"]);
        assert_eq!(fio["iops_samples"], 2);
        for latency in ["clat_ns", "lat_ns"] {
            assert_eq!(fio[latency]["max"], ours["service_ns"]["max"]);
            assert_eq!(fio[latency]["percentile"]["99.000000"], ours["service_ns"]["p99"]);
            let bins = fio[latency]["bins"].as_object().unwrap();
            let sum: u64 = bins.values().map(|n| n.as_u64().unwrap()).sum();
            assert_eq!(Some(sum), fio["total_ios"].as_u64());
        }
    }
    let again = place.run(&["history", "show", "--format=fio-json+"]).ends(0);
    assert_eq!(again.json(), document);
    let brief = place.run(&["history", "show", "last", "--format=fio-json"]).ends(0).json();
    assert!(brief["jobs"][0]["read"]["lat_ns"]["bins"].is_null());
    assert!(brief["jobs"][0]["read"]["lat_ns"]["percentile"].is_object());
}

#[test]
fn fio_json_contains_one_entry_per_job() {
    let place = Place::new();
    let jobs = ["--job", "rw=randread iodepth=4", "--job", "rw=write bs=64k iodepth=2"];
    let output = ["--output-format=json", "--quiet"];
    let done = quick(&place, &[&jobs[..], &output].concat()).ends(0);
    assert!(!done.stderr.contains("IOPS"), "{}", done.stderr);
    let document = done.json();
    let entries = document["jobs"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    let ios = |entry: &Value, direction: &str| entry[direction]["total_ios"].as_u64().unwrap();
    assert!(ios(&entries[0], "read") > 0 && ios(&entries[0], "write") == 0);
    assert!(ios(&entries[1], "write") > 0 && ios(&entries[1], "read") == 0);
    assert_eq!(entries[1]["job options"]["bs"], "64k");
    for (entry, direction) in entries.iter().zip(["read", "write"]) {
        assert_eq!(entry["groupid"], 0);
        assert!(entry[direction]["iops_samples"].as_u64().unwrap() > 0);
    }
}

#[test]
fn fio_json_of_a_single_job_keeps_its_name_and_files() {
    let place = Place::new();
    let job = |text: &str| {
        std::fs::write(place.work().join("j.fio"), text).unwrap();
        let done = place.run(&["run", "j.fio", "--output-format=json", "--quiet"]).ends(0);
        done.json()["jobs"][0].clone()
    };
    let entry = job("[mylogvol]\nfilename=x\nsize=64k\nrw=read\n");
    assert_eq!(entry["jobname"], "mylogvol");
    assert!(entry["job options"]["filename"].as_str().unwrap().ends_with("/x"), "{entry}");
    // Engine null has no file.
    let entry = job("[a]\nioengine=null\nsize=64k\nrw=read\n");
    assert_eq!((&entry["jobname"], &entry["job options"]["filename"]), (&"a".into(), &Value::Null));
}

#[test]
fn incompatible_fio_output_options_are_rejected() {
    let place = Place::new();
    for (more, word) in [
        (&["--output-format=json", "--json"][..], "--json"),
        (&["--output-format=terse"], "json+"),
        (&["--print-fio", "--json"], "--json"),
        (&["--print-fio"], "simulated"),
    ] {
        let done = quick(&place, more).ends(2);
        assert!(
            done.stderr.contains(word) && crate::common::is_one_message(&done.stderr),
            "{}",
            done.stderr
        );
        assert_eq!(done.stdout, "");
    }
    assert!(place.runs().is_empty());
    place.run(&["find", "sim:nvme", "-q", "--max-depth=4"]).ends(0);
    let done = place.run(&["history", "show", "--format=fio-json"]).ends(2);
    assert!(done.stderr.contains("search"), "{}", done.stderr);
}

/// Lets fio parse a job file. Returns fio's messages if it prints any or fails.
fn fio_reads(directory: &Path, text: &str) -> Result<(), String> {
    let path = directory.join("job.fio");
    std::fs::write(&path, text).unwrap();
    let output = Command::new("fio").arg("--parse-only").arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    std::fs::remove_file(path).unwrap();
    if output.status.success() && said.trim().is_empty() { Ok(()) } else { Err(said) }
}

#[test]
fn fio_accepts_printed_job_files() {
    if !starts("fio") {
        return skip("fio_accepts_printed_job_files", "fio is not installed");
    }
    let place = Place::new();
    // The check must accept a correct file and refuse a wrong one.
    assert!(fio_reads(&place.work(), "[a]\nrw=randread\nsize=1m\n").is_ok());
    assert!(fio_reads(&place.work(), "[a]\nrw=randread\nno_such_option=1\nsize=1m\n").is_err());
    let loads: [(&[&str], &str); 16] = [
        (&[], ""),
        (&["--iodepth=32", "--numjobs=4", "--runtime=1500ms"], ""),
        (&["--rw=randrw", "--rwmixread=70", "--bs=8k,16k"], ""),
        (&["--rw=readwrite", "--bssplit=4k/60:64k/40,8k/100"], ""),
        (&["--rw=write", "--numjobs=4", "--sync=dsync", "--ramp-time=0"], ""),
        (&["--rw=randwrite", "--sync=sync", "--fsync=16", "--offset=1m"], ""),
        (&["--ioengine=psync", "--iodepth=8"], ""),
        (&["--ioengine=psync", "--rw=read", "--iodepth=8"], "iodepth: "),
        (&["--ioengine=mmap"], ""),
        (&["--ioengine=null", "--norandommap=0"], ""),
        (&["--random_distribution=zipf:1.2"], ""),
        (&["--random_distribution=zoned:60/10:30/20:10/70"], ""),
        (&["--rate_iops=1000", "--rate_process=poisson", "--numjobs=3"], "rate_iops: "),
        (&["--number_ios=1000", "--randseed=7"], ""),
        (&["--iodepth=16", "--iodepth_batch_submit=8", "--iodepth_batch_complete_min=4"], ""),
        (&["--rw=randrw", "--dependent"], "dependent: "),
    ];
    let print = ["run", ".", "--size=16m", "--direct=0", "--print-fio"];
    for (load, differs) in loads {
        let done = place.run(&[&print[..], load].concat()).ends(0);
        fio_reads(&place.work(), &done.stdout)
            .unwrap_or_else(|said| panic!("{load:?}: {said}\n{}", done.stdout));
        assert!(done.stderr.contains("iogauge prepare"), "{}", done.stderr);
        let facts = done.stderr.lines().filter(|line| line.starts_with("warning: "));
        let told = facts.filter(|line| !line.contains("is not there yet")).count();
        assert_eq!(told, usize::from(!differs.is_empty()), "{load:?}: {}", done.stderr);
        assert!(done.stderr.contains(differs), "{load:?}: {}", done.stderr);
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
    assert!(place.runs().is_empty());
    let jobs = ["--job", "rw=randread iodepth=4", "--job", "rw=write bs=64k"];
    let text = place.run(&[&print[..], &jobs].concat()).ends(0).stdout;
    assert!(text.contains("\n[randread]\n") && text.contains("\n[write]\n"), "{text}");
    fio_reads(&place.work(), &text).unwrap();
}

#[test]
fn print_fio_obeys_the_guards() {
    let place = Place::new();
    std::fs::write(place.work().join("precious"), vec![1; 1 << 20]).unwrap();
    let line = ["run", "precious", "--rw=write", "--direct=0", "--print-fio"];
    let refused = place.run(&line).ends(3);
    assert_eq!(refused.stdout, "");
    let allowed = place.run(&[&line[..], &["--overwrite-file"]].concat()).ends(0);
    let path = place.work().canonicalize().unwrap().join("precious");
    let line = format!("filename={}", path.display());
    assert!(allowed.stdout.lines().any(|l| l == line), "{}", allowed.stdout);
    assert_eq!(allowed.stderr, "");
    assert_eq!(place.names(), ["precious"]);
}

#[test]
fn printed_job_run_by_fio_preserves_the_test_file_marker() {
    if !starts("fio") {
        return skip(
            "printed_job_run_by_fio_preserves_the_test_file_marker",
            "fio is not installed",
        );
    }
    let place = Place::new();
    place.run(&["prepare", ".", "--size=16m", "-q"]).ends(0);
    let line = ["run", ".", "--rw=write", "--bs=64k", "--numjobs=2", "--direct=0"];
    let more = ["--ioengine=psync", "--runtime=300ms", "--ramp-time=0", "--print-fio"];
    let printed = place.run(&[&line[..], &more].concat()).ends(0);
    assert_eq!(printed.stderr, "");
    std::fs::write(place.work().join("job.fio"), printed.stdout).unwrap();
    let output = Command::new("fio")
        .args(["--output-format=json", "job.fio"])
        .current_dir(place.work())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_str(&said[said.find('{').unwrap()..]).unwrap();
    assert!(document["jobs"][0]["write"]["total_ios"].as_u64() > Some(0));
    // The file keeps its length, and iogauge may still write it.
    let length = std::fs::metadata(place.work().join("iogauge.dat")).unwrap().len();
    assert_eq!(length, 17 << 20);
    place.run(&["run", ".", "--rw=write", "--direct=0", "--runtime=50ms", "-q"]).ends(0);
}

/// Returns a run on a real file as fio's JSON with every bucket.
fn real_run(place: &Place, more: &[&str]) -> String {
    let line = [
        "run",
        ".",
        "--size=16m",
        "--direct=0",
        "--runtime=600ms",
        "--ramp-time=0",
        "--output-format=json+",
        "-q",
    ];
    place.run(&[&line[..], more].concat()).ends(0).stdout
}

#[test]
fn clat2csv_parses_every_histogram_bucket() {
    const TEST: &str = "clat2csv_parses_every_histogram_bucket";
    let script = Path::new("/usr/bin/fio_jsonplus_clat2csv");
    let Some(python) = python_for(TEST, script) else { return };
    let place = Place::new();
    let line = ["--rw=randrw", "--iodepth=4", "--fsync=32", "--lat_percentiles=1"];
    let text = real_run(&place, &line);
    std::fs::write(place.work().join("run.json"), &text).unwrap();
    for more in [&[][..], &["--validate"]] {
        let output = Command::new(&python)
            .arg(script)
            .args(["run.json", "run.csv"])
            .args(more)
            .current_dir(place.work())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{more:?}: {said}");
    }
    // The counts that it says it validated are checked again.
    let table = std::fs::read_to_string(place.work().join("run_job0.csv")).unwrap();
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').map(str::trim).collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').map(str::trim).collect()).collect();
    let document: Value = serde_json::from_str(&text).unwrap();
    for direction in ["read", "write"] {
        let column = format!("{direction}_lat_ns_count");
        let column = names.iter().position(|name| *name == column).unwrap();
        let sum: u64 = rows.iter().filter_map(|row| row[column].parse::<u64>().ok()).sum();
        assert_eq!(Some(sum), document["jobs"][0][direction]["total_ios"].as_u64());
    }
}

#[test]
fn fio_plot_draws_charts_from_iogauge_output() {
    let Some(program) = fio_plot() else {
        let why = "fio-plot is not installed; scripts/install-fio-plot.sh gets it from PyPI";
        return skip("fio_plot_draws_charts_from_iogauge_output", why);
    };
    let place = Place::new();
    for (queue_depth, numjobs) in [(1, 1), (8, 1)] {
        let options = [format!("--iodepth={queue_depth}"), format!("--numjobs={numjobs}")];
        let text = real_run(&place, &[&options[0], &options[1]]);
        let name = format!("randread-{queue_depth}-{numjobs}.json");
        std::fs::create_dir_all(place.work().join("results")).unwrap();
        std::fs::write(place.work().join("results").join(name), text).unwrap();
    }
    let draw = |arguments: &[&str], picture: &str| {
        let output = Command::new(&program)
            .args(["-i", "results", "-T", "title", "-r", "randread", "-o", picture])
            .args(arguments)
            .current_dir(place.work())
            .env("MPLBACKEND", "Agg")
            .env("MPLCONFIGDIR", place.work().join("matplotlib"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        let picture = std::fs::read(place.work().join(picture))
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {said}"));
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 5000, "{said}");
    };
    // Bars of IOPS and latency by queue depth, then a histogram of latencies.
    draw(&["-l", "-n", "1", "-d", "1", "8", "--show-cpu"], "bars.png");
    draw(&["-H", "-n", "1", "-d", "8"], "histogram.png");
}

#[test]
fn fio_json_reports_disk_utilization_under_a_file() {
    const TEST: &str = "fio_json_reports_disk_utilization_under_a_file";
    let place = Place::new();
    if !common::direct_io(TEST, &place.work()) {
        return;
    }
    let line = ["run", ".", "--size=16m", "--runtime=600ms", "--ramp-time=0", "--iodepth=4"];
    place.run(&[&line[..], &["--rw=randrw", "-q"]].concat()).ends(0);
    let native = place.run(&["history", "show", "--format=json"]).ends(0).json();
    let fio = place.run(&["history", "show", "--format=fio-json"]).ends(0).json();
    let devices = native["steps"][0]["physical"]["devices"].as_array().cloned();
    let disks = fio["disk_util"].as_array().unwrap();
    let names = |values: &[Value], key: &str| {
        values.iter().map(|v| v[key].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let devices = devices.unwrap_or_default();
    assert_eq!(names(disks, "name"), names(&devices, "device"));
    for disk in disks {
        let device = devices.iter().find(|device| device["device"] == disk["name"]).unwrap();
        assert_eq!(disk["read_ios"], device["reads"]);
        assert_eq!(disk["write_ios"], device["writes"]);
        let util = disk["util"].as_f64().unwrap();
        assert!((0.0..=100.0).contains(&util), "{util}");
        if device["reads"].as_u64() > Some(1000) {
            assert!(disk["read_ticks"].as_u64() > Some(0), "{disk}");
        }
    }
}
