//! Block devices as sysfs shows them (Documentation/ABI/stable/sysfs-block).

use serde::{Serialize, Serializer};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where sysfs and procfs are mounted; tests put trees of their own there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Root of sysfs, usually `/sys`.
    pub sys: PathBuf,
    /// Root of procfs, usually `/proc`.
    pub proc: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { sys: PathBuf::from("/sys"), proc: PathBuf::from("/proc") }
    }
}

/// Number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// Driver.
    pub major: u32,
    /// Device of the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// The number in the form `stat` returns it (`st_dev`, `st_rdev`).
    #[must_use]
    pub fn from_raw(raw: u64) -> Self {
        Self { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// Number of the block device at `path`, or of the one it leads to; `None` for anything else.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let meta = fs::metadata(path).ok()?;
        meta.file_type().is_block_device().then(|| Self::from_raw(meta.rdev()))
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DeviceNumber {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.trim().split_once(':').ok_or(())?;
        Ok(Self { major: major.parse().map_err(|_| ())?, minor: minor.parse().map_err(|_| ())? })
    }
}

impl Serialize for DeviceNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Directory of one block device in sysfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SysDevice {
    pub number: DeviceNumber,
    /// Kernel name, such as `sda1`.
    pub name: String,
    dir: PathBuf,
}

impl SysDevice {
    /// The device with this number; `None` where sysfs does not know it.
    pub fn find(number: DeviceNumber, roots: &Roots) -> Option<Self> {
        Self::at(&roots.sys.join("dev/block").join(number.to_string()))
    }

    /// The device whose sysfs directory `path` is or leads to.
    fn at(path: &Path) -> Option<Self> {
        let dir = path.canonicalize().ok()?;
        let number = fs::read_to_string(dir.join("dev")).ok()?.parse().ok()?;
        let name = dir.file_name()?.to_string_lossy().into_owned();
        Some(Self { number, name, dir })
    }

    /// Every whole block device there is.
    pub fn all(roots: &Roots) -> Vec<Self> {
        entries(&roots.sys.join("block")).iter().filter_map(|p| Self::at(p)).collect()
    }

    /// An attribute's text without the newline; `None` where it is missing or empty.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.dir.join(name)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// An attribute that is a number.
    pub fn number_attribute(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    /// The disk a partition lies on; `None` for a whole device.
    pub fn parent(&self) -> Option<Self> {
        self.dir.join("partition").exists().then(|| Self::at(self.dir.parent()?)).flatten()
    }

    pub fn partitions(&self) -> Vec<Self> {
        let is_partition = |path: &&PathBuf| path.join("partition").exists();
        entries(&self.dir).iter().filter(is_partition).filter_map(|p| Self::at(p)).collect()
    }

    /// Devices stacked on this one (device-mapper, md, bcache).
    pub fn holders(&self) -> Vec<Self> {
        entries(&self.dir.join("holders")).iter().filter_map(|p| Self::at(p)).collect()
    }

    /// Devices this one is made of.
    pub fn slaves(&self) -> Vec<Self> {
        entries(&self.dir.join("slaves")).iter().filter_map(|p| Self::at(p)).collect()
    }

    /// The file or device behind a loop device.
    pub fn loop_backing(&self) -> Option<PathBuf> {
        self.attribute("loop/backing_file").map(PathBuf::from)
    }

    /// First byte of a partition on its disk; 0 for a whole device. sysfs counts 512-byte sectors.
    pub fn start_bytes(&self) -> u64 {
        self.number_attribute("start").unwrap_or(0).saturating_mul(512)
    }

    pub fn size_bytes(&self) -> u64 {
        self.number_attribute("size").unwrap_or(0).saturating_mul(512)
    }
}

/// Entries of a directory in order of their names; none where it cannot be read.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

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
        let device = SysDevice::find(number, roots)?;
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
        fn parsers_never_panic(text in "\\PC{0,24}") {
            let _ = selected(&text);
            let _ = text.parse::<DeviceNumber>();
        }

        #[test]
        fn numbers_round_trip(major: u32, minor: u32) {
            let number = DeviceNumber { major, minor };
            prop_assert_eq!(number.to_string().parse(), Ok(number));
        }
    }
}
