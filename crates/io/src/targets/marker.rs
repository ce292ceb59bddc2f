//! Recognizes the files that iogauge made.
//!
//! A test file begins with [`BASE_BYTES`] that no workload touches. Their first block is a header. Its random identity
//! is repeated in the extended attribute `user.iogauge`, or in a side file `NAME.iogauge` if the file system does not
//! support such attributes. A file is ours only if both agree. So a copy of the first block, or of the attribute, does
//! not allow a file to be overwritten. A file longer than its header says is not ours either, because somebody has
//! appended to it.

use super::creation::{create, remove_made};
use super::descriptor::{Identity, kind_of, reopen_error, reopen_quietly};
use super::error::TargetError;
use super::header::{HEADER_BYTES, Header};
use super::place::{FilePlace, side_name};
use crate::guard::{GuardError, unless_held_for_long};
use iogauge_model::units::Bytes;
use rustix::fs::{FileType, FlockOperation, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Offset of the first byte of a test file that a workload may touch.
pub const BASE_BYTES: u64 = 1 << 20;

/// Name of the test file in a target directory.
pub const TEST_FILE_NAME: &str = "iogauge.dat";

/// Returns the name of one of several test files in a directory. Numbers start at 1.
#[must_use]
pub fn numbered_test_file(number: u32) -> String {
    format!("iogauge-{number}.dat")
}

/// Returns the name of the test file of one of several hosts that use a directory at once. Numbers start at 1.
#[must_use]
pub fn test_file_of_host(number: u32) -> String {
    format!("iogauge-host-{number}.dat")
}

/// Returns true for the names returned by [`numbered_test_file`] and [`test_file_of_host`].
pub(super) fn is_numbered_test_file(name: &str) -> bool {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit()).strip_suffix(".dat");
    let number = digits.and_then(|digits| digits.parse().ok());
    number.is_some_and(|n| name == numbered_test_file(n) || name == test_file_of_host(n))
}

pub(super) const ATTRIBUTE: &str = "user.iogauge";

/// Who made a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// iogauge made it.
    Ours(Header),
    /// iogauge did not make it, or can no longer tell. Contains the reason.
    NotOurs(String),
}

/// Determines who made the file at a path.
///
/// # Errors
/// Fails if the file does not exist or cannot be read.
pub fn ownership(path: &Path) -> Result<Ownership, TargetError> {
    let place = FilePlace::of(path)?;
    let Some(found) = place.look()? else {
        return Err(TargetError::io(path, "look at it", Errno::NOENT));
    };
    if kind_of(&found, path)? != FileType::RegularFile {
        return Ok(Ownership::NotOurs("it is not a regular file".into()));
    }
    let flags = OFlags::RDONLY;
    let file = reopen_quietly(&found, flags).map_err(|error| reopen_error(path, error))?;
    judge(&file, &place)
}

/// Determines who made the open file of a place.
///
/// # Errors
/// Fails if it cannot be read.
pub(super) fn judge(file: &File, place: &FilePlace) -> Result<Ownership, TargetError> {
    let Some(header) = read_header(file, place.path())? else {
        return Ok(Ownership::NotOurs("its first block is not iogauge's".into()));
    };
    let about = file.metadata();
    let about = about.map_err(|source| TargetError::io(place.path(), "look at it", source))?;
    let more_bytes = about.len().saturating_sub(length_of(&header));
    if more_bytes > 0 {
        let reason = format!("it has {} more than iogauge made", Bytes(more_bytes));
        return Ok(Ownership::NotOurs(reason));
    }
    let seal = header.seal();
    let found = attribute(file).or_else(|| read_side(&place.side()).map(|(_, content)| content));
    Ok(match found {
        Some(found) if found == seal.as_bytes() => Ownership::Ours(header),
        Some(_) => Ownership::NotOurs("its first block and its attribute disagree".into()),
        None => Ownership::NotOurs(format!(
            "it looks like a copy: neither attribute {ATTRIBUTE} nor {} is there",
            place.side().path().display()
        )),
    })
}

/// Returns the header of an open file; `None` if it has none.
pub(super) fn read_header(file: &File, path: &Path) -> Result<Option<Header>, TargetError> {
    let mut block = [0; HEADER_BYTES];
    let read = file.read_at(&mut block, 0);
    let length = read.map_err(|source| TargetError::io(path, "read its marker", source))?;
    Ok(Header::decode(&block[..length]))
}

/// Returns the path of a test file's side file.
#[must_use]
pub fn side_file(path: &Path) -> PathBuf {
    PathBuf::from(side_name(path.as_os_str()))
}

/// Returns the identity of a side file and its content, up to the length that a seal needs.
pub(super) fn read_side(side: &FilePlace) -> Option<(Identity, Vec<u8>)> {
    let found = side.look().ok()??;
    let identity = Identity::of(&found).filter(|found| matches!(found, Identity::File { .. }))?;
    let file = reopen_quietly(&found, OFlags::RDONLY).ok()?;
    let mut content = [0; 64];
    let length = file.read_at(&mut content, 0).ok()?;
    Some((identity, content[..length].to_vec()))
}

fn attribute(file: &File) -> Option<Vec<u8>> {
    let mut value = [0u8; 64];
    let length = rustix::fs::fgetxattr(file, ATTRIBUTE, &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

/// A test file whose header can be changed.
#[derive(Debug)]
pub struct Marker {
    file: Arc<File>,
    place: FilePlace,
    header: Header,
}

impl Marker {
    /// Creates a test file with `size_bytes` usable bytes, none of them prefilled. It is locked against other runs as
    /// long as the marker lives.
    ///
    /// # Errors
    /// Fails if the path exists or the file cannot be created. Nothing is left behind then.
    pub fn create(path: &Path, size_bytes: u64) -> Result<Self, TargetError> {
        Self::create_at(FilePlace::of(path)?, size_bytes)
    }

    pub(super) fn create_at(place: FilePlace, size_bytes: u64) -> Result<Self, TargetError> {
        let header = Header::new(size_bytes)?;
        let file = Arc::new(create(&place, &header)?);
        Ok(Self { file, place, header })
    }

    /// Opens the marker of a file that iogauge made.
    ///
    /// # Errors
    /// Fails if the file cannot be opened for writing or is no longer ours.
    pub(super) fn open(file: &File, place: &FilePlace) -> Result<Self, TargetError> {
        let Ownership::Ours(header) = judge(file, place)? else {
            return Err(TargetError::Changed { path: place.path().into() });
        };
        let file = reopen_quietly(file, OFlags::RDWR);
        let file = file.map_err(|error| reopen_error(place.path(), error))?;
        Ok(Self { file: Arc::new(file), place: place.clone(), header })
    }

    /// Returns the open file. For a new file, this descriptor holds the lock.
    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Returns the header as last written.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// Changes the usable size. Prefilled bytes beyond it no longer count.
    ///
    /// # Errors
    /// Fails if the file cannot be changed.
    pub fn resize(&mut self, size_bytes: u64) -> Result<(), TargetError> {
        // At no point is the file shorter than the prefilled bytes in its header, or longer than its header says. In
        // the latter case it would count as changed by somebody else.
        self.header.prefilled_bytes = self.header.prefilled_bytes.min(size_bytes);
        let resized = Header { size_bytes, ..self.header };
        if size_bytes < self.header.size_bytes {
            self.write()?;
            set_length(&self.file, &resized, self.place.path())?;
            self.header = resized;
            return self.write();
        }
        self.header = resized;
        self.write()?;
        set_length(&self.file, &self.header, self.place.path())
    }

    /// Records that the first `prefilled_bytes` usable bytes are written.
    ///
    /// They are flushed first, so that the marker never includes bytes lost in a power failure. Costs two flushes of
    /// the device's cache, so once per second or gibibyte is enough.
    ///
    /// # Errors
    /// Fails if the file cannot be flushed or written. The flush may report a delayed ENOSPC.
    pub fn set_prefilled(&mut self, prefilled_bytes: u64) -> Result<(), TargetError> {
        self.sync()?;
        self.header.prefilled_bytes = prefilled_bytes.min(self.header.size_bytes);
        self.write()
    }

    fn write(&self) -> Result<(), TargetError> {
        write_header(&self.file, &self.header, self.place.path())
    }

    fn sync(&self) -> Result<(), TargetError> {
        sync(&self.file, self.place.path())
    }

    /// Removes the file and its side file if the file still has its name.
    ///
    /// # Errors
    /// Fails if they cannot be removed.
    pub fn remove(self) -> Result<(), TargetError> {
        remove_made(&self.place, &self.file, &self.header)
    }
}

/// Returns the length of a test file with this header, in bytes. The file is shorter if its creation or growth was
/// interrupted, but never longer.
pub(super) fn length_of(header: &Header) -> u64 {
    BASE_BYTES.saturating_add(header.size_bytes)
}

/// Sets the length of a test file to that in its header. This allocates no blocks; the prefill reserves and writes
/// them.
pub(super) fn set_length(file: &File, header: &Header, path: &Path) -> Result<(), TargetError> {
    let length = length_of(header);
    file.set_len(length).map_err(|source| match source.kind() {
        ErrorKind::FileTooLarge => TargetError::TooLarge { path: path.into(), size_bytes: length },
        _ => TargetError::io(path, "set its length", source),
    })
}

pub(super) fn write_header(file: &File, header: &Header, path: &Path) -> Result<(), TargetError> {
    file.write_all_at(&header.encode(), 0)
        .map_err(|source| TargetError::io(path, "write its marker", source))?;
    sync(file, path)
}

fn sync(file: &File, path: &Path) -> Result<(), TargetError> {
    file.sync_data().map_err(|source| TargetError::io(path, "flush it", source))
}

/// Locks a file against other iogauge processes until the returned descriptor is closed.
pub(super) fn lock(judged: &File, path: &Path, writable: bool) -> Result<File, TargetError> {
    let flags = if writable { OFlags::RDWR } else { OFlags::RDONLY };
    let file = reopen_quietly(judged, flags).map_err(|error| reopen_error(path, error))?;
    lock_open(&file, path)?;
    Ok(file)
}

/// Like [`lock`], on the descriptor itself.
pub(super) fn lock_open(file: &File, path: &Path) -> Result<(), TargetError> {
    unless_held_for_long(|| {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            // Some network file systems do not support locks. Other users remain unknown there.
            Ok(()) | Err(Errno::NOTSUP | Errno::NOLCK | Errno::INVAL) => Ok(()),
            Err(Errno::WOULDBLOCK) => Err(GuardError::InUse { path: path.into() }.into()),
            Err(source) => Err(TargetError::io(path, "lock it", source)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn ours(path: &Path) -> Header {
        match ownership(path).unwrap() {
            Ownership::Ours(header) => header,
            Ownership::NotOurs(reason) => panic!("not ours: {reason}"),
        }
    }

    fn not_ours(path: &Path) -> String {
        match ownership(path).unwrap() {
            Ownership::Ours(header) => panic!("ours: {header:?}"),
            Ownership::NotOurs(reason) => reason,
        }
    }

    #[test]
    fn prefilled_bytes_are_stored_in_the_marker() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        let mut marker = Marker::create(&path, 8 << 20).unwrap();
        assert_eq!(ours(&path).prefilled_bytes, 0);
        assert_eq!(fs::metadata(&path).unwrap().len(), 9 << 20);
        marker.set_prefilled(3 << 20).unwrap();
        drop(marker);
        let place = FilePlace::of(&path).unwrap();
        let mut marker = Marker::open(&File::open(&path).unwrap(), &place).unwrap();
        assert_eq!(marker.header().prefilled_bytes, 3 << 20);
        marker.resize(16 << 20).unwrap();
        assert_eq!((ours(&path).size_bytes, ours(&path).prefilled_bytes), (16 << 20, 3 << 20));
        marker.resize(2 << 20).unwrap();
        assert_eq!(ours(&path).prefilled_bytes, 2 << 20);
        assert!(Marker::create(&path, 1).is_err(), "an existing file must not be taken over");
        marker.remove().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn ownership_needs_matching_header_and_attribute() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        Marker::create(&path, 1 << 20).unwrap();
        let copy = dir.path().join("copy");
        fs::write(&copy, fs::read(&path).unwrap()).unwrap();
        assert!(not_ours(&copy).contains("copy"));
        fs::write(side_file(&copy), "iogauge 1 0").unwrap();
        assert!(not_ours(&copy).contains("disagree"));
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(b"x", 41).unwrap();
        assert!(not_ours(&path).contains("first block"));
        let empty = dir.path().join("empty");
        fs::write(&empty, "").unwrap();
        assert!(not_ours(&empty).contains("first block"));
    }

    #[test]
    fn side_file_replaces_missing_extended_attribute() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        let marker = Marker::create(&path, 1 << 20).unwrap();
        fs::write(side_file(&path), marker.header().seal()).unwrap();
        let _ = rustix::fs::fremovexattr(&marker.file, ATTRIBUTE);
        assert_eq!(ours(&path), marker.header());
        marker.remove().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn file_lock_excludes_others_until_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        fs::write(&path, "x").unwrap();
        let judged = File::open(&path).unwrap();
        let held = lock(&judged, &path, false).unwrap();
        assert!(lock(&judged, &path, true).unwrap_err().is_refusal());
        drop(held);
        lock(&judged, &path, true).unwrap();
    }
}
