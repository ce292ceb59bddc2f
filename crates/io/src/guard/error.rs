//! Why a guard refuses.

use super::signature::Contents;
use crate::targets::error::fits;
use iogauge_model::units::Bytes;
use std::path::PathBuf;

/// A refusal: what would have been destroyed, filled or read wrongly. Exit code 3.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// Writing to a block device was not allowed by `--destroy-data`.
    #[error(
        "{}: writing destroys what is on it ({contents}); hint: use --destroy-data to allow it", path.display()
    )]
    DestroyDataMissing {
        /// The device.
        path: PathBuf,
        /// What is on it.
        contents: Contents,
    },
    /// The device or a relative of it is mounted.
    #[error(
        "{}: refused, {what} is mounted on {}; hint: unmount it, or use another device",
        path.display(), mount_point.display()
    )]
    Mounted {
        /// The device.
        path: PathBuf,
        /// Which device is mounted: `it`, `its partition sdb1`.
        what: String,
        /// Where.
        mount_point: PathBuf,
    },
    /// The device or a relative of it is swap.
    #[error("{}: refused, {what} is active swap; hint: run swapoff, or use another device", path.display())]
    Swap {
        /// The device or file.
        path: PathBuf,
        /// Which device is swap: `it`, `its partition sdb1`.
        what: String,
    },
    /// A device is stacked on it.
    #[error("{}: refused, {what}; hint: take that apart, or use another device", path.display())]
    Stacked {
        /// The device.
        path: PathBuf,
        /// What is stacked on what: `dm-0 stacked on its partition sdb1`.
        what: String,
    },
    /// A process or the kernel has the device to itself, or a process writes to it.
    #[error("{}: refused, {holder}; hint: stop that, or use another target", path.display())]
    Held {
        /// The device or file.
        path: PathBuf,
        /// Who holds it, in words.
        holder: String,
    },
    /// The device, file or file system takes no writes.
    #[error("{}: refused, {what} is read-only; hint: use another target", path.display())]
    ReadOnly {
        /// The device or file.
        path: PathBuf,
        /// What is read-only.
        what: String,
    },
    /// A file that iogauge did not make would be written.
    #[error(
        "{}: refused, iogauge did not create this file ({reason}); hint: use --overwrite, which \
         destroys what is in it",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// How that is known.
        reason: String,
    },
    /// A file to write is a symbolic link.
    #[error(
        "{}: refused, it is a symbolic link to {}; hint: use that path itself",
        path.display(), leads_to.display()
    )]
    Symlink {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        leads_to: PathBuf,
    },
    /// No file can be made in the directory.
    #[error("{}: refused, no file can be made here ({reason}); hint: use another directory", path.display())]
    DirectoryNotWritable {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file would be made where devices have their names.
    #[error(
        "{}: refused, there is no such device, and no file is made among devices; hint: use a \
         device that lsblk lists, or a file in another directory",
        path.display()
    )]
    AmongDevices {
        /// The file.
        path: PathBuf,
    },
    /// The test file would fill the disk.
    #[error(
        "{}: refused, {} more would leave less than {} of the disk free; {}",
        path.display(), Bytes(*needed_bytes), Bytes(*reserve_bytes), fits(*fits_bytes)
    )]
    NoRoom {
        /// The test file.
        path: PathBuf,
        /// What it would take, in bytes.
        needed_bytes: u64,
        /// What stays free, in bytes.
        reserve_bytes: u64,
        /// Largest size that fits, in bytes; 0 where none does.
        fits_bytes: u64,
    },
    /// Another iogauge works on the test file.
    #[error("{}: refused, another iogauge is using it; hint: wait, or use another file", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A file that iogauge did not make has the name of a side file.
    #[error(
        "{}: refused, iogauge needs this name to know {} again and did not make what has it; hint: move \
         it away, or use another file",
        path.display(), file.display()
    )]
    SideFileTaken {
        /// The side file.
        path: PathBuf,
        /// The test file.
        file: PathBuf,
    },
    /// The file is behind a loop device.
    #[error("{}: refused, {device} is a loop device on it; hint: run losetup -d, or use another file", path.display())]
    LoopBacking {
        /// The file.
        path: PathBuf,
        /// Kernel name of the loop device.
        device: String,
    },
    /// A file or directory by which the kernel shows itself.
    #[error(
        "{}: refused, {file_system} holds no data but what the kernel shows of itself; hint: use a \
         directory, a file or a block device",
        path.display()
    )]
    KernelFile {
        /// The path.
        path: PathBuf,
        /// Name of its file system.
        file_system: &'static str,
    },
    /// A file to be removed lies where nothing can be removed.
    #[error(
        "{}: not removed, its file system is read-only; hint: mount it for writing first",
        path.display()
    )]
    NotRemovable {
        /// The file.
        path: PathBuf,
    },
    /// A loop device may be on the file: its driver may not be asked, and its path does not tell.
    #[error(
        "{}: refused, {device} is a loop device that may be on it, which only root can find out; hint: \
         run as root, run losetup -d, or use another file",
        path.display()
    )]
    LoopUnknown {
        /// The file.
        path: PathBuf,
        /// Kernel name of the loop device.
        device: String,
    },
    /// A loop device may be on the file or device, and none can be listed.
    #[error(
        "{}: refused, a loop device may be on it, and they cannot be listed ; hint: run mount -t sysfs \
         sysfs /sys",
        path.display()
    )]
    LoopsUnlisted {
        /// The file or device.
        path: PathBuf,
    },
    /// Neither file, directory nor block device.
    #[error("{}: refused, it is a {kind}; hint: use a directory, a file or a block device", path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The target was checked for reading and is opened for writing.
    #[error("{}: refused, it was checked for reading only; hint: ask for writes", path.display())]
    ReadingOnly {
        /// The file or device.
        path: PathBuf,
    },
    /// sysfs does not know the device, so that nothing about it can be checked.
    #[error("{}: refused, sysfs knows no device {number}, so its users cannot be checked; hint: mount \
    /sys", path.display())]
    Unknown {
        /// The device.
        path: PathBuf,
        /// Its number.
        number: String,
    },
}
