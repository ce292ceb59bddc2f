//! What was measured, as documents have it.

use super::DeviceFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What was measured. `kind` tells the kinds apart.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TargetFacts {
    /// A simulated device.
    Simulated(SimulatedTarget),
    /// Files and block devices.
    Real(RealTarget),
    /// A database.
    Database(Box<DatabaseTarget>),
    /// The devices of this machine, recorded beside a load that iogauge did not issue.
    System {
        /// The devices that were typed.
        name: String,
        /// Every layer of devices: `dm-0 on sda`.
        chain: String,
    },
    /// A file with results of fio.
    Fio(FioTarget),
    /// A target in a form that this version does not know.
    #[serde(untagged)]
    Other(Value),
}

/// A simulated device.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct SimulatedTarget {
    /// Its specification as typed: `sim:channels=8,service=100us`.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// I/Os served at once.
    pub channels: u32,
    /// Mean service time of a read, in nanoseconds.
    pub service_ns: u64,
    /// Seed of its service times.
    pub seed: u64,
}

/// Files and block devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct RealTarget {
    /// TARGET as typed.
    pub name: String,
    /// Size of all parts, in bytes.
    pub size_bytes: u64,
    /// The files and block devices.
    pub parts: Vec<PartFacts>,
    /// The block device under each part, where there is one.
    pub devices: Vec<DeviceFacts>,
    /// Every layer of devices: `loop3 on vda1 on vda`; empty where no block device lies under the target.
    pub chain: String,
}

/// A file or block device of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct PartFacts {
    /// Its path.
    pub path: String,
    /// `file` or `block_device`.
    pub kind: PartKind,
    /// True for a file that iogauge made.
    pub made_by_iogauge: bool,
    /// First byte that is used.
    pub base_bytes: u64,
    /// Bytes that are used.
    pub size_bytes: u64,
    /// Smallest unit that the device under it addresses, in bytes.
    pub logical_block_bytes: u32,
    /// Alignment of memory for direct I/O, in bytes.
    pub dio_mem_align_bytes: u32,
    /// Alignment of offsets and lengths for direct I/O, in bytes.
    pub dio_offset_align_bytes: u32,
    /// File system that the file lies on; `null` for a device.
    pub file_system: Option<String>,
    /// Number of the block device under it, as `major:minor`.
    pub device: Option<String>,
}

/// What a part of a target is.
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
    /// Its URL with settings, without a password.
    pub url: String,
    /// Where it is, the same however it was typed; `null` in documents of versions that did not keep it.
    pub place: Option<String>,
    /// Name of the database.
    pub database: String,
    /// Kind of database: the first word of its URL.
    pub backend: String,
    /// The software and its version: `SQLite 3.50.2`.
    pub software: String,
    /// Size of a block, in bytes.
    pub block_bytes: u64,
    /// Size of its data, without the log, in bytes.
    pub size_bytes: u64,
    /// Size of its log, in bytes.
    pub log_bytes: u64,
    /// Settings that matter to a result, as the database reports them.
    pub settings: BTreeMap<String, String>,
    /// What a crash may lose, where a commit does not wait for its log.
    pub may_lose: Option<String>,
    /// Number of globals.
    pub globals: u64,
    /// Subscripts of all globals.
    pub subscripts: u64,
    /// Every layer of devices under it; empty where it is on another machine.
    pub chain: String,
}

/// A file with results of fio.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FioTarget {
    /// Path of the file.
    pub path: String,
    /// Version of fio that wrote it.
    pub fio_version: String,
    /// The system that the results are of, as named in the import.
    pub system: String,
    /// Digest that tells its content from other content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

impl TargetFacts {
    /// The target in the user's words; of a file with results of fio its path.
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

    /// The database, where it is one.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseTarget> {
        match self {
            Self::Database(target) => Some(target),
            _ => None,
        }
    }

    /// The files and block devices, where the target has any.
    #[must_use]
    pub fn parts(&self) -> &[PartFacts] {
        match self {
            Self::Real(target) => &target.parts,
            _ => &[],
        }
    }

    /// The system that an import names.
    #[must_use]
    pub fn imported_system(&self) -> Option<&str> {
        match self {
            Self::Fio(target) => Some(&target.system),
            _ => None,
        }
    }
}
