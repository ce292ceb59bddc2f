//! Random changes in the service time of a simulated device over time.

use crate::offsets::unit;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Time between two values. Until the next one, the noise is constant.
const STEP_NS: u64 = 5_000_000;

/// Noise with one correlation time: an Ornstein-Uhlenbeck process on the logarithm of service times. A sum of these
/// with correlation times that grow by a factor is flicker noise. One with a correlation time much longer than the
/// measurement is nearly a random walk.
///
/// G. E. Uhlenbeck, L. S. Ornstein, Physical Review 36 (1930) 823-841.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of the logarithm, in percent.
    pub percent: f64,
    /// Time in which the correlation falls to 1/e, in nanoseconds; above 0.
    pub time_ns: u64,
}

/// Another user of the device, who comes and goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// By how much a service is longer while the neighbour is present, in percent.
    pub percent: f64,
    /// Mean time for which it is present, and absent, both exponential; in nanoseconds, above 0.
    pub time_ns: u64,
}

/// Bursts in which some I/Os complete late. Late I/Os occupy no channel, so the IOPS do not change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LateBursts {
    /// Share of late I/Os during a burst, in percent.
    pub percent: f64,
    /// Delay of a late I/O, in nanoseconds.
    pub late_ns: u64,
    /// Mean length of a burst, and of the time between two, both exponential; in nanoseconds, above 0.
    pub time_ns: u64,
}

/// Something that comes and goes: it is present and absent for the same time on average, both exponential.
#[derive(Debug)]
struct Presence {
    time_ns: u64,
    is_there: bool,
}

impl Presence {
    fn new(time_ns: u64, random: &mut Xoshiro256PlusPlus) -> Self {
        Self { time_ns, is_there: unit(random) < 0.5 }
    }

    fn step(&mut self, random: &mut Xoshiro256PlusPlus) {
        let stays = (-(STEP_NS as f64) / self.time_ns as f64).exp();
        self.is_there ^= unit(random) > stays;
    }
}

/// State of late I/Os, with its own random stream.
#[derive(Debug)]
pub(super) struct LateState {
    bursts: LateBursts,
    presence: Presence,
    random: Xoshiro256PlusPlus,
    steps: u64,
}

impl LateState {
    pub(super) fn new(bursts: LateBursts, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        random.long_jump();
        let presence = Presence::new(bursts.time_ns, &mut random);
        Self { bursts, presence, random, steps: 0 }
    }

    /// Returns the delay of an I/O whose service ends at a time, in nanoseconds.
    pub(super) fn late_ns(&mut self, at_ns: u64) -> u64 {
        while self.steps < at_ns / STEP_NS {
            self.steps += 1;
            self.presence.step(&mut self.random);
        }
        let is_late =
            self.presence.is_there && unit(&mut self.random) * 100.0 < self.bursts.percent;
        if is_late { self.bursts.late_ns } else { 0 }
    }
}

/// State of a device's noise. It has its own random stream, so that service times draw the same numbers with noise and
/// without.
#[derive(Debug)]
pub(super) struct NoiseState {
    noise: Vec<Noise>,
    neighbour: Option<(Neighbour, Presence)>,
    random: Xoshiro256PlusPlus,
    /// Number of values computed so far.
    steps: u64,
    /// Standard normal values, one for each noise.
    values: Vec<f64>,
    factor: f64,
}

impl NoiseState {
    pub(super) fn new(noise: &[Noise], neighbour: Option<Neighbour>, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // A different stream from that of the service times.
        random.jump();
        let values = noise.iter().map(|_| normal(&mut random)).collect();
        let neighbour =
            neighbour.map(|neighbour| (neighbour, Presence::new(neighbour.time_ns, &mut random)));
        let mut state =
            Self { noise: noise.to_vec(), neighbour, random, steps: 0, values, factor: 1.0 };
        state.factor = state.sum();
        state
    }

    /// Returns the factor by which a service that starts at a time is longer than its mean. Times before the last one
    /// requested get that one's factor.
    pub(super) fn factor(&mut self, at_ns: u64) -> f64 {
        if self.noise.is_empty() && self.neighbour.is_none() {
            return 1.0;
        }
        let behind = (at_ns / STEP_NS).saturating_sub(self.steps);
        for _ in 0..behind {
            self.step();
        }
        if behind > 0 {
            self.factor = self.sum();
        }
        self.factor
    }

    fn step(&mut self) {
        self.steps += 1;
        for (noise, value) in self.noise.iter().zip(&mut self.values) {
            let kept = (-(STEP_NS as f64) / noise.time_ns as f64).exp();
            *value = kept * *value + (1.0 - kept * kept).sqrt() * normal(&mut self.random);
        }
        if let Some((_, presence)) = &mut self.neighbour {
            presence.step(&mut self.random);
        }
    }

    fn sum(&self) -> f64 {
        let parts = self.noise.iter().zip(&self.values).map(|(noise, value)| noise.percent * value);
        let there = self.neighbour.as_ref().filter(|(_, presence)| presence.is_there);
        let there = there.map_or(0.0, |(neighbour, _)| neighbour.percent);
        (parts.sum::<f64>() / 100.0).exp() * (1.0 + there / 100.0)
    }
}

/// Draws a standard normal value (G. E. P. Box, M. E. Muller 1958).
pub(super) fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - unit(random)).ln()).sqrt();
    let angle = std::f64::consts::TAU * unit(random);
    radius * angle.cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Returns logarithms of the factor at times `apart_ms` apart.
    fn logarithms(noise: &[Noise], count: u64, apart_ms: u64) -> Vec<f64> {
        let mut state = NoiseState::new(noise, None, 7);
        (0..count).map(|index| state.factor(index * apart_ms * 1_000_000).ln()).collect()
    }

    fn covariance(values: &[f64], lag: usize) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let pairs = values.iter().zip(&values[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (values.len() - lag) as f64
    }

    #[test]
    fn noise_has_requested_deviation_and_correlation_time() {
        let noise = Noise { percent: 20.0, time_ns: SECOND_NS };
        let values = logarithms(&[noise], 200_000, 100);
        let variance = covariance(&values, 0);
        assert!((variance.sqrt() - 0.2).abs() < 0.01, "{variance}");
        let kept = covariance(&values, 10) / variance;
        assert!((kept - (-1.0f64).exp()).abs() < 0.03, "{kept}");
    }

    #[test]
    fn variances_of_several_noise_sources_add() {
        let noise = |percent, seconds| Noise { percent, time_ns: seconds * SECOND_NS };
        let values = logarithms(&[noise(3.0, 1), noise(4.0, 5)], 100_000, 500);
        assert!((covariance(&values, 0).sqrt() - 0.05).abs() < 0.003);
    }

    #[test]
    fn noisy_neighbour_is_active_half_of_the_time() {
        let neighbour = Neighbour { percent: 100.0, time_ns: SECOND_NS };
        let mut state = NoiseState::new(&[], Some(neighbour), 3);
        let seen: Vec<f64> = (0..200_000).map(|index| state.factor(index * 50_000_000)).collect();
        let there = seen.iter().filter(|factor| **factor == 2.0).count();
        assert!(seen.iter().all(|factor| *factor == 1.0 || *factor == 2.0));
        assert!((there as f64 / seen.len() as f64 - 0.5).abs() < 0.02, "{there}");
        let changes = seen.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((9_000..10_500).contains(&changes), "{changes} in 10,000 s");
    }

    #[test]
    fn late_ios_occur_in_bursts_at_requested_rate() {
        let bursts = LateBursts { percent: 10.0, late_ns: 7, time_ns: SECOND_NS };
        let mut state = LateState::new(bursts, 3);
        // 20 I/Os in each 50 ms.
        let late = |index: u64| (state.late_ns(index * 2_500_000) > 0) as u32;
        let late: Vec<u32> = (0..4_000_000).map(late).collect();
        let share = f64::from(late.iter().sum::<u32>()) / late.len() as f64;
        assert!((share - 0.05).abs() < 0.003, "{share}");
        let quiet = late.chunks(200).filter(|half_second| half_second.iter().sum::<u32>() == 0);
        let quiet = quiet.count() as f64 / (late.len() / 200) as f64;
        assert!((0.25..0.5).contains(&quiet), "{quiet}");
    }

    #[test]
    fn noise_factor_is_one_without_noise() {
        assert_eq!(NoiseState::new(&[], None, 1).factor(SECOND_NS), 1.0);
    }
}
