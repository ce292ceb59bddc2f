//! A PostgreSQL server that crashes, stops, accepts no more processes, or shows its user little.

use crate::common::{Done, Place, eventually, skip};
use crate::{assert_one_line, codes};
use iogauge_model::result::{FindDocument, StoppedBy};
use iogauge_test_support::postgres::Server;
use serde_json::Value;

/// Starts a server with these settings. Returns the reason if that is impossible.
fn server_with(settings: &[&str]) -> Result<Server, String> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = dir.path().to_owned();
    Server::make_on(path, Some(dir), 5432, &["-A", "trust"], settings)
}

/// A server with a database made by iogauge, and the place where its commands run.
struct There {
    place: Place,
    server: Server,
    user: &'static str,
}

impl There {
    fn new(test: &str, user: &'static str, settings: &[&str]) -> Option<Self> {
        let server = match server_with(settings) {
            Ok(server) => server,
            Err(why) => {
                skip(test, &why);
                return None;
            }
        };
        if user != "tester" {
            server.psql(&format!("CREATE ROLE {user} LOGIN"));
            server.psql(&format!("GRANT CREATE ON DATABASE postgres TO {user}"));
        }
        let there = Self { place: Place::new(), server, user };
        there.run("setup", "", &["--size=8m", "--quiet"]).ends(0);
        let made = ["--globals=2", "--subscripts=500", "--quiet"];
        there.run("create-globals", "", &made).ends(0);
        Some(there)
    }

    fn url(&self, settings: &str) -> String {
        let host = self.server.dir().display();
        format!("postgres://{}@/postgres?host={host}{settings}", self.user)
    }

    fn run(&self, action: &str, settings: &str, more: &[&str]) -> Done {
        self.place.run(&[&["db", action, &self.url(settings)], more].concat())
    }

    /// Asserts that the last run in the history is the printed one. Returns its document.
    #[track_caller]
    fn kept(&self, done: &Done) -> Value {
        let document = done.json();
        let shown = self.place.run(&["history", "show", "--format=json"]).ends(0).json();
        assert_eq!(shown, document);
        assert_eq!(self.place.runs().last().unwrap().1, "done");
        document
    }
}

/// Returns the message of the caveat with this code.
#[track_caller]
fn message<'a>(document: &'a Value, code: &str) -> &'a str {
    let caveats = document["caveats"].as_array().unwrap();
    let found = caveats.iter().find(|caveat| caveat["code"] == code);
    found.unwrap_or_else(|| panic!("{code}: {caveats:?}"))["message"].as_str().unwrap()
}

/// Returns true once a process has its workers. By then the server has answered every query that precedes them.
fn has_workers(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.any(|name| name.starts_with("db-worker"))
}

#[test]
fn results_are_kept_when_the_server_dies() {
    let Some(mut there) = There::new("results_are_kept_when_the_server_dies", "tester", &[]) else {
        return;
    };
    let short = ["--mode=read", "--runtime=200ms", "--ramp-time=0", "--json", "--quiet"];
    let first = there.run("run", "", &short).ends(0).json();
    if first["steps"][0]["database"]["reads_direct"] != true {
        return skip("results_are_kept_when_the_server_dies", "no direct reads here");
    }
    let run = ["--runtime=2s", "--ramp-time=0"];
    for (action, more) in [
        ("run", &run[..]),
        ("find", &["--budget=2s", "--limit=mean<=10s", "--max-starvation=100%"]),
    ] {
        let line = ["db", action, &there.url("&reads=direct"), "--mode=read", "--json", "--quiet"];
        let under_way = there.place.start(&[&line[..], more].concat());
        eventually(|| has_workers(under_way.worker()));
        there.server.crash();
        // Direct reads need no server. Only the queries at the end fail.
        let done = under_way.end().ends(1);
        crate::common::assert_one_message(&done.stderr);
        let document = there.kept(&done);
        assert!(
            message(&document, "io-errors").contains("after the run the database"),
            "{document}"
        );
        if action == "run" {
            let step = &document["steps"][0];
            assert!(step["read"]["ios"].as_u64() > Some(0), "{step}");
            assert_eq!(step["database"]["counted"], Value::Null);
        } else {
            assert!(document["answer"]["iops"]["mean"].as_f64() > Some(0.0), "{document}");
        }
        there.server.restart();
    }
}

/// A stopped server answers no query, and its sockets stay open.
#[test]
fn run_ends_when_the_server_process_is_stopped() {
    let name = "run_ends_when_the_server_process_is_stopped";
    let Some(there) = There::new(name, "tester", &[]) else { return };
    let read = ["--mode=read"];
    let write = ["--mode=write", "--processes=2"];
    let drained = ["--mode=write", "--processes=2", "--drain"];
    for (options, kind) in [(&read[..], "read"), (&write[..], "write"), (&drained[..], "write")] {
        let line =
            ["db", "run", &there.url(""), "--runtime=3s", "--ramp-time=0", "--json", "--quiet"];
        let under_way = there.place.start(&[&line[..], options].concat());
        eventually(|| has_workers(under_way.worker()));
        std::thread::sleep(std::time::Duration::from_secs(1));
        let frozen = there.server.freeze();
        let done = under_way.end();
        drop(frozen);
        let document = there.kept(&done.ends(1));
        let step = &document["steps"][0];
        assert!(step[kind]["ios"].as_u64() > Some(0), "{step}");
        assert!(codes(&document).contains(&"io-errors"), "{document}");
    }
    // Everything acknowledged is there when the server continues.
    let checked = there.run("verify", "", &["--json"]).ends(0).json();
    assert!(checked["acknowledged"].as_u64() > Some(0) && checked["lost"] == 0, "{checked}");
    // Later commands also report that the server does not answer.
    let frozen = there.server.freeze();
    assert_one_line(there.run("sizes", "", &[]), 1, &["the server has not answered"]);
    drop(frozen);
}

#[test]
fn ladder_keeps_steps_completed_before_a_failing_step() {
    let name = "ladder_keeps_steps_completed_before_a_failing_step";
    let Some(there) = There::new(name, "tester", &["max_connections=12"]) else { return };
    let line = ["--mode=read", "--ladder=2,30", "--runtime=300ms", "--ramp-time=0"];
    let line = [&line[..], &["--json", "--quiet"]].concat();
    let done = there.run("run", "&reads=server", &line).ends(1);
    crate::common::assert_one_message(&done.stderr);
    let document = there.kept(&done);
    assert_eq!(document["steps"].as_array().unwrap().len(), 1);
    assert!(document["steps"][0]["read"]["ios"].as_u64() > Some(0));
    let end = document["load"]["ladder"]["ended_by"].as_str().unwrap();
    assert_eq!(end, "30 processes could not be measured");
    assert!(message(&document, "io-errors").starts_with(end), "{document}");
    // If the first rung fails, nothing was measured.
    let line = ["--mode=read", "--ladder=30,31", "--runtime=300ms", "--quiet"];
    assert_one_line(there.run("run", "&reads=server", &line), 1, &["too many clients"]);
}

#[test]
fn missing_drain_privilege_is_reported_before_the_run() {
    let Some(there) =
        There::new("missing_drain_privilege_is_reported_before_the_run", "plain", &[])
    else {
        return;
    };
    let long = ["--mode=write", "--runtime=1h", "--drain", "--quiet"];
    assert_one_line(there.run("run", "", &long), 1, &["CHECKPOINT", "GRANT pg_checkpoint"]);
}

#[test]
fn unknown_server_devices_raise_a_caveat() {
    let Some(there) = There::new("unknown_server_devices_raise_a_caveat", "plain", &[]) else {
        return;
    };
    let short = ["--mode=write", "--runtime=300ms", "--ramp-time=0", "--json", "--quiet"];
    let document = there.run("run", "", &short).ends(0).json();
    assert_eq!(document["steps"][0]["physical"], Value::Null);
    assert!(message(&document, "devices-unknown").contains("this user may not see"), "{document}");
    assert!(!codes(&document).contains(&"unflushed-writes"), "{document}");
    // The hint works.
    there.server.psql("GRANT pg_read_all_settings TO plain");
    let document = there.run("run", "", &short).ends(0).json();
    if document["steps"][0]["physical"] != Value::Null {
        assert!(!codes(&document).contains(&"devices-unknown"), "{document}");
        assert!(codes(&document).contains(&"unflushed-writes"), "{document}");
    }
}

#[test]
fn search_stops_at_the_server_connection_limit() {
    let name = "search_stops_at_the_server_connection_limit";
    let Some(there) = There::new(name, "tester", &["max_connections=12"]) else { return };
    let line = [
        "--mode=read",
        "--budget=4s",
        "--limit=mean<=10s",
        "--max-starvation=100%",
        "--json",
        "--quiet",
    ];
    let document = there.run("find", "&reads=server", &line).ends(0).json();
    let find: FindDocument = serde_json::from_value(document.clone()).unwrap();
    assert!(find.search.curve.iter().all(|point| point.queue_depth < 12), "{document}");
    assert!(find.search.answer.queue_depth < 12 && find.search.answer.met);
    // On a very busy machine, the search may end before the server refuses a connection.
    if [StoppedBy::MaxDepth, StoppedBy::Saturated].contains(&find.search.answer.stopped_by) {
        assert!(message(&document, "search-cut-short").contains("too many clients"), "{document}");
    }
}
