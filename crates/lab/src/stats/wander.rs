//! How a rate wanders over time, and what that leaves open of another look at it.
//!
//! The noise is taken for a sum of Ornstein-Uhlenbeck processes whose correlation times lie on a fixed grid,
//! with white noise at one end and a random walk at the other, and of noise that is made up for at once. Flicker
//! noise is a sum of such processes. Their variances are estimated by non-negative least squares from the Allan variances of the series at many window
//! lengths.
//!
//! D. W. Allan, "Statistics of Atomic Frequency Standards", Proc. IEEE 54 (1966), 221-230; D. A. Howe, D. W.
//! Allan, J. A. Barnes, "Properties of Signal Sources and Measurement Methods" (1981), for the overlapping
//! estimate; C. L. Lawson, R. J. Hanson, "Solving Least Squares Problems" (1974), ch. 23; F. E. Satterthwaite,
//! Biometrics Bulletin 2 (1946), 110-114, for the degrees of freedom of a sum of variances.

/// Correlation times of the components between white noise and a random walk, as parts of the series.
const TIMES: [f64; 4] = [1.0 / 80.0, 1.0 / 20.0, 0.2, 0.8];
/// White noise, the processes of [`TIMES`], a random walk, and white phase noise: what comes back at once, as a
/// stall does whose I/Os are made up for, and averages out faster than white noise.
const COMPONENTS: usize = TIMES.len() + 3;
const WALK: usize = TIMES.len() + 1;
const PHASE: usize = TIMES.len() + 2;
/// Window lengths grow by this factor, up to half of the series.
const GROWTH: f64 = 1.5;
/// The shortest is so many times shorter than the series: what comes round often, as stalls do, does not wander.
const SHORTEST: usize = 24;
/// Rounds of weighing by the fit itself: a value that is low by luck would weigh most otherwise.
const ROUNDS: usize = 3;
/// Fewest ticks that tell anything.
const FEWEST: usize = 16;

/// The Allan variance at a window length.
#[derive(Debug, Clone, Copy)]
struct Allan {
    ticks: f64,
    variance: f64,
    /// Independent pairs of windows, about.
    pairs: f64,
}

/// What the next look of the same length differs by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Standard deviation of the difference of two averages that follow each other.
    pub deviation: f64,
    /// How well that is known.
    pub degrees: f64,
}

/// The components of a series, by their variances.
#[derive(Debug, Clone)]
pub struct Wander {
    ticks: f64,
    variances: [f64; COMPONENTS],
}

impl Wander {
    /// Fits a series of figures at equal distances; `None` where it is too short.
    #[must_use]
    pub fn of(series: &[f64]) -> Option<Self> {
        if series.len() < FEWEST {
            return None;
        }
        let seen = allan_variances(series);
        let ticks = series.len() as f64;
        let rows: Vec<[f64; COMPONENTS]> = seen.iter().map(|at| basis(at.ticks, ticks)).collect();
        let largest = seen.iter().map(|at| at.variance).fold(0.0, f64::max);
        let mut fitted: Vec<f64> = seen.iter().map(|at| at.variance).collect();
        let mut variances = [0.0; COMPONENTS];
        for _ in 0..ROUNDS {
            let weighted = |(at, (row, fit)): (&Allan, (&[f64; COMPONENTS], &f64))| {
                let weight = at.pairs.sqrt() / fit.max(largest * 1e-6).max(f64::MIN_POSITIVE);
                (row.map(|value| value * weight), at.variance * weight)
            };
            let system: Vec<_> = seen.iter().zip(rows.iter().zip(&fitted)).map(weighted).collect();
            variances = non_negative(&system);
            fitted = rows.iter().map(|row| dot(row, &variances)).collect();
        }
        Some(Self { ticks, variances })
    }

    /// Allan deviation at a window length, in ticks.
    #[must_use]
    pub fn deviation(&self, ticks: f64) -> f64 {
        dot(&basis(ticks, self.ticks), &self.variances).sqrt()
    }

    /// The deviation that [`Self::next`] would have at the length of the series if its ticks were independent.
    #[must_use]
    pub fn white(&self) -> f64 {
        self.deviation(1.0) * (2.0 / self.ticks).sqrt()
    }

    /// How far the average of the series is off the long-run average. A random walk has none: it counts as
    /// its average against the middle of the series.
    #[must_use]
    pub fn mean_error(&self) -> Difference {
        let mut ends = differences(self.ticks, f64::INFINITY);
        ends.iter_mut().for_each(|end| *end /= 2.0);
        ends[WALK] = 0.25;
        self.sum(&ends)
    }

    /// The difference between the average of the series and that of one as long which begins so many ticks
    /// after it began; no fewer than the series is long.
    #[must_use]
    pub fn next(&self, apart_ticks: f64) -> Difference {
        self.sum(&differences(self.ticks, apart_ticks.max(self.ticks)))
    }

    /// Components times what each of variance 1 comes to.
    fn sum(&self, ends: &[f64; COMPONENTS]) -> Difference {
        let parts: Vec<f64> = ends.iter().zip(&self.variances).map(|(end, v)| end * v).collect();
        let sum: f64 = parts.iter().sum();
        // As many as half the ticks for white noise, and as correlation times fit in otherwise.
        let degrees = |component: usize| match component {
            0 | PHASE => self.ticks / 2.0,
            WALK => 1.5,
            component => (0.5 / TIMES[component - 1]).max(1.5),
        };
        let spread: f64 = (0..).zip(&parts).map(|(i, part)| part * part / degrees(i)).sum();
        let degrees = if spread > 0.0 { sum * sum / spread } else { self.ticks / 2.0 };
        Difference { deviation: sum.sqrt(), degrees: degrees.max(3.0) }
    }
}

/// Variance of the difference of two averages over `all` ticks that begin `apart` ticks from each other, for
/// each component of variance 1.
fn differences(all: f64, apart: f64) -> [f64; COMPONENTS] {
    let mut values = [2.0 / all; COMPONENTS];
    for (value, time) in values[1..].iter_mut().zip(TIMES) {
        // Times in parts of the series.
        let gap = (apart / all - 1.0) / time;
        let fade = 1.0 - (-1.0 / time).exp();
        let own = 2.0 * time * (1.0 - time * fade);
        let shared = time * time * fade * fade * (-gap).exp();
        *value = 2.0 * (own - shared);
    }
    values[WALK] = 3.0 * apart / all - 1.0;
    values[PHASE] = 6.0 / (all * all);
    values
}

/// Allan variance of each component of variance 1 at a window length.
fn basis(ticks: f64, all: f64) -> [f64; COMPONENTS] {
    let mut values = [1.0 / ticks; COMPONENTS];
    for (value, time) in values[1..].iter_mut().zip(TIMES) {
        let q = ticks / (time * all);
        *value = 2.0 / q * (1.0 - (3.0 - 4.0 * (-q).exp() + (-2.0 * q).exp()) / (2.0 * q));
    }
    values[WALK] = ticks / all;
    values[PHASE] = 3.0 / (ticks * ticks);
    values
}

/// Overlapping Allan variances at window lengths from a tick to half of the series.
fn allan_variances(series: &[f64]) -> Vec<Allan> {
    let mut sums = vec![0.0];
    sums.extend(series.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    }));
    let mut seen = Vec::new();
    let mut ticks = (series.len() / SHORTEST).max(1);
    while 2 * ticks <= series.len() {
        let pairs = series.len() + 1 - 2 * ticks;
        let difference = |i: usize| sums[i + 2 * ticks] - 2.0 * sums[i + ticks] + sums[i];
        let squares: f64 = (0..pairs).map(|i| (difference(i) / ticks as f64).powi(2)).sum();
        let independent = (series.len() as f64 / ticks as f64 - 1.5).max(1.0);
        seen.push(Allan {
            ticks: ticks as f64,
            variance: squares / pairs as f64 / 2.0,
            pairs: independent,
        });
        ticks = (ticks as f64 * GROWTH).ceil() as usize;
    }
    seen
}

fn dot(a: &[f64; COMPONENTS], b: &[f64; COMPONENTS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The non-negative solution of least squares of a system of weighted rows: of all sets of components whose
/// unconstrained solution is not negative, the one that leaves least over. There are 63 sets.
fn non_negative(system: &[([f64; COMPONENTS], f64)]) -> [f64; COMPONENTS] {
    let mut gram = [[0.0; COMPONENTS]; COMPONENTS];
    let mut right = [0.0; COMPONENTS];
    for (row, value) in system {
        for i in 0..COMPONENTS {
            right[i] += row[i] * value;
            for j in 0..COMPONENTS {
                gram[i][j] += row[i] * row[j];
            }
        }
    }
    let mut best = ([0.0; COMPONENTS], 0.0);
    for set in 1u32..1 << COMPONENTS {
        let chosen: Vec<usize> = (0..COMPONENTS).filter(|i| set & (1 << i) != 0).collect();
        let Some(solution) = solve(&gram, &right, &chosen) else { continue };
        // Explained sum of squares.
        let gain: f64 = chosen.iter().map(|i| solution[*i] * right[*i]).sum();
        if solution.iter().all(|value| *value >= 0.0) && gain > best.1 {
            best = (solution, gain);
        }
    }
    best.0
}

/// Gauss-Jordan elimination on the chosen rows and columns; `None` where they are singular.
fn solve(
    gram: &[[f64; COMPONENTS]; COMPONENTS],
    right: &[f64; COMPONENTS],
    chosen: &[usize],
) -> Option<[f64; COMPONENTS]> {
    let mut rows: Vec<(Vec<f64>, f64)> =
        chosen.iter().map(|i| (chosen.iter().map(|j| gram[*i][*j]).collect(), right[*i])).collect();
    for column in 0..rows.len() {
        let pivot = (column..rows.len())
            .max_by(|a, b| rows[*a].0[column].abs().total_cmp(&rows[*b].0[column].abs()))?;
        rows.swap(column, pivot);
        let scale = rows[column].0[column];
        if scale.abs() <= gram[chosen[column]][chosen[column]].abs() * 1e-12 {
            return None;
        }
        let (above, value) = rows[column].clone();
        for (number, (row, rest)) in rows.iter_mut().enumerate() {
            let factor = if number == column { 1.0 - 1.0 / scale } else { row[column] / scale };
            row.iter_mut().zip(&above).for_each(|(cell, from)| *cell -= factor * from);
            *rest -= factor * value;
        }
    }
    let mut solution = [0.0; COMPONENTS];
    for (i, (_, value)) in chosen.iter().zip(rows) {
        solution[*i] = value;
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Random, percent_of};
    use super::super::t_quantile;
    use super::*;

    const LENGTH: usize = 80;

    fn mean(series: &[f64]) -> f64 {
        series.iter().sum::<f64>() / series.len() as f64
    }

    /// An Ornstein-Uhlenbeck process of this correlation time, in ticks.
    fn process(random: &mut Random, ticks: f64, length: usize) -> Vec<f64> {
        random.ar1(length, 0.0, if ticks > 0.0 { (-1.0 / ticks).exp() } else { 0.0 })
    }

    fn interval(of: Difference) -> f64 {
        t_quantile(0.975, of.degrees) * of.deviation
    }

    #[test]
    fn the_next_average_lies_within_its_interval() {
        for (ticks, widest) in [(0.0, 1.25), (1.0, 1.3), (4.0, 1.5), (12.0, 2.2)] {
            let (mut widths, mut squares) = (Vec::new(), 0.0);
            let percent = percent_of(1000, |random| {
                let series = process(random, ticks, 2 * LENGTH);
                let (seen, next) = series.split_at(LENGTH);
                let difference = mean(next) - mean(seen);
                let half = interval(Wander::of(seen).unwrap().next(LENGTH as f64));
                widths.push(half);
                squares += difference * difference;
                difference.abs() <= half
            });
            widths.sort_by(f64::total_cmp);
            let width = widths[500] / (1.96 * (squares / 1000.0).sqrt());
            assert!(percent >= 91.0, "{ticks}: {percent} %");
            assert!(width <= widest, "{ticks}: {width}");
        }
    }

    #[test]
    fn the_long_run_average_lies_within_its_interval() {
        for (ticks, least) in [(0.0, 92.0), (1.0, 92.0), (4.0, 90.0)] {
            let percent = percent_of(1000, |random| {
                let seen = process(random, ticks, LENGTH);
                mean(&seen).abs() <= interval(Wander::of(&seen).unwrap().mean_error())
            });
            assert!(percent >= least, "{ticks}: {percent} %");
        }
    }

    /// A device that stalls each second is no less sure for it.
    #[test]
    fn what_is_made_up_for_at_once_does_not_wander() {
        let mut random = Random::new(3);
        let noise = random.ar1(480, 0.0, 0.0);
        let stalls: Vec<f64> =
            (0..480).map(|n| noise[n] + if n % 40 < 4 { -10.0 } else { 0.0 }).collect();
        let of = |series: &[f64]| interval(Wander::of(series).unwrap().mean_error());
        assert!(of(&stalls) < 2.0 * of(&noise), "{} {}", of(&stalls), of(&noise));
    }

    /// Two averages that follow each other differ by twice the Allan variance.
    #[test]
    fn neighbours_differ_as_the_allan_variance_says() {
        for (one, two) in basis(80.0, 80.0).into_iter().zip(differences(80.0, 80.0)) {
            assert!((2.0 * one - two).abs() < 1e-12, "{one} {two}");
        }
        for (near, far) in differences(80.0, 80.0).into_iter().zip(differences(80.0, 200.0)) {
            assert!(near <= far);
        }
    }

    #[test]
    fn a_constant_does_not_wander() {
        let wander = Wander::of(&[5.0; 40]).unwrap();
        assert_eq!(wander.next(80.0).deviation, 0.0);
        assert_eq!(wander.white(), 0.0);
        assert!(Wander::of(&[5.0; 8]).is_none());
    }
}
