//! One file or device of a target, checked and ready to be opened.

use super::alignment::Alignment;
use super::descriptor::{Identity, reopen, reopen_error, reopen_quietly};
use super::error::TargetError;
use super::file_system::{is_memory, mount_point_of};
use super::header::Header;
use super::marker::{Marker, lock, test_file_of_host};
use super::place::FilePlace;
use super::resolve::HostNumber;
use crate::confine::Domain;
use crate::guard::{GuardError, own_identity};
use crate::kernel::{BlockDevice, DeviceNumber, Roots};
use iogauge_model::load::SyncMode;
use iogauge_model::result::{self, PartFacts};
use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Type of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    BlockDevice,
    /// A regular file.
    File(FileOrigin),
}

/// Origin of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrigin {
    /// It does not exist. The prefill creates it.
    ToMake,
    /// iogauge made it. Contains the header as last read.
    Ours(Header),
    /// iogauge did not make it.
    Foreign,
}

/// What the guards allow.
#[derive(Debug, Clone)]
pub(super) enum Permission {
    Read,
    WriteFile,
    /// Contains the exclusive descriptors, which exclude others from the device while they are open.
    WriteDevice(#[expect(dead_code, reason = "held, not used")] Arc<Vec<OwnedFd>>),
}

/// One file or device of a target. Clones share its descriptors and locks, which last until the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Part {
    /// Absolute path without symbolic links, as it was when the part was checked. Only for messages: I/O uses
    /// [`Part::judged`].
    pub path: PathBuf,
    pub kind: PartKind,
    /// Offset of the first byte that a workload may touch.
    pub base_bytes: u64,
    /// Number of bytes from there that a workload may touch, at least 1. A multiple of `logical_block_bytes` and of
    /// `dio_offset_align_bytes`, except for an existing file of others that is used through the page cache.
    pub size_bytes: u64,
    /// Logical block size of the device, or of the device under the file.
    pub logical_block_bytes: u32,
    /// Alignment of buffers for direct I/O.
    pub dio_mem_align_bytes: u32,
    /// Alignment of offsets and lengths for direct I/O.
    pub dio_offset_align_bytes: u32,
    /// Type of the file's file system; `None` for a device.
    pub file_system: Option<String>,
    /// The device itself, or the one under the file; `None` for network and memory file systems.
    pub device: Option<DeviceNumber>,
    /// The object that the guards checked, open for reading; `None` until it is created.
    pub(super) judged: Option<Arc<File>>,
    /// Place of the file, whether it exists or not; `None` for a device.
    pub(super) place: Option<FilePlace>,
    /// True if the workload writes, not only the prefill.
    pub(super) load_writes: bool,
    /// False if the engine issues no I/O. Nothing is then written, not even by the prefill.
    pub(super) issues_io: bool,
    /// The place of this host, if several use the target at once.
    pub(super) host: Option<HostNumber>,
    /// True if each host uses a region of its own in a file that they share.
    pub(super) is_divided: bool,
    /// First usable byte that a workload uses.
    pub(super) offset_bytes: u64,
    pub(super) permission: Permission,
    pub(super) lock: Option<Arc<File>>,
}

/// How to open a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenMode {
    /// True for reading and writing, false for reading only.
    pub write: bool,
    /// True to bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Whether writes wait for the medium.
    pub sync: SyncMode,
}

impl OpenMode {
    /// Returns the mode for reading, with or without the page cache.
    #[must_use]
    pub fn reading(direct: bool) -> Self {
        Self { write: false, direct, sync: SyncMode::None }
    }

    fn flags(self) -> OFlags {
        let mut flags = if self.write { OFlags::RDWR } else { OFlags::RDONLY };
        flags |= OFlags::CLOEXEC;
        flags.set(OFlags::DIRECT, self.direct);
        match self.sync {
            SyncMode::None => flags,
            SyncMode::Dsync => flags | OFlags::DSYNC,
            SyncMode::Sync => flags | OFlags::SYNC,
        }
    }
}

/// An open part.
#[derive(Debug)]
pub struct Opened {
    pub fd: OwnedFd,
    /// True if `O_NOATIME` was not permitted because another user owns the file. Reads then update its access time,
    /// which takes time (caveat `feature-fallback`).
    pub atime_fallback: bool,
}

impl Part {
    /// Returns true if the guards allow this part to be written.
    #[must_use]
    pub fn may_write(&self) -> bool {
        !matches!(self.permission, Permission::Read)
    }

    /// Returns true for a file that iogauge made.
    #[must_use]
    pub fn made_by_us(&self) -> bool {
        matches!(self.kind, PartKind::File(FileOrigin::Ours(_)))
    }

    /// Returns the descriptor that the guards checked, open for reading. Everything opened through its
    /// `/proc/self/fd/N` is the same file or device, even if its names have changed.
    ///
    /// # Errors
    /// Returns [`TargetError::NotPrepared`] for a file that does not exist yet.
    pub fn judged(&self) -> Result<BorrowedFd<'_>, TargetError> {
        Ok(self.judged_file()?.as_fd())
    }

    pub(super) fn judged_file(&self) -> Result<&Arc<File>, TargetError> {
        let missing = || TargetError::NotPrepared { path: self.path.clone() };
        self.judged.as_ref().ok_or_else(missing)
    }

    /// Returns the identity of the file or device; `None` for a file that does not exist yet.
    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        self.judged.as_ref().and_then(Identity::of)
    }

    /// Opens the part. Each worker may have a descriptor of its own.
    ///
    /// # Errors
    /// Returns [`GuardError::ReadingOnly`] for writing if the guards only checked for reading,
    /// [`TargetError::DirectUnsupported`], or [`TargetError::NotPrepared`] for a file that does not exist yet.
    pub fn open(&self, mode: OpenMode) -> Result<Opened, TargetError> {
        let judged = self.judged_file()?;
        if mode.write && !self.may_write() {
            return Err(GuardError::ReadingOnly { path: self.path.clone() }.into());
        }
        if mode.direct && self.goes_through_memory() {
            return Err(self.direct_unsupported());
        }
        let opened = if mode.write {
            // The kernel lets this thread write to this object only, whatever it opens.
            let confined = Domain::reading().file(judged);
            confined
                .and_then(|domain| domain.run(|| self.reopen_as(judged, mode)))
                .map_err(|source| TargetError::Confine { path: self.path.clone(), source })?
        } else {
            self.reopen_as(judged, mode)
        };
        let (fd, atime_fallback) = opened.map_err(|error| self.open_error(error, mode))?;
        // The kernel guarantees this. If a file system breaks the guarantee, it is not written to.
        if Identity::of(&fd) == self.identity() {
            Ok(Opened { fd, atime_fallback })
        } else {
            Err(TargetError::Changed { path: self.path.clone() })
        }
    }

    /// Opens the part. Also returns true if the access time will be updated.
    fn reopen_as(&self, judged: &File, mode: OpenMode) -> Result<(OwnedFd, bool), Errno> {
        let flags = mode.flags();
        if self.kind == PartKind::BlockDevice {
            return reopen(judged, flags).map(|fd| (fd, false));
        }
        match reopen(judged, flags | OFlags::NOATIME) {
            Err(Errno::PERM) => reopen(judged, flags).map(|fd| (fd, true)),
            other => other.map(|fd| (fd, false)),
        }
    }

    fn open_error(&self, error: Errno, mode: OpenMode) -> TargetError {
        let path = self.path.clone();
        match error {
            Errno::INVAL if mode.direct => self.direct_unsupported(),
            Errno::NXIO => TargetError::Changed { path },
            Errno::ROFS | Errno::PERM | Errno::ACCESS if mode.write => {
                GuardError::ReadOnly { path, what: "it".into() }.into()
            }
            Errno::TXTBSY => {
                GuardError::Held { path, holder: "a process is executing it".into() }.into()
            }
            source => reopen_error(&self.path, source),
        }
    }

    fn goes_through_memory(&self) -> bool {
        self.file_system.as_deref().is_some_and(is_memory)
    }

    fn direct_unsupported(&self) -> TargetError {
        TargetError::DirectUnsupported {
            path: self.path.clone(),
            file_system: self.file_system.clone().unwrap_or_else(|| "the device".into()),
        }
    }

    /// Returns the place of a file, whether it exists or not.
    pub(super) fn place(&self) -> Result<&FilePlace, TargetError> {
        self.place.as_ref().ok_or_else(|| TargetError::Changed { path: self.path.clone() })
    }

    /// Takes over the file that was just created at its place, and the lock on it.
    pub(super) fn adopt(&mut self, marker: &Marker) -> Result<(), TargetError> {
        // After an unnamed file was named, its descriptors only show the name if they were opened by it.
        let made = Identity::of(marker.file());
        let named = self.place()?.look()?.filter(|named| Identity::of(named) == made);
        let judged = match &named {
            Some(named) => reopen_quietly(named, OFlags::RDONLY),
            None => reopen_quietly(marker.file(), OFlags::RDONLY),
        };
        let judged = judged.map_err(|error| reopen_error(&self.path, error))?;
        self.kind = PartKind::File(FileOrigin::Ours(marker.header()));
        self.judged = Some(Arc::new(judged));
        self.lock = Some(Arc::clone(marker.file()));
        self.look()
    }

    /// Reads the alignment from the checked object.
    pub(super) fn look(&mut self) -> Result<(), TargetError> {
        let file = Arc::clone(self.judged_file()?);
        if self.kind == PartKind::BlockDevice {
            self.logical_block_bytes = rustix::fs::ioctl_blksszget(&file)
                .map_err(|e| TargetError::io(&self.path, "ask for its block size", e))?;
        }
        // A file without direct I/O gets a safe alignment. Opening it for direct I/O reports the problem.
        let alignment = Alignment::of(&file, &self.path, self.logical_block_bytes)?
            .unwrap_or(Alignment::cautious(self.logical_block_bytes));
        self.dio_mem_align_bytes = alignment.memory_bytes;
        self.dio_offset_align_bytes = alignment.offset_bytes;
        Ok(())
    }

    /// Returns the smallest block that both the device and direct I/O accept.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.logical_block_bytes.max(self.dio_offset_align_bytes)
    }

    /// Returns the part as it appears in documents. For device facts see [`super::device_facts`].
    #[must_use]
    pub fn describe(&self) -> PartFacts {
        let (kind, made_by_iogauge) = match self.kind {
            PartKind::BlockDevice => (result::PartKind::BlockDevice, false),
            PartKind::File(FileOrigin::Foreign) => (result::PartKind::File, false),
            PartKind::File(_) => (result::PartKind::File, true),
        };
        PartFacts {
            path: self.path.to_string_lossy().into_owned(),
            kind,
            made_by_iogauge,
            base_bytes: self.base_bytes,
            size_bytes: self.size_bytes,
            logical_block_bytes: self.logical_block_bytes,
            dio_mem_align_bytes: self.dio_mem_align_bytes,
            dio_offset_align_bytes: self.dio_offset_align_bytes,
            file_system: self.file_system.clone(),
            device: self.device.map(|device| device.to_string()),
            mount_point: self.mount_point(),
        }
    }

    /// Returns the mount point of the file's file system; `None` for a device, for a file that does not exist yet, and
    /// if procfs does not show it.
    fn mount_point(&self) -> Option<String> {
        let file = self.judged.as_ref().filter(|_| self.kind != PartKind::BlockDevice)?;
        let mount_point = mount_point_of(file, &self.path, &Roots::default())?;
        Some(mount_point.to_string_lossy().into_owned())
    }

    /// Returns true if this is the file of one of several hosts in a directory, which no other host of the run uses.
    #[must_use]
    pub fn is_of_one_host(&self) -> bool {
        let own = self.host.map(|host| test_file_of_host(host.number));
        own.is_some_and(|own| self.path.file_name().is_some_and(|name| name == own.as_str()))
    }

    /// Returns the path of the part on another host, by its number.
    #[must_use]
    pub fn path_on(&self, number: u32) -> PathBuf {
        if self.is_of_one_host() {
            self.path.with_file_name(test_file_of_host(number))
        } else {
            self.path.clone()
        }
    }

    /// Returns the place of this host, if several use this part at once, each by itself.
    #[must_use]
    pub fn shared_by(&self) -> Option<HostNumber> {
        self.host.filter(|_| !self.is_of_one_host())
    }

    /// Returns true if each host uses a region of its own in this file for every workload.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        self.is_divided && self.place.is_some() && self.shared_by().is_some()
    }

    /// Returns a text that is the same on every host that has this file or device; `None` if nothing identifies it.
    #[must_use]
    pub fn identity_on_hosts(&self, roots: &Roots) -> Option<String> {
        match self.kind {
            PartKind::BlockDevice => own_identity(&BlockDevice::find(self.device?, roots)?),
            PartKind::File(FileOrigin::ToMake) => None,
            PartKind::File(FileOrigin::Ours(header)) => Some(format!("{:032x}", header.id)),
            PartKind::File(FileOrigin::Foreign) => {
                let about = self.judged.as_ref()?.metadata().ok()?;
                let written = (about.mtime(), about.mtime_nsec());
                Some(format!("{} {} {written:?}", about.ino(), about.len()))
            }
        }
    }

    /// Returns true if the leading host locks and makes the file for this one.
    pub(super) fn is_led(&self) -> bool {
        self.host.is_some_and(|host| host.number > 1) && !self.is_of_one_host()
    }

    /// Locks a file against other runs if iogauge made it or will write it. Does nothing if it is already locked.
    pub(super) fn take_lock(&mut self) -> Result<(), TargetError> {
        let wanted = match self.kind {
            // The exclusive claim excludes other writers, and readers do no harm.
            PartKind::BlockDevice => false,
            PartKind::File(FileOrigin::ToMake) => {
                return Err(TargetError::NotPrepared { path: self.path.clone() });
            }
            PartKind::File(FileOrigin::Ours(_)) => true,
            PartKind::File(FileOrigin::Foreign) => self.may_write(),
        };
        if wanted && !self.is_led() && self.lock.is_none() {
            let judged = self.judged_file()?;
            self.lock = Some(Arc::new(lock(judged, &self.path, self.may_write())?));
        }
        Ok(())
    }
}

/// Tells the kernel whether the I/O of a buffered descriptor is random, if that is to be told, and, with `forget`, to
/// drop the file's cached pages. Dirty pages are kept, and a file system may ignore the advice. This only affects speed,
/// never data.
pub fn advise(fd: impl std::os::fd::AsFd, random: Option<bool>, forget: bool) {
    if let Some(random) = random {
        let order = if random { Advice::Random } else { Advice::Sequential };
        let _ = rustix::fs::fadvise(&fd, 0, None, order);
    }
    if forget {
        self::forget(&fd);
    }
}

/// Drops a file's clean pages from the page cache. Ignores errors: a file system may not support it.
pub fn forget(fd: impl std::os::fd::AsFd) {
    let _ = rustix::fs::fadvise(&fd, 0, None, Advice::DontNeed);
}
