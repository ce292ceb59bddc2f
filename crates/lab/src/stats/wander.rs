//! How a rate wanders over time, and how uncertain that makes other averages of it.
//!
//! The noise is modelled as white noise and one slower kind: an Ornstein-Uhlenbeck process, flicker noise, a random
//! walk, or white phase noise, which cancels at once. A series rarely shows which of these it contains and how much of
//! it. So each kind counts, in each of several sizes, by its likelihood given the Allan variances of the series. A few
//! windows of a length leave much open, and then intervals are wide.
//!
//! D. W. Allan, "Statistics of Atomic Frequency Standards", Proc. IEEE 54 (1966), 221-230; D. A. Howe, D. W. Allan, J.
//! A. Barnes, "Properties of Signal Sources and Measurement Methods" (1981), for the overlapping estimate and the kinds
//! of noise; J. A. Hoeting, D. Madigan, A. E. Raftery, C. T. Volinsky, "Bayesian Model Averaging: A Tutorial",
//! Statistical Science 14 (1999), 382-417; J. W. Miller, D. B. Dunson, "Robust Bayesian Inference via Coarsening", J.
//! American Statistical Association 114 (2019), 1113-1125.

use super::student_t::{t_cdf, t_quantile};

/// Correlation times of the processes, as fractions of the length of the series.
const TIMES: [f64; 8] = [1.0 / 80.0, 1.0 / 40.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6];
/// Flicker noise is a sum of processes of equal variance, one for each doubling of the correlation time.
const FLICKER_SHORTEST: f64 = 1.0 / 160.0;
const FLICKER_PROCESSES: u32 = 12;
/// Ratios of the slow noise's contribution to that of white noise, for the average of the whole series: `RATIOS` values
/// from `SMALLEST_RATIO` on.
const SMALLEST_RATIO: f64 = 1.0 / 16.0;
const RATIO_GROWTH: f64 = 4.0;
const RATIOS: i32 = 9;
/// Prior weights of the kinds of noise, relative to 1 for a process of one correlation time, and the weight of the
/// data.
struct Prior {
    white_alone: f64,
    flicker: f64,
    walk: f64,
    /// Each window counts as this fraction of one.
    windows: f64,
}

/// For the observed time.
const OBSERVED: Prior = Prior { white_alone: 15.0, flicker: 4.0, walk: 4.0, windows: 1.0 };
/// For the time after it. No disk has exactly one of these kinds of noise, and a likelihood that takes the best fit for
/// the truth is too certain about the future.
const LATER: Prior = Prior { white_alone: 5.0, flicker: 10.0, walk: 4.0, windows: 0.5 };
/// The length of the series divided by this is the shortest window. Shorter ones would mistake periodic stalls for
/// wandering.
const SHORTEST: usize = 48;
/// Minimum number of ticks.
const FEWEST: usize = 16;
/// Models with a lower relative weight are left out.
const UNLIKELY: f64 = 1e-6;

/// A kind of noise in addition to white noise. Times are fractions of the length of the series.
#[derive(Debug, Clone, Copy)]
enum Slow {
    /// Deviations that cancel at once, such as a stall whose I/Os are caught up. This averages out faster than white
    /// noise.
    Phase,
    /// An Ornstein-Uhlenbeck process with this correlation time.
    Process(f64),
    Flicker,
    Walk,
}

impl Slow {
    /// Returns all kinds with their prior weights.
    fn all(prior: &Prior) -> impl Iterator<Item = (Self, f64)> {
        let others = [(Self::Phase, 1.0), (Self::Flicker, prior.flicker), (Self::Walk, prior.walk)];
        TIMES.into_iter().map(|time| (Self::Process(time), 1.0)).chain(others)
    }

    fn processes() -> impl Iterator<Item = f64> {
        (0..FLICKER_PROCESSES).map(|doubling| FLICKER_SHORTEST * f64::from(1 << doubling))
    }

    /// Returns the Allan variance at a window length.
    fn allan(self, length: f64) -> f64 {
        match self {
            Self::Phase => 3.0 / (length * length),
            Self::Process(time) => {
                let q = length / time;
                2.0 / q * (1.0 - (3.0 - 4.0 * (-q).exp() + (-2.0 * q).exp()) / (2.0 * q))
            }
            Self::Flicker => Self::processes().map(|time| Self::Process(time).allan(length)).sum(),
            Self::Walk => length,
        }
    }

    /// Returns the variance of the difference between the averages of two windows. Both are `length` long, and the
    /// second starts `apart` after the first. `apart` is at least `length`.
    fn difference(self, length: f64, apart: f64) -> f64 {
        match self {
            // Adjacent windows share an edge; others do not.
            Self::Phase if apart > length => 4.0 / (length * length),
            Self::Phase => 6.0 / (length * length),
            Self::Process(time) => {
                let (time, apart) = (time / length, apart / length);
                let fade = 1.0 - (-1.0 / time).exp();
                let shared = time * time * fade * fade * (-(apart - 1.0) / time).exp();
                2.0 * (Self::own(time) - shared)
            }
            Self::Flicker => {
                Self::processes().map(|time| Self::Process(time).difference(length, apart)).sum()
            }
            Self::Walk => 3.0 * apart - length,
        }
    }

    /// Returns the variance of the average of the series about the long-run average. A random walk has no long-run
    /// average: its value in the middle of the series takes its place.
    fn error(self) -> f64 {
        match self {
            Self::Phase => 2.0,
            Self::Process(time) => Self::own(time),
            Self::Flicker => Self::processes().map(Self::own).sum(),
            Self::Walk => 0.25,
        }
    }

    /// Returns the variance of the average of a process.
    fn own(time: f64) -> f64 {
        2.0 * time * (1.0 - time * (1.0 - (-1.0 / time).exp()))
    }
}

/// White noise and a slower kind.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// Variance of the average of the series due to white noise alone.
    white: f64,
    /// The slower kind, and its Allan variance over the whole series relative to that of the white noise.
    slow: Option<(Slow, f64)>,
    /// Probability.
    weight: f64,
}

impl Noise {
    /// Returns a variance from that of white noise and that of the slower kind, each for noise of variance 1.
    fn variance(&self, white: f64, slow: impl Fn(Slow) -> f64) -> f64 {
        let slower = self.slow.map_or(0.0, |(kind, ratio)| ratio * slow(kind) / kind.allan(1.0));
        self.white * (white + slower)
    }

    fn allan(&self, length: f64) -> f64 {
        self.variance(1.0 / length, |kind| kind.allan(length))
    }
}

/// The Allan variance at a window length.
#[derive(Debug, Clone, Copy)]
struct Allan {
    /// As a fraction of the length of the series.
    length: f64,
    variance: f64,
    /// Approximate number of independent pairs of windows.
    pairs: f64,
}

/// A difference with mean 0, whose variance is as uncertain as the noise.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Variances with their probabilities, in ascending order.
    variances: Vec<(f64, f64)>,
    degrees: f64,
}

impl Difference {
    /// Returns the median of the standard deviation.
    #[must_use]
    pub fn typical(&self) -> f64 {
        let mut sum = 0.0;
        let half = self.variances.iter().find(|(_, weight)| {
            sum += weight;
            sum >= 0.5
        });
        half.map_or(0.0, |(variance, _)| variance.sqrt())
    }

    /// Returns what the difference does not exceed, in either direction, with a probability between 0 and 1, if its
    /// variance is the median one.
    #[must_use]
    pub fn typical_half_width(&self, probability: f64) -> f64 {
        t_quantile(0.5 + probability / 2.0, self.degrees) * self.typical()
    }

    /// Returns what the difference does not exceed, in either direction, with a probability between 0 and 1.
    ///
    /// Cost: a few milliseconds.
    #[must_use]
    pub fn half_width(&self, probability: f64) -> f64 {
        let within = |half: f64| -> f64 {
            let each = self.variances.iter().map(|(variance, weight)| {
                weight * (2.0 * t_cdf(half / variance.sqrt(), self.degrees) - 1.0)
            });
            each.sum()
        };
        let widest = self.variances.last().map_or(0.0, |(variance, _)| variance.sqrt());
        if widest <= 0.0 {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, widest);
        while within(high) < probability && high < 1e6 * widest {
            high *= 2.0;
        }
        while high - low > 1e-4 * high {
            let middle = (low + high) / 2.0;
            if within(middle) < probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// Models of the noise with their probabilities.
#[derive(Debug, Clone)]
struct Noises {
    each: Vec<Noise>,
    degrees: f64,
}

impl Noises {
    fn of(seen: &[Allan], prior: &Prior) -> Self {
        let degrees = prior.windows * seen.iter().map(|at| at.pairs).sum::<f64>();
        let slow = Slow::all(prior).flat_map(|(kind, likely)| {
            let sizes = (0..RATIOS).map(|n| SMALLEST_RATIO * RATIO_GROWTH.powi(n));
            sizes.map(move |ratio| (Some((kind, ratio)), likely / f64::from(RATIOS)))
        });
        let likely = [(None, prior.white_alone)].into_iter().chain(slow).map(|(slow, likely)| {
            let unit = Noise { white: 1.0, slow, weight: likely };
            let parts = seen.iter().map(|at| (prior.windows * at.pairs, at, unit.allan(at.length)));
            let white =
                parts.clone().map(|(pairs, at, one)| pairs * at.variance / one).sum::<f64>();
            let white = white / degrees;
            let spread = parts.map(|(pairs, _, one)| pairs * one.ln()).sum::<f64>();
            let log = likely.ln() - (spread + degrees * white.ln()) / 2.0;
            Noise { white, weight: log, ..unit }
        });
        let mut each: Vec<Noise> = likely.collect();
        if each.iter().any(|noise| noise.white <= 0.0) {
            // The series is constant.
            each = vec![Noise { white: 0.0, slow: None, weight: 0.0 }];
        }
        let most = each.iter().map(|noise| noise.weight).fold(f64::NEG_INFINITY, f64::max);
        each.iter_mut().for_each(|noise| noise.weight = (noise.weight - most).exp());
        each.retain(|noise| noise.weight > UNLIKELY);
        let sum: f64 = each.iter().map(|noise| noise.weight).sum();
        each.iter_mut().for_each(|noise| noise.weight /= sum);
        Self { each, degrees }
    }

    /// Returns a difference whose variance `variance` gives for each model.
    fn difference(&self, variance: impl Fn(&Noise) -> f64) -> Difference {
        let each = self.each.iter().map(|noise| (variance(noise), noise.weight));
        let mut variances: Vec<(f64, f64)> = each.collect();
        variances.sort_by(|a, b| a.0.total_cmp(&b.0));
        Difference { variances, degrees: self.degrees }
    }
}

/// What a series shows about its noise.
#[derive(Debug, Clone)]
pub struct Wander {
    ticks: f64,
    seen: Vec<Allan>,
    observed: Noises,
}

impl Wander {
    /// Analyses a series of values at equal distances in time. Returns `None` if it is too short.
    ///
    /// Cost: about a hundred models at half a dozen window lengths.
    #[must_use]
    pub fn of(series: &[f64]) -> Option<Self> {
        if series.len() < FEWEST {
            return None;
        }
        let seen = allan_variances(series);
        let observed = Noises::of(&seen, &OBSERVED);
        Some(Self { ticks: series.len() as f64, seen, observed })
    }

    /// Returns the Allan deviation at a window length, in ticks.
    #[must_use]
    pub fn deviation(&self, ticks: f64) -> f64 {
        let length = ticks / self.ticks;
        let each = self.observed.each.iter();
        each.map(|noise| noise.weight * noise.allan(length)).sum::<f64>().sqrt()
    }

    /// Returns the standard deviation that [`Self::neighbours`] would have at the length of the series if its ticks
    /// were independent.
    #[must_use]
    pub fn white(&self) -> f64 {
        self.deviation(1.0) * (2.0 / self.ticks).sqrt()
    }

    /// Returns the error of the average of the series relative to the long-run average.
    #[must_use]
    pub fn mean_error(&self) -> Difference {
        self.observed.difference(|noise| noise.variance(1.0, Slow::error))
    }

    /// Returns the difference between the averages of two consecutive windows of `ticks` each, in the observed time.
    #[must_use]
    pub fn neighbours(&self, ticks: f64) -> Difference {
        self.observed.difference(|noise| 2.0 * noise.allan(ticks / self.ticks))
    }

    /// Returns the difference between the averages of two windows in the observed time. Both are `ticks` long, and the
    /// second starts `apart_ticks` after the first.
    #[must_use]
    pub fn apart(&self, ticks: f64, apart_ticks: f64) -> Difference {
        let length = ticks / self.ticks;
        let apart = (apart_ticks / self.ticks).max(length);
        self.observed
            .difference(|noise| noise.variance(2.0 / length, |slow| slow.difference(length, apart)))
    }

    /// Returns the difference between the average of the series and that of a later one of the same length. That starts
    /// `apart_ticks` after the start of the series, at least the length of the series. Cost: that of [`Self::of`].
    #[must_use]
    pub fn next(&self, apart_ticks: f64) -> Difference {
        let apart = (apart_ticks / self.ticks).max(1.0);
        let later = Noises::of(&self.seen, &LATER);
        later.difference(|noise| noise.variance(2.0, |slow| slow.difference(1.0, apart)))
    }
}

/// Returns overlapping Allan variances at window lengths that double, up to half of the series.
fn allan_variances(series: &[f64]) -> Vec<Allan> {
    let mut sums = vec![0.0];
    sums.extend(series.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    }));
    let all = series.len() as f64;
    let mut seen = Vec::new();
    let mut ticks = (series.len() / SHORTEST).max(1);
    while 2 * ticks <= series.len() {
        let pairs = series.len() + 1 - 2 * ticks;
        let difference = |i: usize| sums[i + 2 * ticks] - 2.0 * sums[i + ticks] + sums[i];
        let squares: f64 = (0..pairs).map(|i| (difference(i) / ticks as f64).powi(2)).sum();
        seen.push(Allan {
            length: ticks as f64 / all,
            variance: squares / pairs as f64 / 2.0,
            pairs: (all / ticks as f64 - 1.5).max(1.0),
        });
        ticks *= 2;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Random, percent_of};
    use super::*;

    const LENGTH: usize = 80;

    fn mean(series: &[f64]) -> f64 {
        series.iter().sum::<f64>() / series.len() as f64
    }

    /// Returns an Ornstein-Uhlenbeck process with this correlation time, in ticks.
    fn process(random: &mut Random, ticks: f64, length: usize) -> Vec<f64> {
        random.ar1(length, 0.0, if ticks > 0.0 { (-1.0 / ticks).exp() } else { 0.0 })
    }

    #[test]
    fn next_average_lies_in_its_prediction_interval() {
        // Eighty ticks do not rule out slower noise, so intervals are wide, most of all if the noise varies within a
        // few ticks.
        for (ticks, widest) in [(0.0, 2.0), (1.0, 3.6), (4.0, 2.6), (12.0, 2.3)] {
            let (mut widths, mut squares) = (Vec::new(), 0.0);
            let percent = percent_of(1000, |random| {
                let series = process(random, ticks, 2 * LENGTH);
                let (seen, next) = series.split_at(LENGTH);
                let difference = mean(next) - mean(seen);
                let half = Wander::of(seen).unwrap().next(LENGTH as f64).half_width(0.95);
                widths.push(half);
                squares += difference * difference;
                difference.abs() <= half
            });
            widths.sort_by(f64::total_cmp);
            let width = widths[500] / (1.96 * (squares / 1000.0).sqrt());
            assert!(percent >= 95.0, "{ticks}: {percent} %");
            assert!(width <= widest, "{ticks}: {width}");
        }
    }

    #[test]
    fn long_run_average_lies_in_its_interval() {
        for ticks in [0.0, 1.0, 4.0] {
            let percent = percent_of(1000, |random| {
                let seen = process(random, ticks, LENGTH);
                let error = Wander::of(&seen).unwrap().mean_error();
                mean(&seen).abs() <= error.typical_half_width(0.95)
            });
            assert!(percent >= 92.0, "{ticks}: {percent} %");
        }
    }

    /// Stalls that occur every second do not make the mean less certain.
    #[test]
    fn regular_short_stalls_do_not_count_as_wander() {
        let mut random = Random::new(3);
        let noise = random.ar1(480, 0.0, 0.0);
        let stalls: Vec<f64> =
            (0..480).map(|n| noise[n] + if n % 40 < 4 { -10.0 } else { 0.0 }).collect();
        let of = |series: &[f64]| Wander::of(series).unwrap().mean_error().typical_half_width(0.95);
        assert!(of(&stalls) < 2.0 * of(&noise), "{} {}", of(&stalls), of(&noise));
    }

    /// The variance of the difference between consecutive averages is twice the Allan variance.
    #[test]
    fn consecutive_average_variance_is_twice_allan_variance() {
        for (kind, _) in Slow::all(&OBSERVED) {
            let (near, far) = (kind.difference(0.7, 0.7), kind.difference(0.7, 2.5));
            let allan = kind.allan(0.7);
            assert!((2.0 * allan - near).abs() < 1e-6 * near, "{kind:?}: {allan} {near}");
            let fades = matches!(kind, Slow::Phase);
            assert!(
                near <= far || fades && (1.5 * far - near).abs() < 1e-9,
                "{kind:?}: {near} {far}"
            );
        }
    }

    #[test]
    fn constant_series_has_no_wander() {
        let wander = Wander::of(&[5.0; 40]).unwrap();
        assert_eq!(wander.next(80.0).typical(), 0.0);
        assert_eq!(wander.next(80.0).half_width(0.95), 0.0);
        assert_eq!(wander.white(), 0.0);
        assert!(Wander::of(&[5.0; 8]).is_none());
    }
}
