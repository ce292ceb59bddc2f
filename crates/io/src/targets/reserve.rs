//! Keeps a reserve free on a disk, whatever runs on it.
//!
//! A check alone is not enough, because another run may use the same space right after it. So a prefill allocates its
//! blocks before it writes the first one (`fallocate`) and then checks that enough is left; otherwise it frees them. If
//! several prefills begin at once, each sees what the others have allocated. A lock on the mount point's directory
//! makes them allocate one after the other. It writes nothing, and the kernel releases it when the process ends.
//! Without the lock, each of two prefills might give way to the other although one of them fits.
//!
//! If blocks cannot be allocated in advance, the free space is checked while they are written: [`ReserveWatch`]. This
//! applies to file systems without `fallocate`, extents shared with another file, and foreign files, whose holes
//! iogauge cannot restore.

use super::error::TargetError;
use super::extents::{ExtentSource, extents};
use super::file_system::{FreeSpace, mount_point_of};
use super::marker::BASE_BYTES;
use super::part::{FileOrigin, Part, PartKind};
use crate::guard::GuardError;
use crate::kernel::Roots;
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Sizes suggested to the user are multiples of this.
pub(super) const SIZE_STEP_BYTES: u64 = 1 << 20;
/// Number of attempts, and the pause between them, while another run is allocating space.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Returns the bytes of a file that will be written: none without I/O, all if the workload writes, otherwise those
/// missing from the prefill.
pub(super) fn written_range(part: &Part) -> Range<u64> {
    let end = part.base_bytes.saturating_add(part.size_bytes);
    let start = match part.kind {
        PartKind::BlockDevice => end,
        PartKind::File(_) if !part.issues_io => end,
        PartKind::File(FileOrigin::ToMake) => 0,
        PartKind::File(_) if part.load_writes => part.base_bytes,
        PartKind::File(FileOrigin::Ours(header)) if part.may_write() => {
            part.base_bytes.saturating_add(header.prefilled_bytes)
        }
        PartKind::File(_) => end,
    };
    start.min(end)..end
}

/// Returns how much space writing a part uses on its file system: bytes without blocks of their own. Allocated but
/// unwritten blocks are not included.
pub(super) fn will_allocate(part: &Part) -> Result<u64, TargetError> {
    Ok(match unallocated(part)? {
        Unallocated { by_extents, by_blocks: Some(by_blocks) } => by_extents.max(by_blocks),
        Unallocated { by_extents, by_blocks: None } => by_extents,
    })
}

/// As [`will_allocate`], once the blocks have been allocated.
fn will_allocate_still(part: &Part) -> Result<u64, TargetError> {
    let found = unallocated(part)?;
    // Without a map of extents, allocated blocks that are not written look like holes (tmpfs).
    Ok(found.by_blocks.unwrap_or(found.by_extents))
}

/// Bytes of a file that have no blocks of their own.
struct Unallocated {
    by_extents: u64,
    /// By the number of blocks, if there is no map of extents: some file systems report holes as data then. Blocks of
    /// the rest of the file count, too.
    by_blocks: Option<u64>,
}

fn unallocated(part: &Part) -> Result<Unallocated, TargetError> {
    let range = written_range(part);
    let length = range.end - range.start;
    let Some(file) = part.judged.as_deref().filter(|_| length > 0) else {
        return Ok(Unallocated { by_extents: length, by_blocks: None });
    };
    let report = extents(file, &part.path, range.start, length)?;
    // A write to shared data copies it. A write to compressed data may not fit into its blocks.
    let copied = report.shared_bytes.saturating_add(report.encoded_bytes);
    let by_extents = report.hole_bytes.saturating_add(copied).min(length);
    let has_map = report.source == ExtentSource::Fiemap;
    let by_blocks = || {
        let about = file.metadata();
        let about = about.map_err(|source| TargetError::io(&part.path, "look at it", source))?;
        Ok::<_, TargetError>(length.saturating_sub(about.blocks().saturating_mul(512)))
    };
    Ok(Unallocated { by_extents, by_blocks: (!has_map).then(by_blocks).transpose()? })
}

fn is_written_file(part: &Part) -> bool {
    matches!(part.kind, PartKind::File(_)) && part.may_write()
}

/// Returns the free space of the file system that contains a file, or will.
pub(super) fn free_space_of(part: &Part) -> Result<FreeSpace, TargetError> {
    match (&part.judged, &part.place) {
        (Some(file), _) => FreeSpace::of(file, &part.path),
        (None, Some(place)) => FreeSpace::of(place.directory(), place.directory_path()),
        (None, None) => Err(TargetError::NotPrepared { path: part.path.clone() }),
    }
}

/// Checks that writing a file keeps the reserve free.
pub(super) fn check_reserve(part: &Part) -> Result<(), TargetError> {
    check_room_of(&[part])
}

/// Checks that files on the same file system fit together. Each has already been checked by itself.
pub(super) fn check_common_reserve(parts: &[Part]) -> Result<(), TargetError> {
    let mut volumes: Vec<(u64, Vec<&Part>)> = Vec::new();
    for part in parts.iter().filter(|part| is_written_file(part)) {
        let Some(place) = &part.place else { continue };
        let Ok(stat) = rustix::fs::fstat(place.directory()) else { continue };
        match volumes.iter_mut().find(|(device, _)| *device == stat.st_dev) {
            Some((_, own)) => own.push(part),
            None => volumes.push((stat.st_dev, vec![part])),
        }
    }
    let shared = volumes.iter().filter(|(_, own)| own.len() > 1);
    shared.map(|(_, own)| own).try_for_each(|own| check_room_of(own))
}

/// Checks that writing files on one file system keeps the reserve free. There must be at least one file.
fn check_room_of(parts: &[&Part]) -> Result<(), TargetError> {
    let (mut needed_bytes, mut sizes_bytes) = (0u64, 0u64);
    for part in parts {
        let needed = will_allocate(part)?;
        needed_bytes = needed_bytes.saturating_add(needed);
        // Making a file smaller saves nothing if it uses no further space.
        let size = if needed > 0 { part.size_bytes } else { 0 };
        sizes_bytes = sizes_bytes.saturating_add(size);
    }
    let Some(first) = parts.first().filter(|_| needed_bytes > 0) else { return Ok(()) };
    let room = free_space_of(first)?;
    let missing_bytes = needed_bytes.saturating_sub(room.spare_bytes());
    if missing_bytes == 0 {
        return Ok(());
    }
    let each = sizes_bytes.saturating_sub(missing_bytes) / parts.len() as u64;
    Err(no_room(first, needed_bytes, &room, each))
}

fn no_room(part: &Part, needed_bytes: u64, room: &FreeSpace, fits_bytes: u64) -> TargetError {
    GuardError::NoRoom {
        path: part.path.clone(),
        needed_bytes,
        reserve_bytes: room.reserve_bytes(),
        fits_bytes: fits_bytes / SIZE_STEP_BYTES * SIZE_STEP_BYTES,
    }
    .into()
}

/// Allocates the blocks of a file of ours that is to be written. Returns false if the file system cannot, so that a
/// [`ReserveWatch`] is needed.
///
/// # Errors
/// Returns a [`GuardError::NoRoom`] if less than the reserve would stay free. The caller must free what has been
/// allocated by then.
pub(super) fn reserve(part: &Part, file: &File, roots: &Roots) -> Result<bool, TargetError> {
    let _turn = turn(file, &part.path, roots);
    check_reserve(part)?;
    let range = written_range(part);
    let length = range.end - range.start;
    if length == 0 {
        return Ok(true);
    }
    let needed_bytes = will_allocate(part)?;
    let flags = FallocateFlags::KEEP_SIZE;
    loop {
        match rustix::fs::fallocate(file, flags, range.start, length) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC | Errno::DQUOT) => {
                return Err(no_room(part, needed_bytes, &free_space_of(part)?, 0));
            }
            Err(_) => return Ok(false),
        }
    }
    // Others may have used space meanwhile, and fallocate does not copy shared extents.
    let room = free_space_of(part)?;
    let still_needed = will_allocate_still(part)?;
    if room.available_bytes < room.reserve_bytes().saturating_add(still_needed) {
        let missing = room.reserve_bytes().saturating_add(still_needed) - room.available_bytes;
        return Err(no_room(part, needed_bytes, &room, part.size_bytes.saturating_sub(missing)));
    }
    Ok(still_needed == 0)
}

/// Frees blocks of a file of ours that are allocated but not written, between these usable bytes. Blocks that the file
/// system does not free stay allocated until the file is removed.
pub(super) fn release(file: &File, written_bytes: u64, end_bytes: u64) {
    let start = BASE_BYTES.saturating_add(written_bytes);
    let length = end_bytes.saturating_sub(written_bytes);
    if length > 0 {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(file, flags, start, length);
    }
}

/// Waits for this process's turn to allocate space on a file system. Returns `None` if locking is impossible or takes
/// too long; the free space is checked again after the allocation anyway.
fn turn(file: &File, path: &Path, roots: &Roots) -> Option<OwnedFd> {
    let point = mount_point_of(file, path, roots)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::open(&point, flags, Mode::empty()).ok()?;
    for _ in 0..LOCK_TRIES {
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(directory),
            Err(Errno::WOULDBLOCK) => thread::sleep(LOCK_PAUSE),
            Err(_) => return None,
        }
    }
    None
}

/// Checks the free space while files are written whose blocks could not be allocated in advance.
#[derive(Debug, Default)]
pub struct ReserveWatch {
    files: Vec<WatchedFile>,
}

#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    file: Arc<File>,
    /// Space that must stay free.
    floor_bytes: u64,
    /// Free space at the last check.
    available_bytes: u64,
}

impl ReserveWatch {
    /// Watches the parts that a workload writes and that may use more space meanwhile: those with holes or with shared
    /// or compressed extents, and all files on a copy-on-write file system.
    ///
    /// # Errors
    /// Fails if a part cannot be examined.
    pub fn of(parts: &[Part]) -> Result<Self, TargetError> {
        let mut watched = Self::default();
        for part in parts.iter().filter(|part| is_written_file(part) && part.load_writes) {
            if part.judged.is_some() && (is_copied(part) || will_allocate(part)? > 0) {
                watched.add(part)?;
            }
        }
        Ok(watched)
    }

    /// Watches a directory in which another program writes files.
    ///
    /// # Errors
    /// Fails if it cannot be examined.
    pub fn of_directory(path: &Path) -> Result<Self, TargetError> {
        let directory = File::open(path);
        let directory = directory.map_err(|source| TargetError::io(path, "look at it", source))?;
        let mut watched = Self::default();
        watched.add_file(path, Arc::new(directory))?;
        Ok(watched)
    }

    /// Adds a file whose file system writes blocks to a new place.
    pub(super) fn add_if_copied(&mut self, part: &Part) -> Result<(), TargetError> {
        if is_copied(part) { self.add(part) } else { Ok(()) }
    }

    pub(super) fn add(&mut self, part: &Part) -> Result<(), TargetError> {
        self.add_file(&part.path, Arc::clone(part.judged_file()?))
    }

    fn add_file(&mut self, path: &Path, file: Arc<File>) -> Result<(), TargetError> {
        let room = FreeSpace::of(&file, path)?;
        self.files.push(WatchedFile {
            path: path.to_owned(),
            file,
            // A disk that was already too full may be written if nothing has to be allocated.
            floor_bytes: room.reserve_bytes().min(room.available_bytes / 2),
            available_bytes: room.available_bytes,
        });
        Ok(())
    }

    /// Returns true if there is nothing to check.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Checks that the required space is free, and would still be free at the next check if twice as much is used until
    /// then as since the last check.
    ///
    /// # Errors
    /// Returns [`TargetError::ReserveReached`] if it is not.
    pub fn check(&mut self) -> Result<(), TargetError> {
        for watched in &mut self.files {
            let room = FreeSpace::of(&watched.file, &watched.path)?;
            let gone_bytes = watched.available_bytes.saturating_sub(room.available_bytes);
            watched.available_bytes = room.available_bytes;
            let margin_bytes = gone_bytes.saturating_mul(2);
            if room.available_bytes < watched.floor_bytes.saturating_add(margin_bytes) {
                return Err(TargetError::ReserveReached {
                    path: watched.path.clone(),
                    reserve_bytes: watched.floor_bytes,
                });
            }
        }
        Ok(())
    }
}

/// Returns true for a file whose file system writes a block to a new place.
fn is_copied(part: &Part) -> bool {
    let name = part.file_system.as_deref();
    name.is_some_and(|name| matches!(name, "btrfs" | "zfs" | "bcachefs" | "nilfs2" | "f2fs"))
}
