//! Recognizes the formats on a block device by their magic numbers.

mod known;
mod uuid;

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;

pub use known::Signature;
pub(super) use uuid::uuid_of;

/// Bytes that can be read at an offset.
pub(crate) trait Source {
    /// Size in bytes.
    fn size_bytes(&self) -> u64;
    /// Reads exactly `length` bytes; `None` if they extend beyond the end or cannot be read.
    fn read(&self, offset_bytes: u64, length: usize) -> Option<Vec<u8>>;

    fn has(&self, offset_bytes: u64, magic: &[u8]) -> bool {
        self.read(offset_bytes, magic.len()).is_some_and(|bytes| bytes == magic)
    }

    fn le32(&self, offset_bytes: u64) -> Option<u32> {
        self.read(offset_bytes, 4)?.try_into().ok().map(u32::from_le_bytes)
    }
}

impl Source for Vec<u8> {
    fn size_bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset_bytes: u64, length: usize) -> Option<Vec<u8>> {
        let start = usize::try_from(offset_bytes).ok()?;
        self.get(start..start.checked_add(length)?).map(<[u8]>::to_vec)
    }
}

/// A range of an open file or device.
pub(crate) struct DeviceRange<'a> {
    pub file: &'a File,
    pub start_bytes: u64,
    pub size_bytes: u64,
}

impl Source for DeviceRange<'_> {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read(&self, offset_bytes: u64, length: usize) -> Option<Vec<u8>> {
        if offset_bytes.checked_add(length as u64)? > self.size_bytes {
            return None;
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, self.start_bytes.checked_add(offset_bytes)?).ok()?;
        Some(bytes)
    }
}

/// The formats found on a device and on each of its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Formats of the whole device.
    pub whole: Vec<Signature>,
    /// Partitions by kernel name, with their formats.
    pub partitions: Vec<(String, Vec<Signature>)>,
}

impl Contents {
    /// Returns true if no format was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.partitions.iter().all(|(_, found)| found.is_empty())
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.whole.is_empty() && self.partitions.is_empty() {
            return f.write_str("no signature known to iogauge, which does not mean it is empty");
        }
        let words = |signatures: &[Signature]| {
            let words: Vec<_> = signatures.iter().map(|s| s.as_str()).collect();
            if words.is_empty() { "unknown".to_owned() } else { words.join(", ") }
        };
        let mut separator = "";
        if !self.whole.is_empty() {
            f.write_str(&words(&self.whole))?;
            separator = "; ";
        }
        for (name, signatures) in &self.partitions {
            write!(f, "{separator}{name}: {}", words(signatures))?;
            separator = "; ";
        }
        Ok(())
    }
}

/// Returns every format whose magic number is found. Reads about 600 KiB.
pub(crate) fn signatures(source: &dyn Source) -> Vec<Signature> {
    known::all(source)
}
