//! The lines of a run's devices, after its summaries.

use super::figure::{cut, field, number, once, percent};
use iogauge_model::result::FioDisk;

/// Parses `vda: ios=65476/35979, merge=0/0, ticks=2493/17095, in_queue=19589, util=52.25%`; `None` for any
/// other line. Newer versions have `sectors=` too.
pub(super) fn disk(text: &str) -> Option<FioDisk> {
    let (device, _) = cut(text, ": ios=")?;
    let pair = |key| {
        let (reads, writes) = once(field(text, key)?, b'/')?;
        Some((number(reads)?.value.round() as u64, number(writes)?.value.round() as u64))
    };
    let ms = |milliseconds: u64| milliseconds.saturating_mul(1_000_000);
    let (reads, writes) = pair(" ios=")?;
    let (reads_merged, writes_merged) = pair(" merge=")?;
    let (read_ms, write_ms) = pair(" ticks=")?;
    let sectors = pair(" sectors=");
    Some(FioDisk {
        device: device.to_owned(),
        reads,
        writes,
        reads_merged,
        writes_merged,
        read_bytes: sectors.map(|(read, _)| read.saturating_mul(SECTOR_BYTES)),
        write_bytes: sectors.map(|(_, written)| written.saturating_mul(SECTOR_BYTES)),
        read_time_ns: ms(read_ms),
        write_time_ns: ms(write_ms),
        queue_time_ns: ms(number(field(text, " in_queue=")?)?.value.round() as u64),
        busy_percent: percent(field(text, " util=")?)?,
    })
}

/// Unit of a device's counters in the kernel.
const SECTOR_BYTES: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_lines_are_parsed() {
        let line = "vda: ios=65476/35979, merge=1/2, ticks=2493/17095, in_queue=19589, util=52.25%";
        let vda = disk(line).unwrap();
        assert_eq!((vda.device.as_str(), vda.reads, vda.writes), ("vda", 65_476, 35_979));
        assert_eq!((vda.reads_merged, vda.writes_merged, vda.read_bytes), (1, 2, None));
        assert_eq!((vda.write_time_ns, vda.queue_time_ns), (17_095_000_000, 19_589_000_000));
        assert_eq!(vda.busy_percent, 52.25);
        let newer = line.replace("merge=", "sectors=8/16, merge=");
        assert_eq!(disk(&newer).unwrap().write_bytes, Some(8192));
        assert_eq!(disk("READ: bw=96.7MiB/s, io=290MiB"), None);
    }
}
