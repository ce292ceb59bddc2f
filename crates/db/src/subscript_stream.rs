//! The random stream of subscripts that a worker updates. It is reproducible, also in other languages.
//!
//! The stream is the minimal standard generator (S. K. Park, K. W. Miller, Random number generators: good ones are hard
//! to find, Communications of the ACM 31 (1988) 1192–1201) with the multiplier 48271 that they later recommended. Its
//! products stay below 2⁵³ and below 10¹⁸, so that languages without 64-bit integers generate the same numbers.

/// The generator's modulus, 2³¹ − 1.
pub const MODULUS: u64 = 2_147_483_647;
/// The generator's multiplier.
pub const MULTIPLIER: u64 = 48_271;

/// The subscripts of one worker in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptStream {
    state: u64,
}

impl SubscriptStream {
    /// Creates the stream of a worker, numbered from 1, in a run with this seed.
    #[must_use]
    pub fn new(seed: u64, worker: u32) -> Self {
        // The finalizer of SplitMix64 spreads neighbouring seeds and workers.
        let mut x = seed ^ u64::from(worker).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^= x >> 31;
        Self { state: 1 + x % (MODULUS - 1) }
    }

    /// Returns the current state, from 1 to 2³¹ − 2, which is passed to routines in other languages.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.state
    }

    /// Continues a stream from a state.
    #[must_use]
    pub fn from_state(state: u64) -> Self {
        Self { state: state.clamp(1, MODULUS - 1) }
    }

    /// Returns the next subscript of a global with `subscripts` subscripts, from 1 on: the state modulo their number,
    /// plus one.
    #[inline]
    pub fn subscript(&mut self, subscripts: u64) -> u64 {
        self.state = self.state * MULTIPLIER % MODULUS;
        self.state % subscripts.max(1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_matches_minstd_rand() {
        // The value after 10,000 steps from 1, with which the C++ standard specifies std::minstd_rand.
        let mut draws = SubscriptStream::from_state(1);
        for _ in 0..10_000 {
            draws.subscript(1);
        }
        assert_eq!(draws.state(), 399_268_537);
    }

    #[test]
    fn draws_are_uniform_and_differ_by_worker() {
        let mut counts = [0u32; 100];
        let mut draws = SubscriptStream::new(7, 1);
        for _ in 0..100_000 {
            let subscript = draws.subscript(100);
            counts[subscript as usize - 1] += 1;
        }
        // Binomial with mean 1000 and standard deviation 31.5. The range is five of these.
        assert!(counts.iter().all(|n| (840..=1160).contains(n)), "{counts:?}");
        assert_ne!(SubscriptStream::new(7, 1), SubscriptStream::new(7, 2));
        assert_ne!(SubscriptStream::new(7, 1), SubscriptStream::new(8, 1));
    }
}
