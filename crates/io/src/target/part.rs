//! One file or device of a target, checked and ready to be opened.

use super::align::Alignment;
use super::error::TargetError;
use super::guard::GuardError;
use super::guard::proc::Object;
use super::marker::{Header, lock};
use super::volume::Volume;
use crate::kernel::{DeviceNumber, Roots};
use iogauge_model::load::SyncMode;
use rustix::fs::{Advice, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A block device.
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
    /// With the exclusive descriptor that keeps others off the device as long as it lives.
    WriteDevice(#[expect(dead_code, reason = "held, not used")] Arc<OwnedFd>),
}

/// One file or device of a target. Clones share its locks, which last until the last one goes.
#[derive(Debug, Clone)]
pub struct Part {
    /// Absolute path without symbolic links.
    pub path: PathBuf,
    /// What it is.
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
    /// What was found at the path; `None` until it is made.
    pub(super) identity: Option<Object>,
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
        flags |= OFlags::CLOEXEC | OFlags::NOFOLLOW;
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
    /// The descriptor.
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

    /// Opens the part; each worker may have a descriptor of its own.
    ///
    /// # Errors
    /// [`GuardError::ReadingOnly`] for writing where the guards were asked for reading,
    /// [`TargetError::DirectUnsupported`], [`TargetError::NotPrepared`] for a file yet to be made,
    /// [`TargetError::Changed`] where something else is at the path by now.
    pub fn open(&self, mode: OpenMode) -> Result<Opened, TargetError> {
        let Some(identity) = self.identity else {
            return Err(TargetError::NotPrepared { path: self.path.clone() });
        };
        if mode.write && !self.may_write() {
            return Err(GuardError::ReadingOnly { path: self.path.clone() }.into());
        }
        if mode.direct && self.goes_through_memory() {
            return Err(self.direct_unsupported());
        }
        let flags = mode.flags();
        let wants_noatime = matches!(self.kind, PartKind::File(_));
        let opened = if wants_noatime {
            match self.open_with(flags | OFlags::NOATIME) {
                Err(Errno::PERM) => self.open_with(flags).map(|fd| (fd, true)),
                other => other.map(|fd| (fd, false)),
            }
        } else {
            self.open_with(flags).map(|fd| (fd, false))
        };
        let (fd, atime_fallback) = opened.map_err(|error| self.open_error(error, mode))?;
        if identity_of(&fd) == Some(identity) {
            Ok(Opened { fd, atime_fallback })
        } else {
            Err(TargetError::Changed { path: self.path.clone() })
        }
    }

    fn open_with(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        rustix::fs::open(&self.path, flags, Mode::empty())
    }

    fn open_error(&self, error: Errno, mode: OpenMode) -> TargetError {
        let path = self.path.clone();
        match error {
            Errno::INVAL if mode.direct => self.direct_unsupported(),
            Errno::LOOP | Errno::NXIO => TargetError::Changed { path },
            Errno::ROFS | Errno::PERM | Errno::ACCESS if mode.write => {
                GuardError::ReadOnly { path, what: "it".into() }.into()
            }
            Errno::TXTBSY => {
                GuardError::Held { path, holder: "a process is executing it".into() }.into()
            }
            source => TargetError::io(&self.path, "open it", source),
        }
    }

    fn goes_through_memory(&self) -> bool {
        let volume = |name: &String| Volume { file_system: name.clone(), device: None }.is_memory();
        self.file_system.as_ref().is_some_and(volume)
    }

    fn direct_unsupported(&self) -> TargetError {
        TargetError::DirectUnsupported {
            path: self.path.clone(),
            file_system: self.file_system.clone().unwrap_or_else(|| "the device".into()),
        }
    }

    /// Takes identity and alignment from a file that exists.
    pub(super) fn look(&mut self, roots: &Roots) -> Result<(), TargetError> {
        let found = self.open_with(OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW);
        let file = found.map(File::from).map_err(|e| TargetError::io(&self.path, "open it", e))?;
        self.identity = identity_of(&file);
        self.logical_block_bytes = match self.kind {
            PartKind::BlockDevice => rustix::fs::ioctl_blksszget(&file)
                .map_err(|e| TargetError::io(&self.path, "ask for its block size", e))?,
            PartKind::File(_) => Volume::of(&self.path, roots)
                .map_or(4096, |volume| volume.logical_block_bytes(roots)),
        };
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

    /// The part as the document's `target` has it; device facts are in [`super::device_facts`].
    #[must_use]
    pub fn describe(&self) -> Value {
        let kind = match self.kind {
            PartKind::BlockDevice => "block_device",
            PartKind::File(_) => "file",
        };
        json!({
            "path": self.path.to_string_lossy(),
            "kind": kind,
            "made_by_iogauge": !matches!(
                self.kind,
                PartKind::BlockDevice | PartKind::File(FileOrigin::Foreign)
            ),
            "base_bytes": self.base_bytes,
            "size_bytes": self.size_bytes,
            "logical_block_bytes": self.logical_block_bytes,
            "dio_mem_align_bytes": self.dio_mem_align_bytes,
            "dio_offset_align_bytes": self.dio_offset_align_bytes,
            "file_system": self.file_system,
            "device": self.device,
        })
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
            self.lock = Some(Arc::new(lock(&self.path, self.may_write())?));
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

/// What an open descriptor is.
pub(super) fn identity_of(fd: impl std::os::fd::AsFd) -> Option<Object> {
    let stat = rustix::fs::fstat(fd).ok()?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => Some(Object::Device(DeviceNumber::from_raw(stat.st_rdev))),
        FileType::RegularFile => {
            Some(Object::File { device: DeviceNumber::from_raw(stat.st_dev), inode: stat.st_ino })
        }
        _ => None,
    }
}

/// Absolute path of a file whose last component may be missing and is not followed.
pub(super) fn in_real_directory(path: &Path) -> Result<PathBuf, TargetError> {
    let name = path.file_name().ok_or_else(|| TargetError::NotFound {
        path: path.into(),
        wanted: "a path that ends in a name".into(),
    })?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let directory = parent.canonicalize().map_err(|_| TargetError::NotFound {
        path: parent.into(),
        wanted: "a directory that exists".into(),
    })?;
    Ok(directory.join(name))
}
