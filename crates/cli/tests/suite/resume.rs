//! Interrupted suites continue where they ended.

use crate::common::{Place, kill_both};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Options for a target in real time, so that there is time to interrupt it.
const OPTIONS: [&str; 6] = [
    "--bs=4k,8k,16k",
    "--seconds=300ms",
    "--iodepth=2",
    "--size=16m",
    "--quiet",
    "--ioengine=psync",
];

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["suite", "blocksize", "."], &OPTIONS[..], more].concat()
}

/// Returns the number of steps that the history has of the last run.
fn kept(place: &Place) -> usize {
    if !place.history().exists() {
        return 0;
    }
    let done = place.run(&["history", "show", "last", "--format=json"]);
    let Ok(stored) = serde_json::from_str::<Value>(&done.stdout) else { return 0 };
    stored["steps"].as_array().map_or(0, Vec::len)
}

/// Starts the suite, waits until this many steps are kept, and sends a signal.
fn cut_short(place: &Place, steps: usize, signal: i32) {
    let mut child = place.command(&arguments(&[])).spawn().unwrap();
    let begin = Instant::now();
    while kept(place) < steps {
        assert!(begin.elapsed() < Duration::from_secs(60), "no step was kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    if signal == libc::SIGKILL {
        return kill_both(&mut child);
    }
    // SAFETY: sends a signal to a child that was not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
    child.wait().unwrap();
}

fn goes_on(signal: i32) {
    let place = Place::new();
    cut_short(&place, 2, signal);
    let id = place.run(&["history", "list"]).ends(0).stdout;
    let before = kept(&place);
    let document = place.run(&arguments(&["--resume", "--json"])).ends(0).json();
    let steps = document["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &document["steps_left"]), (6, &Value::from(0)));
    assert_eq!(document["resumed"], 1);
    assert!(id.contains(document["run_id"].as_str().unwrap()), "{id}");
    let codes = document["caveats"].as_array().unwrap();
    assert!(codes.iter().any(|caveat| caveat["code"] == "resumed"), "{codes:?}");
    // The kept steps of the first part are not measured again.
    let first: Vec<&Value> = steps.iter().filter(|step| step["part"] == 0).collect();
    assert!(first.len() >= 2 && first.len() <= before, "{} of {before}", first.len());
    assert!(steps.iter().all(|step| step.get("interrupted").is_none()));
    let runs = place.run(&["history", "list"]).ends(0).stdout;
    assert_eq!(runs.lines().filter(|line| line.contains("suite")).count(), 1, "{runs}");
    let done = place.run(&arguments(&["--resume"])).ends(2);
    assert!(done.stderr.contains("no run of suite blocksize"), "{}", done.stderr);
}

#[test]
fn interrupted_suite_can_be_resumed() {
    goes_on(libc::SIGINT);
}

#[test]
fn killed_suite_can_be_resumed() {
    goes_on(libc::SIGKILL);
}

#[test]
fn resume_with_different_options_is_refused() {
    let place = Place::new();
    cut_short(&place, 1, libc::SIGINT);
    let done = place.run(&["suite", "blocksize", ".", "--iodepth=3", "--resume"]).ends(2);
    assert!(done.stderr.contains("was begun with --iodepth=2, not --iodepth=3"), "{}", done.stderr);
    let done = place.run(&["suite", "blocksize", ".", "--rw=randread", "--resume"]).ends(2);
    assert!(done.stderr.contains("was begun with no --rw"), "{}", done.stderr);
    // `.` in another directory is another target.
    std::fs::create_dir(place.work().join("other")).unwrap();
    let mut command = place.command(&["suite", "blocksize", ".", "--resume"]);
    let output = command.current_dir(place.work().join("other")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("measured"), "{said}");
    // Options need not be repeated.
    let done =
        place.run(&["suite", "blocksize", ".", "--resume=last", "--json", "--quiet"]).ends(0);
    assert_eq!(done.json()["steps"].as_array().unwrap().len(), 6);
}
