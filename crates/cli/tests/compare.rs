//! `iogauge compare`, on simulated devices and on files.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, eventually};
use iogauge_test_support::{Loop, MIB, Throttle, or_skip};
use serde_json::Value;
use std::fs;

/// A device, and one that does 10 % fewer I/Os.
const FAST: &str = "sim:channels=8,service=1ms,seed=1";
const SLOW: &str = "sim:channels=8,service=1.1ms,seed=2";
const LOAD: [&str; 3] = ["--iodepth=8", "--randseed=1", "--quiet"];

fn compare(place: &Place, words: &[&str]) -> Done {
    place.run(&[&["compare"], words, &LOAD].concat())
}

/// Returns the verdict on each subject.
fn verdicts(done: &Done) -> Vec<String> {
    let compared = done.json()["findings"]["compared"].as_array().unwrap().clone();
    compared.iter().map(|one| one["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn verdict_has_its_exit_code_and_its_figures() {
    let place = Place::new();
    let done = compare(&place, &[FAST, SLOW]);
    assert_eq!(done.code, Some(6), "{}", done.stderr);
    insta::assert_snapshot!("compare_100", redacted(&done.stdout));
    let again = place.run(&["history", "show"]).ends(0);
    assert_eq!(again.stdout, done.stdout);
    let csv = place.run(&["history", "show", "--format=iogauge-csv"]).ends(0);
    assert!(csv.stdout.lines().count() > 12, "{}", csv.stdout);
    for (words, code, verdict) in [
        (&[SLOW, FAST][..], 0, "better"),
        (&[FAST, SLOW, "--baseline=B"], 0, "better"),
        (&[FAST, SLOW, "--metric=mean"], 6, "worse"),
        (&[FAST, SLOW, "--margin=20%"], 0, "equivalent"),
        (&[FAST, FAST], 0, "equivalent"),
        (&[FAST, SLOW, "--margin=10%", "--budget=35s"], 7, "undecided"),
    ] {
        let done = compare(&place, &[words, &["--json"]].concat());
        assert_eq!(
            (done.code, &*verdicts(&done)),
            (Some(code), &[verdict.to_owned()][..]),
            "{words:?}"
        );
    }
}

#[test]
fn capacities_and_settings_are_compared() {
    let place = Place::new();
    let twins = compare(&place, &[FAST, FAST]).ends(0).stdout;
    let words = format!("B (the same as A) and A ({FAST}) are equivalent");
    assert!(twins.starts_with(&words), "{twins}");
    let empty = compare(&place, &[FAST, "--a=", "--b=numjobs=1"]).ends(0).stdout;
    assert!(empty.starts_with("B (numjobs=1) and A (as given) are equivalent"), "{empty}");
    let words = ["compare", FAST, SLOW, "--limit=p99<=20ms", "--randseed=3", "--quiet", "--json"];
    let done = place.run(&words);
    assert_eq!((done.code, &*verdicts(&done)), (Some(6), &["worse".to_owned()][..]));
    assert!(done.json()["steps"][0]["result"]["search"].is_object());
    let words =
        ["compare", FAST, "--a=iodepth=4", "--b=iodepth=8", "--randseed=3", "--quiet", "--json"];
    let done = place.run(&words).ends(0);
    let ratio = done.json()["findings"]["compared"][0]["figures"][0]["ratio"]["mean"].clone();
    assert!((ratio.as_f64().unwrap() - 2.0).abs() < 0.05, "{ratio}");
}

#[test]
fn three_subjects_share_the_error() {
    let place = Place::new();
    let done = compare(&place, &[FAST, FAST, SLOW, "--json"]);
    assert_eq!(done.code, Some(6));
    assert_eq!(verdicts(&done), ["equivalent", "worse"]);
    let turns: Vec<String> = done.json()["steps"].as_array().unwrap()[..6]
        .iter()
        .map(|step| step["phase"].as_str().unwrap().to_owned())
        .collect();
    let reversed: Vec<String> = turns.iter().rev().cloned().collect();
    assert_eq!(turns, reversed);
}

#[test]
fn latencies_are_compared_at_the_same_rate() {
    let place = Place::new();
    let words =
        ["--rate_iops=3000", "--iodepth=64", "--metric=p99", "--json", "--randseed=2", "--quiet"];
    let done = place.run(&[&["compare", FAST, SLOW], &words[..]].concat());
    let figures = done.json()["findings"]["compared"][0]["figures"].clone();
    let ratio = |name: &str| {
        let all = figures.as_array().unwrap();
        let found = all.iter().find(|figure| figure["figure"] == name).unwrap();
        found["ratio"]["mean"].as_f64().unwrap()
    };
    assert!((ratio("iops") - 1.0).abs() < 0.01, "{figures}");
    assert!(ratio("latency_ns_p99") > 1.05, "{figures}");
}

#[test]
fn setup_runs_before_each_turn_and_its_failure_keeps_the_result() {
    let place = Place::new();
    let log = place.work().join("log");
    let note = format!("echo $IOGAUGE_SUBJECT >> {}; echo told", log.display());
    let fail = format!("{note}; test $(grep -c B {}) -lt 4", log.display());
    let words = [FAST, "--setup-a", &note, "--setup-b", &fail, "--margin=0", "--json"];
    let done = compare(&place, &words);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let document = done.json();
    let turns = document["steps"].as_array().unwrap();
    let phases: Vec<&str> = turns.iter().map(|step| step["phase"].as_str().unwrap()).collect();
    let logged = fs::read_to_string(&log).unwrap();
    let logged: Vec<&str> = logged.lines().collect();
    assert_eq!(logged[..logged.len() - 1], phases);
    let last = document["setups"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (last["output"].as_str(), last["failure"].as_str()),
        (Some("told\n"), Some("exit status: 1"))
    );
    let codes: Vec<&Value> =
        document["caveats"].as_array().unwrap().iter().map(|caveat| &caveat["code"]).collect();
    assert!(codes.iter().any(|code| **code == "setup-failed"), "{codes:?}");
    assert_eq!(document["findings"]["blocks"], 1);
}

#[test]
fn planned_comparison_goes_on_after_each_restart() {
    let place = Place::new();
    let words = ["--setup-a=true", "--setup-b=true", "--plan=p.plan"];
    let planned = compare(&place, &[&[FAST], &words[..]].concat()).ends(0);
    assert_eq!(
        planned.stdout,
        "p.plan: at most 30 blocks\nfirst: block 1 turn 1: A (true), by iogauge compare --resume p.plan\n"
    );
    let resume = || place.run(&["compare", "--resume", "p.plan"]);
    let mut turns = 0;
    let last = loop {
        let done = resume();
        turns += 1;
        let run = place.run(&["history", "show", "--format=json"]).ends(0);
        let steps = run.json()["steps"].as_array().unwrap().len();
        // One or two turns of one subject each time.
        assert!(steps <= 2 * turns && steps >= turns, "{steps} after {turns}");
        if !done.stderr.contains("next: block") {
            break done;
        }
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(!done.stdout.contains("--budget"), "{}", done.stdout);
        let kept = if turns == 1 { "No verdict yet: 1 turn, and no complete block." } else { "" };
        assert!(done.stdout.starts_with(kept), "{}", done.stdout);
    };
    assert_eq!(last.code, Some(0));
    assert_eq!(last.stderr, "", "--quiet of the plan counts");
    assert!(last.stdout.contains("equivalent within 5 %"), "{}", last.stdout);
    assert!(turns >= 6, "{turns}");
    // A simulated device does not repeat itself.
    let steps = place.run(&["history", "show", "--format=json"]).ends(0).json()["steps"].clone();
    let ios = |step: &Value| step["result"]["step"]["read"]["ios"].as_u64();
    let all = steps.as_array().unwrap();
    let distinct: std::collections::BTreeSet<_> = all.iter().map(ios).collect();
    assert!(distinct.len() + 2 > all.len() && !distinct.contains(&None), "{distinct:?}");
    // A finished plan shows its result.
    let again = resume().ends(0);
    assert_eq!(again.stdout, last.stdout);
    let runs = place.run(&["history", "list", "--json"]).ends(0);
    assert_eq!(runs.json()["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn setup_that_failed_or_was_interrupted_runs_again_when_a_plan_is_resumed() {
    let place = Place::new();
    let setup =
        "echo no $IOGAUGE_SUBJECT; test ! -e slow || { touch waits; sleep 60; }; test -e ready";
    let words = [FAST, "--setup-a", setup, "--setup-b", setup, "--plan=p.plan"];
    compare(&place, &words).ends(0);
    let resume = ["compare", "--resume", "p.plan", "--quiet"];
    let file = |name: &str| place.work().join(name);
    let failed = place.run(&resume).ends(1);
    assert!(failed.stdout.contains("failed (exit status: 1: no "), "{}", failed.stdout);
    assert!(failed.stderr.contains("next: block 1 turn 1"), "{}", failed.stderr);
    fs::write(file("ready"), "").unwrap();
    let done = place.run(&resume).ends(0);
    assert!(!done.stdout.contains("setup-failed"), "{}", done.stdout);
    fs::write(file("slow"), "").unwrap();
    let started = place.start(&resume);
    eventually(|| file("waits").exists());
    started.signal("INT");
    let done = started.end().ends(130);
    assert!(!done.stdout.contains("setup-failed"), "{}", done.stdout);
    assert!(done.stderr.contains("next: block 1 turn 2"), "{}", done.stderr);
    assert_eq!(place.runs()[0].1, "interrupted");
    fs::remove_file(file("slow")).unwrap();
    place.run(&resume).ends(0);
    let run = place.run(&["history", "show", "--format=json"]).ends(0).json();
    let [setups, steps] = ["setups", "steps"].map(|name| run[name].as_array().unwrap().len());
    assert_eq!((setups, steps), (3, 3), "{}", run["setups"]);
}

#[test]
fn changed_plan_is_refused() {
    let place = Place::new();
    let plan = place.work().join("p.plan");
    compare(&place, &[FAST, "--a=bs=4k", "--b=bs=8k", "--plan=p.plan"]).ends(0);
    let resume = || place.run(&["compare", "--resume", "p.plan"]);
    let edited = |from: &str, to: &str, wanted: &str| {
        let text = fs::read_to_string(&plan).unwrap();
        fs::write(&plan, text.replacen(from, to, 1)).unwrap();
        let done = resume().ends(2);
        assert!(done.stderr.contains(wanted), "{}", done.stderr);
        fs::write(&plan, text).unwrap();
    };
    edited("BAAB", "ABBA", "its blocks are not those of its arguments");
    resume().ends(0);
    edited("--iodepth=8", "--iodepth=32", "the plan has changed since run ");
    edited("--quiet", "--margin=1%", "the plan has changed since run ");
    resume().ends(0);
    let again = |more: &str| compare(&place, &[FAST, "--b=bs=8k", "--plan=p.plan", more]);
    let refused = again("--json").ends(3);
    assert!(refused.stderr.contains("hint: go on with --resume p.plan"), "{}", refused.stderr);
    again("--force").ends(0);
    let done = place.run(&["compare", "--resume", "p.plan", "--history=h.db"]).ends(0);
    assert!(done.stderr.contains("/work/h.db"), "{}", done.stderr);
}

#[test]
fn plan_runs_once_at_a_time() {
    let place = Place::new();
    let setup = "touch waits; until test -e ready; do sleep 0.05; done";
    compare(&place, &[FAST, "--setup-a", setup, "--setup-b", setup, "--plan=p.plan"]).ends(0);
    let resume = ["compare", "--resume", "p.plan"];
    let first = place.start(&resume);
    eventually(|| place.work().join("waits").exists());
    let second = place.run(&resume).ends(2);
    assert!(second.stderr.contains("is in progress"), "{}", second.stderr);
    fs::write(place.work().join("ready"), "").unwrap();
    first.end().ends(0);
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn test_files_of_a_plan_are_removed_at_its_end() {
    let place = Place::new();
    let directories = ["a", "b"].map(|name| place.work().join(name));
    directories.iter().for_each(|directory| fs::create_dir(directory).unwrap());
    let words = ["compare", "a", "b", "--size=8m", "--iodepth=1", "--ioengine=psync", "--rm"];
    let times = ["--runtime=50ms", "--ramp-time=0", "--budget=1s", "--margin=50%", "--quiet"];
    place.run(&[&words[..], &times, &["--plan=p.plan"]].concat()).ends(0);
    let files = || directories.each_ref().map(|directory| directory.join("iogauge.dat").exists());
    let resumed = || place.run(&["compare", "--resume", "p.plan", "--quiet"]);
    let goes_on = (0..20).take_while(|_| resumed().stderr.contains("next: block"));
    assert!(goes_on.inspect(|_| assert_eq!(files(), [true, true])).count() >= 5);
    assert_eq!(files(), [false, false]);
    let again = [&words[..], &times, &["--plan=q.plan", "--json"]].concat();
    let planned = place.run(&again).ends(0).json();
    assert!(planned["targets"][0].as_str().unwrap().ends_with("a/iogauge.dat"), "{planned}");
    fs::remove_dir(&directories[0]).unwrap();
    let done = place.run(&["compare", "--resume", "q.plan"]).ends(2);
    assert!(done.stderr.contains("there is no directory /"), "{}", done.stderr);
}

#[test]
fn planned_comparison_loses_only_the_turn_that_was_killed() {
    let place = Place::new();
    let words = ["compare", ".", "--a=iodepth=1", "--b=iodepth=2", "--size=8m", "--ioengine=psync"];
    let times = ["--runtime=400ms", "--ramp-time=0", "--budget=6s", "--margin=0", "--quiet"];
    let setups = ["--setup-a=true", "--setup-b=true", "--plan=p.plan"];
    place.run(&[&words[..], &times, &setups].concat()).ends(0);
    let resume = ["compare", "--resume", "p.plan", "--quiet"];
    place.run(&resume).ends(0);
    // Key and length of each turn. The document of a run that was killed has its records as they are.
    let kept = || {
        let run = place.run(&["history", "show", "--format=json"]).ends(0).json();
        let turns = run["steps"].as_array().unwrap().iter().map(|step| {
            let step = if step["recorded"].is_null() { step } else { &step["result"] };
            let seconds = step["result"]["step"]["seconds"].as_f64();
            assert!(seconds >= Some(0.39), "{step:.300}");
            (step["key"].to_string(), seconds.map(f64::to_bits))
        });
        turns.collect::<Vec<_>>()
    };
    for after_ms in [100, 300, 500] {
        let before = kept();
        let mut started = place.start(&resume);
        let _ = started.worker();
        std::thread::sleep(std::time::Duration::from_millis(after_ms));
        let runs = started.runs();
        started.kill();
        let after = kept();
        assert_eq!(after[..before.len()], before[..], "a finished turn is kept as it was");
        assert!(after.len() <= before.len() + if runs { 1 } else { 2 }, "{}", after.len());
    }
    let done =
        (0..12).map(|_| place.run(&resume)).find(|done| !done.stderr.contains("next: block"));
    let done = done.expect("the comparison ends");
    assert!([Some(0), Some(6), Some(7)].contains(&done.code), "{}", done.stderr);
    let turns = kept();
    let keys: std::collections::BTreeSet<&String> = turns.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), turns.len(), "no turn counts twice: {keys:?}");
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn saved_runs_are_compared_with_their_differences() {
    let place = Place::new();
    let run = |target: &str, more: &[&str]| {
        let words = ["run", target, "--iodepth=8", "--runtime=1s", "--ramp-time=0", "--quiet"];
        place.run(&[&words[..], more].concat()).ends(0);
    };
    run(FAST, &[]);
    run(SLOW, &[]);
    let done = place.run(&["compare", "last-1", "last"]);
    assert_eq!(done.code, Some(7), "{}", done.stderr);
    insta::assert_snapshot!("compare_runs_100", redacted(&done.stdout));
    for seed in ["1", "2", "3", "4", "5"] {
        run(SLOW, &["--randseed", seed, "--label=before"]);
        run(FAST, &["--randseed", seed, "--label=after"]);
    }
    let done = place.run(&["compare", "label:before", "label:after", "--json"]);
    assert_eq!((done.code, &*verdicts(&done)), (Some(0), &["better".to_owned()][..]));
    for words in [["label:before", "label:before"], ["last-1..last", "label:after"]] {
        let done = place.run(&[&["compare"][..], &words].concat());
        assert_eq!(done.code, Some(2), "{words:?}");
        assert!(done.stderr.contains("is on two sides"), "{}", done.stderr);
    }
    place.run(&["history", "label", "label:before", "kernel/6.8"]).ends(0);
    place.run(&["compare", "label:kernel/6.8", "label:after"]).ends(0);
    run(FAST, &["--bs=8k"]);
    let done = place.run(&["compare", "last-1", "last"]);
    assert_eq!(done.code, Some(2));
    let wanted = "the loads of these runs differ: load.block.read is 4 KiB and 8 KiB";
    assert!(done.stderr.contains(wanted), "{}", done.stderr);
    assert_eq!(place.run(&["compare", "last-1", "last", "--unlike"]).code, Some(7));
    let failing = format!("{FAST},eio=1");
    let words = ["run", &failing, "--iodepth=8", "--runtime=1s", "--ramp-time=0", "--quiet"];
    place.run(&words).ends(4);
    let done = place.run(&["compare", "last-2", "last", "--unlike"]).ends(4);
    assert!(done.stdout.contains("In doubt: not-interleaved, io-errors"), "{}", done.stdout);
    assert!(done.stdout.contains("in 1 of 2 runs; of "), "{}", done.stdout);
}

#[test]
fn blocks_without_an_answer_are_left_out() {
    let place = Place::new();
    // At queue depth 1, p99 is so close to the limit that some searches end undecided.
    let faster = "sim:channels=8,service=800us";
    let words = ["compare", "sim:channels=8,service=1ms", faster, "--randseed=1", "--quiet"];
    let done = place.run(&[&words[..], &["--json"]].concat());
    let findings = &done.json()["findings"];
    let counts = ["blocks", "blocks_left_out"].map(|name| findings[name].as_u64().unwrap());
    assert!(counts[0] >= 3 && counts[1] >= 1, "{counts:?}");
    assert_eq!((done.code, &*verdicts(&done)), (Some(0), &["better".to_owned()][..]));
    let text = place.run(&["history", "show"]).ends(0).stdout;
    assert!(text.contains("left out: the search in block"), "{text}");
    // No block counts if its turns are too short for the figure.
    let words = ["compare", FAST, FAST, "--iodepth=1", "--runtime=100ms", "--metric=p99.9"];
    let done = place.run(&[&words[..], &["--quiet"]].concat());
    assert_eq!(done.code, Some(7));
    assert!(done.stdout.starts_with("Undecided: block 1 turn "), "{}", done.stdout);
    let turns = place.run(&["history", "show", "--format=json"]).json();
    assert_eq!(turns["steps"].as_array().unwrap().len(), 8, "it ends after two blocks");
}

#[test]
fn directory_named_in_two_ways_is_opened_once() {
    let place = Place::new();
    let words = ["compare", ".", "./", "--size=16m", "--iodepth=2", "--runtime=100ms"];
    let times = ["--ramp-time=0", "--budget=2s", "--margin=50%", "--json", "--quiet", "--rm"];
    let done = place.run(&[&words[..], &times].concat());
    assert!([Some(0), Some(6), Some(7)].contains(&done.code), "{}", done.stderr);
    assert!(!place.work().join("iogauge.dat").exists());
}

#[test]
fn mistakes_are_refused_before_anything_is_measured() {
    let place = Place::new();
    for (words, wanted) in [
        (&["sim:nvme"][..], "needs two subjects"),
        (&["sim:nvme", "last"], "a run cannot be compared with a target"),
        (&["sim:nvme", "sim:hdd", "sim:array", "--a=bs=8k"], "are for two subjects"),
        (&["sim:nvme", "--a=bs=8k", "--b=bz=8k"], "--b: there is no option --bz"),
        (&["sim:nvme", "--a=metric=p99", "--b=bs=8k"], "--metric is common to all subjects"),
        (&["sim:nvme", "--a=bs=8k", "--b=runtime=4s"], "--runtime is common to all subjects"),
        (&["sim:nvme", "--a=iodepth=8", "--b=bs=8k"], "cannot be compared with a search"),
        (&["sim:nvme", "sim:hdd", "--baseline=C"], "the subjects are A to B"),
        (&["sim:nvme", "sim:hdd", "--iodepth=8", "--limit=p99<=5ms"], "is not searched"),
        (&["sim:nvme", "sim:hdd", "--iodepth=8", "--budget=10s"], "--budget is too short"),
        (&["sim:nvme", "sim:hdd", "--number_ios=5"], "belongs to run"),
        (&["sim:nvme", "sim:hdd", "--runtime=0"], "measures nothing"),
        (&["sim:nvme", "sim:hdd", "--margin=80%"], "between 0% and 50%"),
        (&["sim:nvme", "sim:hdd", "--metric=p42"], "is not a metric"),
        (&["sim:nvme", "sim:hdd", "--iodepth=8", "--precision=1%"], "--precision is for a search"),
        (&["sim:nvme", "sim:hdd", "--ramp-time=1s"], "a search has no ramp"),
        (&["sim:nvme", "sim:hdd", "--iodepth=8", "--unlike"], "--unlike is for saved runs"),
        (&["sim:nvme", "--a=iodepth=4", "--b=rate_iops=100"], "a rate cannot be compared"),
        (&["last-1", "last", "--iodepth=8"], "--iodepth is for targets"),
        (&["last-1", "last", "--a=bs=8k"], "--a is for targets"),
        (&["last-1", "last", "--label=x"], "--label is for targets"),
        (&["last-1", "last", "--plan=x.plan"], "saved runs cannot be planned"),
        (&["--resume", "nothing.plan"], "nothing.plan"),
        (&["--resume", "p.plan", "--metric=p99"], "--metric belongs to --plan"),
        (&["--resume", "p.plan", "--margin=5%", "--quiet"], "--margin belongs to --plan"),
        (&["--resume", "p.plan", "--iodepth=99"], "--iodepth belongs to --plan"),
        (&["--resume", "p.plan", "--destroy-data"], "--destroy-data belongs to --plan"),
        (&["last-1", "last"], "no run"),
    ] {
        let done = place.run(&[&["compare"], words].concat());
        assert_eq!(done.code, Some(2), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(wanted), "{words:?}: {}", done.stderr);
        assert_eq!(done.stdout, "");
    }
    let fifo = place.work().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let done = place.run(&["compare", "--resume", "fifo"]).ends(2);
    assert!(done.stderr.contains("it is no file"), "{}", done.stderr);
    fs::write(place.work().join("foreign"), "mine").unwrap();
    let words = ["compare", "sim:nvme", "--a=bs=4k", "--b=bs=8k", "--plan=foreign"];
    assert_eq!(place.run(&words).code, Some(3));
    assert_eq!(fs::read(place.work().join("foreign")).unwrap(), b"mine");
}

/// Returns a text without the lines that differ between runs and machines.
fn redacted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.retain(|line| !line.contains('Z') && !line.contains(": 1 run, "));
    let end = lines.iter().position(|line| line.starts_with("On ")).unwrap_or(lines.len());
    lines[..end].join("\n")
}

#[test]
fn throttled_devices_are_told_apart_within_a_minute() {
    let test = "throttled_devices_are_told_apart_within_a_minute";
    let devices = [or_skip!(test, Loop::new(64 * MIB)), or_skip!(test, Loop::new(64 * MIB))];
    let [a, b] = &devices;
    let _limit = or_skip!(test, Throttle::of_each(&[(&a.path, 1000), (&b.path, 1050)]));
    let place = Place::new();
    let [a, b] = [a, b].map(|device| device.path.to_str().unwrap());
    let words =
        ["compare", a, b, "--iodepth=32", "--margin=0", "--budget=48s", "--json", "--quiet"];
    // A throttle gives its full rate only to a load that is always ready. 32 I/Os last 30 ms, longer than a busy machine
    // usually takes to give the thread a processor. If it takes longer, the comparison may be undecided, and never wrong.
    for _ in 0..3 {
        let done = place.run(&words);
        let ratio = done.json()["findings"]["compared"][0]["figures"][0]["ratio"]["mean"].clone();
        assert!((ratio.as_f64().unwrap() - 1.05).abs() < 0.04, "{ratio}");
        match verdicts(&done)[0].as_str() {
            "better" => return assert_eq!(done.code, Some(0)),
            verdict => assert_eq!((verdict, done.code), ("undecided", Some(7))),
        }
    }
    panic!("undecided three times");
}
