//! Everything kept, as lines other tools read.

use super::process::Surroundings;
use super::query::{RUN_COLUMNS, run_row};
use super::{HistoryError, RunRow, UtcTime};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

/// Word in every line of a JSON export; the number rises when a field changes its meaning.
pub const EXPORT_FORMAT: &str = "iogauge.history/1";
/// Word in the first column of a CSV export; the number rises when a column changes its place or
/// meaning.
pub const EXPORT_CSV_FORMAT: &str = "iogauge.history-csv/1";

/// Columns of the CSV export. A step that read and wrote has one row for each direction
/// (`read`, `write`, `sync`); a point of a capacity curve has one, `all`; a run without steps has
/// one with the columns from `step` on empty. Latencies are service times, except for curve points
/// of an open loop, which keep response times. Intervals are at 95 %.
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
];

/// Form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// JSON Lines: one object per step with everything kept of it, histograms included.
    Json,
    /// CSV with [`EXPORT_CSV_COLUMNS`]: the figures, without histograms.
    Csv,
}

/// A word that is no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no export format; right would be json or csv")]
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

/// Why an export ended early: SQLite or the writer.
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
        io::Error::from(error).into()
    }
}

/// Writes every run, the first added first, holding one step in memory at a time.
pub(super) fn export(
    connection: &Connection,
    here: &Surroundings,
    format: ExportFormat,
    writer: &mut dyn Write,
) -> Result<(), Broken> {
    match format {
        ExportFormat::Json => each_step(connection, here, |run, step| {
            let line = Line { format: EXPORT_FORMAT, run, step };
            serde_json::to_writer(&mut *writer, &line).map_err(io::Error::from)?;
            Ok(writer.write_all(b"\n")?)
        }),
        ExportFormat::Csv => {
            let mut table = csv::Writer::from_writer(writer);
            table.write_record(EXPORT_CSV_COLUMNS)?;
            each_step(connection, here, |run, step| write_rows(&mut table, run, step.as_ref()))?;
            Ok(table.flush()?)
        }
    }
}

fn each_step(
    connection: &Connection,
    here: &Surroundings,
    mut take: impl FnMut(&RunRow, Option<ExportedStep>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let mut statement = connection.prepare(&format!(
        "SELECT {RUN_COLUMNS}, step.step_index, step.label AS step_label, step.recorded_ns,
                step.result
         FROM run LEFT JOIN step ON step.run_seq = run.seq ORDER BY run.seq, step.step_index"
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let step = match row.get::<_, Option<u32>>("step_index")? {
            Some(index) => Some(ExportedStep {
                index,
                label: row.get("step_label")?,
                recorded: UtcTime::from_unix_ns(row.get("recorded_ns")?),
                result: row.get("result")?,
            }),
            None => None,
        };
        take(&run_row(row, here)?, step)?;
    }
    Ok(())
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
    let Some(step) = step else {
        record.resize(EXPORT_CSV_COLUMNS.len(), String::new());
        return Ok(table.write_record(&record)?);
    };
    record.extend([step.index.to_string(), step.label.clone()]);
    let shared = record.len();
    let directions = ["read", "write", "sync"].map(|word| (word, &step.result[word]));
    let moved: Vec<_> = directions.into_iter().filter(|(_, value)| value.is_object()).collect();
    let whole = [("all", &step.result)];
    for (direction, value) in if moved.is_empty() { &whole[..] } else { &moved } {
        record.truncate(shared);
        record.push((*direction).to_owned());
        for pointer in ["/depth", "/rate_iops", "/depth_achieved", "/seconds"] {
            record.push(cell(&step.result, pointer));
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
        table.write_record(&record)?;
    }
    Ok(())
}

/// A number as it was kept; empty where there is none.
fn cell(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer) {
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
