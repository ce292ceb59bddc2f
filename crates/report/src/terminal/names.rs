//! The values of a document in words.

use iogauge_model::limit::Metric;
use iogauge_model::load::Pattern;
use iogauge_model::result::{Estimate, LatencySummary};
use iogauge_model::units::{Count, Latency};
use iogauge_model::{Limit, Load};
use serde_json::Value;

/// The target as the user knows it: the text itself, a list of targets, or its `path` or `name`.
pub(crate) fn target(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(targets) => targets.iter().map(target).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => ["target", "path", "name"]
            .iter()
            .find_map(|key| fields.get(*key).filter(|value| !value.is_null()))
            .map_or_else(|| value.to_string(), target),
        _ => "the target".to_owned(),
    }
}

/// The load as a sentence names it: `4 KiB random reads`.
pub(super) fn load(value: &Value) -> String {
    if let Value::String(text) = value {
        return text.clone();
    }
    if let Some(label) = value.get("label").and_then(Value::as_str) {
        return label.to_owned();
    }
    match serde_json::from_value::<Load>(value.clone()) {
        Ok(load) => load_words(&load),
        Err(_) => "the load".to_owned(),
    }
}

fn load_words(load: &Load) -> String {
    let order = if load.rw.is_random() { "random" } else { "sequential" };
    let block = &load.block;
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

/// The limits as a clause: `mean latency stays ≤ 10 ms`.
pub(super) fn limits(limits: &[Limit]) -> String {
    let bounds: Vec<_> = limits
        .iter()
        .map(|limit| format!("{} latency stays ≤ {}", limit.metric, bound(limit.bound_ns)))
        .collect();
    match bounds.split_last() {
        None => "latency is unlimited".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// A bound as it was typed, not rounded: `10 ms`, `2.55 ms`.
pub(super) fn bound(ns: u64) -> String {
    let units = [("s", 1_000_000_000u64), ("ms", 1_000_000), ("µs", 1_000)];
    match units.iter().find(|(_, factor)| ns >= *factor) {
        Some((unit, factor)) => format!("{} {unit}", ns as f64 / *factor as f64),
        None => format!("{ns} ns"),
    }
}

/// What was measured of the limited statistics: `mean 12.3 ms, p99 20 ms`.
pub(super) fn measured(limits: &[Limit], latency: &LatencySummary) -> String {
    let mut values: Vec<_> = limits
        .iter()
        .filter_map(|limit| {
            let value = statistic(latency, limit.metric)?;
            Some(format!("{} {}", limit.metric, Latency(value)))
        })
        .collect();
    if values.is_empty() {
        values.push(format!("mean {}", Latency(latency.mean)));
    }
    values.join(", ")
}

fn statistic(latency: &LatencySummary, metric: Metric) -> Option<f64> {
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

/// A rate or count; in powers of ten where digits in groups would say nothing any more.
pub(super) fn count(value: f64) -> String {
    if value.abs() < 1e15 { Count(value).to_string() } else { format!("{value:.2e}") }
}

/// Half the width of the interval; empty where there is no interval.
pub(super) fn half_width(estimate: &Estimate) -> String {
    if estimate.n < 2 { String::new() } else { count(estimate.half_width()) }
}

/// `81,204 IOPS (± 310)`.
pub(super) fn iops(estimate: &Estimate) -> String {
    match half_width(estimate).as_str() {
        "" => format!("{} IOPS", count(estimate.mean)),
        half => format!("{} IOPS (± {half})", count(estimate.mean)),
    }
}

/// Nanoseconds; powers of ten beyond a million seconds. Empty where nothing was counted.
pub(super) fn latency(summary: &LatencySummary, value: f64) -> String {
    if summary.n == 0 {
        String::new()
    } else if value < 1e15 {
        Latency(value).to_string()
    } else {
        format!("{:.2e} s", value / 1e9)
    }
}

/// `1 read`, `2 reads`.
pub(super) fn plural(n: u64, one: &str) -> String {
    format!("{} {one}{}", count(n as f64), if n == 1 { "" } else { "s" })
}
