//! Bounds on latency statistics: `mean<=10ms`, `p99.9<=5ms`, `max<=50ms`.

use crate::histogram::Histogram;
use crate::units::{Latency, parse_duration_ns};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which latency statistic a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// Arithmetic mean.
    Mean,
    /// A percentile, above 0 and below 100.
    Percentile(f64),
    /// The largest latency seen.
    Max,
}

impl Metric {
    /// The statistic's value in a histogram, in nanoseconds.
    #[must_use]
    pub fn of(self, histogram: &Histogram) -> f64 {
        match self {
            Self::Mean => histogram.mean_ns(),
            Self::Percentile(percent) => histogram.percentile_ns(percent) as f64,
            Self::Max => histogram.max_ns() as f64,
        }
    }

    /// Number of I/Os below which the statistic says little: ten values have to lie beyond a
    /// percentile for its rank to mean something.
    #[must_use]
    pub fn samples_wanted(self) -> u64 {
        match self {
            Self::Mean => 100,
            Self::Percentile(percent) => (10.0 / (1.0 - percent / 100.0)).round() as u64,
            Self::Max => 1000,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.pad("mean"),
            Self::Percentile(percent) => f.pad(&format!("p{percent}")),
            Self::Max => f.pad("max"),
        }
    }
}

/// A bound that a latency statistic must not exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The statistic bounded.
    pub metric: Metric,
    /// The bound, in nanoseconds, at least 1.
    pub bound_ns: u64,
}

impl Limit {
    /// True where the histogram's statistic does not exceed the bound.
    #[must_use]
    pub fn holds(&self, histogram: &Histogram) -> bool {
        self.metric.of(histogram) <= self.bound_ns as f64
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self { metric: Metric::Mean, bound_ns: 10_000_000 }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.metric, Latency(self.bound_ns as f64))
    }
}

/// Why a limit could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// No `<=` in it.
    #[error("limit \"{0}\" has no \"<=\"; right would be mean<=10ms or p99.9<=5ms")]
    NoBound(String),
    /// The statistic is unknown.
    #[error("\"{0}\" is not a latency statistic; right would be mean, p50, p99, p99.9 or max")]
    Metric(String),
    /// The bound is no duration above zero.
    #[error("limit \"{0}\" has no bound above zero with a unit; right would be 10ms or 250us")]
    Bound(String),
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let (metric, bound) =
            text.split_once("<=").ok_or_else(|| LimitError::NoBound(text.to_owned()))?;
        let bound = bound.trim();
        // A bare "10" would mean ten seconds, which nobody means in a latency limit.
        if !bound.ends_with(|c: char| c.is_alphabetic()) {
            return Err(LimitError::Bound(text.to_owned()));
        }
        let bound_ns = parse_duration_ns(bound)
            .ok()
            .filter(|ns| *ns > 0)
            .ok_or_else(|| LimitError::Bound(text.to_owned()))?;
        Ok(Self { metric: metric.parse()?, bound_ns })
    }
}

impl FromStr for Metric {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let word = text.trim().to_ascii_lowercase();
        let fail = || LimitError::Metric(text.trim().to_owned());
        match word.as_str() {
            "mean" | "avg" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            _ => {
                let digits = word.strip_prefix('p').ok_or_else(fail)?;
                if !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
                    return Err(fail());
                }
                let percent: f64 = digits.parse().map_err(|_| fail())?;
                if percent > 0.0 && percent < 100.0 {
                    Ok(Self::Percentile(percent))
                } else {
                    Err(fail())
                }
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    metric: String,
    bound_ns: u64,
}

impl Serialize for Limit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored { metric: self.metric.to_string(), bound_ns: self.bound_ns }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let metric = stored.metric.parse().map_err(serde::de::Error::custom)?;
        Ok(Self { metric, bound_ns: stored.bound_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_the_help_shows() {
        let limit: Limit = "mean<=10ms".parse().unwrap();
        assert_eq!(limit, Limit::default());
        let limit: Limit = " p99.9 <= 5ms ".parse().unwrap();
        assert_eq!(limit.metric, Metric::Percentile(99.9));
        assert_eq!(limit.metric.samples_wanted(), 10_000);
        assert_eq!("max<=50ms".parse::<Limit>().unwrap().metric, Metric::Max);
    }

    #[test]
    fn refuses_with_the_right_form() {
        for text in [
            "mean",
            "mean<10ms",
            "p101<=1ms",
            "median<=1ms",
            "p<=1ms",
            "mean<=",
            "mean<=0ms",
            "mean<=10",
            "pinf<=1ms",
        ] {
            let message = text.parse::<Limit>().unwrap_err().to_string();
            assert!(message.contains("right would be"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Limit>();
        }

        #[test]
        fn stored_form_round_trips(percent in 1u32..9999, bound_ns in 1u64..1 << 40) {
            let limit = Limit { metric: Metric::Percentile(f64::from(percent) / 100.0), bound_ns };
            let text = serde_json::to_string(&limit).unwrap();
            prop_assert_eq!(serde_json::from_str::<Limit>(&text).unwrap(), limit);
        }
    }
}
