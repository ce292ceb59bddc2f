//! The steady state that the jobs of a step were to attain.

use crate::load::{SteadyMetric, SteadyState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One measurement of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SteadyPoint {
    /// I/Os per second, of all directions.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// Mean service time in nanoseconds; 0 if no I/O completed.
    pub latency_mean_ns: f64,
}

/// The steady state of a step at its end.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SteadyStateResult {
    /// What was to be attained.
    pub sought: SteadyState,
    /// When it was attained, in seconds since the measurement began; `None` if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attained_at_seconds: Option<f64>,
    /// Measurements of the last window, in order of time: fewer than a window has if it never filled.
    pub points: Vec<SteadyPoint>,
}

impl SteadyPoint {
    /// Returns the value that is judged.
    #[must_use]
    pub fn value(&self, metric: SteadyMetric) -> f64 {
        match metric {
            SteadyMetric::Iops => self.iops,
            SteadyMetric::Bw => self.bytes_per_sec,
            SteadyMetric::Lat => self.latency_mean_ns,
        }
    }
}

impl SteadyStateResult {
    /// Creates the state of a step that has just begun.
    #[must_use]
    pub fn begin(sought: SteadyState) -> Self {
        Self { sought, attained_at_seconds: None, points: Vec::new() }
    }

    /// True if it was attained.
    #[must_use]
    pub fn is_attained(&self) -> bool {
        self.attained_at_seconds.is_some()
    }

    /// True if the window is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.points.len() >= self.sought.intervals()
    }

    /// Adds a measurement, and removes the oldest one from a full window. Returns true if the window then meets the
    /// criterion.
    pub fn add(&mut self, point: SteadyPoint) -> bool {
        if self.is_full() {
            self.points.remove(0);
        }
        self.points.push(point);
        self.at_end().is_some_and(|value| value.abs() < self.sought.bound)
    }

    /// Returns the criterion for the window, in units of the bound: a slope has its sign. `None` if the window is not
    /// full, or if the mean of a percentage is 0.
    #[must_use]
    pub fn at_end(&self) -> Option<f64> {
        if !self.is_full() {
            return None;
        }
        let value = if self.sought.is_slope { self.slope() } else { self.max_deviation() };
        match self.sought.is_percent {
            false => Some(value),
            true => Some(100.0 * value / self.mean()).filter(|percent| percent.is_finite()),
        }
    }

    /// Returns the mean of the measurements; 0 if there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.values().sum::<f64>() / (self.points.len() as f64).max(1.0)
    }

    /// Returns the largest deviation of a measurement from the mean.
    #[must_use]
    pub fn max_deviation(&self) -> f64 {
        let mean = self.mean();
        self.values().map(|value| (value - mean).abs()).fold(0.0, f64::max)
    }

    /// Returns the slope of the line of best fit, per interval; 0 with fewer than two measurements.
    #[must_use]
    pub fn slope(&self) -> f64 {
        let n = self.points.len() as f64;
        if n < 2.0 {
            return 0.0;
        }
        // Σ(x − x̄)² of n equidistant points.
        let spread = n * (n * n - 1.0) / 12.0;
        let from_middle = (0..self.points.len()).map(|index| index as f64 - (n - 1.0) / 2.0);
        self.values().zip(from_middle).map(|(y, x)| x * y).sum::<f64>() / spread
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.points.iter().map(|point| point.value(self.sought.metric))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeking(text: &str, seconds: u64) -> SteadyStateResult {
        let options =
            [("steadystate", text.to_owned()), ("steadystate_duration", seconds.to_string())];
        let rows = options
            .iter()
            .map(|(name, text)| (crate::load::options::row(name), Some(text.as_str())));
        let typed = crate::load::options::Typed::iogauge().with(rows).unwrap();
        SteadyStateResult::begin(typed.shape().steady_state.unwrap())
    }

    fn run(state: &mut SteadyStateResult, iops: &[f64]) -> Option<usize> {
        let point = |iops: &f64| SteadyPoint { iops: *iops, ..SteadyPoint::default() };
        iops.iter().map(point).position(|point| state.add(point))
    }

    #[test]
    fn deviation_from_the_mean_is_judged_over_a_full_window() {
        let mut state = seeking("iops:5%", 3);
        assert_eq!(run(&mut state, &[100.0, 100.0]), None, "not full");
        assert_eq!(state.at_end(), None);
        assert_eq!(run(&mut state, &[110.0, 100.0, 104.0, 102.0]), Some(3));
        assert_eq!(state.points.len(), 3);
        assert!((state.at_end().unwrap() - 100.0 * 2.0 / 102.0).abs() < 1e-9);
    }

    #[test]
    fn slope_is_that_of_the_line_of_best_fit() {
        // numpy.polyfit(range(4), [10, 14, 13, 19], 1)[0] is 2.6.
        let mut state = seeking("iops_slope:2.6", 4);
        assert_eq!(run(&mut state, &[10.0, 14.0, 13.0, 19.0]), None);
        assert!((state.slope() - 2.6).abs() < 1e-9, "{}", state.slope());
        let mut falling = seeking("iops_slope:10%", 4);
        assert_eq!(run(&mut falling, &[19.0, 13.0, 14.0, 10.0]), None);
        assert!((falling.at_end().unwrap() + 260.0 / 14.0).abs() < 1e-9);
        assert_eq!(run(&mut falling, &[10.0, 10.0, 10.0]), Some(2));
    }

    #[test]
    fn nothing_completed_is_not_steady_in_percent() {
        assert_eq!(run(&mut seeking("iops:5%", 2), &[0.0; 5]), None);
        assert_eq!(run(&mut seeking("iops:1", 2), &[0.0; 5]), Some(1));
    }

    #[test]
    fn bounds_round_trip() {
        for text in
            ["iops:5%", "iops_slope:0.3%", "bw:1m", "bw_slope:200", "lat:50000ns", "iops:2.5"]
        {
            assert_eq!(seeking(text, 2).sought.to_string(), text);
        }
    }
}
