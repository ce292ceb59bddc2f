//! `iogauge check`: does a target meet a requirement?
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, eventually, near};
use iogauge_test_support::mmc::Queue;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Serves up to 8,000 I/Os per second. Response times follow Erlang's formula.
const TARGET: &str = "sim:channels=8,service=1ms";
const QUEUE: Queue = Queue { servers: 8, service: 1e-3 };
const RATE: &str = "6000";

/// Returns the limit on a percentile that is `times` its true value.
fn p99(times: f64) -> String {
    format!("p99<={}us", (QUEUE.percentile(6000.0, 99.0) * times * 1e6) as u64)
}

/// Checks the target and returns the document.
fn check(options: &[&str], code: i32) -> Value {
    let place = Place::new();
    let line = [&["check", TARGET, "--json", "--quiet"], options].concat();
    place.run(&line).ends(code).json()
}

fn first(document: &Value) -> &Value {
    &document["findings"]["requirements"][0]["check"]
}

#[test]
fn verdict_follows_the_true_percentile() {
    let pass = check(&["--require", RATE, "--limit", &p99(1.1)], 0);
    assert_eq!(pass["findings"]["check"], "pass");
    assert_eq!(first(&pass)["ended_by"], "proven");
    near(&first(&pass)["limits"][0]["value_ns"], QUEUE.percentile(6000.0, 99.0) * 1e9, 0.05);
    near(&first(&pass)["rate"]["iops"]["mean"], 6000.0, 0.03);
    near(&first(&pass)["rate"]["served"]["mean"], 1.0, 0.01);
    let fail = check(&["--require", RATE, "--limit", &p99(0.9)], 6);
    assert_eq!(fail["findings"]["check"], "fail");
    assert_eq!(first(&fail)["limits"][0]["verdict"], "fail");
    assert_eq!(first(&fail)["rate"]["verdict"], "pass");
    // A clear answer takes less than the budget of a minute.
    let far = check(&["--require", RATE, "--limit", &p99(3.0)], 0);
    assert!(first(&far)["seconds"].as_f64().unwrap() < 5.0, "{far}");
    assert_eq!(far["suite"]["options"]["require"], "6,000 IOPS");
}

#[test]
fn verdict_too_close_to_the_truth_is_undecided() {
    let near = check(&["--require", RATE, "--limit", &p99(1.0), "--budget=4s"], 7);
    assert_eq!(near["findings"]["check"], "undecided");
    assert_eq!(first(&near)["ended_by"], "budget");
    let place = Place::new();
    let text =
        place.run(&["check", TARGET, "--require", RATE, "--limit", &p99(1.04), "--budget=2s"]);
    let text = text.ends(7).stdout;
    assert!(text.starts_with("Undecided: p99 is "), "{text}");
    assert!(text.contains("--budget of about"), "{text}");
}

#[test]
fn rate_that_is_not_served_fails_without_any_limit() {
    let fail = check(&["--require", "8300"], 6);
    assert!(first(&fail)["rate"]["served"]["mean"].as_f64().unwrap() < 0.975);
    check(&["--require", "7700"], 0);
    let linear = check(&["--require", "7700", "--rate_process=linear"], 0);
    near(&first(&linear)["rate"]["iops"]["mean"], 7700.0, 1e-3);
    // 8 KiB blocks: 6,000 of them are 49.152 MB/s; half of these blocks and half of 24 KiB: 98.304 MB/s.
    let bytes = check(&["--require", "49.152MB/s", "--bs=8k"], 0);
    near(&first(&bytes)["rate"]["required_iops"], 6000.0, 1e-9);
    let mixed = check(&["--require", "98.304MB/s", "--rw=randrw", "--bs=8k,24k"], 0);
    near(&first(&mixed)["rate"]["required_iops"], 6000.0, 1e-9);
}

#[test]
fn closed_loop_requires_the_iops_of_a_queue_depth() {
    let closed = ["--closed", "--iodepth=16"];
    let of = |rate, code| check(&[&closed[..], &["--require", rate]].concat(), code);
    near(&first(&of("7600", 0))["rate"]["iops"]["mean"], 8000.0, 0.05);
    let fail = of("8400", 6);
    assert_eq!(first(&fail)["rate"]["verdict"], "fail");
    assert_eq!(fail["steps"][0]["step"], Value::Null);
    assert_eq!(fail["steps"][0]["result"]["step"]["depth"], 16);
    // Service times count: 16 I/Os at 8,000 per second take 2 ms.
    let mean =
        |limit, code| check(&[&closed[..], &["--require=7600", "--limit", limit]].concat(), code);
    mean("mean<=2100us", 0);
    mean("mean<=1900us", 6);
    // The queue depth is that of all workers.
    let jobs = ["--closed", "--iodepth=4", "--numjobs=4", "--require=7600"];
    let jobs = check(&jobs, 0);
    assert_eq!(jobs["steps"][0]["result"]["step"]["depth"], 16);
    near(&first(&jobs)["rate"]["iops"]["mean"], 8000.0, 0.05);
    // The rate is not needed where a limit breaks.
    check(&["--closed", "--require=900", "--limit=mean<=1100us"], 0);
}

#[test]
fn maximum_fails_at_once_and_passes_only_after_the_whole_budget() {
    let place = Place::new();
    let stalls = "sim:channels=8,service=100us,gc=every:3s,stall:100ms";
    let line = ["check", stalls, "--require=1000", "--limit=max<=50ms", "--json"];
    let fail = place.run(&line).ends(6).json();
    let seconds = first(&fail)["seconds"].as_f64().unwrap();
    assert!((1.0..4.0).contains(&seconds), "{seconds}");
    let line = ["check", stalls, "--require=1000", "--limit=max<=200ms", "--budget=30s"];
    let pass = place.run(&line).ends(0).stdout;
    assert!(
        pass.contains("proven only for the 29 s") || pass.contains("proven only for the 30 s"),
        "{pass}"
    );
}

#[test]
fn wrong_usage_is_refused_before_anything_is_opened() {
    let place = Place::new();
    std::fs::write(place.work().join("mine.txt"), "mine").unwrap();
    for (options, word) in [
        (&[][..], "--require is missing"),
        (&["--require=0"], "requires nothing"),
        (&["--require=fast"], "is not a rate"),
        (&["--require=5k", "--iodepth=4"], "use --closed"),
        (&["--require=5k", "--rate_iops=5"], "--rate_iops"),
        (&["--require=5k", "--number_ios=5"], "--number_ios"),
        (&["--require=5k", "--limit=write:p99<=5ms"], "bounds writes"),
        (&["--require=5k", "--limit=p99"], "no \"<=\""),
        (&["--require=5k", "--closed", "--rate_process=linear"], "--rate_process"),
        (&["--require=5k", "--budget=10ms"], "too short"),
        (&["--require=5k", "--margin=5%"], "--baseline"),
        (&["--require=5k", "--baseline=last"], "--require"),
        (&["--baseline=last", "--closed"], "--closed"),
        (&["--baseline=last"], "no run is kept"),
        (&["--require=5k", "more"], "one target too many"),
        (&["--require=5k", "--junit=a", "--markdown=./a"], "named twice"),
        (&["--require=5k", "--junit=a", "--history=a"], "named twice"),
        (&["--require=0.5"], "not a whole number of IOPS"),
    ] {
        let done = place.run(&[&["check", "."], options].concat()).ends(2);
        common::assert_one_message(&done.stderr);
        assert!(done.stderr.contains(word), "{options:?}: {}", done.stderr);
    }
    let requirements = "[[require]]\nname = \"a\"\nrequire = 1\n";
    std::fs::write(place.work().join("r.toml"), requirements).unwrap();
    let line = ["check", "r.toml", "sim:nvme", "--markdown=r.toml", "--force"];
    assert!(place.run(&line).ends(2).stderr.contains("named twice"));
    assert_eq!(std::fs::read_to_string(place.work().join("r.toml")).unwrap(), requirements);
    std::fs::remove_file(place.work().join("r.toml")).unwrap();
    for option in ["--junit=mine.txt", "--markdown=mine.txt"] {
        let done = place.run(&["check", ".", "--require=5k", option]).ends(3);
        assert!(done.stderr.contains("mine.txt"), "{}", done.stderr);
    }
    assert_eq!(place.names(), ["mine.txt"]);
    assert_eq!(std::fs::read_to_string(place.work().join("mine.txt")).unwrap(), "mine");
    assert!(place.runs().is_empty());
}

#[test]
fn force_replaces_other_files_but_never_the_target() {
    let place = Place::new();
    let read = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap();
    std::fs::write(place.work().join("mine.txt"), "mine").unwrap();
    let line = ["check", TARGET, "--require=5k", "--markdown=mine.txt", "--force", "-q"];
    place.run(&line).ends(0);
    assert!(read("mine.txt").contains("**Pass:"), "{}", read("mine.txt"));
    place.run(&["prepare", ".", "--size=8m", "-q"]).ends(0);
    let size = || std::fs::metadata(place.work().join("iogauge.dat")).unwrap().len();
    let before = size();
    let line = ["check", ".", "--require=5", "--junit=iogauge.dat", "--force", "--direct=0"];
    let done = place.run(&line).ends(3);
    assert!(
        done.stderr.contains("iogauge.dat is measured\nhint: use another file"),
        "{}",
        done.stderr
    );
    assert_eq!(size(), before);
}

#[test]
fn nothing_completed_is_an_error_and_not_a_verdict() {
    let place = Place::new();
    let line = ["check", "sim:service=1h", "--require=5", "--budget=1s", "--junit=a.xml", "--json"];
    let done = place.run(&line).ends(4);
    assert_eq!(done.json()["findings"]["check"], "undecided");
    let junit = std::fs::read_to_string(place.work().join("a.xml")).unwrap();
    assert!(junit.contains("<error "), "{junit}");
}

#[test]
fn interrupted_check_is_kept() {
    let place = Place::new();
    let line = [
        "check",
        ".",
        "--size=16m",
        "--require=20",
        "--limit=max<=100s",
        "--budget=100s",
        "--direct=0",
        "--max-starvation=100%",
        "--json",
        "--junit=a.xml",
    ];
    let started = place.start(&line);
    // It has begun once it is in the history.
    eventually(|| !place.runs().is_empty());
    std::thread::sleep(std::time::Duration::from_millis(700));
    started.signal("INT");
    let done = started.end();
    assert_eq!(done.code, Some(130), "{}", done.stderr);
    let document = done.json();
    assert_eq!(
        (&document["interrupted"], first(&document)["ended_by"].as_str()),
        (&true.into(), Some("interrupted"))
    );
    assert_eq!(place.runs()[0].1, "interrupted");
    let junit = std::fs::read_to_string(place.work().join("a.xml")).unwrap();
    assert!(junit.contains("<skipped "), "{junit}");
    let other = place.run(&[&line[..], &["--resume", "--numjobs=2"]].concat()).ends(2);
    assert!(other.stderr.contains("was begun with other options\n"), "{}", other.stderr);
}

fn write(place: &Place, text: &str) -> &'static str {
    std::fs::write(place.work().join("accept.toml"), text).unwrap();
    "accept.toml"
}

const FILE: &str = "\
about = \"an acceptance test\"
[[require]]
name = \"look-ups\"
source = \"https://example.com/a\"
require = 6000
limit = \"p99<=20ms\"
[[require]]
name = \"too many\"
require = 9000
[[require]]
name = \"scan\"
rw = \"read\"
bs = \"64k\"
closed = true
iodepth = 8
require = \"400MB/s\"
";

#[test]
fn requirements_of_a_file_have_a_row_and_a_test_case_each() {
    let place = Place::new();
    let line = ["check", write(&place, FILE), TARGET, "--junit=a.xml", "--markdown=a.md"];
    let text = place.run(&line).ends(6).stdout;
    assert!(text.starts_with("Fail: 1 of 3 requirements is not met: too many."), "{text}");
    assert!(text.contains("look-ups: https://example.com/a"), "{text}");
    let read = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap();
    let junit = read("a.xml");
    assert!(junit.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "{junit}");
    assert!(junit.contains("<testcase name=\"scan\" "), "{junit}");
    assert!(read("a.md").contains("| scan | IOPS |"), "{}", read("a.md"));
    // The files may be written again, and the run is shown as it was printed.
    place.run(&line).ends(6);
    let shown = place.run(&["history", "show", "last"]).ends(0).stdout;
    assert!(shown.starts_with("Fail: 1 of 3 requirements is not met"), "{shown}");
    let rows = place.run(&["history", "show", "last", "--format=iogauge-csv"]).ends(0).stdout;
    assert_eq!(rows.lines().count(), 4, "{rows}");
    place.run(&["report", "--html=a.html"]).ends(0);
    let page = read("a.html");
    assert!(page.contains("too many") && page.contains("<svg"), "no picture of the check");
}

/// The first requirement passes soon; the second one is watched for its whole budget.
const LONG: &str = "\
size = \"16m\"
[defaults]
direct = false
[[require]]
name = \"short\"
require = 100
[[require]]
name = \"watched\"
require = 300
limit = \"max<=100s\"
budget = \"5s\"
";

#[test]
fn interrupted_check_of_a_file_continues_after_its_complete_requirements() {
    let place = Place::new();
    let file = write(&place, LONG);
    let line = |more: &[&'static str]| {
        [&["check", file, ".", "--max-starvation=100%", "--json", "--quiet"], more].concat()
    };
    let kept = || {
        let shown = place.run(&["history", "show", "last", "--format=json"]).stdout;
        let document = serde_json::from_str::<Value>(&shown).unwrap_or_default();
        document["steps"].as_array().map_or(0, Vec::len)
    };
    let started = place.start(&line(&[]));
    eventually(|| kept() > 0);
    started.signal("INT");
    let before = started.end().ends(130).json();
    assert_eq!(
        (&before["interrupted"], &before["findings"]["check"]),
        (&true.into(), &"undecided".into())
    );
    // A changed file is another check.
    write(&place, &LONG.replace("300", "301"));
    let changed = place.run(&line(&["--resume"])).ends(2);
    assert!(changed.stderr.contains("another content of accept.toml"), "{}", changed.stderr);
    write(&place, LONG);
    let after = place.run(&line(&["--resume", "--junit=a.xml"])).ends(0).json();
    assert_eq!((&after["run_id"], &after["resumed"]), (&before["run_id"], &1.into()));
    assert_eq!(after["steps"][0], before["steps"][0], "measured again");
    let parts = after["steps"].as_array().unwrap().iter().map(|step| step["part"].clone());
    assert_eq!(parts.collect::<Vec<_>>(), [0, 1]);
    let watched = &after["findings"]["requirements"][1]["check"];
    assert!(watched["seconds"].as_f64().unwrap() > 4.0, "{watched}");
    assert_eq!(after["findings"]["check"], "pass");
    assert_eq!(after["verdict"][0], "Pass: all 2 requirements are met.");
    let junit = std::fs::read_to_string(place.work().join("a.xml")).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"0\" errors=\"0\""), "{junit}");
    let done = place.run(&line(&["--resume"])).ends(2);
    assert!(done.stderr.contains("ended before its time"), "{}", done.stderr);
}

#[test]
fn arrivals_are_of_the_file_and_the_budget_of_the_command_line() {
    let place = Place::new();
    let text = "budget = \"50s\"\n[[require]]\nname = \"a\"\nrequire = 6000\nrate_process = \"linear\"\n\
                limit = \"max<=100s\"\n";
    let line = ["check", write(&place, text), TARGET, "--budget=4s", "--json", "-q"];
    let document = place.run(&line).ends(0).json();
    assert_eq!(first(&document)["budget_seconds"], 4.0);
    // Arrivals at random would differ by 0.6 % on average.
    near(&first(&document)["rate"]["iops"]["mean"], 6000.0, 1e-3);
}

#[test]
fn mistakes_in_a_file_name_their_line() {
    let place = Place::new();
    let with = |line: &str| format!("[[require]]\nname = \"a\"\nrequire = 5\n{line}\n");
    for (text, word) in [
        (with("bz = \"4k\""), "accept.toml:4: \"bz\" is no option of a load"),
        (with("bs = \"4q\""), "accept.toml:4: bs"),
        (with("limit = \"write:p99<=5ms\""), "accept.toml:1: limit"),
        (with("number_ios = 5"), "accept.toml:"),
        (with("verify = \"crc32c\""), "accept.toml:"),
        (with("closed = true\nrate_process = \"linear\""), "rate_process"),
        (with("").replace("= 5", "= true"), "accept.toml:3: require: must be a rate"),
        ("[defaults]\nlimit = \"p99<=5ms\"\n".to_owned(), "put it in a [[require]]"),
        ("[[step]]\n".to_owned(), "accept.toml:1: step"),
        (String::new(), "requires nothing"),
    ] {
        let done = place.run(&["check", write(&place, &text), TARGET]).ends(2);
        common::assert_one_message(&done.stderr);
        assert!(done.stderr.contains(word), "{text}: {}", done.stderr);
    }
    let file = write(&place, FILE);
    for (line, word) in [
        (&["check", file][..], "a target is missing"),
        (&["check", file, TARGET, "--bs=8k"], "--bs"),
        (&["check", file, TARGET, "--require=5"], "--require"),
        (&["check", "none.toml", TARGET], "none.toml"),
    ] {
        let done = place.run(line).ends(2);
        assert!(done.stderr.contains(word), "{line:?}: {}", done.stderr);
    }
    assert!(place.runs().is_empty());
}

#[test]
fn example_files_run_and_name_their_sources() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let toml = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let of_check = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains("[[require]]");
    let files: Vec<PathBuf> = files.filter(toml).filter(of_check).collect();
    assert!(files.len() >= 3, "{files:?}");
    let place = Place::new();
    for path in files {
        let line = ["check", path.to_str().unwrap(), "sim:nvme", "--json", "--quiet"];
        let document = place.run(&line).ends(0).json();
        for requirement in document["findings"]["requirements"].as_array().unwrap() {
            assert!(!requirement["source"].as_str().unwrap().is_empty(), "{requirement}");
        }
        // A drive that is far too slow does not pass.
        let line = ["check", path.to_str().unwrap(), "sim:channels=1,service=50ms", "--quiet"];
        place.run(&line).ends(6);
    }
}

#[test]
fn baseline_requires_what_an_earlier_run_had() {
    let place = Place::new();
    place.run(&["run", TARGET, "--iodepth=16", "--runtime=5", "--quiet"]).ends(0);
    let check = |target: &str, options: &[&str]| {
        place.run(&[&["check", target, "--json", "--quiet"], options].concat())
    };
    let run = check(TARGET, &["--baseline=last"]).ends(0).json();
    near(&first(&run)["rate"]["required_iops"], 7200.0, 0.02);
    assert_eq!(run["findings"]["baseline"]["margin_percent"], 10.0);
    assert_eq!(run["steps"][0]["result"]["step"]["depth"], 16);
    let id = run["findings"]["baseline"]["run_id"].as_str().unwrap().to_owned();
    assert!(run["verdict"].to_string().contains(&id), "{}", run["verdict"]);
    let baseline = format!("--baseline={id}");
    check("sim:channels=8,service=1200us", &[&baseline]).ends(6);
    check("sim:channels=8,service=1200us", &[&baseline, "--margin=25%"]).ends(0);
    let other = check(TARGET, &[&baseline, "--bs=8k"]).ends(2);
    assert!(other.stderr.contains("has another load: block"), "{}", other.stderr);
    // The answer of a search, with its limits and its kind of loop.
    let find = [
        "find",
        TARGET,
        "--open-loop",
        "--limit=p99<=20ms",
        "--budget=10s",
        "--label=before",
        "--quiet",
    ];
    place.run(&find).ends(0);
    let found = check(TARGET, &["--baseline=last"]).ends(0).json();
    // A search ends where its limit is just kept, so it has the margin, too.
    assert_eq!(first(&found)["limits"][0]["bound_ns"], 22_000_000);
    assert!(first(&found)["rate"]["served"].is_object(), "{found}");
    let slower = check("sim:channels=8,service=1300us", &["--baseline=label:before"]);
    slower.ends(6);
    let failing = format!("{TARGET},eio=5");
    place.run(&["run", &failing, "--iodepth=8", "--runtime=1", "--label=eio", "--quiet"]).ends(4);
    let refused = check(TARGET, &["--baseline=label:eio"]).ends(2);
    assert!(refused.stderr.contains("has failed I/Os"), "{}", refused.stderr);
    check(TARGET, &["--require=20MB/s", "--closed", "--iodepth=8"]).ends(0);
    check(TARGET, &["--baseline=label:before", "--limit=mean<=1us"]).ends(6);
    // Of several runs with a label, the last one counts.
    place.run(&["run", TARGET, "--iodepth=4", "--runtime=5", "-q", "--label=before"]).ends(0);
    let last = check(TARGET, &["--baseline=label:before"]).ends(0).json();
    near(&first(&last)["rate"]["required_iops"], 3600.0, 0.02);
    let itself = check(TARGET, &["--baseline=last"]).ends(2);
    assert!(itself.stderr.contains("neither a search nor a run"), "{}", itself.stderr);
}

#[test]
fn lack_of_processor_time_is_not_held_against_the_target() {
    // Each time that the load is to settle, iogauge is starved, or it is never.
    for (starve, code) in [("every:1s,for:300ms", 7), ("every:20s,for:300ms", 0)] {
        let target = format!("{TARGET},starve={starve}");
        let place = Place::new();
        let line = ["check", &target, "--require=5k", "--limit=p99<=20ms", "--json", "--quiet"];
        let document = place.run(&line).ends(code).json();
        let ended_by = if code == 0 { "proven" } else { "starved" };
        assert_eq!(first(&document)["ended_by"], ended_by);
    }
}

#[test]
fn figures_are_told_as_the_table_has_them() {
    let place = Place::new();
    let of = |options: &[&str], code| {
        place.run(&[&["check", TARGET, "--quiet"], options].concat()).ends(code).stdout
    };
    let bytes = of(&["--require=20MB/s", "--closed", "--iodepth=8"], 0);
    assert!(bytes.contains("at least the required 4,883 IOPS (20.0 MB/s)."), "{bytes}");
    let measured = bytes.split_whitespace().nth(1).unwrap();
    assert_eq!(bytes.matches(measured).count(), 2, "{bytes}");
    let nearly = of(&["--require=8080", "--budget=2m"], 0);
    assert!(nearly.contains(" % of 8,080 IOPS are served"), "{nearly}");
    let few = of(&["--require=5", "--limit=p99<=100ms", "--budget=10s"], 7);
    assert!(few.contains(" I/Os are too few to know it."), "{few}");
    assert!(few.contains("--budget of about 2 min decides"), "{few}");
    of(&["--require=5", "--limit=p99<=100ms", "--budget=2m"], 0);
}

#[test]
fn limit_on_each_host_is_judged_by_the_slowest() {
    let place = Place::new();
    let far = "sim:channels=8,service=1ms,hosts=3,far_host=20ms";
    let line = |limit| ["check", far, "--require=3000", "--limit", limit];
    place.run(&line("each:p99<=60ms")).ends(0);
    let text = place.run(&line("each:mean<=10ms")).ends(6).stdout;
    assert!(text.contains("each:mean is "), "{text}");
    place.run(&line("mean<=15ms")).ends(0);
}
