//! Why a guard refuses a target.

use super::signature::Contents;
use crate::targets::error::fits;
use iogauge_model::units::{Bytes, shell_word};
use std::path::PathBuf;

/// A refusal: data would have been destroyed, a disk filled, or something read wrongly. Exit code 3.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    #[error(
        "{}: writing destroys what is on it ({contents}); hint: use --destroy-data to allow it", path.display()
    )]
    DestroyDataMissing { path: PathBuf, contents: Contents },
    #[error(
        "{}: refused, a host that does not take part may use what is on it ({contents}); hint: add --shared-device={} \
         if none does", path.display(), shell_word(identity)
    )]
    SharedDevice {
        path: PathBuf,
        contents: Contents,
        /// The identity of the device, which the user has to type.
        identity: String,
    },
    #[error(
        "{}: refused, --shared-device does not name it; hint: add --shared-device={} if it is meant",
        path.display(), shell_word(identity)
    )]
    OtherDevice { path: PathBuf, identity: String },
    #[error(
        "{}: refused, {what} is mounted on {}; hint: unmount it, or use another device",
        path.display(), mount_point.display()
    )]
    Mounted {
        path: PathBuf,
        /// The mounted device: `it`, `its partition sdb1`.
        what: String,
        mount_point: PathBuf,
    },
    #[error("{}: refused, {what} is active swap; hint: run swapoff, or use another device", path.display())]
    Swap {
        path: PathBuf,
        /// The swap device: `it`, `its partition sdb1`.
        what: String,
    },
    #[error("{}: refused, {what}; hint: take that apart, or use another device", path.display())]
    Stacked {
        path: PathBuf,
        /// What is stacked on what, such as `dm-0 stacked on its partition sdb1`.
        what: String,
    },
    #[error("{}: refused, {holder}; hint: stop that, or use another target", path.display())]
    Held { path: PathBuf, holder: String },
    #[error("{}: refused, {what} is read-only; hint: use another target", path.display())]
    ReadOnly { path: PathBuf, what: String },
    #[error(
        "{}: refused, iogauge did not create this file ({reason}); hint: use --overwrite-file, which \
         destroys what is in it",
        path.display()
    )]
    NotOurs { path: PathBuf, reason: String },
    #[error(
        "{}: refused, it is a symbolic link to {}; hint: use that path itself",
        path.display(), leads_to.display()
    )]
    Symlink { path: PathBuf, leads_to: PathBuf },
    #[error("{}: refused, no file can be made here ({reason}); hint: use another directory", path.display())]
    DirectoryNotWritable { path: PathBuf, reason: String },
    #[error(
        "{}: refused, there is no such device, and no file is made among devices; hint: use a \
         device that lsblk lists, or a file in another directory",
        path.display()
    )]
    AmongDevices { path: PathBuf },
    #[error(
        "{}: refused, {} more would leave less than {} of the disk free; {}",
        path.display(), Bytes(*needed_bytes), Bytes(*reserve_bytes), fits(*fits_bytes)
    )]
    NoRoom {
        path: PathBuf,
        needed_bytes: u64,
        reserve_bytes: u64,
        /// Largest size that fits, in bytes; 0 if none does.
        fits_bytes: u64,
    },
    #[error("{}: refused, another iogauge is using it; hint: wait, or use another file", path.display())]
    InUse { path: PathBuf },
    #[error(
        "{}: refused, iogauge needs this name to know {} again and did not make what has it; hint: move \
         it away, or use another file",
        path.display(), file.display()
    )]
    SideFileTaken { path: PathBuf, file: PathBuf },
    #[error("{}: refused, {device} is a loop device on it; hint: run losetup -d {device}, or use another file", path.display())]
    LoopBacking { path: PathBuf, device: String },
    #[error(
        "{}: refused, {file_system} is a file system of the kernel without stored data; hint: use a \
         directory, a file or a block device",
        path.display()
    )]
    KernelFile { path: PathBuf, file_system: &'static str },
    #[error(
        "{}: not removed, its file system is read-only; hint: mount it for writing first",
        path.display()
    )]
    NotRemovable { path: PathBuf },
    #[error(
        "{}: refused, {device} is a loop device that may be on it, which only root can find out; hint: \
         run as root, run losetup -d {device}, or use another file",
        path.display()
    )]
    LoopUnknown { path: PathBuf, device: String },
    #[error(
        "{}: refused, a loop device may be on it, and they cannot be listed; hint: run mount -t sysfs \
         sysfs /sys",
        path.display()
    )]
    LoopsUnlisted { path: PathBuf },
    #[error("{}: refused, it is a {kind}; hint: use a directory, a file or a block device", path.display())]
    WrongKind { path: PathBuf, kind: &'static str },
    #[error("{}: refused, it was checked for reading only; hint: ask for writes", path.display())]
    ReadingOnly { path: PathBuf },
    #[error("{}: refused, sysfs knows no device {number}, so its users cannot be checked; hint: mount \
    /sys", path.display())]
    Unknown { path: PathBuf, number: String },
}
