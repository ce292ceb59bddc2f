//! Changes in a series of kept runs.

mod changes;
mod csv;
mod series;

pub use changes::{Levels, levels};
pub use series::{Measured, Series, SeriesError};

/// Number of runs from which a change shows.
pub const FEWEST_NEWEST: u32 = SHORTEST_SEGMENT as u32;

use crate::stats::{SHORTEST_SEGMENT, shortest_series};
use iogauge_model::caveat::{Command, TrendFact};
use iogauge_model::result::{
    TREND_FORMAT, TrendChange, TrendDocument, TrendMetric, TrendPoint, TrendSegment,
};

/// How a series is analysed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Analysis {
    /// The metric.
    pub metric: TrendMetric,
    /// Maximum chance of one or more changes that are not there.
    pub p_max: f64,
    /// The min_change change that is reported: 0.02 for 2 %.
    pub min_change: f64,
}

impl Analysis {
    /// Returns the document about a series. Runs without the metric are left out. `version` is that of the program.
    #[must_use]
    pub fn of(&self, series: Series, version: &str) -> TrendDocument {
        let Self { metric, p_max, min_change } = *self;
        let Series { mut head, kind, limits, runs, mut failed, mut left_out, environment } = series;
        let all = runs.len();
        for run in &mut failed {
            let before = runs.iter().take(run.after as usize);
            run.after = number(before.filter(|run| run.value(metric).is_some()).count());
        }
        let points: Vec<TrendPoint> = runs
            .into_iter()
            .filter_map(|run| {
                let (value, ci95) = run.value(metric)?;
                let Measured { run_id, started, target, .. } = run;
                Some(TrendPoint { run_id, started, target, value, ci95 })
            })
            .collect();
        series::leave_out(
            &mut left_out,
            all - points.len(),
            &format!("they have no {}", metric.word()),
        );
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let found = levels(&values, p_max, min_change);
        let changes = found.changes.iter().map(|change| {
            let point = &points[change.at];
            let (before, after) = (change.before, change.after);
            let is_rise = after > before;
            TrendChange {
                at: number(change.at),
                run_id: point.run_id.clone(),
                started: point.started.clone(),
                before,
                after,
                ratio: change.ratio,
                p: change.p,
                worse: is_rise == metric.is_latency(),
            }
        });
        let changes = changes.collect();
        let segments = found.segments.iter().map(|(range, mean)| TrendSegment {
            first: number(range.start),
            runs: number(range.len()),
            mean: *mean,
        });
        let facts = found.correlation.map(|correlation| TrendFact::Correlated {
            correlation,
            runs_per_independent: found.autocorrelation_runs,
        });
        head.format = TREND_FORMAT.to_owned();
        head.version = version.to_owned();
        TrendDocument {
            head,
            kind,
            limits,
            metric,
            p_max,
            min_change,
            segments: segments.collect(),
            changes,
            points,
            failed,
            fewest_runs: Some(number(shortest_series(p_max))),
            autocorrelation_runs: found.autocorrelation_runs,
            left_out,
            caveats: Command::Trend.caveats(facts.map(Into::into)),
            environment,
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
