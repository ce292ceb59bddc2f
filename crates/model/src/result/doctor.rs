//! What `iogauge doctor` found without measuring.

use super::{DeviceFacts, Environment};
use crate::caveat::Caveat;
use crate::load::EngineKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The document of `iogauge doctor`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DoctorDocument {
    /// Format word with version: [`super::DOCTOR_FORMAT`].
    pub format: String,
    /// Version of iogauge that wrote it.
    pub version: String,
    /// TARGET as typed.
    pub target: String,
    /// Its files and devices; empty for a simulated one.
    pub parts: Vec<DoctorPart>,
    /// Every layer of devices, for people to read: `loop3 on vda1 on vda`; empty where no block
    /// device lies under the target.
    pub chain: String,
    /// Each device under the target, top first.
    pub devices: Vec<DeviceFacts>,
    /// The machine.
    pub machine: MachineFacts,
    /// What would spoil a measurement.
    pub caveats: Vec<Caveat>,
}

impl DoctorDocument {
    /// Why a part may not even be read, so that nothing can be measured; `None` where all may.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| part.reads_refused.as_deref())
    }
}

/// What a part of a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartForm {
    /// A block device.
    BlockDevice,
    /// A file that iogauge made.
    OwnFile,
    /// A file of somebody else.
    ForeignFile,
    /// A file that the first run would make.
    FileToMake,
    /// Nothing that can be told: see why reading is refused.
    Unknown,
}

/// A file or device of a target.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DoctorPart {
    /// Where it is.
    pub path: String,
    /// What it is.
    pub form: PartForm,
    /// Bytes a run would use; 0 where it cannot be used.
    pub size_bytes: u64,
    /// True where I/O may go past the page cache.
    pub direct_io: bool,
    /// Where a block device is mounted.
    #[serde(default)]
    pub mounted_on: Vec<String>,
    /// The file system a file lies on.
    pub file_system: Option<FileSystemFacts>,
    /// States of the bytes of a file that is there.
    pub extents: Option<ExtentFacts>,
    /// Why it cannot be read; `None` where it can.
    pub reads_refused: Option<String>,
    /// Why it would not be written as things stand; `None` where it would.
    pub writes_refused: Option<String>,
}

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FileSystemFacts {
    /// Name as the kernel has it, such as `ext4`.
    pub name: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Options of the mount and of the file system, as the kernel lists them.
    pub options: String,
    /// Size, in bytes.
    pub total_bytes: u64,
    /// What an unprivileged user may still take, in bytes.
    pub available_bytes: u64,
    /// What iogauge leaves free, in bytes.
    pub reserve_bytes: u64,
}

/// Bytes of a file by the state of their blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExtentFacts {
    /// Bytes looked at.
    pub total_bytes: u64,
    /// Bytes without blocks.
    pub hole_bytes: u64,
    /// Bytes with blocks that were never written.
    pub unwritten_bytes: u64,
    /// Bytes shared with another file or snapshot.
    pub shared_bytes: u64,
    /// Bytes the file system compresses or encrypts.
    pub encoded_bytes: u64,
}

/// The machine as far as measurements depend on it. What it does not tell is `None`.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Kernel, processor, memory, hypervisor.
    pub environment: Environment,
    /// Processors that are online.
    pub cpus_online: Option<u32>,
    /// Processors' worth of time the control groups of this process allow it.
    pub cpu_quota: Option<f64>,
    /// Frequency governor of the processors; several with commas.
    pub governor: Option<String>,
    /// Deepest idle state a processor may go to, and what waking from it takes.
    pub deepest_idle: Option<String>,
    /// Memory programs could still get, in bytes.
    pub memory_available_bytes: u64,
    /// Memory the control groups of this process allow it, page cache included, in bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Memory this process may lock, in bytes; `None` where there is no limit.
    pub locked_memory_bytes: Option<u64>,
    /// Limits that control groups put on I/O of this process to devices under the target.
    pub io_limits: Vec<IoLimit>,
    /// Engines that reach devices, and whether the kernel lets them.
    pub engines: Vec<EngineFacts>,
    /// How the kernel holds what does I/O to the files that the guards allow: `Landlock, ABI 7`, `private mount
    /// namespace`, or `none: ` and why.
    #[serde(default)]
    pub protection: String,
}

/// An engine on this machine.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Which one.
    pub engine: EngineKind,
    /// What stands in its way; `None` where it works.
    pub refused: Option<String>,
}

/// What a control group bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoBound {
    /// Reads per second.
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Bytes read per second.
    ReadBytesPerSec,
    /// Bytes written per second.
    WriteBytesPerSec,
}

impl IoBound {
    /// True where it bounds reads.
    #[must_use]
    pub fn is_of_reads(self) -> bool {
        matches!(self, Self::ReadIops | Self::ReadBytesPerSec)
    }
}

/// A limit that a control group puts on I/O to a device.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct IoLimit {
    /// Kernel name of the device.
    pub device: String,
    /// What is bounded.
    pub bound: IoBound,
    /// The bound, per second.
    pub value: u64,
    /// File of the control group it stands in.
    pub file: String,
}

impl fmt::Display for IoLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::units::{Bandwidth, Count};
        let (count, speed) = (Count(self.value as f64), Bandwidth(self.value as f64));
        match self.bound {
            IoBound::ReadIops => write!(f, "{count} reads per second"),
            IoBound::WriteIops => write!(f, "{count} writes per second"),
            IoBound::ReadBytesPerSec => write!(f, "{speed} read"),
            IoBound::WriteBytesPerSec => write!(f, "{speed} written"),
        }?;
        write!(f, " on {}", self.device)
    }
}
