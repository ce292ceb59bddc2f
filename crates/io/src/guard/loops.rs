//! Loop devices, and what is behind each.
//!
//! A loop device does not keep others off the file or device behind it, so that the kernel objects to
//! no write there. Its driver reports what is behind it to those who may open it. Others get a path from
//! sysfs, which may be gone, out of reach, or lead to another file here than where it was set up.

use crate::kernel::{BlockDevice, LoopBacking, Roots};
use crate::targets::descriptor::Identity;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What the kernel adds to the path of a file that has lost this name.
const DELETED: &[u8] = b" (deleted)";

/// A loop device that has something behind it.
#[derive(Debug)]
pub(super) struct Loop {
    pub device: BlockDevice,
    /// Of what is behind it, as sysfs has it.
    path: Option<PathBuf>,
    /// What is behind it by its driver, or else what the path leads to here.
    leads_to: Option<Identity>,
    /// True where its driver said so.
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
        // Last, for it may have been taken down meanwhile.
        let is_set_up = asked.is_some() || device.is_loop();
        is_set_up.then_some(Self { device, path, leads_to, asked: asked.is_some() })
    }

    /// What is behind it; `None` where neither its driver nor its path shows it.
    pub fn behind(&self) -> Option<Identity> {
        self.leads_to.filter(|_| self.asked || !self.has_lost_its_name())
    }

    /// True where this is behind it.
    pub fn is_on(&self, object: Identity) -> bool {
        self.leads_to == Some(object)
    }

    /// True where something is behind both, or may be.
    pub fn may_share(&self, other: &Self) -> bool {
        match (self.behind(), other.behind()) {
            (Some(one), Some(another)) => one == another,
            _ => true,
        }
    }

    /// True where a file of this path may be behind it that is not what its path leads to here. A
    /// file that has one name has that name wherever the device was set up.
    pub fn may_be_on(&self, path: &Path, has_one_name: bool) -> bool {
        let is_other = self.behind().is_some() && has_one_name && !self.is_named_like(path);
        !self.asked && !is_other
    }

    /// True where it is not known what is behind it, and the name is that of this path.
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

/// Every loop device that is set up; `None` where they cannot be listed.
///
/// sysfs shows what is behind them. Where it is missing, or something is mounted over it, its directories
/// are missing or empty: what `/proc/partitions` has must be there.
pub(super) fn all(roots: &Roots) -> Option<Vec<Loop>> {
    // First, for a device that comes between is in sysfs then.
    let partitions = fs::read_to_string(roots.path("proc/partitions")).ok()?;
    fs::read_dir(roots.path("sys/block")).ok()?;
    let devices = BlockDevice::all(roots);
    let is_listed = |name: &str| devices.iter().any(|device| device.name == name);
    let is_whole = loop_names(&partitions).all(is_listed);
    is_whole.then(|| devices.into_iter().filter_map(|device| Loop::of(device, roots)).collect())
}

/// Kernel names of the loop devices in the text of `/proc/partitions`.
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
    fn loop_devices_are_told_from_their_partitions_and_from_disks() {
        let text = "major minor  #blocks  name\n\n 254        0  268435456 vda\n   7        0      65536 loop0\n \
                    259        1      1024 loop0p1\n   7       12      4 loop12\n   7 1 4 loop\n";
        assert_eq!(loop_names(text).collect::<Vec<_>>(), ["loop0", "loop12"]);
    }

    proptest! {
        #[test]
        fn reading_names_never_panics(text in "\\PC{0,80}") {
            let _ = loop_names(&text).count();
        }
    }
}
