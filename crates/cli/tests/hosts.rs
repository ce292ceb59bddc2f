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
