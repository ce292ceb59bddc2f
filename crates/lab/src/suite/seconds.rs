//! Computes the IOPS of each second of a step.

use iogauge_model::result::IntervalPoint;

/// A shorter remainder at the end does not count as a second.
const LEAST_SECONDS: f64 = 0.5;

/// Returns the reads and writes per second in each second of a step. Joins intervals of its series
/// that are shorter than a second; a longer interval has its own value. Omits a short remainder at
/// the end, unless it is the only one.
pub(crate) fn iops_by_second(series: &[IntervalPoint]) -> Vec<f64> {
    let mut seconds: Vec<(i64, IntervalPoint)> = Vec::new();
    for point in series {
        // An interval belongs to the second that contains its midpoint.
        let number = (point.at_seconds - point.seconds / 2.0).floor() as i64;
        match seconds.last_mut() {
            Some((last, joined)) if *last == number => joined.append(point),
            _ => seconds.push((number, point.clone())),
        }
    }
    if seconds.len() > 1 && seconds.last().is_some_and(|(_, s)| s.seconds < LEAST_SECONDS) {
        seconds.pop();
    }
    seconds.iter().map(|(_, second)| second.iops()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals of equal length with these numbers of reads.
    fn series(seconds: f64, reads: &[u64]) -> Vec<IntervalPoint> {
        let point = |(index, reads): (usize, &u64)| IntervalPoint {
            at_seconds: (index + 1) as f64 * seconds,
            seconds,
            reads: *reads,
            ..IntervalPoint::default()
        };
        reads.iter().enumerate().map(point).collect()
    }

    fn near(found: &[f64], truth: &[f64]) {
        let close = found.iter().zip(truth).all(|(a, b)| (a / b - 1.0).abs() < 1e-9);
        assert!(found.len() == truth.len() && close, "{found:?} is not {truth:?}");
    }

    #[test]
    fn ticks_are_aggregated_into_whole_seconds() {
        let mut ticks = vec![10; 10];
        ticks.extend(vec![20; 10]);
        ticks.extend([400, 400, 400]);
        near(&iops_by_second(&series(0.1, &ticks)), &[100.0, 200.0]);
        ticks.extend([400, 400, 400]);
        near(&iops_by_second(&series(0.1, &ticks)), &[100.0, 200.0, 4000.0]);
        // Late intervals.
        near(&iops_by_second(&series(0.103, &[103; 20])), &[1000.0, 1000.0]);
    }

    #[test]
    fn long_ticks_and_short_series_are_not_aggregated() {
        near(&iops_by_second(&series(1.6, &[160, 320])), &[100.0, 200.0]);
        near(&iops_by_second(&series(0.1, &[7, 9])), &[80.0]);
        near(&iops_by_second(&[]), &[]);
    }
}
