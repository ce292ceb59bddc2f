//! The kernel's trace of the I/Os of block devices: its event `block_bio_queue`, which occurs once for each I/O, in the
//! task that issued it, before I/Os are merged or reordered.

use crate::seen::{Io, Op};
use iogauge_test_support::Mount;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a sector in the event, whatever the device's sector size.
const SECTOR_BYTES: u64 = 512;
/// Room on each processor for more I/Os than any job file here issues.
const BUFFER_KB: &str = "8192";

/// A separate trace instance for some devices only.
pub struct Trace {
    instance: PathBuf,
    devices: Vec<(u32, u32)>,
    /// Unmounted after the instance is removed.
    _mount: Mount,
}

impl Trace {
    /// Mounts tracefs on a new directory and makes an instance that traces these devices.
    pub fn new(mount: &Path, devices: &[(u32, u32)]) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mount = Mount::at(mount, &["-t", "tracefs", "iogauge-test"])?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("iogauge-{}-{number}", std::process::id());
        let instance = mount.point.join("instances").join(name);
        let trace = Self { instance, devices: devices.to_owned(), _mount: mount };
        let make = |error| format!("{}: {error}", trace.instance.display());
        std::fs::create_dir(&trace.instance).map_err(make)?;
        // The kernel's internal dev_t has the minor number in the lower 20 bits.
        let numbers = trace.devices.iter().map(|(major, minor)| (major << 20) | minor);
        let filter: Vec<String> = numbers.map(|number| format!("dev == {number}")).collect();
        trace.set("events/block/block_bio_queue/filter", &filter.join(" || "))?;
        trace.set("trace_clock", "mono")?;
        trace.set("buffer_size_kb", BUFFER_KB)?;
        trace.set("tracing_on", "0")?;
        trace.set("events/block/block_bio_queue/enable", "1")?;
        Ok(trace)
    }

    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.instance.join(file);
        std::fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Clears the trace and starts it.
    pub fn begin(&self) {
        self.set("trace", "").unwrap();
        self.set("tracing_on", "1").unwrap();
    }

    /// Stops the trace and returns its I/Os in the order in which they were issued.
    pub fn end(&self) -> Vec<Io> {
        self.set("tracing_on", "0").unwrap();
        let text = std::fs::read_to_string(self.instance.join("trace")).unwrap();
        let counts = text.lines().find_map(|line| line.strip_prefix("# entries-in-buffer/"));
        let counts = counts.and_then(|line| line.split_whitespace().nth(1)).unwrap();
        let (kept, all) = counts.split_once('/').unwrap();
        assert_eq!(kept, all, "the kernel's buffer was too small");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| self.io(line).unwrap_or_else(|| panic!("{line:?}"))).collect()
    }

    /// Parses `TASK-PID [CPU] FLAGS SECONDS: block_bio_queue: MAJOR,MINOR RWBS SECTOR + SECTORS [TASK]`. Returns
    /// `Some(None)` if the I/O moves no data, such as a discard.
    fn io(&self, line: &str) -> Option<Option<Io>> {
        let (before, event) = line.split_once(": block_bio_queue: ")?;
        // Columns are padded, so white space precedes the seconds in the first hours after the boot.
        let mut words = before.split_whitespace().rev();
        let seconds = words.next()?.parse().ok()?;
        let thread = words.nth(2)?.rsplit_once('-')?.1.parse().ok()?;
        let (event, task) = event.strip_suffix(']')?.split_once(" [")?;
        let words: Vec<&str> = event.split_whitespace().collect();
        let [number, rwbs, sector, "+", sectors] = words[..] else { return None };
        let (major, minor) = number.split_once(',')?;
        let number = (major.parse().ok()?, minor.parse().ok()?);
        let device = self.devices.iter().position(|device| *device == number)?;
        let len_bytes = sectors.parse::<u64>().ok()? * SECTOR_BYTES;
        let op = match rwbs.as_bytes().first()? {
            b'R' => Op::Read,
            b'W' => Op::Write,
            b'F' if len_bytes == 0 => Op::Flush,
            // A write with a preceding flush.
            b'F' if rwbs.contains('W') => Op::Write,
            _ => return Some(None),
        };
        let offset_bytes = sector.parse::<u64>().ok()? * SECTOR_BYTES;
        let task = task.to_owned();
        Some(Some(Io { task, thread, seconds, device, op, offset_bytes, len_bytes }))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.set("events/block/block_bio_queue/enable", "0");
        let _ = std::fs::remove_dir(&self.instance);
    }
}
