//! Selects the devices under a target that are traced.

use super::TraceError;
use crate::kernel::{BlockDevice, DeviceNumber, Roots};
use crate::machine::{DeviceTree, Layer};

/// A device whose requests are traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TracedDevice {
    /// Kernel name.
    pub name: String,
    number: DeviceNumber,
}

impl TracedDevice {
    #[cfg(test)]
    pub(super) fn made_up(name: &str, number: DeviceNumber) -> Self {
        Self { name: name.to_owned(), number }
    }

    /// Returns the device number in the kernel's internal form (`MKDEV`, include/linux/kdev_t.h).
    pub(super) fn kernel_number(&self) -> u64 {
        u64::from(self.number.major) << 20 | u64::from(self.number.minor)
    }
}

/// Returns the topmost devices that have a request queue. There, an I/O of the workload becomes a request exactly once.
/// Partitions, and volumes that pass I/Os on unchanged, have no queue.
///
/// # Errors
/// Fails if there is no device, or a device has neither a queue nor devices under it.
pub(super) fn traced(tree: &DeviceTree, roots: &Roots) -> Result<Vec<TracedDevice>, TraceError> {
    if tree.is_empty() {
        return Err(TraceError::NoDevice);
    }
    let layer = |name: &str| tree.layers().iter().find(|layer| layer.name == name);
    let mut found: Vec<TracedDevice> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut waiting: Vec<&Layer> = tree.tops().iter().filter_map(|name| layer(name)).collect();
    while let Some(here) = waiting.pop() {
        if seen.contains(&here.name.as_str()) {
            continue;
        }
        seen.push(&here.name);
        let device = BlockDevice::named(&here.name, roots);
        let number = device.filter(BlockDevice::has_requests).and_then(|device| device.number());
        match number {
            Some(number) => found.push(TracedDevice { name: here.name.clone(), number }),
            None if here.on.is_empty() => {
                return Err(TraceError::NoRequests { device: here.name.clone() });
            }
            None => waiting.extend(here.on.iter().filter_map(|name| layer(name))),
        }
    }
    found.sort_by_key(|device| device.number);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// Creates a device in a made-up sysfs: its directory under `sys/devices`, its number, and its files and
    /// directories.
    fn device(root: &Path, dir: &str, number: &str, files: &[&str], dirs: &[&str]) {
        let here = root.join("sys/devices").join(dir);
        fs::create_dir_all(&here).unwrap();
        fs::write(here.join("dev"), number).unwrap();
        files.iter().for_each(|file| fs::write(here.join(file), "1").unwrap());
        dirs.iter().for_each(|dir| fs::create_dir_all(here.join(dir)).unwrap());
        let name = here.file_name().unwrap();
        for (place, link) in [("class/block", name), ("dev/block", number.as_ref())] {
            let place = root.join("sys").join(place);
            fs::create_dir_all(&place).unwrap();
            symlink(&here, place.join(link)).unwrap();
        }
    }

    #[test]
    fn topmost_device_with_requests_is_traced() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::at(root.path());
        device(root.path(), "sda", "8:0", &[], &["mq"]);
        device(root.path(), "sda/sda1", "8:1", &["partition"], &[]);
        device(root.path(), "dm-0", "253:0", &[], &["slaves"]);
        symlink(
            root.path().join("sys/devices/sda/sda1"),
            root.path().join("sys/devices/dm-0/slaves/sda1"),
        )
        .unwrap();
        device(root.path(), "zram0", "252:0", &[], &[]);
        let of = |major, minor| {
            let tree = DeviceTree::of_device(&roots, major, minor).unwrap();
            traced(&tree, &roots).map(|found| {
                let numbers = found.iter().map(|d| (d.name.clone(), d.kernel_number()));
                numbers.collect::<Vec<_>>()
            })
        };
        for above in [(8, 0), (8, 1), (253, 0)] {
            assert_eq!(of(above.0, above.1).unwrap(), [("sda".to_owned(), 8 << 20)], "{above:?}");
        }
        assert!(matches!(of(252, 0), Err(TraceError::NoRequests { device }) if device == "zram0"));
        let nothing = traced(&DeviceTree::default(), &roots);
        assert!(matches!(nothing, Err(TraceError::NoDevice)));
    }
}
