//! Measured numbers with their uncertainty.

use crate::histogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A measured number with its 95 % confidence interval and the number of independent observations that the
/// interval is based on.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Estimate {
    pub mean: f64,
    /// Lower and upper end of the 95 % confidence interval.
    pub ci95: [f64; 2],
    /// Effective number of independent observations. Below 2, there is no interval: both ends are the value.
    pub n: u64,
}

impl Estimate {
    /// Creates an exact value, without an interval, such as the closed form of a simulation.
    #[must_use]
    pub fn exact(mean: f64) -> Self {
        Self { mean, ci95: [mean, mean], n: 0 }
    }

    /// Returns the estimate of the quantity times a factor, such as bytes per second from I/Os per second.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self { mean: self.mean * factor, ci95: self.ci95.map(|end| end * factor), n: self.n }
    }

    /// Returns half the width of the interval.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.ci95[1] - self.ci95[0]) / 2.0
    }

    /// Returns the distance from the value to the farther end of the interval. It equals [`Self::half_width`]
    /// unless an end is cut off at 0.
    #[must_use]
    pub fn reach(&self) -> f64 {
        (self.mean - self.ci95[0]).max(self.ci95[1] - self.mean)
    }

    /// Returns half the width of the interval relative to the value; infinity if the value is 0.
    #[must_use]
    pub fn relative_error(&self) -> f64 {
        if self.mean == 0.0 { f64::INFINITY } else { self.half_width() / self.mean.abs() }
    }
}

/// Latency statistics of one direction over one window, in nanoseconds.
///
/// Percentiles are from the histogram, within 1/256. Mean, minimum and maximum are exact.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// 95 % confidence interval of the mean.
    pub mean_ci95: [f64; 2],
    /// Standard deviation of the latencies.
    pub stddev: f64,
    /// Exact minimum.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// 99.99th percentile.
    pub p9999: u64,
    /// Exact maximum.
    pub max: u64,
    /// Number of latencies.
    pub n: u64,
    /// Confidence intervals of the percentiles. Missing in results of older versions, and if the correlation
    /// of the latencies is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentiles_ci95: Option<PercentileIntervals>,
}

/// 95 % confidence intervals of percentiles: lower and upper end in nanoseconds. An end is `None` if too few
/// latencies are beyond it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PercentileIntervals {
    /// Interval of the median.
    pub p50: [Option<u64>; 2],
    /// Interval of the 95th percentile.
    pub p95: [Option<u64>; 2],
    /// Interval of the 99th percentile.
    pub p99: [Option<u64>; 2],
    /// Interval of the 99.9th percentile.
    pub p999: [Option<u64>; 2],
    /// Interval of the 99.99th percentile.
    pub p9999: [Option<u64>; 2],
}

impl LatencySummary {
    /// Returns true if there were latencies. Those of a classic table are known, but not their number: then `n` is 0,
    /// and so is each statistic that the table lacks.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.n > 0 || self.max > 0 || self.mean > 0.0
    }

    /// Summarizes a histogram. `mean_ci95` is the interval of its mean.
    #[must_use]
    pub fn of(histogram: &Histogram, mean_ci95: [f64; 2]) -> Self {
        Self {
            mean: histogram.mean_ns(),
            mean_ci95,
            stddev: histogram.stddev_ns(),
            min: histogram.min_ns(),
            p50: histogram.percentile_ns(50.0),
            p95: histogram.percentile_ns(95.0),
            p99: histogram.percentile_ns(99.0),
            p999: histogram.percentile_ns(99.9),
            p9999: histogram.percentile_ns(99.99),
            max: histogram.max_ns(),
            n: histogram.count(),
            percentiles_ci95: None,
        }
    }
}
