//! What the kernel shows in `/proc` and `/sys` (block devices, how they are stacked, mounts), parsed in one place for
//! guards and counters; also file names, locks and leases.

mod block_device;
mod device_number;
mod file_names;
mod lease;
mod loop_device;
mod mounts;
mod pseudo_file_systems;
mod record_lock;
mod roots;

pub(crate) use block_device::BlockDevice;
pub use device_number::DeviceNumber;
pub(crate) use file_names::{name_file, path_of_fd, rename_to_free, unnamed_file};
pub(crate) use lease::is_open_here_alone;
pub(crate) use loop_device::LoopBacking;
pub use mounts::{Mount, parse_mountinfo};
pub(crate) use mounts::{mount_of_open, mounts_of, unescape};
pub use pseudo_file_systems::is_among_devices;
pub(crate) use pseudo_file_systems::pseudo_file_system;
pub use record_lock::{byte_holder, lock_byte};
pub use roots::Roots;

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the text of a small file, trimmed; `None` if it cannot be read or is empty.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the entries of a directory, sorted by name; none if it cannot be read.
pub(crate) fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
