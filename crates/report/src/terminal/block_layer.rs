//! The block layer's view, as text.

use super::grid::{Grid, Kind};
use super::names::{count, latency, listed, plural};
use super::sheet::{Paint, Sheet};
use iogauge_model::result::{BlockTrace, IoTime, LatencySummary, TracedDevice, TracedRequests};
use iogauge_model::units::{Bytes, Latency};

/// Maximum number of sizes listed, the most frequent ones.
const MOST_SIZES: usize = 3;
/// Sizes with a smaller share of the requests are not listed.
const RARE_PERCENT: f64 = 1.0;

/// Writes a table of the requests, then how an I/O's time is divided, and where on the devices the requests
/// went.
pub(super) fn write(sheet: &mut Sheet, trace: &BlockTrace) {
    sheet.gap();
    let kinds = [("read", &trace.read), ("write", &trace.write), ("flush", &trace.flush)];
    let kinds: Vec<(&str, &TracedRequests)> =
        kinds.into_iter().filter_map(|(word, seen)| Some((word, seen.as_ref()?))).collect();
    if kinds.is_empty() {
        sheet.text(Paint::Plain, &format!("Block layer: no request in {:.1} s", trace.seconds));
        return;
    }
    let mut grid = Grid::new(&[
        ("block layer", Kind::Word),
        ("requests", Kind::Number),
        ("mean size", Kind::Number),
        ("device mean", Kind::Number),
        ("min", Kind::Spare(1)),
        ("p50", Kind::Number),
        ("p99", Kind::Number),
        ("p99.9", Kind::Number),
        ("max", Kind::Number),
    ]);
    for (word, seen) in &kinds {
        grid.row(Paint::Plain, figures(word, seen));
    }
    grid.write(sheet);
    for (word, seen) in &kinds {
        // Flush requests are compared with `sync`, as the table of directions calls those I/Os.
        let word = if *word == "flush" { "sync" } else { word };
        if let Some(io) = &seen.io {
            sheet.text(Paint::Plain, &share(word, io));
        }
    }
    for (word, seen) in &kinds {
        if let Some(sizes) = sizes(word, seen) {
            sheet.text(Paint::Plain, &sizes);
        }
    }
    for device in trace.devices.iter().filter(|device| device.span_bytes() > 0) {
        sheet.text(Paint::Plain, &places(device));
    }
}

fn figures(word: &str, seen: &TracedRequests) -> [String; 9] {
    let summary: &LatencySummary = &seen.device_ns;
    let whole = |value: u64| latency(summary, value as f64);
    let size = match seen.bytes {
        0 => String::new(),
        _ => Bytes(seen.mean_bytes().round() as u64).to_string(),
    };
    [
        word.to_owned(),
        count(seen.requests as f64),
        size,
        latency(summary, summary.mean),
        whole(summary.min),
        whole(summary.p50),
        whole(summary.p99),
        whole(summary.p999),
        whole(summary.max),
    ]
}

fn share(word: &str, io: &IoTime) -> String {
    let percent = 100.0 * io.device_share();
    format!(
        "of each {word}'s {} the device took {} ({percent:.0} %) and the path to it {} ({:.0} %)",
        Latency(io.mean_ns),
        Latency(io.device_ns),
        Latency(io.path_ns()),
        100.0 - percent
    )
}

/// Lists the most frequent sizes if there are several.
fn sizes(word: &str, seen: &TracedRequests) -> Option<String> {
    let share = |requests: u64| 100.0 * requests as f64 / seen.requests.max(1) as f64;
    let mut often = seen.sizes.clone();
    often.retain(|size| share(size.requests) >= RARE_PERCENT);
    often.sort_by_key(|size| std::cmp::Reverse(size.requests));
    if often.len() < 2 {
        return None;
    }
    let named: Vec<String> = often
        .iter()
        .take(MOST_SIZES)
        .map(|size| format!("{} ({:.0} %)", Bytes(size.bytes), share(size.requests)))
        .collect();
    let all = plural(seen.sizes.len() as u64, "size");
    Some(format!("{word} requests of {all}, most of all {}", listed(&named)))
}

fn places(device: &TracedDevice) -> String {
    format!(
        "{}: requests lie in the {} from {} on; {:.0} % are sequential; the mean distance from one to \
         the next is {}",
        device.device,
        Bytes(device.span_bytes()),
        Bytes(device.first_byte),
        100.0 * device.sequential_share(),
        Bytes(device.jump_bytes_mean.round() as u64)
    )
}
