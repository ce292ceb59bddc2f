//! Steadiness of the figures of a window.

use crate::stats::{change_point, drift, excursion};
use iogauge_model::result::{IntervalPoint, PerformanceShift};

/// A change of the IOPS by at most this share is not a performance shift.
pub(crate) const NOTABLE: f64 = 0.1;
/// Minimum length of a performance shift that reverts, in seconds. Shorter ones are stalls.
pub(crate) const LASTING_SECONDS: f64 = 0.75;

/// How a window was not steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unsteady {
    /// The IOPS changed once and stayed at the new value.
    Jump {
        /// First interval after the change.
        index: usize,
        /// Time of the change, in seconds since measuring began.
        at_seconds: f64,
        /// IOPS before the change.
        before: f64,
        /// IOPS after the change.
        after: f64,
    },
    /// The IOPS rose or fell all the time.
    Drift {
        /// Rise from the first interval to the last, relative to the mean.
        rise_relative: f64,
    },
}

/// Returns how a series was unsteady beyond chance; `None` if it was steady or is too short.
///
/// A drift looks like a jump to one test, and a jump like a drift to the other. If both find something, the one that
/// leaves less unexplained is returned.
pub(crate) fn unsteadiness(series: &[IntervalPoint]) -> Option<Unsteady> {
    let rates: Vec<f64> = series.iter().map(IntervalPoint::iops).collect();
    let drift = drift(&rates).filter(|d| d.significant && d.rise_relative.abs() > NOTABLE);
    let jump = change_point(&rates).filter(|c| c.jump_relative().abs() > NOTABLE);
    let jump = jump.map(|change| {
        let level = |index| if index < change.index { change.before } else { change.after };
        let at_seconds = series[change.index].at_seconds - series[change.index].seconds;
        let told = Unsteady::Jump {
            index: change.index,
            at_seconds,
            before: change.before,
            after: change.after,
        };
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

/// Returns all performance shifts in a series: the one that [`unsteadiness`] finds, then those on each side of it,
/// until none is left (binary segmentation; A. J. Scott, M. Knott, A cluster analysis method for grouping means in the
/// analysis of variance, Biometrics 30 (1974) 507–512). If none is found, looks for a temporary change, which that
/// search misses. A part that drifts is not divided. The IOPS returned are those between two changes. Changes that are
/// not notable by these IOPS are left out.
pub(crate) fn shifts(series: &[IntervalPoint]) -> Vec<PerformanceShift> {
    let mut cuts = vec![0, series.len()];
    cut(series, 0, &mut cuts);
    cuts.sort_unstable();
    let level = |from: usize, to: usize| {
        let part = &series[from..to];
        let ios: u64 = part.iter().map(|point| point.reads + point.writes).sum();
        let seconds: f64 = part.iter().map(|point| point.seconds).sum();
        ios as f64 / seconds
    };
    let change = |around: &[usize]| {
        let (before_iops, after_iops) = (level(around[0], around[1]), level(around[1], around[2]));
        let first = &series[around[1]];
        PerformanceShift { at_seconds: first.at_seconds - first.seconds, before_iops, after_iops }
    };
    loop {
        let found: Vec<PerformanceShift> = cuts.windows(3).map(change).collect();
        let size = |shift: &PerformanceShift| (shift.after_iops / shift.before_iops - 1.0).abs();
        let least = (1..).zip(&found).min_by(|a, b| size(a.1).total_cmp(&size(b.1)));
        match least {
            // Without it, the IOPS of its neighbours change.
            Some((index, least)) if size(least) <= NOTABLE => {
                cuts.remove(index);
            }
            _ => return found,
        }
    }
}

/// Adds the places where a part of a series changes. `from` is the index at which the part begins.
fn cut(part: &[IntervalPoint], from: usize, cuts: &mut Vec<usize>) {
    let within: Vec<usize> = match unsteadiness(part) {
        Some(Unsteady::Jump { index, .. }) => vec![index],
        Some(Unsteady::Drift { .. }) => return,
        None => match lasting_excursion(part) {
            Some(stretch) => stretch.into(),
            None => return,
        },
    };
    let ends = within.iter().copied().chain([part.len()]);
    for (begin, end) in std::iter::once(0).chain(within.iter().copied()).zip(ends) {
        cut(&part[begin..end], from + begin, cuts);
    }
    cuts.extend(within.iter().map(|index| from + index));
}

/// Returns the start and end of a temporary change that lasted long enough.
fn lasting_excursion(part: &[IntervalPoint]) -> Option<[usize; 2]> {
    let rates: Vec<f64> = part.iter().map(IntervalPoint::iops).collect();
    let found = excursion(&rates).filter(|found| found.jump_relative().abs() > NOTABLE)?;
    let seconds: f64 = part[found.from..found.to].iter().map(|point| point.seconds).sum();
    (seconds >= LASTING_SECONDS).then_some([found.from, found.to])
}

/// Returns the sum of the squared residuals of a description.
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
            // A little noise; without it every test finds everything significant.
            reads: rate / 10 + index as u64 % 3,
            ..IntervalPoint::default()
        };
        rates.into_iter().enumerate().map(point).collect()
    }

    #[test]
    fn jump_and_drift_are_distinguished() {
        let credits = series(std::iter::repeat_n(30_000, 40).chain(std::iter::repeat_n(3_000, 40)));
        let Some(Unsteady::Jump { at_seconds, before, after, .. }) = unsteadiness(&credits) else {
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

    #[test]
    fn every_performance_shift_is_found_once() {
        let level = std::iter::repeat_n::<u64>;
        let three = series(level(30_000, 100).chain(level(3_000, 100)).chain(level(2_000, 80)));
        let found = shifts(&three);
        assert_eq!(found.len(), 2, "{found:?}");
        for (shift, [at, before, after]) in
            found.iter().zip([[10.0, 30_010.0, 3_010.0], [20.0, 3_010.0, 2_010.0]])
        {
            assert!((shift.at_seconds - at).abs() < 0.01, "{found:?}");
            assert!((shift.before_iops / before - 1.0).abs() < 0.01, "{found:?}");
            assert!((shift.after_iops / after - 1.0).abs() < 0.01, "{found:?}");
        }
        // A neighbour that comes and goes, and a stall.
        let visit = |n| series(level(30_000, 60).chain(level(9_000, n)).chain(level(30_000, 60)));
        let found = shifts(&visit(10));
        let times: Vec<f64> = found.iter().map(|shift| shift.at_seconds.round()).collect();
        assert_eq!(times, [6.0, 7.0], "{found:?}");
        assert!((found[1].after_iops / 30_010.0 - 1.0).abs() < 0.01, "{found:?}");
        assert_eq!(shifts(&visit(6)), []);
        // A drift is not a sequence of jumps, and a steady series has none.
        assert_eq!(shifts(&series((0..80).map(|n| 30_000 - n * 200))), []);
        assert_eq!(shifts(&series([20_000; 80])), []);
        assert_eq!(shifts(&[]), []);
    }

    #[test]
    fn performance_shift_false_positives_are_rare() {
        use crate::stats::synthetic::percent_of;
        for (n, phi) in [(100, 0.0), (600, 0.5), (600, 0.8)] {
            let alarms = percent_of(300, |random| {
                let values = random.ar1(n, 10.0, phi);
                let rate = |value: f64| (value.max(0.0) * 1000.0) as u64;
                !shifts(&series(values.into_iter().map(rate))).is_empty()
            });
            assert!(alarms <= 4.0, "n {n}, φ {phi}: {alarms} %");
        }
    }
}
