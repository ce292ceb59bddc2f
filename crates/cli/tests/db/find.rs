//! Searches of databases.

use crate::common::answer::assert_one_answer;
use crate::life::{shell, told};
use crate::{Db, SHORT, assert_one_line, codes};
use iogauge_model::result::{FindDocument, StoppedBy};
use serde_json::Value;

fn typed(document: &Value) -> FindDocument {
    serde_json::from_value(document.clone()).unwrap()
}

/// Runs a search with a budget of some seconds, enough to finish even on a busy machine. Returns its document.
fn found(db: &Db, mode: &str, more: &[&str]) -> Value {
    let line = ["--mode", mode, "--budget=8s", "--max-starvation=100%", "--json", "--quiet"];
    db.run("find", &[&line[..], more].concat()).ends(0).json()
}

/// Asserts what must be true of every search.
#[track_caller]
fn assert_sound(document: &FindDocument) {
    assert_eq!(document.head.format, "iogauge.find/1");
    assert!(document.head.target.database().is_some());
    let answer = &document.search.answer;
    let point =
        document.search.curve.iter().find(|point| point.queue_depth == answer.queue_depth).unwrap();
    assert!(answer.iops.mean > 0.0);
    assert_eq!((point.met, point.iops.mean), (answer.met, answer.iops.mean));
    for point in &document.search.curve {
        let holds = |v: &iogauge_model::result::LimitValue| {
            v.value_ns.is_some_and(|ns| ns <= v.limit.bound_ns as f64)
        };
        assert_eq!(point.limits.len(), document.search.limits.len());
        assert!(!point.met || point.limits.iter().all(holds), "{point:?}");
        assert_eq!(point.errors, 0);
        // The figures leave out resting processes.
        assert!(point.queue_depth_achieved <= f64::from(point.queue_depth) * 1.02, "{point:?}");
    }
}

#[test]
fn read_search_varies_the_number_of_processes() {
    let db = Db::new(1, 2000);
    let document = found(&db, "read", &["--max-processes=6", "--limit=mean<=10s"]);
    let read = typed(&document);
    assert_sound(&read);
    assert_one_answer(&db.place, &document);
    assert!(
        read.search.curve.iter().all(|point| point.queue_depth <= 6),
        "{:?}",
        read.search.curve
    );
    // A performance shift of the disk, caused by other load, restarts the curve.
    assert!(
        read.search.curve.len() > 1 || !read.search.shifts.is_empty(),
        "{:?}",
        read.search.curve
    );
    assert!(read.search.answer.met && read.search.answer.iops.mean > 0.0);
    if let Some(physical) = &read.physical {
        // Reads bypass the cache, so the device does them.
        assert!(physical.reads as f64 >= read.search.answer.iops.mean * 0.2, "{physical:?}");
    }
    let show = |format: &str| db.place.run(&["history", "show", "--format", format]);
    assert_eq!(show("json").ends(0).json(), document);
    let text = show("text").ends(0).stdout;
    assert!(text.starts_with("sqlite:d RAN sustains ") && text.contains("reads/s"), "{text}");
    // The achieved number of processes has its own column if it differs from the requested one.
    let heads = |line: &str| line.starts_with("processes  ") && line.contains("  reads/s  ");
    assert!(text.lines().any(heads), "{text}");
    for word in ["IOPS", "I/Os", "depth", "sync:"] {
        let own = text.split("Notes on").next().unwrap();
        assert!(!own.contains(word), "{word}: {text}");
    }
    let points = read.search.curve.len();
    assert_eq!(show("iogauge-csv").ends(0).stdout.lines().count(), 1 + points);
    for format in ["csv", "classic"] {
        assert_eq!(show(format).ends(0).stdout.lines().count(), 1 + points);
    }
    assert_one_line(show("fio-json"), 2, &["is a search"]);
    assert!(db.place.run(&["history", "list"]).ends(0).stdout.contains("db-find"));
}

#[test]
fn write_search_is_bounded_by_the_number_of_globals() {
    let db = Db::new(2, 2000);
    let more = ["--limit=commit:mean<=10s", "--transaction-length=1", "--hang=100ms"];
    let document = found(&db, "write", &more);
    let read = typed(&document);
    assert_sound(&read);
    assert_one_answer(&db.place, &document);
    assert_eq!(
        read.search.limits.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["sync:mean <= 10 s"]
    );
    let (answer, curve) = (&read.search.answer, &read.search.curve);
    assert!(curve.iter().all(|point| point.queue_depth <= 2) && answer.met);
    assert_eq!((answer.queue_depth, answer.stopped_by), (2, StoppedBy::MaxDepth));
    assert!(codes(&document).contains(&"search-cut-short"));
    let caveats = document["caveats"].as_array().unwrap();
    let short = caveats.iter().find(|caveat| caveat["code"] == "search-cut-short").unwrap();
    let hint = short["remedy"].as_str().unwrap();
    assert_eq!(hint, "iogauge db add-globals sqlite:d --globals 2");
    shell(&db.place, hint).ends(0);
    assert_eq!(db.verified()["lost"], 0);
    let text = db.place.run_on(200, &["history", "show"]).ends(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("while mean commit latency stays ≤ 10 s, with 2 processes"), "{text}");
    // A process in its think time is not waiting for the database.
    assert!(!codes(&document).contains(&"depth-not-reached"), "{text}");
}

/// Limits that nothing meets, and the limits of a guide.
#[test]
fn unattainable_limits_are_reported() {
    let db = Db::new(2, 1000);
    let line = ["--mode=write", "--budget=1s", "--max-starvation=100%", "--quiet"];
    let done = db.run("find", &[&line[..], &["--limit=commit:p99<=1ns"]].concat()).ends(5);
    assert!(done.stdout.starts_with("sqlite:d RAN cannot run mode write (50 per transaction) while p99 commit latency stays ≤ 1 ns: even"), "{}", done.stdout);
    let shown = db.place.run(&["history", "show", "--format=json"]).ends(0).json();
    assert_eq!(shown["answer"]["stopped_by"], "unattainable");
    let guided = db.run("find", &[&line[..], &["--guide=flash", "--json"]].concat());
    // A maximum over its bound may come from a stall of the machine. Then the search is undecided.
    assert!(
        [Some(0), Some(5), Some(7)].contains(&guided.code),
        "{:?}: {}",
        guided.code,
        guided.stderr
    );
    let limits: Vec<String> =
        typed(&guided.json()).search.limits.iter().map(ToString::to_string).collect();
    assert_eq!(limits, ["mean <= 2 ms", "sync:mean <= 2 ms", "max <= 5 ms", "sync:max <= 5 ms"]);
    let wrong = db.run("find", &["--mode=write", "--limit=read:p99<=1ms"]);
    assert_one_line(
        wrong,
        2,
        &["\"read:p99 <= 1 ms\" bounds operations that mode write does not do"],
    );
    let wrong = db.run("find", &["--mode=read", "--limit=commit:p99<=1ms"]);
    assert_one_line(
        wrong,
        2,
        &["\"commit:p99 <= 1 ms\" bounds operations that mode read does not do"],
    );
}

/// The more processes wait for the same device, the longer reads take, so some number of processes breaks the limit.
#[test]
fn found_process_count_is_sustained_in_a_longer_run() {
    let db = Db::new(1, 1000);
    let alone = db.measured("read", &[]);
    let mean_ns = alone["steps"][0]["read"]["service_ns"]["mean"].as_f64().unwrap();
    let limit = format!("--limit=mean<={}ns", (mean_ns * 20.0) as u64);
    let line = ["--mode=read", "--budget=3s", "--max-starvation=100%", "--explain", &limit];
    let done = db.run("find", &line).ends(0);
    assert!(
        done.stderr.contains("next 2 processes: ") && !done.stderr.contains("depth"),
        "{}",
        done.stderr
    );
    // If the machine was too busy for the search to finish, the output suggests no longer run.
    if done.stdout.contains("stopped by mean") {
        let command = told(
            &done
                .stdout
                .lines()
                .skip_while(|l| !l.starts_with("Next: "))
                .collect::<Vec<_>>()
                .join(" "),
        );
        let command = command.split('"').next().unwrap();
        assert!(
            command.starts_with("iogauge db run sqlite:d --mode read --processes "),
            "{command}"
        );
        shell(&db.place, &format!("{command} {}", SHORT.join(" "))).ends(0);
    }
}

#[test]
fn db_find_without_completions_raises_a_caveat() {
    let db = Db::new(1, 1000);
    let line = ["--mode=read", "--hang=100s", "--budget=3s", "--limit=mean<=1s"];
    let done = db.run("find", &[&line[..], &["--json", "--quiet"]].concat());
    let document = crate::run::nothing_completed(done);
    // Nothing is known about the limit.
    assert_eq!(document["answer"]["stopped_by"], "budget");
}
