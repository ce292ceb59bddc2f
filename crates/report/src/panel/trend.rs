//! A metric run by run: when it changed.

use super::{Drawn, Figure, Panel};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, Text, bytes_per_sec,
    count, latency_ns, legend, width_of, wrapped,
};
use crate::exhibit::{Exhibit, Shown};
use crate::terminal::{
    failed_last, targets_of, trend_brief, trend_change, trend_load, trend_name, trend_targets,
    trend_value,
};
use iogauge_model::result::{TrendDocument, TrendMetric, TrendPoint};

pub const PANEL: Panel = Panel {
    name: "trend",
    title: "Trend",
    about: "A metric run by run, in time order, each value with its 95 % confidence interval if it is known; an \
            arrow marks one that goes on beyond the plot. The orange lines are the means between changes. Dashed lines mark the runs at which the \
            metric changed: red for the worse, green for the better. The vertical axis does not begin at 0.",
    figures: draw,
};

const HEIGHT: f64 = 260.0;
/// With more runs than this, dots are small and intervals are left out.
const MANY_RUNS: usize = 150;
/// With more points than this, only some have values under the pointer.
const MOST_HOVER: usize = 500;

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let of_run = |exhibit: &Exhibit| match &exhibit.document {
        Shown::Trend(document) if !document.points.is_empty() => Some(Figure {
            title: format!("{} of {}", trend_name(document.metric), place(document)),
            description: trend_brief(document),
            scene: scene(document, drawn.width),
        }),
        _ => None,
    };
    drawn.exhibits.iter().filter_map(of_run).collect()
}

fn scene(document: &TrendDocument, width: f64) -> Scene {
    let mut scene = Scene::new(width, Frame::ABOVE + HEIGHT + Frame::BELOW);
    let frame = Frame {
        x: Frame::LEFT,
        y: Frame::ABOVE,
        width: width - Frame::LEFT - Frame::RIGHT,
        height: HEIGHT,
    };
    let x = Scale::linear([0.0, document.points.len() as f64 + 1.0], frame.xs());
    let y = Scale::linear(domain(document), frame.ys());
    let label = label(document.metric);
    let title = match document.metric {
        TrendMetric::Iops => "I/Os per second",
        metric => trend_name(metric),
    };
    frame.vertical(&mut scene, &Axis { scale: y, title, label: &label, ticks: 5 });
    let number = |run: f64| {
        let is_run = run.fract() == 0.0 && run >= 1.0 && run <= document.points.len() as f64;
        if is_run { count(run) } else { String::new() }
    };
    let title = match times(document) {
        Some(times) if width > super::NARROW => format!("run, {times}"),
        _ => "run".to_owned(),
    };
    frame.horizontal(&mut scene, &Axis { scale: x, title: &title, label: &number, ticks: 8 });
    changes(&mut scene, document, frame, x);
    points(&mut scene, document, [x, y]);
    means(&mut scene, document, [x, y]);
    scene.add(Mark::Hover(hover(document, frame, x)));
    let has_intervals = document.points.iter().any(|point| interval(document, point).is_some());
    let entries = [
        (Ink::Series(0), if has_intervals { "run, with its 95 % interval" } else { "run" }),
        (Ink::Series(1), "mean between changes"),
        (Ink::Limit, "change for the worse"),
        (Ink::Good, "change for the better"),
    ];
    let has = |worse| document.changes.iter().any(|change| change.worse == worse);
    let entries: Vec<_> = entries
        .into_iter()
        .filter(|(ink, _)| match ink {
            Ink::Limit => has(true),
            Ink::Good => has(false),
            _ => true,
        })
        .collect();
    let place = [0.0, scene.height + 4.0, width];
    scene.height = place[1] + legend(&mut scene, place, &entries) + 4.0;
    let failed = failed_last(document).map(|failed| (Ink::Limit, failed));
    let [first, others] = [trend_load(document), trend_targets(document)];
    let load = if targets_of(document).len() > 1 { format!("{first}, on {others}") } else { first };
    for (ink, words) in std::iter::once((Ink::Text, load)).chain(failed) {
        write_below(&mut scene, ink, &words);
    }
    scene
}

/// Returns the target, or the number of targets.
fn place(document: &TrendDocument) -> String {
    match targets_of(document).as_slice() {
        [only] => (*only).to_owned(),
        targets => format!("{} targets", targets.len()),
    }
}

/// Writes words below everything.
fn write_below(scene: &mut Scene, ink: Ink, words: &str) {
    const LINE: f64 = 15.0;
    for line in wrapped(words, Text::SIZE, scene.width) {
        scene.height += LINE;
        scene.text(Text::new(0.0, scene.height - 4.0, Anchor::Start, ink, line));
    }
}

/// Returns the ends of the vertical axis: those of the values, with room for intervals of the usual length. Longer ones
/// leave the plot, so that changes stay visible.
fn domain(document: &TrendDocument) -> [f64; 2] {
    let values = document.points.iter().map(|point| point.value);
    let ends = |[low, high]: [f64; 2], value: f64| [low.min(value), high.max(value)];
    let [low, high] = values.fold([f64::INFINITY, 0.0], ends);
    // Equal values lie in the middle.
    let room = if high > low { (high - low) * 0.4 } else { high * 0.1 };
    let room = room.max(usual_half(document) * 1.2);
    [(low - room).max(0.0), high + room]
}

/// Returns half the usual length of the intervals that are drawn: the median.
fn usual_half(document: &TrendDocument) -> f64 {
    let intervals = document.points.iter().filter_map(|point| interval(document, point));
    let mut halves: Vec<f64> = intervals.map(|[low, high]| (high - low) / 2.0).collect();
    halves.sort_by(f64::total_cmp);
    halves.get(halves.len() / 2).copied().unwrap_or(0.0)
}

/// Returns the interval of a run that is drawn.
fn interval(document: &TrendDocument, point: &TrendPoint) -> Option<[f64; 2]> {
    point.ci95.filter(|_| document.points.len() <= MANY_RUNS)
}

/// Draws a vertical line before the first run after each change, and its size beside it.
fn changes(scene: &mut Scene, document: &TrendDocument, frame: Frame, x: Scale) {
    let mut free_from = f64::MIN;
    for change in &document.changes {
        let ink = if change.worse { Ink::Limit } else { Ink::Good };
        let at = x.at(f64::from(change.at) + 0.5);
        scene.line(frame.ys().map(|y| (at, y)), Stroke::dashed(ink, 1.4));
        let words = trend_change(change);
        let wide = width_of(&words, Text::SIZE);
        let fits_right = at + 5.0 + wide <= frame.x + frame.width;
        let (left, anchor, place) = match fits_right {
            true => (at + 5.0, Anchor::Start, at + 5.0),
            false => (at - 5.0 - wide, Anchor::End, at - 5.0),
        };
        if left >= free_from {
            scene.text(Text::new(place, frame.y + 12.0, anchor, ink, words));
            free_from = left + wide + 6.0;
        }
    }
}

/// Draws the runs, each with its interval.
fn points(scene: &mut Scene, document: &TrendDocument, [x, y]: [Scale; 2]) {
    let ink = Ink::Series(0);
    let is_many = document.points.len() > MANY_RUNS;
    for (number, point) in (1..).zip(&document.points) {
        let at = x.at(f64::from(number));
        if let Some(ends) = interval(document, point) {
            draw_interval(scene, at, ends.map(|end| y.at(end)), y.range());
        }
        scene.add(Mark::dot(at, y.at(point.value), if is_many { 1.4 } else { 2.6 }, ink));
    }
}

/// Draws an interval, with an arrow at an end beyond the plot.
fn draw_interval(scene: &mut Scene, at: f64, ends: [f64; 2], [bottom, top]: [f64; 2]) {
    const ARROW: f64 = 3.5;
    let stroke = Stroke::solid(Ink::Series(0), 1.0);
    let within = ends.map(|end| end.clamp(top, bottom));
    scene.line(within.map(|end| (at, end)), stroke);
    for (end, tip) in ends.into_iter().zip(within).filter(|(end, tip)| end != tip) {
        let back = if end < tip { tip + ARROW } else { tip - ARROW };
        for side in [at - ARROW, at + ARROW] {
            scene.line([(side, back), (at, tip)], stroke);
        }
    }
}

/// Draws the mean of each segment.
fn means(scene: &mut Scene, document: &TrendDocument, [x, y]: [Scale; 2]) {
    for segment in &document.segments {
        let first = f64::from(segment.first) + 0.5;
        let ends = [first, first + f64::from(segment.runs)];
        let height = y.at(segment.mean);
        scene.line(ends.map(|end| (x.at(end), height)), Stroke::solid(Ink::Series(1), 1.8));
    }
}

fn hover(document: &TrendDocument, frame: Frame, x: Scale) -> Hover {
    let every = document.points.len().div_ceil(MOST_HOVER).max(1);
    let value = |value: f64| trend_value(document.metric, value);
    let point = |(number, point): (u32, &TrendPoint)| {
        let mut lines = vec![
            format!("run {number}: {}", point.run_id),
            format!("{} {}", trend_name(document.metric), value(point.value)),
        ];
        lines.extend(
            point.ci95.map(|[low, high]| format!("95 %: {} to {}", value(low), value(high))),
        );
        HoverPoint { x: x.at(f64::from(number)), lines }
    };
    let points = (1..).zip(&document.points).step_by(every).map(point).collect();
    let Frame { x: left, y, width, height } = frame;
    Hover { x: left, y, width, height, points }
}

fn label(metric: TrendMetric) -> fn(f64) -> String {
    match metric {
        TrendMetric::Iops => count,
        TrendMetric::BytesPerSec => bytes_per_sec,
        _ => latency_ns,
    }
}

/// Returns when the runs began: the days, or the times of day if all began on one.
fn times(document: &TrendDocument) -> Option<String> {
    let [first, .., last] = document.points.as_slice() else { return None };
    let (from, from_time) = first.started.split_once('T')?;
    let (to, to_time) = last.started.split_once('T')?;
    Some(match from == to {
        true => {
            let [from_time, to_time] = [from_time, to_time].map(|time| time.trim_end_matches('Z'));
            format!("{from_time} to {to_time} on {from} (UTC)")
        }
        false => format!("from {from} to {to}"),
    })
}
