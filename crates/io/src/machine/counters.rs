//! All counters of the machine at one moment, and the changes between two readings.

use super::cpu::cpu_use;
use super::kernel_file::KernelFile;
use super::paging::PageCounters;
use super::run_queue::RunQueue;
use super::scheduler::SchedulerCounters;
use super::{
    DeviceTree, DiskCounters, MachineCpu, Memory, ProcessCpu, Roots, SystemError, parse_diskstats,
    physical_of,
};
use iogauge_model::result::{CpuUse, Physical, SystemPoint};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the workload did during an interval, for comparison with the machine's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logical {
    /// I/Os completed, all directions.
    pub ios: u64,
    /// Bytes moved, both directions.
    pub bytes: u64,
}

/// What the machine did during an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemTotals {
    /// Length of the interval, in seconds.
    pub seconds: f64,
    /// Activity of the devices; `None` if there is no counted device under the target.
    pub physical: Option<Physical>,
    /// Processor time of this process and of the machine.
    pub cpu: CpuUse,
}

/// A device whose counters are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CountedDevice {
    /// Kernel name.
    pub name: String,
    /// True if the device is included in the sums of all devices. Each physical byte passes exactly one such device.
    pub summed: bool,
}

/// All counters at one moment.
#[derive(Debug, Clone)]
pub struct Counters {
    pub(super) at: Instant,
    pub(super) devices: Arc<[CountedDevice]>,
    /// In the order of `devices`.
    pub(super) disks: Vec<DiskCounters>,
    pub(super) process: ProcessCpu,
    pub(super) machine: MachineCpu,
    pub(super) tasks: SchedulerCounters,
    /// `None` if the kernel does not count pages.
    pub(super) pages: Option<PageCounters>,
    pub(super) memory: Memory,
    /// Only read for marks, because its cost grows with the number of workers.
    pub(super) run_queue: RunQueue,
}

impl Counters {
    /// Returns when the counters were read.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }

    /// Returns the memory at that moment.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Returns the changes from `before` to this reading, given what the workload did in between.
    #[must_use]
    pub fn since(&self, before: &Self, logical: Logical) -> SystemTotals {
        let span = self.at.saturating_duration_since(before.at);
        let wall_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let machine = self.machine.share_since(&before.machine);
        SystemTotals {
            seconds: span.as_secs_f64(),
            physical: physical_of(before, self, logical.bytes),
            cpu: CpuUse {
                wait_percent: self.run_queue.percent_since(&before.run_queue, wall_ns),
                ..cpu_use((before.process, self.process), machine, wall_ns, logical.ios)
            },
        }
    }

    /// Returns the rates from `before` to this reading, with the time counted from `start`.
    pub(super) fn point_since(&self, before: &Self, start: Instant) -> SystemPoint {
        let span = self.at.saturating_duration_since(before.at);
        let seconds = span.max(Duration::from_nanos(1)).as_secs_f64();
        let machine = self.machine.share_since(&before.machine);
        let page_bytes = rustix::param::page_size();
        let pages = self.pages.zip(before.pages);
        let grown =
            before.disks.iter().zip(&self.disks).map(|(before, after)| after.growth_since(before));
        let rates = self.devices.iter().zip(grown);
        let mut point = SystemPoint {
            at_seconds: self.at.saturating_duration_since(start).as_secs_f64(),
            cpu_percent: machine.busy_percent,
            steal_percent: machine.steal_percent,
            iowait_percent: machine.iowait_percent,
            memory_available_bytes: self.memory.available_bytes,
            dirty_bytes: self.memory.dirty_bytes,
            cpu: Some(machine.kinds),
            tasks: Some(self.tasks.since(&before.tasks, seconds)),
            memory: Some(self.memory.kinds),
            paging: pages.map(|(after, before)| after.since(&before, seconds, page_bytes)),
            devices: rates.map(|(device, growth)| growth.rates(&device.name, seconds)).collect(),
            ..SystemPoint::default()
        };
        let summed = self.devices.iter().filter(|device| device.summed).count();
        let devices = self.devices.iter().zip(&point.devices);
        for (_, device) in devices.filter(|(watched, _)| watched.summed) {
            point.reads_per_sec += device.reads_per_sec;
            point.writes_per_sec += device.writes_per_sec;
            point.read_bytes_per_sec += device.read_bytes_per_sec;
            point.write_bytes_per_sec += device.write_bytes_per_sec;
            point.busy_percent += device.busy_percent / summed as f64;
        }
        point
    }
}

/// Reads the counters from files that it keeps open.
///
/// One reading makes about a dozen system calls and takes 150 to 250 µs on a small machine. It takes longer with more
/// devices and processors, because the kernel sums over all of them.
#[derive(Debug)]
pub struct CounterReader {
    roots: Roots,
    devices: Arc<[CountedDevice]>,
    /// `None` if there is no device to count.
    diskstats: Option<KernelFile>,
    stat: KernelFile,
    meminfo: KernelFile,
    /// `None` if the kernel does not count pages.
    vmstat: Option<KernelFile>,
}

impl CounterReader {
    /// Returns a reader for the machine and the whole devices of a tree. If a leaf of the tree keeps no counters (see
    /// [`DeviceTree::is_counted`]), no device is included in the sums, because they would be incomplete.
    ///
    /// # Errors
    /// Fails if a file of `/proc` cannot be opened or read.
    pub fn open(roots: &Roots, tree: &DeviceTree) -> Result<Self, SystemError> {
        let mut devices = watched(tree);
        let mut diskstats = None;
        if !devices.is_empty() {
            let mut file = KernelFile::open(roots, "proc/diskstats")?;
            file.parse("text", |text| {
                // Only summed devices must be in diskstats; others may be missing.
                devices.retain(|watched| watched.summed || is_told(text, &watched.name));
                Some(())
            })?;
            diskstats = Some(file);
        }
        Ok(Self {
            roots: roots.clone(),
            devices: devices.into(),
            diskstats,
            stat: KernelFile::open(roots, "proc/stat")?,
            meminfo: KernelFile::open(roots, "proc/meminfo")?,
            vmstat: KernelFile::open(roots, "proc/vmstat").ok(),
        })
    }

    /// Returns the root below which the files of control groups and workers are read.
    pub(super) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Reads all counters.
    ///
    /// # Errors
    /// Fails if a file cannot be read or lacks its line, or a device is missing from diskstats.
    pub fn read(&mut self) -> Result<Counters, SystemError> {
        let mut counters = Counters {
            at: Instant::now(),
            devices: Arc::clone(&self.devices),
            disks: Vec::with_capacity(self.devices.len()),
            process: ProcessCpu::default(),
            machine: MachineCpu::default(),
            tasks: SchedulerCounters::default(),
            pages: None,
            memory: Memory::default(),
            run_queue: RunQueue::now(&self.roots),
        };
        self.read_into(&mut counters)?;
        Ok(counters)
    }

    /// Reads all counters except the run queue into an existing `Counters`. After an error its contents are
    /// unspecified.
    ///
    /// # Errors
    /// As [`CounterReader::read`].
    pub(super) fn read_into(&mut self, counters: &mut Counters) -> Result<(), SystemError> {
        (counters.machine, counters.tasks) = self.stat.parse("cpu line", |text| {
            Some((MachineCpu::parse(text)?, SchedulerCounters::parse(text)))
        })?;
        if let Some(vmstat) = &mut self.vmstat {
            counters.pages = Some(vmstat.parse("text", |text| Some(PageCounters::parse(text)))?);
        }
        counters.memory = self.meminfo.parse("MemTotal line", Memory::parse)?;
        counters.process = ProcessCpu::now();
        counters.at = Instant::now();
        counters.disks.clear();
        if let Some(diskstats) = &mut self.diskstats {
            let (devices, disks) = (&self.devices, &mut counters.disks);
            diskstats.parse("text", |text| {
                fill_disks(text, devices, disks);
                Some(())
            })?;
        }
        match self.devices.get(counters.disks.len()) {
            Some(device) => Err(SystemError::DeviceGone { device: device.name.clone() }),
            None => Ok(()),
        }
    }
}

/// Returns the devices of a tree whose counters are read: the whole devices, and the leaves, which all bytes pass
/// through.
fn watched(tree: &DeviceTree) -> Vec<CountedDevice> {
    let counted = tree.is_counted();
    let watched = tree.layers().iter().filter(|layer| layer.counted).map(|layer| {
        let leaf = layer.on.is_empty();
        (layer.whole || leaf)
            .then(|| CountedDevice { name: layer.name.clone(), summed: leaf && counted })
    });
    watched.flatten().collect()
}

fn is_told(text: &str, device: &str) -> bool {
    parse_diskstats(text).any(|line| line.device == device)
}

/// Collects the counters of the devices in order, up to the first missing device.
fn fill_disks(text: &str, devices: &[CountedDevice], disks: &mut Vec<DiskCounters>) {
    for device in devices {
        match parse_diskstats(text).find(|line| line.device == device.name) {
            Some(line) => disks.push(line.counters),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counters_are_read_without_devices() {
        let mut reader = CounterReader::open(&Roots::real(), &DeviceTree::default()).unwrap();
        let before = reader.read().unwrap();
        let after = reader.read().unwrap();
        let totals = after.since(&before, Logical::default());
        assert_eq!(totals.physical, None);
        assert!(after.memory().total_bytes > after.memory().available_bytes);
        assert!(after.memory().available_bytes > 0);
        assert!(totals.seconds >= 0.0 && after.at() >= before.at());
    }

    #[test]
    fn missing_device_is_reported_by_name() {
        let text = " 8 0 sda 1 1 1 1 1 1 1 1 1 1 1\n 8 16 sdb 2 1 1 1 1 1 1 1 1 1 1\n";
        let device = |name: &str| CountedDevice { name: name.to_owned(), summed: true };
        let mut disks = Vec::new();
        fill_disks(text, &[device("sdb"), device("sda")], &mut disks);
        assert_eq!(disks.iter().map(|d| d.reads).collect::<Vec<_>>(), [2, 1]);
        disks.clear();
        fill_disks(text, &[device("sda"), device("sdc"), device("sdb")], &mut disks);
        assert_eq!(disks.len(), 1);
    }

    proptest! {
        #[test]
        fn sample_points_are_rates_over_the_interval(reads in 0u64..1 << 40, ms in 1u64..100_000) {
            let start = Instant::now();
            let counters = |after: Duration, reads| Counters {
                at: start + after,
                devices: [("dm-0", false), ("sda", true)]
                    .map(|(name, summed)| CountedDevice { name: name.to_owned(), summed })
                    .into(),
                disks: vec![DiskCounters { reads, busy_ms: reads / 2, ..DiskCounters::default() }; 2],
                process: ProcessCpu::default(),
                machine: MachineCpu::default(),
                tasks: SchedulerCounters::default(),
                pages: None,
                memory: Memory::default(),
                run_queue: RunQueue::default(),
            };
            let before = counters(Duration::from_secs(1), 0);
            let after = counters(Duration::from_secs(1) + Duration::from_millis(ms), reads);
            let point = after.point_since(&before, start);
            let expected = reads as f64 / (ms as f64 / 1e3);
            prop_assert!((point.reads_per_sec - expected).abs() <= expected * 1e-9);
            prop_assert_eq!(point.devices[0].reads_per_sec, point.reads_per_sec);
            prop_assert!((0.0..=100.0).contains(&point.busy_percent));
            prop_assert!((point.at_seconds - 1.0 - ms as f64 / 1e3).abs() < 1e-9);
        }
    }
}
