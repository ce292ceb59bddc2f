//! Seeded series with known properties.

/// A small random number generator (SplitMix64), good enough to test statistics.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give shifted copies of the same sequence.
        let mut random = Self(seed.wrapping_mul(0xd134_2543_de82_ef95));
        random.0 = random.bits();
        random
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a value above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Returns a standard normal value (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns an exponential value with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Returns `n` values of a stationary AR(1) process with mean `mean`, standard deviation 1, and correlation `phi`
    /// between neighbours.
    pub fn ar1(&mut self, n: usize, mean: f64, phi: f64) -> Vec<f64> {
        let innovation = (1.0 - phi * phi).sqrt();
        let mut state = self.normal();
        let mut next = || {
            let value = mean + state;
            state = phi * state + innovation * self.normal();
            value
        };
        (0..n).map(|_| next()).collect()
    }
}

/// Returns the share of the seeds for which `holds` is true, in percent.
pub fn percent_of(seeds: u64, mut holds: impl FnMut(&mut Random) -> bool) -> f64 {
    let held = (0..seeds).filter(|seed| holds(&mut Random::new(*seed))).count();
    100.0 * held as f64 / seeds as f64
}
