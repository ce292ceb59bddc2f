//! Steady state that a workload is to attain: fio's `steadystate` and related options.

use crate::units::{Bandwidth, Latency, size_word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is measured once in each interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SteadyMetric {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bw,
    /// Mean service time in nanoseconds.
    Lat,
}

/// The steady state at which a workload ends. It is attained when the measurements in the rolling window meet the
/// criterion.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SteadyState {
    pub metric: SteadyMetric,
    /// True if the criterion is the slope of the line of best fit, per interval and without its sign; false if it is
    /// the largest deviation of a measurement from the mean.
    pub is_slope: bool,
    /// The criterion must be below this: in percent of the mean, or in units of the metric.
    pub bound: f64,
    /// True if the bound is in percent of the mean.
    pub is_percent: bool,
    /// Length of the rolling window, in nanoseconds.
    pub window_ns: u64,
    /// Time at the start of the measurement that is not judged, in nanoseconds.
    pub ramp_ns: u64,
    /// Time between two measurements, in nanoseconds.
    pub interval_ns: u64,
}

impl SteadyState {
    /// Smallest interval.
    pub const LEAST_INTERVAL_NS: u64 = 100_000_000;

    /// Returns the number of measurements in a window, at least 2.
    #[must_use]
    pub fn intervals(&self) -> usize {
        // Bounded: a window that is too long for memory never fills.
        (self.window_ns / self.interval_ns.max(1)).clamp(2, 1 << 20) as usize
    }

    /// Returns the criterion as in fio, without its bound: `iops`, `bw_slope`.
    #[must_use]
    pub fn criterion_word(&self) -> &'static str {
        match (self.metric, self.is_slope) {
            (SteadyMetric::Iops, false) => "iops",
            (SteadyMetric::Iops, true) => "iops_slope",
            (SteadyMetric::Bw, false) => "bw",
            (SteadyMetric::Bw, true) => "bw_slope",
            (SteadyMetric::Lat, false) => "lat",
            (SteadyMetric::Lat, true) => "lat_slope",
        }
    }

    /// Returns the bound as in fio's options: `0.3%`, `200`, `1m`, `50us`.
    #[must_use]
    pub fn bound_word(&self) -> String {
        match (self.is_percent, self.metric) {
            (true, _) => format!("{}%", self.bound),
            (false, SteadyMetric::Iops) => self.bound.to_string(),
            (false, SteadyMetric::Bw) => size_word(self.bound as u64),
            (false, SteadyMetric::Lat) => format!("{}ns", self.bound),
        }
    }

    /// Formats a value of the criterion for people: `0.21 %`, `3.5 IOPS`, `1.2 MB/s`, `35 µs`.
    #[must_use]
    pub fn value_word(&self, value: f64) -> String {
        let value = value.abs();
        match (self.is_percent, self.metric) {
            (true, _) => format!("{value:.2} %"),
            (false, SteadyMetric::Iops) => format!("{value:.1} IOPS"),
            (false, SteadyMetric::Bw) => Bandwidth(value).to_string(),
            (false, SteadyMetric::Lat) => Latency(value).to_string(),
        }
    }
}

/// Formats the value of fio's option `steadystate`.
impl fmt::Display for SteadyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.criterion_word(), self.bound_word()))
    }
}
