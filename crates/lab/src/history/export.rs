//! Exports all kept runs as lines for other tools.

use super::process::Surroundings;
use super::query::row_of;
use super::{HistoryError, Label, RunRow, UtcTime};
use iogauge_model::plain_text::{csv_cell, json_shown};
use rusqlite::{Connection, Row};
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

/// The `format` field of every line of a JSON export. The number rises when a field changes its
/// meaning.
pub const EXPORT_FORMAT: &str = "iogauge.history/1";
/// The first column of a CSV export. The number rises when a column changes its position or
/// meaning.
pub const EXPORT_CSV_FORMAT: &str = "iogauge.history-csv/1";

/// Columns of the CSV export. A step has one row for each of its directions (`read`, `write`,
/// `sync`). A point of a capacity curve has one row, `all`. A run without steps has one row, in
/// which the columns from `step` to `latency_ns_max` are empty. Latencies are service times, except for curve points
/// of an open loop, which keep response times. Confidence intervals are 95 %.
pub const EXPORT_CSV_COLUMNS: &[&str] = &[
    "format",
    "run_id",
    "kind",
    "state",
    "started",
    "target",
    "load",
    "step",
    "label",
    "direction",
    "depth",
    "rate_iops",
    "depth_achieved",
    "seconds",
    "ios",
    "errors",
    "iops",
    "iops_ci95_low",
    "iops_ci95_high",
    "bytes_per_sec",
    "latency_ns_mean",
    "latency_ns_min",
    "latency_ns_p50",
    "latency_ns_p95",
    "latency_ns_p99",
    "latency_ns_p999",
    "latency_ns_p9999",
    "latency_ns_max",
    "run_label",
];

/// Form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// JSON Lines: one object for each step with everything kept of it, including histograms.
    Json,
    /// CSV with [`EXPORT_CSV_COLUMNS`]: the figures, without histograms.
    Csv,
}

/// A word that is no export format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no export format; hint: use json or csv")]
pub struct ExportFormatError(String);

impl FromStr for ExportFormat {
    type Err = ExportFormatError;

    fn from_str(text: &str) -> Result<Self, ExportFormatError> {
        match text {
            "json" => Ok(Self::Json),
            "csv" => Ok(Self::Csv),
            _ => Err(ExportFormatError(text.to_owned())),
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Json => "json",
            Self::Csv => "csv",
        })
    }
}

#[derive(Serialize)]
struct Line<'a> {
    format: &'static str,
    run: &'a RunRow,
    step: Option<ExportedStep>,
}

#[derive(Serialize)]
struct ExportedStep {
    index: u32,
    label: String,
    recorded: UtcTime,
    result: Value,
}

/// Why an export ended early: SQLite or the writer failed.
pub(super) enum Broken {
    Read(rusqlite::Error),
    Write(HistoryError),
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Write(error.into())
    }
}

impl From<csv::Error> for Broken {
    fn from(error: csv::Error) -> Self {
        // `io::Error::from` would hide the kind, by which a closed pipe is known.
        match error.into_kind() {
            csv::ErrorKind::Io(error) => error.into(),
            other => io::Error::other(format!("{other:?}")).into(),
        }
    }
}

/// Writes every run, oldest first, with one step in memory at a time. Returns the rows that could
/// not be read, with the reasons.
pub(super) fn export(
    connection: &Connection,
    here: &Surroundings,
    format: ExportFormat,
    writer: &mut dyn Write,
) -> Result<Vec<String>, Broken> {
    match format {
        ExportFormat::Json => each_step(connection, here, |run, step| {
            let line = Line { format: EXPORT_FORMAT, run, step };
            let line = serde_json::to_string(&line).map_err(io::Error::from)?;
            Ok(writeln!(writer, "{}", json_shown(&line))?)
        }),
        ExportFormat::Csv => {
            let mut table = csv::Writer::from_writer(writer);
            table.write_record(EXPORT_CSV_COLUMNS)?;
            let take = |run: &RunRow, step: Option<_>| write_rows(&mut table, run, step.as_ref());
            let left_out = each_step(connection, here, take)?;
            table.flush()?;
            Ok(left_out)
        }
    }
}

/// Calls `take` with each step and its run. Skips damaged rows.
fn each_step(
    connection: &Connection,
    here: &Surroundings,
    mut take: impl FnMut(&RunRow, Option<ExportedStep>) -> Result<(), Broken>,
) -> Result<Vec<String>, Broken> {
    let mut left_out = Vec::new();
    for seq in seqs(connection, &mut left_out)? {
        let run = match row_of(connection, seq, here) {
            Ok(run) => run,
            Err(error) => {
                left_out.push(format!("run number {seq}: {error}"));
                continue;
            }
        };
        let mut statement = connection.prepare_cached(
            "SELECT step_index, label, recorded_ns, result FROM step
             WHERE run_seq = ?1 ORDER BY step_index",
        )?;
        let mut rows = statement.query([seq])?;
        let mut has_steps = false;
        loop {
            let step = match rows.next() {
                Ok(Some(row)) => step_of(row),
                Ok(None) => break,
                Err(error) => {
                    left_out.push(format!("the other steps of run {}: {error}", run.id));
                    break;
                }
            };
            has_steps = true;
            match step {
                Ok(step) => take(&run, Some(step))?,
                Err(error) => left_out.push(format!("a step of run {}: {error}", run.id)),
            }
        }
        if !has_steps {
            take(&run, None)?;
        }
    }
    Ok(left_out)
}

/// Returns the numbers of the runs, as far as they can be read.
fn seqs(connection: &Connection, left_out: &mut Vec<String>) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare("SELECT seq FROM run ORDER BY seq")?;
    let mut rows = statement.query([])?;
    let mut seqs = Vec::new();
    loop {
        match rows.next() {
            Ok(Some(row)) => seqs.push(row.get(0)?),
            Ok(None) => return Ok(seqs),
            Err(error) => {
                left_out.push(format!("the runs after number {}: {error}", seqs.len()));
                return Ok(seqs);
            }
        }
    }
}

fn step_of(row: &Row<'_>) -> rusqlite::Result<ExportedStep> {
    Ok(ExportedStep {
        index: row.get("step_index")?,
        label: row.get("label")?,
        recorded: UtcTime::from_unix_ns(row.get("recorded_ns")?),
        result: row.get("result")?,
    })
}

fn write_rows<W: Write>(
    table: &mut csv::Writer<W>,
    run: &RunRow,
    step: Option<&ExportedStep>,
) -> Result<(), Broken> {
    let mut record = vec![
        EXPORT_CSV_FORMAT.to_owned(),
        run.id.to_string(),
        run.kind.clone(),
        run.state.to_string(),
        run.started.to_string(),
        run.target.clone(),
        run.load.clone(),
    ];
    let label = run.label.as_ref().map(Label::to_string).unwrap_or_default();
    let Some(step) = step else {
        record.resize(EXPORT_CSV_COLUMNS.len() - 1, String::new());
        record.push(label);
        return write_row(table, &record);
    };
    record.extend([step.index.to_string(), step.label.clone()]);
    let shared = record.len();
    for (result, direction, value) in parts_of(&step.result) {
        record.truncate(shared);
        record.push(direction.to_owned());
        for pointer in ["/depth", "/rate_iops", "/depth_achieved", "/seconds"] {
            record.push(cell(result, pointer));
        }
        for pointer in ["/ios", "/errors", "/iops/mean", "/iops/ci95/0", "/iops/ci95/1"] {
            record.push(cell(value, pointer));
        }
        record.push(cell(value, "/bytes_per_sec"));
        let latency =
            value.get("service_ns").or_else(|| value.get("latency_ns")).unwrap_or(&Value::Null);
        for name in ["mean", "min", "p50", "p95", "p99", "p999", "p9999", "max"] {
            record.push(cell(latency, &format!("/{name}")));
        }
        record.push(label.clone());
        write_row(table, &record)?;
    }
    Ok(())
}

/// Returns what has a row each: the directions of a step, or the points of a curve. Each has the step or the point, the
/// name of the direction, and its figures. What a suite keeps of a step is around that.
fn parts_of(kept: &Value) -> Vec<(&Value, &'static str, &Value)> {
    if let Some(points) = kept.pointer("/result/search/curve").and_then(Value::as_array) {
        return points.iter().map(|point| (point, "all", point)).collect();
    }
    let result = kept.pointer("/result/step").unwrap_or(kept);
    let directions = ["read", "write", "sync"].map(|word| (result, word, &result[word]));
    let moved: Vec<_> = directions.into_iter().filter(|(.., value)| value.is_object()).collect();
    if moved.is_empty() { vec![(result, "all", result)] } else { moved }
}

/// Writes a row. Text that a spreadsheet would interpret as a formula gets an apostrophe in front.
fn write_row<W: Write>(table: &mut csv::Writer<W>, record: &[String]) -> Result<(), Broken> {
    for cell in record {
        table.write_field(csv_cell(cell).as_bytes())?;
    }
    // Ends the row.
    Ok(table.write_record(None::<&[u8]>)?)
}

/// Returns a number as it was kept; empty if there is none.
fn cell(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer) {
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_pipe_is_recognized_in_a_csv_error() {
        let closed = csv::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        match Broken::from(closed) {
            Broken::Write(HistoryError::Export(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
            }
            Broken::Write(other) => panic!("{other}"),
            Broken::Read(other) => panic!("{other}"),
        }
    }
}
