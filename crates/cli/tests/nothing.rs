//! Measurements without a result, and limits that nothing meets: each is reported and has its exit code.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place};

/// An I/O takes far longer than any of the tests.
const STUCK: &str = "sim:channels=4,service=1000s,dist=const";

/// Asserts that a command ends with the exit code for no completed I/O and gives the reason in one line.
#[track_caller]
fn assert_nothing(done: Done) -> Done {
    let done = done.ends(4);
    let lines: Vec<&str> = done.stderr.lines().filter(|line| line.contains("no I/O was")).collect();
    assert_eq!(lines.len(), 1, "{}", done.stderr);
    assert!(lines[0].starts_with("error: ") && done.stderr.contains("\nhint: "), "{}", done.stderr);
    done
}

#[track_caller]
fn assert_nothing_told(place: &Place, line: &[&str]) {
    let quiet = [line, &["--history=none", "--quiet"]].concat();
    let text = assert_nothing(place.run(&quiet)).stdout;
    assert!(text.contains("nothing-completed") && text.contains("o I/O was completed"), "{text}");
    let document = assert_nothing(place.run(&[&quiet[..], &["--json"]].concat())).json();
    let caveats = document["caveats"].as_array().unwrap();
    let told: Vec<_> = caveats.iter().filter(|c| c["code"] == "nothing-completed").collect();
    assert_eq!(told.len(), 1, "{caveats:?}");
    assert_eq!(told[0]["impact"], "doubt");
}

#[test]
fn run_without_completions_raises_a_caveat() {
    let place = Place::new();
    for options in [
        &["--ramp-time=0"][..],
        &["--ramp-time=2s"],
        &["--iodepth=64"],
        &["--rate-iops=1000", "--iodepth=8"],
        &["--rw=randwrite", "--thinktime=1s"],
        // No I/O is due in time.
        &["--startdelay=10s"],
    ] {
        assert_nothing_told(&place, &[&["run", STUCK, "--runtime=1s"], options].concat());
    }
}

#[test]
fn work_completed_during_ramp_raises_a_caveat() {
    let place = Place::new();
    let line = ["run", "sim:service=10ms", "--number-ios=20", "--ramp-time=5s"];
    assert_nothing_told(&place, &line);
}

#[test]
fn run_shorter_than_one_window_is_measured() {
    let place = Place::new();
    let line = ["run", "sim:service=100us,dist=const", "--ramp-time=0", "--history=none", "--json"];
    let measured = place.run(&[&line[..], &["--runtime=1ms"]].concat()).ends(0).json();
    assert_eq!(measured["steps"][0]["read"]["ios"], 10);
    assert_eq!(measured["steps"][0]["seconds"], 0.001);
    assert_nothing_told(&place, &[&line[..3], &["--runtime=50us"]].concat());
}

#[test]
fn search_without_completions_raises_a_caveat() {
    let place = Place::new();
    for options in [&["--budget=2s"][..], &[], &["--limit=p99<=1s", "--open-loop"]] {
        let line = [&["find", STUCK], options].concat();
        assert_nothing_told(&place, &line);
        let done = place.run(&[&line[..], &["--json", "--quiet", "--history=none"]].concat());
        // Nothing is known about the limit.
        assert_eq!(done.json()["answer"]["stopped_by"], "budget");
    }
}

#[test]
fn suite_without_completions_raises_a_caveat() {
    let place = Place::new();
    assert_nothing_told(&place, &["suite", "iometer", STUCK]);
}

/// Writes a job file.
fn job(place: &Place, text: &str) {
    std::fs::write(place.work().join("a.fio"), text).unwrap();
}

#[test]
fn job_file_without_completions_raises_a_caveat() {
    let place = Place::new();
    let line = ["run", "a.fio"];
    // All I/Os complete during the ramp.
    job(&place, "[a]\nfilename=f\nsize=1m\nnumber_ios=20\nramp_time=5\n");
    assert_nothing_told(&place, &line);
    // The same for one of several jobs.
    job(
        &place,
        "[global]\nfilename=f\nsize=1m\n[a]\nnumber_ios=20\n[b]\nstonewall\nnumber_ios=20\nramp_time=5\n",
    );
    assert_nothing_told(&place, &line);
}

#[test]
fn crosscheck_without_completions_raises_a_caveat() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    // A program that calls itself fio and does nothing. iogauge's own I/Os are not due in time.
    let script = "#!/bin/sh\nif [ \"$1\" = --version ]; then echo fio-3.99; exit 0; fi\ncat <<'END'\n\
                  {\n  \"jobs\" : [\n    { \"jobname\" : \"a\", \"read\" : { \"io_bytes\" : 0, \
                  \"total_ios\" : 0, \"runtime\" : 300 } }\n  ]\n}\nEND\n";
    let fake = place.work().join("fake");
    std::fs::write(&fake, script).unwrap();
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let via = format!("--via=fio={}", fake.display());
    let line = ["crosscheck", ".", "--size=16m", "--direct=0", "--startdelay=2s", "--rounds=2"];
    let more = [&via, "--runtime=300ms", "--ramp-time=0", "--json", "--quiet", "--history=none"];
    let document = assert_nothing(place.run(&[&line[..], &more].concat())).json();
    let caveats = document["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|c| c["code"] == "nothing-completed"), "{caveats:?}");
    assert!(document["steps"].as_array().unwrap().iter().all(|step| step["read"].is_null()));
}

#[test]
fn history_keeps_a_run_without_completions() {
    let place = Place::new();
    assert_nothing(place.run(&["run", STUCK, "--runtime=1s"]));
    let shown = place.run(&["history", "show", "last"]).ends(0).stdout;
    assert!(shown.contains("nothing-completed"), "{shown}");
    let listed = place.run(&["history", "list"]).ends(0).stdout;
    assert!(listed.contains("no I/O completed"), "{listed}");
}

#[test]
fn impossible_limit_is_unattainable_in_open_and_closed_loop() {
    let place = Place::new();
    // A single I/O takes twice as long as the limit allows.
    for device in ["sim:channels=8,service=100us", "sim:channels=8,service=100us,dist=const"] {
        for budget in ["--budget=1s", "--budget=2s", "--budget=30s"] {
            for limit in ["--limit=mean<=50us", "--limit=p99<=50us", "--limit=max<=50us"] {
                let line = ["find", device, limit, budget, "--history=none", "--json"];
                let closed = place.run(&line).ends(5);
                let open = place.run(&[&line[..], &["--open-loop"]].concat()).ends(5);
                for done in [closed, open] {
                    let document = done.json();
                    assert_eq!(document["answer"]["stopped_by"], "unattainable");
                    assert_eq!(document["answer"]["met"], false);
                    assert!(
                        done.stderr.contains(" cannot do 4 KiB random reads"),
                        "{}",
                        done.stderr
                    );
                }
            }
        }
    }
}
