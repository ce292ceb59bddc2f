//! The common code of suites: figures of steps, rows, tables, and words of verdicts.

use super::{Site, SuiteError};
use crate::measure::Measured;
use crate::measure::estimates::{self, Which};
use crate::search::limit_value;
use iogauge_model::limit::Directions;
pub(crate) use iogauge_model::result::StepTotal as Total;
use iogauge_model::result::{
    Cell, DirectionResult, Estimate, LimitValue, StepResult, StoppedBy, SuiteStepResult, Table,
};
use iogauge_model::units::{Bytes, Count};
use iogauge_model::{Histogram, Limit};
use std::fmt::Display;

/// With fewer I/Os the 99.999th percentile is the maximum.
const ENOUGH_FOR_P99999: u64 = 100_000;

/// The verdict of a suite without figures.
pub(crate) const NOTHING: &str = "Nothing was measured.";

/// A row of a table: a name, and the figures of a step or of one direction of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) all: Total,
    /// 99th percentile, in nanoseconds.
    pub(crate) p99_ns: u64,
}

impl Row {
    /// Returns `None` for a step in which nothing completed.
    pub(crate) fn of(key: impl Into<String>, step: &StepResult) -> Option<Self> {
        let p99_ns = step.service_histogram().percentile_ns(99.0);
        Some(Self { key: key.into(), all: step.total()?, p99_ns })
    }

    pub(crate) fn of_direction(key: &str, side: &DirectionResult) -> Self {
        let all = Total {
            iops: side.iops.mean,
            bytes_per_sec: side.bytes_per_sec,
            mean_ns: side.service_ns.mean,
            max_ns: side.service_ns.max,
        };
        Self { key: key.to_owned(), all, p99_ns: side.service_ns.p99 }
    }

    pub(crate) fn iops(&self) -> Cell {
        Cell::Iops(self.all.iops)
    }

    pub(crate) fn bandwidth(&self) -> Cell {
        Cell::BytesPerSec(self.all.bytes_per_sec)
    }

    pub(crate) fn mean(&self) -> Cell {
        Cell::LatencyNs(self.all.mean_ns)
    }

    pub(crate) fn p99(&self) -> Cell {
        Cell::LatencyNs(self.p99_ns as f64)
    }

    pub(crate) fn max(&self) -> Cell {
        Cell::LatencyNs(self.all.max_ns as f64)
    }
}

/// A heading, as [`Table::new`] takes it, and a function that returns a row's cell below it.
pub(crate) type Column<'a, R> = (&'a str, &'a dyn Fn(&R) -> Cell);

/// Makes a table with a row for each of `rows`.
pub(crate) fn table<R>(
    title: impl Into<String>,
    rows: impl IntoIterator<Item = R>,
    columns: &[Column<'_, R>],
) -> Table {
    let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
    let mut table = Table::new(title, &headings);
    for row in rows {
        table.row(columns.iter().map(|(_, cell)| cell(&row)));
    }
    table
}

/// Makes a text cell.
pub(crate) fn words(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// Makes a cell of a latency in nanoseconds, or an empty cell.
pub(crate) fn latency_if_any(ns: Option<f64>) -> Cell {
    ns.map_or(Cell::Empty, Cell::LatencyNs)
}

/// Returns the result of the step with a key.
pub(crate) fn step_of<'a>(steps: &'a [SuiteStepResult], key: &str) -> Option<&'a StepResult> {
    steps.iter().find(|step| step.place.key == key)?.step()
}

/// Examples: `1 user`, `16 users`.
pub(crate) fn counted(count: impl Into<u64>, noun: &str) -> String {
    let count = count.into();
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Rounds a rate to a whole number.
pub(crate) fn whole(rate: f64) -> Count {
    Count(rate.round())
}

/// Joins values with a separator.
pub(crate) fn listed<T: Display>(values: impl IntoIterator<Item = T>, separator: &str) -> String {
    let words: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    words.join(separator)
}

/// Capitalizes the first letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}

/// Checks that direct I/O accepts an option's block size, and that the block fits into each part.
///
/// # Errors
/// The block size is not a multiple of the target's, or a part is too small.
pub(crate) fn block_fits(site: &Site, option: &str, block_bytes: u64) -> Result<(), SuiteError> {
    let unit = site.block_bytes;
    if !site.takes(block_bytes) {
        let reason = format!(
            "{block_bytes} is not a multiple of {unit}, the block of the target; hint: use {}",
            block_bytes.next_multiple_of(u64::from(unit))
        );
        return Err(SuiteError::option(option, reason));
    }
    if block_bytes > site.smallest_bytes() {
        let reason = format!(
            "a block of {} is larger than the target, which has {}",
            Bytes(block_bytes),
            Bytes(site.smallest_bytes())
        );
        return Err(SuiteError::option(option, reason));
    }
    Ok(())
}

/// Returns the 99.999th percentile, in nanoseconds; `None` for fewer than 100 000 latencies.
pub(crate) fn p99999(latencies: &Histogram) -> Option<u64> {
    (latencies.count() >= ENOUGH_FOR_P99999).then(|| latencies.percentile_ns(99.999))
}

/// Returns the reads and writes per second of a step, with their confidence interval; 0 if none
/// completed.
pub(crate) fn iops(step: &StepResult) -> Estimate {
    let exact = step.total().map_or(0.0, |total| total.iops);
    estimates::iops(&step.series, Which::All, exact)
}

/// Returns the first limit that a step breaks, with the value of its statistic in nanoseconds.
pub(crate) fn broken(step: &StepResult, limits: &[Limit]) -> Option<(Limit, f64)> {
    judged(step, |latencies| {
        let limit = limits.iter().find(|limit| !limit.holds(latencies))?;
        Some((*limit, limit.statistic_ns(latencies)))
    })
}

/// Returns the first limit whose statistic needs more I/Os than a step has.
pub(crate) fn short_of_samples(step: &StepResult, limits: &[Limit]) -> Option<Limit> {
    judged(step, |latencies| limits.iter().find(|limit| !limit.has_samples(latencies)).copied())
}

/// Returns the latencies of a direction: response times in an open loop, service times otherwise.
fn latencies(direction: &Option<DirectionResult>) -> Option<&Histogram> {
    let direction = direction.as_ref()?;
    Some(direction.response_histogram.as_ref().unwrap_or(&direction.service_histogram))
}

/// Returns the statistics that limits bound in a step.
#[must_use]
pub fn limit_values(step: &StepResult, limits: &[Limit]) -> Vec<LimitValue> {
    judged(step, |latencies| {
        limits.iter().map(|limit| limit_value(limit, latencies, &step.series)).collect()
    })
}

/// As [`limit_values`], of a step that was measured: a limit on each host has the value of the worst host, without an
/// interval.
#[must_use]
pub fn measured_limit_values(measured: &Measured, limits: &[Limit]) -> Vec<LimitValue> {
    let latencies = measured.latencies();
    let value = |limit: &Limit| {
        let worst = limit.judged(&latencies).max_by(|a, b| {
            // A host without I/Os in the direction breaks the limit.
            let statistic = |latencies: &Histogram| match latencies.count() {
                0 => f64::INFINITY,
                _ => limit.metric.of(latencies),
            };
            statistic(a).total_cmp(&statistic(b))
        });
        match worst.filter(|_| limit.each) {
            None => limit_value(limit, &latencies, &measured.result.series),
            Some(worst) => LimitValue {
                limit: *limit,
                value_ns: (worst.count() > 0).then(|| limit.metric.of(worst)),
                ci95_ns: None,
                n: worst.count(),
            },
        }
    };
    limits.iter().map(value).collect()
}

/// Calls `judge` with a step's latencies by direction.
pub(crate) fn judged<T>(step: &StepResult, judge: impl FnOnce(&Directions<'_>) -> T) -> T {
    let none = Histogram::new();
    let of = |direction| latencies(direction).unwrap_or(&none);
    judge(&Directions::new(of(&step.read), of(&step.write), of(&step.sync)))
}

/// Returns why a search does not allow a verdict.
pub(crate) fn why_no_capacity(stopped_by: Option<StoppedBy>) -> &'static str {
    match stopped_by {
        Some(StoppedBy::Unattainable) => "found no load that keeps the limit",
        Some(StoppedBy::Budget) => "needs a larger --budget",
        Some(StoppedBy::MaxDepth) => "needs a larger --max-depth",
        Some(StoppedBy::Starved) => "lacked processor time",
        Some(StoppedBy::Interrupted) => "was interrupted",
        Some(StoppedBy::Ended) => "ended because I/Os failed",
        _ => "found no capacity",
    }
}
