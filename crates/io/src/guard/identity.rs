//! The identity of a block device: the same on every host that sees the device.

use super::signature::{DeviceRange, Source, uuid_of};
use crate::kernel::BlockDevice;
use std::fs::File;

/// Attributes of a disk in sysfs that contain its identity, the best first: the names by which NVMe and SCSI disks are
/// known all over the world, those of device-mapper and MD, and the serial numbers of virtual disks and cards.
const ATTRIBUTES: &[&str] =
    &["wwid", "device/wwid", "dm/uuid", "md/uuid", "serial", "device/serial", "device/cid"];

/// Bytes from the start of a device that stand for its content.
const DIGESTED_BYTES: usize = 4096;

/// Returns the identity that the device itself reports; `None` if it has none. Partitions have that of their disk and
/// their number.
pub(crate) fn own_identity(device: &BlockDevice) -> Option<String> {
    let disk = device.parent();
    let reported = |name: &&str| {
        let text = disk.as_ref().unwrap_or(device).attribute(name)?;
        let words: Vec<&str> = text.split(is_separator).filter(|word| !word.is_empty()).collect();
        // Firmware without a number reports zeros.
        let says_something = text.chars().any(|c| c.is_ascii_alphanumeric() && c != '0');
        says_something.then(|| words.join("_"))
    };
    let identity = ATTRIBUTES.iter().find_map(reported)?;
    match device.number_attribute("partition") {
        Some(number) => Some(format!("{identity}-part{number}")),
        None => Some(identity),
    }
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// Returns the identity of a device: that which it reports, otherwise the UUID of a format on it, otherwise a digest of
/// its first bytes.
pub(super) fn identity(file: &File, device: &BlockDevice) -> String {
    let whole = DeviceRange { file, start_bytes: 0, size_bytes: device.size_bytes() };
    let by_content = || {
        let partitions = device.partitions();
        let ranges = partitions.iter().map(|partition| DeviceRange {
            file,
            start_bytes: partition.start_bytes(),
            size_bytes: partition.size_bytes(),
        });
        uuid_of(&whole).or_else(|| ranges.into_iter().find_map(|range| uuid_of(&range)))
    };
    own_identity(device).or_else(by_content).unwrap_or_else(|| digest(&whole))
}

/// Returns a name for formats that have no UUID.
fn digest(source: &dyn Source) -> String {
    let bytes = source.read(0, DIGESTED_BYTES).unwrap_or_default();
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let hash = bytes.iter().chain(&source.size_bytes().to_le_bytes()).fold(OFFSET_BASIS, add);
    format!("content-{hash:016x}")
}

/// FNV-1a, 64 bits.
const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Roots;
    use std::fs;
    use std::path::Path;

    /// A device in a copy of sysfs, with these attributes.
    fn device(root: &Path, name: &str, attributes: &[(&str, &str)]) -> BlockDevice {
        let dir = root.join("sys/class/block").join(name);
        for (attribute, text) in attributes {
            let file = dir.join(attribute);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let base = name.split('/').next_back().unwrap();
        let link = root.join("sys/class/block").join(base);
        if !link.exists() {
            std::os::unix::fs::symlink(&dir, &link).unwrap();
        }
        BlockDevice::named(base, &Roots::at(root)).unwrap()
    }

    #[test]
    fn disks_report_their_identity() {
        let root = tempfile::tempdir().unwrap();
        let of = |name: &str, attributes: &[(&str, &str)]| {
            own_identity(&device(root.path(), name, attributes))
        };
        let (dev, wwid) = (("dev", "8:0\n"), ("device/wwid", "naa.5000c500a1b2c3d4\n"));
        assert_eq!(of("sda", &[dev, wwid]).unwrap(), "naa.5000c500a1b2c3d4");
        let part = [("dev", "8:1\n"), ("partition", "1\n")];
        assert_eq!(of("sda/sda1", &part).unwrap(), "naa.5000c500a1b2c3d4-part1");
        let nvme = [("wwid", "eui.0025385b01408d3f\n"), ("device/serial", "S1\n")];
        assert_eq!(of("nvme0n1", &nvme).unwrap(), "eui.0025385b01408d3f");
        let padded = ("device/wwid", "t10.ATA     QEMU HARDDISK    QM00005   \n");
        assert_eq!(of("sdb", &[padded]).unwrap(), "t10.ATA_QEMU_HARDDISK_QM00005");
        assert_eq!(of("vda", &[("serial", "disk-7\n")]).unwrap(), "disk-7");
        let multipath = ("dm/uuid", "mpath-3600140512345678\n");
        assert_eq!(of("dm-0", &[multipath]).unwrap(), "mpath-3600140512345678");
        assert_eq!(of("loop0", &[("dev", "7:0\n")]), None);
        assert_eq!(of("sdc", &[("device/wwid", "0000 0000\n")]), None);
    }
}
