//! What sysfs tells of a block device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What sysfs tells of a block device. Facts it does not tell are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceFacts {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    /// Number, as `major:minor`.
    pub number: Option<String>,
    /// The disk the queue's facts are of, where the device is a partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Vendor as the device names it.
    pub vendor: Option<String>,
    /// Model as the device names it.
    pub model: Option<String>,
    /// Driver of the disk, such as `virtio_blk`.
    pub driver: Option<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// True for a device that says it rotates; virtual ones often say so without reason.
    pub rotational: Option<bool>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Smallest unit the device can address, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// Smallest unit the device writes without reading first, in bytes.
    pub physical_block_bytes: Option<u64>,
    /// `write back` (volatile) or `write through`.
    pub write_cache: Option<String>,
    /// True where the device takes discards.
    pub discard: Option<bool>,
    /// I/Os the block layer queues per hardware queue.
    pub nr_requests: Option<u64>,
    /// Read-ahead, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// Devices this one is made of, by kernel name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made_of: Vec<String>,
    /// File or device behind a loop device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
    /// True for a loop device that goes past the page cache of what is behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_direct: Option<bool>,
}

impl DeviceFacts {
    /// True for a loop device whose data the page cache of this machine keeps.
    #[must_use]
    pub fn is_cached_here(&self) -> bool {
        self.backing_direct == Some(false)
    }

    /// True for a disk that a hypervisor makes, by its driver or the vendor it names.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        const DRIVERS: [&str; 2] = ["virtio_blk", "vbd"];
        const VENDORS: [&str; 4] = ["QEMU", "VMware", "VBOX", "Msft"];
        let has = |value: &Option<String>, words: &[&str]| {
            value.as_deref().is_some_and(|value| words.contains(&value.trim()))
        };
        has(&self.driver, &DRIVERS) || has(&self.vendor, &VENDORS)
    }
}
