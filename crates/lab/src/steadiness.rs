//! Whether the figures of a window held still.

use crate::stats::{change_point, drift};
use iogauge_model::result::IntervalPoint;

/// A change of less than this share of the IOPS is not worth a word, and no other regime.
pub(crate) const NOTABLE: f64 = 0.1;

/// How a window did not hold still.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unsteady {
    /// The IOPS changed their level once and kept the new one.
    Jump {
        /// When, in seconds since measuring began.
        at_seconds: f64,
        /// IOPS before.
        before: f64,
        /// IOPS from then on.
        after: f64,
    },
    /// The IOPS went up or down all the time.
    Drift {
        /// Rise from the first interval to the last, relative to the mean.
        rise_relative: f64,
    },
}

/// What a series shows beyond chance; `None` where it held still, or is too short to tell.
///
/// A drift looks like a jump to the one test and a jump like a drift to the other; where both
/// speak, the one that leaves less unexplained is told.
pub(crate) fn unsteadiness(series: &[IntervalPoint]) -> Option<Unsteady> {
    let rates: Vec<f64> = series.iter().map(IntervalPoint::iops).collect();
    let drift = drift(&rates).filter(|d| d.significant && d.rise_relative.abs() > NOTABLE);
    let jump = change_point(&rates).filter(|c| c.jump_relative().abs() > NOTABLE);
    let jump = jump.map(|change| {
        let level = |index| if index < change.index { change.before } else { change.after };
        let at_seconds = series[change.index].at_seconds - series[change.index].seconds;
        let told = Unsteady::Jump { at_seconds, before: change.before, after: change.after };
        (told, unexplained(&rates, level))
    });
    let drift = drift.map(|drift| {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let last = rates.len() as f64 - 1.0;
        let line = |index| mean + drift.rise * (index as f64 / last - 0.5);
        (Unsteady::Drift { rise_relative: drift.rise_relative }, unexplained(&rates, line))
    });
    match (jump, drift) {
        (Some((jump, after_jump)), Some((drift, after_drift))) => {
            Some(if after_jump <= after_drift { jump } else { drift })
        }
        (jump, drift) => jump.or(drift).map(|(told, _)| told),
    }
}

/// Sum of the squares of what a description leaves over.
fn unexplained(rates: &[f64], described: impl Fn(usize) -> f64) -> f64 {
    rates.iter().enumerate().map(|(index, rate)| (rate - described(index)).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(rates: impl IntoIterator<Item = u64>) -> Vec<IntervalPoint> {
        let point = |(index, rate): (usize, u64)| IntervalPoint {
            at_seconds: (index + 1) as f64 * 0.1,
            seconds: 0.1,
            // A little noise, without which every test is sure of everything.
            reads: rate / 10 + index as u64 % 3,
            ..IntervalPoint::default()
        };
        rates.into_iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_jump_and_a_drift_are_told_apart() {
        let credits = series(std::iter::repeat_n(30_000, 40).chain(std::iter::repeat_n(3_000, 40)));
        let Some(Unsteady::Jump { at_seconds, before, after }) = unsteadiness(&credits) else {
            panic!("{:?}", unsteadiness(&credits));
        };
        assert!((at_seconds - 4.0).abs() < 0.01, "{at_seconds}");
        assert!((before - 30_010.0).abs() < 1.0 && (after - 3_010.0).abs() < 1.0);

        let fading = series((0..80).map(|n| 30_000 - n * 200));
        let told = unsteadiness(&fading);
        assert!(matches!(told, Some(Unsteady::Drift { rise_relative }) if rise_relative < -0.5));
        assert_eq!(unsteadiness(&series([20_000; 80])), None);
        assert_eq!(unsteadiness(&series([])), None);
    }
}
