//! Turns the paths given by the user into checked parts.

use super::alignment::Alignment;
use super::descriptor::{
    Identity, kind_of, look_at, look_at_directory, real_path, reopen, reopen_error, reopen_quietly,
};
use super::error::TargetError;
use super::file_system::{FileSystem, FreeSpace};
use super::header::Header;
use super::marker::{BASE_BYTES, Ownership, TEST_FILE_NAME, judge, test_file_of_host};
use super::part::{FileOrigin, OpenMode, Part, PartKind, Permission};
use super::place::FilePlace;
use super::reserve::{SIZE_STEP_BYTES, check_common_reserve, check_reserve, written_range};
use crate::guard::{self, Consent, GuardError};
use crate::kernel::{Roots, is_among_devices};
use rustix::fs::{CWD, FileType, OFlags, SeekFrom};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size of a new test file if none is given and the disk has enough space.
pub const DEFAULT_SIZE_BYTES: u64 = 1 << 30;

/// The place of this host among several that use a target at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostNumber {
    /// Number of this host, from 1. The first host leads.
    pub number: u32,
    /// Number of hosts.
    pub hosts: u32,
}

/// What a run intends to do with its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// True if the workload writes.
    pub writes: bool,
    /// True if the user gave `--destroy-data`.
    pub destroy_data: bool,
    /// True if the user gave `--overwrite-file`.
    pub overwrite: bool,
    /// Usable size of each part in bytes. `None` means all of a device or existing file, and for a new file 1 GiB, or
    /// all that the disk can spare if that is less.
    pub size_bytes: Option<u64>,
    /// First usable byte that a workload uses. Nothing is written before it to what iogauge did not make.
    pub offset_bytes: u64,
    /// True if the workload bypasses the page cache.
    pub direct: bool,
    /// True if a missing test file may be created.
    pub create: bool,
    /// False if the engine issues no I/O. Files are then neither created nor written and need no space.
    pub issues_io: bool,
    /// The place of this host, if several use the target at once. In a directory, each has a file of its own.
    pub host: Option<HostNumber>,
    /// True if hosts share the file of a directory, and each host uses a region of its own in every file.
    pub shared_file: bool,
    /// Identities of block devices, typed with `--shared-device`. If there are any, no other device is written.
    pub shared_devices: Vec<String>,
}

impl Default for Intent {
    /// Direct reads; creates a missing test file.
    fn default() -> Self {
        Self {
            writes: false,
            destroy_data: false,
            overwrite: false,
            size_bytes: None,
            offset_bytes: 0,
            direct: true,
            create: true,
            issues_io: true,
            host: None,
            shared_file: false,
            shared_devices: Vec::new(),
        }
    }
}

/// A target that has passed the guards.
#[derive(Debug, Clone)]
pub struct Target {
    /// Files and devices, in the order given.
    pub parts: Vec<Part>,
}

impl Target {
    /// Examines the paths and has the guards check them. Creates and changes nothing. Block devices to be written are
    /// claimed exclusively until the target is dropped.
    ///
    /// # Errors
    /// Returns [`TargetError::Guard`] for a refusal, and other errors if something is missing or does not fit.
    pub fn resolve(paths: &[PathBuf], intent: &Intent, roots: &Roots) -> Result<Self, TargetError> {
        let wanted: Vec<_> = paths.iter().map(|path| (path.clone(), intent.clone())).collect();
        let target = Self::resolve_each(&wanted, roots)?;
        if target.parts.is_empty() { Err(TargetError::Nothing) } else { Ok(target) }
    }

    /// Like [`Self::resolve`], with an intent for each path. Without paths the target has no parts.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_each(wanted: &[(PathBuf, Intent)], roots: &Roots) -> Result<Self, TargetError> {
        let mut parts: Vec<Part> = Vec::new();
        for (path, intent) in wanted {
            let part = resolve_path(path, intent, roots)?;
            check_file_limit(&part)?;
            let same = |known: &&Part| {
                known.path == part.path
                    || (known.judged.is_some() && known.identity() == part.identity())
            };
            if let Some(known) = parts.iter().find(same) {
                let (first, second) = (known.path.clone(), path.clone());
                return Err(TargetError::NamedTwice { first, second });
            }
            parts.push(part);
        }
        check_common_reserve(&parts)?;
        Ok(Self { parts })
    }

    /// Locks the target's files against other runs of iogauge until it is dropped.
    ///
    /// # Errors
    /// Returns [`GuardError::InUse`] if another run is using a file, or [`TargetError::NotPrepared`] if the prefill has
    /// not created the files yet.
    pub fn lock(&mut self) -> Result<(), TargetError> {
        self.parts.iter_mut().try_for_each(Part::take_lock)
    }
}

fn resolve_path(path: &Path, intent: &Intent, roots: &Roots) -> Result<Part, TargetError> {
    match look_at(CWD, path, true) {
        Ok(found) => match kind_of(&found, path)? {
            FileType::Directory => {
                // Opening it again triggers automounts.
                let directory = look_at_directory(path)
                    .map_err(|source| TargetError::io(path, "open it", source))?;
                let own = intent.host.filter(|_| !intent.shared_file);
                let name = own.map_or_else(
                    || TEST_FILE_NAME.to_owned(),
                    |host| test_file_of_host(host.number),
                );
                resolve_file(FilePlace::within(directory, &name, path)?, intent, roots)
            }
            FileType::BlockDevice => resolve_device(path, &found, intent, roots),
            FileType::RegularFile => resolve_file(FilePlace::of(path)?, intent, roots),
            other => Err(wrong_kind(path, other).into()),
        },
        Err(Errno::NOENT) => resolve_file(FilePlace::of(path)?, intent, roots),
        Err(source) => Err(TargetError::io(path, "look at it", source)),
    }
}

fn wrong_kind(path: &Path, kind: FileType) -> GuardError {
    let kind = match kind {
        FileType::CharacterDevice => "character device",
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        FileType::Directory => "directory",
        _ => "block device",
    };
    GuardError::WrongKind { path: path.into(), kind }
}

fn resolve_device(
    path: &Path,
    found: &OwnedFd,
    intent: &Intent,
    roots: &Roots,
) -> Result<Part, TargetError> {
    // While the device is open, its number is not reused.
    let judged = reopen(found, OFlags::RDONLY).map_err(|error| reopen_error(path, error))?;
    let Some(Identity::Device(number)) = Identity::of(&judged) else {
        return Err(TargetError::Changed { path: path.into() });
    };
    let judged = File::from(judged);
    let mut part = Part {
        kind: PartKind::BlockDevice,
        base_bytes: 0,
        size_bytes: 0,
        logical_block_bytes: 0,
        dio_mem_align_bytes: 0,
        dio_offset_align_bytes: 0,
        file_system: None,
        device: Some(number),
        place: None,
        load_writes: intent.writes,
        issues_io: intent.issues_io,
        host: intent.host,
        is_divided: intent.shared_file,
        offset_bytes: intent.offset_bytes,
        permission: Permission::Read,
        lock: None,
        path: real_path(found, path)?,
        judged: None,
    };
    if intent.writes {
        let consent = Consent {
            destroy_data: intent.destroy_data,
            several_hosts: intent.host.is_some_and(|host| host.hosts > 1),
            shared_devices: &intent.shared_devices,
        };
        let claims = guard::claim_for_writing(&judged, &part.path, number, consent, roots)?;
        part.permission = Permission::WriteDevice(Arc::new(claims));
    }
    let end = rustix::fs::seek(&judged, SeekFrom::End(0))
        .map_err(|source| TargetError::io(&part.path, "ask for its size", source))?;
    part.judged = Some(Arc::new(judged));
    part.look()?;
    part.size_bytes = existing_size(&part, end, intent)?;
    Ok(part)
}

/// Returns the file of a place, open, or prepares to create it there.
fn resolve_file(place: FilePlace, intent: &Intent, roots: &Roots) -> Result<Part, TargetError> {
    let found = place.look()?;
    let Some(found) = found else {
        if intent.create {
            return to_make(place, intent, roots);
        }
        return Err(TargetError::NotFound {
            wanted: format!("iogauge prepare {}", place.path().display()),
            path: place.path().into(),
        });
    };
    match kind_of(&found, place.path())? {
        FileType::RegularFile => existing(&found, place, intent, roots),
        FileType::Symlink => through_link(&place, intent, roots),
        other => Err(wrong_kind(place.path(), other).into()),
    }
}

/// Follows a symbolic link for reading an existing file, but never for writing.
fn through_link(place: &FilePlace, intent: &Intent, roots: &Roots) -> Result<Part, TargetError> {
    let path = place.path();
    let leads_to = look_at(place.directory(), place.name(), true);
    let found = match leads_to {
        Ok(found) if !intent.writes => found,
        _ => {
            let leads_to = path.canonicalize().or_else(|_| path.read_link()).unwrap_or_default();
            return Err(GuardError::Symlink { path: path.into(), leads_to }.into());
        }
    };
    match kind_of(&found, path)? {
        FileType::RegularFile => {
            let real = FilePlace::of(&real_path(&found, path)?)?;
            if real.identity() != Identity::of(&found) {
                return Err(TargetError::Changed { path: path.into() });
            }
            existing(&found, real, intent, roots)
        }
        other => Err(wrong_kind(path, other).into()),
    }
}

fn file_part(place: FilePlace, volume: Option<FileSystem>, intent: &Intent, roots: &Roots) -> Part {
    Part {
        kind: PartKind::File(FileOrigin::ToMake),
        base_bytes: BASE_BYTES,
        size_bytes: 0,
        logical_block_bytes: volume.as_ref().map_or(4096, |v| v.logical_block_bytes(roots)),
        dio_mem_align_bytes: 0,
        dio_offset_align_bytes: 0,
        device: volume.as_ref().and_then(|v| v.device),
        file_system: volume.map(|v| v.file_system),
        judged: None,
        load_writes: intent.writes,
        issues_io: intent.issues_io,
        host: intent.host,
        is_divided: intent.shared_file,
        offset_bytes: intent.offset_bytes,
        permission: Permission::Read,
        lock: None,
        path: place.path().to_owned(),
        place: Some(place),
    }
}

fn existing(
    found: &OwnedFd,
    place: FilePlace,
    intent: &Intent,
    roots: &Roots,
) -> Result<Part, TargetError> {
    // Checked before opening, because opening some kernel files has side effects.
    guard::holds_data(found, place.path())?;
    let judged = reopen_quietly(found, OFlags::RDONLY);
    let judged = judged.map_err(|error| reopen_error(place.path(), error))?;
    let volume = FileSystem::of(&judged, place.path(), roots);
    let ownership = judge(&judged, &place)?;
    let part = Part { judged: Some(Arc::new(judged)), ..file_part(place, volume, intent, roots) };
    match ownership {
        Ownership::Ours(header) => ours(part, header, intent, roots),
        Ownership::NotOurs(reason) => foreign(part, reason, intent, roots),
    }
}

fn to_make(place: FilePlace, intent: &Intent, roots: &Roots) -> Result<Part, TargetError> {
    guard::holds_data(place.directory(), place.directory_path())?;
    if is_among_devices(place.directory()) {
        return Err(GuardError::AmongDevices { path: place.path().into() }.into());
    }
    guard::directory_takes_files(place.directory(), place.directory_path())?;
    let volume = FileSystem::of(place.directory(), place.path(), roots);
    if intent.direct && volume.as_ref().is_some_and(FileSystem::is_memory) {
        return Err(TargetError::DirectUnsupported {
            file_system: volume.map(|v| v.file_system).unwrap_or_default(),
            path: place.path().into(),
        });
    }
    let room = FreeSpace::of(place.directory(), place.directory_path())?;
    let mut part = file_part(place, volume, intent, roots);
    let alignment = Alignment::cautious(part.logical_block_bytes.max(4096));
    part.dio_mem_align_bytes = alignment.memory_bytes;
    part.dio_offset_align_bytes = alignment.offset_bytes;
    part.permission = Permission::WriteFile;
    part.size_bytes = in_blocks(&part, intent.size_bytes.unwrap_or(default_size(&room)));
    check_reserve(&part)?;
    Ok(part)
}

/// Returns 1 GiB, or what the disk can spare.
fn default_size(room: &FreeSpace) -> u64 {
    let spare = room.spare_bytes().saturating_sub(BASE_BYTES) / SIZE_STEP_BYTES * SIZE_STEP_BYTES;
    // If there is no space at all, the guard's message should mention a useful size.
    if spare == 0 { DEFAULT_SIZE_BYTES } else { spare.min(DEFAULT_SIZE_BYTES) }
}

fn ours(
    mut part: Part,
    header: Header,
    intent: &Intent,
    roots: &Roots,
) -> Result<Part, TargetError> {
    part.kind = PartKind::File(FileOrigin::Ours(header));
    // Locks and unlocks the file, so that a run in progress is reported as such, not as a foreign process that has the
    // file open.
    if !part.is_led() {
        drop(super::marker::lock(part.judged_file()?, &part.path, false)?);
    }
    match guard::takes_writes(part.judged()?, &part.path, true, roots) {
        Ok(()) => part.permission = Permission::WriteFile,
        Err(refusal) if intent.writes => return Err(refusal),
        // The leading process has just made it, on this machine. This one could not write its share.
        Err(refusal @ TargetError::Guard(GuardError::Held { .. })) if part.is_led() => {
            return Err(refusal);
        }
        Err(_) => {}
    }
    part.look()?;
    check_direct(&part, intent)?;
    part.size_bytes = in_blocks(&part, intent.size_bytes.unwrap_or(header.size_bytes));
    check_reserve(&part)?;
    Ok(part)
}

fn foreign(
    mut part: Part,
    reason: String,
    intent: &Intent,
    roots: &Roots,
) -> Result<Part, TargetError> {
    part.kind = PartKind::File(FileOrigin::Foreign);
    part.base_bytes = 0;
    if intent.writes {
        if !intent.overwrite {
            return Err(GuardError::NotOurs { path: part.path, reason }.into());
        }
        guard::takes_writes(part.judged()?, &part.path, false, roots)?;
        part.permission = Permission::WriteFile;
    }
    part.look()?;
    check_direct(&part, intent)?;
    let length = part
        .judged_file()?
        .metadata()
        .map_err(|source| TargetError::io(&part.path, "ask for its size", source))?
        .len();
    part.size_bytes = existing_size(&part, length, intent)?;
    check_reserve(&part)?;
    Ok(part)
}

/// Opens the part as the workload will, to report errors early.
fn check_direct(part: &Part, intent: &Intent) -> Result<(), TargetError> {
    part.open(OpenMode::reading(intent.direct)).map(drop)
}

/// Checks that this process may write a file up to its end (`ulimit -f`).
fn check_file_limit(part: &Part) -> Result<(), TargetError> {
    let end_bytes = part.base_bytes.saturating_add(part.size_bytes);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    match limit.filter(|limit_bytes| written_range(part).end > *limit_bytes) {
        Some(limit_bytes) if !written_range(part).is_empty() => {
            Err(TargetError::FileLimit { path: part.path.clone(), end_bytes, limit_bytes })
        }
        _ => Ok(()),
    }
}

/// Returns the usable size of a device or file that cannot grow.
fn existing_size(part: &Part, end_bytes: u64, intent: &Intent) -> Result<u64, TargetError> {
    let size_bytes = intent.size_bytes.unwrap_or(end_bytes);
    if size_bytes > end_bytes {
        return Err(TargetError::SizeBeyondEnd {
            path: part.path.clone(),
            size_bytes: end_bytes,
            asked_bytes: size_bytes,
            offset_bytes: intent.offset_bytes,
        });
    }
    // Through the page cache, I/O reaches any byte of a file.
    let is_exact = !intent.direct && part.kind != PartKind::BlockDevice;
    let block_bytes = if is_exact { 1 } else { u64::from(part.block_bytes()) };
    if size_bytes < block_bytes {
        return Err(TargetError::TooSmall { path: part.path.clone(), size_bytes, block_bytes });
    }
    Ok(size_bytes - size_bytes % block_bytes)
}

/// Returns the usable size of a file that iogauge creates or may enlarge: the requested size, rounded up to whole
/// blocks.
fn in_blocks(part: &Part, size_bytes: u64) -> u64 {
    let block_bytes = u64::from(part.block_bytes());
    size_bytes.max(1).checked_next_multiple_of(block_bytes).unwrap_or(size_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_file_size_leaves_the_reserve_free() {
        let gib = 1u64 << 30;
        let room = |available| FreeSpace { total_bytes: 10 * gib, available_bytes: available };
        assert_eq!(default_size(&room(5 * gib)), gib);
        let tight = default_size(&room(gib + gib / 2));
        assert_eq!(tight, gib / 2 - BASE_BYTES);
        assert!(room(gib + gib / 2).available_bytes - tight - BASE_BYTES >= gib);
    }
}
