//! Block devices as described by sysfs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Properties of a block device from sysfs. Unknown properties are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceFacts {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    /// Device number, as `major:minor`.
    pub number: Option<String>,
    /// The disk, if the device is a partition. Properties of the queue are those of the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Device number of that disk, as `major:minor`; missing in results of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_number: Option<String>,
    /// Vendor as reported by the device.
    pub vendor: Option<String>,
    /// Model as reported by the device.
    pub model: Option<String>,
    /// Driver of the disk, such as `virtio_blk`.
    pub driver: Option<String>,
    pub size_bytes: Option<u64>,
    /// True if the device reports that it rotates. Virtual devices often report this wrongly.
    pub rotational: Option<bool>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Smallest unit that the device can address, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// Smallest unit that the device can write without reading first, in bytes.
    pub physical_block_bytes: Option<u64>,
    /// `write back` (volatile) or `write through`.
    pub write_cache: Option<String>,
    /// True if the device supports discards.
    pub discard: Option<bool>,
    /// Requests that the block layer queues per hardware queue.
    pub nr_requests: Option<u64>,
    pub read_ahead_kib: Option<u64>,
    /// Devices that this device is made of, by kernel name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made_of: Vec<String>,
    /// File or device behind a loop device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
    /// True for a loop device that bypasses the page cache of its backing file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_direct: Option<bool>,
}

impl DeviceFacts {
    /// True for a loop device whose data is in the page cache of this machine.
    #[must_use]
    pub fn is_cached_here(&self) -> bool {
        self.backing_direct == Some(false)
    }

    /// True for a virtual disk of a hypervisor, by its driver or vendor.
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
