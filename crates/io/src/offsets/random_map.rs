//! Which blocks a coverage pass has visited, if its I/Os differ in size: fio's random map.

use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each block of the range, shared by the workers of a pass. Takes an eighth of a byte per block.
///
/// The bits of even passes change from 0 to 1, those of odd passes back to 0, so no pass has to clear them. While
/// several workers go from one pass to the next, a block may be visited in only one of the two.
#[derive(Debug)]
pub(super) struct RandomMap {
    blocks: u64,
    words: Vec<AtomicU64>,
}

impl RandomMap {
    pub(super) fn new(blocks: u64) -> Self {
        Self { blocks, words: (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Returns the first block from `start` on that the pass has not visited. Continues at block 0 after the last.
    pub(super) fn unvisited(&self, start: u64, pass: u64) -> Option<u64> {
        let of_word = |index: u64, mask: u64| {
            let word = self.words[index as usize].load(Ordering::Relaxed);
            let unvisited = if pass.is_multiple_of(2) { !word } else { word } & mask;
            (unvisited != 0).then(|| index * 64 + u64::from(unvisited.trailing_zeros()))
        };
        let is_block = |block: &u64| *block < self.blocks;
        let (first, words) = (start / 64, self.words.len() as u64);
        of_word(first, u64::MAX << (start % 64))
            .filter(is_block)
            .or_else(|| {
                (first + 1..words).find_map(|index| of_word(index, u64::MAX)).filter(is_block)
            })
            .or_else(|| (0..=first).find_map(|index| of_word(index, u64::MAX)).filter(is_block))
    }

    /// Visits the blocks from `first` on, up to `most`, as far as the pass has not visited them. Returns their
    /// number.
    pub(super) fn visit(&self, first: u64, most: u64, pass: u64) -> u64 {
        (first..first + most).take_while(|block| self.visit_one(*block, pass)).count() as u64
    }

    fn visit_one(&self, block: u64, pass: u64) -> bool {
        let (word, bit) = (&self.words[(block / 64) as usize], 1 << (block % 64));
        if pass.is_multiple_of(2) {
            word.fetch_or(bit, Ordering::Relaxed) & bit == 0
        } else {
            word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
        }
    }
}
