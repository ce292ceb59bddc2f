//! The document of `iogauge history trend` as text.

use super::Page;
use super::grid::{Grid, Kind};
use super::names::{count, listed, plural};
use super::parts;
use super::sheet::{Paint, Sheet};
use iogauge_model::result::{TrendChange, TrendDocument, TrendFailure, TrendMetric};
use iogauge_model::units::{Bandwidth, Latency};

/// Lines of the chart.
const CHART_LINES: usize = 9;
/// What the columns of the chart are, at their end.
const UNIT: &str = "  run";
/// Number of targets that are named.
const MOST_TARGETS: usize = 3;
/// Maximum number of columns of the chart.
const CHART_COLUMNS: usize = 90;

/// Formats the document: the verdict first, then the chart and the changes.
#[must_use]
pub fn trend(document: &TrendDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    let doubt = parts::in_doubt(&document.caveats);
    let paint = match (document.changes.last(), &doubt) {
        _ if !document.failed_last().is_empty() => Paint::Bad,
        _ if document.has_too_few_runs() => Paint::Doubt,
        (Some(_), Some(_)) => Paint::Doubt,
        (Some(last), None) if last.worse => Paint::Bad,
        _ => Paint::Good,
    };
    sheet.text(paint, &trend_brief(document));
    if let Some(doubt) = doubt {
        sheet.text(Paint::Doubt, &doubt);
    }
    sheet.gap();
    sheet.pairs(&facts(document));
    write_chart(&mut sheet, document);
    if !document.changes.is_empty() {
        sheet.gap();
        write_changes(&mut sheet, document);
    }
    parts::caveats(&mut sheet, "these changes", &document.caveats);
    sheet.into_text()
}

/// Formats the result in a few sentences: the last runs without a value first, then the changes.
#[must_use]
pub fn trend_brief(document: &TrendDocument) -> String {
    failed_last(document).into_iter().chain([changes_brief(document)]).collect::<Vec<_>>().join(" ")
}

/// Describes the last runs, if they have no value.
pub(crate) fn failed_last(document: &TrendDocument) -> Option<String> {
    let failed = document.failed_last();
    let first = failed.first()?.failure;
    let is_one = failed.len() == 1;
    let what = match first {
        _ if failed.iter().any(|run| run.failure != first) => "failed",
        TrendFailure::NoAnswer if is_one => "has no answer",
        TrendFailure::NoAnswer => "have no answer",
        TrendFailure::IoErrors => "had failed I/Os",
        TrendFailure::NotEnded => "did not end",
    };
    Some(match failed.len() {
        1 => format!("The last run {what}."),
        runs => format!("The last {runs} runs {what}."),
    })
}

fn changes_brief(document: &TrendDocument) -> String {
    let (name, runs) = (name(document.metric), plural(document.points.len() as u64, "run"));
    if document.has_too_few_runs() {
        return too_few(document, name);
    }
    let Some(last) = document.changes.last() else {
        return format!("No change of the {name} in {runs}.");
    };
    let times = match document.changes.len() {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        times => format!("{times} times"),
    };
    let worse = if last.worse { "worse" } else { "better" };
    let [from, to] = [last.before, last.after].map(|value| shown(document.metric, value));
    format!(
        "The {name} changed {times} in {runs}. The last change is for the {worse}: {from} to {to} ({}) with run {}, {}.",
        change(last),
        last.run_id,
        last.started
    )
}

/// Says how many runs are needed, and how many others there are.
fn too_few(document: &TrendDocument, name: &str) -> String {
    let runs = plural(document.points.len() as u64, "run");
    let needed = document.fewest_runs.unwrap_or(0);
    let others: u32 = document.left_out.iter().map(|left| left.runs).sum();
    let others = others.saturating_sub(document.failed.len() as u32);
    let others = match others {
        0 => String::new(),
        1 => " 1 run is left out.".to_owned(),
        others => format!(" {others} runs are left out."),
    };
    format!(
        "Too few runs to find a change of the {name}: {runs}, and at least {needed} are needed.{others}"
    )
}

/// Returns the name of a metric within a sentence.
pub(crate) fn name(metric: TrendMetric) -> &'static str {
    match metric {
        TrendMetric::Iops => "IOPS",
        TrendMetric::BytesPerSec => "bandwidth",
        TrendMetric::LatencyNsMean => "mean latency",
        TrendMetric::LatencyNsP50 => "p50 latency",
        TrendMetric::LatencyNsP99 => "p99 latency",
        TrendMetric::LatencyNsP999 => "p99.9 latency",
    }
}

/// Formats a value of a metric.
pub(crate) fn shown(metric: TrendMetric, value: f64) -> String {
    match metric {
        TrendMetric::Iops => count(value.round()),
        TrendMetric::BytesPerSec => Bandwidth(value).to_string(),
        _ => Latency(value).to_string(),
    }
}

/// Formats the size of a change: `-9.8 %`.
pub(crate) fn change(change: &TrendChange) -> String {
    percent(change.ratio.mean)
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// Returns the targets of the runs, in the order in which they were first used.
pub(crate) fn targets_of(document: &TrendDocument) -> Vec<&str> {
    let mut targets: Vec<&str> = Vec::new();
    for point in &document.points {
        if !targets.contains(&point.target.as_str()) {
            targets.push(&point.target);
        }
    }
    targets
}

/// Names the targets of the runs.
pub(crate) fn targets(document: &TrendDocument) -> String {
    let targets = targets_of(document);
    let shown = targets.iter().take(MOST_TARGETS).map(|target| (*target).to_owned());
    let more = targets.len().saturating_sub(MOST_TARGETS);
    let more = (more > 0).then(|| format!("{more} more"));
    listed(&shown.chain(more).collect::<Vec<_>>())
}

/// Describes what each run did.
pub(crate) fn load(document: &TrendDocument) -> String {
    let limits: Vec<String> = document.limits.iter().map(ToString::to_string).collect();
    let load = super::load_words(&document.head.load);
    match limits.as_slice() {
        [] => format!("{}, {load}", document.kind),
        limits => format!("{}, {load}, {}", document.kind, limits.join(", ")),
    }
}

fn facts(document: &TrendDocument) -> Vec<(&'static str, String)> {
    let ends = [document.points.first(), document.points.last()];
    let time = match ends {
        [Some(first), Some(last)] => format!("{} to {}", first.started, last.started),
        _ => String::new(),
    };
    let left_out = document
        .left_out
        .iter()
        .map(|left| format!("{}: {}", plural(u64::from(left.runs), "run"), left.reason));
    vec![
        ("target", targets(document)),
        ("load", load(document)),
        ("time", time),
        ("left out", left_out.collect::<Vec<_>>().join("; ")),
    ]
}

fn write_changes(sheet: &mut Sheet, document: &TrendDocument) {
    let mut grid = Grid::new(&[
        ("from run", Kind::Word),
        ("number", Kind::Spare(1)),
        ("began", Kind::SpareWord(0)),
        ("before", Kind::Number),
        ("after", Kind::Number),
        ("change", Kind::Number),
        ("95 %", Kind::Number),
        ("p", Kind::Number),
    ]);
    for found in &document.changes {
        let [low, high] = found.ratio.ci95.map(percent);
        let (paint, worse) =
            if found.worse { (Paint::Bad, "worse") } else { (Paint::Good, "better") };
        let row = [
            found.run_id.clone(),
            format!("{}", found.at + 1),
            found.started.clone(),
            shown(document.metric, found.before),
            shown(document.metric, found.after),
            format!("{worse} {}", change(found)),
            format!("{low} to {high}"),
            format!("{:.3}", found.p),
        ];
        grid.row(paint, row);
    }
    grid.write(sheet);
}

/// Draws the values by number of the run, with the means of the segments. Of many runs, neighbours are averaged.
fn write_chart(sheet: &mut Sheet, document: &TrendDocument) {
    let values: Vec<f64> = document.points.iter().map(|point| point.value).collect();
    let ends = values
        .iter()
        .fold([f64::INFINITY, 0.0f64], |[low, high], value| [low.min(*value), high.max(*value)]);
    if values.len() < 2 || ends[0] >= ends[1] {
        return;
    }
    let labels = [ends[1], ends[0]].map(|value| shown(document.metric, value));
    let margin = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) + 1;
    let columns = (sheet.columns() - margin - 1 - UNIT.len()).min(CHART_COLUMNS);
    let lines = plotted(document, &values, ends, columns);
    sheet.gap();
    for (number, line) in lines.iter().enumerate() {
        let label = match number {
            0 => labels[0].as_str(),
            _ if number + 1 == CHART_LINES => labels[1].as_str(),
            _ => "",
        };
        let gap = " ".repeat(margin - 1 - label.chars().count());
        sheet.line(Paint::Plain, format!("{gap}{label} │{line}").trim_end());
    }
    let last = values.len().to_string();
    let width = values.len().min(columns);
    let between = " ".repeat(width.saturating_sub(1 + last.len()));
    sheet.line(Paint::Plain, &format!("{}1{between}{last}{UNIT}", " ".repeat(margin + 1)));
}

/// Returns the lines of the plot, the highest values first: `•` is a value, `─` the mean of a segment, `┊` a change.
fn plotted(
    document: &TrendDocument,
    values: &[f64],
    [low, high]: [f64; 2],
    columns: usize,
) -> Vec<String> {
    let width = values.len().min(columns);
    let column = |index: usize| index * width / values.len();
    let line = |value: f64| {
        let share = (high - value) / (high - low);
        ((share * (CHART_LINES - 1) as f64).round() as usize).min(CHART_LINES - 1)
    };
    let mut plot = vec![vec![' '; width]; CHART_LINES];
    for change in &document.changes {
        plot.iter_mut().for_each(|row| row[column(change.at as usize)] = '┊');
    }
    for segment in &document.segments {
        let first = segment.first as usize;
        let last = (first + segment.runs as usize).saturating_sub(1);
        plot[line(segment.mean)][column(first)..=column(last)].fill('─');
    }
    let mut sums = vec![(0.0, 0u32); width];
    for (index, value) in values.iter().enumerate() {
        let (sum, count) = &mut sums[column(index)];
        (*sum, *count) = (*sum + value, *count + 1);
    }
    for (column, (sum, count)) in sums.into_iter().enumerate() {
        plot[line(sum / f64::from(count.max(1)))][column] = '•';
    }
    plot.into_iter().map(|row| row.into_iter().collect()).collect()
}
