//! Interrupted and killed runs: what they leave.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, Started, eventually};
use iogauge_model::result::StepResult;
use serde_json::Value;
use std::time::Duration;

/// A pseudo-random sequence, the same in every test run.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below_ms: u64) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Duration::from_millis((self.0 >> 33) % below_ms)
    }
}

/// Command lines whose signals fall into prefill, ramp, measurement and search.
const LINES: [&[&str]; 3] = [
    &["find", ".", "--size=64m", "--budget=1s", "--max-starvation=100%", "--direct=0", "--json"],
    &["run", ".", "--size=64m", "--ramp-time=300ms", "--runtime=500ms", "--direct=0", "--json"],
    &[
        "run",
        ".",
        "--size=64m",
        "--runtime=800ms",
        "--rw=randrw",
        "--numjobs=2",
        "--direct=0",
        "--json",
    ],
];

/// Asserts that no file is left except the test file.
#[track_caller]
fn assert_tidy(place: &Place) {
    let names = place.names();
    assert!(names.is_empty() || names == ["iogauge.dat"], "{names:?}");
    let kept = common::names(place.history().parent().unwrap());
    assert!(kept.iter().all(|name| name.starts_with("history.db")), "{kept:?}");
}

/// Asserts that a run that was asked to end left the right result for the way in which it ended.
#[track_caller]
fn assert_kept(place: &Place, done: &Done) {
    assert_tidy(place);
    let runs = place.runs();
    if done.stdout.is_empty() {
        // The run was interrupted while it prepared the target.
        assert_eq!(done.code, Some(130), "{}", done.stderr);
        assert!(done.stderr.contains("interrupted while preparing"), "{}", done.stderr);
        return;
    }
    let document = done.json();
    let id = document["run_id"].as_str().unwrap();
    let state = &runs.iter().find(|run| run.0 == id).unwrap().1;
    let shown = place.run(&["history", "show", id, "--format=json"]).ends(0).json();
    assert_eq!(shown, document);
    let interrupted = done.code == Some(130);
    assert_eq!(state, if interrupted { "interrupted" } else { "done" });
    let said = document["caveats"].as_array().unwrap().iter().any(|c| c["code"] == "interrupted");
    assert_eq!(said, interrupted, "{}", document["caveats"]);
    if document["format"] == "iogauge.run/1" {
        assert_eq!(document["interrupted"], interrupted);
    } else {
        assert_eq!(document["answer"]["stopped_by"] == "interrupted", interrupted);
        let (answer, curve) = (&document["answer"], document["curve"].as_array().unwrap());
        let of_answer = curve.iter().find(|point| point["depth"] == answer["depth"]);
        if interrupted && let Some(point) = of_answer {
            assert_eq!(point["iops"], answer["iops"]);
        }
    }
    assert!(interrupted || done.code == Some(0), "{:?} {}", done.code, done.stderr);
}

#[test]
fn interrupts_at_random_times_end_cleanly() {
    let place = Place::new();
    let mut moments = Moments(1);
    for round in 0..20 {
        if round % 3 == 0 {
            place.run(&["clean", "."]).ends(0);
        }
        let run = place.start(LINES[round % LINES.len()]);
        std::thread::sleep(Duration::from_millis(20) + moments.next(1_000));
        run.signal(if round % 2 == 0 { "INT" } else { "TERM" });
        assert_kept(&place, &run.end());
    }
    place.run(&["clean", "."]).ends(0);
    assert!(place.names().is_empty());
}

#[test]
fn interrupt_during_ramp_reports_no_completed_io() {
    let place = Place::new();
    place.run(&["run", ".", "--size=8m", "--direct=0", "--runtime=10ms", "--ramp-time=0"]).ends(0);
    let run = place.start(&["run", ".", "--direct=0", "--ramp-time=1h"]);
    eventually(|| place.runs()[0].1 == "running");
    run.signal("INT");
    let text = run.end().ends(130).stdout;
    assert!(text.contains("No I/O was completed"), "{text}");
    assert!(!text.contains("-0.0") && !text.contains("depth-not-reached"), "{text}");
}

#[test]
fn kills_at_random_times_leave_a_consistent_state() {
    let place = Place::new();
    let mut moments = Moments(2);
    for round in 0..6 {
        let line = LINES[round % LINES.len()];
        let mut run = place.start(line);
        std::thread::sleep(Duration::from_millis(20) + moments.next(900));
        let ran = run.runs();
        run.kill();
        assert_tidy(&place);
        let states: Vec<String> = place.runs().into_iter().map(|run| run.1).collect();
        assert!(states.iter().all(|state| state == "crashed" || state == "done"), "{states:?}");
        assert!(ran || states.first().is_some_and(|state| state == "done"));
    }
    // The next run uses or completes the file that is there.
    let done = place.run(LINES[1]).ends(0);
    assert!(done.json()["steps"][0]["read"]["ios"].as_u64().unwrap() > 0);
    place.run(&["clean", "."]).ends(0);
    assert!(place.names().is_empty());
}

/// Starts an endless run and waits until it is in the history. Also returns its id.
fn endless(place: &Place, more: &[&str]) -> (Started, String) {
    let line = ["run", ".", "--size=8m", "--direct=0", "--runtime=1h", "--ramp-time=0", "--json"];
    let run = place.start(&[&line[..], more].concat());
    eventually(|| place.runs().iter().any(|run| run.1 == "running"));
    let id = place.runs()[0].0.clone();
    (run, id)
}

#[test]
fn killed_search_keeps_its_measured_points() {
    let place = Place::new();
    let line = ["find", ".", "--size=8m", "--budget=20s", "--max-starvation=100%", "--direct=0"];
    let run = place.start(&line);
    let steps = || -> usize {
        let text = place.run(&["history", "export"]).stdout;
        text.lines().filter(|line| line.contains("\"step\"")).count()
    };
    eventually(|| steps() >= 2);
    run.kill();
    assert_eq!(place.runs()[0].1, "crashed");
    let shown = place.run(&["history", "show"]).ends(0).stdout;
    assert!(shown.contains("is crashed") && shown.contains("IOPS"), "{shown}");
    let json = place.run(&["history", "show", "--format=json"]).ends(0).json();
    assert!(json["steps"].as_array().unwrap().len() >= 2);
    place.run(&["history", "show", "--format=iogauge-csv"]).ends(0);
}

#[test]
fn killed_run_keeps_partial_step_measurements() {
    let place = Place::new();
    let (run, id) = endless(&place, &[]);
    let kept = |id: &str| {
        place.run(&["history", "show", id, "--format=json"]).ends(0).json()["steps"].clone()
    };
    eventually(|| kept(&id).as_array().unwrap().len() == 1);
    run.kill();
    assert_eq!(place.runs()[0].1, "crashed");
    let step = &kept(&id)[0];
    assert!(step["label"].as_str().unwrap().ends_with(", unfinished"), "{}", step["label"]);
    let step: StepResult = serde_json::from_value(step["result"].clone()).unwrap();
    assert!(step.seconds >= 4.0 && step.ios() > 0 && step.began.is_some());
    assert!(step.series.len() > 30 && !step.system.is_empty() && step.physical.is_some());
    let shown = place.run(&["history", "show", &id]).ends(0).stdout;
    let line = shown.lines().find(|line| line.contains("unfinished")).unwrap();
    assert!(line.contains(" IOPS over ") && line.ends_with(" s"), "{shown}");
    // A run that ends properly keeps the complete step in place of the unfinished one.
    let (run, id) = endless(&place, &[]);
    eventually(|| kept(&id).as_array().unwrap().len() == 1);
    run.signal("INT");
    let document = run.end().ends(130).json();
    let steps = place.run(&["history", "export"]).ends(0).stdout;
    let lines = steps.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_run: Vec<Value> = lines.filter(|line| line["run"]["id"] == id.as_str()).collect();
    let step = &of_run[0]["step"];
    assert_eq!((of_run.len(), &step["result"]), (1, &document["steps"][0]));
    assert_eq!(step["label"], document["steps"][0]["label"]);
}

#[test]
fn rapidly_repeated_signals_count_as_one() {
    let place = Place::new();
    let (run, _) = endless(&place, &[]);
    let front = rustix::process::Pid::from_raw(run.pid() as i32).unwrap();
    for _ in 0..3 {
        // The process may have ended already, but its parent has not reaped it yet.
        rustix::process::kill_process(front, rustix::process::Signal::INT).unwrap();
    }
    assert_kept(&place, &run.end().ends(130));
    place.run(&["run", ".", "--runtime=50ms", "--ramp-time=0", "--direct=0"]).ends(0);
}

#[test]
fn stop_ends_a_run_and_keeps_its_result() {
    let place = Place::new();
    let (run, id) = endless(&place, &[]);
    let stopped = place.run(&["stop"]).ends(0);
    assert!(stopped.stdout.contains(&id), "{}", stopped.stdout);
    let done = run.end().ends(130);
    assert_eq!(done.json()["run_id"], id);
    assert_kept(&place, &done);
    place.run(&["stop"]).ends(2);
    place.run(&["stop", &id]).ends(2);
}

#[test]
fn stop_requires_a_run_id_if_several_are_running() {
    let place = Place::new();
    let line = ["run", "sim:nvme", "--runtime=1000d", "-q"];
    let mut runs = [place.start(&line), place.start(&line)];
    eventually(|| place.runs().iter().filter(|run| run.1 == "running").count() == 2);
    let several = place.run(&["stop"]).ends(2);
    assert!(several.stderr.contains("several runs are in progress"), "{}", several.stderr);
    let busy = place.run(&["history", "reset", "--yes"]).ends(2);
    assert!(busy.stderr.contains("still in progress"), "{}", busy.stderr);
    let id = place.runs()[0].0.clone();
    place.run(&["stop", &id[16..]]).ends(0);
    eventually(|| runs.iter_mut().map(|run| usize::from(!run.runs())).sum::<usize>() == 1);
    place.run(&["stop"]).ends(0);
    for run in runs {
        run.end().ends(130);
    }
}

#[test]
fn detached_run_can_be_stopped_by_id() {
    let place = Place::new();
    let line = ["run", ".", "--size=8m", "--direct=0", "--runtime=1h", "--detach"];
    let done = place.run(&line).ends(0);
    let (id, state) = place.runs()[0].clone();
    assert_eq!(state, "running");
    assert!(done.stdout.contains(&format!("run {id} is in progress")), "{}", done.stdout);
    assert_eq!(done.stderr, "");
    place.run(&["stop", &id]).ends(0);
    // It waited until the run had ended.
    assert_eq!(place.runs()[0].1, "interrupted");
    let shown: Value = place.run(&["history", "show", &id, "--format=json"]).ends(0).json();
    assert_eq!(shown["interrupted"], true);
    eventually(|| {
        !common::names(place.history().parent().unwrap()).iter().any(|n| n.contains("log"))
    });
    assert_tidy(&place);
    place.run(&["clean", "."]).ends(0);

    // The command itself reports a mistake, not a log file.
    let wrong = place.run(&["run", "missing", "--detach"]).ends(2);
    crate::common::assert_one_message(&wrong.stderr);
    assert_tidy(&place);
    let short = ["run", "sim:nvme", "--runtime=10ms", "--detach"];
    place.run(&short).ends(0);
    eventually(|| place.runs()[0].1 == "done");
    eventually(|| {
        !common::names(place.history().parent().unwrap()).iter().any(|n| n.contains("log"))
    });
}
