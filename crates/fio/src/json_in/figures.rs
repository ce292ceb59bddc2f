//! Figures of fio's JSON in the units of this crate.

use super::stored::{Direction, Disk, Latency, Pairs, SteadyState};
use iogauge_model::result::{
    FioDirection, FioDisk, FioLatency, FioSamples, FioSteadyState, LatencyShare,
};

/// Unit of a device's counters in the kernel.
const SECTOR_BYTES: f64 = 512.0;

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
        sampled_bytes_per_sec: samples(
            [stored.bw_min, stored.bw_max, stored.bw_mean, stored.bw_dev].map(|kib| kib * 1024.0),
            stored.bw_samples,
        ),
        sampled_iops: samples(
            [stored.iops_min, stored.iops_max, stored.iops_mean, stored.iops_stddev],
            stored.iops_samples,
        ),
        block: None,
        slat: nanoseconds(stored.slat_ns, stored.slat),
        clat: nanoseconds(stored.clat_ns, stored.clat),
        lat: nanoseconds(stored.lat_ns, stored.lat),
    }
}

/// Returns minimum, maximum, mean and standard deviation of a rate; `None` if it was not sampled.
fn samples([min, max, mean, stddev]: [f64; 4], n: Option<f64>) -> Option<FioSamples> {
    let has_some = n.map_or(mean > 0.0, |n| n > 0.0);
    has_some.then(|| FioSamples {
        min: real(min),
        max: real(max),
        mean: real(mean),
        stddev: real(stddev),
        n: n.map(whole),
    })
}

pub(super) fn disk(stored: Disk) -> FioDisk {
    let ms = |ticks: f64| whole(ticks * 1e6);
    let bytes = |sectors: Option<f64>| sectors.map(|sectors| whole(sectors * SECTOR_BYTES));
    FioDisk {
        device: stored.name,
        reads: whole(stored.read_ios),
        writes: whole(stored.write_ios),
        reads_merged: whole(stored.read_merges),
        writes_merged: whole(stored.write_merges),
        read_bytes: bytes(stored.read_sectors),
        write_bytes: bytes(stored.write_sectors),
        read_time_ns: ms(stored.read_ticks),
        write_time_ns: ms(stored.write_ticks),
        queue_time_ns: ms(stored.in_queue),
        busy_percent: real(stored.util),
    }
}

pub(super) fn steady_state(stored: SteadyState) -> FioSteadyState {
    let (of, bound) = stored.ss.split_once(':').unwrap_or((&stored.ss, ""));
    let attained = stored.attained > 0.0;
    let at_end = trimmed(&stored.criterion);
    FioSteadyState {
        of: of.to_owned(),
        bound: trimmed(bound),
        window_seconds: Some(real(stored.duration)),
        attained,
        // fio writes 0 if no window was complete.
        at_end: if attained || at_end.trim_end_matches('%') != "0" {
            at_end
        } else {
            String::new()
        },
    }
}

/// Removes the zeros at the end of a decimal number, which may have a percent sign: `20.000000%`.
fn trimmed(text: &str) -> String {
    let (number, sign) = text.strip_suffix('%').map_or((text, ""), |number| (number, "%"));
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number}{sign}")
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
