//! Block devices in sysfs (kernel documentation, ABI/stable/sysfs-block).

use super::{DeviceNumber, Roots, entries, text};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A block device, identified by its directory in sysfs. Two values are equal if they are the same device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockDevice {
    /// Contains no symbolic links.
    dir: PathBuf,
    /// Kernel name as in `/proc/diskstats`: `nvme0n1`, `dm-3`, `cciss/c0d0`.
    pub name: String,
}

impl BlockDevice {
    /// Returns the device with this number; `None` if sysfs does not list it.
    pub fn find(number: DeviceNumber, roots: &Roots) -> Option<Self> {
        Self::at(&Self::link(number, roots))
    }

    /// Returns the path of this device number in sysfs.
    pub fn link(number: DeviceNumber, roots: &Roots) -> PathBuf {
        roots.path(format!("sys/dev/block/{number}"))
    }

    /// Returns the device of a node such as `/dev/sda1`. Follows links such as `/dev/mapper/x`.
    pub fn of_node(node: &Path, roots: &Roots) -> Option<Self> {
        let node = roots.path(node);
        let node = node.canonicalize().unwrap_or(node);
        Self::at(&roots.path("sys/class/block").join(node.file_name()?))
    }

    /// Returns the path of its node in `/dev`.
    pub fn node(&self, roots: &Roots) -> PathBuf {
        roots.path("dev").join(&self.name)
    }

    /// Returns true if this is a loop device that is set up.
    pub fn is_loop(&self) -> bool {
        self.dir.join("loop").is_dir()
    }

    /// Returns the device whose sysfs directory `path` is or links to.
    fn at(path: &Path) -> Option<Self> {
        let dir = path.canonicalize().ok()?;
        // sysfs writes `!` in place of a slash in a name.
        let name = dir.file_name()?.to_string_lossy().replace('!', "/");
        Some(Self { dir, name })
    }

    /// Returns the device with this kernel name, in the form of [`Self::name`].
    pub fn named(name: &str, roots: &Roots) -> Option<Self> {
        Self::at(&roots.path("sys/class/block").join(name.replace('/', "!")))
    }

    fn all_at(paths: &[PathBuf]) -> Vec<Self> {
        paths.iter().filter_map(|path| Self::at(path)).collect()
    }

    /// Returns all whole block devices, sorted by name.
    pub fn all(roots: &Roots) -> Vec<Self> {
        Self::all_at(&entries(&roots.path("sys/block")))
    }

    /// Returns true if the device has request queues (`mq`), so that the block layer turns I/Os into requests.
    /// Partitions have no queues of their own, and bio-based drivers have none at all.
    pub fn has_requests(&self) -> bool {
        self.dir.join("mq").is_dir()
    }

    pub fn hardware_queues(&self) -> u64 {
        entries(&self.dir.join("mq")).len() as u64
    }

    /// Returns the device number. The hidden paths of a multipath NVMe namespace have none.
    pub fn number(&self) -> Option<DeviceNumber> {
        self.attribute("dev")?.parse().ok()
    }

    /// Returns an attribute's text without the newline; `None` if it is missing or empty.
    pub fn attribute(&self, name: &str) -> Option<String> {
        text(&self.dir.join(name))
    }

    /// Returns the file name that a symbolic link among the attributes points to.
    pub fn link_name(&self, name: &str) -> Option<String> {
        let target = fs::read_link(self.dir.join(name)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// Returns an attribute as a number.
    pub fn number_attribute(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    /// Returns the disk of a partition; `None` for a whole device.
    pub fn parent(&self) -> Option<Self> {
        self.is_partition().then(|| Self::at(self.dir.parent()?)).flatten()
    }

    fn is_partition(&self) -> bool {
        self.dir.join("partition").exists()
    }

    /// Returns the partitions, sorted by name.
    pub fn partitions(&self) -> Vec<Self> {
        let paths = entries(&self.dir);
        paths.iter().filter_map(|path| Self::at(path)).filter(Self::is_partition).collect()
    }

    /// Returns the devices stacked on this one (device-mapper, md, bcache).
    pub fn holders(&self) -> Vec<Self> {
        Self::all_at(&entries(&self.dir.join("holders")))
    }

    /// Returns the devices this one is made of.
    pub fn slaves(&self) -> Vec<Self> {
        Self::all_at(&entries(&self.dir.join("slaves")))
    }

    /// Returns the path of a loop device's backing file or device, as seen where the loop device was set up.
    /// [`LoopBacking`](super::LoopBacking) identifies the object itself. The kernel appends ` (deleted)` to the path of
    /// a deleted file.
    pub fn loop_backing(&self) -> Option<PathBuf> {
        let mut bytes = fs::read(self.dir.join("loop/backing_file")).ok()?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        (!bytes.is_empty()).then(|| PathBuf::from(OsString::from_vec(bytes)))
    }

    /// Returns the hidden paths `nvme0c1n2` of a multipath NVMe namespace `nvme0n2`. Only these count I/O on every
    /// kernel.
    pub fn nvme_paths(&self, roots: &Roots) -> Vec<Self> {
        let numbers = self.name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
        let Some((subsystem, namespace)) = numbers else { return Vec::new() };
        let is_path = |name: &str| {
            name.strip_prefix("nvme")
                .and_then(|rest| rest.split_once('c'))
                .and_then(|(of, rest)| Some((of, rest.split_once('n')?)))
                .is_some_and(|(of, (_, number))| of == subsystem && number == namespace)
        };
        Self::all(roots).into_iter().filter(|device| is_path(&device.name)).collect()
    }

    /// Returns the sysfs directory of the mounted btrfs volume that this device is a member of. Mountinfo names only
    /// one member of a volume.
    pub fn btrfs_volume(&self, roots: &Roots) -> Option<PathBuf> {
        let member = Path::new("devices").join(self.dir.file_name().unwrap_or(OsStr::new("")));
        entries(&roots.path("sys/fs/btrfs"))
            .into_iter()
            .find(|volume| volume.join(&member).symlink_metadata().is_ok())
    }

    /// Returns the members of the btrfs volume with this sysfs directory.
    pub fn btrfs_members(volume: &Path) -> Vec<Self> {
        Self::all_at(&entries(&volume.join("devices")))
    }

    /// Returns the offset of a partition on its disk; 0 for a whole device. sysfs counts 512-byte sectors.
    pub fn start_bytes(&self) -> u64 {
        self.number_attribute("start").unwrap_or(0).saturating_mul(512)
    }

    /// Returns the size in bytes; 0 if sysfs does not show it.
    pub fn size_bytes(&self) -> u64 {
        self.number_attribute("size").unwrap_or(0).saturating_mul(512)
    }
}
