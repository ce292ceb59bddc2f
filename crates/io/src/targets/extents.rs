//! Which bytes of a file have blocks, and in which state.
//!
//! Source: Documentation/filesystems/fiemap.rst, lseek(2).

use super::error::TargetError;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use serde::Serialize;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// How extents were determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtentSource {
    /// FIEMAP: all states are known.
    Fiemap,
    /// SEEK_HOLE and SEEK_DATA, if FIEMAP is missing. On most file systems, unwritten extents then look like holes, and
    /// no other state is known.
    SeekHole,
}

/// Number of bytes in a range of a file, by the state of their blocks. Shared, inline and encoded bytes are counted
/// once for each state they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ExtentReport {
    /// Length of the range.
    pub total_bytes: u64,
    /// Bytes without blocks.
    pub hole_bytes: u64,
    /// Bytes with blocks that were never written. They read as zeros without access to the medium.
    pub unwritten_bytes: u64,
    /// Bytes shared with another file (reflink, snapshot). The first write to each copies.
    pub shared_bytes: u64,
    /// Bytes stored in metadata.
    pub inline_bytes: u64,
    /// Bytes compressed or encrypted by the file system.
    pub encoded_bytes: u64,
    /// How the extents were determined.
    pub source: ExtentSource,
}

impl ExtentReport {
    fn empty(total_bytes: u64, source: ExtentSource) -> Self {
        Self {
            total_bytes,
            hole_bytes: total_bytes,
            unwritten_bytes: 0,
            shared_bytes: 0,
            inline_bytes: 0,
            encoded_bytes: 0,
            source,
        }
    }

    /// Returns the number of bytes that are read without access to the medium.
    #[must_use]
    pub fn never_written_bytes(&self) -> u64 {
        self.hole_bytes.saturating_add(self.unwritten_bytes)
    }

    fn add(&mut self, extent: &Extent, range: &Range) {
        let bytes = range.overlap(extent.start, extent.length);
        self.hole_bytes = self.hole_bytes.saturating_sub(bytes);
        for (flag, counter) in [
            (UNWRITTEN, &mut self.unwritten_bytes),
            (SHARED, &mut self.shared_bytes),
            (INLINE, &mut self.inline_bytes),
            (ENCODED, &mut self.encoded_bytes),
        ] {
            if extent.flags & flag != 0 {
                *counter = counter.saturating_add(bytes);
            }
        }
    }
}

/// A range of bytes in a file.
struct Range {
    start: u64,
    length: u64,
}

impl Range {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }

    /// Returns how many of these bytes are in the range.
    fn overlap(&self, start: u64, length: u64) -> u64 {
        let end = start.saturating_add(length).min(self.end());
        end.saturating_sub(start.max(self.start))
    }
}

/// `struct fiemap_extent` of the kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    start: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

const LAST: u32 = 0x1;
const ENCODED: u32 = 0x8;
const INLINE: u32 = 0x200;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;

/// Extents per system call.
const BATCH: usize = 512;

/// `struct fiemap` followed by extents.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [Extent; BATCH],
}

const _: () = assert!(size_of::<Extent>() == 56 && size_of::<Request>() == 32 + 56 * BATCH);

/// `_IOWR('f', 11, struct fiemap)`. The number contains the size of the structure without extents, 32 bytes.
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
/// `FIEMAP_FLAG_SYNC`: writes out delayed data first.
const FLAG_SYNC: u32 = 0x1;

/// Returns the states of the bytes of a file from `start_bytes` on.
///
/// Writes out delayed data first. Costs one system call per 512 extents.
///
/// # Errors
/// Fails if the file supports neither FIEMAP nor seeking.
pub fn extents(
    file: &File,
    path: &Path,
    start_bytes: u64,
    length_bytes: u64,
) -> Result<ExtentReport, TargetError> {
    let range = Range { start: start_bytes, length: length_bytes };
    match by_fiemap(file, &range) {
        Ok(report) => Ok(report),
        Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::BADR) => {
            by_seeking(file, &range)
                .map_err(|source| TargetError::io(path, "ask for its holes", source))
        }
        Err(source) => Err(TargetError::io(path, "ask for its extents", source)),
    }
}

fn by_fiemap(file: &File, range: &Range) -> Result<ExtentReport, Errno> {
    let mut report = ExtentReport::empty(range.length, ExtentSource::Fiemap);
    let mut request = Box::new(Request {
        start: range.start,
        length: range.length,
        flags: FLAG_SYNC,
        mapped_extents: 0,
        extent_count: BATCH as u32,
        reserved: 0,
        extents: [Extent::default(); BATCH],
    });
    while request.start < range.end() {
        request.length = range.end() - request.start;
        let argument: *mut Request = &mut *request;
        // SAFETY: the kernel writes the header of `Request` and at most `extent_count` extents after it, for which it
        // has room. `request` lives until the call returns.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, argument) };
        if result != 0 {
            return Err(last_error());
        }
        let mapped = (request.mapped_extents as usize).min(BATCH);
        let Some(last) = request.extents[..mapped].last().copied() else { break };
        for extent in &request.extents[..mapped] {
            report.add(extent, range);
        }
        let next = last.start.saturating_add(last.length);
        if last.flags & LAST != 0 || next <= request.start {
            break;
        }
        request.start = next;
    }
    Ok(report)
}

fn last_error() -> Errno {
    std::io::Error::last_os_error().raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

fn by_seeking(file: &File, range: &Range) -> Result<ExtentReport, Errno> {
    let mut report = ExtentReport::empty(range.length, ExtentSource::SeekHole);
    let mut position = range.start;
    while position < range.end() {
        let data = match rustix::fs::seek(file, SeekFrom::Data(position)) {
            Ok(data) => data,
            // There is no data after this point.
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error),
        };
        let hole = rustix::fs::seek(file, SeekFrom::Hole(data))?;
        let data_extent =
            Extent { start: data, length: hole.saturating_sub(data), ..Extent::default() };
        report.add(&data_extent, range);
        position = hole.max(position + 1);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fs::FallocateFlags;
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    /// Returns a file of 8 MiB: 1 MiB written, 1 MiB hole, 2 MiB allocated and unwritten, the rest hole.
    fn patchwork() -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 * MIB).unwrap();
        file.write_all_at(&vec![1; MIB as usize], 0).unwrap();
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 2 * MIB, 2 * MIB).unwrap();
        file
    }

    #[test]
    fn holes_and_unwritten_extents_are_distinguished() {
        let file = patchwork();
        let report = extents(&file, Path::new("t"), 0, 8 * MIB).unwrap();
        if report.source == ExtentSource::SeekHole {
            eprintln!("SKIPPED holes_and_unwritten_extents_are_distinguished: no FIEMAP here");
            assert!(std::env::var_os("IOGAUGE_REQUIRE_ALL").is_none());
            return;
        }
        assert_eq!((report.hole_bytes, report.unwritten_bytes), (5 * MIB, 2 * MIB));
        assert_eq!(report.never_written_bytes(), 7 * MIB);
        let inner = extents(&file, Path::new("t"), MIB / 2, 2 * MIB).unwrap();
        assert_eq!((inner.hole_bytes, inner.unwritten_bytes), (MIB, MIB / 2));
    }

    #[test]
    fn seek_hole_also_finds_holes() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 * MIB).unwrap();
        file.write_all_at(&vec![1; MIB as usize], 3 * MIB).unwrap();
        let report = by_seeking(&file, &Range { start: 0, length: 8 * MIB }).unwrap();
        assert_eq!(report.hole_bytes, 7 * MIB);
    }

    #[test]
    fn extents_beyond_one_fiemap_call_are_all_counted() {
        let file = tempfile::tempfile().unwrap();
        let count = 2 * BATCH as u64 + 3;
        for index in 0..count {
            file.write_all_at(&[1; 4096], index * 8192).unwrap();
        }
        let report = extents(&file, Path::new("t"), 0, count * 8192).unwrap();
        assert_eq!(report.hole_bytes, count * 4096);
    }

    proptest! {
        #[test]
        fn extent_byte_counts_never_exceed_the_range(
            start: u64,
            length: u64,
            extents in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u32>()), 0..8),
        ) {
            let range = Range { start, length };
            let mut report = ExtentReport::empty(length, ExtentSource::Fiemap);
            for (start, length, flags) in extents {
                report.add(&Extent { start, length, flags, ..Extent::default() }, &range);
                prop_assert!(range.overlap(start, length) <= range.length);
            }
            prop_assert!(report.hole_bytes <= length);
        }
    }
}
