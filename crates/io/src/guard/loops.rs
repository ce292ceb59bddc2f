//! Loop devices and their backing files and devices.
//!
//! A loop device does not claim its backing file or device, so the kernel allows others to write to it. The loop driver
//! reports the backing object to processes that may open the loop device. Others only see a path in sysfs, which may be
//! deleted, unreachable, or lead to a different file here than where the device was set up.

use crate::kernel::{BlockDevice, LoopBacking, Roots};
use crate::targets::descriptor::Identity;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Suffix that the kernel appends to the path of a deleted file.
const DELETED: &[u8] = b" (deleted)";

/// A loop device that is set up.
#[derive(Debug)]
pub(super) struct Loop {
    pub device: BlockDevice,
    /// Path of the backing object, from sysfs.
    path: Option<PathBuf>,
    /// The backing object as reported by the driver, otherwise what `path` leads to here.
    leads_to: Option<Identity>,
    /// True if the driver reported it.
    asked: bool,
}

impl Loop {
    fn of(device: BlockDevice, roots: &Roots) -> Option<Self> {
        let asked = LoopBacking::of(&device, roots).map(|behind| match behind {
            LoopBacking::Device(number) => Identity::Device(number),
            LoopBacking::File { device, inode } => Identity::File { device, inode },
        });
        let path = device.loop_backing();
        let leads_to = asked.or_else(|| Identity::at(path.as_deref()?));
        // Checked last, because the device may have been detached meanwhile.
        let is_set_up = asked.is_some() || device.is_loop();
        is_set_up.then_some(Self { device, path, leads_to, asked: asked.is_some() })
    }

    /// Returns the backing object; `None` if neither the driver nor the path shows it.
    pub fn behind(&self) -> Option<Identity> {
        self.leads_to.filter(|_| self.asked || !self.has_lost_its_name())
    }

    /// Returns true if this object is the backing object.
    pub fn is_on(&self, object: Identity) -> bool {
        self.leads_to == Some(object)
    }

    /// Returns true if both have, or may have, the same backing object.
    pub fn may_share(&self, other: &Self) -> bool {
        match (self.behind(), other.behind()) {
            (Some(one), Some(another)) => one == another,
            _ => true,
        }
    }

    /// Returns true if a file with this path may be the backing object although sysfs's path does not lead to it here.
    /// A file with a single name has the same name wherever the device was set up.
    pub fn may_be_on(&self, path: &Path, has_one_name: bool) -> bool {
        let is_other = self.behind().is_some() && has_one_name && !self.is_named_like(path);
        !self.asked && !is_other
    }

    /// Returns true if the backing object is unknown and was named like this path.
    pub fn is_lost_and_named_like(&self, path: &Path) -> bool {
        self.behind().is_none() && self.is_named_like(path)
    }

    fn is_named_like(&self, path: &Path) -> bool {
        let name = self.path.as_deref().and_then(Path::file_name).map(OsStr::as_bytes);
        let name = name.map(|name| name.strip_suffix(DELETED).unwrap_or(name));
        name == path.file_name().map(OsStr::as_bytes)
    }

    fn has_lost_its_name(&self) -> bool {
        self.path.as_deref().is_some_and(|path| path.as_os_str().as_bytes().ends_with(DELETED))
    }
}

/// Returns all loop devices that are set up; `None` if they cannot be listed.
///
/// They are read from sysfs. If sysfs is missing, or something is mounted over it, its directories are missing or
/// empty. So each loop device in `/proc/partitions` must also appear in sysfs.
pub(super) fn all(roots: &Roots) -> Option<Vec<Loop>> {
    // Read first: a device that is added in between is then in sysfs as well.
    let partitions = fs::read_to_string(roots.path("proc/partitions")).ok()?;
    fs::read_dir(roots.path("sys/block")).ok()?;
    let devices = BlockDevice::all(roots);
    let is_listed = |name: &str| devices.iter().any(|device| device.name == name);
    let is_whole = loop_names(&partitions).all(is_listed);
    is_whole.then(|| devices.into_iter().filter_map(|device| Loop::of(device, roots)).collect())
}

/// Returns the kernel names of the loop devices in the text of `/proc/partitions`.
fn loop_names(partitions: &str) -> impl Iterator<Item = &str> {
    let is_loop = |name: &&str| {
        let number = name.strip_prefix("loop").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    partitions.lines().filter_map(|line| line.split_whitespace().nth(3)).filter(is_loop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loop_device_names_exclude_partitions_and_disks() {
        let text = "major minor  #blocks  name\n\n 254        0  268435456 vda\n   7        0      65536 loop0\n \
                    259        1      1024 loop0p1\n   7       12      4 loop12\n   7 1 4 loop\n";
        assert_eq!(loop_names(text).collect::<Vec<_>>(), ["loop0", "loop12"]);
    }

    proptest! {
        #[test]
        fn parsing_loop_device_names_never_panics(text in "\\PC{0,80}") {
            let _ = loop_names(&text).count();
        }
    }
}
