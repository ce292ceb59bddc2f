//! When scheduled I/Os are meant to start.

use crate::offsets::unit;
use iogauge_model::load::ArrivalProcess;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The schedule of one worker's arrivals. It never looks at completions: an I/O that could not be
/// issued in time keeps its intended start.
#[derive(Debug)]
pub(crate) struct Pacer {
    process: ArrivalProcess,
    gap_ns: f64,
    /// When the present rate began; the schedule counts from here, so that its fractions of a
    /// nanosecond survive on a machine that has been up for years.
    base_ns: u64,
    /// Start of the next arrival, after `base_ns`.
    next_ns: f64,
    random: Xoshiro256PlusPlus,
}

impl Pacer {
    pub(crate) fn new(process: ArrivalProcess, seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { process, gap_ns: f64::INFINITY, base_ns: 0, next_ns: f64::INFINITY, random }
    }

    /// Takes a new rate from now on; arrivals that were due and not issued are given up.
    pub(crate) fn set_rate(&mut self, rate_iops: f64, now_ns: u64) {
        let gap_ns = if rate_iops > 0.0 { 1e9 / rate_iops } else { f64::INFINITY };
        if gap_ns == self.gap_ns {
            return;
        }
        self.gap_ns = gap_ns;
        // Evenly spaced workers must not beat in time: each begins at a random phase.
        let first = match self.process {
            ArrivalProcess::Linear => unit(&mut self.random) * gap_ns,
            ArrivalProcess::Poisson => self.draw_gap(),
        };
        self.base_ns = now_ns;
        self.next_ns = first;
    }

    fn draw_gap(&mut self) -> f64 {
        match self.process {
            ArrivalProcess::Linear => self.gap_ns,
            ArrivalProcess::Poisson => -(1.0 - unit(&mut self.random)).ln() * self.gap_ns,
        }
    }

    /// Start of the next arrival; `u64::MAX` where there is none.
    #[inline(always)]
    pub(crate) fn due_ns(&self) -> u64 {
        self.base_ns.saturating_add(self.next_ns as u64)
    }

    /// Takes the next arrival and returns its intended start.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> u64 {
        let due_ns = self.due_ns();
        self.next_ns += self.draw_gap();
        due_ns
    }

    /// Arrivals due and not taken, about.
    pub(crate) fn backlog(&self, now_ns: u64) -> u64 {
        let passed_ns = now_ns.saturating_sub(self.base_ns) as f64;
        ((passed_ns - self.next_ns) / self.gap_ns).max(0.0).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(process: ArrivalProcess, rate: f64, count: usize) -> Vec<u64> {
        let mut pacer = Pacer::new(process, 9);
        pacer.set_rate(rate, 1000);
        (0..count).map(|_| pacer.take()).collect()
    }

    #[test]
    fn linear_arrivals_are_evenly_spaced() {
        let times = arrivals(ArrivalProcess::Linear, 1000.0, 100);
        assert!(times.windows(2).all(|w| (999_999..=1_000_001).contains(&(w[1] - w[0]))));
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let times = arrivals(ArrivalProcess::Poisson, 1000.0, 100_000);
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02);
    }

    #[test]
    fn no_rate_means_no_arrivals() {
        let mut pacer = Pacer::new(ArrivalProcess::Linear, 9);
        pacer.set_rate(0.0, 5);
        assert_eq!(pacer.due_ns(), u64::MAX);
        assert_eq!(pacer.backlog(1 << 40), 0);
    }
}
