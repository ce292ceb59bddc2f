//! A domain as a mount namespace: everything is read-only and without device nodes, except for the granted directories
//! and a `/dev` with harmless devices. Granted files and devices are used through descriptors opened outside the
//! namespace.

use super::{ConfineError, Grant};
use crate::kernel::path_of_fd;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::{CapabilitySet, UnshareFlags, remove_capability_from_bounding_set};
use std::ffi::{CStr, CString};
use std::io;

/// Character devices that can be written without losing data: path and number.
const HARMLESS: [(&CStr, u32, u32); 6] = [
    (c"/dev/null", 1, 3),
    (c"/dev/zero", 1, 5),
    (c"/dev/full", 1, 7),
    (c"/dev/random", 1, 8),
    (c"/dev/urandom", 1, 9),
    (c"/dev/tty", 5, 0),
];

/// Capabilities that would let a program run by root undo the mounts, or reach files around them.
const UNDOING: [CapabilitySet; 5] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::MKNOD,
];

/// A directory that stays writable.
#[derive(Debug)]
struct Kept {
    path: CString,
    /// Expected device and inode.
    identity: (u64, u64),
}

/// What to set up in the namespace. Everything is allocated here, so that entering between fork and exec needs no
/// allocation.
#[derive(Debug)]
pub(super) struct Plan {
    kept: Vec<Kept>,
}

impl Plan {
    pub(super) fn of(grants: &[Grant]) -> Result<Self, ConfineError> {
        let mut kept = Vec::new();
        for grant in grants {
            let Grant::Directory(fd) = grant else { continue };
            let failed = |error: Errno| ConfineError::Descriptor(error.into());
            let link = rustix::fs::readlinkat(CWD, path_of_fd(fd), Vec::new());
            let path = link.map_err(failed)?;
            let stat = rustix::fs::fstat(fd).map_err(failed)?;
            kept.push(Kept { path, identity: (stat.st_dev, stat.st_ino) });
        }
        Ok(Self { kept })
    }

    /// Like [`Self::enter`], for use between fork and exec: also drops the capabilities with which the program could
    /// leave.
    pub(super) fn enter_for_good(&self) -> Result<(), (&'static str, io::Error)> {
        self.enter()?;
        let drop = |capability| remove_capability_from_bounding_set(capability);
        UNDOING.into_iter().try_for_each(drop).map_err(|error| ("prctl", error.into()))
    }

    /// Moves this thread into a namespace of its own. On failure, returns the name of the failed call.
    pub(super) fn enter(&self) -> Result<(), (&'static str, io::Error)> {
        let called = |call: &'static str| move |error: Errno| (call, io::Error::from(error));
        // SAFETY: the descriptor table is not unshared.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
            .map_err(called("unshare"))?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change(c"/", private).map_err(called("mount"))?;
        set_attributes(c"/", libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV, 0, true)
            .map_err(|error| ("mount_setattr", error))?;
        for kept in &self.kept {
            mount_bind(kept.path.as_c_str(), kept.path.as_c_str()).map_err(called("mount"))?;
            let stat = rustix::fs::stat(kept.path.as_c_str()).map_err(called("stat"))?;
            if (stat.st_dev, stat.st_ino) != kept.identity {
                return Err(("mount", io::ErrorKind::NotFound.into()));
            }
            set_attributes(&kept.path, 0, libc::MOUNT_ATTR_RDONLY, false)
                .map_err(|error| ("mount_setattr", error))?;
        }
        private_dev().map_err(called("mount"))?;
        set_attributes(c"/dev", libc::MOUNT_ATTR_RDONLY, 0, false)
            .map_err(|error| ("mount_setattr", error))
    }
}

/// Mounts a `/dev` with only the devices in [`HARMLESS`].
fn private_dev() -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(c"tmpfs", c"/dev", c"tmpfs", flags, Some(c"mode=755,size=64k"))?;
    for (path, major, minor) in HARMLESS {
        let mode = Mode::from_raw_mode(0o666);
        mknodat(CWD, path, FileType::CharacterDevice, mode, makedev(major, minor))?;
    }
    Ok(())
}

/// Calls mount_setattr(2).
fn set_attributes(path: &CStr, set: u64, clear: u64, recursive: bool) -> io::Result<()> {
    let attributes =
        libc::mount_attr { attr_set: set, attr_clr: clear, propagation: 0, userns_fd: 0 };
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: path and attributes outlive the call, and the size is that of the attributes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Checks, on a short-lived thread, that this process may create mount namespaces.
pub(super) fn is_possible() -> Result<(), ConfineError> {
    let enter = || Plan { kept: Vec::new() }.enter();
    std::thread::scope(|scope| match scope.spawn(enter).join() {
        Ok(result) => result.map_err(|(call, source)| ConfineError::Namespace { call, source }),
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
