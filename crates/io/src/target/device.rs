//! What sysfs tells of the device under a target.

use crate::kernel::{BlockDevice, DeviceNumber, Roots};
use serde::Serialize;
use std::path::PathBuf;

/// What sysfs tells of a block device, for the document. Facts it does not tell are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DeviceFacts {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    /// Number, as `major:minor`.
    pub number: Option<DeviceNumber>,
    /// The disk the queue's facts are of, where the device is a partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Vendor as the device names it.
    pub vendor: Option<String>,
    /// Model as the device names it.
    pub model: Option<String>,
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
    /// I/Os the block layer queues per hardware queue.
    pub nr_requests: Option<u64>,
    /// Read-ahead, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// Devices this one is made of, by kernel name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made_of: Vec<String>,
    /// File or device behind a loop device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<PathBuf>,
}

impl DeviceFacts {
    /// Facts of the device with this number; `None` where sysfs does not know it.
    #[must_use]
    pub fn read(number: DeviceNumber, roots: &Roots) -> Option<Self> {
        let device = BlockDevice::find(number, roots)?;
        let parent = device.parent();
        let disk = parent.as_ref().unwrap_or(&device);
        Some(Self {
            name: device.name.clone(),
            number: Some(number),
            disk: parent.as_ref().map(|p| p.name.clone()),
            vendor: disk.attribute("device/vendor"),
            model: disk.attribute("device/model"),
            size_bytes: device.attribute("size").map(|_| device.size_bytes()),
            rotational: disk.number_attribute("queue/rotational").map(|v| v != 0),
            scheduler: disk.attribute("queue/scheduler").map(|s| selected(&s).to_owned()),
            logical_block_bytes: disk.number_attribute("queue/logical_block_size"),
            physical_block_bytes: disk.number_attribute("queue/physical_block_size"),
            write_cache: disk.attribute("queue/write_cache"),
            nr_requests: disk.number_attribute("queue/nr_requests"),
            read_ahead_kib: disk.number_attribute("queue/read_ahead_kb"),
            made_of: disk.slaves().into_iter().map(|s| s.name).collect(),
            backing_file: disk.loop_backing(),
        })
    }
}

/// The word in brackets of `mq-deadline [none] kyber`, or the whole text.
fn selected(choices: &str) -> &str {
    choices
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(choices, |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_selected_scheduler_is_the_one_in_brackets() {
        assert_eq!(selected("[none] mq-deadline kyber"), "none");
        assert_eq!(selected("mq-deadline [bfq]"), "bfq");
        assert_eq!(selected("none"), "none");
    }

    proptest! {
        #[test]
        fn selecting_never_panics(text in "\\PC{0,24}") {
            let _ = selected(&text);
        }
    }
}
