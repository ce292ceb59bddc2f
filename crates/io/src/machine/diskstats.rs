//! `/proc/diskstats`: I/O counters of each block device since it was attached (kernel documentation,
//! admin-guide/iostats).

use iogauge_model::result::{DeviceCounters, DevicePoint};

/// The kernel counts in sectors of this size, whatever the device's own sector size.
const SECTOR_BYTES: u64 = 512;

/// Counters of one device since it was attached. They wrap at 2³² on 32-bit kernels; the milliseconds wrap at 2³²
/// on all kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: u64,
    /// Sectors of 512 bytes read.
    pub read_sectors: u64,
    /// Writes completed.
    pub writes: u64,
    /// Sectors of 512 bytes written.
    pub write_sectors: u64,
    /// Time with at least one I/O outstanding, in milliseconds.
    pub busy_ms: u64,
    /// Flushes completed; 0 on kernels before 5.5, which do not report them.
    pub flushes: u64,
    /// Reads merged with others.
    pub reads_merged: u64,
    /// Writes merged with others.
    pub writes_merged: u64,
    /// Sum of the times of all reads, in milliseconds.
    pub read_ms: u64,
    /// Sum of the times of all writes, in milliseconds.
    pub write_ms: u64,
    /// Sum of the times of all I/Os, in milliseconds.
    pub queue_ms: u64,
}

/// One line of diskstats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLine<'a> {
    /// Kernel name of the device.
    pub device: &'a str,
    pub counters: DiskCounters,
}

/// Parses the text of diskstats. Accepts the 11 fields of kernels since 2.6.25, the 15 since 4.18 (discards), the 17
/// since 5.5 (flushes), and any further fields. Skips other lines.
pub fn parse_diskstats(text: &str) -> impl Iterator<Item = DiskLine<'_>> {
    text.lines().filter_map(parse_line)
}

fn parse_line(line: &str) -> Option<DiskLine<'_>> {
    let mut words = line.split_ascii_whitespace();
    let device = words.nth(2)?;
    let mut fields = [0u64; 17];
    let mut given = 0;
    for (field, word) in fields.iter_mut().zip(words) {
        *field = word.parse().ok()?;
        given += 1;
    }
    let counters = DiskCounters {
        reads: fields[0],
        read_sectors: fields[2],
        writes: fields[4],
        write_sectors: fields[6],
        busy_ms: fields[9],
        flushes: fields[15],
        reads_merged: fields[1],
        writes_merged: fields[5],
        read_ms: fields[3],
        write_ms: fields[7],
        queue_ms: fields[10],
    };
    (given >= 11).then_some(DiskLine { device, counters })
}

impl DiskCounters {
    /// Returns the growth of each counter from `before` to this reading. A counter that wrapped at 2³² is corrected.
    /// A counter that fell for another reason restarted at 0 because the device was attached again, so its new value
    /// is the growth.
    #[must_use]
    pub fn growth_since(&self, before: &Self) -> Self {
        Self {
            reads: grown(before.reads, self.reads),
            read_sectors: grown(before.read_sectors, self.read_sectors),
            writes: grown(before.writes, self.writes),
            write_sectors: grown(before.write_sectors, self.write_sectors),
            busy_ms: grown(before.busy_ms, self.busy_ms),
            flushes: grown(before.flushes, self.flushes),
            reads_merged: grown(before.reads_merged, self.reads_merged),
            writes_merged: grown(before.writes_merged, self.writes_merged),
            read_ms: grown(before.read_ms, self.read_ms),
            write_ms: grown(before.write_ms, self.write_ms),
            queue_ms: grown(before.queue_ms, self.queue_ms),
        }
    }

    /// Returns the activity of `device` from `before` to this reading.
    #[must_use]
    pub fn since(&self, before: &Self, device: &str) -> DeviceCounters {
        let growth = self.growth_since(before);
        let ns = |ms: u64| ms.saturating_mul(1_000_000);
        DeviceCounters {
            device: device.to_owned(),
            reads: growth.reads,
            writes: growth.writes,
            read_bytes: growth.read_bytes(),
            write_bytes: growth.write_bytes(),
            busy_ns: ns(growth.busy_ms),
            flushes: growth.flushes,
            reads_merged: growth.reads_merged,
            writes_merged: growth.writes_merged,
            read_time_ns: ns(growth.read_ms),
            write_time_ns: ns(growth.write_ms),
            queue_time_ns: ns(growth.queue_ms),
        }
    }

    /// Converts counters accumulated over `seconds` to rates.
    #[must_use]
    pub(super) fn rates(&self, device: &str, seconds: f64) -> DevicePoint {
        let rate = |count: u64| count as f64 / seconds;
        let each = |ms: u64, ios: u64| (ios > 0).then(|| ms as f64 * 1e6 / ios as f64);
        DevicePoint {
            device: device.to_owned(),
            reads_per_sec: rate(self.reads),
            writes_per_sec: rate(self.writes),
            flushes_per_sec: rate(self.flushes),
            read_bytes_per_sec: rate(self.read_bytes()),
            write_bytes_per_sec: rate(self.write_bytes()),
            read_await_ns: each(self.read_ms, self.reads),
            write_await_ns: each(self.write_ms, self.writes),
            queue_depth: rate(self.queue_ms) / 1e3,
            // The kernel counts whole ticks, so a busy device may show slightly more than 100 %.
            busy_percent: (rate(self.busy_ms) / 10.0).min(100.0),
        }
    }

    /// Bytes read.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.read_sectors.saturating_mul(SECTOR_BYTES)
    }

    /// Bytes written.
    #[must_use]
    pub fn write_bytes(&self) -> u64 {
        self.write_sectors.saturating_mul(SECTOR_BYTES)
    }
}

/// Returns the growth of a counter between two readings.
fn grown(before: u64, after: u64) -> u64 {
    const RANGE: u64 = 1 << 32;
    const HALF: u64 = RANGE / 2;
    match after.checked_sub(before) {
        Some(growth) => growth,
        None if (HALF..RANGE).contains(&before) && after < HALF => RANGE - before + after,
        None => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn only(text: &str) -> DiskLine<'_> {
        let lines: Vec<_> = parse_diskstats(text).collect();
        assert_eq!(lines.len(), 1, "{text}");
        lines[0]
    }

    #[test]
    fn diskstats_of_all_kernel_versions_are_parsed() {
        let old = " 8 0 sda 10 1 200 5 20 2 400 6 0 700 11";
        let discards = " 8 0 sda 10 1 200 5 20 2 400 6 0 700 11 3 0 24 1";
        let flushes = " 8 0 sda 10 1 200 5 20 2 400 6 0 700 11 3 0 24 1 9 4";
        let future = " 8 0 sda 10 1 200 5 20 2 400 6 0 700 11 3 0 24 1 9 4 77 x";
        for (text, expected_flushes) in [(old, 0), (discards, 0), (flushes, 9), (future, 9)] {
            let line = only(text);
            assert_eq!(line.device, "sda");
            let counters = DiskCounters {
                reads: 10,
                read_sectors: 200,
                writes: 20,
                write_sectors: 400,
                busy_ms: 700,
                flushes: expected_flushes,
                reads_merged: 1,
                writes_merged: 2,
                read_ms: 5,
                write_ms: 6,
                queue_ms: 11,
            };
            assert_eq!(line.counters, counters, "{text}");
        }
    }

    #[test]
    fn malformed_diskstats_lines_are_skipped() {
        assert_eq!(
            parse_diskstats("8 1 sda1 1 2 3 4\n\n8 0 sda a b c d e f g h i j k\n").count(),
            0
        );
    }

    #[test]
    fn counter_differences_use_bytes_and_nanoseconds() {
        let before = DiskCounters { read_sectors: 8, busy_ms: 5, ..DiskCounters::default() };
        let after =
            DiskCounters { reads: 3, read_sectors: 24, busy_ms: 7, ..DiskCounters::default() };
        let growth = after.since(&before, "sda");
        assert_eq!((growth.reads, growth.read_bytes, growth.busy_ns), (3, 16 * 512, 2_000_000));
        assert_eq!(growth.device, "sda");
    }

    #[test]
    fn disk_rates_match_iostat() {
        let before = only(" 8 0 sda 100 0 800 50 200 0 1600 90 0 700 140 0 0 0 0 9 4");
        let after = only(" 8 0 sda 140 0 1120 70 200 0 1600 90 1 2200 2140 0 0 0 0 19 6");
        let point = after.counters.growth_since(&before.counters).rates("sda", 2.0);
        assert_eq!((point.reads_per_sec, point.writes_per_sec), (20.0, 0.0));
        assert_eq!((point.read_bytes_per_sec, point.flushes_per_sec), (81_920.0, 5.0));
        assert_eq!((point.read_await_ns, point.write_await_ns), (Some(500_000.0), None));
        assert_eq!((point.queue_depth, point.busy_percent), (1.0, 75.0));
    }

    #[test]
    fn decreasing_counters_are_wraps_or_resets() {
        assert_eq!(grown((1 << 32) - 10, 5), 15);
        assert_eq!(grown(1000, 5), 5);
        assert_eq!(grown(1 << 40, 5), 5);
    }

    proptest! {
        #[test]
        fn parsing_diskstats_never_panics(text in "(\\PC|\n|[0-9 ]){0,300}") {
            let _ = parse_diskstats(&text).count();
        }

        #[test]
        fn arbitrary_diskstats_numbers_are_parsed_and_diffed(fields in prop::collection::vec(any::<u64>(), 11..20)) {
            let words: Vec<String> = fields.iter().map(u64::to_string).collect();
            let line = format!("8 0 sda {}", words.join(" "));
            let counters = only(&line).counters;
            prop_assert_eq!(counters.reads, fields[0]);
            let _ = counters.since(&DiskCounters::default(), "sda");
            let _ = DiskCounters::default().since(&counters, "sda");
        }

        #[test]
        fn counter_wrap_at_32_bits_is_handled(before in (1u64 << 31)..(1 << 32), growth in 0u64..(1 << 31)) {
            prop_assert_eq!(grown(before, (before + growth) % (1 << 32)), growth);
        }
    }
}
