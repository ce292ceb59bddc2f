//! Several hosts, on the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::Place;

const THREE: &str = "sim:channels=8,service=100us,hosts=3";

/// Runs a command that must be refused as wrong usage, and returns its error and hint.
#[track_caller]
fn refused(words: &[&str]) -> String {
    let done = Place::new().run(words);
    assert_eq!(done.code, Some(2), "{words:?}: {}", done.stderr);
    assert!(done.stderr.contains("\nhint: "), "{words:?}: {}", done.stderr);
    done.stderr.clone()
}

#[test]
fn limit_on_each_host_is_refused_where_there_is_one() {
    let each = "--limit=each:p99<=5ms";
    let wanted = "error: limit \"each:p99 <= 5 ms\" bounds each of several hosts, and there is one\n\
                  hint: use --limit 'p99 <= 5 ms'\n";
    for words in [
        &["find", "sim:nvme", each, "--history=none"][..],
        &["run", "sim:nvme", each, "--history=none"],
        &["find", "sim:nvme,hosts=1", each, "--history=none"],
        &["db", "find", "sqlite:./db", "--mode=read", each, "--history=none"],
    ] {
        let error = refused(words);
        assert!(error.contains(wanted), "{words:?}: {error}");
    }
    let error = refused(&["suite", "ladder", THREE, each, "--history=none"]);
    assert!(error.contains("a suite judges all together"), "{error}");
    let error = refused(&["find", THREE, "--limit=read:each:p99<=5ms", "--history=none"]);
    assert!(error.contains("hint: use each:read:p99<=5ms"), "{error}");
}

#[test]
fn processes_of_mpirun_that_are_not_connected_are_refused() {
    let place = Place::new();
    let run = |ranks: &str| {
        let mut command = place.command(&["run", "sim:nvme", "--runtime=1s", "--history=none"]);
        command.env("PMI_RANK", "0").env("PMI_SIZE", ranks);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = run("2");
    assert_eq!(code, Some(2));
    assert!(
        error.contains("2 processes, which are not connected\nhint: start iogauge-mpi"),
        "{error}"
    );
    assert_eq!(run("1").0, Some(0));
}

#[test]
fn prepare_does_not_remove_what_it_makes() {
    let error = refused(&["prepare", ".", "--size=1m", "--rm"]);
    assert!(error.contains("prepare makes the file for later runs"), "{error}");
}

#[test]
fn several_hosts_do_not_verify_one_device() {
    let device = format!("{THREE},data=keep,size=64m");
    let error = refused(&["suite", "verify", &device, "--history=none"]);
    assert!(error.contains("overwrite each other's data"), "{error}");
}

#[test]
fn result_has_a_table_of_the_hosts() {
    let place = Place::new();
    let words = ["run", THREE, "--iodepth=8", "--runtime=1s", "--history=none"];
    let text = place.run(&words).ends(0).stdout.clone();
    let rows = text.lines().filter(|line| line.starts_with("host-")).count();
    assert_eq!(rows, 3, "{text}");
    assert!(text.contains("Jain's fairness index of the IOPS is 0."), "{text}");
    let done = place.run(&[&words[..], &["--json", "--quiet"]].concat());
    let step = &done.json()["steps"][0];
    let hosts = step["hosts"].as_array().unwrap();
    let ios: u64 = hosts.iter().map(|host| host["ios"].as_u64().unwrap()).sum();
    assert_eq!((hosts.len(), ios), (3, step["read"]["ios"].as_u64().unwrap()));
    assert_eq!(step["workers"].as_array().unwrap().len(), 3);
    // One host is not listed.
    let alone = place.run(&["run", "sim:nvme", "--runtime=1s", "--history=none", "--json"]);
    assert!(alone.json()["steps"][0].get("hosts").is_none());
}

#[test]
fn search_judges_each_host() {
    let place = Place::new();
    let device = "sim:channels=10,service=1ms,hosts=3,far_host=4ms";
    let words = ["find", device, "--limit=each:mean<=10ms", "--budget=10s", "--history=none"];
    let done = place.run(&[&words[..], &["--json", "--quiet"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let limit = &done.json()["answer"]["limits"][0];
    assert_eq!((limit["each"].as_bool(), limit["metric"].as_str()), (Some(true), Some("mean")));
    let text = place.run(&words).ends(0).stdout.clone();
    assert!(text.contains("while mean latency of each host stays ≤ 10 ms"), "{text}");
}

/// Each host's link takes 1,000 IOPS of 4 KiB, and the bus 2,500.
const LINKS: &str = "sim:channels=64,service=1ms,host_link=4096000,bus=10240000,hosts=8";

#[test]
fn one_host_has_neither_parts_nor_a_curve() {
    for words in [
        &["find", "sim:nvme", "--share=solo", "--history=none"][..],
        &["run", "sim:nvme", "--share=solo", "--history=none"],
        &["suite", "blocksize", "sim:nvme", "--share=solo", "--history=none"],
        &["hosts-curve", "sim:nvme", "--share=solo", "--history=none"],
        &["hosts-curve", "sim:nvme,hosts=1", "--history=none"],
    ] {
        let error = refused(words);
        assert!(error.contains(": there is one host\nhint: use --hosts=node[1-8]"), "{error}");
    }
    let error = refused(&["run", THREE, "--share=most", "--history=none"]);
    assert!(error.contains("--share"), "{error}");
    let error = refused(&["hosts-curve", "some.fio", "--history=none"]);
    assert!(error.contains("some.fio"), "{error}");
    let error = refused(&["hosts-curve", LINKS, "--iodepth=4", "--history=none"]);
    assert!(error.contains("find chooses the queue depth"), "{error}");
}

#[test]
fn result_has_the_parts_of_unlike_hosts() {
    let place = Place::new();
    let device = "sim:channels=10,service=1ms,hosts=3,far_host=4ms";
    let words = ["run", device, "--iodepth=30", "--share=solo", "--runtime=2s", "--history=none"];
    let document = place.run(&[&words[..], &["--json", "--quiet"]].concat()).ends(0).json();
    let parts = document["host_parts"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[2]["name"]), (3, &"host-3".into()));
    for (part, alone) in parts.iter().zip([1e4, 1e4, 2e3]) {
        let near = |value: &serde_json::Value, wanted: f64| {
            assert!((value.as_f64().unwrap() / wanted - 1.0).abs() < 0.03, "{part}");
        };
        near(&part["alone_iops"], alone);
        near(&part["part"], alone / 2.2e4);
    }
    let text = place.run(&words).ends(0).stdout.clone();
    assert!(text.contains("IOPS alone  part of the load"), "{text}");
    // Equal parts are not in the result.
    let equal = ["run", device, "--runtime=1s", "--json", "--history=none", "--share=equal"];
    assert!(place.run(&equal).ends(0).json().get("host_parts").is_none());
    for words in [&["find", device, "--budget=5s"][..], &["suite", "ladder", device]] {
        let more = ["--share=solo", "--json", "--quiet", "--history=none"];
        let document = place.run(&[words, &more].concat()).json();
        assert_eq!(document["host_parts"].as_array().unwrap().len(), 3, "{words:?}");
    }
}

/// Returns a text without the lines that differ between runs and machines.
fn redacted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let is_head = |line: &str| line.ends_with('Z') || line.contains("  sim:");
    lines.retain(|line| !is_head(line));
    let end = lines.iter().position(|line| line.starts_with("On ")).unwrap_or(lines.len());
    lines[..end].join("\n")
}

#[test]
fn curve_over_hosts_is_printed_kept_and_drawn() {
    let place = Place::new();
    let words = ["hosts-curve", LINKS, "--limit=mean<=20ms", "--budget=10s"];
    let text = place.run_on(100, &words).ends(0).stdout;
    insta::assert_snapshot!("hosts_curve_100", redacted(&text));
    let shown = place.run_on(100, &["history", "show"]).ends(0).stdout;
    assert_eq!(shown, text, "the history has what was printed");
    let json = place.run(&["history", "show", "--format=json"]).ends(0).json();
    assert_eq!(json["findings"]["outcome"], serde_json::json!({ "saturates_at": 4 }));
    let points = json["findings"]["hosts_curve"].as_array().unwrap();
    let hosts: Vec<u64> = points.iter().map(|point| point["hosts"].as_u64().unwrap()).collect();
    assert_eq!(hosts, [1, 2, 4, 8]);
    let csv = place.run(&["history", "show", "--format=iogauge-csv"]).ends(0).stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 5, "{csv}");
    assert!(rows[0].starts_with("format,run_id,started,target,hosts,iops,"), "{csv}");
    let saturated: Vec<bool> = rows[1..].iter().map(|row| row.ends_with(",true")).collect();
    assert_eq!(saturated, [false, false, true, false], "{csv}");
    let listed = place.run(&["history", "list"]).ends(0).stdout;
    assert!(listed.contains("hosts-curve") && listed.contains("saturates at 4 hosts"), "{listed}");
    place.run(&["report", "last", "--svg", "pictures"]).ends(0);
    let pictures = iogauge_test_support::program::names(&place.work().join("pictures"));
    assert!(pictures.iter().any(|name| name.contains("hosts-curve")), "{pictures:?}");
}

#[test]
fn curve_over_hosts_has_exit_codes_of_its_searches() {
    let place = Place::new();
    let words = ["hosts-curve", LINKS, "--budget=5s", "--history=none"];
    let done = place.run(&[&words[..], &["--limit=mean<=10us"]].concat());
    assert_eq!(done.code, Some(5), "{}", done.stdout);
    assert!(done.stdout.contains("found no load that keeps the limit"), "{}", done.stdout);
    let done = place.run(&[&words[..], &["--limit=each:mean<=20ms", "--json"]].concat()).ends(0);
    assert_eq!(done.json()["steps"][1]["key"], "2 hosts");
}

#[test]
fn curve_over_hosts_is_resumed_with_the_same_options() {
    let place = Place::new();
    let words = ["hosts-curve", LINKS, "--limit=mean<=20ms", "--budget=300s"];
    let going = place.start(&words);
    iogauge_test_support::eventually(|| {
        let text = place.run(&["history", "show", "last", "--format=json"]).stdout;
        let kept: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        kept["steps"].as_array().is_some_and(|steps| !steps.is_empty())
    });
    going.signal("INT");
    let done = going.end();
    assert_eq!(done.code, Some(130), "{}", done.stderr);
    assert!(done.stdout.contains("the same command with --resume goes on"), "{}", done.stdout);
    let other = place.run(&[&words[..], &["--bs=8k", "--resume"]].concat()).ends(2).stderr;
    assert!(other.contains("--resume: ") && other.contains("bs=4"), "{other}");
    let other = place.run(&[&words[..], &["--precision=3%", "--resume"]].concat()).ends(2).stderr;
    assert!(other.contains("was begun with other options"), "{other}");
    let document = place.run(&[&words[..], &["--resume", "--json"]].concat()).ends(0).json();
    assert_eq!((&document["resumed"], document["steps"].as_array().unwrap().len()), (&1.into(), 4));
    assert_eq!(document["findings"]["outcome"]["saturates_at"], 4);
}
