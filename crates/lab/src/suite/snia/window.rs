//! The five rounds that count: the first ones in which all tracked accesses are steady.

use crate::stats::{STEADY_ROUNDS, SteadyCheck, steady_state};

/// Maximum number of rounds.
pub(super) const MOST_ROUNDS: u32 = 25;

/// Five rounds, numbered from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub first: u32,
    pub last: u32,
    /// True if all tracked accesses are steady in it.
    pub steady: bool,
}

impl Window {
    /// Returns the first window in which all series are steady, or the last window if there is
    /// none. `None` if there are fewer than five rounds.
    pub fn of(series: &[Vec<f64>]) -> Option<Self> {
        let rounds = series.iter().map(Vec::len).min()?;
        let ends = STEADY_ROUNDS..=rounds;
        let is_steady = |last: &usize| {
            series.iter().all(|values| check(values, *last).is_some_and(|c| c.is_steady()))
        };
        let steady = ends.clone().find(is_steady);
        let last = steady.or_else(|| ends.last())?;
        let first = (last + 1 - STEADY_ROUNDS) as u32;
        Some(Self { first, last: last as u32, steady: steady.is_some() })
    }

    pub fn contains(&self, round: u32) -> bool {
        (self.first..=self.last).contains(&round)
    }

    /// Applies the rule to these rounds of a series; `None` if the series does not have all of
    /// them.
    pub fn check(&self, values: &[f64]) -> Option<SteadyCheck> {
        check(values, self.last as usize)
    }
}

/// Applies the rule to the five rounds up to `last`, from 1.
fn check(values: &[f64], last: usize) -> Option<SteadyCheck> {
    let rounds = values.get(last.checked_sub(STEADY_ROUNDS)?..last)?;
    rounds.first_chunk().map(steady_state)
}

/// Returns the values of the least-squares line in the first and in the last round of a window.
pub(super) fn line(check: &SteadyCheck) -> [f64; 2] {
    let half = check.mean * check.rise / 2.0;
    [check.mean - half, check.mean + half]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_series_must_be_steady_in_the_same_window() {
        let early = vec![100.0; 9];
        let late = vec![300.0, 200.0, 140.0, 110.0, 102.0, 100.0, 99.0, 101.0, 100.0];
        let window = |first, last, steady| Some(Window { first, last, steady });
        assert_eq!(Window::of(std::slice::from_ref(&early)), window(1, 5, true));
        assert_eq!(Window::of(&[early.clone(), late.clone()]), window(4, 8, true));
        assert_eq!(Window::of(&[early.clone(), late[..7].to_vec()]), window(3, 7, false));
        assert_eq!(Window::of(&[early, late[..4].to_vec()]), None);
        assert_eq!(Window::of(&[]), None);
    }

    #[test]
    fn fitted_line_passes_through_the_mean() {
        let values = [90.0, 95.0, 100.0, 105.0, 110.0];
        let window = Window::of(&[values.to_vec()]).unwrap();
        let check = window.check(&values).unwrap();
        assert!(!window.steady);
        assert!(
            line(&check).iter().zip([90.0, 110.0]).all(|(end, truth)| (end - truth).abs() < 1e-9)
        );
        assert_eq!(Window { last: 6, ..window }.check(&values), None);
    }

    proptest! {
        #[test]
        fn additional_rounds_do_not_move_a_steady_window(
            values in prop::collection::vec(80.0f64..120.0, 5..25),
            more in prop::collection::vec(1.0f64..1e6, 0..9),
        ) {
            let before = Window::of(std::slice::from_ref(&values)).unwrap();
            let longer = Window::of(&[values.iter().chain(&more).copied().collect()]).unwrap();
            if before.steady {
                prop_assert_eq!(before, longer);
            } else {
                prop_assert!(longer.last > before.last || more.is_empty());
            }
        }
    }
}
