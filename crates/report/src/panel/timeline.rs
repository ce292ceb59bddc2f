//! Plots below each other over one time axis, on which steps follow one another.

use super::heat::{self, Column};
use super::{CROWD, Drawn, Figure};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, Text, legend, times,
    width_of,
};
use crate::exhibit::{Exhibit, Timeline, run_titles};
use crate::terminal::load_words;
use iogauge_model::result::IntervalPoint;
use std::collections::BTreeMap;
use std::slice;

/// Returns the maximum number of points of a line if this many runs are drawn; if there are more points,
/// neighbours are joined. It keeps a page with many runs small enough to mail.
pub fn most(runs: usize) -> usize {
    let of_all = if runs < CROWD { 2000 } else { 1200 };
    (of_all / runs.max(1)).clamp(24, 300)
}

/// A run over time: what is drawn of it.
pub trait Course: Sized {
    /// Prepares a run, given the maximum number of points of a line; `None` if there is nothing to draw.
    fn of(exhibit: &Exhibit, most: usize) -> Option<Self>;
    /// Passes on the time axis, the plots, and the hover texts of moments.
    fn plots<R>(&self, then: impl FnOnce(&Time, &[Plot<'_>], Vec<(f64, Vec<String>)>) -> R) -> R;
    /// Describes the run in sentences.
    fn description(&self) -> String;
}

/// The smallest and the largest value of each kind of plot, by title, and by what pictures that share scales have in
/// common.
type Ends = BTreeMap<(String, String), [f64; 2]>;

/// Returns a figure for each run that has something to draw.
pub fn figures<C: Course>(drawn: &Drawn<'_>) -> Vec<Figure> {
    let most = most(drawn.exhibits.len());
    let alike = |exhibit: &Exhibit| match drawn.share_scales() {
        true => load_words(&exhibit.head().load),
        false => exhibit.head().run_id.clone(),
    };
    let mut ends = Ends::new();
    for exhibit in drawn.all() {
        let Some(course) = C::of(exhibit, most) else { continue };
        course.plots(|_, plots, _| {
            for plot in plots {
                let key = (alike(exhibit), plot.title.to_owned());
                let own = crate::panel::ends(plot.values());
                let known = ends.get(&key).copied();
                let both = own.into_iter().chain(known).flatten();
                if let Some(both) = crate::panel::ends(both) {
                    ends.insert(key, both);
                }
            }
        });
    }
    let runs: Vec<(&Exhibit, C)> = drawn
        .exhibits
        .iter()
        .filter_map(|exhibit| Some((exhibit, C::of(exhibit, most)?)))
        .collect();
    let titles = titles(&runs.iter().map(|(exhibit, _)| *exhibit).collect::<Vec<_>>());
    let figure = |((exhibit, course), title): ((&Exhibit, C), String)| {
        let of_plot = |plot: &Plot<'_>| ends.get(&(alike(exhibit), plot.title.to_owned())).copied();
        let scene =
            course.plots(|time, plots, told| draw(time, plots, told, &of_plot, drawn.width));
        Figure { title, description: course.description(), scene }
    };
    runs.into_iter().zip(titles).map(figure).collect()
}

/// Returns a title for each run: its place, and what distinguishes it from the others; alone, its id.
pub fn titles(exhibits: &[&Exhibit]) -> Vec<String> {
    match exhibits {
        [one] => vec![format!("{}, run {}", one.place(), one.head().run_id)],
        several => run_titles(several),
    }
}

/// Maximum number of moments with hover texts.
const TOLD: usize = 40;
/// Space between a plot and its legend.
const LEGEND: f64 = 6.0;
/// Height of a row of text above the plots, and the maximum number of rows.
const ROW: f64 = 14.0;
const ROWS: usize = 3;

/// A line of a plot: its name, its role, and its values by time; `None` interrupts the line.
#[derive(Debug)]
pub struct Line<'a> {
    pub name: &'a str,
    pub ink: Ink,
    pub values: Vec<(f64, Option<f64>)>,
    /// True if the line is dashed, so that what lies below it is visible.
    pub dashed: bool,
}

impl<'a> Line<'a> {
    /// Creates a solid line.
    pub fn solid(name: &'a str, ink: Ink, values: Vec<(f64, Option<f64>)>) -> Self {
        Self { name, ink, values, dashed: false }
    }
}

pub struct Plot<'a> {
    pub title: &'a str,
    pub label: &'a dyn Fn(f64) -> String,
    /// True if the values span several orders of magnitude.
    pub log: bool,
    /// Lower bound for the upper end of the axis, so that small values do not look large.
    pub at_least: f64,
    /// Background of the lines; it makes the plot higher.
    pub heat: Vec<Column>,
    pub lines: Vec<Line<'a>>,
}

impl<'a> Plot<'a> {
    /// Returns all values that the axis needs.
    fn values(&self) -> impl Iterator<Item = f64> {
        let all = self.lines.iter().flat_map(|line| &line.values);
        let values = all.filter_map(|(_, value)| *value).filter(|value| value.is_finite());
        values.chain(heat::ends_ns(&self.heat).into_iter().flatten())
    }

    /// Creates a plot of lines with a linear axis.
    pub fn linear(
        title: &'a str,
        label: &'a dyn Fn(f64) -> String,
        at_least: f64,
        lines: Vec<Line<'a>>,
    ) -> Self {
        Self { title, label, log: false, at_least, heat: Vec::new(), lines }
    }
}

/// The time axis of all steps.
#[derive(Debug, Default)]
pub struct Time {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Marked moments with their texts, in order.
    pub marked: Vec<(f64, String)>,
    /// Where the last step ends.
    pub seconds: f64,
}

/// A step on the time axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Where it begins, in seconds.
    pub begin: f64,
    /// Short description.
    pub label: String,
    /// The phase or the round of its suite; empty without one.
    pub phase: String,
}

impl Time {
    /// Appends a step of this length; returns its start.
    pub fn follow(&mut self, course: &Timeline<'_>, length: f64) -> f64 {
        let begin = self.seconds;
        let label = course.label.to_owned();
        let phase = match course.round {
            Some(round) => format!("round {round}"),
            None => course.phase.to_owned(),
        };
        self.steps.push(Step { begin, label, phase });
        self.seconds += length;
        begin
    }

    /// Returns the step at a time, if there are several.
    fn step_at(&self, at: f64) -> Option<&Step> {
        let begun = self.steps.iter().take_while(|step| step.begin < at).last();
        begun.or(self.steps.first()).filter(|_| self.steps.len() > 1)
    }

    /// Returns where the steps after the first begin.
    fn seams(&self) -> Vec<f64> {
        self.steps.iter().skip(1).map(|step| step.begin).collect()
    }
}

/// Joins intervals, given with their ends, until there are at most `most`.
pub fn joined(intervals: &[(f64, IntervalPoint)], most: usize) -> Vec<(f64, IntervalPoint)> {
    let every = intervals.len().div_ceil(most.max(1)).max(1);
    let join = |chunk: &[(f64, IntervalPoint)]| {
        let ((_, first), rest) = chunk.split_first()?;
        let mut joined = first.clone();
        rest.iter().for_each(|(_, next)| joined.append(next));
        chunk.last().map(|(at, _)| (*at, joined))
    };
    intervals.chunks(every).filter_map(join).collect()
}

/// Draws plots below each other, with one time axis and one legend. `told` contains the hover texts of
/// moments; `ends` are the values that a plot's axis has to include.
fn draw(
    time: &Time,
    plots: &[Plot<'_>],
    told: Vec<(f64, Vec<String>)>,
    ends: &dyn Fn(&Plot<'_>) -> Option<[f64; 2]>,
    width: f64,
) -> Scene {
    let narrow = width < 600.0;
    let mut scene = Scene::new(width, 0.0);
    let (left, inner) = (Frame::LEFT, width - Frame::LEFT - Frame::RIGHT);
    let ticks = if narrow { 4 } else { 8 };
    let x = Scale::time(time.seconds, ticks, [left, left + inner]);
    let rows = labelled(&mut scene, time, x);
    let rows = rows + marked(&mut scene, time, x, rows as f64 * ROW);
    let top = rows as f64 * ROW + Frame::ABOVE;
    let seams = time.seams();
    let apart = are_ambiguous(&names(plots));
    let frames = frames(plots, top, width, apart);
    for (plot, frame) in plots.iter().zip(&frames) {
        one(&mut scene, plot, *frame, x, &seams, ends(plot));
    }
    let (Some(last), Some((below, above))) = (frames.last(), plots.split_last()) else {
        return scene;
    };
    if apart {
        for (plot, frame) in above.iter().zip(&frames) {
            let place = [left, frame.y + frame.height + LEGEND, inner];
            legend(&mut scene, place, &names(slice::from_ref(plot)));
        }
    }
    let bottom = last.y + last.height;
    for (at, _) in &time.marked {
        let line = [(x.at(*at), top - Frame::ABOVE), (x.at(*at), bottom)];
        scene.line(line, Stroke::dashed(Ink::Text, 1.0));
    }
    let step = x.ticks(ticks).get(1).copied().unwrap_or(time.seconds);
    last.horizontal(&mut scene, &Axis { scale: x, title: "time", label: &times(step), ticks });
    let every = told.len().div_ceil(TOLD).max(1);
    let point = |(at, mut lines): (f64, Vec<String>)| {
        lines.extend(time.step_at(at).map(|step| step.label.clone()));
        HoverPoint { x: x.at(at), lines }
    };
    let points = told.into_iter().step_by(every).map(point).collect();
    let (y, height) = (top, bottom - top);
    scene.add(Mark::Hover(Hover { x: left, y, width: inner, height, points }));
    scene.height = bottom + Frame::BELOW + 4.0;
    let place = [left, scene.height, inner];
    let named = if apart { slice::from_ref(below) } else { plots };
    scene.height += legend(&mut scene, place, &names(named));
    if plots.iter().any(|plot| !plot.heat.is_empty()) {
        let place = [left, scene.height, inner];
        scene.height += legend(&mut scene, place, &heat::legend());
    }
    scene.height += 4.0;
    scene
}

/// Returns true if an ink has several names, so that one legend cannot distinguish them.
fn are_ambiguous(names: &[(Ink, &str)]) -> bool {
    names.iter().enumerate().any(|(number, (ink, _))| names[..number].iter().any(|n| n.0 == *ink))
}

/// Returns the areas of the plots. If legends are `apart`, each has space for its own below it. Plots with
/// a heat map are higher.
fn frames(plots: &[Plot<'_>], top: f64, width: f64, apart: bool) -> Vec<Frame> {
    let narrow = width < 600.0;
    let mut y = top;
    let frame = |plot: &Plot<'_>| {
        let height = match (plot.heat.is_empty(), narrow) {
            (true, true) => 84.0,
            (true, false) => 112.0,
            (false, true) => 140.0,
            (false, false) => 190.0,
        };
        let x = Frame::LEFT;
        let frame = Frame { x, y, width: width - x - Frame::RIGHT, height };
        y += height + Frame::ABOVE + 10.0;
        if apart {
            let mut unseen = Scene::new(width, 0.0);
            let place = [x, 0.0, frame.width];
            y += LEGEND + legend(&mut unseen, place, &names(slice::from_ref(plot)));
        }
        frame
    };
    plots.iter().map(frame).collect()
}

/// Returns the names of the lines of all plots, each once.
fn names<'a>(plots: &[Plot<'a>]) -> Vec<(Ink, &'a str)> {
    let mut names: Vec<(Ink, &str)> = Vec::new();
    for line in plots.iter().flat_map(|plot| &plot.lines) {
        if !names.contains(&(line.ink, line.name)) {
            names.push((line.ink, line.name));
        }
    }
    names
}

/// Writes above the plots what the steps are, if there are several: their labels if all fit, otherwise the phases of the
/// suite, otherwise the numbers of the steps. Returns the number of rows.
fn labelled(scene: &mut Scene, time: &Time, x: Scale) -> usize {
    const SIZE: f64 = 10.0;
    if time.steps.len() < 2 {
        return 0;
    }
    let ends = || time.steps.iter().skip(1).map(|step| step.begin).chain([time.seconds]);
    let mut phases: Vec<(f64, f64, String)> = Vec::new();
    let mut labels = Vec::new();
    for (step, end) in time.steps.iter().zip(ends()) {
        labels.push((step.begin, end, step.label.clone()));
        match phases.last_mut() {
            Some((_, last, phase)) if *phase == step.phase => *last = end,
            _ => phases.push((step.begin, end, step.phase.clone())),
        }
    }
    let numbers = (1..).zip(&labels).map(|(number, (begin, end, _))| {
        let number: u32 = number;
        (*begin, *end, number.to_string())
    });
    let numbers: Vec<_> = numbers.collect();
    let room = |begin: f64, end: f64| x.at(end) - x.at(begin) - 4.0;
    let fits = |all: &[(f64, f64, String)]| {
        all.iter().all(|(begin, end, words)| width_of(words, SIZE) <= room(*begin, *end))
    };
    let has_phases = phases.len() > 1 && phases.iter().all(|(.., phase)| !phase.is_empty());
    let chosen = match () {
        () if fits(&labels) => labels,
        () if has_phases && fits(&phases) => phases,
        () => numbers,
    };
    let mut free_from = f64::MIN;
    for (begin, end, words) in chosen {
        let middle = (x.at(begin) + x.at(end)) / 2.0;
        let half = width_of(&words, SIZE) / 2.0;
        if middle - half < free_from {
            continue;
        }
        free_from = middle + half + 4.0;
        let text = Text::new(middle, SIZE, Anchor::Middle, Ink::Muted, words);
        scene.text(text.size(SIZE));
    }
    1
}

/// Writes the texts of marked moments in rows above the plots, from `top` on, as far as there is space. Returns the
/// number of rows.
fn marked(scene: &mut Scene, time: &Time, x: Scale, top: f64) -> usize {
    const SIZE: f64 = 10.0;
    let mut ends: Vec<f64> = Vec::new();
    for (at, words) in &time.marked {
        let (place, long) = (x.at(*at), width_of(words, SIZE));
        let fits = place + 3.0 + long <= scene.width;
        let begin = if fits { place + 3.0 } else { (scene.width - long).max(0.0) };
        let free = ends.iter().position(|end| *end + 6.0 <= begin);
        let row = match free {
            Some(row) => row,
            None if ends.len() < ROWS => {
                ends.push(0.0);
                ends.len() - 1
            }
            None => continue,
        };
        ends[row] = begin + long;
        let y = top + row as f64 * ROW + SIZE;
        let text = Text::new(begin, y, Anchor::Start, Ink::Text, words.as_str());
        scene.text(text.size(SIZE));
    }
    ends.len()
}

fn one(
    scene: &mut Scene,
    plot: &Plot<'_>,
    frame: Frame,
    x: Scale,
    seams: &[f64],
    ends: Option<[f64; 2]>,
) {
    for seam in seams {
        let place = x.at(*seam);
        let line = [(place, frame.y), (place, frame.y + frame.height)];
        scene.line(line, Stroke::dashed(Ink::Grid, 1.0));
    }
    let [least, most] = ends.unwrap_or([1.0, 1.0]);
    let y = if plot.log {
        Scale::log(least, most, frame.ys())
    } else {
        Scale::from_zero(if ends.is_some() { most } else { 0.0 }.max(plot.at_least), frame.ys())
    };
    let axis = Axis { scale: y, title: plot.title, label: plot.label, ticks: 4 };
    frame.vertical(scene, &axis);
    let map = heat::marks(&plot.heat, x, y);
    if !map.is_empty() {
        scene.add(Mark::Series { name: "heat map".to_owned(), marks: map });
    }
    for line in &plot.lines {
        let drawn = |value: &f64| value.is_finite() && (!plot.log || *value > 0.0);
        let place = |(at, value): &(f64, Option<f64>)| {
            value.filter(drawn).map(|value| (x.at(*at), y.at(value)))
        };
        let points: Vec<Option<(f64, f64)>> = line.values.iter().map(place).collect();
        let mut marks = Vec::new();
        if !plot.heat.is_empty() {
            // A border in the background colour separates the line from the map.
            marks.extend(drawn_through(&points, Stroke::solid(Ink::Surface, 3.6)));
        }
        let stroke = Stroke { ink: line.ink, width: 1.4, dashed: line.dashed };
        marks.extend(drawn_through(&points, stroke));
        scene.add(Mark::Series { name: line.name.to_owned(), marks });
    }
}

/// Draws a line through points, and a dot for each point without neighbours, which a line would not show.
fn drawn_through(points: &[Option<(f64, f64)>], stroke: Stroke) -> Vec<Mark> {
    let alone = points.split(Option::is_none).filter(|stretch| stretch.len() == 1);
    let radius = stroke.width / 2.0 + 0.4;
    let dot = |(x, y): (f64, f64)| Mark::dot(x, y, radius, stroke.ink);
    let dots = alone.flatten().flatten().copied().map(dot).collect::<Vec<_>>();
    let line = Mark::Line { points: points.to_vec(), stroke };
    std::iter::once(line).chain(dots).collect()
}
