//! The levels of a series of values, and the changes between them.

use crate::stats::{e_divisive, ratio_of_levels, segment_correlation};
use iogauge_model::result::Estimate;
use std::ops::Range;

/// The levels of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// The segments without a change, with their geometric means.
    pub segments: Vec<(Range<usize>, f64)>,
    /// The changes between them.
    pub changes: Vec<Change>,
    /// Number of values that carry the information of one independent value.
    pub autocorrelation_runs: f64,
    /// The correlation of neighbours, if it is beyond chance.
    pub correlation: Option<f64>,
}

/// A change between two levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value after it.
    pub at: usize,
    /// Geometric mean before it.
    pub before: f64,
    /// Geometric mean after it.
    pub after: f64,
    /// `after` divided by `before`.
    pub ratio: Estimate,
    /// The p value.
    pub p: f64,
}

/// Returns the levels of a series of values above 0. It works on their logarithms. `p_max` is as in
/// [`e_divisive`]. The segments beside a change by a factor below 1 + `min_change` are joined, the smallest change first.
#[must_use]
pub fn levels(values: &[f64], p_max: f64, min_change: f64) -> Levels {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mut found = e_divisive(&logs, p_max);
    loop {
        let means = means(&logs, &segments(logs.len(), found.iter().map(|change| change.at)));
        let jumps = means.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let least = jumps.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match least {
            Some((place, jump)) if jump < min_change.ln_1p() => drop(found.remove(place)),
            _ => break,
        }
    }
    let ranges = segments(logs.len(), found.iter().map(|change| change.at));
    let means = means(&logs, &ranges);
    let correlation = segment_correlation(&logs, &ranges);
    let changes = found.iter().zip(ranges.windows(2)).zip(means.windows(2));
    let changes = changes.map(|((change, ranges), means)| {
        let [before, after] = [0, 1].map(|side: usize| &values[ranges[side].clone()]);
        let ratio = ratio_of_levels(before, after, correlation.time);
        let without = || Estimate { n: 1, ..Estimate::exact((means[1] - means[0]).exp()) };
        Change {
            at: change.at,
            before: means[0].exp(),
            after: means[1].exp(),
            ratio: ratio.unwrap_or_else(without),
            p: change.p,
        }
    });
    Levels {
        changes: changes.collect(),
        segments: ranges.into_iter().zip(means.iter().map(|mean| mean.exp())).collect(),
        autocorrelation_runs: correlation.time,
        correlation: correlation.beyond_chance,
    }
}

/// Returns the segments of `n` values with changes at these indices.
fn segments(n: usize, changes: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut first = 0;
    let mut segments = Vec::new();
    for end in changes.chain([n]) {
        segments.push(first..end);
        first = end;
    }
    segments.retain(|segment| !segment.is_empty());
    segments
}

fn means(logs: &[f64], segments: &[Range<usize>]) -> Vec<f64> {
    let mean = |range: &Range<usize>| logs[range.clone()].iter().sum::<f64>() / range.len() as f64;
    segments.iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::synthetic::Random;

    fn series(random: &mut Random, levels: &[(usize, f64)], deviation: f64) -> Vec<f64> {
        let of_level = |(runs, level): &(usize, f64)| vec![*level; *runs];
        let levels = levels.iter().flat_map(of_level);
        levels.map(|level| level * (deviation * random.normal()).exp()).collect()
    }

    #[test]
    fn small_changes_are_joined_with_their_neighbours() {
        let values = series(&mut Random::new(1), &[(40, 1e4), (40, 9.9e3), (40, 8e3)], 0.002);
        let at = |min_change: f64| {
            levels(&values, 0.05, min_change).changes.iter().map(|c| c.at).collect::<Vec<_>>()
        };
        assert_eq!((at(0.005), at(0.02), at(0.5)), (vec![40, 80], vec![80], vec![]));
        // A fall by 19.6 % is a factor of 1.244.
        assert_eq!((at(0.24), at(0.25)), (vec![80], vec![]));
        let found = levels(&values, 0.05, 0.02);
        assert_eq!(
            found.segments.iter().map(|s| s.0.clone()).collect::<Vec<_>>(),
            [0..80, 80..120]
        );
        let change = found.changes[0];
        assert!((change.before / 9950.0 - 1.0).abs() < 1e-3, "{change:?}");
        assert_eq!(change.ratio.n, 120);
        assert!((change.ratio.mean - change.after / change.before).abs() < 1e-12, "{change:?}");
        let [low, high] = change.ratio.ci95;
        assert!(low < 0.804 && high > 0.804 && high - low < 0.05, "{change:?}");
    }

    #[test]
    fn short_and_constant_series_have_one_level() {
        assert_eq!(levels(&[], 0.05, 0.02).segments, []);
        for values in [&[5.0][..], &[5.0; 3], &[5.0; 30], &[101_690.37; 999]] {
            let found = levels(values, 0.05, 0.02);
            assert_eq!((found.changes, found.correlation), (vec![], None));
            assert_eq!(found.segments.len(), 1);
            assert!((found.segments[0].1 / values[0] - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn correlation_of_runs_is_measured_within_segments() {
        let mut random = Random::new(2);
        let step = series(&mut random, &[(50, 1e4), (50, 5e3)], 0.02);
        assert_eq!(levels(&step, 0.05, 0.02).correlation, None);
        let slow: Vec<f64> =
            random.ar1(100, 0.0, 0.6).iter().map(|x| 1e4 * (0.001 * x).exp()).collect();
        let found = levels(&slow, 0.05, 0.02);
        assert!(found.correlation.is_some_and(|value| (0.3..0.9).contains(&value)), "{found:?}");
        assert!(found.autocorrelation_runs > 2.0, "{found:?}");
    }
}
