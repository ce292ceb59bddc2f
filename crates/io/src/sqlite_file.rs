//! Recognizes SQLite's files by their content. Nothing here opens a file with SQLite, because SQLite changes the files
//! that it opens.
//!
//! The formats are described in <https://www.sqlite.org/fileformat2.html> and <https://www.sqlite.org/walformat.html>.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// First bytes of a database ("Database File Format", 1.3).
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Offset of a database's application id, in bytes.
pub const APPLICATION_ID_AT: usize = 68;
/// First bytes of a rollback journal, and its last bytes if it names another file ("Database File Format", 3).
pub const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Size of a log's header.
const LOG_HEADER_BYTES: usize = 32;
/// Size of the header in front of each page of a log.
const FRAME_HEADER_BYTES: usize = 24;
/// Number of bytes read of a page: enough to tell which database it is the first page of.
const HEAD_BYTES: usize = 100;

/// Returns the application id of a database; `None` for any other file.
#[must_use]
pub fn application_id(head: &[u8]) -> Option<i32> {
    let id = head.starts_with(MAGIC).then(|| head.get(APPLICATION_ID_AT..)?.first_chunk())?;
    id.map(|id| i32::from_be_bytes(*id))
}

/// Returns true for a write-ahead log. Its first word gives the byte order ("WAL-mode File Format", 2).
#[must_use]
pub fn is_log(head: &[u8]) -> bool {
    let first = head.first_chunk().map(|word| u32::from_be_bytes(*word));
    matches!(first, Some(0x377f_0682 | 0x377f_0683))
}

/// A page in a write-ahead log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedPage {
    /// Page number, from 1.
    pub number: u32,
    /// True for the last page of a transaction.
    pub commits: bool,
    /// First bytes of the page, at most 100.
    pub head: Vec<u8>,
}

/// Returns the pages in a write-ahead log that SQLite would use, in order ("WAL-mode File Format", 2 and 3). Does not
/// verify checksums. Each page costs a small read.
///
/// # Errors
/// If the file cannot be read, or is not a log.
pub fn logged_pages(file: &File) -> io::Result<impl Iterator<Item = LoggedPage>> {
    let mut header = [0; LOG_HEADER_BYTES];
    file.read_exact_at(&mut header, 0)?;
    if !is_log(&header) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_be_bytes(*word))
    };
    // A page size of 64 KiB is stored as 1.
    let page_bytes = match word(&header, 8) {
        0 => return Err(io::ErrorKind::InvalidData.into()),
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let mut at = LOG_HEADER_BYTES as u64;
    Ok(std::iter::from_fn(move || {
        let mut frame = [0; FRAME_HEADER_BYTES + HEAD_BYTES];
        file.read_exact_at(&mut frame, at).ok()?;
        at += FRAME_HEADER_BYTES as u64 + page_bytes;
        // Pages written before the log was restarted have other salts.
        (frame[8..16] == header[16..24]).then(|| LoggedPage {
            number: word(&frame, 0),
            commits: word(&frame, 4) != 0,
            head: frame[FRAME_HEADER_BYTES..].to_vec(),
        })
    }))
}

/// Returns true for a log's index that has been written at least once. Recognizes it by its version ("WAL-mode File
/// Format", 4).
#[must_use]
pub fn is_index(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|word| u32::from_ne_bytes(*word) == 3_007_000)
}

/// Returns true for a rollback journal that has been synced to the medium. Before that, it starts with zeros.
#[must_use]
pub fn is_journal(head: &[u8]) -> bool {
    head.starts_with(&JOURNAL_MAGIC)
}
