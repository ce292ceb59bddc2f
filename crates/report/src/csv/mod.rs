//! Results as CSV for spreadsheets and scripts: a header, then a row per direction of each step, or per
//! point of a capacity curve.
//!
//! The first column names the format and its version. The version rises when a column changes its place or
//! meaning; new columns may be added at the end without that. Latencies are in nanoseconds, intervals are
//! 95 % confidence intervals, and what was not measured is empty.

mod database;
mod hosts_curve;
mod rows;
mod system;

pub use database::{
    DATABASE_CSV_COLUMNS, DatabaseRow, WORKER_CSV_COLUMNS, WORKER_CSV_FORMAT, database,
    database_rows, database_workers,
};
pub use hosts_curve::{HOSTS_CURVE_CSV_FORMAT, hosts_curve};
pub(crate) use rows::Rows;
pub use system::{SYSTEM_CSV_FORMAT, system};

use crate::terminal::marks;
use ::csv::Error;
use iogauge_model::result::{
    CurvePoint, Estimate, FindDocument, Head, LatencySummary, LimitValue, RunDocument, StepPlace,
    StepResult, SuiteDocument, SuiteOutcome, TargetFacts,
};
use std::io::Write;

/// First column of the rows of [`run`].
pub const RUN_CSV_FORMAT: &str = "iogauge.run-csv/1";
/// First column of the rows of [`find`].
pub const FIND_CSV_FORMAT: &str = "iogauge.find-csv/1";

const ESTIMATE: [&str; 3] = ["iops", "iops_ci95_low", "iops_ci95_high"];
const LATENCY: [&str; 8] = [
    "latency_ns_mean",
    "latency_ns_min",
    "latency_ns_p50",
    "latency_ns_p95",
    "latency_ns_p99",
    "latency_ns_p999",
    "latency_ns_p9999",
    "latency_ns_max",
];
const RESPONSE: [&str; 8] = [
    "response_ns_mean",
    "response_ns_min",
    "response_ns_p50",
    "response_ns_p95",
    "response_ns_p99",
    "response_ns_p999",
    "response_ns_p9999",
    "response_ns_max",
];

const SERVICE: [&str; 8] = [
    "service_ns_mean",
    "service_ns_min",
    "service_ns_p50",
    "service_ns_p95",
    "service_ns_p99",
    "service_ns_p999",
    "service_ns_p9999",
    "service_ns_max",
];
/// Confidence in the IOPS and the mean latency.
const SURENESS: [&str; 4] =
    ["iops_n", "latency_n", "latency_ns_mean_ci95_low", "latency_ns_mean_ci95_high"];
/// The statistic of the limit that is nearest to its bound or exceeds it most.
const LIMIT: [&str; 5] =
    ["limit", "limit_ns", "limit_ns_ci95_low", "limit_ns_ci95_high", "limit_n"];

/// Writes the steps of a run: a row for each direction that did any I/O (`read`, `write`, `sync`).
/// `latency_ns_…` is service time; `response_ns_…` is filled in if arrivals were scheduled.
///
/// # Errors
/// Fails if the writer fails.
pub fn run(document: &RunDocument, writer: impl Write) -> Result<(), Error> {
    let mut table = begin_run(writer)?;
    let head = &document.head;
    for (index, step) in document.steps.iter().enumerate() {
        let place = Place { head, target: &head.target, index, label: &step.label };
        write_step(&mut table, &place, step)?;
    }
    Ok(table.flush()?)
}

/// Writes the steps of a suite as [`run`] does, without those that only prepare. A search has a row for each point of its
/// curve, with the direction `all`. In a comparison, each row has the target and the name of its turn.
///
/// # Errors
/// Fails if the writer fails.
pub fn suite(document: &SuiteDocument, writer: impl Write) -> Result<(), Error> {
    let mut table = begin_run(writer)?;
    let measuring = document.steps.iter().filter(|step| step.place.phase != StepPlace::INIT);
    for (index, step) in measuring.enumerate() {
        let (head, target) = (&document.head, document.target_of(step));
        match &step.result {
            SuiteOutcome::Step(result) => {
                let label = &document.named(step, &result.label);
                write_step(&mut table, &Place { head, target, index, label }, result)?;
            }
            SuiteOutcome::Search(search) => {
                let place = Place { head, target, index, label: &step.place.key };
                for point in &search.curve {
                    write_point(&mut table, &place, point)?;
                }
            }
        }
    }
    Ok(table.flush()?)
}

/// Which row of a table of steps it is.
struct Place<'a> {
    head: &'a Head,
    target: &'a TargetFacts,
    index: usize,
    label: &'a str,
}

impl Place<'_> {
    /// Returns the first cells of a row.
    fn cells(&self, direction: &str) -> Vec<String> {
        vec![
            RUN_CSV_FORMAT.to_owned(),
            self.head.run_id.clone(),
            self.head.started.clone(),
            self.target.name().to_owned(),
            self.index.to_string(),
            self.label.to_owned(),
            direction.to_owned(),
        ]
    }
}

/// Begins a table of steps.
fn begin_run<W: Write>(writer: W) -> Result<Rows<W>, Error> {
    let mut table = Rows::new(writer);
    let mut header = vec!["format", "run_id", "started", "target", "step", "label", "direction"];
    header.extend(["depth", "rate_iops", "depth_achieved", "seconds", "ios", "errors"]);
    header.extend(ESTIMATE);
    header.push("bytes_per_sec");
    header.extend(LATENCY);
    header.extend(RESPONSE);
    header.extend(["cpu_ns_per_io", "physical_ratio"]);
    header.extend(SURENESS);
    table.write_record(&header)?;
    Ok(table)
}

fn write_step<W: Write>(
    table: &mut Rows<W>,
    place: &Place<'_>,
    step: &StepResult,
) -> Result<(), Error> {
    for (word, direction) in [("read", &step.read), ("write", &step.write), ("sync", &step.sync)] {
        let Some(direction) = direction else { continue };
        let mut row = place.cells(word);
        // A row of a table lacks most of it.
        let is_row = step.fio.as_ref().is_some_and(|fio| fio.from_table);
        let counted = |text: String| if is_row { String::new() } else { text };
        row.extend([
            step.queue_depth.to_string(),
            optional(step.rate_iops),
            step.queue_depth_achieved.to_string(),
            counted(step.seconds.to_string()),
            counted(direction.ios.to_string()),
            counted(direction.errors.to_string()),
        ]);
        row.extend(estimate(&direction.iops));
        row.push(direction.bytes_per_sec.to_string());
        row.extend(latency(Some(&direction.service_ns)));
        row.extend(latency(direction.response_ns.as_ref()));
        row.push(counted(step.cpu.ns_per_io.to_string()));
        row.push(optional(step.physical.as_ref().and_then(|p| p.ratio_to_logical)));
        row.extend(sureness(&direction.iops, &direction.service_ns));
        table.write_record(&row)?;
    }
    Ok(())
}

fn write_point<W: Write>(
    table: &mut Rows<W>,
    place: &Place<'_>,
    point: &CurvePoint,
) -> Result<(), Error> {
    let mut row = place.cells("all");
    row.extend([
        point.queue_depth.to_string(),
        optional(point.rate_iops),
        point.queue_depth_achieved.to_string(),
        point.seconds.to_string(),
        String::new(),
        point.errors.to_string(),
    ]);
    row.extend(estimate(&point.iops));
    row.push(String::new());
    // In an open loop, the latency of a point is its response time.
    let response = point.rate_iops.map(|_| &point.latency_ns);
    let service =
        if response.is_some() { point.service_ns.as_ref() } else { Some(&point.latency_ns) };
    row.extend(latency(service));
    row.extend(latency(response));
    row.extend([String::new(), String::new()]);
    row.extend(sureness(&point.iops, &point.latency_ns));
    table.write_record(&row)
}

/// Writes the points of a capacity curve. In an open loop, `latency_ns_…` is response time and
/// `service_ns_…` is filled in too. `met`, `steady`, `answer` and `knee` are `true` or `false`.
///
/// # Errors
/// Fails if the writer fails.
pub fn find(document: &FindDocument, writer: impl Write) -> Result<(), Error> {
    let mut table = Rows::new(writer);
    let mut header = vec!["format", "run_id", "started", "target"];
    header.extend(["depth", "rate_iops", "depth_achieved", "seconds", "errors"]);
    header.extend(ESTIMATE);
    header.extend(LATENCY);
    header.extend(["cpu_percent", "met", "steady", "answer", "knee"]);
    header.extend(SURENESS);
    header.extend(LIMIT);
    header.extend(["offered_iops", "backlog_max"]);
    header.extend(SERVICE);
    table.write_record(&header)?;
    for point in &document.search.curve {
        let head = &document.head;
        let mut row = vec![
            FIND_CSV_FORMAT.to_owned(),
            head.run_id.clone(),
            head.started.clone(),
            head.target.name().to_owned(),
            point.queue_depth.to_string(),
            optional(point.rate_iops),
            point.queue_depth_achieved.to_string(),
            point.seconds.to_string(),
            point.errors.to_string(),
        ];
        row.extend(estimate(&point.iops));
        row.extend(latency(Some(&point.latency_ns)));
        row.push(point.cpu_percent.to_string());
        let (answer, knee) = marks(document, point);
        row.extend([point.met, point.steady, answer, knee].map(|mark| mark.to_string()));
        row.extend(sureness(&point.iops, &point.latency_ns));
        row.extend(limit(&point.limits));
        row.push(optional(point.offered_iops));
        row.push(point.backlog_max.map_or_else(String::new, |ios| ios.to_string()));
        row.extend(latency(point.service_ns.as_ref()));
        table.write_record(&row)?;
    }
    Ok(table.flush()?)
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns the value and, if there is one, its interval.
fn estimate(estimate: &Estimate) -> [String; 3] {
    let [low, high] = estimate.ci95;
    let end = |value: f64| if estimate.n < 2 { String::new() } else { value.to_string() };
    [estimate.mean.to_string(), end(low), end(high)]
}

fn sureness(iops: &Estimate, latency: &LatencySummary) -> [String; 4] {
    let ends = if latency.n == 0 { [None, None] } else { latency.mean_ci95.map(Some) };
    let [low, high] = ends.map(optional);
    // The number of latencies is unknown, not 0.
    let n =
        if latency.n == 0 && latency.is_known() { String::new() } else { latency.n.to_string() };
    [iops.n.to_string(), n, low, high]
}

fn limit(limits: &[LimitValue]) -> [String; 5] {
    let share = |l: &LimitValue| l.value_ns.unwrap_or(f64::INFINITY) / l.limit.bound_ns as f64;
    let Some(tightest) = limits.iter().max_by(|a, b| share(a).total_cmp(&share(b))) else {
        return Default::default();
    };
    let [low, high] = tightest.ci95_ns.map_or([None, None], |ends| ends.map(Some)).map(optional);
    let name = tightest.limit.to_string();
    [name, optional(tightest.value_ns), low, high, tightest.n.to_string()]
}

fn latency(summary: Option<&LatencySummary>) -> [String; 8] {
    let Some(l) = summary.filter(|summary| summary.is_known()) else { return Default::default() };
    let known = |value: u64| if l.n == 0 && value == 0 { String::new() } else { value.to_string() };
    let [p50, p95, p99, p999, p9999, max] =
        [l.p50, l.p95, l.p99, l.p999, l.p9999, l.max].map(known);
    [l.mean.to_string(), l.min.to_string(), p50, p95, p99, p999, p9999, max]
}
