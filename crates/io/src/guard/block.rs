//! Guards of block devices.

use super::error::GuardError;
use super::identity::identity;
use super::loops;
use super::patience::unless_held_for_long;
use super::proc;
use super::signature::{Contents, DeviceRange, signatures};
use super::stack::{self, Related, Relation};
use crate::kernel::{BlockDevice, DeviceNumber, Mount, Roots};
use crate::targets::descriptor::{Identity, reopen};
use crate::targets::error::TargetError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What the user has permitted for the block devices that are to be written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Consent<'a> {
    /// `--destroy-data`.
    pub destroy_data: bool,
    /// True if several hosts write the device at once. Others may have it mounted, which no guard can see.
    pub several_hosts: bool,
    /// Identities typed with `--shared-device`.
    pub shared_devices: &'a [String],
}

/// Checks that an open device may be written, and claims it exclusively. `path` is for messages.
///
/// While the returned descriptors are open, the kernel does not let anyone mount the device, swap on it or stack
/// anything on it. They are open on the device itself and on devices that share its data through a loop device, because
/// a loop device does not claim its backing device.
///
/// # Errors
/// Returns a [`GuardError`] if the device is in use or read-only, or consent is missing.
pub(crate) fn claim_for_writing(
    judged: &File,
    path: &Path,
    number: DeviceNumber,
    consent: Consent<'_>,
    roots: &Roots,
) -> Result<Vec<OwnedFd>, TargetError> {
    let device = BlockDevice::find(number, roots)
        .ok_or_else(|| GuardError::Unknown { path: path.into(), number: number.to_string() })?;
    let Some(loops) = loops::all(roots) else {
        return Err(GuardError::LoopsUnlisted { path: path.into() }.into());
    };
    let related = stack::related(device.clone(), &loops, roots);
    refuse_mounted(path, &related, roots)?;
    refuse_swap(path, &related, roots)?;
    refuse_stacked(path, &related)?;
    unless_held_for_long(|| refuse_written(path, &related, roots).map_err(Into::into))?;
    if device.number_attribute("ro") == Some(1) {
        return Err(GuardError::ReadOnly { path: path.into(), what: "it".into() }.into());
    }
    if !consent.destroy_data {
        let contents = contents(judged, &device);
        return Err(GuardError::DestroyDataMissing { path: path.into(), contents }.into());
    }
    refuse_shared(judged, path, &device, consent)?;
    let claimed = unless_held_for_long(|| claim(judged, path, number, &related, roots))?;
    let mut claims = unless_held_for_long(|| claim_others(path, &related, roots))?;
    claims.insert(0, claimed);
    Ok(claims)
}

fn refuse_mounted(path: &Path, related: &[Related], roots: &Roots) -> Result<(), GuardError> {
    let mounts: Vec<(Option<DeviceNumber>, Mount)> = proc::mounts(roots)
        .into_iter()
        // Btrfs mounts have an anonymous device number; only their source names a device.
        .map(|mount| (by_source(&mount), mount))
        .collect();
    for relative in related {
        let mounted = relative.device.number().and_then(|number| {
            let is_it = |(by_source, mount): &&(Option<DeviceNumber>, Mount)| {
                mount.device == number || *by_source == Some(number)
            };
            mounts.iter().find(is_it)
        });
        let mount_point = mounted
            .map(|(_, mount)| mount.mount_point.clone())
            .or_else(|| mounted_btrfs(&relative.device, roots));
        if let Some(mount_point) = mount_point {
            let what = relative.words.clone();
            return Err(GuardError::Mounted { path: path.into(), what, mount_point });
        }
    }
    Ok(())
}

/// Returns the device that a mount names as its source; `None` for file systems whose source is free text.
fn by_source(mount: &Mount) -> Option<DeviceNumber> {
    const WITHOUT_DEVICE: [&str; 5] = ["tmpfs", "proc", "sysfs", "devtmpfs", "overlay"];
    let names_device =
        mount.source.is_absolute() && !WITHOUT_DEVICE.contains(&mount.file_system.as_str());
    names_device.then(|| DeviceNumber::of_path(&mount.source)).flatten()
}

/// Returns the mounted btrfs volume that a device belongs to. Mountinfo names only one device of a volume; sysfs names
/// all.
fn mounted_btrfs(device: &BlockDevice, roots: &Roots) -> Option<PathBuf> {
    let volume = device.btrfs_volume(roots)?;
    Some(Path::new("btrfs volume").join(volume.file_name()?))
}

fn refuse_swap(path: &Path, related: &[Related], roots: &Roots) -> Result<(), GuardError> {
    let swaps: Vec<DeviceNumber> =
        proc::swaps(roots).iter().filter_map(|swap| DeviceNumber::of_path(swap)).collect();
    let is_swap = |device: &BlockDevice| device.number().is_some_and(|n| swaps.contains(&n));
    match related.iter().find(|relative| is_swap(&relative.device)) {
        Some(relative) => Err(GuardError::Swap { path: path.into(), what: relative.words.clone() }),
        None => Ok(()),
    }
}

/// Refuses a device with something stacked on it. A loop device does not claim its backing device, so the kernel would
/// allow writing to it.
fn refuse_stacked(path: &Path, related: &[Related]) -> Result<(), GuardError> {
    match related.iter().find(|relative| relative.relation == Relation::Above) {
        Some(relative) => {
            Err(GuardError::Stacked { path: path.into(), what: relative.words.clone() })
        }
        None => Ok(()),
    }
}

/// Refuses a device that a process has open for writing: virtual machines and databases write to devices without
/// claiming them.
fn refuse_written(path: &Path, related: &[Related], roots: &Roots) -> Result<(), GuardError> {
    let writer = proc::users(&objects(related), roots).into_iter().find(|user| user.writes);
    match writer {
        Some(user) => {
            let holder = format!("{} has it open for writing", user.describe());
            Err(GuardError::Held { path: path.into(), holder })
        }
        None => Ok(()),
    }
}

fn objects(related: &[Related]) -> Vec<Identity> {
    related
        .iter()
        .filter(|relative| relative.relation != Relation::Below)
        .filter_map(|relative| relative.device.number().map(Identity::Device))
        .collect()
}

fn claim(
    judged: &File,
    path: &Path,
    number: DeviceNumber,
    related: &[Related],
    roots: &Roots,
) -> Result<OwnedFd, TargetError> {
    match reopen(judged, OFlags::RDONLY | OFlags::EXCL) {
        Ok(fd) if Identity::of(&fd) == Some(Identity::Device(number)) => Ok(fd),
        Ok(_) => Err(TargetError::Changed { path: path.into() }),
        Err(Errno::BUSY) => {
            let holder = match proc::users(&objects(related), roots).first() {
                Some(user) => format!("{} holds it", user.describe()),
                None => "the kernel says that something holds it".to_owned(),
            };
            Err(GuardError::Held { path: path.into(), holder }.into())
        }
        Err(source) => Err(TargetError::io(path, "open it exclusively", source)),
    }
}

/// Claims what a loop device does not claim: its backing device and other loop devices on it. These may be mounted in a
/// namespace that no process visible here lives in, which only a claim reveals.
fn claim_others(
    path: &Path,
    related: &[Related],
    roots: &Roots,
) -> Result<Vec<OwnedFd>, TargetError> {
    let mut claims = Vec::new();
    for other in related.iter().filter(|relative| relative.left_by_loop) {
        let Some(number) = other.device.number() else { continue };
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match rustix::fs::open(other.device.node(roots), flags, Mode::empty()) {
            Ok(fd) if Identity::of(&fd) == Some(Identity::Device(number)) => claims.push(fd),
            Err(Errno::BUSY) => {
                let holder = format!("the kernel says that something holds {}", other.words);
                return Err(GuardError::Held { path: path.into(), holder }.into());
            }
            // It has no node here, or this process may not open it: only the other guards apply.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(claims)
}

/// Refuses a device with a known format that several hosts are to write, unless the user has typed its identity. If
/// the user has typed any, refuses every other device.
fn refuse_shared(
    judged: &File,
    path: &Path,
    device: &BlockDevice,
    consent: Consent<'_>,
) -> Result<(), GuardError> {
    let typed = consent.shared_devices;
    if typed.is_empty() && !consent.several_hosts {
        return Ok(());
    }
    let contents = contents(judged, device);
    if typed.is_empty() && contents.is_empty() {
        return Ok(());
    }
    let (path, identity) = (path.into(), identity(judged, device));
    match typed {
        [] => Err(GuardError::SharedDevice { path, contents, identity }),
        _ if typed.contains(&identity) => Ok(()),
        _ => Err(GuardError::OtherDevice { path, identity }),
    }
}

/// Returns the formats on a device and its partitions.
fn contents(file: &File, device: &BlockDevice) -> Contents {
    let stretch =
        |start_bytes, size_bytes| signatures(&DeviceRange { file, start_bytes, size_bytes });
    let partitions = device.partitions();
    Contents {
        whole: stretch(0, device.size_bytes()),
        partitions: partitions
            .into_iter()
            .map(|p| (p.name.clone(), stretch(p.start_bytes(), p.size_bytes())))
            .collect(),
    }
}
