//! What fio reported of one job or reporting group, whatever version and format it came from.
//!
//! The stored form is without what is not there: `None`, empty lists and texts, and counts that are
//! almost always 0. Histories hold a hundred thousand of them and more.

use crate::histogram::{Histogram, bucket_of};
use crate::load::EngineKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod step;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What fio reported of one job, or of several jobs reported as one group.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioResult {
    /// File it was read from.
    pub file: String,
    /// Line of the file it begins at, from 1.
    pub line: u64,
    /// Version of fio, such as `3.33`; empty where the file does not tell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fio_version: String,
    /// When fio reported it, in seconds since 1970. Text output has the local time of its machine
    /// and no zone: that is taken as UTC. `None` where nothing is told, as by fio 2.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_unix_seconds: Option<i64>,
    /// Machine of a client/server run; empty otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Name of the job, of the first one of a group.
    pub name: String,
    /// Reporting group, from 0.
    pub group: u32,
    /// Processes or threads that are in it; `None` where the file does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Direction and order as fio's `rw` has it: `randread`, `rw`; different ones of a group are
    /// joined by `+`. Empty where the file does not tell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rw: String,
    /// I/Os kept outstanding by each process; `None` where the file does not tell, or where the
    /// jobs of a group differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iodepth: Option<u32>,
    /// Name of fio's engine; empty where the file does not tell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub engine: String,
    /// True where each write waited until its data was on the medium (fio's `sync`); false where writes did
    /// not, or by a flush behind them, whose time is apart. `None` where the file does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_synchronous: Option<bool>,
    /// Error number the job ended with; 0 for none.
    #[serde(skip_serializing_if = "is_default")]
    pub error: i32,
    /// I/Os that failed and were passed over (`continue_on_error`).
    #[serde(skip_serializing_if = "is_default")]
    pub failed_ios: u64,
    /// Reads; `None` where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<FioDirection>,
    /// Writes; `None` where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<FioDirection>,
    /// Trims; `None` where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<FioDirection>,
    /// Cache flushes; `None` where none was made or their latency is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<FioDirection>,
    /// All directions as one, where fio was asked for that (`unified_rw_reporting`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<FioDirection>,
    /// Shares of the completion latencies, all directions together; those fio names, rising.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<LatencyShare>,
    /// User time over the run time, in percent of one processor.
    pub user_cpu_percent: f64,
    /// System time over the run time, in percent of one processor.
    pub system_cpu_percent: f64,
}

/// What one direction did.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioDirection {
    /// I/Os made.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that moved fewer bytes than asked.
    #[serde(skip_serializing_if = "is_default")]
    pub short_ios: u64,
    /// I/Os dropped.
    #[serde(skip_serializing_if = "is_default")]
    pub dropped_ios: u64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Run time.
    pub runtime_ns: u64,
    /// Block sizes asked; `None` where the file does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockRange>,
    /// Submission latency, where fio tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slat: Option<FioLatency>,
    /// Completion latency: from behind the submission to the completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clat: Option<FioLatency>,
    /// Total latency: submission and completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat: Option<FioLatency>,
}

/// Smallest and largest block size of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BlockRange {
    /// Smallest, in bytes.
    pub min_bytes: u64,
    /// Largest, in bytes.
    pub max_bytes: u64,
}

/// Statistics of a latency, in nanoseconds. What text output rounds to micro- or milliseconds is
/// as coarse here.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioLatency {
    /// Minimum.
    pub min_ns: u64,
    /// Maximum.
    pub max_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stddev_ns: f64,
    /// Percentiles as percent and nanoseconds, rising.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<(f64, u64)>,
    /// Histogram of json+: the middle of each bucket that holds something, in nanoseconds, and
    /// its count. fio's layout: [`crate::histogram::fio_bucket_of`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<(u64, u64)>,
}

/// How many of the I/Os completed in less than `below_ns`, but not in less than the next smaller
/// bound that fio has.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LatencyShare {
    /// Upper bound, not in the share; `None` for 2 s and more.
    pub below_ns: Option<u64>,
    /// Share in percent, above 0.
    pub percent: f64,
}

impl FioResult {
    /// The directions that moved something, with their words.
    pub fn directions(&self) -> impl Iterator<Item = (&'static str, &FioDirection)> {
        let all = [
            ("read", &self.read),
            ("write", &self.write),
            ("trim", &self.trim),
            ("mixed", &self.mixed),
        ];
        all.into_iter().filter_map(|(word, direction)| Some((word, direction.as_ref()?)))
    }

    /// I/Os in flight over all processes; `None` where the file does not tell.
    #[must_use]
    pub fn queue_depth(&self) -> Option<u32> {
        Some(self.users?.saturating_mul(self.own_depth()?))
    }

    /// I/Os in flight in each process: one of an engine that blocks, whatever depth it was asked.
    #[must_use]
    pub fn own_depth(&self) -> Option<u32> {
        let blocks = EngineKind::of_fio(&self.engine).is_some_and(EngineKind::is_synchronous);
        self.iodepth.map(|queue_depth| if blocks { 1 } else { queue_depth })
    }
}

impl FioDirection {
    /// Latency from submission to completion: fio's `lat`, or its `clat` where `lat` was disabled.
    #[must_use]
    pub fn latency(&self) -> Option<&FioLatency> {
        self.lat.as_ref().or(self.clat.as_ref())
    }

    /// A percentile that fio reported, of completion latency unless it reported total latency
    /// alone, in nanoseconds.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let of = |latency: &Option<FioLatency>| {
            let percentiles = &latency.as_ref()?.percentiles;
            let found = percentiles.iter().find(|(p, _)| (p - percent).abs() < 1e-6);
            found.map(|(_, value_ns)| *value_ns)
        };
        of(&self.clat).or_else(|| of(&self.lat))
    }

    /// The histogram of json+, of completion latency unless total latency alone has one; `None`
    /// where the file has none. Buckets are fio's: twice as wide as ours.
    #[must_use]
    pub fn histogram(&self) -> Option<Histogram> {
        let has_bins = |latency: &&FioLatency| !latency.bins.is_empty();
        self.clat.as_ref().filter(has_bins).or(self.lat.as_ref().filter(has_bins))?.histogram()
    }
}

impl FioLatency {
    /// The bins as a histogram with the exact extremes and mean that stand beside them; `None`
    /// where there are no bins or their counts cannot be.
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
    fn percentiles_come_from_completion_latency_first() {
        let with = |value| FioLatency { percentiles: vec![(95.0, value)], ..FioLatency::default() };
        let mut direction = FioDirection { lat: Some(with(2)), ..FioDirection::default() };
        assert_eq!(direction.percentile_ns(95.0), Some(2));
        direction.clat = Some(with(1));
        assert_eq!(direction.percentile_ns(95.0), Some(1));
        assert_eq!(direction.percentile_ns(99.0), None);
    }

    #[test]
    fn bins_that_cannot_be_are_no_histogram() {
        let bins = |bins: Vec<(u64, u64)>| FioLatency { bins, ..FioLatency::default() };
        assert_eq!(bins(vec![]).histogram(), None);
        assert_eq!(bins(vec![(0, u64::MAX), (0, 1)]).histogram(), None);
        let reversed = FioLatency { min_ns: 2, max_ns: 1, ..bins(vec![(1, 1)]) };
        assert_eq!(reversed.histogram(), None);
    }

    /// The value fio names a bucket by: its middle.
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
        fn bins_come_back_as_fio_has_them(values in prop::collection::vec(1u64..1 << 34, 1..200)) {
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
