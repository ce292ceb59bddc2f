//! Converts errors of RocksDB.

use crate::error::DbError;
use std::path::Path;

/// Converts an error of RocksDB in a folder.
pub fn fault(folder: &Path, error: &::rocksdb::Error) -> DbError {
    // The message must be a single line, whatever the error contains.
    let said = error.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
    let text = format!("{}: RocksDB: {said}", folder.display());
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&["No space left", "Disk quota exceeded", "Space limit reached"]) {
        DbError::Full(format!("{text}; hint: use a smaller database or another disk"))
    } else if says(&["lock file", "lock hold by"]) {
        DbError::Busy(format!("{text}; hint: end the process that has it open"))
    } else if says(&["Permission denied", "Read-only file system"]) {
        DbError::ReadOnly(format!("{text}; hint: use a directory that you may write"))
    } else if says(&["Direct I/O is not supported"]) {
        DbError::Usage(format!("{text}; hint: use direct=no or another file system"))
    } else if says(&["Compression type"]) {
        DbError::Usage(format!("{text}; hint: use compression=none"))
    } else if says(&["Corruption"]) {
        DbError::Failed(format!("{text}: it is damaged; hint: run purge, then setup"))
    } else {
        DbError::Failed(text)
    }
}
