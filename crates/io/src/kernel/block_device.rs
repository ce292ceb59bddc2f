//! Block devices as sysfs shows them (kernel documentation, ABI/stable/sysfs-block).

use super::{DeviceNumber, Roots, entries, text};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A block device, known by its directory in sysfs: two values are equal where they are the same
/// device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockDevice {
    /// Without symbolic links.
    dir: PathBuf,
    /// Kernel name as `/proc/diskstats` has it: `nvme0n1`, `dm-3`, `cciss/c0d0`.
    pub name: String,
}

impl BlockDevice {
    /// The device with this number; `None` where sysfs does not have it.
    pub fn find(number: DeviceNumber, roots: &Roots) -> Option<Self> {
        Self::at(&Self::link(number, roots))
    }

    /// Where sysfs has the device with this number.
    pub fn link(number: DeviceNumber, roots: &Roots) -> PathBuf {
        roots.path(format!("sys/dev/block/{number}"))
    }

    /// The device of a node such as `/dev/sda1`, links such as `/dev/mapper/x` followed.
    pub fn of_node(node: &Path, roots: &Roots) -> Option<Self> {
        let node = roots.path(node);
        let node = node.canonicalize().unwrap_or(node);
        Self::at(&roots.path("sys/class/block").join(node.file_name()?))
    }

    /// Where its node is found in `/dev`.
    pub fn node(&self, roots: &Roots) -> PathBuf {
        roots.path("dev").join(&self.name)
    }

    /// True for a loop device that has something behind it.
    pub fn is_loop(&self) -> bool {
        self.dir.join("loop").is_dir()
    }

    /// The device whose sysfs directory `path` is or leads to.
    fn at(path: &Path) -> Option<Self> {
        let dir = path.canonicalize().ok()?;
        // sysfs writes `!` for the slash that some names have.
        let name = dir.file_name()?.to_string_lossy().replace('!', "/");
        Some(Self { dir, name })
    }

    /// The device of this kernel name, as [`Self::name`] has it.
    pub fn named(name: &str, roots: &Roots) -> Option<Self> {
        Self::at(&roots.path("sys/class/block").join(name.replace('/', "!")))
    }

    fn all_at(paths: &[PathBuf]) -> Vec<Self> {
        paths.iter().filter_map(|path| Self::at(path)).collect()
    }

    /// Every whole block device there is, in order of their names.
    pub fn all(roots: &Roots) -> Vec<Self> {
        Self::all_at(&entries(&roots.path("sys/block")))
    }

    /// True where the device has queues of requests (`mq`), so that the block layer makes requests of
    /// I/Os for it. Partitions have none of their own, nor have drivers that take I/Os as they are.
    pub fn has_requests(&self) -> bool {
        self.dir.join("mq").is_dir()
    }

    pub fn hardware_queues(&self) -> u64 {
        entries(&self.dir.join("mq")).len() as u64
    }

    /// Its number; the hidden paths of a multipath NVMe namespace have none.
    pub fn number(&self) -> Option<DeviceNumber> {
        self.attribute("dev")?.parse().ok()
    }

    /// An attribute's text without the newline; `None` where it is missing or empty.
    pub fn attribute(&self, name: &str) -> Option<String> {
        text(&self.dir.join(name))
    }

    /// The name a symbolic link among the attributes leads to.
    pub fn link_name(&self, name: &str) -> Option<String> {
        let target = fs::read_link(self.dir.join(name)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// An attribute that is a number.
    pub fn number_attribute(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    /// The disk a partition lies on; `None` for a whole device.
    pub fn parent(&self) -> Option<Self> {
        self.is_partition().then(|| Self::at(self.dir.parent()?)).flatten()
    }

    fn is_partition(&self) -> bool {
        self.dir.join("partition").exists()
    }

    /// Its partitions, in order of their names.
    pub fn partitions(&self) -> Vec<Self> {
        let paths = entries(&self.dir);
        paths.iter().filter_map(|path| Self::at(path)).filter(Self::is_partition).collect()
    }

    /// Devices stacked on this one (device-mapper, md, bcache).
    pub fn holders(&self) -> Vec<Self> {
        Self::all_at(&entries(&self.dir.join("holders")))
    }

    /// Devices this one is made of.
    pub fn slaves(&self) -> Vec<Self> {
        Self::all_at(&entries(&self.dir.join("slaves")))
    }

    /// The path of the file or device behind a loop device, as it is where that was set up;
    /// [`LoopBacking`](super::LoopBacking) shows what it is. The kernel adds ` (deleted)` to one that is gone.
    pub fn loop_backing(&self) -> Option<PathBuf> {
        let mut bytes = fs::read(self.dir.join("loop/backing_file")).ok()?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        (!bytes.is_empty()).then(|| PathBuf::from(OsString::from_vec(bytes)))
    }

    /// The hidden paths `nvme0c1n2` of a multipath NVMe namespace `nvme0n2`: only they count I/O
    /// on every kernel.
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

    /// Directory in sysfs of the btrfs volume this device is a member of, mounted ones only:
    /// mountinfo names one member of several.
    pub fn btrfs_volume(&self, roots: &Roots) -> Option<PathBuf> {
        let member = Path::new("devices").join(self.dir.file_name().unwrap_or(OsStr::new("")));
        entries(&roots.path("sys/fs/btrfs"))
            .into_iter()
            .find(|volume| volume.join(&member).symlink_metadata().is_ok())
    }

    /// The members of a btrfs volume's directory.
    pub fn btrfs_members(volume: &Path) -> Vec<Self> {
        Self::all_at(&entries(&volume.join("devices")))
    }

    /// First byte of a partition on its disk; 0 for a whole device. sysfs counts 512-byte sectors.
    pub fn start_bytes(&self) -> u64 {
        self.number_attribute("start").unwrap_or(0).saturating_mul(512)
    }

    /// Size in bytes; 0 where sysfs does not show it.
    pub fn size_bytes(&self) -> u64 {
        self.number_attribute("size").unwrap_or(0).saturating_mul(512)
    }
}
