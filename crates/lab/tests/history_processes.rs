//! Tests of the history with several processes: killed, concurrent and stopped ones.
//!
//! The children run the ignored test `child` of this test binary.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::new_run;
use iogauge_lab::history::{Ending, Filter, History, HistoryError, RunRef, RunState};
use serde_json::json;
use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// A child that is killed when the test ends.
struct Writer {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Writer {
    /// Spawns a child that writes `runs` runs of `steps` steps each; endlessly many runs if `runs` is 0.
    fn start(path: &Path, runs: u32, steps: u32) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--ignored", "--exact", "child", "--nocapture", "--test-threads=1"])
            .env("HISTORY_CHILD", path)
            .env("HISTORY_CHILD_RUNS", runs.to_string())
            .env("HISTORY_CHILD_STEPS", steps.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Returns the child's next line about something that the history has kept. A kill may cut the last line short;
    /// only complete lines count.
    fn promise(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let line = line.trim_end_matches('\n');
            if line.starts_with("kept ") && line.ends_with('.') {
                return Some(line.to_owned());
            }
        }
    }

    /// Returns all further such lines until the child ends.
    fn promises(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.promise()).collect()
    }
}

#[test]
#[ignore = "runs as a child of the other tests"]
fn child() {
    let path = env::var_os("HISTORY_CHILD").expect("started by the other tests alone");
    let number = |name| env::var(name).unwrap().parse::<u32>().unwrap();
    let (runs, steps) = (number("HISTORY_CHILD_RUNS"), number("HISTORY_CHILD_STEPS"));
    let history = History::open(Path::new(&path)).unwrap();
    let mut done = 0;
    while runs == 0 || done < runs {
        let mut writer = history.begin(&new_run()).unwrap();
        println!("kept {} begin 0.", writer.id());
        for index in 0..steps {
            let filler = "x".repeat(2000);
            writer.add_step(index, "step", &json!({"depth": index, "filler": filler})).unwrap();
            println!("kept {} step {index}.", writer.id());
        }
        let id = writer.finish(Ending::Done, 0, &json!({}), "done").unwrap();
        println!("kept {id} finish 0.");
        done += 1;
    }
}

/// Fails unless the history has everything that it kept according to these lines.
fn check_promises(history: &History, promises: &[String]) {
    for promise in promises {
        let words: Vec<_> = promise.trim_end_matches('.').split(' ').collect();
        let id: RunRef = words[1].parse().unwrap();
        let run = history.show(&id).unwrap_or_else(|e| panic!("{promise}: {e}"));
        match words[2] {
            "begin" => {}
            "finish" => assert_eq!(run.row.state, RunState::Done, "{promise}"),
            _ => {
                let index: u32 = words[3].parse().unwrap();
                assert!(run.steps.iter().any(|step| step.index == index), "{promise}");
            }
        }
    }
}

#[test]
fn kill_at_any_time_loses_at_most_the_current_step() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("history.db");
    let mut promised = 0;
    for round in 0..20u64 {
        // The kills range from before the file exists to well into the runs, and fall anywhere within a step. Primes
        // spread the moments.
        let mut writer = Writer::start(&path, 0, 5);
        let mut promises: Vec<String> =
            (0..round * 17 % 40).map(|_| writer.promise().unwrap()).collect();
        sleep(Duration::from_micros(round * 7919 % 2000));
        writer.child.kill().unwrap();
        writer.child.wait().unwrap();
        promises.extend(writer.promises());
        let history = History::open(&path).unwrap();
        check_promises(&history, &promises);
        promised += promises.len();
        for row in history.list(&Filter::default()).unwrap() {
            assert!(matches!(row.state, RunState::Done | RunState::Crashed), "{row:?}");
        }
    }
    assert!(promised > 300, "the children kept {promised} things only");
    // An endless run is in progress whenever it is killed.
    let mut writer = Writer::start(&path, 0, u32::MAX);
    let begun = writer.promise().unwrap();
    drop(writer);
    let history = History::open(&path).unwrap();
    check_promises(&history, &[begun]);
    let crashed = Filter { state: Some(RunState::Crashed), ..Filter::default() };
    assert!(!history.list(&crashed).unwrap().is_empty());
    history.check_writable().unwrap();
}

#[test]
fn several_processes_write_history_concurrently() {
    const WRITERS: usize = 4;
    const RUNS: usize = 15;
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("history.db");
    let mut writers: Vec<_> = (0..WRITERS).map(|_| Writer::start(&path, RUNS as u32, 4)).collect();
    let mut promises = Vec::new();
    for writer in &mut writers {
        promises.extend(writer.promises());
        assert!(writer.child.wait().unwrap().success());
    }
    let history = History::open(&path).unwrap();
    let rows = history.list(&Filter::default()).unwrap();
    assert_eq!(rows.len(), WRITERS * RUNS);
    assert!(rows.iter().all(|row| row.state == RunState::Done && row.steps == 4));
    check_promises(&history, &promises);
}

#[test]
fn running_run_can_be_stopped_and_unfinished_run_is_crashed() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("history.db");
    let history = History::open(&path).unwrap();
    assert!(matches!(history.stop(None), Err(HistoryError::NothingRunning)));

    let mut writer = Writer::start(&path, 1, 1_000_000);
    let mut tries = 0;
    while history.running().unwrap().first().is_none_or(|row| row.steps == 0) {
        sleep(Duration::from_millis(5));
        tries += 1;
        assert!(tries < 2000, "the child began no run");
    }
    let own = history.begin(&new_run()).unwrap();
    let several = history.stop(None).unwrap_err();
    assert!(matches!(several, HistoryError::SeveralRunning { .. }), "{several}");
    own.finish(Ending::Done, 0, &json!({}), "").unwrap();
    let finished = history.stop(Some(&RunRef::Back(0))).unwrap_err().to_string();
    assert!(finished.contains("is not in progress: it is done"), "{finished}");

    let stopped = history.stop(None).unwrap();
    assert_eq!(stopped.pid, writer.child.id());
    drop(writer.child.stdout.take());
    let status = writer.child.wait().unwrap();
    assert_eq!(status.signal(), Some(15), "{status}");
    let run = history.show(&RunRef::Back(1)).unwrap();
    assert_eq!((run.row.id, run.row.state), (stopped.run, RunState::Crashed));
    assert!(!run.steps.is_empty());
}
