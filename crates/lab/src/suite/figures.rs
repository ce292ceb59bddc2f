//! Figures of steps as tables and verdicts want them.

use crate::measure::estimates::{self, Which};
use iogauge_model::limit::Directions;
use iogauge_model::result::{DirectionResult, Estimate, StepResult};
use iogauge_model::{Histogram, Limit};

/// With fewer I/Os the 99.999th percentile is the maximum.
const ENOUGH_FOR_P99999: u64 = 100_000;

/// Reads and writes of a step as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Total {
    /// I/Os per second.
    pub(crate) iops: f64,
    /// Bytes per second.
    pub(crate) bytes_per_sec: f64,
    /// Mean service time, in nanoseconds.
    pub(crate) mean_ns: f64,
    /// Largest service time, in nanoseconds.
    pub(crate) max_ns: u64,
}

/// Reads and writes of a step as one; `None` where none was completed.
pub(crate) fn total(step: &StepResult) -> Option<Total> {
    let moved: Vec<&DirectionResult> =
        step.read.iter().chain(&step.write).filter(|d| d.ios > 0).collect();
    let ios: f64 = moved.iter().map(|d| d.ios as f64).sum();
    let sum_ns: f64 = moved.iter().map(|d| d.service_ns.mean * d.ios as f64).sum();
    (ios > 0.0).then(|| Total {
        iops: moved.iter().map(|d| d.iops.mean).sum(),
        bytes_per_sec: moved.iter().map(|d| d.bytes_per_sec).sum(),
        mean_ns: sum_ns / ios,
        max_ns: moved.iter().map(|d| d.service_ns.max).max().unwrap_or(0),
    })
}

/// The 99.999th percentile, in nanoseconds; `None` of fewer than 100 000 latencies.
pub(crate) fn p99999(latencies: &Histogram) -> Option<u64> {
    (latencies.count() >= ENOUGH_FOR_P99999).then(|| latencies.percentile_ns(99.999))
}

/// Reads and writes of a step per second, with their interval; 0 where none was completed.
pub(crate) fn iops(step: &StepResult) -> Estimate {
    let exact = total(step).map_or(0.0, |total| total.iops);
    estimates::iops(&step.series, Which::All, exact)
}

/// The first of the limits that a step breaks, with what its statistic came to, in nanoseconds.
pub(crate) fn broken(step: &StepResult, limits: &[Limit]) -> Option<(Limit, f64)> {
    judged(step, |latencies| {
        let limit = limits.iter().find(|limit| !limit.holds(latencies))?;
        Some((*limit, limit.statistic_ns(latencies)))
    })
}

/// The first of the limits whose statistic takes more I/Os than a step has.
pub(crate) fn short_of_samples(step: &StepResult, limits: &[Limit]) -> Option<Limit> {
    judged(step, |latencies| limits.iter().find(|limit| !limit.has_samples(latencies)).copied())
}

/// Latencies of a direction: a schedule's count from the moment the I/O was meant to start.
fn latencies(direction: &Option<DirectionResult>) -> Option<&Histogram> {
    let direction = direction.as_ref()?;
    Some(direction.response_histogram.as_ref().unwrap_or(&direction.service_histogram))
}

/// Lets a limit be judged by a step's latencies.
pub(crate) fn judged<T>(step: &StepResult, judge: impl FnOnce(&Directions<'_>) -> T) -> T {
    let none = Histogram::new();
    let of = |direction| latencies(direction).unwrap_or(&none);
    judge(&Directions::new(of(&step.read), of(&step.write), of(&step.sync)))
}
