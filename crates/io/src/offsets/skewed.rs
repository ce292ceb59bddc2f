//! Ranks and positions of the skewed distributions.

use rand_core::Rng;

/// Draws uniformly from `0.0..1.0`, with 53 random bits.
#[inline(always)]
pub(crate) fn unit(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Draws uniformly from `0..n` (Lemire 2019 without its rejection: the bias is below n/2⁶⁴).
#[inline(always)]
pub(crate) fn below(random: &mut impl Rng, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

/// Draws ranks with probability ∝ 1/rank^θ by rejection-inversion (Hörmann & Derflinger 1996), in constant time and
/// without tables for any number of ranks.
#[derive(Debug, Clone)]
pub struct Zipf {
    n: f64,
    theta: f64,
    integral_first: f64,
    integral_end: f64,
    accept_below: f64,
}

impl Zipf {
    /// Creates a source of ranks `0..n` with exponent `theta`, which must be above 0.
    #[must_use]
    pub fn new(n: u64, theta: f64) -> Self {
        let mut zipf =
            Self { n: n as f64, theta, integral_first: 0.0, integral_end: 0.0, accept_below: 0.0 };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_end = zipf.integral(zipf.n + 0.5);
        zipf.accept_below = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// Returns (x^(1−θ) − 1) / (1−θ), or ln x if θ = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over(log * (1.0 - self.theta)) * log
    }

    fn inverse(&self, x: f64) -> f64 {
        let scaled = (x * (1.0 - self.theta)).max(-1.0);
        (log1p_over(scaled) * x).exp()
    }

    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// Draws a rank, from 0. Takes about 60 ns.
    #[inline]
    pub fn rank(&self, random: &mut impl Rng) -> u64 {
        loop {
            let u = self.integral_end + unit(random) * (self.integral_first - self.integral_end);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.n);
            if k - x <= self.accept_below || u >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }
}

/// Returns (eˣ − 1)/x without cancellation near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// Returns ln(1 + x)/x without cancellation near 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

/// Draws ranks by fio's self-similar rule: at every scale, the first share `h` of the ranks gets the share `1 − h` of
/// the draws (Gray et al. 1994, "Quickly generating billion-record synthetic databases").
#[derive(Debug, Clone)]
pub struct Pareto {
    n: f64,
    power: f64,
}

impl Pareto {
    /// Creates a source of ranks `0..n` with shape `h`, between 0 and 1.
    #[must_use]
    pub fn new(n: u64, h: f64) -> Self {
        Self { n: n as f64, power: h.ln() / (1.0 - h).ln() }
    }

    /// Draws a rank, from 0. Takes about 30 ns.
    #[inline]
    pub fn rank(&self, random: &mut impl Rng) -> u64 {
        ((self.n * unit(random).powf(self.power)) as u64).min(self.n as u64 - 1)
    }
}

/// Draws positions from a normal distribution around the middle of a range. Positions outside the range are drawn
/// again.
#[derive(Debug, Clone)]
pub struct Normal {
    n: f64,
    deviation: f64,
}

impl Normal {
    /// Creates a source of positions `0..n` with a standard deviation of `percent` of the range.
    #[must_use]
    pub fn new(n: u64, percent: f64) -> Self {
        Self { n: n as f64, deviation: percent / 100.0 }
    }

    /// Draws a position. Takes about 30 ns (Marsaglia & Bray 1964, polar method).
    #[inline]
    pub fn position(&self, random: &mut impl Rng) -> u64 {
        loop {
            let (x, y) = (unit(random) * 2.0 - 1.0, unit(random) * 2.0 - 1.0);
            let square = x * x + y * y;
            if square >= 1.0 || square == 0.0 {
                continue;
            }
            let normal = x * (-2.0 * square.ln() / square).sqrt();
            let position = (0.5 + normal * self.deviation) * self.n;
            if (0.0..self.n).contains(&position) {
                return position as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const DRAWS: usize = 200_000;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(11)
    }

    /// Returns the largest distance between two empirical distributions over the first ranks.
    fn distance(ours: &[u64], theirs: &[u64]) -> f64 {
        [1u64, 2, 3, 5, 10, 30, 100, 300, 1000, 3000]
            .iter()
            .map(|limit| {
                let share =
                    |v: &[u64]| v.iter().filter(|r| **r < *limit).count() as f64 / v.len() as f64;
                (share(ours) - share(theirs)).abs()
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn zipf_matches_rand_distr() {
        use rand::SeedableRng as _;
        use rand_distr::Distribution as _;
        for theta in [0.5, 0.99, 1.2, 2.0] {
            let mut random = random();
            let zipf = Zipf::new(5000, theta);
            let ours: Vec<u64> = (0..DRAWS).map(|_| zipf.rank(&mut random)).collect();
            let oracle = rand_distr::Zipf::new(5000.0, theta).unwrap();
            let mut oracle_random = rand::rngs::StdRng::seed_from_u64(5);
            let theirs: Vec<u64> =
                (0..DRAWS).map(|_| oracle.sample(&mut oracle_random) as u64 - 1).collect();
            // The Kolmogorov–Smirnov bound for two samples of 200,000 at 0.1 % is 0.0062.
            assert!(distance(&ours, &theirs) < 0.0062, "theta {theta}");
        }
    }

    #[test]
    fn pareto_share_is_self_similar_at_every_scale() {
        let mut random = random();
        let pareto = Pareto::new(1_000_000, 0.2);
        let ranks: Vec<u64> = (0..DRAWS).map(|_| pareto.rank(&mut random)).collect();
        let share = |limit: u64| ranks.iter().filter(|r| **r < limit).count() as f64 / DRAWS as f64;
        assert!((share(200_000) - 0.8).abs() < 0.005);
        assert!((share(40_000) - 0.64).abs() < 0.005);
    }

    #[test]
    fn normal_has_requested_mean_and_deviation() {
        let mut random = random();
        let normal = Normal::new(1_000_000, 10.0);
        let values: Vec<f64> = (0..DRAWS).map(|_| normal.position(&mut random) as f64).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        assert!((mean - 500_000.0).abs() < 1500.0, "{mean}");
        assert!((variance.sqrt() - 100_000.0).abs() < 1500.0, "{}", variance.sqrt());
    }

    #[test]
    fn distributions_over_one_item_always_return_zero() {
        let mut random = random();
        for _ in 0..100 {
            assert_eq!(Zipf::new(1, 1.2).rank(&mut random), 0);
            assert_eq!(Pareto::new(1, 0.2).rank(&mut random), 0);
            assert_eq!(Normal::new(1, 20.0).position(&mut random), 0);
            assert_eq!(below(&mut random, 1), 0);
        }
    }
}
