//! The capacity curve: latency against IOPS, with the limit and the answer.

mod together;

use super::{Figure, Panel};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Labels, Mark, Scale, Scene, Stroke, Text, count,
    latency_ns, legend, wrapped,
};
use crate::exhibit::{Capacity, Exhibit};
use crate::terminal::stop_reason;
use iogauge_model::Limit;
use iogauge_model::result::{CurvePoint, LatencySummary};

pub const PANEL: Panel = Panel {
    name: "capacity-curve",
    title: "Capacity",
    about: "Latency against I/Os per second (for a database: operations per second), from one I/O outstanding on \
            the left to the largest queue depth tried. The dashed line is the limit. The answer is the highest \
            rate within the limit; the bar is its 95 % confidence interval. The knee is the smallest queue depth \
            that gives 95 % of the answer: a larger one adds latency and almost no I/Os. The reason why the \
            search stopped is below the curve.",
    draw,
};

/// Selects a figure of a point.
type Figured = fn(&LatencySummary) -> f64;

/// Lines of the curve.
const LINES: [(&str, Figured); 4] = [
    ("mean", |l| l.mean),
    ("p95", |l| l.p95 as f64),
    ("p99", |l| l.p99 as f64),
    ("p99.9", |l| l.p999 as f64),
];

fn draw(exhibits: &[Exhibit], width: f64) -> Vec<Figure> {
    let capacities = exhibits.iter().flat_map(|exhibit| {
        exhibit.capacities().into_iter().map(move |capacity| (exhibit, capacity))
    });
    let drawn: Vec<(&Exhibit, Capacity<'_>)> =
        capacities.filter(|(_, capacity)| !capacity.curve.is_empty()).collect();
    let alone = drawn.iter().map(|(exhibit, capacity)| Figure {
        title: title(exhibit, capacity),
        description: description(capacity),
        scene: scene(capacity, width),
    });
    together(&drawn, width).into_iter().chain(alone).collect()
}

/// Draws the curves in one picture, if there are several and not too many.
fn together(drawn: &[(&Exhibit, Capacity<'_>)], width: f64) -> Option<Figure> {
    let (_, first) = drawn.first()?;
    let alike = drawn.iter().all(|(_, capacity)| capacity.terms == first.terms);
    let named = drawn.iter().map(|(exhibit, capacity)| {
        let name = format!("{}, run {}", title(exhibit, capacity), exhibit.head().run_id);
        (name, capacity.clone())
    });
    let holds = alike && (2..=together::MOST).contains(&drawn.len());
    holds.then(|| together::figure(&named.collect::<Vec<_>>(), width))
}

fn title(exhibit: &Exhibit, capacity: &Capacity<'_>) -> String {
    let place = exhibit.place();
    if capacity.label.is_empty() { place } else { format!("{}, {place}", capacity.label) }
}

fn scene(capacity: &Capacity<'_>, width: f64) -> Scene {
    let height = if width < 600.0 { 300.0 } else { 380.0 };
    let mut scene = Scene::new(width, height);
    let frame = Frame {
        x: Frame::LEFT,
        y: Frame::ABOVE,
        width: width - Frame::LEFT - Frame::RIGHT,
        height: height - Frame::ABOVE - Frame::BELOW - 34.0,
    };
    let curve = &*capacity.curve;
    let bounds = capacity.limits.iter().map(|limit| limit.bound_ns as f64);
    let values = || curve.iter().flat_map(|point| LINES.map(|(_, of)| of(&point.latency_ns)));
    let positive = || values().chain(bounds.clone()).filter(|value| *value > 0.0);
    let y = Scale::log(
        positive().fold(f64::INFINITY, f64::min),
        positive().fold(0.0, f64::max),
        frame.ys(),
    );
    let most =
        curve.iter().map(|point| point.iops.mean.max(point.iops.ci95[1])).fold(0.0, f64::max);
    let x = Scale::from_zero(most, frame.xs());
    let ticks = if width < 600.0 { 4 } else { 8 };
    frame.vertical(&mut scene, &Axis { scale: y, title: "latency", label: &latency_ns, ticks: 8 });
    frame.horizontal(
        &mut scene,
        &Axis { scale: x, title: capacity.terms.rates, label: &count, ticks },
    );
    for bound in bounds {
        let place = y.at(bound);
        let line = [(frame.x, place), (frame.x + frame.width, place)];
        scene.line(line, Stroke::dashed(Ink::Limit, 1.5));
    }
    for (number, (name, of)) in (0..).zip(LINES) {
        let place = |point: &CurvePoint| (x.at(point.iops.mean), y.at(of(&point.latency_ns)));
        let ink = Ink::Series(number);
        let mut marks = vec![Mark::Line {
            points: curve.iter().map(|point| Some(place(point))).collect(),
            stroke: Stroke::solid(ink, if number == 0 { 2.2 } else { 1.4 }),
        }];
        marks.extend(curve.iter().map(|point| {
            let (x, y) = place(point);
            Mark::Dot { x, y, radius: 2.2, fill: ink, tip: None }
        }));
        scene.add(Mark::Series { name: name.to_owned(), marks });
    }
    let mut labels = Labels::new(frame);
    for point in curve {
        labels.avoid(x.at(point.iops.mean), y.at(point.latency_ns.mean), 2.0);
    }
    limits(&mut scene, &mut labels, capacity, frame, y);
    knee(&mut scene, &mut labels, capacity, frame, x);
    answer(&mut scene, &mut labels, capacity, frame, x, y);
    queue_depths(&mut scene, &mut labels, capacity, x, y);
    scene.add(Mark::Hover(hover(capacity, frame, x)));
    let names = (0..).zip(LINES).map(|(number, (name, _))| (Ink::Series(number), name));
    let more = [(Ink::Limit, "limit"), (Ink::Good, "answer and its 95 % interval")];
    let entries: Vec<(Ink, &str)> = names.chain(more).collect();
    let place = height - 32.0;
    scene.height = place + legend(&mut scene, [frame.x, place, frame.width], &entries) + 4.0;
    ending(&mut scene, capacity, frame);
    scene
}

/// Writes below everything why the search ended.
fn ending(scene: &mut Scene, capacity: &Capacity<'_>, frame: Frame) {
    const LINE: f64 = 15.0;
    for line in wrapped(&why(capacity), Text::SIZE, frame.width) {
        scene.height += LINE;
        let text = Text::new(frame.x, scene.height - 4.0, Anchor::Start, Ink::Text, line);
        scene.text(text);
    }
}

/// Returns the stop reason as a sentence.
fn why(capacity: &Capacity<'_>) -> String {
    let reason = stop_reason(capacity.answer, capacity.terms);
    let mut letters = reason.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// Returns a limit in the terms for what was measured: `mean <= 10 ms`, `commit:mean <= 10 ms`.
fn bound(capacity: &Capacity<'_>, limit: &Limit) -> String {
    let own = limit.statistic();
    limit.to_string().replacen(&own, &capacity.terms.words.statistic(limit), 1)
}

/// Labels the limits on the left, above or below their lines. Limits with the same bound share a label.
fn limits(scene: &mut Scene, labels: &mut Labels, capacity: &Capacity<'_>, frame: Frame, y: Scale) {
    let mut named: Vec<(u64, Vec<String>)> = Vec::new();
    for limit in &*capacity.limits {
        let words = bound(capacity, limit);
        match named.iter_mut().find(|(bound_ns, _)| *bound_ns == limit.bound_ns) {
            Some((_, names)) => names.push(words),
            None => named.push((limit.bound_ns, vec![words])),
        }
    }
    for (bound_ns, names) in named {
        let place = y.at(bound_ns as f64);
        let words = super::listed(&names);
        let at = |y| Text::new(frame.x + 4.0, y, Anchor::Start, Ink::Limit, &*words).bold();
        labels.put(scene, &[at(place - 4.0), at(place + 13.0)]);
    }
}

/// Labels queue depths along the curve of means if there is space, beginning with the last one and the
/// answer's.
fn queue_depths(
    scene: &mut Scene,
    labels: &mut Labels,
    capacity: &Capacity<'_>,
    x: Scale,
    y: Scale,
) {
    let closed = capacity.curve.iter().filter(|point| point.rate_iops.is_none());
    let mut points: Vec<&CurvePoint> = closed.collect();
    let last = points.last().map(|point| point.queue_depth);
    points.sort_by_key(|point| {
        (
            Some(point.queue_depth) != last,
            point.queue_depth != capacity.answer.queue_depth,
            point.queue_depth,
        )
    });
    for point in points {
        let word = if capacity.terms.is_database() {
            point.queue_depth.to_string()
        } else {
            format!("QD{}", point.queue_depth)
        };
        let (at_x, at_y) = (x.at(point.iops.mean), y.at(point.latency_ns.mean));
        let form = |right: f64, down: f64, anchor| {
            Text::new(at_x + right, at_y + down, anchor, Ink::Muted, &*word).size(9.0)
        };
        let forms = [
            form(-3.0, 14.0, Anchor::Start),
            form(5.0, 6.0, Anchor::Start),
            form(3.0, 14.0, Anchor::End),
            form(4.0, -4.0, Anchor::Start),
        ];
        labels.put_if_free(scene, &forms);
    }
}

/// Draws the knee as a vertical line.
fn knee(scene: &mut Scene, labels: &mut Labels, capacity: &Capacity<'_>, frame: Frame, x: Scale) {
    let Some(knee) = capacity.knee.filter(|knee| knee.queue_depth < capacity.answer.queue_depth)
    else {
        return;
    };
    let (place, bottom) = (x.at(knee.iops), frame.y + frame.height);
    scene.line([(place, frame.y), (place, bottom)], Stroke::dashed(Ink::Muted, 1.0));
    let words = format!("knee {}", capacity.terms.words.at(knee.queue_depth));
    let form = |right: f64, anchor| {
        Text::new(place + right, bottom - 6.0, anchor, Ink::Muted, &*words).size(9.5)
    };
    labels.put(scene, &[form(-4.0, Anchor::End), form(4.0, Anchor::Start)]);
}

/// Draws the answer with its interval.
fn answer(
    scene: &mut Scene,
    labels: &mut Labels,
    capacity: &Capacity<'_>,
    frame: Frame,
    x: Scale,
    y: Scale,
) {
    let answer = capacity.answer;
    if !answer.met {
        return;
    }
    let (at, high) = (x.at(answer.iops.mean), y.at(answer.latency_ns.mean));
    // An answer from few windows can have an interval that is wider than the plot.
    let [left, right] = frame.xs();
    let [low_end, high_end] = answer.iops.ci95.map(|end| x.at(end).clamp(left, right));
    scene.line([(at, high), (at, frame.y + frame.height)], Stroke::solid(Ink::Good, 1.0));
    scene.line([(low_end, high), (high_end, high)], Stroke::solid(Ink::Good, 3.0));
    let tip = Some(format!("{} {}", count(answer.iops.mean), capacity.terms.rates));
    scene.add(Mark::Dot { x: at, y: high, radius: 5.0, fill: Ink::Good, tip });
    labels.avoid(at, high, 5.0);
    let words = format!("{} {}", count(answer.iops.mean), capacity.terms.rate);
    let form = |right: f64, down: f64, anchor| {
        Text::new(at + right, high + down, anchor, Ink::Good, &*words).bold().size(13.0)
    };
    let forms = [
        form(-8.0, -8.0, Anchor::End),
        form(8.0, 18.0, Anchor::Start),
        form(-8.0, 20.0, Anchor::End),
        form(8.0, -8.0, Anchor::Start),
    ];
    labels.put(scene, &forms);
}

fn hover(capacity: &Capacity<'_>, frame: Frame, x: Scale) -> Hover {
    let terms = capacity.terms;
    let mut points: Vec<HoverPoint> = capacity
        .curve
        .iter()
        .map(|point| {
            let load = match point.rate_iops {
                Some(rate) => format!("{} a second asked", count(rate)),
                None => terms.words.amount(point.queue_depth),
            };
            let mut lines = vec![load, format!("{} {}", count(point.iops.mean), terms.rate)];
            let latency = |(name, of): &(&str, Figured)| {
                format!("{name} {}", latency_ns(of(&point.latency_ns)))
            };
            lines.extend(LINES.iter().map(latency));
            HoverPoint { x: x.at(point.iops.mean), lines }
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Hover { x: frame.x, y: frame.y, width: frame.width, height: frame.height, points }
}

fn description(capacity: &Capacity<'_>) -> String {
    let (answer, terms) = (capacity.answer, capacity.terms);
    let limits: Vec<String> = capacity.limits.iter().map(|limit| bound(capacity, limit)).collect();
    let limits = super::listed(&limits);
    let first = if answer.met {
        let [low, high] = answer.iops.ci95.map(count);
        let (most, place) = (count(answer.iops.mean), terms.words.at(answer.queue_depth));
        format!("{most} {} ({low} to {high}) {place} while {limits} holds.", terms.rates)
    } else {
        format!("{limits} does not hold even at the least load.")
    };
    let knee = capacity.knee.map(|knee| {
        let most = count(knee.iops);
        let share = knee.share.map(|share| format!(", {:.0} % of that", share.mean * 100.0));
        let (place, share) = (terms.words.at(knee.queue_depth), share.unwrap_or_default());
        format!(" The knee is {place}, {most} {}{share}.", terms.rates)
    });
    format!("{first} {}{}", why(capacity), knee.unwrap_or_default())
}
