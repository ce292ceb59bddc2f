//! Runs and ladders: what their documents state, and whether it is true.

use crate::common::{Done, Place, Started, eventually};
use crate::{Db, SHORT, assert_one_line, codes, database, typed};
use iogauge_db::subscript_stream::SubscriptStream;
use iogauge_db::value::Stamp;
use iogauge_model::result::{DatabaseWorker, StepResult};
use serde_json::Value;

/// Sums a count over the workers.
fn sum(workers: &[DatabaseWorker], of: fn(&DatabaseWorker) -> u64) -> u64 {
    workers.iter().map(of).sum()
}

fn only_step(document: &Value) -> StepResult {
    let [step] = <[StepResult; 1]>::try_from(typed(document).steps).expect("one step");
    step
}

/// Asserts what must be true of every step: the counts of the three directions are the sums over the workers, and the
/// database counted exactly the operations that iogauge made.
#[track_caller]
fn assert_adds_up(step: &StepResult, processes: usize) {
    let database = step.database.as_ref().unwrap();
    let ios = |direction: &Option<_>| {
        direction.as_ref().map_or(0, |d: &iogauge_model::result::DirectionResult| d.ios)
    };
    let workers = &database.workers;
    assert_eq!(workers.len(), processes);
    assert_eq!(sum(workers, |w| w.reads), ios(&step.read));
    assert_eq!(sum(workers, |w| w.updates), ios(&step.write));
    assert_eq!(sum(workers, |w| w.commits), ios(&step.sync));
    assert_eq!(database.transactions, database.read_transactions + ios(&step.sync));
    let numbers: Vec<u32> = workers.iter().map(|worker| worker.worker).collect();
    assert_eq!(numbers, (1..=processes as u32).collect::<Vec<_>>());
    let counted = database.counted.as_ref().unwrap();
    assert_eq!(
        (counted.updates, counted.commits),
        (Some(counted.updates_made), Some(counted.commits_made))
    );
    assert!(counted.updates_made >= ios(&step.write) && counted.commits_made >= ios(&step.sync));
    assert!(!step.series.is_empty());
}

#[test]
fn write_counts_every_update_and_commit() {
    let db = Db::new(2, 3000);
    let more = ["--processes=2", "--transaction-length=20", "--ramp-time=100ms"];
    let line = ["--mode=write", "--json", "--quiet", "--runtime=400ms"];
    let document = db.run("run", &[&line[..], &more].concat()).ends(0).json();
    assert_eq!(document["format"], "iogauge.run/1");
    assert_eq!(
        (&document["target"]["kind"], &document["target"]["backend"]),
        (&"database".into(), &"sqlite".into())
    );
    assert_eq!(document["target"]["block_bytes"], 8192);
    assert_eq!(document["load"]["transaction_length"], 20);
    let step = only_step(&document);
    assert_adds_up(&step, 2);
    let (database, write, commits) = (database(&document), step.write.unwrap(), step.sync.unwrap());
    assert_eq!((database.mode.as_str(), step.read.is_none()), ("write", true));
    assert_eq!((database.reads_direct, database.read_percent_asked), (None, None));
    assert!(commits.ios > 0 && write.bytes == write.ios * 100);
    // The transactions are whole, except at the start and at the end.
    assert!(write.ios.abs_diff(commits.ios * 20) <= 2 * 2 * 20, "{} {}", write.ios, commits.ios);
    let counted = database.counted.unwrap();
    assert_eq!(counted.updates_made, counted.commits_made * 20);
    // The database counts the ramp, the result does not.
    assert!(counted.commits_made > commits.ios);
    let checked = db.verified();
    assert_eq!(checked["acknowledged"], counted.commits_made);
    for (worker, seen) in database.workers.iter().zip(checked["workers"].as_array().unwrap()) {
        assert_eq!((&seen["worker"], &seen["lost"]), (&worker.worker.into(), &0.into()));
        assert_eq!(seen["acknowledged"], seen["committed"]);
    }
}

#[test]
fn read_mode_bypasses_the_database_cache() {
    let db = Db::new(1, 2000);
    let document = db.measured("read", &["--processes=3"]);
    let step = only_step(&document);
    assert_adds_up(&step, 3);
    let (database, read) = (database(&document), step.read.unwrap());
    assert!(step.write.is_none() && step.sync.is_none());
    assert_eq!((database.reads_direct, database.cache_hit_percent), (Some(true), None));
    assert!(read.ios > 0 && read.bytes == read.ios * 8192);
    // A run that only reads acknowledges nothing.
    assert_eq!(db.verified()["acknowledged_known"], false);
}

/// The direction is drawn for each transaction, so the share of reads is binomial. Each process may be in a transaction
/// at the start and at the end.
#[test]
fn io_mode_draws_the_direction_per_transaction() {
    let db = Db::new(2, 2000);
    for asked in [0.0, 30.0, 80.0, 100.0] {
        let percent = format!("--read-pct={asked}");
        let more = [percent.as_str(), "--processes=2", "--transaction-length=4"];
        let (mut transactions, mut reads, mut edges) = (0, 0, 0.0);
        // A busy machine completes few transactions in a short run.
        for _ in 0..20 {
            let document = db.measured("io", &more);
            assert_adds_up(&only_step(&document), 2);
            let database = database(&document);
            assert_eq!((database.mode.as_str(), database.read_percent_asked), ("io", Some(asked)));
            transactions += database.transactions;
            reads += database.read_transactions;
            // Each worker may be in a transaction at both ends of a run.
            edges += 2.0 * 2.0;
            if transactions > 20 {
                break;
            }
        }
        let (n, p) = (transactions as f64, asked / 100.0);
        let off = (reads as f64 - n * p).abs();
        let bound = 5.0 * (n * p * (1.0 - p)).sqrt() + edges * (p * (1.0 - p)).ceil();
        assert!(n > 20.0 && off <= bound, "{asked} %: {reads} of {n}");
    }
    let document = db.measured("io", &[]);
    assert_eq!(database(&document).read_percent_asked, Some(50.0));
}

#[test]
fn db_run_evaluates_limits() {
    let db = Db::new(1, 2000);
    let limits = ["--limit=mean<=10s", "--limit=commit:p99<=1ns", "--transaction-length=5"];
    let document = db.measured("write", &limits);
    let (step, database) = (only_step(&document), database(&document));
    // A limit without a direction also applies to commits.
    let told: Vec<String> = database.limits.iter().map(|v| v.limit.to_string()).collect();
    assert_eq!(told, ["mean <= 10 s", "sync:mean <= 10 s", "sync:p99 <= 1 ns"]);
    let commits = step.sync.unwrap().service_ns;
    let updates = step.write.unwrap().service_ns;
    let values: Vec<f64> = database.limits.iter().map(|v| v.value_ns.unwrap()).collect();
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    assert!(near(values[0], updates.mean) && near(values[1], commits.mean), "{values:?}");
    assert!(near(values[2], commits.p99 as f64), "{values:?}");
    let text = db.place.run(&["history", "show"]).ends(0).stdout;
    for (begin, end) in [
        ("mean ", "≤ 10 s: holds"),
        ("commit:mean ", "≤ 10 s: holds"),
        ("commit:p99 ", "> 1 ns: broken"),
    ] {
        let judged = |line: &str| line.starts_with(begin) && line.ends_with(end);
        assert!(text.lines().any(judged), "{begin}: {text}");
    }
    let guided = db.measured("write", &["--guide=flash"]);
    let told: Vec<String> = database_limits(&guided);
    assert_eq!(told, ["mean <= 2 ms", "sync:mean <= 2 ms", "max <= 5 ms", "sync:max <= 5 ms"]);
    // A guide's limit on writes that someone waits for applies to commits here.
    let guided = db.measured("write", &["--guide=etcd"]);
    assert_eq!(database_limits(&guided), ["write:p99 <= 10 ms", "sync:p99 <= 10 ms"]);
    let sharper = db.measured("write", &["--guide=etcd", "--limit=commit:p99<=9ms"]);
    assert_eq!(database_limits(&sharper), ["sync:p99 <= 9 ms", "write:p99 <= 10 ms"]);
    // A limit on writes from the command line overrides the guide's limit on writes and keeps the one on commits.
    let beside = db.measured("write", &["--guide=etcd", "--limit=write:p99<=8ms"]);
    assert_eq!(database_limits(&beside), ["write:p99 <= 8 ms", "sync:p99 <= 10 ms"]);
    let typed = db.measured("write", &["--limit=write:p99<=10ms"]);
    assert_eq!(database_limits(&typed), ["write:p99 <= 10 ms"]);
    for (limit, code) in [("commit:p99<=1ns", 5), ("p99<=1h", 0)] {
        let line = [&["--mode=write", "--limit", limit], &SHORT[..]].concat();
        db.run("run", &line).ends(code);
    }
}

fn database_limits(document: &Value) -> Vec<String> {
    database(document).limits.iter().map(|value| value.limit.to_string()).collect()
}

#[test]
fn unflushed_writes_raise_a_caveat_without_drain() {
    let db = Db::new(1, 1000);
    let code = "unflushed-writes";
    let (without, with) = (db.measured("write", &[]), db.measured("write", &["--drain"]));
    let caveats = without["caveats"].as_array().unwrap();
    let caveat = caveats.iter().find(|caveat| caveat["code"] == code);
    // If the devices are unknown, no caveat about their writes is possible.
    assert_eq!(caveat.is_some(), typed(&without).steps[0].physical.is_some(), "{caveats:?}");
    let told = |caveat: &Value| caveat["remedy"].as_str().unwrap().contains("--drain");
    assert!(caveat.is_none_or(told) && !codes(&with).contains(&code), "{caveat:?}");
    assert!(!codes(&db.measured("read", &[])).contains(&code));
    let (without, with) = (database(&without), database(&with));
    assert!(without.drain.is_none());
    let drain = with.drain.unwrap();
    assert!(drain.seconds > 0.0);
    // At least the daemon's last cycle, which writes the run's changes to the files.
    assert!(with.cycles.iter().any(|cycle| cycle.blocks > 0), "{:?}", with.cycles);
}

/// A run does not wait for a process in its think time, and counts what the process did.
#[test]
fn run_does_not_wait_for_processes_in_think_time() {
    let db = Db::new(2, 1000);
    for mode in ["write", "read"] {
        let document = db.measured(mode, &["--processes=2", "--hang=1h"]);
        let step = &typed(&document).steps[0];
        assert!(step.ios() > 0, "{document}");
        let counted = step.database.as_ref().unwrap().counted.as_ref().unwrap();
        assert_eq!(counted.updates, Some(counted.updates_made));
        assert_eq!(counted.commits, Some(counted.commits_made));
    }
}

/// Written bytes and updated bytes are counted over the same time, including the ramp.
#[test]
fn drained_run_counts_writes_and_updates_from_the_start() {
    let db = Db::new(1, 1000);
    // Earlier writes do not belong to this run.
    db.measured("write", &[]);
    let line = ["--mode=write", "--json", "--quiet", "--drain"];
    let done = db.run("run", &[&line[..], &["--ramp-time=600ms", "--runtime=300ms"]].concat());
    let step = &typed(&done.ends(0).json()).steps[0];
    let database = step.database.as_ref().unwrap();
    let updates = database.counted.as_ref().unwrap().updates_made;
    let measured = step.write.as_ref().unwrap();
    assert!(updates > measured.ios, "the ramp has some of the {updates}");
    if let Some(physical) = &step.physical {
        let later = database.drain.as_ref().unwrap().physical.as_ref().unwrap();
        let updated_bytes = updates * measured.bytes / measured.ios;
        let written = database.written_per_updated.unwrap() * updated_bytes as f64;
        let seen = (physical.write_bytes + later.write_bytes) as f64;
        // It includes the writes of the ramp.
        assert!(written > seen, "{written} {seen}");
    }
}

#[test]
fn history_show_reproduces_the_database_result() {
    let db = Db::new(2, 1000);
    let done =
        db.run("run", &["--mode=io", "--processes=2", "--runtime=400ms", "--ramp-time=0"]).ends(0);
    let show = |format: &str| db.place.run(&["history", "show", "last", "--format", format]);
    assert_eq!(show("text").ends(0).stdout, done.stdout);
    let document = db.measured("io", &["--processes=2"]);
    assert_eq!(show("json").ends(0).json(), document);
    let table = show("iogauge-csv").ends(0).stdout;
    let directions = ["read", "write", "sync"];
    assert_eq!(table.lines().count(), 1 + directions.len());
    for (line, direction) in table.lines().skip(1).zip(directions) {
        assert!(line.contains(&format!("\",{direction},2,")), "{line}");
        let ios = document["steps"][0][direction]["ios"].as_u64().unwrap();
        assert!(line.contains(&format!(",{ios},0,")), "{ios} {line}");
    }
    for format in ["csv", "classic", "r"] {
        assert_eq!(show(format).ends(0).stdout.matches("io 50/50, 50 per transaction").count(), 2);
    }
    for format in ["fio-json", "fio-json+"] {
        assert_one_line(show(format), 2, &["--format json shows it"]);
    }
    let list = db.place.run_on(200, &["history", "list", "--limit=1"]).ends(0).stdout;
    for word in ["db-run", "sqlite:d RAN", "reads/s", "updates/s", "commits/s"] {
        assert!(list.contains(word), "{word}: {list}");
    }
}

#[test]
fn ladder_stops_when_a_limit_is_exceeded() {
    let db = Db::new(4, 1000);
    let document = db.measured("write", &["--ladder=1,2,4", "--limit=commit:mean<=1ns"]);
    assert_eq!(typed(&document).steps.len(), 1);
    assert_eq!(document["load"]["ladder"]["processes"], serde_json::json!([1, 2, 4]));
    let end = document["load"]["ladder"]["ended_by"].as_str().unwrap();
    assert_eq!(end, "commit:mean <= 1 ns does not hold with 1 process");
    let text = db.place.run(&["history", "show"]).ends(0).stdout;
    assert!(text.contains(&format!("The ladder ended: {end}.")), "{text}");
}

#[test]
fn ladder_stops_when_throughput_stops_growing() {
    let db = Db::new(1, 1000);
    // With 400 processes, nothing does even half of 400 times what one process does.
    let document = db.measured("read", &["--ladder=1,400,401"]);
    let steps = typed(&document).steps;
    assert_eq!(steps.iter().map(|step| step.queue_depth).collect::<Vec<_>>(), [1, 400]);
    let end = document["load"]["ladder"]["ended_by"].as_str().unwrap();
    assert!(end.contains("from 1 to 400 processes") && end.contains("(+39900 %)"), "{end}");
    // With a think time that takes nearly all the time, two processes do twice as much as one.
    let db = Db::new(2, 1000);
    let paused = ["--hang=300ms", "--transaction-length=1", "--ladder=1,2", "--runtime=4s"];
    let quiet = ["--mode=write", "--json", "--ramp-time=0", "--quiet"];
    let document = db.run("run", &[quiet, paused].concat()).ends(0).json();
    let steps = typed(&document).steps;
    assert_eq!(document["load"]["ladder"]["ended_by"], Value::Null);
    for (step, processes) in steps.iter().zip([1, 2]) {
        assert_adds_up(step, processes);
    }
    let shown = db.place.run(&["history", "show", "--format=json"]).ends(0).json();
    assert_eq!(shown["steps"].as_array().unwrap().len(), 2);
    let list = db.place.run(&["history", "list"]).ends(0).stdout;
    assert!(list.contains("2 steps"), "{list}");
}

#[test]
fn each_writing_process_requires_a_global() {
    let db = Db::new(2, 100);
    let way_out = ["there are 2", "--processes 2", "iogauge db add-globals sqlite:d --globals 1"];
    for mode in ["write", "io"] {
        let line = ["--mode", mode, "--processes=3"];
        assert_one_line(db.run("run", &line), 2, &way_out);
    }
    assert_one_line(db.run("run", &["--mode=write", "--ladder=1,2,3"]), 2, &way_out);
    assert!(!db.place.history().exists());
    // A process that only reads needs no global.
    db.measured("read", &["--processes=3"]);
    db.measured("io", &["--read-pct=100", "--processes=3"]);
}

/// Returns, for each subscript of global 1, the transaction that wrote it, computed from the seed.
fn drawn(seed: u64, subscripts: u64, transactions: u64, length: u64) -> Vec<u64> {
    let (mut draws, mut sequences) = (SubscriptStream::new(seed, 1), vec![0; subscripts as usize]);
    for sequence in 1..=transactions {
        for _ in 0..length {
            sequences[draws.subscript(subscripts) as usize - 1] = sequence;
        }
    }
    sequences
}

#[test]
fn recorded_seed_reproduces_every_random_draw() {
    const LENGTH: u64 = 7;
    for seed in [Some("7"), Some("18446744073709551615"), None] {
        let db = Db::new(1, 5000);
        let more: Vec<&str> = seed.into_iter().flat_map(|seed| ["--randseed", seed]).collect();
        let document = db.measured("write", &[&["--transaction-length=7"], &more[..]].concat());
        let told = document["load"]["seed"].as_u64().unwrap();
        assert!(seed.is_none_or(|seed| seed.parse::<u64>() == Ok(told)));
        let transactions = db.acknowledged().unwrap().workers[0].1;
        let stamp =
            |(index, value): (usize, &String)| Stamp::read(1, index as u64 + 1, value).unwrap();
        let found: Vec<u64> =
            db.values(1).iter().enumerate().map(|pair| stamp(pair).sequence).collect();
        assert_eq!(found, drawn(told, 5000, transactions, LENGTH));
        assert_ne!(found, drawn(told ^ 1, 5000, transactions, LENGTH));
    }
    let db = Db::new(1, 100);
    let seed = |document: Value| document["load"]["seed"].as_u64().unwrap();
    assert_ne!(seed(db.measured("write", &[])), seed(db.measured("write", &[])));
}

/// Asserts that a run stopped in the middle kept what it measured and is marked as interrupted.
#[track_caller]
fn assert_kept(db: &Db, done: Done) {
    let document = done.ends(130).json();
    assert_eq!(document["interrupted"], true);
    assert!(codes(&document).contains(&"interrupted"));
    assert_adds_up(typed(&document).steps.last().unwrap(), 2);
    assert_eq!(db.place.run(&["history", "show", "--format=json"]).ends(0).json(), document);
    assert_eq!(db.place.runs()[0].1, "interrupted");
    let text = db.place.run(&["history", "show"]).ends(0).stdout;
    assert!(text.contains("Interrupted: these are the figures up to then."), "{text}");
    let counted = database(&document).counted.unwrap();
    assert_eq!(db.verified()["acknowledged"], counted.commits_made);
}

/// Starts a run and waits until it has saved what it measured so far. Before, there may be nothing to keep.
fn measuring(db: &Db) -> Started {
    let run = db.at_work(2, &["--json", "--quiet"]);
    let show = ["history", "show", &db.place.runs()[0].0, "--format=json"];
    eventually(|| db.place.run(&show).json()["steps"].as_array().is_some_and(|s| !s.is_empty()));
    run
}

#[test]
fn interrupted_or_stopped_db_run_keeps_its_result() {
    let db = Db::new(2, 1000);
    let run = measuring(&db);
    run.signal("INT");
    assert_kept(&db, run.end());
    let run = measuring(&db);
    let stopped = db.place.run(&["db", "stop"]).ends(0).stdout;
    assert!(stopped.contains("has ended: interrupted"), "{stopped}");
    assert_kept(&db, run.end());
    // The next run has the database to itself.
    db.measured("write", &["--processes=2"]);
}

#[test]
fn detached_db_run_completes_in_the_background() {
    let db = Db::new(1, 1000);
    let line = ["--mode=write", "--detach", "--runtime=400ms", "--ramp-time=0"];
    let told = db.run("run", &line).ends(0).stdout;
    assert!(told.starts_with("run 2") && told.contains(" is in progress; "), "{told}");
    let id = told.split(' ').nth(1).unwrap();
    eventually(|| db.place.runs()[0].1 == "done");
    let document = db.place.run(&["history", "show", id, "--format=json"]).ends(0).json();
    assert_adds_up(&only_step(&document), 1);
    let logs = crate::common::names(db.place.history().parent().unwrap());
    assert!(logs.iter().all(|name| name.starts_with("history.db")), "{logs:?}");
    // If a run cannot start, the command reports it at once.
    let refused = db.run("run", &[&line[..], &["--processes=2"]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("add-globals"), "{}", refused.stderr);
}

#[test]
fn history_none_stores_nothing() {
    let db = Db::new(1, 100);
    db.measured("write", &["--history=none"]);
    assert!(!db.place.history().exists());
    let place = Place::new();
    let absent = ["db", "run", "sqlite:d", "--mode=read"];
    assert_eq!(place.run(&[&absent[..], &SHORT].concat()).code, Some(2));
}

#[test]
fn db_run_without_completions_raises_a_caveat() {
    let db = Db::new(1, 1000);
    // Each process starts its think time after its first transaction, which belongs to the ramp.
    let line = ["--hang=100s", "--ramp-time=2s", "--runtime=300ms", "--json", "--quiet"];
    let document = nothing_completed(db.run("run", &[&["--mode=read"], &line[..]].concat()));
    assert_eq!(document["steps"].as_array().unwrap().len(), 1);
    assert_eq!(db.place.runs()[0].1, "done");
}

/// Asserts that a command ended with the exit code for no completed operation and gave the reason in one line. Returns
/// its document.
#[track_caller]
pub fn nothing_completed(done: Done) -> Value {
    let done = done.ends(4);
    let lines: Vec<&str> =
        done.stderr.lines().filter(|line| line.contains("no operation was")).collect();
    assert_eq!(lines.len(), 1, "{}", done.stderr);
    assert!(lines[0].starts_with("error: ") && done.stderr.contains("\nhint: "), "{}", done.stderr);
    let document = done.json();
    let caveats = document["caveats"].as_array().unwrap();
    let told = caveats.iter().filter(|caveat| caveat["code"] == "nothing-completed").count();
    assert_eq!(told, 1, "{caveats:?}");
    document
}
