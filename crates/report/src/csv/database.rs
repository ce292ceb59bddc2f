//! Database steps as CSV with the columns that vendors' own I/O suites export: one row per step, or one for its readers
//! and one for its writers, with statistics over the workers.

use super::Rows;
use ::csv::Error;
use iogauge_model::result::{DatabaseResult, DatabaseWorker, RunDocument, StepResult};
use std::io::Write;

/// The columns, in order.
pub const DATABASE_CSV_COLUMNS: [&str; 18] = [
    "RunDate",
    "RunTime",
    "Database",
    "Namespace",
    "Reads",
    "Writes",
    "ReadsPS",
    "WritesPS",
    "StdDevR",
    "StdDevW",
    "StdDevRPS",
    "StdDevWPS",
    "CVReads",
    "CVWrites",
    "CVReadsPerS",
    "CVWritesPerS",
    "Processes",
    "ReadPct",
];

/// A row with the cells of [`DATABASE_CSV_COLUMNS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseRow([String; 18]);

/// Returns the rows of a run, each with its mode: `read`, `write` or `io`. Readers beside writers have a row of each.
/// Steps without a database have none.
#[must_use]
pub fn database_rows(document: &RunDocument) -> Vec<(&'static str, DatabaseRow)> {
    document.steps.iter().flat_map(|step| rows_of_step(document, step)).collect()
}

/// Writes rows of one mode.
///
/// # Errors
/// Fails if the writer fails.
pub fn database(rows: &[DatabaseRow], writer: impl Write) -> Result<(), Error> {
    let mut table = Rows::new(writer);
    table.write_record(DATABASE_CSV_COLUMNS)?;
    for DatabaseRow(row) in rows {
        table.write_record(row)?;
    }
    table.flush()?;
    Ok(())
}

/// Columns of [`database_workers`]. Latencies are in nanoseconds.
pub const WORKER_CSV_COLUMNS: [&str; 13] = [
    "format",
    "run_id",
    "started",
    "step",
    "mode",
    "worker",
    "seconds",
    "reads",
    "updates",
    "commits",
    "read_latency_ns_mean",
    "update_latency_ns_mean",
    "commit_latency_ns_mean",
];
/// First column of the rows of [`database_workers`].
pub const WORKER_CSV_FORMAT: &str = "iogauge.db-workers-csv/1";

/// Writes a row for each worker of each database step of these runs.
///
/// # Errors
/// Fails if the writer fails.
pub fn database_workers(documents: &[RunDocument], writer: impl Write) -> Result<(), Error> {
    let mut table = Rows::new(writer);
    table.write_record(WORKER_CSV_COLUMNS)?;
    for document in documents {
        for (index, step) in document.steps.iter().enumerate() {
            let Some(database) = &step.database else { continue };
            for worker in &database.workers {
                table.write_record([
                    WORKER_CSV_FORMAT.to_owned(),
                    document.head.run_id.clone(),
                    document.head.started.clone(),
                    index.to_string(),
                    database.mode.clone(),
                    worker.worker.to_string(),
                    format!("{:.6}", worker.seconds),
                    worker.reads.to_string(),
                    worker.updates.to_string(),
                    worker.commits.to_string(),
                    format!("{:.0}", worker.read_latency_ns_mean),
                    format!("{:.0}", worker.update_latency_ns_mean),
                    format!("{:.0}", worker.commit_latency_ns_mean),
                ])?;
            }
        }
    }
    table.flush()?;
    Ok(())
}

/// Figures of one kind of operation over the workers. Figures that do not apply are empty.
#[derive(Default)]
struct Kind {
    total: String,
    per_second: String,
    stddev: String,
    stddev_per_second: String,
    cv: String,
    cv_per_second: String,
}

impl Kind {
    /// Returns the figures of an operation that the mode includes.
    fn of(workers: &[DatabaseWorker], count: fn(&DatabaseWorker) -> u64) -> Self {
        let counts: Vec<f64> = workers.iter().map(|worker| count(worker) as f64).collect();
        let rate = |worker: &DatabaseWorker| count(worker) as f64 / worker.seconds.max(1e-9);
        let rates: Vec<f64> = workers.iter().map(rate).collect();
        let (spread, spread_of_rates) = (Spread::of(&counts), Spread::of(&rates));
        Self {
            total: format!("{:.0}", counts.iter().sum::<f64>()),
            per_second: format!("{:.2}", rates.iter().sum::<f64>()),
            stddev: spread.stddev(),
            stddev_per_second: spread_of_rates.stddev(),
            cv: spread.cv(),
            cv_per_second: spread_of_rates.cv(),
        }
    }
}

/// Mean and sample standard deviation; the latter needs two values.
struct Spread {
    mean: f64,
    stddev: Option<f64>,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n.max(1.0);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, stddev: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()) }
    }

    fn stddev(&self) -> String {
        self.stddev.map_or_else(String::new, |stddev| format!("{stddev:.4}"))
    }

    fn cv(&self) -> String {
        let cv = self.stddev.filter(|_| self.mean > 0.0).map(|stddev| stddev / self.mean);
        cv.map_or_else(String::new, |cv| format!("{cv:.6}"))
    }
}

/// Workers of a step that do the same.
struct Group<'a> {
    mode: &'static str,
    read_percent: String,
    processes: u32,
    workers: &'a [DatabaseWorker],
}

/// Returns the groups of a step with so many processes.
fn groups(processes: u32, database: &DatabaseResult) -> Vec<Group<'_>> {
    let workers = &database.workers[..];
    let group = |mode, read_percent: &str, processes, workers| Group {
        mode,
        read_percent: read_percent.to_owned(),
        processes,
        workers,
    };
    match (database.mode.as_str(), database.writers) {
        ("read", _) => vec![group("read", "100", processes, workers)],
        ("write", _) => vec![group("write", "0", processes, workers)],
        ("readers-writers", Some(writers)) => {
            let (update, read) =
                workers.split_at(workers.partition_point(|worker| worker.worker <= writers));
            vec![
                group("read", "100", processes.saturating_sub(writers), read),
                group("write", "0", writers, update),
            ]
        }
        _ => {
            let asked = database.read_percent_asked;
            let asked = asked.map_or_else(String::new, |percent| format!("{percent:.0}"));
            vec![group("io", &asked, processes, workers)]
        }
    }
}

fn rows_of_step(document: &RunDocument, step: &StepResult) -> Vec<(&'static str, DatabaseRow)> {
    let head = &document.head;
    let Some(database) = &step.database else { return Vec::new() };
    let target = head.target.database().cloned().unwrap_or_default();
    // Steps of earlier versions do not say when they began.
    let began = step.began.as_deref().unwrap_or(&head.started);
    let (date, time) = began.split_once('T').unwrap_or((began, ""));
    let time = time.trim_end_matches('Z').split('.').next().unwrap_or_default();
    let row = |group: Group<'_>| {
        let kind = |is_done: bool, count| {
            if is_done { Kind::of(group.workers, count) } else { Kind::default() }
        };
        let reads = kind(group.mode != "write", |worker| worker.reads);
        let writes = kind(group.mode != "read", |worker| worker.updates);
        let row = DatabaseRow([
            date.to_owned(),
            time.to_owned(),
            target.url.clone(),
            target.database.clone(),
            reads.total,
            writes.total,
            reads.per_second,
            writes.per_second,
            reads.stddev,
            writes.stddev,
            reads.stddev_per_second,
            writes.stddev_per_second,
            reads.cv,
            writes.cv,
            reads.cv_per_second,
            writes.cv_per_second,
            group.processes.to_string(),
            group.read_percent,
        ]);
        (group.mode, row)
    };
    groups(step.queue_depth, database).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_csv_uses_sample_standard_deviation() {
        let worker =
            |reads, seconds| DatabaseWorker { reads, seconds, ..DatabaseWorker::default() };
        let kind = Kind::of(&[worker(90, 1.0), worker(110, 1.0)], |worker| worker.reads);
        assert_eq!((kind.total.as_str(), kind.per_second.as_str()), ("200", "200.00"));
        // Both values deviate by 10: the square root of 200 / 1.
        assert_eq!((kind.stddev.as_str(), kind.cv.as_str()), ("14.1421", "0.141421"));
        let alone = Kind::of(&[worker(90, 0.5)], |worker| worker.reads);
        assert_eq!((alone.per_second.as_str(), alone.stddev.as_str()), ("180.00", ""));
    }

    #[test]
    fn readers_beside_writers_are_a_group_each() {
        let workers =
            [1, 2, 3].map(|worker| DatabaseWorker { worker, ..DatabaseWorker::default() });
        let database = DatabaseResult {
            mode: "readers-writers".to_owned(),
            writers: Some(2),
            workers: workers.to_vec(),
            ..DatabaseResult::default()
        };
        let groups = groups(3, &database).into_iter().map(|group| {
            let workers: Vec<u32> = group.workers.iter().map(|worker| worker.worker).collect();
            (group.mode, group.read_percent, group.processes, workers)
        });
        let groups: Vec<_> = groups.collect();
        let wanted = [("read", "100", 1, vec![3]), ("write", "0", 2, vec![1, 2])]
            .map(|(mode, percent, n, workers)| (mode, percent.to_owned(), n, workers));
        assert_eq!(groups, wanted);
    }
}
