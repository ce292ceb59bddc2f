//! Results reported by fio for one job or reporting group, of any version and format.
//!
//! Empty values are not stored: `None`, empty lists and strings, and counts that are almost always 0. A
//! history can contain more than a hundred thousand of these results.

use crate::histogram::{Histogram, bucket_of};
use crate::load::EngineKind;
use crate::result::LatencyShare;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod disk;
mod steady_state;
mod step;

pub use disk::FioDisk;
pub use steady_state::FioSteadyState;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Results reported by fio for one job, or for several jobs reported as a group.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioResult {
    /// The file that the results were read from.
    pub file: String,
    /// First line of the results in the file, from 1.
    pub line: u64,
    /// True if the file has only a row of a classic table for them. Such a row has neither numbers of I/Os and bytes nor
    /// times, which are 0 here, and its shares are whole percentages, truncated.
    #[serde(skip_serializing_if = "is_default")]
    pub from_table: bool,
    /// Version of fio, such as `3.33`; empty if not in the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fio_version: String,
    /// Time of the report, in seconds since 1970. Text output has a local time without a time zone, which is
    /// taken as UTC. `None` if not in the file, as in fio 2.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_unix_seconds: Option<i64>,
    /// Host of a client/server run; empty otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Name of the job, or of the first job of a group.
    pub name: String,
    /// Reporting group, from 0.
    pub group: u32,
    /// Number of processes or threads; `None` if not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Direction and order as in fio's `rw`: `randread`, `rw`. Different ones of a group are joined by `+`.
    /// Empty if not in the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rw: String,
    /// Queue depth of each process; `None` if not in the file, or if the jobs of a group differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iodepth: Option<u32>,
    /// Name of fio's engine; empty if not in the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub engine: String,
    /// True if each write waited until its data was on the medium (fio's `sync`). False if writes did not
    /// wait, or were followed by a flush whose time is separate. `None` if not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_synchronous: Option<bool>,
    /// Error number that the job ended with; 0 for none.
    #[serde(skip_serializing_if = "is_default")]
    pub error: i32,
    /// I/Os that failed and were ignored (`continue_on_error`).
    #[serde(skip_serializing_if = "is_default")]
    pub failed_ios: u64,
    /// Reads; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<FioDirection>,
    /// Writes; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<FioDirection>,
    /// Trims; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<FioDirection>,
    /// Cache flushes; `None` if there were none or their latency is not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<FioDirection>,
    /// All directions together, if fio reported them so (`unified_rw_reporting`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<FioDirection>,
    /// Distribution of completion latencies over all directions: the bounds reported by fio, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<LatencyShare>,
    /// User time relative to the run time, in percent of one processor.
    pub user_cpu_percent: f64,
    /// System time relative to the run time, in percent of one processor.
    pub system_cpu_percent: f64,
    /// The job's steady state (`ss`); `None` if fio did not look for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<FioSteadyState>,
    /// I/O of each device during the whole run of fio, of all its jobs together. Only the last result of a
    /// run has it; in terse output, each has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<FioDisk>,
}

/// Results of one direction.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioDirection {
    /// Number of I/Os; 0 if not in the file.
    pub ios: u64,
    /// Bytes transferred; 0 if not in the file.
    pub bytes: u64,
    /// I/Os that transferred fewer bytes than requested.
    #[serde(skip_serializing_if = "is_default")]
    pub short_ios: u64,
    /// I/Os dropped.
    #[serde(skip_serializing_if = "is_default")]
    pub dropped_ios: u64,
    /// Bytes per second; 0 if not in the file.
    pub bytes_per_sec: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Time in which I/Os were done; 0 if not in the file.
    pub runtime_ns: u64,
    /// Bandwidth of the intervals in which fio sampled it, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_bytes_per_sec: Option<FioSamples>,
    /// I/Os per second of the intervals in which fio sampled them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_iops: Option<FioSamples>,
    /// Block sizes requested; `None` if not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockRange>,
    /// Submission latency, if reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slat: Option<FioLatency>,
    /// Completion latency: from the end of the submission to the completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clat: Option<FioLatency>,
    /// Total latency: submission and completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat: Option<FioLatency>,
}

/// Statistics of a rate that fio sampled during the run, by default every half second (`bwavgtime`,
/// `iopsavgtime`).
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioSamples {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub stddev: f64,
    /// Number of samples; `None` if not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
}

/// Smallest and largest block size of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BlockRange {
    pub min_bytes: u64,
    pub max_bytes: u64,
}

/// Statistics of a latency, in nanoseconds. Values that text output rounds to micro- or milliseconds are as
/// coarse here.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioLatency {
    pub min_ns: u64,
    pub max_ns: u64,
    pub mean_ns: f64,
    pub stddev_ns: f64,
    /// Percentiles as pairs of percent and nanoseconds, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<(f64, u64)>,
    /// Histogram of json+: pairs of the middle of a non-empty bucket, in nanoseconds, and its count. The
    /// buckets are fio's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<(u64, u64)>,
}

impl FioResult {
    /// Returns the directions that transferred data, with their names.
    pub fn directions(&self) -> impl Iterator<Item = (&'static str, &FioDirection)> {
        let all = [
            ("read", &self.read),
            ("write", &self.write),
            ("trim", &self.trim),
            ("mixed", &self.mixed),
        ];
        all.into_iter().filter_map(|(word, direction)| Some((word, direction.as_ref()?)))
    }

    /// Returns the queue depth over all processes; `None` if not in the file.
    #[must_use]
    pub fn queue_depth(&self) -> Option<u32> {
        Some(self.users?.saturating_mul(self.own_depth()?))
    }

    /// Returns the queue depth of each process: 1 for a synchronous engine, whatever depth was requested.
    #[must_use]
    pub fn own_depth(&self) -> Option<u32> {
        let blocks = EngineKind::of_fio(&self.engine).is_some_and(EngineKind::is_synchronous);
        self.iodepth.map(|queue_depth| if blocks { 1 } else { queue_depth })
    }
}

impl FioDirection {
    /// Returns the latency from submission to completion: fio's `lat`, or `clat` if `lat` was disabled.
    #[must_use]
    pub fn latency(&self) -> Option<&FioLatency> {
        self.lat.as_ref().or(self.clat.as_ref())
    }

    /// Returns a percentile reported by fio in nanoseconds: of completion latency, or of total latency if fio
    /// reported only that.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let of = |latency: &Option<FioLatency>| {
            let percentiles = &latency.as_ref()?.percentiles;
            let found = percentiles.iter().find(|(p, _)| (p - percent).abs() < 1e-6);
            found.map(|(_, value_ns)| *value_ns)
        };
        of(&self.clat).or_else(|| of(&self.lat))
    }

    /// Returns the json+ histogram of completion latency, or of total latency if only that has one; `None` if
    /// the file has none. The buckets are fio's, twice as wide as those of iogauge.
    #[must_use]
    pub fn histogram(&self) -> Option<Histogram> {
        let has_bins = |latency: &&FioLatency| !latency.bins.is_empty();
        self.clat.as_ref().filter(has_bins).or(self.lat.as_ref().filter(has_bins))?.histogram()
    }
}

impl FioLatency {
    /// Returns the bins as a histogram, with the reported extremes and mean; `None` if there are no bins or
    /// the counts are invalid.
    #[must_use]
    pub fn histogram(&self) -> Option<Histogram> {
        let count = self.bins.iter().try_fold(0u64, |sum, (_, n)| sum.checked_add(*n))?;
        if count == 0 || self.min_ns > self.max_ns {
            return None;
        }
        let beyond = self.bins.iter().filter(|(value_ns, _)| bucket_of(*value_ns).is_none());
        let overflow = beyond.map(|(_, n)| n).sum();
        let within = self.bins.iter().filter_map(|(value_ns, n)| Some((bucket_of(*value_ns)?, *n)));
        let mut histogram = Histogram::new();
        let sum_ns = (self.mean_ns * count as f64).round() as u128;
        histogram.add_raw(within, overflow, sum_ns, self.min_ns, self.max_ns);
        Some(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::fio_bucket_of;
    use proptest::prelude::*;

    #[test]
    fn percentiles_prefer_completion_latency() {
        let with = |value| FioLatency { percentiles: vec![(95.0, value)], ..FioLatency::default() };
        let mut direction = FioDirection { lat: Some(with(2)), ..FioDirection::default() };
        assert_eq!(direction.percentile_ns(95.0), Some(2));
        direction.clat = Some(with(1));
        assert_eq!(direction.percentile_ns(95.0), Some(1));
        assert_eq!(direction.percentile_ns(99.0), None);
    }

    #[test]
    fn invalid_fio_bins_yield_no_histogram() {
        let bins = |bins: Vec<(u64, u64)>| FioLatency { bins, ..FioLatency::default() };
        assert_eq!(bins(vec![]).histogram(), None);
        assert_eq!(bins(vec![(0, u64::MAX), (0, 1)]).histogram(), None);
        let reversed = FioLatency { min_ns: 2, max_ns: 1, ..bins(vec![(1, 1)]) };
        assert_eq!(reversed.histogram(), None);
    }

    /// The value that fio uses as the name of a bucket: its middle.
    fn bin_of(value_ns: u64) -> u64 {
        let index = fio_bucket_of(value_ns) as u64;
        if index < 128 {
            return index;
        }
        let exponent = index / 64 - 1;
        ((64 + index % 64) << exponent) + (1 << exponent) / 2
    }

    proptest! {
        #[test]
        fn fio_bins_round_trip_through_a_histogram(values in prop::collection::vec(1u64..1 << 34, 1..200)) {
            let mut expected = vec![0; crate::histogram::FIO_BUCKETS];
            values.iter().for_each(|v| expected[fio_bucket_of(*v)] += 1);
            let latency = FioLatency {
                min_ns: *values.iter().min().unwrap(),
                max_ns: *values.iter().max().unwrap(),
                mean_ns: values.iter().sum::<u64>() as f64 / values.len() as f64,
                bins: values.iter().map(|v| (bin_of(*v), 1)).collect(),
                ..FioLatency::default()
            };
            let histogram = latency.histogram().unwrap();
            prop_assert_eq!(histogram.fold_to_fio(), expected);
            prop_assert_eq!(histogram.max_ns(), latency.max_ns);
            prop_assert!((histogram.mean_ns() - latency.mean_ns).abs() <= 1.0);
        }
    }
}
