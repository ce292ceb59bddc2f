//! The findings of `iogauge doctor`, which measures nothing.

use super::{DeviceFacts, Environment};
use crate::caveat::Caveat;
use crate::load::EngineKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The document of `iogauge doctor`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DoctorDocument {
    /// Name and version of the format: [`super::DOCTOR_FORMAT`].
    pub format: String,
    /// Version of iogauge that wrote the document.
    pub version: String,
    /// The target as typed.
    pub target: String,
    /// The target's files and devices; empty for a simulated target.
    pub parts: Vec<DoctorPart>,
    /// All layers of devices, for display: `loop3 on vda1 on vda`. Empty if there is no block device under
    /// the target.
    pub chain: String,
    /// All devices under the target, top first.
    pub devices: Vec<DeviceFacts>,
    pub machine: MachineFacts,
    /// What would spoil a measurement.
    pub caveats: Vec<Caveat>,
}

impl DoctorDocument {
    /// Returns why a part may not be read, so that nothing can be measured; `None` if all parts may.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| part.reads_refused.as_deref())
    }
}

/// The kind of a part of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartForm {
    /// A block device.
    BlockDevice,
    /// A file that iogauge made.
    OwnFile,
    /// A file that iogauge did not make.
    ForeignFile,
    /// A file that the first run would create.
    FileToMake,
    /// Unknown; `reads_refused` has the reason.
    Unknown,
}

/// A file or device of the target.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DoctorPart {
    /// Path.
    pub path: String,
    /// Kind.
    pub form: PartForm,
    /// Bytes that a run would use; 0 if the part cannot be used.
    pub size_bytes: u64,
    /// True if direct I/O is possible.
    pub direct_io: bool,
    /// Mount points of a block device.
    #[serde(default)]
    pub mounted_on: Vec<String>,
    /// The file system of a file.
    pub file_system: Option<FileSystemFacts>,
    /// Extents of an existing file.
    pub extents: Option<ExtentFacts>,
    /// Why the part cannot be read; `None` if it can.
    pub reads_refused: Option<String>,
    /// Why the part would not be written with the current options; `None` if it would.
    pub writes_refused: Option<String>,
}

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FileSystemFacts {
    /// Name in the kernel, such as `ext4`.
    pub name: String,
    /// Mount point.
    pub mount_point: String,
    /// Options of the mount and the file system, as listed by the kernel.
    pub options: String,
    /// Size in bytes.
    pub total_bytes: u64,
    /// Bytes available to an unprivileged user.
    pub available_bytes: u64,
    /// Bytes that iogauge leaves free.
    pub reserve_bytes: u64,
}

/// Bytes of a file by the state of their blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExtentFacts {
    /// Bytes examined.
    pub total_bytes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Bytes allocated and never written.
    pub unwritten_bytes: u64,
    /// Bytes shared with another file or snapshot.
    pub shared_bytes: u64,
    /// Bytes that the file system compresses or encrypts.
    pub encoded_bytes: u64,
}

/// Properties of the machine that affect measurements. Unknown ones are `None`.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Kernel, processor, memory, hypervisor.
    pub environment: Environment,
    /// Number of processors online.
    pub cpus_online: Option<u32>,
    /// Number of processors that the control groups of this process allow it.
    pub cpu_quota: Option<f64>,
    /// Frequency governors of the processors, separated by commas.
    pub governor: Option<String>,
    /// Deepest idle state that a processor may enter, and the time to leave it.
    pub deepest_idle: Option<String>,
    /// Memory available to programs, in bytes.
    pub memory_available_bytes: u64,
    /// Memory that the control groups of this process allow it, including the page cache, in bytes.
    pub memory_limit_bytes: Option<u64>,
    /// Memory that this process may lock, in bytes; `None` if unlimited.
    pub locked_memory_bytes: Option<u64>,
    /// Limits that control groups set on this process's I/O to devices under the target.
    pub io_limits: Vec<IoLimit>,
    /// Engines that access devices, and whether the kernel permits them.
    pub engines: Vec<EngineFacts>,
    /// How the kernel confines the measuring process to the permitted files: `Landlock, ABI 7`, `private
    /// mount namespace`, or `none: ` and the reason.
    #[serde(default)]
    pub protection: String,
}

/// An engine on this machine.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EngineFacts {
    /// The engine.
    pub engine: EngineKind,
    /// Why the engine cannot be used; `None` if it can.
    pub refused: Option<String>,
}

/// The rate that a control group limits.
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
    /// True if reads are limited.
    #[must_use]
    pub fn is_of_reads(self) -> bool {
        matches!(self, Self::ReadIops | Self::ReadBytesPerSec)
    }
}

/// A limit that a control group sets on I/O to a device.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct IoLimit {
    /// Kernel name of the device.
    pub device: String,
    /// The rate limited.
    pub bound: IoBound,
    /// The limit, per second.
    pub value: u64,
    /// File of the control group that contains the limit.
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
