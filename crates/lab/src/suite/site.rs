//! The requirements of a suite for its target, and the facts about the target.

use crate::session::rig::Rig;
use iogauge_io::machine::Memory;
use iogauge_io::targets::{FileOrigin, Part, PartKind, Roots, device_facts, device_facts_of};
use iogauge_model::Load;
use iogauge_model::load::EngineKind;
use iogauge_model::result::DeviceFacts;

/// The requirements of a suite for its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Number of files in a target that is a directory, at least 1. Other targets have the parts
    /// that were named.
    pub files: u32,
    /// Usable size of each part, in bytes; `None` for the whole part, or the size of a new test
    /// file.
    pub size_bytes: Option<u64>,
    /// True if `size_bytes` is the total size, spread evenly over all parts. If it is `None`,
    /// several new files have together the size of one.
    pub size_is_total: bool,
    /// True if it writes.
    pub writes: bool,
    /// True if it bypasses the page cache.
    pub direct: bool,
    /// True if block devices are not prefilled, because the suite itself writes all blocks before
    /// it reads any, or measures writes to a device without data. Files are always prefilled.
    pub fresh_devices: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self {
            files: 1,
            size_bytes: None,
            size_is_total: false,
            writes: false,
            direct: true,
            fresh_devices: false,
        }
    }
}

impl Needs {
    /// Returns the size of each of a number of parts, for a size as in `size_bytes`.
    #[must_use]
    pub fn of_each(&self, size_bytes: Option<u64>, parts: u32) -> Option<u64> {
        let shares = if self.size_is_total { u64::from(parts.max(1)) } else { 1 };
        size_bytes.map(|bytes| bytes / shares)
    }
}

/// The kinds of parts of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteKind {
    /// A simulated device.
    Simulated,
    /// Files.
    Files,
    /// Block devices, or files and block devices.
    Devices,
}

/// The target of a suite, and the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The kinds of its parts.
    pub kind: SiteKind,
    /// Usable bytes of each part, at least one part.
    pub part_bytes: Vec<u64>,
    /// True if every part is a whole block device from its first to its last block.
    pub whole_devices: bool,
    /// Smallest direct I/O, in bytes.
    pub block_bytes: u32,
    /// The engine that issues the I/O.
    pub engine: EngineKind,
    /// Processors that this process may use, at least 1.
    pub processors: u32,
    /// Disks under the target, at least 1.
    pub disks: u32,
    /// Requests that the block layer queues for these disks (`nr_requests`); 0 if unknown.
    pub requests: u64,
    /// Memory of the machine, in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// Number of hosts that do the I/O, at least 1.
    pub hosts: u32,
}

impl Site {
    /// Returns the site of a rig and an engine.
    #[must_use]
    pub fn of(rig: &Rig, engine: EngineKind) -> Self {
        let parts = rig.target().map_or(&[][..], |target| &target.parts);
        let is_device = |kind: PartKind| kind == PartKind::BlockDevice;
        let kind = match parts {
            [] => SiteKind::Simulated,
            parts if parts.iter().any(|part| is_device(part.kind)) => SiteKind::Devices,
            _ => SiteKind::Files,
        };
        let part_bytes = match kind {
            SiteKind::Simulated => vec![rig.size_bytes()],
            _ => parts.iter().map(|part| part.size_bytes).collect(),
        };
        // The block size of direct I/O to a file is not known before the file exists.
        let block = |part: &Part| match part.kind {
            PartKind::File(FileOrigin::ToMake) => part.logical_block_bytes,
            _ => part.block_bytes(),
        };
        let disks = disks_under(rig);
        let requests = disks.iter().map(|disk| disk.nr_requests).sum::<Option<u64>>();
        Self {
            kind,
            part_bytes,
            whole_devices: !parts.is_empty() && parts.iter().all(is_whole_device),
            block_bytes: parts.iter().map(block).max().unwrap_or(0).max(512),
            engine,
            processors: processors(),
            disks: disks.len().max(1) as u32,
            requests: requests.unwrap_or(0),
            memory_bytes: Memory::read(&Roots::default()).unwrap_or_default().total_bytes,
            hosts: rig.hosts() as u32,
        }
    }

    /// Usable bytes over all parts.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.part_bytes.iter().sum()
    }

    /// Usable bytes of the smallest part.
    #[must_use]
    pub fn smallest_bytes(&self) -> u64 {
        self.part_bytes.iter().min().copied().unwrap_or(0)
    }

    /// True for a block size that direct I/O accepts.
    #[must_use]
    pub fn takes(&self, block_bytes: u64) -> bool {
        block_bytes.is_multiple_of(u64::from(self.block_bytes))
    }

    /// Returns the default workload with this target's engine.
    #[must_use]
    pub fn load(&self) -> Load {
        Load { engine: self.engine, ..Load::default() }
    }
}

/// Returns the facts of the disks under a target; none if they are not known.
fn disks_under(rig: &Rig) -> Vec<DeviceFacts> {
    let Ok(devices) = rig.devices() else { return Vec::new() };
    let facts = |name: &str| device_facts_of(name, &Roots::default());
    devices.leaves().into_iter().filter_map(facts).collect()
}

/// True for a block device that is not a partition and is used completely.
fn is_whole_device(part: &Part) -> bool {
    let facts = part.device.and_then(|number| device_facts(number, &Roots::default()));
    let reaches_end = |whole: u64| part.size_bytes + u64::from(part.logical_block_bytes) > whole;
    part.kind == PartKind::BlockDevice
        && facts.is_some_and(|f| f.disk.is_none() && f.size_bytes.is_none_or(reaches_end))
}

/// Returns the number of processors that this process may use, at least 1.
#[must_use]
pub fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}
