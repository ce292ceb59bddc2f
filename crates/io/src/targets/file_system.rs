//! The file system that contains a path, its free space, and the device under it.

use super::descriptor::{look_at, real_path};
use super::device::device_facts;
use super::error::TargetError;
use crate::kernel::{
    BlockDevice, DeviceNumber, Mount, Roots, mount_of_open, mounts_of, path_of_fd,
};
use crate::machine::DeviceTree;
use iogauge_model::result::FileSystemFacts;
use rustix::fs::CWD;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Minimum space that prefilling leaves free on any disk, in bytes.
const LEAST_FREE_BYTES: u64 = 1 << 30;
/// Prefilling leaves at least this fraction of the disk free: one in 20.
const LEAST_FREE_PART: u64 = 20;

/// The file system that contains a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileSystem {
    /// Kernel name, such as `ext4`.
    pub file_system: String,
    /// The block device under it, or the first of several; `None` for network and memory file systems.
    pub device: Option<DeviceNumber>,
}

impl FileSystem {
    /// Returns the file system of an open object. `path` is its absolute path without symbolic links, which is used if
    /// procfs does not show the mount.
    pub fn of(fd: impl AsFd, path: &Path, roots: &Roots) -> Option<Self> {
        let mount = mount_of_open(fd, roots).or_else(|| mount_of(path, roots))?;
        let device = Some(mount.device)
            .filter(|number| BlockDevice::find(*number, roots).is_some())
            .or_else(|| DeviceNumber::of_path(&mount.source));
        Some(Self { file_system: mount.file_system, device })
    }

    /// Returns true for file systems that accept `O_DIRECT` but are in memory.
    pub fn is_memory(&self) -> bool {
        is_memory(&self.file_system)
    }

    /// Returns the logical block size of the device under it; 4096 if unknown.
    pub fn logical_block_bytes(&self, roots: &Roots) -> u32 {
        self.device
            .and_then(|number| device_facts(number, roots)?.logical_block_bytes)
            .and_then(|bytes| u32::try_from(bytes).ok())
            .filter(|bytes| bytes.is_power_of_two())
            .unwrap_or(4096)
    }
}

/// What stores the data of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Behind {
    /// A block device, or several.
    Device,
    /// Memory. Contains the name of the memory file system.
    Memory(String),
    /// Nothing visible from here.
    Unknown,
}

/// Maximum number of nested overlays that are followed. The kernel allows two.
const MOST_LAYERS: u32 = 8;

/// Returns what stores the data of an open object's file system. For an overlay this is what is under its upper layer.
pub(super) fn behind(fd: impl AsFd, path: &Path, roots: &Roots) -> Behind {
    behind_layers(fd, path, roots, MOST_LAYERS)
}

fn behind_layers(fd: impl AsFd, path: &Path, roots: &Roots, layers: u32) -> Behind {
    if DeviceTree::under_in(roots, &path_of_fd(&fd)).is_ok_and(|tree| !tree.is_empty()) {
        return Behind::Device;
    }
    let mount = mount_of_open(&fd, roots).or_else(|| mount_of(path, roots));
    let Some(mount) = mount else { return Behind::Unknown };
    if is_memory(&mount.file_system) {
        return Behind::Memory(mount.file_system);
    }
    // Inside a container the upper directory may be out of view, and another directory may have its path.
    let upper = mount.upper_dir.filter(|upper| upper.is_absolute() && layers > 0);
    let upper = upper.and_then(|upper| Some((look_at(CWD, &upper, true).ok()?, upper)));
    upper.map_or(Behind::Unknown, |(fd, path)| behind_layers(fd, &path, roots, layers - 1))
}

/// Returns true for the names of memory file systems.
pub(super) fn is_memory(file_system: &str) -> bool {
    matches!(file_system, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
}

/// Returns the mount point of an open object's file system; `None` if procfs does not show the mount.
pub(super) fn mount_point_of(fd: impl AsFd, path: &Path, roots: &Roots) -> Option<PathBuf> {
    mount_of_open(fd, roots).or_else(|| mount_of(path, roots)).map(|mount| mount.mount_point)
}

/// Returns the mount that contains a path without symbolic links.
fn mount_of(path: &Path, roots: &Roots) -> Option<Mount> {
    mounts_of("self", roots)
        .into_iter()
        // If two have the same mount point, the later one hides the other.
        .filter(|mount| path.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.components().count())
}

/// Returns facts about the file system of an existing path; `None` if procfs does not show its mount.
#[must_use]
pub fn file_system_facts(path: &Path, roots: &Roots) -> Option<FileSystemFacts> {
    let open = look_at(CWD, path, true).ok()?;
    let mount =
        mount_of_open(&open, roots).or_else(|| mount_of(&real_path(&open, path).ok()?, roots))?;
    let room = FreeSpace::of(&open, path).ok()?;
    let mut options: Vec<&str> = mount.options.split(',').collect();
    for option in mount.super_options.split(',').filter(|option| !option.is_empty()) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    Some(FileSystemFacts {
        name: mount.file_system.clone(),
        mount_point: mount.mount_point.to_string_lossy().into_owned(),
        options: options.join(","),
        total_bytes: room.total_bytes,
        available_bytes: room.available_bytes,
        reserve_bytes: room.reserve_bytes(),
    })
}

/// Returns the mount points of a block device that this process sees.
#[must_use]
pub fn mounted_on(number: DeviceNumber, roots: &Roots) -> Vec<String> {
    let mounts = mounts_of("self", roots).into_iter().filter(|mount| mount.device == number);
    mounts.map(|mount| mount.mount_point.to_string_lossy().into_owned()).collect()
}

/// Space of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FreeSpace {
    pub total_bytes: u64,
    /// Space that an unprivileged user may still use.
    pub available_bytes: u64,
}

impl FreeSpace {
    /// Returns the space of an open object's file system. `path` is for messages.
    pub fn of(fd: impl AsFd, path: &Path) -> Result<Self, TargetError> {
        let stat = rustix::fs::fstatvfs(fd)
            .map_err(|source| TargetError::io(path, "ask for free space", source))?;
        Ok(Self {
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            available_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        })
    }

    /// Returns the space that must stay free: 5 % or 1 GiB, whichever is more.
    pub fn reserve_bytes(&self) -> u64 {
        (self.total_bytes / LEAST_FREE_PART).max(LEAST_FREE_BYTES)
    }

    /// Returns the space that may be used.
    pub fn spare_bytes(&self) -> u64 {
        self.available_bytes.saturating_sub(self.reserve_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn free_space_reserve_is_one_gib_or_five_percent() {
        let small = FreeSpace { total_bytes: 4 << 30, available_bytes: 3 << 30 };
        assert_eq!((small.reserve_bytes(), small.spare_bytes()), (1 << 30, 2 << 30));
        let large = FreeSpace { total_bytes: 1 << 40, available_bytes: 1 << 39 };
        assert_eq!(large.reserve_bytes(), (1 << 40) / 20);
        let full = FreeSpace { total_bytes: 1 << 40, available_bytes: 1 << 30 };
        assert_eq!(full.spare_bytes(), 0);
    }

    #[test]
    fn root_file_system_is_detected() {
        let root = look_at(CWD, "/", true).unwrap();
        let volume = FileSystem::of(&root, Path::new("/"), &Roots::default()).unwrap();
        assert!(!volume.file_system.is_empty());
        assert!(volume.logical_block_bytes(&Roots::default()) >= 512);
    }

    proptest! {
        #[test]
        fn using_all_spare_space_leaves_the_reserve(total: u64, available: u64) {
            let room = FreeSpace { total_bytes: total, available_bytes: available };
            let spare = room.spare_bytes();
            prop_assert!(spare == 0 || available - spare >= room.reserve_bytes());
        }
    }
}
