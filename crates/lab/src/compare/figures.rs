//! The figures of a turn.

use iogauge_model::Histogram;
use iogauge_model::limit::Metric;
use iogauge_model::result::{Figure, Search, StepResult, SuiteOutcome};

/// Returns a figure of a turn; `None` if the turn has too few I/Os for it, or if its search found no capacity.
#[must_use]
pub(super) fn of_turn(turn: &SuiteOutcome, figure: Figure) -> Option<f64> {
    let value = match turn {
        // Merging histograms takes time.
        SuiteOutcome::Step(step) if figure == Figure::Iops => {
            of_step(step, &Histogram::new(), figure)
        }
        SuiteOutcome::Step(step) => of_step(step, &latencies(step), figure),
        SuiteOutcome::Search(search) => of_search(search, figure),
    };
    value.filter(|value| *value > 0.0 && value.is_finite())
}

/// Returns the mean logarithm of the values of a figure in several turns; `None` if a turn lacks it.
pub(super) fn mean_log(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let positive = |value: &f64| *value > 0.0;
    let logs: Vec<f64> =
        values.map(|value| value.filter(positive).map(f64::ln)).collect::<Option<_>>()?;
    Some(logs.iter().sum::<f64>() / logs.len() as f64)
}

/// Returns a figure of a step whose latencies are these; `None` if they are too few.
pub(super) fn of_step(step: &StepResult, latencies: &Histogram, figure: Figure) -> Option<f64> {
    let Some(metric) = metric(figure) else {
        return (step.seconds > 0.0).then(|| step.ios() as f64 / step.seconds);
    };
    let enough = latencies.count() >= samples_wanted(metric);
    enough.then(|| metric.of(latencies))
}

/// Returns the latencies of reads and writes together: response times in an open loop, service times otherwise.
fn latencies(step: &StepResult) -> Histogram {
    let mut all = Histogram::new();
    for direction in [&step.read, &step.write].into_iter().flatten() {
        all.merge(direction.response_histogram.as_ref().unwrap_or(&direction.service_histogram));
    }
    all
}

fn of_search(search: &Search, figure: Figure) -> Option<f64> {
    let answer = &search.answer;
    let latency = &answer.latency_ns;
    let value = match figure {
        Figure::Iops => answer.iops.mean,
        Figure::LatencyNsMean => latency.mean,
        Figure::LatencyNsP50 => latency.p50 as f64,
        Figure::LatencyNsP99 => latency.p99 as f64,
        Figure::LatencyNsP999 => latency.p999 as f64,
    };
    let wanted = metric(figure).map_or(1, samples_wanted);
    (answer.is_given() && latency.n >= wanted).then_some(value)
}

/// Returns the number of latencies from which a statistic is compared. A mean needs one: its variation is that of the turns.
fn samples_wanted(metric: Metric) -> u64 {
    if metric == Metric::Mean { 1 } else { metric.samples_wanted() }
}

/// Returns the latency metric of a figure; `None` for IOPS.
fn metric(figure: Figure) -> Option<Metric> {
    match figure {
        Figure::Iops => None,
        Figure::LatencyNsMean => Some(Metric::Mean),
        Figure::LatencyNsP50 => Some(Metric::Percentile(50.0)),
        Figure::LatencyNsP99 => Some(Metric::Percentile(99.0)),
        Figure::LatencyNsP999 => Some(Metric::Percentile(99.9)),
    }
}
