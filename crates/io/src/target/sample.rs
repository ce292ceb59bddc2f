//! A look at random blocks: how many hold nothing but zeros.

use super::error::TargetError;
use super::part::{OpenMode, Part};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Smallest block read, in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Least alignment of the memory read into. zram says that 512 bytes will do (`dma_alignment`) and
/// then writes whole pages over what lies beside a block that does not begin on one.
const ALIGNMENT_BYTES: u32 = 4096;

/// Blocks looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroSample {
    /// Blocks read.
    pub read: u32,
    /// Those of them that hold only zeros.
    pub zero: u32,
}

impl ZeroSample {
    /// Share of zero blocks, from 0 to 1.
    #[must_use]
    pub fn zero_share(&self) -> f64 {
        if self.read == 0 { 0.0 } else { f64::from(self.zero) / f64::from(self.read) }
    }
}

/// Reads `count` random blocks of 4 KiB (or the part's block, where that is larger) past the page
/// cache where the part has direct I/O. The same seed reads the same blocks.
///
/// # Errors
/// Where the part cannot be opened or read.
pub fn sample_zero_blocks(part: &Part, count: u32, seed: u64) -> Result<ZeroSample, TargetError> {
    let opened = match part.open(OpenMode::reading(true)) {
        Err(TargetError::DirectUnsupported { .. }) => part.open(OpenMode::reading(false)),
        other => other,
    }?;
    let file = File::from(opened.fd);
    let block_bytes = BLOCK_BYTES.max(part.block_bytes().into()).min(part.size_bytes);
    let blocks = part.size_bytes / block_bytes;
    let alignment = part.dio_mem_align_bytes.max(ALIGNMENT_BYTES) as usize;
    let mut memory = vec![0u8; block_bytes as usize + alignment];
    let start = memory.as_ptr().align_offset(alignment);
    let buffer = &mut memory[start..start + block_bytes as usize];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sample = ZeroSample { read: 0, zero: 0 };
    for _ in 0..count {
        let block = random.next_u64() % blocks;
        file.read_exact_at(buffer, part.base_bytes + block * block_bytes)
            .map_err(|source| TargetError::io(&part.path, "read a block", source))?;
        sample.read += 1;
        sample.zero += u32::from(buffer.iter().all(|byte| *byte == 0));
    }
    Ok(sample)
}
