//! Facts that sysfs shows about the device under a target.

use crate::kernel::{BlockDevice, DeviceNumber, Roots};
use iogauge_model::result::DeviceFacts;

/// Returns the facts of the device with this number; `None` if sysfs does not list it.
#[must_use]
pub fn device_facts(number: DeviceNumber, roots: &Roots) -> Option<DeviceFacts> {
    BlockDevice::find(number, roots).map(|device| of_device(&device))
}

/// Returns the facts of the device with this kernel name; `None` if sysfs does not list it.
#[must_use]
pub fn device_facts_of(name: &str, roots: &Roots) -> Option<DeviceFacts> {
    BlockDevice::named(name, roots).map(|device| of_device(&device))
}

fn of_device(device: &BlockDevice) -> DeviceFacts {
    let parent = device.parent();
    let disk = parent.as_ref().unwrap_or(device);
    let number = |name: &str| disk.number_attribute(name);
    DeviceFacts {
        name: device.name.clone(),
        number: device.number().map(|number| number.to_string()),
        disk: parent.as_ref().map(|p| p.name.clone()),
        disk_number: parent.as_ref().and_then(BlockDevice::number).map(|n| n.to_string()),
        vendor: disk.attribute("device/vendor"),
        model: disk.attribute("device/model"),
        driver: disk.link_name("device/driver"),
        size_bytes: device.attribute("size").map(|_| device.size_bytes()),
        rotational: number("queue/rotational").map(|v| v != 0),
        scheduler: disk.attribute("queue/scheduler").map(|s| selected(&s).to_owned()),
        logical_block_bytes: number("queue/logical_block_size"),
        physical_block_bytes: number("queue/physical_block_size"),
        write_cache: disk.attribute("queue/write_cache"),
        discard: number("queue/discard_max_bytes").map(|v| v != 0),
        nr_requests: number("queue/nr_requests"),
        read_ahead_kib: number("queue/read_ahead_kb"),
        made_of: disk.slaves().into_iter().map(|s| s.name).collect(),
        backing_file: disk.loop_backing().map(|path| path.to_string_lossy().into_owned()),
        backing_direct: number("loop/dio").map(|v| v != 0),
    }
}

/// Returns the word in brackets, as in `mq-deadline [none] kyber`, otherwise the whole text.
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
    fn io_scheduler_in_brackets_is_the_active_one() {
        assert_eq!(selected("[none] mq-deadline kyber"), "none");
        assert_eq!(selected("mq-deadline [bfq]"), "bfq");
        assert_eq!(selected("none"), "none");
    }

    proptest! {
        #[test]
        fn parsing_io_scheduler_never_panics(text in "\\PC{0,24}") {
            let _ = selected(&text);
        }
    }
}
