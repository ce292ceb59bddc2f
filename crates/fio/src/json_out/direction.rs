//! One direction of a job: `read`, `write`, `trim`, and the smaller `sync`.

use super::Detail;
use iogauge_model::Load;
use iogauge_model::histogram::{Histogram, fio_bucket_value};
use iogauge_model::result::{DirectionResult, IntervalPoint};
use serde::{Serialize, Serializer};

/// fio's default percentiles, used if `percentile_list` is not set.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// fio's default `bwavgtime` and `iopsavgtime`: shorter intervals are joined to this length.
const SAMPLE_SECONDS: f64 = 0.5;

/// Data of the step that an entry needs.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// Length of the step.
    pub(super) runtime_ms: u64,
    /// Bytes per second of the direction over all jobs of the step.
    pub(super) bytes_per_sec: f64,
    pub(super) detail: Detail,
    /// The workload, which determines the percentiles.
    pub(super) load: &'a Load,
}

#[derive(Debug, Serialize)]
pub(super) struct Direction {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: Latency,
    clat_ns: Latency,
    lat_ns: Latency,
    /// From the intended start; fio has no such figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_ns: Option<Latency>,
    bw_min: u64,
    bw_max: u64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Flushes {
    total_ios: u64,
    lat_ns: Latency,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Latency {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<Percentiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Bins>,
}

/// Percentages, each with its value.
#[derive(Debug, Clone)]
struct Percentiles(Vec<(f64, u64)>);

impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.0.iter().map(|(percent, value)| (format!("{percent:.6}"), value)))
    }
}

/// Non-empty buckets, each with fio's value for it.
#[derive(Debug, Clone)]
struct Bins(Vec<(u64, u64)>);

impl Serialize for Bins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(value, count)| (value, count)))
    }
}

impl Latency {
    /// Returns the statistics without percentiles and buckets, unless they are `wanted`.
    fn with_percentiles_if(&self, wanted: bool) -> Self {
        if wanted { self.clone() } else { Self { percentile: None, bins: None, ..*self } }
    }

    fn of(histogram: &Histogram, group: &Group<'_>) -> Self {
        if histogram.count() == 0 {
            return Self::default();
        }
        let own = &group.load.percentiles[..];
        let asked = if own.is_empty() { &PERCENTILES } else { own };
        let percentiles = asked.iter().map(|percent| (*percent, histogram.percentile_ns(*percent)));
        let bins = || {
            let folded = histogram.fold_to_fio().into_iter().enumerate();
            Bins(folded.filter(|(_, n)| *n > 0).map(|(i, n)| (fio_bucket_value(i), n)).collect())
        };
        Self {
            min: histogram.min_ns(),
            max: histogram.max_ns(),
            mean: histogram.mean_ns(),
            stddev: histogram.stddev_ns(),
            n: histogram.count(),
            percentile: Some(Percentiles(percentiles.collect())),
            bins: (group.detail == Detail::Bins).then(bins),
        }
    }
}

impl Direction {
    /// Creates an entry. `pick` returns the direction's I/Os and bytes in an interval.
    pub(super) fn of(
        result: Option<&DirectionResult>,
        series: &[IntervalPoint],
        group: &Group<'_>,
        pick: fn(&IntervalPoint) -> (u64, u64),
    ) -> Self {
        let empty = Histogram::new();
        let service = result.map_or(&empty, |r| &r.service_histogram);
        let response = result.and_then(|r| r.response_histogram.as_ref());
        let latency = Latency::of(service, group);
        let bytes = result.map_or(0, |r| r.bytes);
        let bytes_per_sec = result.map_or(0.0, |r| r.bytes_per_sec);
        let (bw, iops) = match result {
            Some(_) => samples(series, pick),
            None => (Samples::default(), Samples::default()),
        };
        let group_kib = group.bytes_per_sec / 1024.0;
        Self {
            io_bytes: bytes,
            io_kbytes: bytes / 1024,
            bw_bytes: bytes_per_sec as u64,
            bw: (bytes_per_sec / 1024.0) as u64,
            iops: result.map_or(0.0, |r| r.iops.mean),
            runtime: result.map_or(0, |_| group.runtime_ms),
            total_ios: result.map_or(0, |r| r.ios),
            short_ios: result.map_or(0, |r| r.short),
            drop_ios: 0,
            slat_ns: Latency::default(),
            clat_ns: latency.with_percentiles_if(group.load.clat_percentiles),
            lat_ns: latency.with_percentiles_if(group.load.lat_percentiles),
            response_ns: response.map(|histogram| Latency::of(histogram, group)),
            bw_min: bw.min as u64,
            bw_max: bw.max as u64,
            bw_agg: if group_kib > 0.0 { (bw.mean / group_kib * 100.0).min(100.0) } else { 0.0 },
            bw_mean: bw.mean,
            bw_dev: bw.stddev,
            bw_samples: bw.n,
            iops_min: iops.min as u64,
            iops_max: iops.max as u64,
            iops_mean: iops.mean,
            iops_stddev: iops.stddev,
            iops_samples: iops.n,
        }
    }
}

impl Flushes {
    pub(super) fn of(result: Option<&DirectionResult>, group: &Group<'_>) -> Self {
        let lat_ns = result.map(|r| Latency::of(&r.service_histogram, group));
        Self { total_ios: result.map_or(0, |r| r.ios), lat_ns: lat_ns.unwrap_or_default() }
    }
}

/// Returns the reads of an interval and their bytes.
pub(super) fn reads(point: &IntervalPoint) -> (u64, u64) {
    (point.reads, point.read_bytes)
}

/// Returns the writes of an interval and their bytes.
pub(super) fn writes(point: &IntervalPoint) -> (u64, u64) {
    (point.writes, point.write_bytes)
}

#[derive(Debug, Default, PartialEq)]
struct Samples {
    min: f64,
    max: f64,
    mean: f64,
    stddev: f64,
    n: u64,
}

impl Samples {
    fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            mean,
            stddev: if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
            n: values.len() as u64,
        }
    }
}

/// Returns the KiB and I/Os per second of each half second; a shorter remainder belongs to the last one.
fn samples(series: &[IntervalPoint], pick: fn(&IntervalPoint) -> (u64, u64)) -> (Samples, Samples) {
    let mut joined: Vec<IntervalPoint> = Vec::new();
    for point in series {
        match joined.last_mut() {
            Some(last) if last.seconds < SAMPLE_SECONDS - 1e-3 => last.append(point),
            _ => joined.push(point.clone()),
        }
    }
    if joined.len() > 1
        && let Some(rest) = joined.pop_if(|last| last.seconds < SAMPLE_SECONDS - 1e-3)
        && let Some(last) = joined.last_mut()
    {
        last.append(&rest);
    }
    joined.retain(|point| point.seconds > 0.0);
    let rate = |of: fn((u64, u64)) -> f64| {
        let values: Vec<f64> = joined.iter().map(|p| of(pick(p)) / p.seconds).collect();
        Samples::of(&values)
    };
    (rate(|(_, bytes)| bytes as f64 / 1024.0), rate(|(ios, _)| ios as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(seconds: f64, reads: u64) -> IntervalPoint {
        IntervalPoint { seconds, reads, read_bytes: reads * 1024, ..IntervalPoint::default() }
    }

    #[test]
    fn samples_are_merged_into_half_second_intervals() {
        let mut series = vec![point(0.1, 10); 12];
        series[0] = point(0.1, 20);
        let (bw, iops) = samples(&series, reads);
        assert_eq!((iops.n, bw.n), (2, 2));
        assert!((iops.max - 60.0 / 0.5).abs() < 1e-9, "{iops:?}");
        assert!((iops.min - 70.0 / 0.7).abs() < 1e-9, "{iops:?}");
        assert_eq!(iops, bw);
        assert_eq!(samples(&[point(0.1, 10)], reads).1.n, 1);
        assert_eq!(samples(&[], reads).1, Samples::default());
        assert_eq!(samples(&[point(1.0, 10), point(2.0, 10)], reads).1.n, 2);
        assert_eq!(samples(&[point(1.0, 10)], writes).1.max, 0.0);
    }

    proptest! {
        #[test]
        fn histogram_bins_count_every_latency(values in prop::collection::vec(0u64..1 << 42, 1..200)) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|value| histogram.record(*value));
            let of = |detail| {
                let load = Load::default();
                let group = Group { runtime_ms: 0, bytes_per_sec: 0.0, detail, load: &load };
                Latency::of(&histogram, &group)
            };
            let latency = of(Detail::Bins);
            let bins = latency.bins.unwrap().0;
            prop_assert_eq!(bins.iter().map(|(_, n)| n).sum::<u64>(), latency.n);
            prop_assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert_eq!(latency.max, *values.iter().max().unwrap());
            prop_assert!(of(Detail::Percentiles).bins.is_none());
        }
    }
}
