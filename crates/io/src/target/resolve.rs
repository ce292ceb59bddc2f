//! From what was typed to what will run.

use super::align::Alignment;
use super::error::TargetError;
use super::guard::{self, GuardError};
use super::marker::{BASE_BYTES, Header, Ownership, TEST_FILE_NAME, ownership};
use super::part::{FileOrigin, OpenMode, Part, PartKind, Permission, in_real_directory};
use super::volume::{Room, Volume};
use crate::kernel::{DeviceNumber, Roots};
use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size of a new test file where none is asked for and the disk has the room.
pub const DEFAULT_SIZE_BYTES: u64 = 1 << 30;
/// Sizes chosen for the user are whole mebibytes.
const SIZE_STEP_BYTES: u64 = 1 << 20;

/// What a run wants to do with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intent {
    /// True where the load writes.
    pub writes: bool,
    /// True where the user typed `--destroy-data`.
    pub destroy_data: bool,
    /// True where the user typed `--overwrite`.
    pub overwrite: bool,
    /// Usable size of each part in bytes. `None` for all of a device or an existing file, and for
    /// a new file for 1 GiB or, on a disk without room for that, all it can spare.
    pub size_bytes: Option<u64>,
    /// True where the load bypasses the page cache.
    pub direct: bool,
    /// True where a missing test file may be made.
    pub create: bool,
}

impl Default for Intent {
    /// Reads directly, makes its test file.
    fn default() -> Self {
        Self {
            writes: false,
            destroy_data: false,
            overwrite: false,
            size_bytes: None,
            direct: true,
            create: true,
        }
    }
}

/// A target that the guards let pass.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its files and devices, in the order given.
    pub parts: Vec<Part>,
}

impl Target {
    /// Finds out what the paths are and lets the guards judge them. Makes and changes nothing;
    /// block devices to be written are taken exclusively until the target is dropped.
    ///
    /// # Errors
    /// [`TargetError::Guard`] for a refusal, others where something is missing or does not fit.
    pub fn resolve(paths: &[PathBuf], intent: &Intent, roots: &Roots) -> Result<Self, TargetError> {
        let wanted: Vec<_> = paths.iter().map(|path| (path.clone(), *intent)).collect();
        let target = Self::resolve_each(&wanted, roots)?;
        if target.parts.is_empty() { Err(TargetError::Nothing) } else { Ok(target) }
    }

    /// As [`Self::resolve`], with an intent for each path. Without any the target has no parts.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_each(wanted: &[(PathBuf, Intent)], roots: &Roots) -> Result<Self, TargetError> {
        let mut parts: Vec<Part> = Vec::new();
        for (path, intent) in wanted {
            let part = resolve_path(path, intent, roots)?;
            let same = |known: &&Part| {
                known.path == part.path
                    || (known.identity.is_some() && known.identity == part.identity)
            };
            if let Some(known) = parts.iter().find(same) {
                let (first, second) = (known.path.clone(), path.clone());
                return Err(TargetError::NamedTwice { first, second });
            }
            parts.push(part);
        }
        check_common_room(&parts)?;
        Ok(Self { parts })
    }

    /// Keeps other runs of iogauge off the target's files until it is dropped.
    ///
    /// # Errors
    /// [`GuardError::InUse`] where one is there, [`TargetError::NotPrepared`] before the prefill
    /// has made the files.
    pub fn lock(&mut self) -> Result<(), TargetError> {
        self.parts.iter_mut().try_for_each(Part::take_lock)
    }
}

fn resolve_path(path: &Path, intent: &Intent, roots: &Roots) -> Result<Part, TargetError> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            let directory = path
                .canonicalize()
                .map_err(|source| TargetError::io(path, "find where it leads", source))?;
            let file = directory.join(TEST_FILE_NAME);
            match fs::metadata(&file) {
                Ok(meta) if !meta.is_file() => Err(wrong_kind(&file, meta.file_type()).into()),
                found => resolve_file(&file, found.is_ok(), intent, roots),
            }
        }
        Ok(meta) if meta.file_type().is_block_device() => {
            resolve_device(path, DeviceNumber::from_raw(meta.rdev()), intent, roots)
        }
        Ok(meta) if meta.is_file() => resolve_file(path, true, intent, roots),
        Ok(meta) => Err(wrong_kind(path, meta.file_type()).into()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            resolve_file(path, false, intent, roots)
        }
        Err(source) => Err(TargetError::io(path, "look at it", source)),
    }
}

fn wrong_kind(path: &Path, kind: FileType) -> GuardError {
    let kind = match kind {
        kind if kind.is_char_device() => "character device",
        kind if kind.is_fifo() => "named pipe",
        kind if kind.is_socket() => "socket",
        kind if kind.is_dir() => "directory",
        _ => "block device",
    };
    GuardError::WrongKind { path: path.into(), kind }
}

fn resolve_device(
    path: &Path,
    number: DeviceNumber,
    intent: &Intent,
    roots: &Roots,
) -> Result<Part, TargetError> {
    let path = path
        .canonicalize()
        .map_err(|source| TargetError::io(path, "find where it leads", source))?;
    let mut part = Part {
        kind: PartKind::BlockDevice,
        base_bytes: 0,
        size_bytes: 0,
        logical_block_bytes: 0,
        dio_mem_align_bytes: 0,
        dio_offset_align_bytes: 0,
        file_system: None,
        device: Some(number),
        identity: None,
        permission: Permission::Read,
        lock: None,
        path,
    };
    if intent.writes {
        let claim = guard::claim_for_writing(&part.path, number, intent.destroy_data, roots)?;
        part.permission = Permission::WriteDevice(Arc::new(claim));
    }
    part.look(roots)?;
    let end = part.open(OpenMode::reading(false)).and_then(|opened| {
        rustix::fs::seek(&opened.fd, rustix::fs::SeekFrom::End(0))
            .map_err(|source| TargetError::io(&part.path, "ask for its size", source))
    })?;
    part.size_bytes = existing_size(&part, end, intent)?;
    Ok(part)
}

fn resolve_file(
    path: &Path,
    exists: bool,
    intent: &Intent,
    roots: &Roots,
) -> Result<Part, TargetError> {
    let is_link = path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    if is_link && (intent.writes || !exists) {
        let leads_to = path.canonicalize().or_else(|_| fs::read_link(path)).unwrap_or_default();
        return Err(GuardError::Symlink { path: path.into(), leads_to }.into());
    }
    if !exists && !intent.create {
        return Err(TargetError::NotFound {
            path: path.into(),
            wanted: format!("iogauge prepare {}", path.display()),
        });
    }
    let path = if is_link {
        path.canonicalize()
            .map_err(|source| TargetError::io(path, "find where it leads", source))?
    } else {
        in_real_directory(path)?
    };
    let volume = Volume::of(&path, roots);
    let part = Part {
        kind: PartKind::File(FileOrigin::ToMake),
        base_bytes: BASE_BYTES,
        size_bytes: 0,
        logical_block_bytes: volume.as_ref().map_or(4096, |v| v.logical_block_bytes(roots)),
        dio_mem_align_bytes: 0,
        dio_offset_align_bytes: 0,
        file_system: volume.as_ref().map(|v| v.file_system.clone()),
        device: volume.as_ref().and_then(|v| v.device),
        identity: None,
        permission: Permission::Read,
        lock: None,
        path,
    };
    if !exists {
        return to_make(part, volume, intent);
    }
    match ownership(&part.path)? {
        Ownership::Ours(header) => ours(part, header, intent, roots),
        Ownership::NotOurs(reason) => foreign(part, reason, intent, roots),
    }
}

fn to_make(mut part: Part, volume: Option<Volume>, intent: &Intent) -> Result<Part, TargetError> {
    let directory = part.path.parent().unwrap_or(Path::new("/")).to_owned();
    guard::directory_takes_files(&directory)?;
    if intent.direct && volume.is_some_and(|volume| volume.is_memory()) {
        return Err(TargetError::DirectUnsupported {
            file_system: part.file_system.unwrap_or_default(),
            path: part.path,
        });
    }
    let alignment = Alignment::cautious(part.logical_block_bytes.max(4096));
    part.dio_mem_align_bytes = alignment.memory_bytes;
    part.dio_offset_align_bytes = alignment.offset_bytes;
    part.permission = Permission::WriteFile;
    let asked = match intent.size_bytes {
        Some(asked) => asked,
        None => default_size(&Room::of(&directory)?),
    };
    part.size_bytes = whole_blocks(&part, asked)?;
    check_room(&part)?;
    Ok(part)
}

/// 1 GiB, or what the disk can spare.
fn default_size(room: &Room) -> u64 {
    let spare = room.spare_bytes().saturating_sub(BASE_BYTES) / SIZE_STEP_BYTES * SIZE_STEP_BYTES;
    // With no room at all the guard's message should speak of a size worth having.
    if spare == 0 { DEFAULT_SIZE_BYTES } else { spare.min(DEFAULT_SIZE_BYTES) }
}

fn ours(
    mut part: Part,
    header: Header,
    intent: &Intent,
    roots: &Roots,
) -> Result<Part, TargetError> {
    part.kind = PartKind::File(FileOrigin::Ours(header));
    // Taken and let go: a run under way shows before its open file looks like a stranger's.
    drop(super::marker::lock(&part.path, false)?);
    match guard::takes_writes(&part.path, roots) {
        Ok(()) => part.permission = Permission::WriteFile,
        Err(refusal) if intent.writes => return Err(refusal),
        Err(_) => {}
    }
    part.look(roots)?;
    check_direct(&part, intent)?;
    part.size_bytes = whole_blocks(&part, intent.size_bytes.unwrap_or(header.size_bytes))?;
    check_room(&part)?;
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
        guard::takes_writes(&part.path, roots)?;
        part.permission = Permission::WriteFile;
    }
    part.look(roots)?;
    check_direct(&part, intent)?;
    let length = fs::metadata(&part.path)
        .map_err(|source| TargetError::io(&part.path, "ask for its size", source))?
        .len();
    part.size_bytes = existing_size(&part, length, intent)?;
    if part.may_write() {
        // Writing into its holes takes room as a new file does.
        check_room(&part)?;
    }
    Ok(part)
}

/// Opens the part as the load will, to hear now where that cannot be.
fn check_direct(part: &Part, intent: &Intent) -> Result<(), TargetError> {
    part.open(OpenMode::reading(intent.direct)).map(drop)
}

/// Usable size of something that cannot grow.
fn existing_size(part: &Part, end_bytes: u64, intent: &Intent) -> Result<u64, TargetError> {
    match intent.size_bytes {
        Some(asked_bytes) if asked_bytes > end_bytes => Err(TargetError::SizeBeyondEnd {
            path: part.path.clone(),
            size_bytes: end_bytes,
            asked_bytes,
        }),
        asked => whole_blocks(part, asked.unwrap_or(end_bytes)),
    }
}

/// The size without the part of a block at its end.
fn whole_blocks(part: &Part, size_bytes: u64) -> Result<u64, TargetError> {
    let block_bytes = u64::from(part.block_bytes());
    let whole = size_bytes / block_bytes * block_bytes;
    if whole == 0 {
        return Err(TargetError::TooSmall { path: part.path.clone(), size_bytes, block_bytes });
    }
    Ok(whole)
}

/// Checks that writing all blocks of a file leaves the disk its reserve.
pub(super) fn check_room(part: &Part) -> Result<(), TargetError> {
    check_room_of(&[part])
}

/// Each file fits alone by now; those on one file system have to fit together.
fn check_common_room(parts: &[Part]) -> Result<(), TargetError> {
    let is_file = |part: &&Part| matches!(part.kind, PartKind::File(_)) && part.may_write();
    let mut volumes: Vec<(u64, Vec<&Part>)> = Vec::new();
    for part in parts.iter().filter(is_file) {
        let Ok(meta) = fs::metadata(directory_of(part)) else { continue };
        match volumes.iter_mut().find(|(device, _)| *device == meta.dev()) {
            Some((_, own)) => own.push(part),
            None => volumes.push((meta.dev(), vec![part])),
        }
    }
    let shared = volumes.iter().filter(|(_, own)| own.len() > 1);
    shared.map(|(_, own)| own).try_for_each(|own| check_room_of(own))
}

/// Checks that writing all blocks of files on one file system, at least one, leaves it its reserve.
fn check_room_of(parts: &[&Part]) -> Result<(), TargetError> {
    let (mut needed_bytes, mut allocated_bytes, mut bases_bytes) = (0u64, 0u64, 0u64);
    for part in parts.iter().filter(|part| !is_prefilled(part)) {
        // Blocks beyond the asked size count as well: they are there and need not be written.
        let allocated =
            fs::metadata(&part.path).map_or(0, |meta| meta.blocks().saturating_mul(512));
        let needed = part.base_bytes.saturating_add(part.size_bytes).saturating_sub(allocated);
        needed_bytes = needed_bytes.saturating_add(needed);
        allocated_bytes = allocated_bytes.saturating_add(allocated);
        bases_bytes = bases_bytes.saturating_add(part.base_bytes);
    }
    let Some(first) = parts.first().filter(|_| needed_bytes > 0) else { return Ok(()) };
    let room = Room::of(directory_of(first))?;
    if needed_bytes <= room.spare_bytes() {
        return Ok(());
    }
    let fits = room.spare_bytes().saturating_add(allocated_bytes).saturating_sub(bases_bytes);
    let each = fits / parts.len() as u64;
    Err(GuardError::NoRoom {
        path: first.path.clone(),
        needed_bytes,
        reserve_bytes: room.reserve_bytes(),
        fits_bytes: each / SIZE_STEP_BYTES * SIZE_STEP_BYTES,
    }
    .into())
}

fn directory_of(part: &Part) -> &Path {
    part.path.parent().unwrap_or(Path::new("/"))
}

fn is_prefilled(part: &Part) -> bool {
    match part.kind {
        PartKind::File(FileOrigin::Ours(header)) => header.prefilled_bytes >= part.size_bytes,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_size_never_takes_the_reserve() {
        let gib = 1u64 << 30;
        let room = |available| Room { total_bytes: 10 * gib, available_bytes: available };
        assert_eq!(default_size(&room(5 * gib)), gib);
        let tight = default_size(&room(gib + gib / 2));
        assert_eq!(tight, gib / 2 - BASE_BYTES);
        assert!(room(gib + gib / 2).available_bytes - tight - BASE_BYTES >= gib);
    }
}
