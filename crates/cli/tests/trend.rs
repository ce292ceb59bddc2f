//! Series of runs through the binary: `iogauge history trend`.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, eventually, near, otava, skip};
use serde_json::{Value, json};
use std::process::Command;

/// Measures 8000 IOPS with a standard deviation of 1.1 %, divided by `slower`, on a simulated device.
fn measure(place: &Place, label: &str, slower: f64, seed: u32) {
    let device = format!("sim:channels=8,service={}us,seed={seed}", 1000.0 * slower);
    let load = ["--iodepth=8", "--runtime=1s", "--ramp-time=0", "-q"];
    place.run(&[&["run", &device, "--label", label], &load[..]].concat()).ends(0);
}

/// Makes a series of 24 runs, of which the last 9 are a tenth slower.
fn nightly(place: &Place) {
    for seed in 1..=24 {
        measure(place, "nightly", if seed > 15 { 1.0 / 0.9 } else { 1.0 }, seed);
    }
}

fn trend(place: &Place, more: &[&str]) -> Done {
    place.run(&[&["history", "trend"], more].concat())
}

fn document(place: &Place, more: &[&str]) -> Value {
    trend(place, &[&["--json"], more].concat()).ends(0).json()
}

#[test]
fn step_is_found_in_a_series_of_runs() {
    let place = Place::new();
    nightly(&place);
    let found = document(&place, &["label:nightly"]);
    assert_eq!((&found["format"], &found["kind"]), (&json!("iogauge.trend/1"), &json!("run")));
    assert_eq!((&found["label"], &found["metric"]), (&json!("nightly"), &json!("iops")));
    assert_eq!(found["points"].as_array().unwrap().len(), 24);
    assert_eq!((&found["left_out"], &found["caveats"]), (&json!([]), &json!([])));
    let [change] = found["changes"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!((&change["at"], &change["worse"]), (&json!(15), &json!(true)));
    assert_eq!(change["run_id"], found["points"][15]["run_id"]);
    near(&change["before"], 8000.0, 0.01);
    near(&change["after"], 7200.0, 0.01);
    near(&change["ratio"]["mean"], 0.9, 0.01);
    let [low, high] = [0, 1].map(|end| change["ratio"]["ci95"][end].as_f64().unwrap());
    assert!(low < 0.9 && high > 0.9 && high - low < 0.03, "{change}");
    assert!(change["p"].as_f64().unwrap() <= 0.002, "{change}");

    let text = trend(&place, &["label:nightly"]).ends(0).stdout;
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("The IOPS changed once in 24 runs. The last change is for the worse:"),
        "{text}"
    );
    for part in ["•", "┊", "from run", "worse", change["run_id"].as_str().unwrap()] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A latency that rises is worse, too; one that is bounded by the queue depth rises as the rate falls.
    let latency = document(&place, &["label:nightly", "--metric=mean"]);
    assert_eq!(
        (&latency["metric"], &latency["changes"][0]["worse"]),
        (&json!("latency_ns_mean"), &json!(true))
    );
    near(&latency["changes"][0]["ratio"]["mean"], 1.0 / 0.9, 0.01);
    let small = document(&place, &["label:nightly", "--min-change=20%"]);
    assert_eq!((&small["changes"], small["segments"].as_array().unwrap().len()), (&json!([]), 1));

    for (newest, code) in [("8", 0), ("9", 6), ("1000", 6)] {
        trend(&place, &["label:nightly", "--fail-on-worse", newest]).ends(code);
    }
    // The series recovers, and the last change is for the better.
    for seed in 25..=32 {
        measure(&place, "nightly", 1.0, seed);
    }
    trend(&place, &["label:nightly", "--fail-on-worse=1000"]).ends(0);
}

/// A storage that no longer answers is worse, whatever the earlier runs show.
#[test]
fn runs_that_fail_are_a_change_for_the_worse() {
    let place = Place::new();
    let find = |device: &str, code: i32| {
        let line = ["find", device, "--limit=mean<=1ms", "--budget=1s", "-q", "--label=n"];
        place.run(&line).ends(code);
    };
    for _ in 0..8 {
        find("sim:channels=8,service=100us", 0);
    }
    trend(&place, &["label:n", "--fail-on-worse=3"]).ends(0);
    find("sim:channels=8,service=2ms", 5);
    find("sim:channels=8,service=2ms", 5);
    let text = trend(&place, &["label:n", "--fail-on-worse=3"]).ends(6).stdout;
    let first = text.lines().next().unwrap();
    assert_eq!(first, "The last 2 runs have no answer. No change of the IOPS in 8 runs.");
    find("sim:channels=8,service=100us,eio=50", 4);
    let found = document(&place, &["label:n"]);
    let failed: Vec<_> = found["failed"].as_array().unwrap().iter().collect();
    assert_eq!(
        failed.iter().map(|run| &run["failure"]).collect::<Vec<_>>(),
        ["no_answer", "no_answer", "io_errors"]
    );
    assert!(failed.iter().all(|run| run["after"] == 8), "{found}");
    let text = trend(&place, &["label:n"]).ends(0).stdout;
    assert!(text.starts_with("The last 3 runs failed. "), "{text}");
    // They are no longer among the newest runs.
    (0..3).for_each(|_| find("sim:channels=8,service=100us", 0));
    trend(&place, &["label:n", "--fail-on-worse=3"]).ends(0);
    trend(&place, &["label:n", "--fail-on-worse=4"]).ends(6);
}

#[test]
fn runs_of_another_load_are_left_out() {
    let place = Place::new();
    measure(&place, "mixed", 1.0, 1);
    place.run(&["find", "sim:nvme", "-q", "--budget=1s", "--max-depth=4", "--label=mixed"]).ends(0);
    place.run(&["profile", "-q", "--for=1s", "--label=mixed"]).ends(0);
    let quick = ["-q", "--runtime=100ms", "--ramp-time=0", "--label=mixed"];
    place.run(&[&["run", "sim:nvme", "--iodepth=8", "--rw=randrw"], &quick[..]].concat()).ends(0);
    // The same words, but another option.
    place.run(&[&["run", "sim:nvme", "--iodepth=8", "--size=1g"], &quick[..]].concat()).ends(0);
    place.run(&[&["run", "sim:nvme,eio=50", "--iodepth=8"], &quick[..]].concat()).ends(4);
    for randseed in ["--randseed=1", "--randseed=2"] {
        place.run(&[&["run", "sim:nvme", "--iodepth=8", randseed], &quick[..]].concat()).ends(0);
    }
    let found = document(&place, &["label:mixed"]);
    assert_eq!(found["points"].as_array().unwrap().len(), 3, "{found}");
    let left_out = found["left_out"].as_array().unwrap();
    let reasons: Vec<&str> = left_out.iter().map(|left| left["reason"].as_str().unwrap()).collect();
    let wanted = [
        "they are of a command without a single answer",
        "they are of another command, find",
        "they have another load, randrw 50/50 4 KiB depth 8",
        "they have other options of the load",
        "I/Os failed in them",
    ];
    assert_eq!(reasons, wanted);
    assert!(left_out.iter().all(|left| left["runs"] == 1), "{found}");
    // No change of these could be found.
    let text = trend(&place, &["label:mixed"]).ends(0).stdout;
    let first = "Too few runs to find a change of the IOPS: 3 runs, and at least 8 are needed. 4 runs are left out.";
    assert!(text.starts_with(first) && text.contains("left out  "), "{text}");
    assert_eq!(found["fewest_runs"], 8);

    // A target as typed, not a part of it.
    let found = document(&place, &["--target=sim:nvme"]);
    assert_eq!(found["points"].as_array().unwrap().len(), 2);
    for (line, told) in [
        (&["--target=sim:nv"][..], "no run has the target sim:nv"),
        (&["last", "--target=sim:nvme,eio=50"], "no run has the target"),
        (
            &["--target=sim:nvme,eio=50"],
            "none of these runs has an answer of its own: I/Os failed in them",
        ),
        (&["label:nothing"], "no run \"label:nothing\" in the history"),
        (&["last", "--history=nofile.db"], "nofile.db is not there"),
        (&[], "RUN"),
        (&["label:mixed", "--p=0"], "between 0.1% and 50%"),
        (&["label:mixed", "--fail-on-worse=2"], "hint: use 3 or more"),
    ] {
        let said = trend(&place, line).ends(2).stderr;
        common::assert_one_message(&said);
        assert!(said.contains(told), "{line:?}: {said}");
    }
}

/// The shortest series with a change: it shows from its third run on.
#[test]
fn change_shows_from_its_third_run_on() {
    let place = Place::new();
    for seed in 1..=8 {
        measure(&place, "short", if seed > 5 { 2.0 } else { 1.0 }, seed);
        let code = if seed == 8 { 6 } else { 7 };
        trend(&place, &["label:short", "--fail-on-worse=3"]).ends(code);
    }
    // A run with another load begins a series of its own.
    let line = ["run", "sim:nvme", "--bs=8k", "--runtime=1s", "-q", "--label=short"];
    place.run(&line).ends(0);
    let text = trend(&place, &["label:short", "--fail-on-worse=3"]).ends(7).stdout;
    assert!(text.contains("at least 8 are needed. 8 runs are left out."), "{text}");
}

/// A history whose results cannot be read says so.
#[test]
fn damage_of_the_history_is_reported() {
    let place = Place::new();
    measure(&place, "n", 1.0, 1);
    let history = rusqlite::Connection::open(place.history()).unwrap();
    history
        .execute_batch("PRAGMA ignore_check_constraints = 1; UPDATE run SET state = 'x'")
        .unwrap();
    let said = trend(&place, &["label:n"]).ends(1).stderr;
    assert!(said.contains("is damaged"), "{said}");
    measure(&place, "n", 1.0, 2);
    let done = trend(&place, &["--target=sim:channels=8,service=1000us,seed=2"]).ends(4);
    assert!(done.stderr.contains("left out of the trend, since it is damaged"), "{}", done.stderr);
}

/// Searches are series by their capacity, and imports of fio's results by what fio measured.
#[test]
fn searches_and_imports_are_series() {
    let place = Place::new();
    for service in ["100us", "100us", "110us"] {
        let device = format!("sim:channels=8,dist=const,service={service}");
        let line = ["find", &device, "--limit=mean<=1ms", "--budget=1s", "-q", "--label=capacity"];
        place.run(&line).ends(0);
    }
    let found = document(&place, &["label:capacity"]);
    let values: Vec<f64> =
        found["points"].as_array().unwrap().iter().map(|p| p["value"].as_f64().unwrap()).collect();
    assert!((values[0] / values[2] - 1.1).abs() < 0.02, "{values:?}");
    assert_eq!((&found["limits"][0]["metric"], &found["left_out"]), (&json!("mean"), &json!([])));
    let bandwidth = document(&place, &["label:capacity", "--metric=bandwidth"]);
    near(&bandwidth["points"][0]["value"], values[0] * 4096.0, 1e-6);
    // A search with another limit has another capacity.
    let line = ["find", "sim:nvme", "--limit=mean<=2ms", "--budget=1s", "-q", "--label=capacity"];
    place.run(&line).ends(0);
    let found = document(&place, &["label:capacity"]);
    assert_eq!(found["points"].as_array().unwrap().len(), 1);
    assert_eq!(
        found["left_out"][0]["reason"],
        "they have another load, randread 4 KiB under mean <= 1 ms"
    );
    let job = |iops: u32, began: u32| {
        format!(
            "{{\"fio version\": \"fio-3.33\", \"timestamp\": {began}, \"jobs\": [{{\"jobname\": \"a\", \
             \"job options\": {{\"rw\": \"read\"}}, \"read\": {{\"io_bytes\": {}, \"total_ios\": {iops}, \"runtime\": 1000, \"iops\": {iops}}}}}]}}",
            iops * 4096
        )
    };
    // The file that is named first began later.
    for (name, iops, began) in [("1.json", 1000, 1_700_000_100), ("2.json", 2000, 1_700_000_000)] {
        std::fs::write(place.work().join(name), job(iops, began)).unwrap();
    }
    place.run(&["import", "-q", "--label=old", "1.json", "2.json"]).ends(0);
    let found = document(&place, &["label:old"]);
    assert_eq!((&found["kind"], found["points"].as_array().unwrap().len()), (&json!("import"), 2));
    near(&found["points"][0]["value"], 2000.0, 0.001);
    let none = trend(&place, &["label:old", "--metric=p99", "--svg=pictures"]).ends(2).stderr;
    common::assert_one_message(&none);
    assert!(none.contains("has the metric p99"), "{none}");
}

/// Asserts that an interval contains its value.
#[track_caller]
fn assert_is_around(point: &Value) {
    let [low, high] = [0, 1].map(|end| point["ci95"][end].as_f64().unwrap());
    let value = point["value"].as_f64().unwrap();
    assert!(low <= value && value <= high && low > value * 0.8, "{point}");
}

#[test]
fn values_are_those_of_the_whole_run() {
    let place = Place::new();
    let run = |label: &str, more: &[&str]| {
        let device = "sim:channels=8,service=1ms";
        let line = ["run", device, "--label", label, "--runtime=2s", "--ramp-time=0", "--json"];
        place.run(&[&line[..], &["-q"], more].concat()).ends(0).json()
    };
    let value = |label: &str, metric: &str| {
        let found = document(&place, &[&format!("label:{label}"), "--metric", metric]);
        found["points"][0].clone()
    };
    run("plain", &["--iodepth=8"]);
    near(&value("plain", "bandwidth")["value"], 8000.0 * 4096.0, 0.03);
    assert_is_around(&value("plain", "bandwidth"));
    // Reads and writes together.
    run("mixed", &["--iodepth=8", "--rw=randrw"]);
    near(&value("mixed", "iops")["value"], 8000.0, 0.03);
    near(&value("mixed", "bandwidth")["value"], 8000.0 * 4096.0, 0.03);
    // Response times, where there are any.
    let open = run("open", &["--rate_iops=7800", "--rate_process=poisson", "--iodepth=8"]);
    let read = &open["steps"][0]["read"];
    let of = |times: &str| read[times]["mean"].as_f64().unwrap();
    assert!(of("response_ns") > of("service_ns") * 1.2, "{read}");
    near(&value("open", "mean")["value"], of("response_ns"), 1e-9);
}

/// The rate that a search finds, the seed and the engine do not make another series; the end of a run does.
#[test]
fn series_have_what_was_requested_in_common() {
    let place = Place::new();
    for service in ["100us", "110us"] {
        let device = format!("sim:channels=8,service={service}");
        let line = ["find", &device, "--open-loop", "--budget=2s", "-q", "--label=open"];
        place.run(&line).ends(0);
    }
    let open = document(&place, &["label:open", "--metric=bandwidth"]);
    assert_eq!(open["points"].as_array().unwrap().len(), 2);
    assert_is_around(&open["points"][0]);
    let real = ["run", ".", "--size=8m", "--direct=0", "--ramp-time=0", "-q", "--label==1+1"];
    for engine in ["--ioengine=psync", "--ioengine=libaio"] {
        place.run(&[&real[..], &[engine, "--runtime=200ms"]].concat()).ends(0);
    }
    let started = place.start(&[&real[..], &["--runtime=1h"]].concat());
    eventually(|| place.runs()[0].1 == "running");
    started.signal("INT");
    started.end().ends(130);
    let found = document(&place, &["label:=1+1", "--csv=t.csv"]);
    assert_eq!(found["points"].as_array().unwrap().len(), 2, "{found}");
    assert_eq!(found["left_out"], json!([{ "runs": 1, "reason": "they did not end" }]));
    // A label is text in a spreadsheet, too.
    let table = std::fs::read_to_string(place.work().join("t.csv")).unwrap();
    assert_eq!(table.lines().filter(|line| line.contains(",'=1+1,")).count(), 2, "{table}");
    // It is replaced the next night.
    trend(&place, &["label:=1+1", "--csv=t.csv"]).ends(0);
}

/// The noise of a device with slow variation goes on from run to run, here by its seed.
#[test]
fn correlated_runs_raise_a_caveat() {
    let place = Place::new();
    for (seed, slower) in
        (1..).zip([1.0, 1.01, 1.02, 1.03, 1.02, 1.01, 1.0, 0.99, 0.98, 0.97, 0.98, 0.99].repeat(3))
    {
        measure(&place, "slow", slower, seed);
    }
    let found = document(&place, &["label:slow", "--min-change=10%"]);
    assert_eq!(found["changes"], json!([]));
    assert_eq!(found["caveats"][0]["code"], "correlated-runs", "{}", found["caveats"]);
    assert!(found["autocorrelation_runs"].as_f64().unwrap() > 2.0, "{found}");
    let text = trend(&place, &["label:slow"]).ends(0).stdout;
    assert!(
        text.contains("correlated-runs: the correlation of a run with the next one is"),
        "{text}"
    );
}

#[test]
fn charts_are_written() {
    let place = Place::new();
    nightly(&place);
    let outputs = ["--html=t.html", "--svg=pictures", "--png=pictures", "--csv=t.csv", "--json"];
    let done = trend(&place, &[&["label:nightly"], &outputs[..]].concat()).ends(0);
    assert_eq!(done.json()["format"], "iogauge.trend/1");
    for name in ["t.html", "pictures/trend-1.svg", "pictures/trend-1.png", "t.csv"] {
        assert!(done.stderr.contains(name), "{name}: {}", done.stderr);
    }
    let read = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap();
    for name in ["t.html", "pictures/trend-1.svg"] {
        assert!(read(name).contains("The IOPS changed once in 24 runs."), "{name}");
    }
    let table = read("t.csv");
    let mut lines = table.lines();
    let columns = "format,time,run_id,target,label,iops,bytes_per_sec,latency_ns_mean,latency_ns_p50,\
                   latency_ns_p99,latency_ns_p999,iops_ci95_low,iops_ci95_high";
    assert_eq!(lines.next().unwrap(), columns);
    assert!(lines.all(|line| line.starts_with("iogauge.trend-csv/1,20") && line.split(',').count() == 15), "{table}");
    // A file of others is not replaced.
    std::fs::write(place.work().join("mine.csv"), "mine").unwrap();
    trend(&place, &["label:nightly", "--csv=mine.csv"]).ends(3);
    assert_eq!(read("mine.csv"), "mine");
    trend(&place, &["label:nightly", "--csv=mine.csv", "--force"]).ends(0);
    assert_eq!(read("mine.csv"), read("t.csv"));
    // The first night has a chart, too.
    measure(&place, "first", 1.0, 1);
    trend(&place, &["label:first", "--svg=first"]).ends(0);
    assert!(read("first/trend-1.svg").contains("Too few runs"));
}

#[test]
fn otava_finds_the_same_step_in_the_csv() {
    let Some(program) = otava() else {
        let why = "Apache Otava is not installed; scripts/install-otava.sh gets it from PyPI";
        return skip("otava_finds_the_same_step_in_the_csv", why);
    };
    let place = Place::new();
    nightly(&place);
    trend(&place, &["label:nightly", "--csv=nightly.csv"]).ends(0);
    let found = document(&place, &["label:nightly"]);
    let config = "tests:\n  nightly:\n    type: csv\n    file: nightly.csv\n    time_column: time\n    \
                  attributes: [run_id, label]\n    metrics: [iops, latency_ns_mean, latency_ns_p99]\n";
    std::fs::write(place.work().join("otava.yaml"), config).unwrap();
    let output = Command::new(program)
        .args(["analyze", "nightly", "--since=2000-01-01", "--output=json"])
        .current_dir(place.work())
        .env("OTAVA_CONFIG", "otava.yaml")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_str(&said[said.find('{').unwrap()..]).unwrap();
    let all = told["nightly"].as_array().unwrap();
    let of_iops = all.iter().filter(|point| {
        point["changes"].as_array().unwrap().iter().any(|change| change["metric"] == "iops")
    });
    let at: Vec<&Value> = of_iops.map(|point| &point["attributes"]["run_id"]).collect();
    assert_eq!(at, [&found["changes"][0]["run_id"]], "{said}");
}
