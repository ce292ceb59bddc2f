//! How iogauge knows the files it made.
//!
//! A test file begins with [`BASE_BYTES`] that no load touches. Their first block is a header; an
//! extended attribute `user.iogauge`, or a side file `NAME.iogauge` where the file system has no
//! such attributes, repeats the header's random identity. Only where both agree is a file ours: a
//! copy of the first block, or of the attribute, does not make a file one that may be overwritten.
//!
//! The file gets its length by `ftruncate` and its blocks by the prefill. `fallocate` would find a
//! full disk sooner, but it leaves extents marked unwritten: reading them touches no medium, and
//! the first write of each pays for the change of the mark. The room is checked before, and a disk
//! that fills up all the same shows as ENOSPC of a prefill write.

use super::error::TargetError;
use super::guard::{GuardError, unless_held_for_long};
use rustix::fs::{FlockOperation, Mode, OFlags, XattrFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// First byte of a test file that a load may touch.
pub const BASE_BYTES: u64 = 1 << 20;

/// Name of the test file in a directory given as target.
pub const TEST_FILE_NAME: &str = "iogauge.dat";

/// Name of one of several test files in a directory, by its number from 1.
#[must_use]
pub fn numbered_test_file(number: u32) -> String {
    format!("iogauge-{number}.dat")
}

/// True for the names of [`numbered_test_file`].
pub(super) fn is_numbered_test_file(name: &str) -> bool {
    let number = name.strip_prefix("iogauge-").and_then(|rest| rest.strip_suffix(".dat"));
    number.and_then(|n| n.parse().ok()).is_some_and(|n| numbered_test_file(n) == name)
}

const MAGIC: &[u8; 16] = b"iogauge testfile";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 4096;
/// Bytes of the header that say something; the checksum stands behind them.
const FIELDS_BYTES: usize = 56;
const ATTRIBUTE: &str = "user.iogauge";

/// State of a test file, kept in its first block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Random identity, repeated in the attribute or side file.
    pub id: u128,
    /// Bytes a load may use, behind [`BASE_BYTES`].
    pub size_bytes: u64,
    /// How many of them, from the first, hold data written by a prefill.
    pub prefilled_bytes: u64,
}

impl Header {
    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut block = [0; HEADER_BYTES];
        block[..16].copy_from_slice(MAGIC);
        block[16..20].copy_from_slice(&VERSION.to_le_bytes());
        block[24..40].copy_from_slice(&self.id.to_le_bytes());
        block[40..48].copy_from_slice(&self.size_bytes.to_le_bytes());
        block[48..56].copy_from_slice(&self.prefilled_bytes.to_le_bytes());
        let checksum = fnv1a(&block[..FIELDS_BYTES]);
        block[56..64].copy_from_slice(&checksum.to_le_bytes());
        block
    }

    /// The header in a block; `None` where there is none, or one that is torn or of another version.
    fn decode(block: &[u8]) -> Option<Self> {
        let fields = block.get(..FIELDS_BYTES)?;
        let checksum = fnv1a(fields).to_le_bytes();
        let sound = fields.starts_with(MAGIC)
            && fields[16..20] == VERSION.to_le_bytes()
            && *block.get(56..64)? == checksum;
        if !sound {
            return None;
        }
        let header = Self {
            id: u128::from_le_bytes(fields[24..40].try_into().ok()?),
            size_bytes: u64::from_le_bytes(fields[40..48].try_into().ok()?),
            prefilled_bytes: u64::from_le_bytes(fields[48..56].try_into().ok()?),
        };
        (header.prefilled_bytes <= header.size_bytes).then_some(header)
    }

    fn seal(&self) -> String {
        format!("iogauge {VERSION} {:032x}", self.id)
    }
}

/// FNV-1a, 64 bits: tells a torn header, which is all it is for.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Whose a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// iogauge made it.
    Ours(Header),
    /// It did not, or it can no longer be told; with the reason.
    NotOurs(String),
}

/// Reads whose a file is.
///
/// # Errors
/// Where the file cannot be read.
pub fn ownership(path: &Path) -> Result<Ownership, TargetError> {
    let file = open(path, OFlags::RDONLY)?;
    let mut block = [0; HEADER_BYTES];
    let read = file.read_at(&mut block, 0);
    let length = read.map_err(|source| TargetError::io(path, "read its marker", source))?;
    let Some(header) = Header::decode(&block[..length]) else {
        return Ok(Ownership::NotOurs("its first block is not iogauge's".into()));
    };
    let seal = header.seal();
    let found = attribute(&file).or_else(|| fs::read(side_file(path)).ok());
    Ok(match found {
        Some(found) if found == seal.as_bytes() => Ownership::Ours(header),
        Some(_) => Ownership::NotOurs("its first block and its attribute disagree".into()),
        None => Ownership::NotOurs(format!(
            "it looks like a copy: neither attribute {ATTRIBUTE} nor {} is there",
            side_file(path).display()
        )),
    })
}

/// The side file of a test file.
#[must_use]
pub fn side_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".iogauge");
    PathBuf::from(name)
}

/// True where a side file was left without its test file.
pub(super) fn is_our_side_file(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| text.starts_with(b"iogauge ") && text.len() < 64)
}

fn attribute(file: &File) -> Option<Vec<u8>> {
    let mut value = [0u8; 64];
    let length = rustix::fs::fgetxattr(file, ATTRIBUTE, &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

fn open(path: &Path, flags: OFlags) -> Result<File, TargetError> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags | OFlags::NOATIME, Mode::empty())
        .or_else(|error| match error {
            // A file of another user.
            Errno::PERM => rustix::fs::open(path, flags, Mode::empty()),
            error => Err(error),
        })
        .map(File::from)
        .map_err(|source| TargetError::io(path, "open it", source))
}

/// A test file open for its header to be changed.
#[derive(Debug)]
pub struct Marker {
    file: File,
    path: PathBuf,
    header: Header,
}

impl Marker {
    /// Makes a test file of so many usable bytes, none of them prefilled.
    ///
    /// # Errors
    /// Where something is at the path, or the file cannot be made; nothing is then left behind.
    pub fn create(path: &Path, size_bytes: u64) -> Result<Self, TargetError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
            .map(File::from)
            .map_err(|source| TargetError::io(path, "make it", source))?;
        let header = Header { id: random_id()?, size_bytes, prefilled_bytes: 0 };
        let mut marker = Self { file, path: path.to_owned(), header };
        if let Err(error) = marker.set_up() {
            marker.remove()?;
            return Err(error);
        }
        Ok(marker)
    }

    fn set_up(&mut self) -> Result<(), TargetError> {
        let seal = self.header.seal();
        match rustix::fs::fsetxattr(&self.file, ATTRIBUTE, seal.as_bytes(), XattrFlags::CREATE) {
            Ok(()) => {}
            Err(Errno::NOTSUP | Errno::PERM | Errno::NOSPC | Errno::TOOBIG) => {
                let side = side_file(&self.path);
                let written = File::create_new(&side)
                    .and_then(|mut file| std::io::Write::write_all(&mut file, seal.as_bytes()));
                written.map_err(|source| TargetError::io(&side, "write it", source))?;
            }
            Err(source) => return Err(TargetError::io(&self.path, "set its attribute", source)),
        }
        self.set_length()?;
        self.write()
    }

    /// Opens the marker of a file that is ours.
    ///
    /// # Errors
    /// Where the file cannot be opened for writing or is no longer ours.
    pub fn open(path: &Path) -> Result<Self, TargetError> {
        let Ownership::Ours(header) = ownership(path)? else {
            return Err(TargetError::Changed { path: path.into() });
        };
        Ok(Self { file: open(path, OFlags::RDWR)?, path: path.to_owned(), header })
    }

    /// The header as last written.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// Changes the usable size. What was prefilled beyond it no longer counts.
    ///
    /// # Errors
    /// Where the file cannot be changed.
    pub fn resize(&mut self, size_bytes: u64) -> Result<(), TargetError> {
        self.header.size_bytes = size_bytes;
        self.header.prefilled_bytes = self.header.prefilled_bytes.min(size_bytes);
        // The header is written while no byte it vouches for is missing.
        self.write()?;
        self.set_length()
    }

    /// Notes that the first so many usable bytes are written.
    ///
    /// They are made durable first, so that the marker never claims what a power failure took.
    /// Costs two flushes of the device's cache: once in a second or gibibyte is enough.
    ///
    /// # Errors
    /// Where the file cannot be flushed or written; ENOSPC may come late, from this flush.
    pub fn set_prefilled(&mut self, prefilled_bytes: u64) -> Result<(), TargetError> {
        self.sync()?;
        self.header.prefilled_bytes = prefilled_bytes.min(self.header.size_bytes);
        self.write()
    }

    fn set_length(&self) -> Result<(), TargetError> {
        let length = BASE_BYTES.saturating_add(self.header.size_bytes);
        self.file
            .set_len(length)
            .map_err(|source| TargetError::io(&self.path, "set its length", source))
    }

    fn write(&self) -> Result<(), TargetError> {
        self.file
            .write_all_at(&self.header.encode(), 0)
            .map_err(|source| TargetError::io(&self.path, "write its marker", source))?;
        self.sync()
    }

    fn sync(&self) -> Result<(), TargetError> {
        self.file.sync_data().map_err(|source| TargetError::io(&self.path, "flush it", source))
    }

    /// Removes the file and its side file.
    ///
    /// # Errors
    /// Where they cannot be removed.
    pub fn remove(self) -> Result<(), TargetError> {
        remove(&self.path)
    }
}

/// Removes a test file and its side file; that one of them is missing is no error.
pub(super) fn remove(path: &Path) -> Result<(), TargetError> {
    for path in [path, &side_file(path)] {
        match fs::remove_file(path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(TargetError::io(path, "remove it", source));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes the file for this process among all iogauges, until the descriptor is closed.
pub(super) fn lock(path: &Path, writable: bool) -> Result<File, TargetError> {
    let file = open(path, if writable { OFlags::RDWR } else { OFlags::RDONLY })?;
    unless_held_for_long(|| {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // Some network file systems have no locks; nothing can be told there.
            Ok(()) | Err(Errno::NOTSUP | Errno::NOLCK | Errno::INVAL) => Ok(()),
            Err(Errno::WOULDBLOCK) => Err(GuardError::InUse { path: path.into() }.into()),
            Err(source) => Err(TargetError::io(path, "lock it", source)),
        }
    })?;
    Ok(file)
}

fn random_id() -> Result<u128, TargetError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|source| TargetError::io(path, "read it", source))?;
    Ok(u128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn a_file_remembers_what_was_prefilled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        let mut marker = Marker::create(&path, 8 << 20).unwrap();
        assert_eq!(ours(&path).prefilled_bytes, 0);
        assert_eq!(fs::metadata(&path).unwrap().len(), 9 << 20);
        marker.set_prefilled(3 << 20).unwrap();
        drop(marker);
        let mut marker = Marker::open(&path).unwrap();
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
    fn header_and_attribute_must_both_be_there_and_agree() {
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
    fn a_side_file_stands_in_for_the_attribute() {
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
    fn a_lock_keeps_others_out_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        fs::write(&path, "x").unwrap();
        let held = lock(&path, false).unwrap();
        assert!(lock(&path, true).unwrap_err().is_refusal());
        drop(held);
        lock(&path, true).unwrap();
    }

    proptest! {
        #[test]
        fn headers_round_trip(id: u128, size: u64, part in 0u64..=100) {
            let prefilled_bytes = (u128::from(size) * u128::from(part) / 100) as u64;
            let header = Header { id, size_bytes: size, prefilled_bytes };
            prop_assert_eq!(Header::decode(&header.encode()), Some(header));
        }

        #[test]
        fn any_flipped_bit_is_noticed(id: u128, bit in 0usize..512) {
            let header = Header { id, size_bytes: 1 << 30, prefilled_bytes: 1 << 20 };
            let mut block = header.encode();
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Header::decode(&block), None);
        }

        #[test]
        fn no_block_makes_decode_panic(block in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut with_magic = MAGIC.to_vec();
            with_magic.extend(&block);
            let _ = Header::decode(&block);
            let _ = Header::decode(&with_magic);
        }
    }
}
