//! Rounds: what a suite repeats until its results agree, and the rounds that count.

use super::timeline::titles;
use super::{Drawn, Figure, Panel};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, Text, bytes_per_sec,
    count, latency_ns, legend, percent,
};
use crate::exhibit::Exhibit;
use crate::rows::size_word;
use iogauge_model::result::{RoundsFindings, RoundsUnit, RoundsWindow, TrackedRounds};
use std::collections::BTreeMap;

pub const PANEL: Panel = Panel {
    name: "rounds",
    title: "Rounds",
    about: "The tracked values, round by round. The shaded rounds count: the first five that are steady, \
            otherwise the last five. In them the green line is the mean, the dashed lines are 90 % and 110 % of \
            it, and the red line is the line of best fit. A value is steady if it ranges over no more than 20 % \
            of its mean and the line rises or falls by no more than 10 % of it (SNIA Solid State Storage \
            Performance Test Specification).",
    figures: draw,
};

/// Up to this many rounds, each has a dot.
const DOTS: usize = 60;
/// Maximum number of points of a line; if there are more, neighbours are joined.
const MOST: usize = 300;
/// Bounds of the steady-state rule, in percent of the mean.
const RANGE_PERCENT: f64 = 20.0;
const RISE_PERCENT: f64 = 10.0;
/// Minimum width of a plot next to others, and the height of a plot.
const BESIDE: f64 = 290.0;
const HEIGHT: f64 = 150.0;

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let of_run = |exhibit| {
        let rounds = Exhibit::rounds(exhibit)?;
        let several = rounds.tracked.iter().any(|tracked| tracked.rounds.len() > 1);
        several.then_some((exhibit, rounds))
    };
    let runs: Vec<(&Exhibit, RoundsFindings)> = drawn.exhibits.iter().filter_map(of_run).collect();
    let titles = titles(&runs.iter().map(|(exhibit, _)| *exhibit).collect::<Vec<_>>());
    let mut most: BTreeMap<String, f64> = BTreeMap::new();
    for tracked in drawn.all().filter_map(Exhibit::rounds).flat_map(|r| r.tracked) {
        let known = most.entry(name(&tracked)).or_default();
        *known = values(&tracked).fold(*known, f64::max);
    }
    let figure = |((_, rounds), title): (&(&Exhibit, RoundsFindings), String)| Figure {
        title,
        description: description(rounds),
        scene: scene(rounds, &most, drawn.width),
    };
    runs.iter().zip(titles).map(figure).collect()
}

/// Returns all values that an axis needs.
fn values(tracked: &TrackedRounds) -> impl Iterator<Item = f64> {
    let band = tracked.mean.map(|mean| mean * 1.1);
    tracked.rounds.iter().copied().chain(band).chain(tracked.line.into_iter().flatten())
}

/// `most` has the largest value of each tracked workload, over all pictures that share scales.
fn scene(rounds: &RoundsFindings, most: &BTreeMap<String, f64>, width: f64) -> Scene {
    const ABOVE: f64 = 38.0;
    let beside = ((width / BESIDE) as usize).clamp(1, rounds.tracked.len().max(1));
    let high = ABOVE + HEIGHT + Frame::BELOW + 4.0;
    let wide = width / beside as f64;
    let mut scene = Scene::new(width, high * rounds.tracked.len().div_ceil(beside) as f64);
    for (number, tracked) in rounds.tracked.iter().enumerate() {
        let left = wide * (number % beside) as f64;
        let top = high * (number / beside) as f64;
        let frame = Frame {
            x: left + Frame::LEFT,
            y: top + ABOVE,
            width: wide - Frame::LEFT - Frame::RIGHT,
            height: HEIGHT,
        };
        let title = Text::new(left, top + 12.0, Anchor::Start, Ink::Text, name(tracked));
        scene.text(title.bold());
        let most = most.get(&name(tracked)).copied().unwrap_or_default();
        one(&mut scene, tracked, rounds.window, most, frame);
    }
    if rounds.window.is_some() {
        let entries = [
            (Ink::Shade(0), "rounds that count"),
            (Ink::Good, "mean, 90 % and 110 % of it"),
            (Ink::Limit, "line of best fit"),
        ];
        let place = [0.0, scene.height + 2.0, width];
        scene.height = place[1] + legend(&mut scene, place, &entries) + 4.0;
    }
    scene
}

/// Returns a name like `0 % reads, 4K`.
fn name(tracked: &TrackedRounds) -> String {
    format!("{} % reads, {}", tracked.read_percent, size_word(tracked.block_bytes))
}

fn one(
    scene: &mut Scene,
    tracked: &TrackedRounds,
    window: Option<RoundsWindow>,
    most: f64,
    frame: Frame,
) {
    let label = label(tracked.unit);
    let y = Scale::from_zero(most, frame.ys());
    let last = tracked.rounds.len().max(2) as f64;
    let x = Scale::linear([0.5, last + 0.5], frame.xs());
    if let Some(window) = window {
        let [left, right] = ends(window).map(|end| x.at(end));
        scene.rect([left, frame.y, right - left, frame.height], Ink::Shade(0), 1.0);
    }
    frame.vertical(scene, &Axis { scale: y, title: unit(tracked.unit), label: &label, ticks: 4 });
    let number = |round: f64| if round.fract() == 0.0 { count(round) } else { String::new() };
    frame.horizontal(scene, &Axis { scale: x, title: "round", label: &number, ticks: 6 });
    let points: Vec<(f64, f64)> =
        joined(&tracked.rounds).into_iter().map(|(at, value)| (x.at(at), y.at(value))).collect();
    let ink = Ink::Series(0);
    scene.line(points.iter().copied(), Stroke::solid(ink, 1.6));
    for (x, y) in points.into_iter().filter(|_| tracked.rounds.len() <= DOTS) {
        scene.add(Mark::dot(x, y, 2.6, ink));
    }
    if let Some(window) = window {
        fitted(scene, tracked, window, x, y);
    }
    verdict(scene, tracked, frame);
    scene.add(Mark::Hover(hover(tracked, window, frame, x)));
}

/// Returns where the rounds that count begin and end on the axis.
fn ends(window: RoundsWindow) -> [f64; 2] {
    [f64::from(window.first_round) - 0.5, f64::from(window.last_round) + 0.5]
}

/// Draws the mean, the band around it, and the line of best fit through the rounds that count.
fn fitted(scene: &mut Scene, tracked: &TrackedRounds, window: RoundsWindow, x: Scale, y: Scale) {
    let across = ends(window).map(|end| x.at(end));
    let mut level = |value: f64, stroke: Stroke| {
        scene.line(across.map(|place| (place, y.at(value))), stroke);
    };
    if let Some(mean) = tracked.mean {
        level(mean, Stroke::solid(Ink::Good, 1.4));
        level(mean * 0.9, Stroke::dashed(Ink::Good, 1.2));
        level(mean * 1.1, Stroke::dashed(Ink::Good, 1.2));
    }
    if let Some([first, last]) = tracked.line {
        let [from, to] = [window.first_round, window.last_round].map(f64::from);
        let places = above_zero([(from, first), (to, last)]);
        let places = places.map(|(round, value)| (x.at(round), y.at(value)));
        scene.line(places, Stroke::solid(Ink::Limit, 1.8));
    }
}

/// Cuts a line off where its values are below 0.
fn above_zero([first, last]: [(f64, f64); 2]) -> [(f64, f64); 2] {
    let crossing = || first.0 + (last.0 - first.0) * first.1 / (first.1 - last.1);
    match (first.1 < 0.0, last.1 < 0.0) {
        (true, false) => [(crossing(), 0.0), last],
        (false, true) => [first, (crossing(), 0.0)],
        _ => [first, last].map(|(at, value)| (at, value.max(0.0))),
    }
}

/// Writes the result of the rule above the plot, on the right.
fn verdict(scene: &mut Scene, tracked: &TrackedRounds, frame: Frame) {
    let (Some(steady), Some(range), Some(rise)) =
        (tracked.steady, tracked.range_percent, tracked.rise_percent)
    else {
        return;
    };
    let (ink, word) = if steady { (Ink::Good, "steady") } else { (Ink::Limit, "not steady") };
    let right = frame.x + frame.width;
    scene.text(Text::new(right, frame.y - 26.0, Anchor::End, ink, word).bold());
    let text = format!("range {}, rise {}", percent(range), percent(rise));
    scene.text(Text::new(right, frame.y - 8.0, Anchor::End, Ink::Muted, text).size(10.0));
}

/// Returns values by round, from 1. If there are many, neighbours are averaged.
fn joined(values: &[f64]) -> Vec<(f64, f64)> {
    let every = values.len().div_ceil(MOST).max(1);
    let chunk = |(number, chunk): (usize, &[f64])| {
        let mean = chunk.iter().sum::<f64>() / chunk.len() as f64;
        let middle = (number * every) as f64 + (chunk.len() as f64 + 1.0) / 2.0;
        (middle, mean)
    };
    values.chunks(every).enumerate().map(chunk).collect()
}

fn hover(tracked: &TrackedRounds, window: Option<RoundsWindow>, frame: Frame, x: Scale) -> Hover {
    let label = label(tracked.unit);
    let every = tracked.rounds.len().div_ceil(DOTS).max(1);
    let point = |(round, value): (u32, &f64)| {
        let mut lines = vec![format!("round {round}"), label(*value)];
        if window.is_some_and(|window| window.contains(round)) {
            lines.push("counts".to_owned());
        }
        HoverPoint { x: x.at(f64::from(round)), lines }
    };
    let points = (1..).zip(&tracked.rounds).step_by(every).map(point).collect();
    let Frame { x, y, width, height } = frame;
    Hover { x, y, width, height, points }
}

fn unit(unit: RoundsUnit) -> &'static str {
    match unit {
        RoundsUnit::Iops => "I/Os per second",
        RoundsUnit::BytesPerSec => "bandwidth",
        RoundsUnit::LatencyNsMean => "mean latency",
    }
}

fn label(unit: RoundsUnit) -> fn(f64) -> String {
    match unit {
        RoundsUnit::Iops => count,
        RoundsUnit::BytesPerSec => bytes_per_sec,
        RoundsUnit::LatencyNsMean => latency_ns,
    }
}

fn description(rounds: &RoundsFindings) -> String {
    let first = match rounds.window {
        Some(RoundsWindow { first_round, last_round }) if rounds.steady => {
            format!("Steady in rounds {first_round} to {last_round} of {}.", rounds.rounds)
        }
        Some(RoundsWindow { first_round, last_round }) => format!(
            "Not steady within {} rounds; rounds {first_round} to {last_round} are shown instead.",
            rounds.rounds
        ),
        None => format!("{} rounds; no rule judges them.", rounds.rounds),
    };
    let one = |tracked: &TrackedRounds| {
        let label = label(tracked.unit);
        let ends = tracked.rounds.first().zip(tracked.rounds.last());
        let course = ends.map_or_else(String::new, |(first, last)| {
            format!(" from {} in the first round to {} in the last", label(*first), label(*last))
        });
        let found = match (tracked.mean, tracked.range_percent, tracked.rise_percent) {
            (Some(mean), Some(range), Some(rise)) => format!(
                "; mean {}, range {} of it ({} at most is steady), rise {} ({} at most)",
                label(mean),
                percent(range),
                percent(RANGE_PERCENT),
                percent(rise),
                percent(RISE_PERCENT)
            ),
            _ => String::new(),
        };
        format!("{}: {}{course}{found}.", name(tracked), unit(tracked.unit))
    };
    std::iter::once(first).chain(rounds.tracked.iter().map(one)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trend_line_is_clipped_at_zero() {
        assert_eq!(above_zero([(1.0, 30.0), (5.0, -10.0)]), [(1.0, 30.0), (4.0, 0.0)]);
        assert_eq!(above_zero([(1.0, -10.0), (5.0, 30.0)]), [(2.0, 0.0), (5.0, 30.0)]);
        assert_eq!(above_zero([(1.0, 3.0), (5.0, 4.0)]), [(1.0, 3.0), (5.0, 4.0)]);
    }

    #[test]
    fn many_rounds_are_averaged_for_display() {
        assert_eq!(joined(&[3.0, 5.0]), [(1.0, 3.0), (2.0, 5.0)]);
        let many: Vec<f64> = (1..=1440).map(f64::from).collect();
        let joined = joined(&many);
        assert_eq!(joined.len(), 288);
        assert_eq!(joined[0], (3.0, 3.0));
        assert_eq!(joined[287], (1438.0, 1438.0));
    }
}
