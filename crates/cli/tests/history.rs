//! The history through the binary.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, eventually};
use iogauge_test_support::{Mount, or_skip};
use serde_json::{Value, json};
use std::process::Command;

const QUICK: [&str; 4] = ["run", "sim:nvme", "--runtime=100ms", "--ramp-time=0"];

#[test]
fn history_show_reproduces_printed_results() {
    let place = Place::new();
    let found = place.run(&["find", "sim:sata-ssd", "-q"]).ends(0).stdout;
    assert_eq!(place.run(&["history", "show"]).ends(0).stdout, found);
    let ran = place.run(&[&QUICK[..], &["--rw=randrw"]].concat()).ends(0).stdout;
    assert_eq!(place.run(&["history", "show", "last"]).ends(0).stdout, ran);
    assert_eq!(place.run(&["history", "show", "last-1"]).ends(0).stdout, found);

    let json = place.run(&[&QUICK[..], &["--json", "-q"]].concat()).ends(0);
    let shown = place.run(&["history", "show", "--format", "json"]).ends(0);
    assert_eq!(shown.json(), json.json());
    let id = json.json()["run_id"].as_str().unwrap().to_owned();
    // Runs of one second differ only in their last four letters, at times only in the last one.
    let others: Vec<String> =
        place.runs().into_iter().map(|(other, _)| other).filter(|other| *other != id).collect();
    let prefix = (1..=id.len())
        .map(|length| &id[..length])
        .find(|prefix| !others.iter().any(|other| other.starts_with(prefix)))
        .unwrap();
    for reference in [id.as_str(), prefix, &id[16..]] {
        assert_eq!(
            place.run(&["history", "show", reference, "--format=json"]).ends(0).json(),
            json.json()
        );
    }
    let csv = place.run(&["history", "show", "last-2", "--format", "iogauge-csv"]).ends(0).stdout;
    assert!(csv.starts_with("format,run_id,"), "{csv}");
    assert!(csv.lines().count() > 3, "{csv}");
}

#[test]
fn history_list_rm_and_reset_work() {
    let place = Place::new();
    let empty = place.run(&["history", "list"]).ends(0);
    assert!(empty.stdout.contains("No runs"), "{}", empty.stdout);
    for _ in 0..3 {
        place.run(&QUICK).ends(0);
    }
    place.run(&["find", "sim:array", "-q"]).ends(0);
    let runs = place.runs();
    assert_eq!(runs.len(), 4);

    let of_array = place.run(&["history", "list", "--target", "arr"]).ends(0).stdout;
    assert!(of_array.contains("sim:array") && !of_array.contains("sim:nvme"), "{of_array}");
    let two = place.run(&["history", "list", "--limit", "2"]).ends(0);
    assert!(two.stderr.starts_with("older runs are not listed; --limit"), "{}", two.stderr);
    assert_eq!(place.run(&["history", "list"]).ends(0).stderr, "");
    let two = two.stdout;
    assert_eq!(two.lines().filter(|line| line.starts_with("20")).count(), 2, "{two}");

    let list = place.run(&["history", "list", "--json", "--limit", "2"]).ends(0).json();
    assert_eq!(list["format"], "iogauge.history-list/1");
    let [find, run] = [&list["runs"][0], &list["runs"][1]];
    assert_eq!((&find["kind"], &find["target"]), (&json!("find"), &json!("sim:array")));
    assert_eq!((&run["id"], &run["state"]), (&json!(runs[1].0), &json!("done")));
    assert!(run["ended"].as_str() >= run["started"].as_str() && run["exit_code"] == 0, "{run}");
    assert!(run["verdict"].as_str().unwrap().contains("IOPS"), "{run}");

    place.run(&["history", "rm", "last", &runs[2].0]).ends(0);
    assert_eq!(place.runs(), [runs[1].clone(), runs[3].clone()]);
    place.run(&["history", "rm", &runs[2].0]).ends(2);
    // Options may follow the run.
    let other = ["history", "rm", "last", "--history", "other.db"];
    let refused = place.run(&other).ends(2).stderr;
    assert!(refused.contains("no run \"last\""), "{refused}");
    place.run(&["history", "rm", "last-1", "--force"]).ends(0);
    place.run(&QUICK).ends(0);
    let wide = place.run(&["history", "list"]).ends(0).stdout;
    assert!(wide.contains("randread 4 KiB") && !wide.contains('…'), "{wide}");
    let reset = place.run(&["history", "reset", "--yes"]).ends(0);
    assert!(reset.stdout.contains("removed 2 runs"), "{}", reset.stdout);
    assert!(place.runs().is_empty());
}

/// Of each command that takes the options of output, by its shortest measurement.
#[test]
fn runs_have_labels() {
    let place = Place::new();
    let label = ["--label", " before the update "];
    let lines: [&[&str]; 5] = [
        &QUICK,
        &["find", "sim:nvme", "-q", "--budget=1s", "--max-depth=4"],
        &["hosts-curve", "sim:nvme,hosts=2", "-q", "--budget=1s", "--max-depth=4"],
        &["suite", "blocksize", "sim:nvme", "-q", "--bs=4k,64k", "--seconds=1"],
        &["profile", "-q", "--for=1s"],
    ];
    for line in lines {
        place.run(&[line, &label].concat()).ends(0);
    }
    place.run(&QUICK).ends(0);
    let list = |options: &[&str]| {
        let list = place.run(&[&["history", "list"], options].concat()).ends(0).stdout;
        list.lines().filter(|line| line.starts_with("20")).count()
    };
    assert_eq!((list(&[]), list(&["--label=before the update"])), (lines.len() + 1, lines.len()));
    let shown = place.run(&["history", "show", "last-1", "--format=json"]).ends(0).json();
    assert_eq!(shown["label"], "before the update");
    let said = place.run(&["history", "label", "last", "label:before the update", "after"]);
    assert_eq!(said.ends(0).stdout.matches(" has the label after\n").count(), lines.len() + 1);
    place.run(&["history", "label", "-1", ""]).ends(0);
    let list = place.run(&["history", "list", "--json"]).ends(0).json();
    assert_eq!(
        (&list["runs"][0]["label"], &list["runs"][1]["label"]),
        (&json!("after"), &Value::Null)
    );
    let wide = place.run(&["history", "list"]).ends(0).stdout;
    assert!(wide.lines().next().unwrap().contains("label"), "{wide}");
    for (line, told) in [
        (&[&QUICK[..], &["--label="]].concat()[..], "hint: use 1 to 100 characters"),
        (&["history", "label", "last", "a\tb"], "hint: use 1 to 100 characters"),
        (&["history", "label", "nightly"], "RUN"),
        (&["history", "label", "last-40", "nightly"], "no run \"last-40\""),
    ] {
        let said = place.run(line).ends(2).stderr;
        assert!(said.contains(told), "{line:?}: {said}");
    }
}

#[test]
fn history_option_selects_a_file_or_none() {
    let place = Place::new();
    place.run(&[&QUICK[..], &["--history", "own.db"]].concat()).ends(0);
    assert!(!place.history().exists());
    let list = place.run(&["history", "list", "--history", "own.db"]).ends(0).stdout;
    assert!(list.contains("sim:nvme"), "{list}");

    let other = Place::new();
    other.run(&[&QUICK[..], &["--history", "none"]].concat()).ends(0);
    assert!(!other.history().exists());
    assert!(other.names().is_empty());
}

/// Rows of a comparison have the target and the name of their turn, and a search has a row for each point.
#[test]
fn rows_of_a_comparison_name_their_subject() {
    const TARGETS: [&str; 2] = ["sim:channels=8,service=1ms", "sim:channels=8,service=2ms"];
    let place = Place::new();
    let show = |format: &str| place.run(&["history", "show", "--format", format]).ends(0);
    place.run(&["compare", TARGETS[0], TARGETS[1], "--iodepth=8", "-q"]).ends(6);
    let csv = show("iogauge-csv").stdout;
    for (letter, target) in ["A", "B"].into_iter().zip(TARGETS) {
        let turn = format!(": {letter}, randread 4 KiB depth 8\"");
        let rows: Vec<&str> = csv.lines().filter(|row| row.contains(&turn)).collect();
        assert!(rows.len() >= 6 && rows.iter().all(|row| row.contains(target)), "{csv}");
        assert!(show("classic").stdout.contains(&format!("\n{letter}:randread ")));
        let jobs = show("fio-json").json()["jobs"].as_array().unwrap().clone();
        let is_own =
            |job: &&Value| job["jobname"].as_str().unwrap().contains(&format!(": {letter}, "));
        let own: Vec<_> = jobs.iter().filter(is_own).collect();
        assert_eq!(own.len(), rows.len());
        assert!(own.iter().all(|job| job["job options"]["filename"] == target), "{}", own[0]);
    }
    place.run(&["compare", TARGETS[0], TARGETS[1], "-q"]);
    let csv = show("iogauge-csv").stdout;
    assert!(csv.lines().count() > 12 && csv.contains(",block 1 turn 1: "), "{csv}");
    place.run(&["history", "show", "--format", "fio-json"]).ends(2);
    place.run(&["hosts-curve", "sim:nvme,hosts=2", "-q", "--budget=2s"]).ends(0);
    let exported = place.run(&["history", "export", "--format", "csv"]).ends(0).stdout;
    assert!(exported.lines().count() > 40 && !exported.contains(",,,,"), "{exported}");
}

#[test]
fn history_export_writes_json_and_csv() {
    let place = Place::new();
    place.run(&QUICK).ends(0);
    place.run(&["find", "sim:nvme", "-q", "--max-depth=8"]).ends(0);
    let json = place.run(&["history", "export"]).ends(0).stdout;
    for line in json.lines() {
        let step: Value = serde_json::from_str(line).unwrap();
        assert_eq!(step["run"]["target"], "sim:nvme", "{line}");
    }
    let csv = place.run(&["history", "export", "--format", "csv"]).ends(0).stdout;
    assert_eq!(csv.lines().count(), json.lines().count() + 1, "a heading and a row for each step");
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(columns > 5, "{csv}");
    // It always writes all runs.
    place.run(&["history", "export", "last"]).ends(2);
    place.run(&["history", "export", "--format", "csv", "last"]).ends(2);
}

#[test]
fn concurrent_processes_share_one_history() {
    let place = Place::new();
    let line = ["run", "sim:nvme", "--runtime=1s", "-q"];
    let started: Vec<_> = (0..6).map(|_| place.start(&line)).collect();
    for run in started {
        let done = run.end().ends(0);
        assert_eq!(done.stderr, "");
    }
    let runs = place.runs();
    assert_eq!(runs.len(), 6);
    assert!(runs.iter().all(|(_, state)| state == "done"), "{runs:?}");
}

#[test]
fn newer_history_schema_is_refused_and_preserved() {
    let place = Place::new();
    place.run(&QUICK).ends(0);
    let file = place.history();
    // user_version is four bytes at offset 60, big-endian (SQLite's file format).
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[60..64].copy_from_slice(&999_u32.to_be_bytes());
    std::fs::write(&file, &bytes).unwrap();
    for line in [&QUICK[..], &["history", "list"], &["history", "reset", "--yes"]] {
        let done = place.run(line).ends(2);
        assert_eq!(done.stdout, "");
        crate::common::assert_one_message(&done.stderr);
        assert!(done.stderr.contains("schema version 999"), "{}", done.stderr);
    }
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[test]
fn full_history_disk_does_not_lose_the_printed_result() {
    let place = Place::new();
    let tmpfs =
        or_skip!("full_history_disk_does_not_lose_the_printed_result", Mount::tmpfs(512 << 10));
    let history = tmpfs.point.join("history.db");
    let line = ["run", "sim:nvme", "--history", history.to_str().unwrap()];
    place.run(&[&line[..], &["--runtime=10ms", "-q"]].concat()).ends(0);

    // The disk is full from the start: nothing is measured, because nothing could be kept.
    std::fs::write(tmpfs.point.join("ballast"), vec![1; 1 << 20]).unwrap_err();
    let full = place.run(&line).ends(1);
    assert_eq!(full.stdout, "");
    crate::common::assert_one_message(&full.stderr);
    assert!(full.stderr.contains("no space left"), "{}", full.stderr);

    // The disk fills up during the run: the result is printed, and a message says that it is not kept.
    std::fs::remove_file(tmpfs.point.join("ballast")).unwrap();
    let long = ["--runtime=100d", "--ramp-time=0", "-q"];
    let run = place.start(&[&line[..], &long].concat());
    let under_way =
        ["history", "list", "--state", "running", "--history", history.to_str().unwrap()];
    eventually(|| place.run(&under_way).stdout.contains("running"));
    std::fs::write(tmpfs.point.join("ballast"), vec![1; 1 << 20]).unwrap_err();
    run.signal("INT");
    let done = run.end().ends(130);
    assert!(done.stdout.contains("IOPS"), "{}", done.stdout);
    assert!(done.stderr.contains("not in the history"), "{}", done.stderr);
    assert!(done.stderr.contains("no space left"), "{}", done.stderr);
}

#[test]
fn failed_stdout_write_is_reported() {
    let place = Place::new();
    let mut command = place.command(&QUICK);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let done = common::Done::from(command.output().unwrap()).ends(1);
    assert!(done.stderr.contains("cannot write to stdout: No space left"), "{}", done.stderr);
    // The result is kept in the history.
    assert_eq!(place.runs()[0].1, "done");
}

#[test]
fn closed_pipe_reader_is_not_an_error() {
    let place = Place::new();
    for _ in 0..2 {
        place.run(&QUICK).ends(0);
    }
    let binary = env!("CARGO_BIN_EXE_iogauge");
    // stderr is closed, too. A panic would end with 101.
    for line in
        ["run sim:nvme --bogus", "find sim:nvme --json --explain --max-depth=4", "clean missing"]
    {
        let script = format!("\"{binary}\" {line} 2>&1 >/dev/null | true; echo ${{PIPESTATUS[0]}}");
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(place.work());
        command.env("XDG_DATA_HOME", place.history().parent().unwrap().parent().unwrap());
        let status = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(["0", "2"].contains(&status.trim()), "{line}: {status}");
    }
    let lines = [
        "history export",
        "history export --format csv",
        "history list",
        "history show",
        "history show --format json",
        "history show --format iogauge-csv",
        "find --help",
        "completions bash",
        "run sim:nvme --runtime=10ms",
        "find sim:nvme --json --max-depth=4",
    ];
    for line in lines {
        // `true` reads nothing. The script prints the exit code of iogauge.
        let script = format!("\"{binary}\" {line} 2>errors | true; echo ${{PIPESTATUS[0]}}");
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(place.work());
        command.env("XDG_DATA_HOME", place.history().parent().unwrap().parent().unwrap());
        let status = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let errors = std::fs::read_to_string(place.work().join("errors")).unwrap();
        assert_eq!(status.trim(), "0", "{line}: {errors}");
        assert!(
            !errors.contains("panicked") && !errors.contains("Broken pipe"),
            "{line}: {errors}"
        );
    }
}

/// A table that is longer than a pipe's buffer fails while it is made, not only at its end.
#[test]
fn long_export_ends_quietly_at_a_closed_pipe() {
    let place = Place::new();
    let job = |n| {
        format!(
            "{{\"jobname\": \"a{n}\", \"read\": {{\"io_bytes\": 4096, \"total_ios\": 1, \"runtime\": 1}}}}"
        )
    };
    let jobs: Vec<String> = (0..500).map(job).collect();
    let text = format!("{{\"jobs\": [{}]}}", jobs.join(","));
    std::fs::write(place.work().join("many.json"), text).unwrap();
    place.run(&["import", "many.json", "-q"]).ends(0);
    let binary = env!("CARGO_BIN_EXE_iogauge");
    for format in ["csv", "json"] {
        // The reader has ended before anything is written.
        let script = format!(
            "(sleep 0.3; \"{binary}\" history export --format {format} 2>errors; echo $? >code) | true; \
             while [ ! -s code ]; do sleep 0.05; done"
        );
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(place.work());
        command.env("XDG_DATA_HOME", place.history().parent().unwrap().parent().unwrap());
        assert!(command.status().unwrap().success());
        let read = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap();
        assert_eq!((read("code").trim(), read("errors").as_str()), ("0", ""), "{format}");
        std::fs::remove_file(place.work().join("code")).unwrap();
    }
}
