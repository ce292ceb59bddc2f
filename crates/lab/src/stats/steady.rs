//! The steady-state rule of the SNIA Solid State Storage Performance Test Specification.

/// Number of rounds that the rule applies to.
pub const STEADY_ROUNDS: usize = 5;
const RANGE_LIMIT: f64 = 0.20;
const RISE_LIMIT: f64 = 0.10;

/// Result of the rule for a window of rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyCheck {
    /// Mean of the rounds.
    pub mean: f64,
    /// Largest minus smallest round, relative to the mean.
    pub range: f64,
    /// Rise of the least-squares line from the first round to the last, relative to the mean; negative if it falls.
    pub rise: f64,
}

impl SteadyCheck {
    /// Returns true if the range is at most 20 % of the mean and the line rises or falls by at most 10 % of it.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE_LIMIT && self.rise.abs() <= RISE_LIMIT
    }
}

/// Applies the rule to five rounds in order of time. A mean of 0 or less is never steady: range and rise are infinite.
#[must_use]
pub fn steady_state(rounds: &[f64; STEADY_ROUNDS]) -> SteadyCheck {
    let mean = rounds.iter().sum::<f64>() / STEADY_ROUNDS as f64;
    if mean <= 0.0 {
        return SteadyCheck { mean, range: f64::INFINITY, rise: f64::INFINITY };
    }
    let largest = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    // For five equidistant rounds Σ(x − x̄)² is 10, and the line spans four gaps.
    let products: f64 = rounds.iter().zip([-2.0, -1.0, 0.0, 1.0, 2.0]).map(|(y, x)| x * y).sum();
    let rise = products / 10.0 * (STEADY_ROUNDS - 1) as f64;
    SteadyCheck { mean, range: (largest - smallest) / mean, rise: rise / mean }
}

/// Returns the first steady window of five rounds: the index of its last round, and the result of the rule.
#[must_use]
pub fn first_steady(rounds: &[f64]) -> Option<(usize, SteadyCheck)> {
    let windows = rounds.windows(STEADY_ROUNDS).filter_map(<[f64]>::first_chunk);
    windows.enumerate().find_map(|(start, window)| {
        let check = steady_state(window);
        check.is_steady().then_some((start + STEADY_ROUNDS - 1, check))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn range_and_slope_follow_snia_steady_state_rule() {
        let check = steady_state(&[100.0, 105.0, 95.0, 105.0, 95.0]);
        assert!((check.mean - 100.0).abs() < 1e-12 && (check.range - 0.10).abs() < 1e-12);
        assert!((check.rise + 0.04).abs() < 1e-12, "{}", check.rise);
        assert!(check.is_steady());
        let line = steady_state(&[90.0, 95.0, 100.0, 105.0, 110.0]);
        assert!((line.rise - 0.20).abs() < 1e-12 && !line.is_steady());
        let outlier = steady_state(&[100.0, 100.0, 121.0, 100.0, 100.0]);
        assert!(outlier.rise.abs() < 1e-12 && !outlier.is_steady());
        assert!(!steady_state(&[0.0; 5]).is_steady());
    }

    #[test]
    fn first_steady_window_is_chosen() {
        let rounds = [300.0, 200.0, 140.0, 110.0, 102.0, 100.0, 99.0, 101.0, 100.0, 100.0];
        assert_eq!(first_steady(&rounds).map(|(last, _)| last), Some(7));
        assert_eq!(first_steady(&rounds[..7]), None);
        assert_eq!(first_steady(&[1.0; 4]), None);
    }

    proptest! {
        #[test]
        fn steady_state_rule_is_scale_invariant(rounds in prop::array::uniform5(1.0f64..1e6), unit in 1e-3f64..1e3) {
            let (a, b) = (steady_state(&rounds), steady_state(&rounds.map(|r| r * unit)));
            prop_assert!((a.range - b.range).abs() < 1e-9 && (a.rise - b.rise).abs() < 1e-9);
        }
    }
}
