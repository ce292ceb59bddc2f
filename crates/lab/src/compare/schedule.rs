//! The order in which subjects are measured.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A measurement of one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// Number of its block, from 0.
    pub(super) block: u32,
    /// Number of the turn in the block, from 0.
    pub(super) turn: u32,
    /// Index of the subject.
    pub(super) subject: usize,
}

/// Returns blocks in which each subject has two turns, in a random order and then in the reverse order: ABBA or BAAB for
/// two subjects. The same seed gives the same order.
pub(super) fn schedule(subjects: usize, blocks: u32, seed: u64) -> Vec<Turn> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..subjects).collect();
    let block = |block: u32| {
        shuffle(&mut order, &mut random);
        let palindrome = order.iter().chain(order.iter().rev());
        let turns: Vec<Turn> = palindrome
            .zip(0..)
            .map(|(subject, turn)| Turn { block, turn, subject: *subject })
            .collect();
        turns
    };
    (0..blocks).flat_map(block).collect()
}

/// Puts values into a random order (R. Durstenfeld, Algorithm 235: Random Permutation, CACM 7, 1964).
fn shuffle(values: &mut [usize], random: &mut impl Rng) {
    for last in (1..values.len()).rev() {
        let chosen = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        values.swap(last, chosen as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_palindromes_in_random_order() {
        let words = |subjects, seed| -> Vec<String> {
            let turns = schedule(subjects, 200, seed);
            let letter = |turn: &Turn| char::from(b'A' + turn.subject as u8);
            turns.chunks(2 * subjects).map(|block| block.iter().map(letter).collect()).collect()
        };
        let two = words(2, 7);
        let first_is_a = two.iter().filter(|block| *block == "ABBA").count();
        assert!(two.iter().all(|block| block == "ABBA" || block == "BAAB"));
        assert!((60..=140).contains(&first_is_a), "{first_is_a}");
        assert_eq!(two, words(2, 7));
        assert_ne!(two, words(2, 8));
        let mut three = words(3, 1);
        three.sort();
        three.dedup();
        assert_eq!(three, ["ABCCBA", "ACBBCA", "BACCAB", "BCAACB", "CABBAC", "CBAABC"]);
    }
}
