//! Distribution of random offsets: fio's `random_distribution`.

use super::LoadError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A zone: a share of the target that gets a share of the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Zone {
    /// Percentage of the I/Os.
    pub access_percent: f64,
    /// Percentage of the target.
    pub size_percent: f64,
}

/// Distribution of random offsets over the target.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// All blocks are equally likely.
    Uniform,
    /// Zipf with exponent θ: the block of rank k has a probability proportional to 1/k^θ. Ranks are scattered
    /// over the target.
    Zipf(f64),
    /// Pareto with shape `h` (0 < h < 1), fio's self-similar rule: the first share `h` of the ranks gets the
    /// share `1 − h` of the I/Os, and so on within each part. Ranks are scattered over the target.
    Pareto(f64),
    /// Normal around the middle of the target; the value is the standard deviation in percent of the target.
    Normal(f64),
    /// Consecutive zones, each with its share of the I/Os and of the target.
    Zoned(Vec<Zone>),
}

impl Distribution {
    const WANTED: &'static str = "is not a distribution; hint: use uniform, zipf:1.2, pareto:0.2, normal:20 or zoned:60/10:30/20:10/70";
}

impl FromStr for Distribution {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let fail = || LoadError::new("random_distribution", format!("\"{text}\" {}", Self::WANTED));
        let (kind, value) = text.split_once(':').unwrap_or((text, ""));
        let number = |default: f64, ok: &dyn Fn(f64) -> bool| {
            let value =
                if value.is_empty() { default } else { value.parse().map_err(|_| fail())? };
            if ok(value) { Ok(value) } else { Err(fail()) }
        };
        match kind {
            "random" | "uniform" if value.is_empty() => Ok(Self::Uniform),
            "zipf" => Ok(Self::Zipf(number(1.1, &|t| t > 0.0 && t <= 10.0 && t != 1.0)?)),
            "pareto" => Ok(Self::Pareto(number(0.2, &|h| h > 0.0 && h < 1.0)?)),
            "normal" | "gauss" => Ok(Self::Normal(number(20.0, &|d| d > 0.0 && d <= 100.0)?)),
            "zoned" => parse_zones(value).ok_or_else(fail),
            _ => Err(fail()),
        }
    }
}

fn parse_zones(text: &str) -> Option<Distribution> {
    let mut zones = Vec::new();
    for zone in text.split(':') {
        let (access, size) = zone.split_once('/')?;
        let access_percent: f64 = access.parse().ok()?;
        let size_percent: f64 = size.parse().ok()?;
        let within = |percent: f64| (0.0..=100.0).contains(&percent);
        if !within(access_percent) || !within(size_percent) || size_percent == 0.0 {
            return None;
        }
        zones.push(Zone { access_percent, size_percent });
    }
    let access: f64 = zones.iter().map(|z| z.access_percent).sum();
    let size: f64 = zones.iter().map(|z| z.size_percent).sum();
    ((access - 100.0).abs() < 1e-6 && (size - 100.0).abs() < 1e-6)
        .then_some(Distribution::Zoned(zones))
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("random"),
            Self::Zipf(theta) => write!(f, "zipf:{theta}"),
            Self::Pareto(shape) => write!(f, "pareto:{shape}"),
            Self::Normal(percent) => write!(f, "normal:{percent}"),
            Self::Zoned(zones) => {
                f.write_str("zoned")?;
                for zone in zones {
                    write!(f, ":{}/{}", zone.access_percent, zone.size_percent)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn printed_distributions_parse_back() {
        for text in ["random", "zipf:1.2", "pareto:0.2", "normal:20", "zoned:60/10:30/20:10/70"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        assert_eq!("zipf".parse::<Distribution>(), Ok(Distribution::Zipf(1.1)));
    }

    #[test]
    fn invalid_distribution_errors_contain_a_hint() {
        for text in [
            "",
            "zipf:0",
            "zipf:1",
            "zipf:x",
            "pareto:1",
            "normal:0",
            "zoned",
            "zoned:50/50",
            "zoned:50/50:60/50",
            "random:1",
        ] {
            let message = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(message.contains("hint: "), "{message}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(zipf|pareto|normal|zoned)?[:0-9/.a-z-]{0,24}") {
            let _ = text.parse::<Distribution>();
        }
    }
}
