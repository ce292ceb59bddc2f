//! fio's terse output, versions 2 to 5: a line of fields for each result.

use super::figure::{number, percent};
use iogauge_model::result::{
    FioDirection, FioDisk, FioLatency, FioResult, FioSamples, LatencyShare,
};

/// Number of percentiles of a direction; those that were not requested are `0%=0`.
const PERCENTILES: usize = 20;
const QUEUE_DEPTHS: usize = 7;
/// Upper bounds of the latency shares, in nanoseconds; the last share is of 2 s and more.
const BELOW_NS: [u64; 22] = [
    2_000,
    4_000,
    10_000,
    20_000,
    50_000,
    100_000,
    250_000,
    500_000,
    750_000,
    1_000_000,
    2_000_000,
    4_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    750_000_000,
    1_000_000_000,
    2_000_000_000,
    u64::MAX,
];
const DISK_FIELDS: usize = 9;

/// Parses a line; `None` if it is not of terse output.
///
/// Versions 2, 4 and 5 have trims, since fio 2.1; version 5 has statistics of the IOPS. The number of
/// fields tells which of them a line has, because old versions have fewer.
pub(super) fn result(text: &str) -> Option<Result<FioResult, &'static str>> {
    let (version, rest) = text.split_once(';')?;
    let fio_version = match version {
        "2" => "",
        "3" | "4" | "5" => rest.split(';').next()?.strip_prefix("fio-")?,
        _ => return None,
    };
    let mut fields = Fields { fields: rest.split(';').collect(), at: 0 };
    if version != "2" {
        fields.at = 1;
    } else if fields.fields.len() < PERCENTILES {
        // Any text with semicolons.
        return None;
    }
    Some(read(&mut fields, fio_version).ok_or("a field is missing or not a number"))
}

struct Fields<'a> {
    fields: Vec<&'a str>,
    at: usize,
}

impl<'a> Fields<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.fields.get(self.at).copied()
    }

    fn text(&mut self) -> Option<&'a str> {
        let field = self.peek()?;
        self.at += 1;
        Some(field)
    }

    fn number(&mut self) -> Option<f64> {
        Some(number(self.text()?)?.value)
    }

    fn whole(&mut self) -> Option<u64> {
        Some(self.number()?.round() as u64)
    }

    fn percent(&mut self) -> Option<f64> {
        percent(self.text()?)
    }

    fn is_percent(&self) -> bool {
        self.peek().is_some_and(|field| field.ends_with('%'))
    }
}

fn read(fields: &mut Fields<'_>, fio_version: &str) -> Option<FioResult> {
    let name = fields.text()?.to_owned();
    let group = fields.text()?.parse().ok()?;
    let error = fields.text()?.parse().ok()?;
    let read = direction(fields)?;
    let write = direction(fields)?;
    // The processor time comes next, in percent.
    let trim = if fields.is_percent() { None } else { direction(fields)? };
    let user_cpu_percent = fields.percent()?;
    let system_cpu_percent = fields.percent()?;
    let _context_switches_and_faults = [fields.number()?, fields.number()?, fields.number()?];
    for _ in 0..QUEUE_DEPTHS {
        fields.percent()?;
    }
    let mut shares = Vec::new();
    for bound in BELOW_NS {
        let percent = fields.percent()?;
        if percent > 0.0 {
            let below_ns = (bound != u64::MAX).then_some(bound);
            shares.push(LatencyShare { below_ns, percent });
        }
    }
    let mut disks = Vec::new();
    while let Some(disk) = disk(fields) {
        disks.push(disk);
    }
    // With continue_on_error, the number of errors and the first one follow. A description may be a number.
    let is_counted = fields.fields.len() >= fields.at + 2;
    let failed_ios = if is_counted { fields.whole().unwrap_or(0) } else { 0 };
    Some(FioResult {
        fio_version: fio_version.to_owned(),
        name,
        group,
        error,
        failed_ios,
        read,
        write,
        trim,
        shares,
        user_cpu_percent,
        system_cpu_percent,
        disks,
        ..FioResult::default()
    })
}

/// Parses a direction. The inner value is `None` if it moved nothing.
fn direction(fields: &mut Fields<'_>) -> Option<Option<FioDirection>> {
    let (kib, kib_per_sec) = (fields.number()?, fields.number()?);
    let (iops, runtime_ms) = (fields.number()?, fields.number()?);
    let slat = latency(fields)?;
    let clat = latency(fields)?;
    let mut percentiles = Vec::new();
    for _ in 0..PERCENTILES {
        let (percent, value_us) = fields.text()?.split_once("%=")?;
        let (percent, value_us) = (number(percent)?.value, number(value_us)?.value);
        if percent > 0.0 {
            percentiles.push((percent, (value_us * 1e3).round() as u64));
        }
    }
    let lat = latency(fields)?;
    let (min, max) = (fields.number()?, fields.number()?);
    let _percent_of_the_group = fields.percent()?;
    let (mean, stddev) = (fields.number()?, fields.number()?);
    let mut bandwidth = FioSamples { min, max, mean, stddev, n: None };
    let sampled_iops = if has_iops(fields) {
        bandwidth.n = Some(fields.whole()?);
        let (min, max) = (fields.number()?, fields.number()?);
        let (mean, stddev, n) = (fields.number()?, fields.number()?, fields.whole()?);
        (n > 0).then_some(FioSamples { min, max, mean, stddev, n: Some(n) })
    } else {
        None
    };
    if kib == 0.0 && iops == 0.0 {
        return Some(None);
    }
    let bandwidth = FioSamples {
        min: bandwidth.min * 1024.0,
        max: bandwidth.max * 1024.0,
        mean: bandwidth.mean * 1024.0,
        stddev: bandwidth.stddev * 1024.0,
        ..bandwidth
    };
    let bytes = (kib * 1024.0).round() as u64;
    let (ios, iops) = counted(iops, runtime_ms, bytes);
    Some(Some(FioDirection {
        ios,
        bytes,
        bytes_per_sec: kib_per_sec * 1024.0,
        iops,
        runtime_ns: (runtime_ms * 1e6).round() as u64,
        sampled_bytes_per_sec: (bandwidth.mean > 0.0).then_some(bandwidth),
        sampled_iops,
        slat,
        clat: clat.map(|clat| FioLatency { percentiles, ..clat }),
        lat,
        ..FioDirection::default()
    }))
}

/// The smallest block of a device.
const SECTOR_BYTES: u64 = 512;
/// Below this rate, several plausible block sizes would fit, such as 1 MiB and 1.25 MiB.
const FEWEST_IOPS: f64 = 4.0;
/// More possible numbers of I/Os are not tried.
const MOST_TRIED: u64 = 1 << 20;

/// Returns the number of I/Os and the exact rate, from a rate without decimals. It leaves several numbers
/// possible, but an I/O moves whole sectors: of these numbers, the one that gives a block of a power of two
/// counts, or the only one that gives whole sectors. Otherwise the number is estimated.
fn counted(iops: f64, runtime_ms: f64, bytes: u64) -> (u64, f64) {
    let during = |iops: f64| (iops * runtime_ms / 1e3).ceil() as u64;
    let least = during(iops);
    let most = during(iops + 1.0).saturating_sub(1).max(least);
    let exactly = |ios: u64| {
        let rate = if runtime_ms > 0.0 { ios as f64 * 1e3 / runtime_ms } else { iops };
        (ios, rate)
    };
    if least == most {
        return exactly(least);
    }
    let estimate = (least + (most - least) / 2, iops);
    if bytes == 0 || most - least > MOST_TRIED {
        return estimate;
    }
    let moves_sectors =
        |ios: &u64| *ios > 0 && bytes.is_multiple_of(ios.saturating_mul(SECTOR_BYTES));
    let mut possible = (least..=most).filter(moves_sectors);
    let power = possible.clone().find(|ios| (bytes / ios).is_power_of_two());
    match (power.filter(|_| iops >= FEWEST_IOPS), possible.next(), possible.next()) {
        (Some(ios), ..) | (None, Some(ios), None) => exactly(ios),
        _ => estimate,
    }
}

/// Returns true before the sample counts of version 5. Without them, the next direction follows, whose
/// ninth field is no percentage, or the processor time.
fn has_iops(fields: &Fields<'_>) -> bool {
    if fields.is_percent() {
        return false;
    }
    let percentiles =
        |at: usize| fields.fields.get(fields.at + at).is_some_and(|field| field.contains("%="));
    // A direction has twelve fields before its percentiles, and version 5 has six fields before it.
    !percentiles(12)
}

/// Parses minimum, maximum, mean and standard deviation in microseconds. The inner value is `None` if there
/// are none.
fn latency(fields: &mut Fields<'_>) -> Option<Option<FioLatency>> {
    let (min, max) = (fields.number()?, fields.number()?);
    let (mean, stddev) = (fields.number()?, fields.number()?);
    let ns = |us: f64| (us * 1e3).round() as u64;
    let latency = FioLatency {
        min_ns: ns(min),
        max_ns: ns(max),
        mean_ns: mean * 1e3,
        stddev_ns: stddev * 1e3,
        ..FioLatency::default()
    };
    Some((max > 0.0 || mean > 0.0).then_some(latency))
}

/// Parses a device; `None`, and no field is taken, if none follows.
fn disk(fields: &mut Fields<'_>) -> Option<FioDisk> {
    let mut own = Fields { fields: fields.fields.get(fields.at..)?.to_vec(), at: 0 };
    let device = own.text()?.to_owned();
    let (reads, writes) = (own.whole()?, own.whole()?);
    let (reads_merged, writes_merged) = (own.whole()?, own.whole()?);
    let (read_ms, write_ms, queue_ms) = (own.whole()?, own.whole()?, own.whole()?);
    let busy_percent = own.percent()?;
    let ns = |ms: u64| ms.saturating_mul(1_000_000);
    fields.at += DISK_FIELDS;
    Some(FioDisk {
        device,
        reads,
        writes,
        reads_merged,
        writes_merged,
        read_time_ns: ns(read_ms),
        write_time_ns: ns(write_ms),
        queue_time_ns: ns(queue_ms),
        busy_percent,
        ..FioDisk::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Version 2 as fio 2.0.7 writes it, without trims.
    #[test]
    fn terse_output_without_trims_is_read() {
        let direction = |kib: u32| {
            let percentiles = "0%=0;".repeat(17);
            format!(
                "{kib};128;32;1000;0;0;0.0;0.0;5;90;12.5;1.5;50.000000%=12;99.0%=80;99.9%=90;\
                 {percentiles}6;91;13.5;1.5;100;200;50.0%;150.0;10.0;"
            )
        };
        let rest = format!("1.5%;2.5%;7;0;3;{}{}", "0.0%;".repeat(7), "0.00%;".repeat(21));
        let line = format!("2;a job;3;5;{}{}{rest}4.55%", direction(128), direction(0));
        let result = result(&line).unwrap().unwrap();
        assert_eq!((result.name.as_str(), result.group, result.error), ("a job", 3, 5));
        assert_eq!((result.user_cpu_percent, result.system_cpu_percent), (1.5, 2.5));
        let read = result.read.unwrap();
        assert_eq!((read.ios, read.bytes, read.iops), (32, 131_072, 32.0));
        assert_eq!(
            (read.percentile_ns(99.0), read.percentile_ns(50.0)),
            (Some(80_000), Some(12_000))
        );
        assert_eq!((read.slat.as_ref(), read.lat.unwrap().mean_ns), (None, 13_500.0));
        assert_eq!(read.sampled_bytes_per_sec.unwrap().max, 204_800.0);
        assert_eq!(read.sampled_iops, None);
        assert_eq!(result.shares, [LatencyShare { below_ns: None, percent: 4.55 }]);
    }

    #[test]
    fn number_of_ios_follows_from_rate_time_and_bytes() {
        const MIB: u64 = 1 << 20;
        // 20 I/Os in 1.001 s are 19.98 per second.
        assert_eq!(counted(19.0, 1001.0, 20 * MIB), (20, 20_000.0 / 1001.0));
        assert_eq!(counted(19.0, 60_000.0, 1170 * MIB), (1170, 19.5));
        assert_eq!(counted(5000.0, 60_000.0, 300_031 * 12_288).0, 300_031);
        // 1 MiB and 1.5 MiB would fit.
        assert_eq!(counted(1.0, 6000.0, 9 * MIB), (8, 1.0));
        assert_eq!(counted(0.0, 0.0, MIB), (0, 0.0));
        let _ = (counted(1e29, 1e29, u64::MAX), counted(1.0, 1e29, u64::MAX), counted(7.0, 5e9, 0));
    }

    #[test]
    fn other_text_is_not_terse_output() {
        for text in ["2;a;b", "3;a;b;0;0", "6;fio-3.33;a", "fio-3.33", "", ";;"] {
            assert_eq!(result(text), None, "{text}");
        }
        assert!(result("3;fio-3.33;a;0;0;many").unwrap().is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_terse_fields_never_panic(
            fields in prop::collection::vec(
                prop::sample::select(vec!["3", "0", "1.5", "1.0%", "1.0%=7", "vda", "-1", "9e9", ""]),
                0..200,
            ),
        ) {
            let _ = result(&format!("3;fio-3.33;{}", fields.join(";")));
            let _ = result(&format!("2;{}", fields.join(";")));
        }
    }
}
