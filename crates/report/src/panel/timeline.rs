//! Plots one below the other over one axis of time, on which steps follow each other.

use crate::chart::{
    Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, legend, seconds,
};
use iogauge_model::result::IntervalPoint;

/// Most points of a line where so many runs are drawn; neighbours are joined beyond that.
pub fn most(runs: usize) -> usize {
    (2000 / runs.max(1)).clamp(40, 300)
}

/// Moments of which something is told.
const TOLD: usize = 40;

/// A line of a plot: its name, its role, and its values by time; `None` parts it.
#[derive(Debug)]
pub struct Line<'a> {
    pub name: &'a str,
    pub ink: Ink,
    pub values: Vec<(f64, Option<f64>)>,
}

/// One plot.
pub struct Plot<'a> {
    pub title: &'a str,
    pub label: &'a dyn Fn(f64) -> String,
    /// True for values of many magnitudes.
    pub log: bool,
    /// The least value at the upper end of the axis: a share of little is not drawn as much.
    pub at_least: f64,
    pub lines: Vec<Line<'a>>,
}

/// Time of all steps.
#[derive(Debug, Default)]
pub struct Time {
    /// Where steps begin, but for the first.
    pub seams: Vec<f64>,
    /// Where the last one ends.
    pub seconds: f64,
}

impl Time {
    /// Lets a step follow that is so long; gives back when it begins.
    pub fn follow(&mut self, length: f64) -> f64 {
        let begin = self.seconds;
        if begin > 0.0 {
            self.seams.push(begin);
        }
        self.seconds += length;
        begin
    }
}

/// Intervals of a load by when they end, joined until there are so many at most.
pub fn joined(intervals: &[(f64, IntervalPoint)], most: usize) -> Vec<(f64, IntervalPoint)> {
    let every = intervals.len().div_ceil(most).max(1);
    let join = |chunk: &[(f64, IntervalPoint)]| {
        let ((_, mut joined), rest) = chunk.split_first().map(|(first, rest)| (*first, rest))?;
        rest.iter().for_each(|(_, next)| joined.append(next));
        chunk.last().map(|(at, _)| (*at, joined))
    };
    intervals.chunks(every).filter_map(join).collect()
}

/// Draws plots below each other, with one axis of time and one legend. `told` is what is said of moments.
pub fn draw(time: &Time, plots: &[Plot<'_>], told: Vec<(f64, Vec<String>)>, width: f64) -> Scene {
    let narrow = width < 600.0;
    let height = if narrow { 84.0 } else { 112.0 };
    let step = height + Frame::ABOVE + 10.0;
    let frame = |number: usize| Frame {
        x: Frame::LEFT,
        y: Frame::ABOVE + step * number as f64,
        width: width - Frame::LEFT - Frame::RIGHT,
        height,
    };
    let bottom = step * plots.len() as f64 - 10.0;
    let mut scene = Scene::new(width, bottom + Frame::BELOW);
    let x = Scale::linear([0.0, time.seconds], frame(0).xs());
    for (number, plot) in plots.iter().enumerate() {
        one(&mut scene, plot, frame(number), x, &time.seams);
    }
    let axis = Axis { scale: x, title: "time", label: &seconds, ticks: if narrow { 4 } else { 8 } };
    frame(plots.len().saturating_sub(1)).horizontal(&mut scene, &axis);
    let Frame { x: left, y: top, width, .. } = frame(0);
    let every = told.len().div_ceil(TOLD).max(1);
    let told = told.into_iter().step_by(every);
    let points = told.map(|(at, lines)| HoverPoint { x: x.at(at), lines }).collect();
    scene.add(Mark::Hover(Hover { x: left, y: top, width, height: bottom - top, points }));
    let lines = plots.iter().flat_map(|plot| &plot.lines);
    // A device has a line in several plots.
    let mut entries: Vec<(Ink, &str)> = Vec::new();
    for line in lines {
        if !entries.contains(&(line.ink, line.name)) {
            entries.push((line.ink, line.name));
        }
    }
    let place = scene.height + 4.0;
    scene.height = place + legend(&mut scene, [left, place, width], &entries) + 4.0;
    scene
}

fn one(scene: &mut Scene, plot: &Plot<'_>, frame: Frame, x: Scale, seams: &[f64]) {
    for seam in seams {
        let place = x.at(*seam);
        let line = [(place, frame.y), (place, frame.y + frame.height)];
        scene.line(line, Stroke::dashed(Ink::Grid, 1.0));
    }
    let values = || {
        let all = plot.lines.iter().flat_map(|line| &line.values);
        all.filter_map(|(_, value)| *value).filter(|value| value.is_finite())
    };
    let most = values().fold(plot.at_least, f64::max);
    let y = if plot.log {
        let positive = values().filter(|value| *value > 0.0);
        Scale::log(positive.fold(f64::INFINITY, f64::min), most, frame.ys())
    } else {
        Scale::from_zero(most, frame.ys())
    };
    let axis = Axis { scale: y, title: plot.title, label: plot.label, ticks: 4 };
    frame.vertical(scene, &axis);
    for line in &plot.lines {
        let drawn = |value: &f64| value.is_finite() && (!plot.log || *value > 0.0);
        let place = |(at, value): &(f64, Option<f64>)| {
            value.filter(drawn).map(|value| (x.at(*at), y.at(value)))
        };
        let points = line.values.iter().map(place).collect();
        let marks = vec![Mark::Line { points, stroke: Stroke::solid(line.ink, 1.4) }];
        scene.add(Mark::Series { name: line.name.to_owned(), marks });
    }
}
