//! Reads random blocks of a database: directly from its files, bypassing its cache, or through its server.

use crate::error::DbError;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// Alignment of reads, in bytes. No device has larger logical blocks.
const ALIGNMENT: usize = 4096;

/// The source of blocks.
pub enum Blocks {
    /// Files on this machine, read without any cache.
    Direct(Vec<BlockFile>, u64),
    /// A server.
    Through(Box<dyn BlockServer>),
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Direct(files, bytes) => {
                f.debug_tuple("Direct").field(files).field(bytes).finish()
            }
            Self::Through(_) => f.write_str("Through"),
        }
    }
}

/// A file with consecutive blocks of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFile {
    pub path: PathBuf,
    /// Offset of its first block, in bytes; a multiple of 512.
    pub base_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
}

/// A server that reads single blocks.
pub trait BlockServer: Send + Sync {
    /// Returns the block size in bytes.
    fn block_bytes(&self) -> u64;
    /// Connects one worker, in the worker's thread.
    ///
    /// # Errors
    /// Fails if no connection can be made.
    fn connect(&self) -> Result<Box<dyn BlockReader>, DbError>;
}

/// Reads random blocks for one worker.
pub trait BlockReader: Send {
    /// Reads one block, selected by a random number. Returns true if the database reports a cache hit.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    fn read(&mut self, random: u64) -> Result<bool, DbError>;
}

impl Blocks {
    /// Returns the block size in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        match self {
            Self::Direct(_, bytes) => *bytes,
            Self::Through(server) => server.block_bytes(),
        }
    }

    /// Returns true if reads bypass the caches of the database and the system.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self, Self::Direct(..))
    }

    /// Creates the reader of one worker, in the worker's thread.
    ///
    /// # Errors
    /// Fails if a file cannot be opened, or there is no block.
    pub fn reader(&self) -> Result<Box<dyn BlockReader>, DbError> {
        match self {
            Self::Direct(files, block_bytes) => {
                Ok(Box::new(DirectReader::open(files, *block_bytes)?))
            }
            Self::Through(server) => server.connect(),
        }
    }
}

/// Reads files without the page cache.
#[derive(Debug)]
struct DirectReader {
    /// Open file, path, offset of its first block, and number of blocks up to its end, including all previous files.
    files: Vec<(File, PathBuf, u64, u64)>,
    buffer: Vec<u8>,
    /// Offset of the aligned part of the buffer.
    from: usize,
    block_bytes: u64,
}

impl DirectReader {
    fn open(files: &[BlockFile], block_bytes: u64) -> Result<Self, DbError> {
        // Opening a FIFO planted in place of the file would block.
        let flags = rustix::fs::OFlags::DIRECT | rustix::fs::OFlags::NONBLOCK;
        let flags = flags.bits() as i32;
        let (mut open, mut end) = (Vec::new(), 0);
        for BlockFile { path, base_bytes, blocks } in files.iter().filter(|file| file.blocks > 0) {
            let opened = File::options().read(true).custom_flags(flags).open(path);
            let file = opened.map_err(|error| open_fault(path, &error))?;
            end += blocks;
            open.push((file, path.clone(), *base_bytes, end));
        }
        if open.is_empty() {
            let reason = "the database has no block to read; hint: run setup with --size";
            return Err(DbError::Missing(reason.to_owned()));
        }
        let buffer = vec![0; block_bytes as usize + ALIGNMENT];
        let from = buffer.as_ptr().align_offset(ALIGNMENT);
        Ok(Self { files: open, buffer, from, block_bytes })
    }
}

fn fault(path: &std::path::Path, error: &std::io::Error) -> DbError {
    crate::directory::fault(path, error)
}

fn open_fault(path: &std::path::Path, error: &std::io::Error) -> DbError {
    // open(2) documents this value for file systems without direct I/O.
    if error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) {
        return DbError::Failed(format!(
            "{}: its file system has no direct I/O; hint: use a directory on a disk",
            path.display()
        ));
    }
    fault(path, error)
}

impl BlockReader for DirectReader {
    fn read(&mut self, random: u64) -> Result<bool, DbError> {
        // There is at least one file, and its end is above 0.
        let blocks = self.files.last().map_or(1, |(.., end)| *end);
        let block = below(random, blocks);
        let index = self.files.partition_point(|(.., end)| *end <= block);
        let first = if index == 0 { 0 } else { self.files[index - 1].3 };
        let (file, path, base, _) = &self.files[index];
        let offset = base + (block - first) * self.block_bytes;
        let buffer = &mut self.buffer[self.from..][..self.block_bytes as usize];
        file.read_exact_at(buffer, offset).map_err(|error| fault(path, &error))?;
        Ok(false)
    }
}

/// Maps a random number of 64 bits uniformly to a number below `bound`.
#[must_use]
pub fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// Returns the stream of random numbers for a worker's reads.
pub fn randoms(seed: u64, worker: u32) -> impl FnMut() -> u64 {
    use rand_core::SeedableRng;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ (u64::from(worker) << 32));
    move || random.next_u64()
}
