//! The values of a document as text.

use super::terms::Terms;
use iogauge_model::limit::{Bound, Metric, Side};
use iogauge_model::load::{Modifier, Pattern};
use iogauge_model::result::{
    Answer, CurvePoint, DatabaseLoad, Estimate, FindDocument, LatencySummary, LimitValue,
    QueueBound, Workload,
};
use iogauge_model::units::{Count, Latency};
use iogauge_model::{Limit, Load};

/// Describes the workload for use in a sentence: `4 KiB random reads`.
pub(crate) fn load(workload: &Workload) -> String {
    if let Some(load) = workload.load() {
        return load_words(load);
    }
    match workload {
        Workload::Database(DatabaseLoad { label, .. }) => match label.split_once(", ") {
            Some((mode, more)) => format!("mode {mode} ({more})"),
            None => format!("mode {label}"),
        },
        Workload::Steps { label, .. }
        | Workload::Suite { label, .. }
        | Workload::Label { label } => label.clone(),
        Workload::Load(_) | Workload::Jobs { .. } | Workload::Other(_) => "the load".to_owned(),
    }
}

fn load_words(load: &Load) -> String {
    let order = if load.rw.is_random() { "random" } else { "sequential" };
    let block = &load.block;
    if let Modifier::Sequential(ios) | Modifier::Identical(ios) = load.modifier {
        let place =
            if matches!(load.modifier, Modifier::Sequential(_)) { "in a row" } else { "alike" };
        let one = Load { modifier: Modifier::None, ..load.clone() };
        return format!("{}, {ios} {place}", load_words(&one));
    }
    if load.dependent {
        return format!("dependent {block} {order} updates");
    }
    match load.rw {
        Pattern::Read | Pattern::RandRead => format!("{} {order} reads", block.read),
        Pattern::Write | Pattern::RandWrite => format!("{} {order} writes", block.write),
        Pattern::ReadWrite | Pattern::RandRw => format!(
            "{block} {order} reads and writes ({}/{})",
            load.read_percent,
            100 - load.read_percent
        ),
    }
}

/// Formats the limits as a clause: `mean latency stays ≤ 10 ms`.
pub(super) fn limits(limits: &[Limit], terms: Terms) -> String {
    let bounds: Vec<_> = limits
        .iter()
        .map(|Limit { each, side, metric, bound_ns }| {
            let (of, whose) = (terms.side(*side), if *each { " of each host" } else { "" });
            format!("{metric} {of}latency{whose} stays ≤ {}", Bound(*bound_ns))
        })
        .collect();
    if bounds.is_empty() { "latency is unlimited".to_owned() } else { listed(&bounds) }
}

/// Joins words as in a sentence: `a, b and c`. Returns an empty string for none.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Formats the measured values of the limited statistics: `mean 12.3 ms, read:p99 20 ms`.
pub(super) fn measured(document: &FindDocument) -> String {
    written(&of_answer(document), document)
}

/// Like [`measured`], at a point of the curve.
pub(super) fn measured_at(document: &FindDocument, point: &CurvePoint) -> String {
    written(&statistics(document, &point.limits, &point.latency_ns), document)
}

/// Like [`measured`], but only the statistics that violate their limit, if any does.
pub(super) fn broken(document: &FindDocument) -> String {
    let mut values = of_answer(document);
    if values.iter().any(|(limit, ns)| !is_within(limit, *ns)) {
        values.retain(|(limit, ns)| !is_within(limit, *ns));
    }
    written(&values, document)
}

fn is_within(limit: &Limit, ns: f64) -> bool {
    ns <= limit.bound_ns as f64
}

fn written(values: &[(Limit, f64)], document: &FindDocument) -> String {
    let (answer, terms) = (&document.search.answer, Terms::of(&document.head));
    if values.is_empty() {
        return format!("mean {}", Latency(answer.latency_ns.mean));
    }
    let value =
        |(limit, ns): &(Limit, f64)| format!("{} {}", terms.words.statistic(limit), Latency(*ns));
    values.iter().map(value).collect::<Vec<_>>().join(", ")
}

fn of_answer(document: &FindDocument) -> Vec<(Limit, f64)> {
    statistics(document, &document.search.answer.limits, &document.search.answer.latency_ns)
}

/// Returns the limits' statistics, in nanoseconds, of the answer or a point. Older results have only the
/// statistics in their summary.
fn statistics(
    document: &FindDocument,
    values: &[LimitValue],
    summary: &LatencySummary,
) -> Vec<(Limit, f64)> {
    let kept = |v: &LimitValue| Some((v.limit, v.value_ns?));
    if !values.is_empty() {
        return values.iter().filter_map(kept).collect();
    }
    let both = document.search.limits.iter().filter(|limit| limit.side == Side::Any);
    both.filter_map(|limit| Some((*limit, statistic(summary, limit.metric)?))).collect()
}

/// Returns a statistic of all I/Os in nanoseconds, if the summary has it.
pub(crate) fn statistic(latency: &LatencySummary, metric: Metric) -> Option<f64> {
    let kept = |percent: f64| match percent {
        50.0 => Some(latency.p50),
        95.0 => Some(latency.p95),
        99.0 => Some(latency.p99),
        99.9 => Some(latency.p999),
        99.99 => Some(latency.p9999),
        _ => None,
    };
    match metric {
        Metric::Mean => Some(latency.mean),
        Metric::Max => Some(latency.max as f64),
        Metric::Percentile(percent) => kept(percent).map(|value| value as f64),
    }
}

/// Formats a rate or count; in powers of ten if grouped digits would be unreadable.
pub(super) fn count(value: f64) -> String {
    if value.abs() < 1e15 { Count(value).to_string() } else { format!("{value:.2e}") }
}

/// An interval is shown by its ends if their distances from the value differ by more than this share of its
/// width.
const LOPSIDED: f64 = 0.05;

/// A prediction interval is shown by its ends if it reaches farther than this share of its value.
const WIDE: f64 = 0.5;
/// It is too if it reaches farther than this share, and `ONE_SIDED` times as far as on the other side.
const NOTABLE: f64 = 0.05;
const ONE_SIDED: f64 = 2.0;

/// Formats what follows ±: how far the value may be off. Returns an empty string if there is no interval.
pub(super) fn plus_minus(estimate: &Estimate) -> String {
    if estimate.n < 2 { String::new() } else { count(estimate.reach()) }
}

/// Formats `81,204 IOPS (± 310)`, or with both ends if their distances differ: `(81,100–82,400)`.
pub(super) fn iops(estimate: &Estimate) -> String {
    rate(estimate, "IOPS")
}

/// Formats a capacity with its prediction interval, `81,204 IOPS (± 0.7 % from search to search)`, or with
/// its confidence interval if the result has no prediction interval.
pub(super) fn capacity(answer: &Answer, unit: &str) -> String {
    match predicted(answer) {
        Some(interval) => {
            format!("{} {unit} ({interval} from search to search)", count(answer.iops.mean))
        }
        None => rate(&answer.iops, unit),
    }
}

/// Like [`capacity`], short enough for a list: `81,204 IOPS (± 0.7 %)`.
pub(super) fn capacity_brief(answer: &Answer, unit: &str) -> String {
    match predicted(answer) {
        Some(interval) => format!("{} {unit} ({interval})", count(answer.iops.mean)),
        None => rate(&answer.iops, unit),
    }
}

/// Formats the prediction interval as `± 8 %`, or by its ends if it reaches farther than half of the value
/// or much farther to one side.
fn predicted(answer: &Answer) -> Option<String> {
    let [low, high] = answer.pi95?;
    let mean = answer.iops.mean;
    let [below, above] = [(mean - low) / mean, (high - mean) / mean];
    let reach = below.max(above);
    let is_lopsided = reach > NOTABLE && reach > ONE_SIDED * below.min(above);
    Some(match reach {
        reach if !reach.is_finite() => return None,
        reach if reach > WIDE || is_lopsided => format!("{}–{}", count(low), count(high)),
        reach => format!("± {}", percent(reach)),
    })
}

/// Formats `12 %`, and with one decimal below a tenth: `0.7 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// Like [`iops`], for a unit other than I/Os: `38,084 updates/s (± 2,692)`.
pub(super) fn rate(estimate: &Estimate, unit: &str) -> String {
    let (mean, [low, high]) = (estimate.mean, estimate.ci95);
    let half = plus_minus(estimate);
    if half.is_empty() {
        format!("{} {unit}", count(mean))
    } else if ((high - mean) - (mean - low)).abs() > LOPSIDED * (high - low) {
        format!("{} {unit} ({}–{})", count(mean), count(low), count(high))
    } else {
        format!("{} {unit} (± {half})", count(mean))
    }
}

/// Formats nanoseconds; in powers of ten beyond a million seconds. Returns an empty string if the value is unknown.
pub(super) fn latency(summary: &LatencySummary, value: f64) -> String {
    if summary.n == 0 && value == 0.0 {
        String::new()
    } else if value < 1e15 {
        Latency(value).to_string()
    } else {
        format!("{:.2e} s", value / 1e9)
    }
}

/// Formats a percentile; with `≥` if too few latencies are above it to bound it.
pub(super) fn percentile(summary: &LatencySummary, value: u64, ends: [Option<u64>; 2]) -> String {
    let open = summary.percentiles_ci95.is_some() && ends[1].is_none();
    format!("{}{}", if open { "≥" } else { "" }, latency(summary, value as f64))
}

/// Describes how many requests the queue of a target takes, and the source of that figure: `it takes 256
/// requests (/sys/block/sda/queue/nr_requests)`.
pub(super) fn queue(bound: Option<&QueueBound>) -> String {
    let Some(QueueBound { requests, told_by }) = bound else {
        return "the target takes no more".to_owned();
    };
    let requests = count(*requests as f64);
    match told_by.as_slice() {
        [] => format!("the target took {requests} I/Os at a time"),
        files => format!("it takes {requests} requests ({})", files.join(", ")),
    }
}

/// Formats `1 read`, `2 reads`.
pub(super) fn plural(n: u64, one: &str) -> String {
    format!("{} {one}{}", count(n as f64), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_clamped_at_zero_is_printed_as_a_range() {
        let even = Estimate { mean: 500.0, ci95: [400.0, 600.0], n: 9 };
        assert_eq!((plus_minus(&even).as_str(), iops(&even).as_str()), ("100", "500 IOPS (± 100)"));
        let cut_off = Estimate { mean: 500.0, ci95: [0.0, 1700.0], n: 2 };
        assert_eq!(plus_minus(&cut_off), "1,200");
        assert_eq!(iops(&cut_off), "500 IOPS (0–1,700)");
        assert_eq!(plus_minus(&Estimate { n: 1, ..cut_off }), "");
    }
}
