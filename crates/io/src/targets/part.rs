//! One file or device of a target, checked and ready to be opened.

use super::alignment::Alignment;
use super::descriptor::{Identity, reopen, reopen_error, reopen_quietly};
use super::error::TargetError;
use super::file_system::is_memory;
use super::header::Header;
use super::marker::{Marker, lock};
use super::place::FilePlace;
use crate::confine::Domain;
use crate::guard::GuardError;
use crate::kernel::DeviceNumber;
use iogauge_model::load::SyncMode;
use iogauge_model::result::{self, PartFacts};
use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    BlockDevice,
    /// A regular file.
    File(FileOrigin),
}

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrigin {
    /// It does not exist; the prefill makes it.
    ToMake,
    /// iogauge made it; with its header as last read.
    Ours(Header),
    /// Somebody else's.
    Foreign,
}

/// What the guards have allowed.
#[derive(Debug, Clone)]
pub(super) enum Permission {
    Read,
    WriteFile,
    /// With the exclusive descriptors that keep others off the device as long as they live.
    WriteDevice(#[expect(dead_code, reason = "held, not used")] Arc<Vec<OwnedFd>>),
}

/// One file or device of a target. Clones share its descriptors and locks, which last until the last
/// one goes.
#[derive(Debug, Clone)]
pub struct Part {
    /// Absolute path without symbolic links, as it was when the part was judged. It is for messages:
    /// what is read and written is reached through [`Part::judged`].
    pub path: PathBuf,
    pub kind: PartKind,
    /// First byte a load may touch.
    pub base_bytes: u64,
    /// Bytes a load may touch from there: a multiple of `logical_block_bytes` and of
    /// `dio_offset_align_bytes`, at least one of each.
    pub size_bytes: u64,
    /// Smallest unit of the device, or of the one under the file.
    pub logical_block_bytes: u32,
    /// Alignment of buffers for direct I/O.
    pub dio_mem_align_bytes: u32,
    /// Alignment of offsets and lengths for direct I/O.
    pub dio_offset_align_bytes: u32,
    /// File system the file lies on; `None` for a device.
    pub file_system: Option<String>,
    /// The block device, or the one under the file; `None` for network and memory file systems.
    pub device: Option<DeviceNumber>,
    /// What the guards judged, open for reading; `None` until it is made.
    pub(super) judged: Option<Arc<File>>,
    /// Where a file is or is to be; `None` for a device.
    pub(super) place: Option<FilePlace>,
    /// True where the load writes, and not only the prefill.
    pub(super) load_writes: bool,
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
    /// Reading, with or without the page cache.
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
    /// True where a file was to be opened with `O_NOATIME` and only its owner may: reads then
    /// update its access time, which costs (caveat `feature-fallback`).
    pub atime_fallback: bool,
}

impl Part {
    /// True where the guards allow this part to be written.
    #[must_use]
    pub fn may_write(&self) -> bool {
        !matches!(self.permission, Permission::Read)
    }

    /// True for a file iogauge made.
    #[must_use]
    pub fn made_by_us(&self) -> bool {
        matches!(self.kind, PartKind::File(FileOrigin::Ours(_)))
    }

    /// The descriptor on which the part was judged, open for reading. Whatever is opened through
    /// `/proc/self/fd/N` of it is the same file or device, whatever its names lead to by now.
    ///
    /// # Errors
    /// [`TargetError::NotPrepared`] for a file yet to be made.
    pub fn judged(&self) -> Result<BorrowedFd<'_>, TargetError> {
        Ok(self.judged_file()?.as_fd())
    }

    pub(super) fn judged_file(&self) -> Result<&Arc<File>, TargetError> {
        let missing = || TargetError::NotPrepared { path: self.path.clone() };
        self.judged.as_ref().ok_or_else(missing)
    }

    /// Which file or device the part is; `None` for a file yet to be made.
    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        self.judged.as_ref().and_then(Identity::of)
    }

    /// Opens the part; each worker may have a descriptor of its own.
    ///
    /// # Errors
    /// [`GuardError::ReadingOnly`] for writing where the guards were asked for reading,
    /// [`TargetError::DirectUnsupported`], [`TargetError::NotPrepared`] for a file yet to be made.
    pub fn open(&self, mode: OpenMode) -> Result<Opened, TargetError> {
        let judged = self.judged_file()?;
        if mode.write && !self.may_write() {
            return Err(GuardError::ReadingOnly { path: self.path.clone() }.into());
        }
        if mode.direct && self.goes_through_memory() {
            return Err(self.direct_unsupported());
        }
        let opened = if mode.write {
            // Whatever this thread is asked to open, the kernel lets it write to this one alone.
            let confined = Domain::reading().file(judged);
            confined
                .and_then(|domain| domain.run(|| self.reopen_as(judged, mode)))
                .map_err(|source| TargetError::Confine { path: self.path.clone(), source })?
        } else {
            self.reopen_as(judged, mode)
        };
        let (fd, atime_fallback) = opened.map_err(|error| self.open_error(error, mode))?;
        // The kernel vouches for this; a file system that does not is not written.
        if Identity::of(&fd) == self.identity() {
            Ok(Opened { fd, atime_fallback })
        } else {
            Err(TargetError::Changed { path: self.path.clone() })
        }
    }

    /// Opens the part, with what had to be given up of access times.
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

    /// Where a file is or is to be.
    pub(super) fn place(&self) -> Result<&FilePlace, TargetError> {
        self.place.as_ref().ok_or_else(|| TargetError::Changed { path: self.path.clone() })
    }

    /// Becomes the file that was just made in its place, with the lock on it.
    pub(super) fn adopt(&mut self, marker: &Marker) -> Result<(), TargetError> {
        // A file that was made without a name is shown by its name only where it is opened by it.
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

    /// Takes the alignment from what was judged.
    pub(super) fn look(&mut self) -> Result<(), TargetError> {
        let file = Arc::clone(self.judged_file()?);
        if self.kind == PartKind::BlockDevice {
            self.logical_block_bytes = rustix::fs::ioctl_blksszget(&file)
                .map_err(|e| TargetError::io(&self.path, "ask for its block size", e))?;
        }
        // A file without direct I/O is aligned cautiously; opening it direct says what is wrong.
        let alignment = Alignment::of(&file, &self.path, self.logical_block_bytes)?
            .unwrap_or(Alignment::cautious(self.logical_block_bytes));
        self.dio_mem_align_bytes = alignment.memory_bytes;
        self.dio_offset_align_bytes = alignment.offset_bytes;
        Ok(())
    }

    /// Smallest block both the device and direct I/O take.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.logical_block_bytes.max(self.dio_offset_align_bytes)
    }

    /// The part as documents have it; device facts are in [`super::device_facts`].
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
        }
    }

    /// Locks a file of ours, or one to be written, against other runs. Does nothing twice.
    pub(super) fn take_lock(&mut self) -> Result<(), TargetError> {
        let wanted = match self.kind {
            // The exclusive claim keeps writers apart, and readers harm nothing.
            PartKind::BlockDevice => false,
            PartKind::File(FileOrigin::ToMake) => {
                return Err(TargetError::NotPrepared { path: self.path.clone() });
            }
            PartKind::File(FileOrigin::Ours(_)) => true,
            PartKind::File(FileOrigin::Foreign) => self.may_write(),
        };
        if wanted && self.lock.is_none() {
            let judged = self.judged_file()?;
            self.lock = Some(Arc::new(lock(judged, &self.path, self.may_write())?));
        }
        Ok(())
    }
}

/// Tells the kernel how a buffered descriptor is going to be read, and with `forget` to drop what it
/// has of the file so far. What is dirty stays, and a file system may decline: this saves or costs
/// time and changes no data.
pub fn advise(fd: impl std::os::fd::AsFd, random: bool, forget: bool) {
    let order = if random { Advice::Random } else { Advice::Sequential };
    let _ = rustix::fs::fadvise(&fd, 0, None, order);
    if forget {
        let _ = rustix::fs::fadvise(&fd, 0, None, Advice::DontNeed);
    }
}
