//! Over time: I/Os per second, latency, I/Os outstanding.

use super::timeline::{self, Line, Plot, Time};
use super::{Figure, Panel};
use crate::chart::{Ink, Scene, count, latency_ns, seconds};
use crate::exhibit::Exhibit;
use iogauge_model::result::IntervalPoint;

pub const PANEL: Panel = Panel {
    name: "over-time",
    title: "Over time",
    about: "I/Os per second, the mean and the slowest latency of each interval, and how many I/Os were outstanding, \
            one step behind the other. A line that does not stay where it is says that a single mean does not tell \
            all of it.",
    draw,
};

/// The intervals of all steps: when each ended, and its figures.
type Intervals = Vec<(f64, IntervalPoint)>;

fn draw(exhibits: &[Exhibit], width: f64) -> Vec<Figure> {
    let most = timeline::most(exhibits.len());
    let figure = |exhibit: &Exhibit| {
        let (time, intervals) = course(exhibit, most)?;
        let title = format!("{}, run {}", exhibit.place(), exhibit.head().run_id);
        let description = description(&time, &intervals);
        Some(Figure { title, description, scene: scene(&time, &intervals, width) })
    };
    exhibits.iter().filter_map(figure).collect()
}

fn course(exhibit: &Exhibit, most: usize) -> Option<(Time, Intervals)> {
    let (mut time, mut intervals) = (Time::default(), Intervals::new());
    for step in exhibit.steps() {
        let Some(last) = step.series.last() else { continue };
        let begin = time.follow(last.at_seconds);
        intervals.extend(step.series.iter().map(|point| (begin + point.at_seconds, *point)));
    }
    let intervals = timeline::joined(&intervals, most);
    (intervals.len() > 1).then_some((time, intervals))
}

fn scene(time: &Time, intervals: &Intervals, width: f64) -> Scene {
    let line = |name, ink, of: fn(&IntervalPoint) -> f64| {
        let values = intervals.iter().map(|(at, point)| (*at, Some(of(point)))).collect();
        Line { name, ink, values }
    };
    let plot = |title, label, log, lines| Plot { title, label, log, at_least: 0.0, lines };
    let plots = [
        plot(
            "I/Os per second",
            &count,
            false,
            vec![line("I/Os per second", Ink::Series(0), IntervalPoint::iops)],
        ),
        plot(
            "latency, logarithmic",
            &latency_ns,
            true,
            vec![
                line("slowest", Ink::Limit, |point| point.latency_max_ns as f64),
                line("mean latency", Ink::Series(2), IntervalPoint::latency_mean_ns),
            ],
        ),
        plot(
            "I/Os outstanding",
            &count,
            false,
            vec![line("I/Os outstanding", Ink::Series(4), |point| point.depth)],
        ),
    ];
    let told = intervals.iter().map(|(at, point)| {
        let lines = vec![
            seconds(*at),
            format!("{} IOPS", count(point.iops())),
            format!("mean {}", latency_ns(point.latency_mean_ns())),
            format!("slowest {}", latency_ns(point.latency_max_ns as f64)),
            format!("{} outstanding", count(point.depth)),
        ];
        (*at, lines)
    });
    timeline::draw(time, &plots, told.collect(), width)
}

fn description(time: &Time, intervals: &Intervals) -> String {
    let rates = || intervals.iter().map(|(_, point)| point.iops());
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let slowest = intervals.iter().map(|(_, point)| point.latency_max_ns).max().unwrap_or(0);
    format!(
        "Over {} between {} and {} I/Os per second; the slowest took {}.",
        seconds(time.seconds),
        count(least),
        count(most),
        latency_ns(slowest as f64)
    )
}
