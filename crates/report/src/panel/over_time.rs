//! Over time: IOPS, a heat map of latency, the queue depth, performance shifts.

use super::heat::Column;
use super::timeline::{self, Course, Line, Plot, Time};
use super::{Drawn, Figure, Panel};
use crate::chart::{Ink, count, latency_ns, seconds};
use crate::exhibit::Exhibit;
use crate::terminal::Terms;
use iogauge_model::result::{IntervalPoint, LatencyBands, PerformanceShift};

pub const PANEL: Panel = Panel {
    name: "over-time",
    title: "Over time",
    about: "I/Os per second, latency, and I/Os outstanding, one step or search after the other. In the heat map \
            of latency each column is an interval: the darker (on a dark page the brighter) a cell, the more of \
            the interval's I/Os took that long. The lines are the mean and the slowest I/O. Two stripes are two \
            kinds of I/O, for example from a cache and from the medium, which one mean hides. A vertical dashed \
            line marks a performance shift beyond chance: exhausted credits, a full cache, a throttle.",
    figures: draw,
};

/// The intervals of all steps and searches: the end of each, and its figures.
type Intervals = Vec<(f64, IntervalPoint)>;

/// What is drawn of a run.
struct Drawing {
    time: Time,
    intervals: Intervals,
    shifts: Vec<Marked>,
    terms: Terms,
}

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    timeline::figures::<Drawing>(drawn)
}

impl Course for Drawing {
    fn of(exhibit: &Exhibit, most: usize) -> Option<Self> {
        course(exhibit, most)
    }

    fn plots<R>(&self, then: impl FnOnce(&Time, &[Plot<'_>], Vec<(f64, Vec<String>)>) -> R) -> R {
        plots(self, then)
    }

    fn description(&self) -> String {
        description(self)
    }
}

fn course(exhibit: &Exhibit, most: usize) -> Option<Drawing> {
    let courses = exhibit.courses();
    let all: usize = courses.iter().map(|course| course.series.len()).sum();
    let mut time = Time::default();
    let (mut intervals, mut shifts) = (Intervals::new(), Vec::new());
    for course in courses {
        let Some(last) = course.series.last() else { continue };
        let begin = time.follow(&course, last.at_seconds);
        let own = course.series.iter().map(|point| (begin + point.at_seconds, point.clone()));
        let share = (most * course.series.len()).div_ceil(all);
        intervals.extend(timeline::joined(&own.collect::<Vec<_>>(), share));
        let is_search = course.series.iter().any(is_of_search);
        shifts.extend(course.shifts.iter().map(|shift| Marked {
            at: begin + shift.at_seconds,
            shift: *shift,
            is_search,
        }));
    }
    time.marked = shifts.iter().map(|marked| (marked.at, marked.words())).collect();
    let terms = exhibit.terms();
    (intervals.len() > 1).then_some(Drawing { time, intervals, shifts, terms })
}

/// Returns true if the interval is from a search that requested a queue depth or a rate.
fn is_of_search(point: &IntervalPoint) -> bool {
    point.queue_depth_asked.is_some() || point.rate_asked_iops.is_some()
}

/// A performance shift and its time on the axis.
struct Marked {
    at: f64,
    shift: PerformanceShift,
    /// True if the time is when a search detected the shift, rather than when it happened.
    is_search: bool,
}

impl Marked {
    /// Returns `at 4 s: 30k → 3000`, or `seen at 4 s: 30k → 3000` for a search.
    fn words(&self) -> String {
        let [before, after] = self.levels();
        let when = if self.is_search { "seen at" } else { "at" };
        format!("{when} {}: {before} → {after}", seconds(self.at))
    }

    fn sentence(&self, rates: &str) -> String {
        let [before, after] = self.levels();
        let at = seconds(self.at);
        if self.is_search {
            format!("At {at} the search noticed a shift from {before} to {after} {rates}.")
        } else {
            format!("At {at} the rate shifted from {before} to {after} {rates}.")
        }
    }

    fn levels(&self) -> [String; 2] {
        [self.shift.before_iops, self.shift.after_iops].map(count)
    }
}

/// One direction: its latency bands, and its mean, which is `None` in an interval without I/Os of this
/// direction.
struct Side {
    bands: fn(&IntervalPoint) -> &LatencyBands,
    mean_ns: fn(&IntervalPoint) -> Option<f64>,
}

/// Reads, writes and flushes, as [`Terms::sides`] names them.
const SIDES: [Side; 3] = [
    Side { bands: |p| &p.read_bands, mean_ns: |p| mean(p.read_latency_sum_ns, p.reads) },
    Side { bands: |p| &p.write_bands, mean_ns: |p| mean(p.write_latency_sum_ns, p.writes) },
    Side { bands: |p| &p.sync_bands, mean_ns: |p| mean(p.sync_latency_sum_ns, p.syncs) },
];

fn mean(sum_ns: u64, ios: u64) -> Option<f64> {
    (ios > 0).then(|| sum_ns as f64 / ios as f64)
}

/// A side's figures over time, if its latencies were kept.
struct Kept {
    title: String,
    heat: Vec<Column>,
    mean: Vec<(f64, Option<f64>)>,
    slowest: Vec<(f64, Option<f64>)>,
}

impl Kept {
    fn of(course: &Drawing, side: &Side, noun: &str) -> Option<Self> {
        let held = |point: &IntervalPoint| !(side.bands)(point).is_empty();
        let points = || course.intervals.iter().map(|(at, point)| (*at, point));
        // Lines over a map have their points in the middle of its columns.
        let middle = |at: f64, point: &IntervalPoint| at - point.seconds / 2.0;
        let column =
            |(at, p): (f64, &IntervalPoint)| Column::of((side.bands)(p), at - p.seconds, at);
        let slowest = |p: &IntervalPoint| held(p).then(|| (side.bands)(p).max_ns() as f64);
        points().any(|(_, point)| held(point)).then(|| Self {
            title: format!("latency of {noun}, logarithmic"),
            heat: points().filter(|(_, point)| held(point)).map(column).collect(),
            mean: points().map(|(at, p)| (middle(at, p), (side.mean_ns)(p))).collect(),
            slowest: points().map(|(at, p)| (middle(at, p), slowest(p))).collect(),
        })
    }

    fn plot(&mut self) -> Plot<'_> {
        let line = |name, ink, values: &mut Vec<_>| Line::solid(name, ink, std::mem::take(values));
        let lines = vec![
            line("slowest", Ink::Limit, &mut self.slowest),
            line("mean latency", Ink::Series(2), &mut self.mean),
        ];
        let heat = std::mem::take(&mut self.heat);
        Plot { title: &self.title, label: &latency_ns, log: true, at_least: 0.0, heat, lines }
    }
}

fn plots<R>(
    course: &Drawing,
    then: impl FnOnce(&Time, &[Plot<'_>], Vec<(f64, Vec<String>)>) -> R,
) -> R {
    let Drawing { time, intervals, terms, .. } = course;
    let line = |name: &'static str, ink, of: fn(&IntervalPoint) -> Option<f64>| {
        let values: Vec<_> = intervals.iter().map(|(at, point)| (*at, of(point))).collect();
        values.iter().any(|(_, value)| value.is_some()).then(|| Line::solid(name, ink, values))
    };
    // Requested values usually coincide with the achieved ones: they are dashed lines on top.
    let asked = |name, of| line(name, Ink::Text, of).map(|line| Line { dashed: true, ..line });
    let rate = [
        line(terms.rates, Ink::Series(0), |point| Some(point.iops())),
        asked("rate asked", |point| point.rate_asked_iops),
    ];
    let mut plots = vec![Plot::linear(terms.rates, &count, 0.0, there(rate))];
    let nouns = terms.sides();
    let kept = SIDES.iter().zip(nouns).filter_map(|(side, noun)| Kept::of(course, side, noun));
    let mut kept: Vec<Kept> = kept.collect();
    plots.extend(kept.iter_mut().map(Kept::plot));
    if plots.len() == 1 {
        let lines = [
            line("slowest", Ink::Limit, |point| Some(point.latency_max_ns as f64)),
            line("mean latency", Ink::Series(2), |point| Some(point.latency_mean_ns())),
        ];
        let plot = Plot::linear("latency, logarithmic", &latency_ns, 0.0, there(lines));
        plots.push(Plot { log: true, ..plot });
    }
    let queue_depth = [
        line(terms.outstanding(), Ink::Series(4), |point| Some(point.queue_depth)),
        asked(terms.asked_for(), |point| point.queue_depth_asked),
    ];
    // A search doubles the queue depth that it requests.
    let doubles = intervals.iter().any(|(_, point)| point.queue_depth_asked.is_some());
    let plot = Plot::linear(terms.outstanding(), &count, 0.0, there(queue_depth));
    plots.push(Plot { log: doubles, ..plot });
    then(time, &plots, intervals.iter().map(|told| said(told, terms)).collect())
}

/// Returns the lines that exist.
fn there<'a>(lines: [Option<Line<'a>>; 2]) -> Vec<Line<'a>> {
    lines.into_iter().flatten().collect()
}

/// Returns the hover texts of an interval.
fn said((at, point): &(f64, IntervalPoint), terms: &Terms) -> (f64, Vec<String>) {
    let mut lines = vec![
        seconds(*at),
        format!("{} {}", count(point.iops()), terms.rate),
        format!("mean {}", latency_ns(point.latency_mean_ns())),
        format!("slowest {}", latency_ns(point.latency_max_ns as f64)),
        format!("{} {}", count(point.queue_depth), terms.outstanding()),
    ];
    lines.extend(
        point
            .queue_depth_asked
            .map(|queue_depth| format!("{} {}", count(queue_depth), terms.asked_for())),
    );
    lines.extend(point.rate_asked_iops.map(|rate| format!("{} a second asked", count(rate))));
    (*at, lines)
}

fn description(course: &Drawing) -> String {
    let Drawing { time, intervals, shifts, terms } = course;
    let rates = || intervals.iter().map(|(_, point)| point.iops());
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let slowest = intervals.iter().map(|(_, point)| point.latency_max_ns).max().unwrap_or(0);
    let mut text = format!(
        "Over {} between {} and {} {}; the slowest took {}.",
        seconds(time.seconds),
        count(least),
        count(most),
        terms.rates,
        latency_ns(slowest as f64)
    );
    let asked = || intervals.iter().filter_map(|(_, point)| point.queue_depth_asked);
    if let Some(deepest) = asked().reduce(f64::max) {
        text.push_str(&format!(
            " The search asked for up to {}.",
            terms.words.amount(deepest.ceil() as u32)
        ));
    }
    for marked in shifts {
        text.push_str(&format!(" {}", marked.sentence(terms.rates)));
    }
    text
}
