//! Incompressible text, for data that is never compared.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Generates rows of text, each different from all others.
#[derive(Debug, Clone)]
pub struct IncompressibleText {
    random: Xoshiro256PlusPlus,
}

/// Six bits per letter: a compressor can save at most a quarter.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl IncompressibleText {
    /// Creates a generator with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Fills a row with text.
    pub fn text(&mut self, row: &mut [u8]) {
        for chunk in row.chunks_mut(8) {
            let mut bits = self.random.next_u64();
            for byte in chunk {
                *byte = LETTERS[(bits & 63) as usize];
                bits >>= 8;
            }
        }
    }

    /// Fills a row with arbitrary bytes.
    pub fn bytes(&mut self, row: &mut [u8]) {
        self.random.fill_bytes(row);
    }
}
