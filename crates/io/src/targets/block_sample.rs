//! Samples random blocks: how many are all zeros, and how many compress or repeat.

use super::compressible::saving;
use super::error::TargetError;
use super::part::{OpenMode, Part};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::FileExt;

/// Minimum size of a block that is read, in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Minimum alignment of the read buffer. zram reports that 512 bytes suffice (`dma_alignment`), but then writes whole
/// pages, beyond a buffer that does not begin on a page.
const ALIGNMENT_BYTES: u32 = 4096;
/// A block counts as compressible if a compressor would make it smaller by at least this share.
const COMPRESSES: f64 = 0.1;

/// Result of sampling blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSample {
    /// Blocks read.
    pub read: u32,
    /// Blocks that contain only zeros.
    pub zero: u32,
    /// Other blocks that a simple compressor would make smaller by at least a tenth, or that have the content of
    /// another block read.
    pub compressible: u32,
}

impl BlockSample {
    /// Returns the share of zero blocks, from 0 to 1.
    #[must_use]
    pub fn zero_share(&self) -> f64 {
        self.share(self.zero)
    }

    /// Returns the share of blocks that compress or repeat, from 0 to 1.
    #[must_use]
    pub fn compressible_share(&self) -> f64 {
        self.share(self.compressible)
    }

    fn share(&self, blocks: u32) -> f64 {
        if self.read == 0 { 0.0 } else { f64::from(blocks) / f64::from(self.read) }
    }

    fn add(&mut self, index: u64, block: &[u8], seen: &mut HashMap<u64, u64>) {
        self.read += 1;
        if block.iter().all(|byte| *byte == 0) {
            self.zero += 1;
            return;
        }
        let mut hasher = DefaultHasher::new();
        block.hash(&mut hasher);
        let first = *seen.entry(hasher.finish()).or_insert(index);
        self.compressible += u32::from(first != index || saving(block) >= COMPRESSES);
    }
}

/// Reads `count` random blocks of 4 KiB, or of the part's block size if that is larger. Bypasses the page cache if the
/// part supports direct I/O. The same seed reads the same blocks.
///
/// # Errors
/// Fails if the part cannot be opened or read.
pub fn sample_blocks(part: &Part, count: u32, seed: u64) -> Result<BlockSample, TargetError> {
    let block_bytes = BLOCK_BYTES.max(part.block_bytes().into()).min(part.size_bytes);
    let is_aligned = block_bytes.is_multiple_of(part.block_bytes().into());
    let opened = match part.open(OpenMode::reading(is_aligned)) {
        Err(TargetError::DirectUnsupported { .. }) => part.open(OpenMode::reading(false)),
        other => other,
    }?;
    let file = File::from(opened.fd);
    let blocks = part.size_bytes / block_bytes;
    let alignment = part.dio_mem_align_bytes.max(ALIGNMENT_BYTES) as usize;
    let mut memory = vec![0u8; block_bytes as usize + alignment];
    let start = memory.as_ptr().align_offset(alignment);
    let buffer = &mut memory[start..start + block_bytes as usize];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sample = BlockSample { read: 0, zero: 0, compressible: 0 };
    let mut seen = HashMap::new();
    // Blocks before those of the workload do not matter.
    let first = (part.offset_bytes / block_bytes).min(blocks - 1);
    for _ in 0..count {
        let block = first + random.next_u64() % (blocks - first);
        file.read_exact_at(buffer, part.base_bytes + block * block_bytes)
            .map_err(|source| TargetError::io(&part.path, "read a block", source))?;
        sample.add(block, buffer, &mut seen);
    }
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_compressible_random_and_duplicate_blocks_are_classified() {
        let noise = |seed: u64| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut block = vec![0; 4096];
            random.fill_bytes(&mut block);
            block
        };
        let mut sample = BlockSample { read: 0, zero: 0, compressible: 0 };
        let mut seen = HashMap::new();
        let blocks =
            [vec![0; 4096], noise(1), b"some text ".repeat(410), noise(2), noise(1), noise(3)];
        for (index, block) in blocks.iter().enumerate() {
            sample.add(index as u64, block, &mut seen);
        }
        // Reading the same block twice does not make it a copy.
        sample.add(5, &blocks[5], &mut seen);
        assert_eq!(sample, BlockSample { read: 7, zero: 1, compressible: 2 });
    }
}
