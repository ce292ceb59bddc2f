//! A job as in fio's JSON, of every version since 2.0.

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// All numbers are read as floating point, because versions differ in which have decimals.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Job {
    pub(super) jobname: String,
    pub(super) groupid: f64,
    pub(super) error: f64,
    pub(super) total_err: f64,
    #[serde(rename = "job options")]
    pub(super) options: Option<StoredOptions>,
    pub(super) read: Option<Direction>,
    pub(super) write: Option<Direction>,
    pub(super) trim: Option<Direction>,
    pub(super) sync: Option<Direction>,
    pub(super) mixed: Option<Direction>,
    pub(super) job_runtime: Option<f64>,
    /// Since the start of fio, in seconds, rounded up.
    pub(super) elapsed: f64,
    /// In milliseconds since 1970; since fio 3.36.
    pub(super) job_start: Option<f64>,
    pub(super) ctx: f64,
    pub(super) steadystate: Option<SteadyState>,
    pub(super) usr_cpu: Option<f64>,
    pub(super) sys_cpu: Option<f64>,
    pub(super) latency_ns: Pairs,
    pub(super) latency_us: Pairs,
    pub(super) latency_ms: Pairs,
    pub(super) hostname: String,
}

/// A direction. Latencies are in microseconds if their names lack `_ns`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Direction {
    pub(super) io_bytes: f64,
    pub(super) io_kbytes: Option<f64>,
    pub(super) bw: Option<f64>,
    pub(super) bw_bytes: Option<f64>,
    pub(super) iops: Option<f64>,
    pub(super) runtime: f64,
    pub(super) total_ios: Option<f64>,
    pub(super) short_ios: f64,
    pub(super) drop_ios: f64,
    pub(super) bw_min: f64,
    pub(super) bw_max: f64,
    pub(super) bw_mean: f64,
    pub(super) bw_dev: f64,
    pub(super) bw_samples: Option<f64>,
    pub(super) iops_min: f64,
    pub(super) iops_max: f64,
    pub(super) iops_mean: f64,
    pub(super) iops_stddev: f64,
    pub(super) iops_samples: Option<f64>,
    pub(super) slat: Option<Latency>,
    pub(super) clat: Option<Latency>,
    pub(super) lat: Option<Latency>,
    pub(super) slat_ns: Option<Latency>,
    pub(super) clat_ns: Option<Latency>,
    pub(super) lat_ns: Option<Latency>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Latency {
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) mean: Option<f64>,
    pub(super) stddev: Option<f64>,
    pub(super) percentile: Pairs,
    pub(super) bins: Pairs,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SteadyState {
    /// Criterion and bound, such as `iops:0.300000%`.
    pub(super) ss: String,
    pub(super) duration: f64,
    pub(super) attained: f64,
    /// Value of the criterion.
    pub(super) criterion: String,
}

/// A device in `disk_util`. Times are in milliseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Disk {
    pub(super) name: String,
    pub(super) read_ios: f64,
    pub(super) write_ios: f64,
    pub(super) read_merges: f64,
    pub(super) write_merges: f64,
    pub(super) read_sectors: Option<f64>,
    pub(super) write_sectors: Option<f64>,
    pub(super) read_ticks: f64,
    pub(super) write_ticks: f64,
    pub(super) in_queue: f64,
    pub(super) util: f64,
}

/// An object whose names are numbers. A name that is not a number may determine the meaning of the others.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Names and values, in order. `>=2000` is `(f64::INFINITY, …)`.
    pub(super) entries: Vec<(f64, f64)>,
    /// True if there are `FIO_IO_U_PLAT_…` names: the other names are then bucket numbers instead of values
    /// (fio 2).
    pub(super) are_buckets: bool,
}

enum PairName {
    Number(f64),
    Layout,
    Other,
}

impl<'de> Deserialize<'de> for PairName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl Visitor<'_> for Names {
            type Value = PairName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number as a name")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<PairName, E> {
                if let Some(number) = short_whole(name) {
                    return Ok(PairName::Number(number));
                }
                Ok(match name.parse() {
                    Ok(number) => PairName::Number(number),
                    Err(_) if name.starts_with(">=") => PairName::Number(f64::INFINITY),
                    Err(_) if name.starts_with("FIO_IO_U_PLAT") => PairName::Layout,
                    Err(_) => PairName::Other,
                })
            }
        }
        deserializer.deserialize_str(Names)
    }
}

/// Parses a short decimal number, as the names of buckets are. This is faster than parsing floating point,
/// and exact.
fn short_whole(name: &str) -> Option<f64> {
    let is_short = (1..=15).contains(&name.len());
    if !is_short || !name.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(name.bytes().fold(0, |all, digit| all * 10 + u64::from(digit - b'0')) as f64)
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Objects;
        impl<'de> Visitor<'de> for Objects {
            type Value = Pairs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of numbers")
            }
            fn visit_unit<E: Error>(self) -> Result<Pairs, E> {
                Ok(Pairs::default())
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs, M::Error> {
                let mut pairs = Pairs::default();
                while let Some(name) = map.next_key::<PairName>()? {
                    match name {
                        PairName::Number(number) => pairs.entries.push((number, map.next_value()?)),
                        PairName::Layout => {
                            pairs.are_buckets = true;
                            map.next_value::<IgnoredAny>()?;
                        }
                        PairName::Other => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_any(Objects)
    }
}

/// Options of a job or of all jobs, in order. If a name occurs twice, the last one counts.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredOptions(Vec<(String, String)>);

/// Options are text in fio; other tools write them back as numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum OptionValue {
    Text(String),
    Other(serde_json::Value),
}

impl StoredOptions {
    /// Returns the value of an option under any of its names.
    pub(super) fn get(&self, names: &[&str]) -> Option<&str> {
        let found = self.0.iter().rev().find(|(name, _)| names.contains(&name.as_str()));
        found.map(|(_, value)| value.as_str())
    }
}

impl<'de> Deserialize<'de> for StoredOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Objects;
        impl<'de> Visitor<'de> for Objects {
            type Value = StoredOptions;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of options")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<StoredOptions, M::Error> {
                let mut options = StoredOptions::default();
                while let Some((name, value)) = map.next_entry::<String, OptionValue>()? {
                    let value = match value {
                        OptionValue::Text(text) => text,
                        OptionValue::Other(other) => other.to_string(),
                    };
                    options.0.push((name, value));
                }
                Ok(options)
            }
        }
        deserializer.deserialize_map(Objects)
    }
}
