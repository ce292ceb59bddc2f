//! The target as documents describe it.

use super::DeviceFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What was measured. `kind` is the kind of target.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TargetFacts {
    /// A simulated device.
    Simulated(SimulatedTarget),
    /// Files and block devices.
    Real(RealTarget),
    /// A database.
    Database(Box<DatabaseTarget>),
    /// The devices of this machine, recorded while another program issued the I/O.
    System {
        /// The devices as typed.
        name: String,
        /// All layers of devices: `dm-0 on sda`.
        chain: String,
    },
    /// A file with results of fio.
    Fio(FioTarget),
    /// A target in a format that this version does not know.
    #[serde(untagged)]
    Other(Value),
}

/// A simulated device.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct SimulatedTarget {
    /// The specification as typed: `sim:channels=8,service=100us`.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Number of I/Os served concurrently.
    pub channels: u32,
    /// Mean service time of a read, in nanoseconds.
    pub service_ns: u64,
    /// Seed of the service times.
    pub seed: u64,
}

/// Files and block devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct RealTarget {
    /// The target as typed.
    pub name: String,
    /// Size of all parts, in bytes.
    pub size_bytes: u64,
    /// The files and block devices.
    pub parts: Vec<PartFacts>,
    /// The block device under each part, if there is one.
    pub devices: Vec<DeviceFacts>,
    /// All layers of devices: `loop3 on vda1 on vda`. Empty if there is no block device under the target.
    pub chain: String,
}

/// A file or block device of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct PartFacts {
    /// Path.
    pub path: String,
    /// `file` or `block_device`.
    pub kind: PartKind,
    /// True for a file that iogauge made.
    pub made_by_iogauge: bool,
    /// First byte used.
    pub base_bytes: u64,
    /// Number of bytes used.
    pub size_bytes: u64,
    /// Smallest unit that the device under the part can address, in bytes.
    pub logical_block_bytes: u32,
    /// Alignment of memory for direct I/O, in bytes.
    pub dio_mem_align_bytes: u32,
    /// Alignment of offsets and lengths for direct I/O, in bytes.
    pub dio_offset_align_bytes: u32,
    /// File system of the file; `null` for a device.
    pub file_system: Option<String>,
    /// Number of the block device under the part, as `major:minor`.
    pub device: Option<String>,
    /// Mount point of the file's file system; missing for a device and in results of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_point: Option<String>,
}

/// The kind of a part of a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// A block device.
    BlockDevice,
    /// A file.
    #[default]
    File,
}

/// A database.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct DatabaseTarget {
    /// URL and name of the database.
    pub name: String,
    /// URL with settings, without a password.
    pub url: String,
    /// Location of the database, independent of how it was typed; `null` in documents of older versions.
    pub place: Option<String>,
    /// Name of the database.
    pub database: String,
    /// Kind of database: the scheme of its URL.
    pub backend: String,
    /// Name and version of the software: `SQLite 3.50.2`.
    pub software: String,
    /// Size of a block, in bytes.
    pub block_bytes: u64,
    /// Size of the data without the log, in bytes.
    pub size_bytes: u64,
    /// Size of the log, in bytes.
    pub log_bytes: u64,
    /// Settings that affect the result, as the database reports them.
    pub settings: BTreeMap<String, String>,
    /// What a crash may lose, if commits do not wait for the log.
    pub may_lose: Option<String>,
    /// Number of globals.
    pub globals: u64,
    /// Number of subscripts of all globals.
    pub subscripts: u64,
    /// All layers of devices under the database; empty if it is on another machine.
    pub chain: String,
}

/// A file with results of fio.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioTarget {
    /// Path of the file.
    pub path: String,
    /// Version of fio that wrote the file.
    pub fio_version: String,
    /// The system that the results are from, as named in the import.
    pub system: String,
    /// Digest of the file's content; if the file names several systems, with the number of this one and of all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

impl TargetFacts {
    /// Returns the target as typed; for results of fio, the path of the file.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Simulated(target) => &target.name,
            Self::Real(target) => &target.name,
            Self::Database(target) => &target.name,
            Self::System { name, .. } => name,
            Self::Fio(target) => &target.path,
            Self::Other(value) => {
                let named = value.get("name").or_else(|| value.get("path")).unwrap_or(value);
                named.as_str().unwrap_or("the target")
            }
        }
    }

    /// Returns the database, if the target is one.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseTarget> {
        match self {
            Self::Database(target) => Some(target),
            _ => None,
        }
    }

    /// Returns the files and block devices; empty for other targets.
    #[must_use]
    pub fn parts(&self) -> &[PartFacts] {
        match self {
            Self::Real(target) => &target.parts,
            _ => &[],
        }
    }

    /// Returns the system that an import names.
    #[must_use]
    pub fn imported_system(&self) -> Option<&str> {
        match self {
            Self::Fio(target) => Some(&target.system),
            _ => None,
        }
    }
}
