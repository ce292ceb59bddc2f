//! iogauge is stopped and continued while it measures: the stop is not counted as the target's time.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, eventually, skip};
use iogauge_test_support::Group;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::time::{Duration, Instant};

/// Time for which iogauge is stopped.
const STOPPED: Duration = Duration::from_secs(2);
/// No cached read takes this long by itself. Every read that is outstanding during a stop takes longer.
const TOO_LONG_NS: f64 = 1.5e9;

/// A run of four seconds on the file of [`place`].
const LINE: [&str; 8] = [
    "run",
    "file",
    "--direct=0",
    "--runtime=4",
    "--ramp-time=0",
    "--json",
    "--quiet",
    "--history=none",
];

/// Makes a place with a cached file, whose reads take microseconds on any machine.
fn place() -> Place {
    let place = Place::new();
    std::fs::write(place.work().join("file"), vec![1; 16 << 20]).unwrap();
    place
}

/// Returns the text of a file in `/proc`, which is empty if the process is gone.
fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns a process and all its descendants.
fn family(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let all = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: u32| {
        let stat = text(&format!("/proc/{pid}/stat"));
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let children = all.filter(|child| parent(*child) == Some(pid)).collect::<Vec<_>>();
    std::iter::once(pid).chain(children.into_iter().flat_map(family)).collect()
}

/// Returns true if a process has a worker among its threads.
fn has_worker(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    let comm = |task: std::fs::DirEntry| text(&format!("{}/comm", task.path().display()));
    tasks.filter_map(Result::ok).any(|task| comm(task).trim() == "iogauge-0")
}

/// Returns the process of a command that does the I/O.
#[track_caller]
fn working(command: u32) -> u32 {
    let mut found = None;
    eventually(|| {
        found = family(command).into_iter().find(|pid| has_worker(*pid));
        found.is_some()
    });
    found.unwrap()
}

fn signal(name: &str, pid: u32) {
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

/// Stops a process for a while. Returns the longest time that the stop can have taken.
fn stop_for_a_while(pid: u32) -> Duration {
    let begin = Instant::now();
    signal("STOP", pid);
    std::thread::sleep(STOPPED);
    signal("CONT", pid);
    begin.elapsed()
}

/// Returns the message of the caveat and the seconds of pause in it.
#[track_caller]
fn told(document: &Value) -> (String, f64) {
    let caveats = document["caveats"].as_array().unwrap();
    let paused = caveats.iter().find(|caveat| caveat["code"] == "paused");
    let message = paused.expect("a caveat")["message"].as_str().unwrap().to_owned();
    let seconds = message.split(", for ").nth(1).and_then(|rest| rest.split(' ').next());
    (message.clone(), seconds.unwrap().parse().unwrap())
}

#[track_caller]
fn assert_told(document: &Value, at_most: Duration) -> String {
    let (message, seconds) = told(document);
    assert!(message.starts_with("iogauge was paused once, for "), "{message}");
    // The message gives tenths of a second.
    let range = STOPPED.as_secs_f64() - 0.3..=at_most.as_secs_f64() + 0.1;
    assert!(range.contains(&seconds), "{message}; {range:?}");
    message
}

#[test]
fn stopped_time_is_excluded_from_the_measurement() {
    let place = place();
    for more in [&["--iodepth=4"][..], &["--rate-iops=2000", "--iodepth=4"]] {
        let run = place.start(&[&LINE[..], more].concat());
        let pid = working(run.pid());
        std::thread::sleep(Duration::from_secs(1));
        let at_most = stop_for_a_while(pid);
        assert_left_out(&run.end().ends(0).json(), at_most);
    }
}

#[test]
fn frozen_cgroup_time_is_excluded_from_the_measurement() {
    let group = match Group::to_freeze() {
        Ok(group) => group,
        Err(why) => return skip("frozen_cgroup_time_is_excluded_from_the_measurement", &why),
    };
    let place = place();
    let line = [&LINE[..], &["--iodepth=4"]].concat();
    let run = group.command(&place, &line).spawn().unwrap();
    working(run.id());
    std::thread::sleep(Duration::from_secs(1));
    let begin = Instant::now();
    group.freeze(true);
    std::thread::sleep(STOPPED);
    group.freeze(false);
    let at_most = begin.elapsed();
    let done: Done = run.wait_with_output().unwrap().into();
    assert_left_out(&done.ends(0).json(), at_most);
}

/// Asserts what must be true of a run of four seconds that was stopped.
#[track_caller]
fn assert_left_out(document: &Value, at_most: Duration) {
    assert_told(document, at_most);
    let step = &document["steps"][0];
    for kind in ["service_ns", "response_ns"] {
        if let Some(max) = step["read"][kind]["max"].as_f64() {
            assert!(max < TOO_LONG_NS, "{kind}: {max}");
        }
    }
    // The run measured for the whole requested time, without the stop.
    let seconds = step["seconds"].as_f64().unwrap();
    assert!((3.9..4.9).contains(&seconds), "{seconds}");
    for interval in step["series"].as_array().unwrap() {
        assert!(interval["seconds"].as_f64().unwrap() < 1.5, "{interval}");
    }
    let codes: Vec<_> = document["caveats"].as_array().unwrap().iter().collect();
    assert!(codes.iter().all(|c| c["code"] != "rate-not-reached"), "{codes:?}");
}

/// Waits for a progress line that begins with this text. Returns all lines up to it.
fn await_line(progress: &mut impl BufRead, begin: &str) -> String {
    let mut all = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(progress.read_line(&mut line).unwrap(), 0, "no \"{begin}\" in {all}");
        all.push_str(&line);
        if line.starts_with(begin) {
            return all;
        }
    }
}

#[test]
fn search_repeats_windows_disturbed_by_a_stop() {
    let place = place();
    let line = [
        "find",
        "file",
        "--direct=0",
        "--ioengine=psync",
        "--limit=max<=1s",
        "--budget=8s",
        "--max-depth=2",
        "--max-starvation=100%",
        "--explain",
        "--json",
        "--history=none",
    ];
    let mut search: Child = place.command(&line).spawn().unwrap();
    // Read in parallel with the progress, because the document is larger than a pipe.
    let mut stdout = search.stdout.take().unwrap();
    let document = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    });
    let mut progress = BufReader::new(search.stderr.take().unwrap());
    let mut all = await_line(&mut progress, "confirming queue depth");
    let pid = working(search.id());
    std::thread::sleep(Duration::from_millis(300));
    let at_most = stop_for_a_while(pid);
    let mut rest = String::new();
    progress.read_to_string(&mut rest).unwrap();
    all.push_str(&rest);
    assert_eq!(search.wait().unwrap().code(), Some(0), "{all}");
    let document: Value = serde_json::from_str(&document.join().unwrap()).unwrap();
    let message = assert_told(&document, at_most);
    assert!(message.ends_with("; one point was measured again"), "{message}");
    assert!(all.contains("\niogauge was paused for 2."), "{all}");
    // The queue depth is confirmed again after the stop, and keeps a limit that the stop would break.
    let confirmations = rest.matches("\nconfirming queue depth").count();
    assert!(confirmations >= 1, "{all}");
    assert_eq!(document["answer"]["met"], true, "{}", document["answer"]);
    for point in document["curve"].as_array().unwrap() {
        assert!(point["latency_ns"]["max"].as_f64().unwrap() < TOO_LONG_NS, "{point}");
    }
}
