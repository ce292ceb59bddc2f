//! Random blocks of a database: read from its own files around its cache, or through its server.

use crate::error::DbError;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// What a read is aligned to: no device has larger logical blocks.
const ALIGNMENT: usize = 4096;

/// Where the blocks are.
pub enum Blocks {
    /// In files of this machine, which are read without any cache.
    Direct(Vec<BlockFile>, u64),
    /// Behind a server.
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

/// A file with blocks of the database, one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFile {
    pub path: PathBuf,
    /// Where its first block begins, in bytes; a multiple of 512.
    pub base_bytes: u64,
    /// How many blocks it has.
    pub blocks: u64,
}

/// A server that gives single blocks.
pub trait BlockServer: Send + Sync {
    /// Bytes of a block.
    fn block_bytes(&self) -> u64;
    /// A connection for one worker, made in its thread.
    ///
    /// # Errors
    /// Where none is to be had.
    fn connect(&self) -> Result<Box<dyn BlockReader>, DbError>;
}

/// Reads random blocks for one worker.
pub trait BlockReader: Send {
    /// Reads one block, chosen by a random number; true where the database says it was in its cache.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn read(&mut self, random: u64) -> Result<bool, DbError>;
}

impl Blocks {
    /// Bytes of a block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        match self {
            Self::Direct(_, bytes) => *bytes,
            Self::Through(server) => server.block_bytes(),
        }
    }

    /// True where no cache of the database or the system is in the way.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self, Self::Direct(..))
    }

    /// A reader for one worker, made in its thread.
    ///
    /// # Errors
    /// Where a file cannot be opened, or there is no block.
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
    /// Open file, its first block's place, and the number of blocks up to its end.
    files: Vec<(File, PathBuf, u64, u64)>,
    buffer: Vec<u8>,
    /// Where the buffer is aligned.
    from: usize,
    block_bytes: u64,
}

impl DirectReader {
    fn open(files: &[BlockFile], block_bytes: u64) -> Result<Self, DbError> {
        // A pipe in the place of a file would be waited for.
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
    // As open(2) says it.
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

/// A number below `bound`, evenly from a random one of 64 bits.
#[must_use]
pub fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// The stream of random numbers for a worker's reads.
pub fn randoms(seed: u64, worker: u32) -> impl FnMut() -> u64 {
    use rand_core::SeedableRng;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ (u64::from(worker) << 32));
    move || random.next_u64()
}
