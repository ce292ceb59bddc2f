//! Runs as CSV with the columns of vendors' own suites.

use crate::{Db, assert_one_line, typed};
use iogauge_model::result::{DatabaseWorker, RunDocument, StepResult};
use iogauge_test_support::skip;
use std::collections::HashMap;
use std::path::Path;

const HEADER: &str = "RunDate,RunTime,Database,Namespace,Reads,Writes,ReadsPS,WritesPS,StdDevR,StdDevW,\
                      StdDevRPS,StdDevWPS,CVReads,CVWrites,CVReadsPerS,CVWritesPerS,Processes,ReadPct";

const WORKERS: &str = "format,run_id,started,step,mode,worker,seconds,reads,updates,commits,\
                       read_latency_ns_mean,update_latency_ns_mean,commit_latency_ns_mean";

/// Returns the rows of a file, by column.
#[track_caller]
fn rows(path: &Path) -> Vec<HashMap<&'static str, String>> {
    rows_under(path, HEADER)
}

/// Returns the rows of a file with this header, by column.
#[track_caller]
fn rows_under(path: &Path, header: &'static str) -> Vec<HashMap<&'static str, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(header));
    let row = |line: &str| {
        let cells = line.split(',').map(str::to_owned);
        assert_eq!(cells.clone().count(), header.split(',').count(), "{line}");
        header.split(',').zip(cells).collect()
    };
    lines.map(row).collect()
}

/// Returns the mean and the sample standard deviation, computed from their definitions.
fn sample(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

#[track_caller]
fn assert_near(cell: &str, wanted: f64) {
    let value: f64 = cell.parse().unwrap_or_else(|_| panic!("\"{cell}\", not {wanted}"));
    assert!((value - wanted).abs() <= 0.01_f64.max(wanted.abs() * 1e-4), "{value}, not {wanted}");
}

/// The columns of one operation: total, rate, standard deviations and coefficients of variation of both.
const READS: [&str; 6] = ["Reads", "ReadsPS", "StdDevR", "StdDevRPS", "CVReads", "CVReadsPerS"];
const WRITES: [&str; 6] =
    ["Writes", "WritesPS", "StdDevW", "StdDevWPS", "CVWrites", "CVWritesPerS"];

/// Asserts that the cells of one operation are its statistics over the workers, or empty.
#[track_caller]
fn assert_statistics(
    row: &HashMap<&str, String>,
    columns: [&str; 6],
    workers: &[DatabaseWorker],
    count: Option<fn(&DatabaseWorker) -> u64>,
) {
    let cells = columns.map(|column| row[column].as_str());
    let Some(count) = count else { return assert_eq!(cells, [""; 6]) };
    let counts: Vec<f64> = workers.iter().map(|worker| count(worker) as f64).collect();
    let rates: Vec<f64> = workers.iter().map(|w| count(w) as f64 / w.seconds).collect();
    assert_eq!(cells[0], format!("{}", counts.iter().sum::<f64>()));
    assert_near(cells[1], rates.iter().sum());
    if workers.len() < 2 {
        // One value has no deviation.
        return assert_eq!(cells[2..], [""; 4]);
    }
    let ((mean, deviation), (mean_rate, deviation_rate)) = (sample(&counts), sample(&rates));
    assert_near(cells[2], deviation);
    assert_near(cells[3], deviation_rate);
    assert_near(cells[4], deviation / mean);
    assert_near(cells[5], deviation_rate / mean_rate);
}

#[track_caller]
fn assert_row(row: &HashMap<&str, String>, document: &RunDocument, step: &StepResult) {
    let database = step.database.as_ref().unwrap();
    let (date, time) = (row["RunDate"].as_str(), row["RunTime"].as_str());
    let began = step.began.as_ref().unwrap();
    assert!(began.starts_with(&format!("{date}T{time}")), "{date} {time}");
    assert!(*began >= document.head.started, "{began}");
    assert_eq!((date.len(), time.len()), ("2026-01-31".len(), "23:59:59".len()));
    assert_eq!((row["Database"].as_str(), row["Namespace"].as_str()), ("sqlite:d", "RAN"));
    assert_eq!(row["Processes"], database.workers.len().to_string());
    let mode = database.mode.as_str();
    let read = (mode != "write").then_some((|w: &DatabaseWorker| w.reads) as fn(&_) -> u64);
    let write = (mode != "read").then_some((|w: &DatabaseWorker| w.updates) as fn(&_) -> u64);
    assert_statistics(row, READS, &database.workers, read);
    assert_statistics(row, WRITES, &database.workers, write);
    let percent = match mode {
        "read" => "100",
        "write" => "0",
        _ => "30",
    };
    assert_eq!(row["ReadPct"], percent);
}

/// Asserts that the view of the history has the columns and figures of the exported rows.
#[track_caller]
fn assert_view(db: &Db, documents: &[RunDocument]) {
    // SQLite as users have it: that of this program lacks the mathematical functions.
    let script = "import json, sqlite3, sys\n\
                  db = sqlite3.connect(sys.argv[1])\n\
                  db.row_factory = sqlite3.Row\n\
                  text = lambda v: '' if v is None else str(int(v) if v == v // 1 else v) \
                      if isinstance(v, (int, float)) else v\n\
                  rows = db.execute('SELECT * FROM db_run').fetchall()\n\
                  print(json.dumps([{key: text(row[key]) for key in row.keys()} for row in rows]))";
    let path = db.place.history();
    let done = std::process::Command::new("python3").args(["-c", script]).arg(&path).output();
    let done = match done {
        Ok(done) if done.status.success() => done.stdout,
        failed => return skip("the view db_run", &format!("no python3 with SQLite: {failed:?}")),
    };
    let rows: Vec<HashMap<String, String>> = serde_json::from_slice(&done).unwrap();
    let steps: usize = documents.iter().map(|document| document.steps.len()).sum();
    assert_eq!(rows.len(), steps);
    for document in documents {
        for (index, step) in document.steps.iter().enumerate() {
            let is_of = |row: &&HashMap<String, String>| {
                row["run_id"] == document.head.run_id && row["step_index"] == index.to_string()
            };
            let row = rows.iter().find(is_of).unwrap();
            assert_eq!(row["mode"], step.database.as_ref().unwrap().mode);
            let columns = HEADER.split(',').map(|column| (column, row[column].clone()));
            assert_row(&columns.collect(), document, step);
        }
    }
}

/// Returns what an export prints without the date in the names of its files, and the date.
#[track_caller]
fn undated(told: &str) -> (String, String) {
    let name = told.lines().next().unwrap().split_once(".csv").unwrap().0;
    let date = name.rsplit_once('_').unwrap().1.to_owned();
    let is_date = date.len() >= "20260203-040506".len() && date.as_bytes()[8] == b'-';
    assert!(is_date, "{date}");
    (told.replace(&format!("_{date}"), ""), date)
}

#[test]
fn db_export_writes_one_row_per_step() {
    let db = Db::new(3, 1000);
    let documents: Vec<RunDocument> = [
        ("write", &["--processes=3"][..]),
        ("read", &["--processes=2"]),
        ("io", &["--processes=3", "--read-pct=30", "--transaction-length=2"]),
        ("write", &["--ladder=1,2", "--hang=40ms", "--transaction-length=1"]),
        ("read", &[]),
    ]
    .into_iter()
    .map(|(mode, more)| typed(&db.measured(mode, more)))
    .collect();
    // A run on a device is not exported.
    db.place.run(&["run", "sim:nvme", "--runtime=1", "--quiet"]).ends(0);
    let told = db.place.run(&["db", "export", "out/csv"]).ends(0).stdout;
    let (told, date) = undated(&told);
    assert_eq!(
        told,
        "out/csv/io.csv: 1 row\nout/csv/read.csv: 2 rows\nout/csv/write.csv: 3 rows\n\
         out/csv/workers.csv: 12 rows\n"
    );
    let out = db.place.work().join("out/csv");
    let mut found = 0;
    for mode in ["read", "write", "io"] {
        let rows = rows(&out.join(format!("{mode}_{date}.csv")));
        let steps =
            documents.iter().flat_map(|document| document.steps.iter().map(move |s| (document, s)));
        let steps: Vec<_> =
            steps.filter(|(_, step)| step.database.as_ref().unwrap().mode == mode).collect();
        assert_eq!(rows.len(), steps.len());
        for (row, (document, step)) in rows.iter().zip(steps) {
            assert_row(row, document, step);
            found += 1;
        }
    }
    assert_eq!(found, 6);
    assert_view(&db, &documents);
    let each = rows_under(&out.join(format!("workers_{date}.csv")), WORKERS);
    assert_eq!(each.len(), 12);
    let workers = documents.iter().flat_map(|document| {
        let of_step = |(index, step): (usize, &StepResult)| {
            let workers = step.database.clone().unwrap().workers;
            workers.into_iter().map(move |worker| (index, worker)).collect::<Vec<_>>()
        };
        let steps = document.steps.iter().enumerate().flat_map(of_step);
        steps.map(|(step, worker)| (document.head.run_id.clone(), step, worker)).collect::<Vec<_>>()
    });
    for (row, (run, step, worker)) in each.iter().zip(workers) {
        assert_eq!((row["run_id"].as_str(), row["step"].parse()), (run.as_str(), Ok(step)));
        assert_eq!(row["updates"], worker.updates.to_string());
        assert_eq!(row["commits"], worker.commits.to_string());
        assert_eq!(row["reads"], worker.reads.to_string());
    }
}

#[test]
fn db_export_accepts_selected_runs_only() {
    let db = Db::new(2, 1000);
    let first = typed(&db.measured("write", &["--processes=2"]));
    db.measured("write", &[]);
    let told = db.place.run(&["db", "export", "out", &first.head.run_id]).ends(0).stdout;
    let (told, date) = undated(&told);
    assert_eq!(told, "out/write.csv: 1 row\nout/workers.csv: 2 rows\n");
    let path = db.place.work().join(format!("out/write_{date}.csv"));
    let rows = rows(&path);
    assert_row(&rows[0], &first, &first.steps[0]);
    // A later export has names of its own.
    let before = std::fs::read(&path).unwrap();
    let mut dates = vec![date];
    for _ in 0..3 {
        let again = db.place.run(&["db", "export", "out", &first.head.run_id]).ends(0).stdout;
        let date = undated(&again).1;
        assert!(!dates.contains(&date), "{date}");
        dates.push(date);
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(db.place.work().join("out")).unwrap().count(), 8);
    db.place.run(&["run", "sim:nvme", "--runtime=1", "--quiet"]).ends(0);
    let other = db.place.run(&["db", "export", "other", "last"]);
    assert_one_line(other, 2, &["none of these runs has a result on a database"]);
    assert_one_line(db.place.run(&["db", "export", "other", "nothing"]), 2, &["nothing"]);
    std::fs::write(db.place.work().join("file"), "mine").unwrap();
    assert_one_line(
        db.place.run(&["db", "export", "file"]),
        1,
        &["file cannot be written", "make the directory"],
    );
    assert!(!db.place.names().contains(&"other".to_owned()));
}

#[test]
fn readers_beside_writers_are_exported_as_a_row_of_each() {
    let db = Db::new(2, 1000);
    let document = typed(&db.measured_as(&["--readers=3", "--writers=2", "--hang=10ms"]));
    let database = document.steps[0].database.clone().unwrap();
    assert_eq!((database.mode.as_str(), database.writers), ("readers-writers", Some(2)));
    for worker in &database.workers {
        let (reads, updates) = (worker.reads > 0, worker.updates > 0);
        assert_eq!((reads, updates), (worker.worker > 2, worker.worker <= 2), "{worker:?}");
    }
    let told = db.place.run(&["db", "export", "out"]).ends(0).stdout;
    let (told, date) = undated(&told);
    assert_eq!(told, "out/read.csv: 1 row\nout/write.csv: 1 row\nout/workers.csv: 5 rows\n");
    for (mode, processes, percent) in [("read", "3", "100"), ("write", "2", "0")] {
        let rows = rows(&db.place.work().join(format!("out/{mode}_{date}.csv")));
        assert_eq!(
            (rows[0]["Processes"].as_str(), rows[0]["ReadPct"].as_str()),
            (processes, percent)
        );
    }
}
