//! The data files whose blocks are read at random.

use super::fault::fault;
use crate::blocks::BlockFile;
use crate::error::DbError;
use ::rocksdb::DB;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Number of attempts to open all data files. Compactions may remove files while they are listed.
const TRIES: u32 = 20;

/// Returns the blocks of the current data files. Compactions remove files during a run. The blocks remain readable while
/// the returned files are open, with their contents from now.
///
/// # Errors
/// Fails if a file cannot be opened.
pub fn open(
    db: &DB,
    folder: &Path,
    block_bytes: u64,
) -> Result<(Vec<BlockFile>, Vec<File>), DbError> {
    for _ in 0..TRIES {
        let Some(files) = open_files(db, folder)? else { continue };
        let block_file = |(file, bytes): &(File, u64)| BlockFile {
            // This path opens the file even after its name has been removed.
            path: PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
            base_bytes: 0,
            blocks: bytes / block_bytes,
        };
        let blocks = files.iter().map(block_file).collect();
        return Ok((blocks, files.into_iter().map(|(file, _)| file).collect()));
    }
    Err(DbError::Failed(format!(
        "{}: compactions take data files away faster than they are opened",
        folder.display()
    )))
}

/// Opens every current data file; `None` if one of them has been removed.
fn open_files(db: &DB, folder: &Path) -> Result<Option<Vec<(File, u64)>>, DbError> {
    let live = db.live_files().map_err(|error| fault(folder, &error))?;
    let mut files = Vec::with_capacity(live.len());
    for name in live.into_iter().map(|file| file.name) {
        let path = folder.join(name.trim_start_matches('/'));
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((bytes, file)) => files.push((file, bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(crate::directory::fault(&path, &error)),
        }
    }
    Ok(Some(files))
}
