//! Figures of fio's JSON in the units of this crate.

use super::stored::{Direction, Latency, Pairs};
use iogauge_model::result::{FioDirection, FioLatency, LatencyShare};

/// Returns a count; 0 if the value is negative or NaN.
pub(super) fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// Returns a figure; 0 if the value is NaN or implausibly large.
pub(super) fn real(value: f64) -> f64 {
    if value.abs() < 1e30 { value } else { 0.0 }
}

pub(super) fn moved(direction: &FioDirection) -> bool {
    direction.ios > 0 || direction.bytes > 0
}

pub(super) fn figures(stored: Direction) -> FioDirection {
    let seconds = stored.runtime / 1e3;
    let bytes_per_sec = stored.bw_bytes.or(stored.bw.map(|kib| kib * 1024.0)).unwrap_or_default();
    let nanoseconds = |ns: Option<Latency>, us: Option<Latency>| {
        ns.map(|l| latency(l, 1.0)).or_else(|| us.map(|l| latency(l, 1e3))).flatten()
    };
    let iops = real(stored.iops.unwrap_or_default());
    FioDirection {
        ios: stored.total_ios.map_or_else(|| whole(iops * seconds), whole),
        bytes: whole(bytes(&stored, bytes_per_sec * seconds)),
        short_ios: whole(stored.short_ios),
        dropped_ios: whole(stored.drop_ios),
        bytes_per_sec: real(bytes_per_sec),
        iops,
        runtime_ns: whole(stored.runtime * 1e6),
        block: None,
        slat: nanoseconds(stored.slat_ns, stored.slat),
        clat: nanoseconds(stored.clat_ns, stored.clat),
        lat: nanoseconds(stored.lat_ns, stored.lat),
    }
}

/// Returns the bytes moved. In versions before `io_kbytes`, `io_bytes` is in KiB, except in the oldest
/// ones; the product of bandwidth and run time decides.
fn bytes(stored: &Direction, expected: f64) -> f64 {
    let kib = stored.io_bytes * 1024.0;
    let are_bytes = stored.io_kbytes.is_some()
        || stored.bw_bytes.is_some()
        || (expected > 0.0 && (stored.io_bytes - expected).abs() < (kib - expected).abs());
    if are_bytes { stored.io_bytes } else { kib }
}

/// Returns a latency in nanoseconds; `None` if none was measured.
fn latency(stored: Latency, unit_ns: f64) -> Option<FioLatency> {
    let Latency { min, max, mean, stddev, percentile, bins } = stored;
    let (Some(min), Some(max), Some(mean)) = (min, max, mean) else { return None };
    if max == 0.0 && mean == 0.0 {
        return None;
    }
    let ns = |value: f64| whole(value * unit_ns);
    let percentiles = percentile.entries.iter().filter(|(percent, _)| *percent > 0.0);
    let value = |bin: f64| if bins.are_buckets { ns(bucket_middle(bin)) } else { ns(bin) };
    Some(FioLatency {
        min_ns: ns(min),
        max_ns: ns(max),
        mean_ns: real(mean * unit_ns),
        stddev_ns: real(stddev.unwrap_or_default() * unit_ns),
        percentiles: percentiles.map(|(percent, value)| (real(*percent), ns(*value))).collect(),
        bins: bins
            .entries
            .iter()
            .map(|(bin, n)| (value(*bin), whole(*n)))
            .filter(|b| b.1 > 0)
            .collect(),
    })
}

/// Returns the middle of a bucket of fio 2, in microseconds; there are 64 buckets per power of two.
fn bucket_middle(index: f64) -> f64 {
    let index = whole(index);
    if index < 128 {
        return index as f64;
    }
    let exponent = (index / 64 - 1) as i32;
    ((64 + index % 64) as f64 + 0.5) * 2f64.powi(exponent)
}

/// Returns the shares above 0, from tables with their units in nanoseconds.
pub(super) fn shares(tables: &[(u64, Pairs)]) -> Vec<LatencyShare> {
    let mut shares = Vec::new();
    for (unit_ns, table) in tables {
        for (bound, percent) in table.entries.iter().filter(|(_, percent)| *percent > 0.0) {
            let below_ns = bound.is_finite().then(|| whole(bound * *unit_ns as f64));
            shares.push(LatencyShare { below_ns, percent: real(*percent) });
        }
    }
    shares
}
