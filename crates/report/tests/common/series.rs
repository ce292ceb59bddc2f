//! Series of runs built by hand.

use super::{environment, head, named};
use iogauge_model::result::{
    Estimate, TREND_FORMAT, TrendChange, TrendDocument, TrendFailed, TrendFailure, TrendLeftOut,
    TrendMetric, TrendPoint, TrendSegment,
};
use iogauge_model::{Caveat, CaveatCode, Limit};

/// Returns a series with segments of these lengths and levels, and small variation.
fn of(metric: TrendMetric, levels: &[(u32, f64)], has_intervals: bool) -> TrendDocument {
    let (mut points, mut segments, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for (runs, mean) in levels {
        let first = points.len() as u32;
        for run in first..first + runs {
            let value = mean * (1.0 + 0.01 * f64::from((run * 7) % 5) - 0.02);
            points.push(TrendPoint {
                run_id: format!("202611{:02}-101530-{run:04}", run % 30 + 1),
                started: format!("2026-11-{:02}T10:15:30Z", run % 30 + 1),
                target: "/data".to_owned(),
                value,
                ci95: has_intervals.then_some([value * 0.985, value * 1.015]),
            });
        }
        segments.push(TrendSegment { first, runs: *runs, mean: *mean });
    }
    for pair in segments.windows(2) {
        let [before, after] = [pair[0].mean, pair[1].mean];
        let at = pair[1].first;
        let ratio = after / before;
        changes.push(TrendChange {
            at,
            run_id: points[at as usize].run_id.clone(),
            started: points[at as usize].started.clone(),
            before,
            after,
            ratio: Estimate { mean: ratio, ci95: [ratio * 0.99, ratio * 1.01], n: 30 },
            p: 0.001,
            worse: (after > before) == metric.is_latency(),
        });
    }
    TrendDocument {
        head: head(TREND_FORMAT, named("/data")),
        kind: "find".to_owned(),
        limits: vec![Limit::default()],
        metric,
        p_max: 0.05,
        min_change: 0.02,
        points,
        segments,
        changes,
        autocorrelation_runs: 1.0,
        failed: Vec::new(),
        fewest_runs: Some(8),
        left_out: Vec::new(),
        caveats: Vec::new(),
        environment: environment(),
    }
}

/// Returns capacities that fall and recover in part.
pub fn trend() -> TrendDocument {
    let left_out = |runs, reason: &str| TrendLeftOut { runs, reason: reason.to_owned() };
    TrendDocument {
        left_out: vec![
            left_out(2, "they found no answer"),
            left_out(1, "they have another load, randread 8 KiB under p99 <= 5 ms"),
        ],
        ..of(TrendMetric::Iops, &[(18, 41_200.0), (9, 35_000.0), (12, 38_500.0)], true)
    }
}

/// Returns latencies of more runs than have intervals, with a caveat and a change in the last runs.
pub fn long_trend() -> TrendDocument {
    let caveat = Caveat::of(
        CaveatCode::CorrelatedRuns,
        "the correlation of a run with the next one is 0.61",
    );
    TrendDocument {
        caveats: vec![caveat],
        autocorrelation_runs: 4.1,
        ..of(TrendMetric::LatencyNsP99, &[(200, 2.1e6), (197, 1.6e6), (3, 2.4e6)], false)
    }
}

/// Returns a series without a change.
pub fn steady() -> TrendDocument {
    of(TrendMetric::BytesPerSec, &[(12, 2e8)], false)
}

/// Returns a series that is too short for a change, whose last runs had failed I/Os.
pub fn short() -> TrendDocument {
    let failed = |name: &str| TrendFailed {
        run_id: name.to_owned(),
        started: "2026-11-06T10:15:30Z".to_owned(),
        target: "/data".to_owned(),
        after: 5,
        failure: TrendFailure::IoErrors,
    };
    let left_out = |runs, reason: &str| TrendLeftOut { runs, reason: reason.to_owned() };
    TrendDocument {
        failed: vec![failed("20261106-101530-0006"), failed("20261106-101540-0007")],
        left_out: vec![
            left_out(7, "they have another load, randread 8 KiB under p99 <= 5 ms"),
            left_out(2, "I/Os failed in them"),
        ],
        ..of(TrendMetric::BytesPerSec, &[(5, 2e8)], false)
    }
}
