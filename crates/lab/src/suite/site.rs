//! What a suite needs of its target, and what it finds there.

use crate::rig::Rig;
use iogauge_io::system::Memory;
use iogauge_io::target::{PartKind, Roots};
use iogauge_model::Load;
use iogauge_model::load::EngineKind;

/// What a suite needs of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Files it wants where the target is a directory, at least 1. Other targets have the parts that
    /// were named.
    pub files: u32,
    /// Usable size of each part, in bytes; `None` for all of what is there, or the size of a new
    /// test file.
    pub size_bytes: Option<u64>,
    /// True where `size_bytes` is that of all parts together, to be spread evenly over them. Several
    /// new files have the size of one where it is `None`.
    pub size_is_total: bool,
    /// True where it writes.
    pub writes: bool,
    /// True where it goes around the page cache.
    pub direct: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self { files: 1, size_bytes: None, size_is_total: false, writes: false, direct: true }
    }
}

impl Needs {
    /// Size of each of so many parts, of the size of what is needed.
    #[must_use]
    pub fn of_each(&self, size_bytes: Option<u64>, parts: u32) -> Option<u64> {
        let shares = if self.size_is_total { u64::from(parts.max(1)) } else { 1 };
        size_bytes.map(|bytes| bytes / shares)
    }
}

/// What the target is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteKind {
    /// A simulated device.
    Simulated,
    /// Files.
    Files,
    /// Block devices, or files and block devices.
    Devices,
}

/// What a suite finds: its target, and the machine around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// What the target is made of.
    pub kind: SiteKind,
    /// Usable bytes of each part, at least one part.
    pub part_bytes: Vec<u64>,
    /// Smallest I/O that goes around the page cache, in bytes.
    pub block_bytes: u32,
    /// What carries the I/O.
    pub engine: EngineKind,
    /// Processors this process may use, at least 1.
    pub processors: u32,
    /// Memory of the machine, in bytes; 0 where it is not known.
    pub memory_bytes: u64,
}

impl Site {
    /// The target of a rig, with what carries I/O to it.
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
        let block = |part: &iogauge_io::target::Part| {
            part.logical_block_bytes.max(part.dio_offset_align_bytes)
        };
        Self {
            kind,
            part_bytes,
            block_bytes: parts.iter().map(block).max().unwrap_or(0).max(512),
            engine,
            processors: processors(),
            memory_bytes: Memory::read(&Roots::default()).unwrap_or_default().total_bytes,
        }
    }

    /// Usable bytes over all parts.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.part_bytes.iter().sum()
    }

    /// A load of this target's engine, everything else as it is by default.
    #[must_use]
    pub fn load(&self) -> Load {
        Load { engine: self.engine, ..Load::default() }
    }
}

/// Processors this process may use, at least 1.
#[must_use]
pub fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}
