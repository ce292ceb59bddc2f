//! Estimates with intervals from a series of ticks.

use crate::measure::steadiness::unsteadiness;
use crate::stats::{Batch, effective_ios, quantile, ratio};
use iogauge_io::engine::Op;
use iogauge_model::Histogram;
use iogauge_model::result::{Estimate, IntervalPoint, LatencySummary, PercentileIntervals};

/// Selects I/Os of an interval.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which {
    /// I/Os of one direction.
    Only(Op),
    /// Reads and writes together.
    All,
}

impl Which {
    pub(crate) fn ios(self, point: &IntervalPoint) -> u64 {
        match self {
            Self::Only(Op::Read) => point.reads,
            Self::Only(Op::Write) => point.writes,
            Self::Only(Op::Sync) => point.syncs,
            Self::All => point.reads + point.writes,
        }
    }

    pub(crate) fn latency_sum_ns(self, point: &IntervalPoint) -> u64 {
        match self {
            Self::Only(Op::Read) => point.read_latency_sum_ns,
            Self::Only(Op::Write) => point.write_latency_sum_ns,
            Self::Only(Op::Sync) => point.sync_latency_sum_ns,
            Self::All => point.read_latency_sum_ns + point.write_latency_sum_ns,
        }
    }
}

/// Returns I/Os per second. `exact` is the rate over the whole window, on which the CI is centred.
pub(crate) fn iops(series: &[IntervalPoint], which: Which, exact: f64) -> Estimate {
    let batches: Vec<Batch> = series
        .iter()
        .map(|point| Batch { sum: which.ios(point) as f64, weight: point.seconds })
        .collect();
    around(exact, &ratio(&batches))
}

/// Returns the mean latency, with the CI centred on its exact value.
pub(crate) fn latency_mean(series: &[IntervalPoint], which: Which, exact_ns: f64) -> Estimate {
    let batches: Vec<Batch> = series
        .iter()
        .map(|point| Batch {
            sum: which.latency_sum_ns(point) as f64,
            weight: which.ios(point) as f64,
        })
        .collect();
    mean_of(&batches, exact_ns)
}

/// Returns the mean of batches, with the CI centred on its exact value.
pub(crate) fn mean_of(batches: &[Batch], exact_ns: f64) -> Estimate {
    around(exact_ns, &ratio(batches))
}

/// Returns the latencies of a window with the intervals of their statistics. `mean` is the estimate of their mean,
/// which reflects how much they depend on each other. Cost: five times that of [`crate::stats::quantile`].
pub(crate) fn latency_summary(latencies: &Histogram, mean: &Estimate) -> LatencySummary {
    let mut summary = LatencySummary::of(latencies, mean.ci95);
    if mean.n >= 2 && latencies.count() > 0 {
        let effective = effective_ios(latencies, mean);
        let ends = |percent| {
            quantile(latencies, percent, effective).map_or([None; 2], |q| [q.low_ns, q.high_ns])
        };
        summary.percentiles_ci95 = Some(PercentileIntervals {
            p50: ends(50.0),
            p95: ends(95.0),
            p99: ends(99.0),
            p999: ends(99.9),
            p9999: ends(99.99),
        });
    }
    summary
}

/// The windows of workers differ by microseconds, so the mean of the series may differ in the last digits.
fn around(exact: f64, estimate: &Estimate) -> Estimate {
    let half = estimate.half_width();
    Estimate { mean: exact, ci95: [(exact - half).max(0.0), exact + half], n: estimate.n }
}

/// Returns the half-width of the CI relative to the value; infinite with fewer than two effective batches.
pub(crate) fn known_error(estimate: &Estimate) -> f64 {
    if estimate.n < 2 { f64::INFINITY } else { estimate.relative_error() }
}

/// Returns true if the IOPS of a series show neither a drift nor a jump. A short series may be unable to show one.
pub(crate) fn is_steady(series: &[IntervalPoint]) -> bool {
    unsteadiness(series).is_none()
}
