//! Tests of what the history keeps, finds, refuses and removes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::version_1;
use iogauge_lab::history::{
    EXPORT_CSV_COLUMNS, Ending, ExportFormat, Filter, History, HistoryError, Label, NewRun, RunRef,
    RunState, Running, Runs, SCHEMA_VERSION, UtcTime,
};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("deep/er/history ?#%.db");
    (directory, path)
}

fn run(kind: &str, target: &str) -> NewRun {
    NewRun {
        kind: kind.to_owned(),
        started: UtcTime::now(),
        command_line: format!("iogauge {kind} {target}"),
        target: target.to_owned(),
        load: "randread 4 KiB depth 1".to_owned(),
        label: None,
        head: json!({"target": target}),
    }
}

fn keep(history: &History, kind: &str, target: &str, steps: u32, ending: Ending) -> RunRef {
    let mut writer = history.begin(&run(kind, target)).unwrap();
    for index in 0..steps {
        writer.add_step(index, &format!("step {index}"), &json!({"depth": index + 1})).unwrap();
    }
    let id = writer.finish(ending, 0, &json!({"steps": steps}), "fine").unwrap();
    id.as_str().parse().unwrap()
}

fn reference(text: &str) -> RunRef {
    text.parse().unwrap()
}

#[test]
fn stored_run_is_read_back_unchanged() {
    let (_guard, path) = place();
    let history = History::open(&path).unwrap();
    history.check_writable().unwrap();
    let first = keep(&history, "find", "/data", 3, Ending::Done);
    keep(&history, "run", "sim:nvme", 0, Ending::Interrupted);

    let stored = History::open(&path).unwrap().show(&first).unwrap();
    assert_eq!(stored.row.state, RunState::Done);
    assert_eq!((stored.row.kind.as_str(), stored.row.target.as_str()), ("find", "/data"));
    assert_eq!((stored.row.exit_code, stored.row.verdict.as_str()), (Some(0), "fine"));
    assert!(stored.row.finished.unwrap() >= stored.row.started);
    assert_eq!(stored.head, json!({"target": "/data"}));
    assert_eq!(stored.document, Some(json!({"steps": 3})));
    let queue_depths: Vec<_> =
        stored.steps.iter().map(|s| (s.index, s.result["depth"].clone())).collect();
    assert_eq!(queue_depths, [(0, json!(1)), (1, json!(2)), (2, json!(3))]);
    assert_eq!(history.resolve(&reference("last-1")).unwrap().id, stored.row.id);
}

#[test]
fn list_applies_filter_and_shows_newest_first() {
    let (_guard, path) = place();
    let history = History::open(&path).unwrap();
    keep(&history, "run", "/data/a", 1, Ending::Done);
    keep(&history, "find", "/data/b", 2, Ending::Failed);
    keep(&history, "find", "sim:hdd", 0, Ending::Interrupted);
    let under_way = history.begin(&run("run", "/data/c")).unwrap();

    let targets = |filter: Filter| -> Vec<String> {
        history.list(&filter).unwrap().into_iter().map(|row| row.target).collect()
    };
    let all = Filter::default;
    assert_eq!(targets(all()), ["/data/c", "sim:hdd", "/data/b", "/data/a"]);
    assert_eq!(targets(Filter { limit: Some(2), ..all() }), ["/data/c", "sim:hdd"]);
    assert_eq!(targets(Filter { kind: Some("find".into()), ..all() }), ["sim:hdd", "/data/b"]);
    assert_eq!(targets(Filter { state: Some(RunState::Failed), ..all() }), ["/data/b"]);
    let in_data = Filter { target_contains: Some("/data/".into()), limit: Some(2), ..all() };
    assert_eq!(targets(in_data), ["/data/c", "/data/b"]);
    assert_eq!(history.running().unwrap()[0].id, *under_way.id());
    assert_eq!(history.list(&all()).unwrap()[2].steps, 2);
}

#[test]
fn step_with_same_index_is_replaced() {
    let (_guard, path) = place();
    let history = History::open(&path).unwrap();
    let mut writer = history.begin(&run("find", "/data")).unwrap();
    writer.add_step(7, "first", &json!(1)).unwrap();
    writer.add_step(7, "second", &json!(2)).unwrap();
    let steps = history.show(&RunRef::Back(0)).unwrap().steps;
    assert_eq!(steps.len(), 1);
    assert_eq!((steps[0].label.as_str(), &steps[0].result), ("second", &json!(2)));
}

#[test]
fn running_runs_are_removed_only_by_force_and_detect_it() {
    let (_guard, path) = place();
    let mut history = History::open(&path).unwrap();
    keep(&history, "run", "/old", 2, Ending::Done);
    let mut writer = history.begin(&run("run", "/data")).unwrap();

    let refused = history.reset(Running::Refuse).unwrap_err();
    assert!(refused.to_string().contains(writer.id().as_str()), "{refused}");
    assert_eq!(history.list(&Filter::default()).unwrap().len(), 2);
    let refused = history.rm(&[reference("last-1"), reference("last")], Running::Refuse);
    assert!(matches!(refused, Err(HistoryError::StillRunning { .. })));
    assert_eq!(history.rm(&[reference("last-1")], Running::Refuse).unwrap().len(), 1);

    assert_eq!(history.reset(Running::Remove).unwrap(), 1);
    let gone = writer.add_step(0, "late", &json!({})).unwrap_err();
    assert!(matches!(gone, HistoryError::RunRemoved { .. }), "{gone}");
    let gone = writer.finish(Ending::Done, 0, &json!({}), "").unwrap_err();
    assert!(matches!(gone, HistoryError::RunRemoved { .. }), "{gone}");
    let connection = Connection::open(&path).unwrap();
    let steps: u32 =
        connection.query_row("SELECT count(*) FROM step", [], |row| row.get(0)).unwrap();
    assert_eq!(steps, 0);
}

fn direction(iops: f64) -> Value {
    json!({"ios": 10, "errors": 1, "iops": {"mean": iops, "ci95": [iops - 1.0, iops + 1.0], "n": 5},
           "bytes_per_sec": iops * 4096.0,
           "service_ns": {"mean": 1.5, "min": 1, "p50": 2, "p95": 3, "p99": 4, "p999": 5,
                          "p9999": 6, "max": 7}})
}

#[test]
fn export_writes_one_line_per_step() {
    let (_guard, path) = place();
    let history = History::open(&path).unwrap();
    let mut writer = history.begin(&run("run", "/data,\"odd\"")).unwrap();
    let mixed = json!({"depth": 8, "depth_achieved": 7.5, "seconds": 10.0,
                       "read": direction(100.0), "write": direction(50.0)});
    writer.add_step(0, "mixed", &mixed).unwrap();
    let point = json!({"depth": 4, "iops": {"mean": 9.0, "ci95": [8.0, 10.0], "n": 3},
                       "latency_ns": {"mean": 11.0, "max": 12}});
    writer.add_step(1, "point", &point).unwrap();
    writer.finish(Ending::Done, 0, &json!({}), "").unwrap();
    keep(&history, "run", "/nothing", 0, Ending::Failed);

    let mut csv = Vec::new();
    history.export(ExportFormat::Csv, &mut csv).unwrap();
    let mut reader = csv::Reader::from_reader(csv.as_slice());
    assert_eq!(reader.headers().unwrap(), EXPORT_CSV_COLUMNS.to_vec());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let column = |row: usize, name: &str| {
        rows[row][EXPORT_CSV_COLUMNS.iter().position(|c| *c == name).unwrap()].to_owned()
    };
    assert_eq!(rows.len(), 4);
    assert_eq!((column(0, "direction"), column(1, "direction")), ("read".into(), "write".into()));
    assert_eq!(column(1, "iops_ci95_low"), "49.0");
    assert_eq!((column(0, "latency_ns_max"), column(0, "depth")), ("7".into(), "8".into()));
    assert_eq!(
        (column(2, "direction"), column(2, "latency_ns_mean")),
        ("all".into(), "11.0".into())
    );
    assert_eq!((column(3, "target"), column(3, "step")), ("/nothing".into(), String::new()));
    assert_eq!(column(0, "target"), "/data,\"odd\"");

    let mut lines = Vec::new();
    history.export(ExportFormat::Json, &mut lines).unwrap();
    let lines: Vec<Value> = String::from_utf8(lines)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["format"], "iogauge.history/1");
    assert_eq!(lines[0]["step"]["result"], mixed);
    assert_eq!(lines[1]["run"]["state"], "done");
    assert_eq!(lines[2]["step"], Value::Null);
}

#[test]
fn failing_writer_aborts_export_with_an_error() {
    let (_guard, path) = place();
    let history = History::open(&path).unwrap();
    keep(&history, "run", "/data", 1, Ending::Done);
    for format in [ExportFormat::Json, ExportFormat::Csv] {
        let mut full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = history.export(format, &mut full).unwrap_err();
        assert!(matches!(error, HistoryError::Export(_)), "{format}: {error}");
    }
}

fn message_of_opening(path: &Path) -> String {
    let before = fs::read(path).unwrap();
    let message = History::open(path).unwrap_err().to_string();
    assert_eq!(fs::read(path).unwrap(), before, "the file was changed");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn export_writes_one_row_per_database_worker() {
    let (_guard, path) = place();
    let history = History::open(&path).unwrap();
    let mut writer = history.begin(&run("db-run", "sqlite:d RAN")).unwrap();
    let worker = |number, commits| {
        json!({"worker": number, "seconds": 2.5, "reads": 0, "updates": 50 * commits, "commits": commits,
            "read_latency_ns_mean": 0.0, "update_latency_ns_mean": 10.5, "commit_latency_ns_mean": 99.0})
    };
    let workers = json!([worker(1, 7), worker(2, 9)]);
    writer.add_step(0, "without", &json!({"depth": 1})).unwrap();
    writer.add_step(1, "write", &json!({"depth": 2, "database": {"workers": workers}})).unwrap();
    let id = writer.finish(Ending::Done, 0, &json!({}), "fine").unwrap();
    // A history without the view gets it when it is opened.
    Connection::open(&path).unwrap().execute_batch("DROP VIEW worker").unwrap();
    drop(History::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT run_id, step_index, label, worker, seconds, reads, updates, commits,
        read_latency_ns_mean, update_latency_ns_mean, commit_latency_ns_mean FROM worker ORDER BY worker";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let counts = [row.get(1)?, row.get(3)?, row.get(5)?, row.get(6)?, row.get::<_, i64>(7)?];
        let figures = [row.get(4)?, row.get(8)?, row.get(9)?, row.get::<_, f64>(10)?];
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(2)?, counts, figures))
    });
    let rows: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
    let row = |counts| (id.to_string(), "write".to_owned(), counts, [2.5, 0.0, 10.5, 99.0]);
    assert_eq!(rows, [row([1, 1, 0, 350, 7]), row([1, 2, 0, 450, 9])]);
}

#[test]
fn newer_schema_version_is_rejected_with_both_versions() {
    let (_guard, path) = place();
    keep(&History::open(&path).unwrap(), "run", "/data", 1, Ending::Done);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION + 41).unwrap();
    connection.pragma_update(None, "journal_mode", "delete").unwrap();
    drop(connection);
    let message = message_of_opening(&path);
    assert!(message.contains("schema version 43, this iogauge knows 2"), "{message}");
}

#[test]
fn history_of_version_1_is_converted_without_loss() {
    let (_guard, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    version_1(&path);
    let version = |number: Option<i32>| -> i32 {
        let connection = Connection::open(&path).unwrap();
        if let Some(number) = number {
            connection.pragma_update(None, "user_version", number).unwrap();
        }
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    let mut history = History::open(&path).unwrap();
    let stored = history.show(&reference("x7k2")).unwrap();
    assert_eq!((stored.row.state, stored.row.verdict.as_str()), (RunState::Done, "fine"));
    assert_eq!(stored.row.started.to_string(), "2026-11-21T10:15:30Z");
    assert_eq!((stored.row.label, stored.steps.len()), (None, 1));
    assert_eq!(version(None), SCHEMA_VERSION);
    // A program of version 1 that is still running writes its own number.
    assert_eq!(version(Some(1)), 1);
    let label: Label = "nightly".parse().unwrap();
    history.set_label(&[reference("last")], Some(&label)).unwrap();
    drop(history);
    let row = History::open(&path).unwrap().resolve(&reference("last")).unwrap();
    assert_eq!((row.label, version(None)), (Some(label), SCHEMA_VERSION));
}

#[test]
fn labels_select_runs_and_are_in_documents() {
    let (_guard, path) = place();
    let mut history = History::open(&path).unwrap();
    let [nightly, weekly]: [Label; 2] = ["nightly", "weekly"].map(|text| text.parse().unwrap());
    let mut ids = Vec::new();
    for label in [Some(&nightly), None, Some(&weekly), Some(&nightly)] {
        let new = NewRun { label: label.cloned(), ..run("run", "/data") };
        let document = json!({"label": "as it was then"});
        let writer = history.begin(&new).unwrap();
        ids.push(writer.finish(Ending::Done, 0, &document, "").unwrap());
    }
    let refer = |place: usize| RunRef::Name(ids[place].to_string());
    let selected = |history: &History, text: &str| history.select(&text.parse::<Runs>().unwrap());
    assert_eq!(selected(&history, "label:nightly").unwrap(), [refer(0), refer(3)]);
    assert!(selected(&history, "label:night").is_err());
    assert_eq!(selected(&history, "load:randread").unwrap().len(), 4);

    let filter = Filter { label: Some(nightly.clone()), ..Filter::default() };
    assert_eq!(history.list(&filter).unwrap().len(), 2);
    let set = history.set_label(&[refer(1), refer(3), refer(1)], Some(&weekly)).unwrap();
    assert_eq!(set, [ids[1].clone(), ids[3].clone()]);
    history.set_label(&[refer(2)], None).unwrap();
    assert!(history.set_label(&[refer(0), reference("last-9")], None).is_err());
    let labels = |row: &_| history.show(row).unwrap().document.unwrap()["label"].clone();
    let labels: Vec<Value> = (0..4).map(|place| labels(&refer(place))).collect();
    assert_eq!(labels, [json!("nightly"), json!("weekly"), Value::Null, json!("weekly")]);
    let mut csv = Vec::new();
    history.export(ExportFormat::Csv, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let ends: Vec<_> = csv.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(ends, ["run_label", "nightly", "weekly", "", "weekly"]);
}

#[test]
fn foreign_files_are_rejected_and_left_unchanged() {
    let (_guard, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for content in [b"short".to_vec(), vec![b'x'; 5000]] {
        fs::write(&path, content).unwrap();
        assert!(message_of_opening(&path).contains("not an SQLite database"));
    }
    for (application, tables) in
        [(77, ""), (0, "CREATE TABLE theirs (x)"), (77, "CREATE TABLE t (x)")]
    {
        fs::remove_file(&path).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(tables).unwrap();
        connection.pragma_update(None, "application_id", application).unwrap();
        drop(connection);
        assert!(message_of_opening(&path).contains("another application's database"));
    }
    let message = History::open(path.parent().unwrap()).unwrap_err().to_string();
    assert!(message.contains("directory"), "{message}");
}

#[test]
fn database_corruption_is_reported() {
    let (_guard, path) = place();
    let history = History::open(&path).unwrap();
    keep(&history, "run", "/data", 50, Ending::Done);
    drop(history);
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE step SET result = 'no JSON' WHERE step_index = 3", []).unwrap();
    drop(connection);
    let error = History::open(&path).unwrap().show(&RunRef::Back(0)).unwrap_err();
    assert!(matches!(error, HistoryError::Damaged { .. }), "{error}");

    let mut bytes = fs::read(&path).unwrap();
    let from = bytes.len() / 4;
    bytes[from..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let error = History::open(&path)
        .and_then(|history| history.show(&RunRef::Back(0)))
        .map(|run| run.row.id)
        .unwrap_err();
    assert!(matches!(error, HistoryError::Damaged { .. }), "{error}");
}

#[test]
fn runs_started_in_the_same_second_have_unique_ids() {
    let (_guard, path) = place();
    let history = History::open(&path).unwrap();
    let same = NewRun { started: UtcTime::from_unix_ns(0), ..run("run", "/data") };
    let mut names: Vec<_> = (0..200).map(|_| history.begin(&same).unwrap().id().clone()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 200);
}
