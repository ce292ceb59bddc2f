//! The document of `iogauge find` as text.

use super::Page;
use super::block_layer;
use super::grid::{Grid, Kind};
use super::hosts;
use super::names::{count, latency, percentile, plural, plus_minus};
use super::parts;
use super::sheet::{Paint, Sheet};
use super::terms::Terms;
use super::verdict::{find_verdict, next_step};
use iogauge_model::Limit;
use iogauge_model::limit::{Bound, Metric, Side};
use iogauge_model::result::{CurvePoint, FindDocument, LatencySummary};
use iogauge_model::units::{Bandwidth, Latency};

/// Formats the document: the verdict first, then the curve behind it and the caveats.
#[must_use]
pub fn find(document: &FindDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    let doubt = parts::in_doubt(&document.caveats);
    let paint = match (document.search.answer.is_given(), &doubt) {
        (false, _) => Paint::Bad,
        (true, Some(_)) => Paint::Doubt,
        (true, None) => Paint::Good,
    };
    sheet.text(paint, &find_verdict(document));
    if let Some(doubt) = doubt {
        sheet.text(Paint::Doubt, &doubt);
    }
    sheet.gap();
    parts::head(&mut sheet, &document.head);
    if document.search.answer.latency_ns.n > 0 {
        write_answer(&mut sheet, document);
    }
    if !document.search.curve.is_empty() {
        sheet.gap();
        write_curve(&mut sheet, document);
    }
    let answer = &document.search.answer;
    let is_place =
        |p: &&CurvePoint| p.queue_depth == answer.queue_depth && p.rate_iops == answer.rate_iops;
    if let Some(point) = document.search.curve.iter().find(is_place) {
        hosts::write(&mut sheet, &point.hosts, Terms::of(&document.head));
    }
    hosts::write_parts(&mut sheet, &document.head.host_parts);
    let errors: u64 = document.search.curve.iter().map(|point| point.errors).sum();
    if errors > 0 {
        let failed =
            format!("{} failed; the figures are those of the others", plural(errors, "I/O"));
        sheet.text(Paint::Bad, &failed);
    }
    if let Some(physical) = &document.physical {
        parts::physical(&mut sheet, None, physical);
    }
    if let Some(trace) = &document.search.trace {
        block_layer::write(&mut sheet, trace);
    }
    parts::caveats(&mut sheet, "this result", &document.caveats);
    parts::environment(&mut sheet, &document.environment);
    sheet.gap();
    sheet.text(Paint::Plain, &format!("Next: {}", next_step(document)));
    sheet.into_text()
}

fn write_answer(sheet: &mut Sheet, document: &FindDocument) {
    let (answer, terms) = (&document.search.answer, Terms::of(&document.head));
    let queue_depth = match answer.rate_iops {
        Some(_) => format!(
            "{:.1} outstanding, {} allowed",
            answer.queue_depth_achieved, answer.queue_depth
        ),
        None => terms.asked(answer.queue_depth, answer.queue_depth_achieved),
    };
    if let Some(service) = &answer.service_ns {
        let of = |summary: &LatencySummary| {
            let p99 = latency(summary, summary.p99 as f64);
            format!("mean {}, p99 {p99}", latency(summary, summary.mean))
        };
        let response = of(&answer.latency_ns);
        sheet
            .text(Paint::Plain, &format!("response time {response}; service time {}", of(service)));
    }
    sheet.text(
        Paint::Plain,
        &format!(
            "{queue_depth}; {}; {}, {:.0} s measured",
            Bandwidth(answer.bytes_per_sec),
            plural(document.search.curve.len() as u64, "point"),
            document.search.measured_seconds
        ),
    );
    if let (Some(seconds), true) = (answer.observed_seconds, answer.iops.n >= 2) {
        let [low, high] = answer.iops.ci95.map(count);
        let interval = if low == high { low } else { format!("{low}–{high}") };
        let rate = terms.rate;
        sheet.text(
            Paint::Plain,
            &format!("{interval} {rate} at 95 % over the {seconds:.1} s observed"),
        );
    }
    for value in &answer.limits {
        if let Some(ns) = value.value_ns {
            let is_known = answer.latency_ns.percentiles_ci95.is_some();
            let is_percentile = matches!(value.limit.metric, Metric::Percentile(_));
            let is_open = is_percentile && is_known && value.ci95_ns.is_none();
            let at_least = if is_open { "≥" } else { "" };
            let interval = value.ci95_ns.filter(|[low, high]| low < high);
            let interval = interval.map_or_else(String::new, |[low, high]| {
                format!(" ({}–{})", Latency(low), Latency(high))
            });
            let statistic = terms.words.statistic(&value.limit);
            let figures = format!("{statistic} {at_least}{}{interval}", Latency(ns));
            let rest =
                format!("limit {}, n {}", Bound(value.limit.bound_ns), count(value.n as f64));
            sheet.text(Paint::Plain, &format!("{figures}; {rest}"));
        }
    }
}

fn write_curve(sheet: &mut Sheet, document: &FindDocument) {
    let open_loop = document.search.curve.iter().any(|point| point.rate_iops.is_some());
    let terms = Terms::of(&document.head);
    let first = if open_loop { "offered" } else { terms.depth_heading() };
    let judged = judged_apart(&document.search.limits);
    let bounded = |metric| document.search.limits.iter().any(|limit| is_of_all(limit, metric));
    // The statistics that were judged are kept on a narrow page.
    let unless_bounded = |metric, rank| match bounded(metric) {
        true => Kind::Number,
        false => Kind::Spare(rank),
    };
    let missed = document.search.curve.iter().any(|point| !open_loop && misses_its_depth(point));
    let columns = [
        (first, Kind::Number),
        ("achieved", if missed { Kind::Number } else { Kind::Spare(1) }),
        (terms.rate, Kind::Number),
        ("±", Kind::Number),
        ("mean", unless_bounded(Metric::Mean, 5)),
    ];
    let apart = judged.iter().map(|limit| (terms.words.statistic(limit), Kind::Number));
    let rest = [
        ("limit", Kind::Word),
        ("steady", Kind::SpareWord(4)),
        ("", Kind::Word),
        ("p95", unless_bounded(Metric::Percentile(95.0), 2)),
        ("p99", Kind::Number),
        ("p99.9", unless_bounded(Metric::Percentile(99.9), 3)),
        ("max", Kind::Number),
    ];
    let owned = |(title, kind): (&str, Kind)| (title.to_owned(), kind);
    let mut grid = Grid::titled(columns.map(owned).into_iter().chain(apart).chain(rest.map(owned)));
    for point in &document.search.curve {
        let (is_answer, is_knee) = marks(document, point);
        let mark = match (is_answer, is_knee) {
            (true, true) => "answer, knee",
            (true, false) => "answer",
            (false, true) => "knee",
            (false, false) => "",
        };
        let paint = if is_answer {
            Paint::Good
        } else if point.met {
            Paint::Plain
        } else {
            Paint::Doubt
        };
        let summary = &point.latency_ns;
        let whole = |value: u64| latency(summary, value as f64);
        let ends = summary.percentiles_ci95.unwrap_or_default();
        let tail = |value: u64, ends: [Option<u64>; 2]| percentile(summary, value, ends);
        let mut row = vec![
            point.rate_iops.map_or_else(|| point.queue_depth.to_string(), count),
            format!("{:.1}", point.queue_depth_achieved),
            count(point.iops.mean),
            plus_minus(&point.iops),
            latency(summary, summary.mean),
        ];
        row.extend(judged.iter().map(|limit| statistic(point, limit)));
        row.extend([
            if point.met { "met" } else { "broken" }.to_owned(),
            if point.steady { "yes" } else { "no" }.to_owned(),
            mark.to_owned(),
            tail(summary.p95, ends.p95),
            tail(summary.p99, ends.p99),
            tail(summary.p999, ends.p999),
            whole(summary.max),
        ]);
        grid.row_of(paint, &row);
    }
    grid.write(sheet);
}

/// Returns true if the limit is on this statistic of all I/Os together.
fn is_of_all(limit: &Limit, metric: Metric) -> bool {
    limit.side == Side::Any && limit.metric == metric && !limit.each
}

/// Returns the limits on statistics that have no column of their own.
fn judged_apart(limits: &[Limit]) -> Vec<Limit> {
    let columns =
        [Metric::Mean, Metric::Max].into_iter().chain([95.0, 99.0, 99.9].map(Metric::Percentile));
    let columns: Vec<Metric> = columns.collect();
    let is_apart = |limit: &&Limit| !columns.iter().any(|metric| is_of_all(limit, *metric));
    let mut apart: Vec<Limit> = limits.iter().filter(is_apart).copied().collect();
    apart.dedup_by(|limit, other| limit.bounds_as(other));
    apart
}

/// Formats the statistic by which a point was judged.
fn statistic(point: &CurvePoint, limit: &Limit) -> String {
    let own = point.limits.iter().find(|value| value.limit.bounds_as(limit));
    let value_ns = own.and_then(|value| value.value_ns);
    value_ns.map(|ns| Latency(ns).to_string()).unwrap_or_default()
}

/// Returns true if the achieved queue depth differs from the requested one.
fn misses_its_depth(point: &CurvePoint) -> bool {
    const NOTABLE: f64 = 0.02;
    (point.queue_depth_achieved / f64::from(point.queue_depth) - 1.0).abs() > NOTABLE
}

/// Returns whether the point is the answer and whether it is the knee.
pub(crate) fn marks(document: &FindDocument, point: &CurvePoint) -> (bool, bool) {
    let answer = &document.search.answer;
    let is_place = point.queue_depth == answer.queue_depth && point.rate_iops == answer.rate_iops;
    let is_answer = answer.is_given() && is_place;
    (is_answer, document.search.knee.is_some_and(|knee| knee.queue_depth == point.queue_depth))
}
