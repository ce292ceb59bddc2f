//! The point at which a series has settled.

/// Number of values averaged into one before the rule is applied.
const BATCH: usize = 5;
/// Minimum number of batches for the rule.
const MIN_BATCHES: usize = 8;

/// Returns the number of values to leave out at the start of a series, a multiple of 5, by the rule MSER-5.
///
/// Values are averaged in fives. The cut is where the mean of the rest has the smallest standard error, among the cuts
/// within the first half. Returns `None` if the series has fewer than 40 values, or if the best cut is the last one
/// allowed: then the series had not settled.
///
/// K. P. White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69 (1997)
/// 323–334.
///
/// Cost: one pass.
#[must_use]
pub fn mser5(series: &[f64]) -> Option<usize> {
    let batches: Vec<f64> =
        series.chunks_exact(BATCH).map(|chunk| chunk.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < MIN_BATCHES {
        return None;
    }
    let last_cut = batches.len() / 2;
    let mut best = (f64::INFINITY, last_cut);
    // Backwards, so that the mean and the squares of the rest grow by one batch at a time (Welford).
    let (mut mean, mut squares) = (0.0, 0.0);
    for (taken, cut) in (0..batches.len()).rev().enumerate() {
        let count = (taken + 1) as f64;
        let off = batches[cut] - mean;
        mean += off / count;
        squares += off * (batches[cut] - mean);
        let statistic = squares / (count * count);
        // Of equally good cuts, the one that keeps more wins.
        if cut <= last_cut && statistic <= best.0 {
            best = (statistic, cut);
        }
    }
    (best.1 < last_cut).then_some(best.1 * BATCH)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::percent_of;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mser5_cuts_the_warm_up_and_little_more() {
        let good = percent_of(300, |random| {
            let noise = random.ar1(400, 100.0, 0.5);
            let series: Vec<f64> =
                (0..400).map(|n| noise[n] + 30.0 * (-(n as f64) / 10.0).exp()).collect();
            mser5(&series).is_some_and(|cut| (15..=120).contains(&cut))
        });
        assert!(good >= 90.0, "{good} %");
    }

    #[test]
    fn mser5_keeps_most_of_a_steady_series() {
        let kept = percent_of(300, |random| {
            mser5(&random.ar1(400, 100.0, 0.0)).is_some_and(|cut| cut <= 100)
        });
        assert!(kept >= 85.0, "{kept} %");
        assert_eq!(mser5(&[7.0; 40]), Some(0));
    }

    #[test]
    fn mser5_finds_no_cut_if_series_never_settles() {
        let rising: Vec<f64> = (0..200).map(f64::from).collect();
        assert_eq!(mser5(&rising), None);
        assert_eq!(mser5(&[1.0; 39]), None);
    }

    proptest! {
        #[test]
        fn mser5_cut_lies_in_the_first_half(series in prop::collection::vec(-1e9f64..1e9, 0..300)) {
            if let Some(cut) = mser5(&series) {
                prop_assert!(cut % 5 == 0 && cut * 2 <= series.len());
            }
        }
    }
}
