//! Changes of the distribution of a series, any number of them.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;

/// Minimum number of values between two changes, and before the first and after the last one.
pub const SHORTEST_SEGMENT: usize = 3;
/// Maximum number of permutations of a test. The smallest p value is 1 / (this + 1).
const PERMUTATIONS: usize = 999;
/// Maximum number of permutations of a test of a long series.
const FEWER_PERMUTATIONS: usize = 199;
/// Maximum number of pairs of ends of segments that one pass considers.
const MOST_PAIRS: usize = 1_000_000;
/// Maximum number of such pairs with which a test has all permutations.
const FEW_PAIRS: usize = 200_000;
/// Permutations are the same in every analysis of a series.
const SEED: u64 = 0x0e57_a715_71c5;

/// A change of the distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistributionChange {
    /// Index of the first value after the change.
    pub at: usize,
    /// Share of random orders of the values that show a change as large; the observed order counts as one of them.
    pub p: f64,
}

/// Returns the changes of a series of independent values, by their index. If the values are exchangeable between the
/// changes, the chance of one or more changes that are not there is at most `p`.
///
/// E-divisive with alpha 1. A candidate splits a part of a segment, from its beginning, in two, so that their energy
/// distance, weighted by their lengths, is largest; the second part may end before the segment does. It is a change if
/// not more than a share `p` of the permutations of the values within the segments have a candidate as good. The search
/// then goes on in both segments, and ends at the first candidate that is no change.
///
/// D. S. Matteson, N. A. James, A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, J.
/// American Statistical Association 109 (2014) 334–345; G. J. Székely, M. L. Rizzo, Energy statistics, J. Statistical
/// Planning and Inference 143 (2013) 1249–1272.
///
/// Cost: for each change half the square of the number of values, times 999 permutations; 10 ms for 100 values. Series
/// have 199 permutations from 448 values on. From 1001 values on, both parts have a maximum length (100 of 10,000), and
/// each change takes about a second. A candidate that is no change usually takes a tenth of it.
#[must_use]
pub fn e_divisive(series: &[f64], p: f64) -> Vec<DistributionChange> {
    let longest = (MOST_PAIRS / series.len().max(1))
        .clamp(SHORTEST_SEGMENT, series.len().max(SHORTEST_SEGMENT));
    let pairs = series.len() * longest;
    if series.len() < shortest_series(p) {
        return Vec::new();
    }
    let permutations =
        enough_for(p, if pairs > FEW_PAIRS { FEWER_PERMUTATIONS } else { PERMUTATIONS });
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut search = Search::new(longest);
    let mut segments = vec![(0..series.len(), search.best_of(series))];
    let mut changes = Vec::new();
    loop {
        let candidates = segments.iter().enumerate();
        let candidates = candidates.filter_map(|(place, (_, best))| Some((place, (*best)?)));
        let Some((place, best)) = candidates.max_by(|a, b| a.1.energy.total_cmp(&b.1.energy))
        else {
            break;
        };
        let ranges: Vec<Range<usize>> = segments.iter().map(|(range, _)| range.clone()).collect();
        let shuffled = &mut series.to_vec();
        let is_as_good = || search.has_in_random_order(shuffled, &ranges, best.energy, &mut random);
        let Some(p) = p_value(permutations, p, is_as_good) else { break };
        let whole = segments.swap_remove(place).0;
        let at = whole.start + best.at;
        changes.push(DistributionChange { at, p });
        for range in [whole.start..at, at..whole.end] {
            let best = search.best_of(&series[range.clone()]);
            segments.push((range, best));
        }
    }
    changes.sort_by_key(|change| change.at);
    changes
}

/// Returns the number of values below which [`e_divisive`] finds no change: two of their orders separate any two levels,
/// the observed one and its reverse, and these are more than a share `p` of all.
#[must_use]
pub fn shortest_series(p: f64) -> usize {
    let permutations = enough_for(p, PERMUTATIONS) as f64;
    let (mut values, mut orders) = (0, 1.0);
    loop {
        let least_p = (1.0 + permutations * 2.0 / orders) / (permutations + 1.0);
        if values >= 2 * SHORTEST_SEGMENT && least_p <= p {
            return values;
        }
        // The binomial coefficient of the number of values and half of it.
        values += 1;
        orders *= values as f64 / values.div_ceil(2) as f64;
    }
}

/// Returns a number of permutations with which a p value can be as small as `p`, at least `least`.
fn enough_for(p: f64, least: usize) -> usize {
    least.max((2.0 / p).ceil() as usize)
}

/// Returns the p value of a permutation test; `None` once it exceeds `most`.
fn p_value(permutations: usize, most: f64, mut is_as_good: impl FnMut() -> bool) -> Option<f64> {
    let all = (permutations + 1) as f64;
    let mut as_good = 1;
    for _ in 0..permutations {
        as_good += usize::from(is_as_good());
        if as_good as f64 / all > most {
            return None;
        }
    }
    let p = as_good as f64 / all;
    (p <= most).then_some(p)
}

/// The best candidate of a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Best {
    /// Number of values before it.
    at: usize,
    /// The weighted energy distance.
    energy: f64,
}

/// Memory for the search in one segment.
struct Search {
    /// Maximum length of the parts before and after a candidate.
    longest: usize,
    /// By the number of values before a candidate: the part before it.
    before: Vec<Before>,
    /// By the number of values before a candidate: the sum of the distances of the values of the part after it.
    after: Vec<f64>,
    /// By the number of values before a candidate: the sum of the distances between both parts.
    between: Vec<f64>,
    /// Sums of the distances of one value from those before it.
    sums: Vec<f64>,
    /// By number of values: this number, and the inverse number of pairs.
    counts: Vec<(f64, f64)>,
    /// The weighted energy distances of the candidates before one value.
    energies: Vec<f64>,
}

/// The part before a candidate.
#[derive(Debug, Clone, Copy)]
struct Before {
    values: f64,
    /// Mean distance of two of its values.
    distance: f64,
}

impl Search {
    fn new(longest: usize) -> Self {
        let count = |n: usize| {
            let n = n as f64;
            (n, if n < 2.0 { 0.0 } else { 2.0 / (n * (n - 1.0)) })
        };
        Self {
            longest,
            before: Vec::new(),
            after: Vec::new(),
            between: Vec::new(),
            sums: Vec::new(),
            counts: (0..=longest).map(count).collect(),
            energies: Vec::new(),
        }
    }

    /// Brings each segment into a random order. Returns true if one of them has a candidate at least as good.
    fn has_in_random_order(
        &mut self,
        values: &mut [f64],
        segments: &[Range<usize>],
        energy: f64,
        random: &mut Xoshiro256PlusPlus,
    ) -> bool {
        segments.iter().any(|segment| {
            let values = &mut values[segment.clone()];
            shuffle(values, random);
            self.best_of(values).is_some_and(|best| best.energy >= energy)
        })
    }

    /// Returns the best candidate of a segment; `None` if it is too short for one.
    fn best_of(&mut self, values: &[f64]) -> Option<Best> {
        let n = values.len();
        if n < 2 * SHORTEST_SEGMENT {
            return None;
        }
        self.set_before(values);
        for sums in [&mut self.after, &mut self.between] {
            sums.clear();
            sums.resize(n + 1, 0.0);
        }
        let mut best = Best { at: 0, energy: f64::NEG_INFINITY };
        for last in 1..n {
            self.take(values, last);
            self.compare(last, &mut best);
        }
        Some(best)
    }

    /// Returns the first candidate whose part after it may end with this value.
    fn first_before(&self, last: usize) -> usize {
        (last + 1).saturating_sub(self.longest).max(1)
    }

    /// Computes the parts before each candidate.
    fn set_before(&mut self, values: &[f64]) {
        self.before.clear();
        let mut sum = 0.0;
        for at in 0..=values.len() {
            let first = at.saturating_sub(self.longest);
            let (count, inverse_pairs) = self.counts[at - first];
            self.before.push(Before { values: count, distance: sum * inverse_pairs });
            let Some(value) = values.get(at) else { break };
            let distances = |from: f64, part: &[f64]| -> f64 {
                part.iter().map(|other| (from - other).abs()).sum()
            };
            let next = (at + 1).saturating_sub(self.longest);
            sum += distances(*value, &values[next..at]);
            if next > first {
                sum -= distances(values[first], &values[next..at]);
            }
        }
    }

    /// Adds a value to the parts after the candidates before it.
    fn take(&mut self, values: &[f64], last: usize) {
        let first = self.first_before(last);
        let base = first.saturating_sub(self.longest);
        let value = values[last];
        self.sums.clear();
        self.sums.push(0.0);
        let mut sum = 0.0;
        self.sums.extend(values[base..last].iter().map(|other| {
            sum += (value - other).abs();
            sum
        }));
        let until = &self.sums[first - base..];
        for (after, until) in self.after[first..=last].iter_mut().zip(until) {
            *after += sum - until;
        }
        // Parts before these candidates begin at the first value; those before the others are of full length.
        let whole = self.longest.clamp(first, last + 1);
        let (begin, full) = self.between[first..=last].split_at_mut(whole - first);
        for (between, until) in begin.iter_mut().zip(until) {
            *between += until;
        }
        let from = &self.sums[whole.saturating_sub(self.longest + base)..];
        for ((between, until), from) in full.iter_mut().zip(&until[whole - first..]).zip(from) {
            *between += until - from;
        }
    }

    /// Compares the candidates whose part after them ends with a value.
    fn compare(&mut self, last: usize, best: &mut Best) {
        const LANES: usize = 8;
        let first = self.first_before(last).max(SHORTEST_SEGMENT);
        let end = (last + 2).saturating_sub(SHORTEST_SEGMENT);
        if first >= end {
            return;
        }
        let after_counts = self.counts[SHORTEST_SEGMENT..last + 2 - first].iter().rev();
        let after = self.after[first..end].iter().zip(after_counts);
        let sides = self.before[first..end].iter().zip(after);
        self.energies.clear();
        self.energies.extend(self.between[first..end].iter().zip(sides).map(
            |(between, (before, (after, (n, inverse_pairs))))| {
                let within = before.distance + after * inverse_pairs;
                (2.0 * between - before.values * n * within) / (before.values + n)
            },
        ));
        for (number, lanes) in self.energies.chunks(LANES).enumerate() {
            // Few chunks have a better one. This test is quicker than a search for the largest.
            if !lanes.iter().fold(false, |any, energy| any | (*energy > best.energy)) {
                continue;
            }
            for (lane, energy) in lanes.iter().enumerate() {
                if *energy > best.energy {
                    *best = Best { at: first + number * LANES + lane, energy: *energy };
                }
            }
        }
    }
}

/// Brings values into a random order (R. Durstenfeld, Algorithm 235, Communications of the ACM 7 (1964) 420).
fn shuffle(values: &mut [f64], random: &mut Xoshiro256PlusPlus) {
    for last in (1..values.len()).rev() {
        // The bias of this product is below 2⁻⁵⁰ for series of any practical length.
        let other = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        values.swap(last, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Random, percent_of};
    use super::*;

    /// The best candidate by the definition of the energy distance, with all pairs and both ends.
    fn by_definition(values: &[f64], longest: usize) -> Best {
        let mean_of_pairs = |part: &[f64]| {
            let mut distances = Vec::new();
            for (number, value) in part.iter().enumerate() {
                distances.extend(part[..number].iter().map(|other| (value - other).abs()));
            }
            distances.iter().sum::<f64>() / distances.len() as f64
        };
        let mut best = Best { at: 0, energy: f64::NEG_INFINITY };
        for end in SHORTEST_SEGMENT..=values.len() {
            for at in SHORTEST_SEGMENT..=end - SHORTEST_SEGMENT {
                if end - at > longest {
                    continue;
                }
                let (before, after) = (&values[at.saturating_sub(longest)..at], &values[at..end]);
                let across = before.iter().flat_map(|x| after.iter().map(move |y| (x - y).abs()));
                let (m, n) = (before.len() as f64, after.len() as f64);
                let distance = 2.0 * across.sum::<f64>() / (m * n)
                    - mean_of_pairs(before)
                    - mean_of_pairs(after);
                let energy = m * n / (m + n) * distance;
                if energy > best.energy {
                    best = Best { at, energy };
                }
            }
        }
        best
    }

    #[test]
    fn best_candidate_matches_the_definition() {
        let mut random = Random::new(1);
        for n in [6, 7, 13, 40] {
            for longest in [3, 4, 7, 12, 39, 40, 50] {
                let mut values: Vec<f64> = (0..n).map(|_| random.normal()).collect();
                values[n / 2..].iter_mut().for_each(|value| *value += 1.0);
                let found = Search::new(longest).best_of(&values).unwrap();
                let wanted = by_definition(&values, longest);
                assert_eq!(found.at, wanted.at, "{n}, {longest}");
                assert!((found.energy - wanted.energy).abs() < 1e-9, "{n}, {longest}: {found:?}");
            }
        }
        assert_eq!(Search::new(5).best_of(&[1.0; 5]), None);
    }

    #[test]
    fn several_changes_are_located() {
        let mut random = Random::new(3);
        let levels = [(20, 0.0), (5, 0.2), (15, 0.0), (3, -0.2)];
        let mut series = Vec::new();
        for (values, level) in levels {
            series.extend((0..values).map(|_| level + 0.02 * random.normal()));
        }
        let changes = e_divisive(&series, 0.05);
        assert_eq!(changes.iter().map(|change| change.at).collect::<Vec<_>>(), [20, 25, 40]);
        assert!(changes.iter().all(|change| change.p <= 0.05), "{changes:?}");
        assert_eq!(changes, e_divisive(&series, 0.05), "the permutations are fixed");
    }

    #[test]
    fn series_without_a_change_has_none() {
        for series in [&[][..], &[1.0], &[1.0; 5], &[1.0; 50]] {
            assert_eq!(e_divisive(series, 0.05), []);
        }
        let alarms = percent_of(200, |random| {
            let series: Vec<f64> = (0..20).map(|_| random.normal()).collect();
            !e_divisive(&series, 0.05).is_empty()
        });
        assert!(alarms <= 10.0, "{alarms} %");
    }

    /// The parts of long series are limited, and a small p value needs more permutations.
    #[test]
    fn changes_are_located_in_long_series_and_with_small_p() {
        for (runs, at, p) in [(1010, 700, 0.05), (40, 20, 0.000_5)] {
            let mut random = Random::new(5);
            let mut series: Vec<f64> = (0..runs).map(|_| 0.02 * random.normal()).collect();
            series[at..].iter_mut().for_each(|value| *value += 0.2);
            let changes = e_divisive(&series, p);
            assert_eq!(changes.iter().map(|change| change.at).collect::<Vec<_>>(), [at]);
            assert!(changes[0].p <= p, "{changes:?}");
        }
    }

    #[test]
    fn permutation_test_ends_early_without_significance() {
        let mut calls = 0;
        let p = p_value(999, 0.05, || {
            calls += 1;
            true
        });
        assert_eq!((p, calls), (None, 50));
        assert_eq!(p_value(999, 0.05, || false), Some(0.001));
        assert_eq!(p_value(9, 0.05, || false), None);
    }
}
