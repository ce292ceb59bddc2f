//! A rate that a target has to serve: `20k`, `500MB/s`.

use crate::load::Load;
use crate::units::{Bandwidth, Count, parse_bytes_per_sec, parse_count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A rate that a target has to serve.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequiredRate {
    /// Reads and writes per second, above 0.
    Iops(f64),
    /// Bytes per second, above 0.
    BytesPerSec(f64),
}

/// Why a text is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequiredRateError {
    /// The text has another form.
    #[error("\"{0}\" is not a rate; hint: use 20k for IOPS, or 500MB/s")]
    Form(String),
    /// Rates are counted in whole I/Os.
    #[error("\"{0}\" is not a whole number of IOPS; hint: use 20k for IOPS, or 500MB/s")]
    Fraction(String),
    /// Every target serves a rate of 0.
    #[error("a required rate of 0 requires nothing; hint: use 20k for IOPS, or 500MB/s")]
    Zero,
}

impl RequiredRate {
    /// Returns the rate in reads and writes per second of a workload. Bytes are divided by the mean block size.
    #[must_use]
    pub fn iops(self, load: &Load) -> f64 {
        match self {
            Self::Iops(iops) => iops,
            Self::BytesPerSec(bytes) => bytes / load.mean_block_bytes(),
        }
    }
}

impl FromStr for RequiredRate {
    type Err = RequiredRateError;

    fn from_str(text: &str) -> Result<Self, RequiredRateError> {
        let form = || RequiredRateError::Form(text.to_owned());
        if text.parse().is_ok_and(|rate: f64| rate.is_finite() && rate.fract() != 0.0) {
            return Err(RequiredRateError::Fraction(text.to_owned()));
        }
        let rate = match text.to_ascii_lowercase().contains('b') {
            true => Self::BytesPerSec(parse_bytes_per_sec(text).map_err(|_| form())? as f64),
            false => Self::Iops(parse_count(text).map_err(|_| form())? as f64),
        };
        match rate {
            Self::Iops(rate) | Self::BytesPerSec(rate) if rate <= 0.0 => {
                Err(RequiredRateError::Zero)
            }
            rate => Ok(rate),
        }
    }
}

/// Formats `20,000 IOPS`, `500 MB/s`.
impl fmt::Display for RequiredRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iops(iops) => f.pad(&format!("{} IOPS", Count(*iops))),
            Self::BytesPerSec(bytes) => f.pad(&Bandwidth(*bytes).to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{BlockSizes, Pattern};
    use proptest::prelude::*;

    #[test]
    fn iops_and_bandwidths_parse() {
        let rate = |text: &str| text.parse::<RequiredRate>();
        assert_eq!(rate("20k"), Ok(RequiredRate::Iops(20_000.0)));
        assert_eq!(rate("20000"), Ok(RequiredRate::Iops(20_000.0)));
        assert_eq!(rate("1.5m"), Ok(RequiredRate::Iops(1_500_000.0)));
        assert_eq!(rate("500MB/s"), Ok(RequiredRate::BytesPerSec(500e6)));
        assert_eq!(rate("1GiB/s"), Ok(RequiredRate::BytesPerSec(1_073_741_824.0)));
        assert_eq!(rate("1GiB/s").unwrap().to_string(), "1.07 GB/s");
        assert_eq!(rate("20k").unwrap().to_string(), "20,000 IOPS");
        assert_eq!(rate("2.0"), Ok(RequiredRate::Iops(2.0)));
        for text in ["0.1", "1.4", "-2.5"] {
            let error = rate(text).unwrap_err();
            assert_eq!(error, RequiredRateError::Fraction(text.to_owned()));
        }
        for text in ["0", "0MB/s"] {
            assert_eq!(rate(text), Err(RequiredRateError::Zero), "{text}");
        }
        for text in ["", "k", "fast", "-5", "20k/s", "5 blocks", "20k IOPS"] {
            let error = rate(text).unwrap_err();
            assert_eq!(error, RequiredRateError::Form(text.to_owned()));
            assert!(error.to_string().contains("hint: use"), "{error}");
        }
    }

    #[test]
    fn bytes_are_divided_by_the_mean_block() {
        let load = Load {
            rw: Pattern::RandRw,
            read_percent: 75,
            block: BlockSizes::parse_bssplit("4k/50:12k/50,16k").unwrap(),
            ..Load::default()
        };
        assert_eq!(RequiredRate::BytesPerSec(1_024_000.0).iops(&load), 100.0);
        assert_eq!(RequiredRate::Iops(7.0).iops(&load), 7.0);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<RequiredRate>();
        }
    }
}
