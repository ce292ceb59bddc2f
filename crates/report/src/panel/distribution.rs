//! The distribution of latencies: the cumulative share, and the tail with an axis that counts nines.

mod named;

use super::{Drawn, Figure, Panel};
use crate::chart::{
    Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, count, latency_ns, legend,
};
use crate::exhibit::{Exhibit, Latencies};
use iogauge_model::Histogram;
use named::{Named, named};

pub const PANEL: Panel = Panel {
    name: "distribution",
    title: "Distribution of latencies",
    about: "On the left: the share of I/Os (for a database: operations) that took at most this long. On the \
            right: the tail. Each mark of the lower axis leaves a tenth of the I/Os of the mark before. A line \
            that rises there has slow I/Os that the mean hides.",
    figures: draw,
};

/// Maximum number of series in one picture. More cannot be distinguished.
const MOST: usize = Ink::SERIES as usize;
/// Number of points of a line.
const PLACES: usize = 160;

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let Named { series, latest, left_out } = named(drawn.exhibits);
    let beside: Vec<Latencies<'_>> = drawn.all().flat_map(Exhibit::latencies).collect();
    let ends = ends(&beside);
    let mut figures: Vec<Figure> =
        series.chunks(MOST).map(|series| figure(series, ends, drawn.width)).collect();
    let Some(latest) = latest else { return figures };
    let runs = if latest == 1 { "latest run".to_owned() } else { format!("{latest} latest runs") };
    for figure in &mut figures {
        figure.title = format!("{}, of the {runs} of each", figure.title);
        figure.description = format!(
            "The picture shows the {runs} of each workload and leaves out {left_out} curves of earlier ones. {}",
            figure.description
        );
    }
    figures
}

fn figure(series: &[Latencies<'_>], ends: Ends, width: f64) -> Figure {
    let names: Vec<String> = series.iter().map(|latencies| latencies.name.clone()).collect();
    let title = match names.len() {
        0..=2 => super::listed(&names),
        several => format!("{several} loads"),
    };
    let words = series.iter().map(|latencies| {
        let h = &latencies.histogram;
        let at = |percent| latency_ns(h.percentile_ns(percent) as f64);
        format!(
            "{}: {} {}, median {}, 99 % at most {}, 99.9 % at most {}, slowest {}.",
            latencies.name,
            count(h.count() as f64),
            latencies.counted,
            at(50.0),
            at(99.0),
            at(99.9),
            latency_ns(h.max_ns() as f64)
        )
    });
    let description = words.collect::<Vec<_>>().join(" ");
    Figure { title, description, scene: curves(series, ends, width) }
}

/// The ends of the axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    latency_ns: [f64; 2],
    /// Nines of the tail.
    nines: f64,
}

/// Returns ends of the axes that include these latencies.
pub(super) fn ends(all: &[Latencies<'_>]) -> Ends {
    let least = all.iter().map(|s| s.histogram.min_ns().max(1)).min().unwrap_or(1) as f64;
    let most = all.iter().map(|s| s.histogram.max_ns()).max().unwrap_or(1) as f64;
    let longest = all.iter().map(|s| s.histogram.count()).max().unwrap_or(1) as f64;
    Ends { latency_ns: [least, most], nines: longest.max(10.0).log10() }
}

/// Draws the cumulative share by latency, the tail by nines, and the names of at most [`MOST`] series.
pub(super) fn curves(series: &[Latencies<'_>], ends: Ends, width: f64) -> Scene {
    let narrow = width < 600.0;
    let plot_width = if narrow { width } else { width / 2.0 };
    let plot_height = 200.0;
    let below = Frame::ABOVE + plot_height + Frame::BELOW;
    let bottom = below * if narrow { 2.0 } else { 1.0 };
    let mut scene = Scene::new(width, bottom);
    let frame = |number: usize| Frame {
        x: Frame::LEFT + if narrow { 0.0 } else { plot_width * number as f64 },
        y: Frame::ABOVE + if narrow { below * number as f64 } else { 0.0 },
        width: plot_width - Frame::LEFT - Frame::RIGHT,
        height: plot_height,
    };
    shares(&mut scene, series, frame(0), ends.latency_ns);
    tail(&mut scene, series, frame(1), ends);
    let inks = (0..).map(Ink::Series);
    let entries: Vec<(Ink, &str)> = inks.zip(series.iter().map(|s| s.name.as_str())).collect();
    let place = [Frame::LEFT, bottom, width - Frame::LEFT - Frame::RIGHT];
    scene.height += legend(&mut scene, place, &entries) + 4.0;
    scene
}

/// Draws the share of I/Os that took at most a given time.
fn shares(scene: &mut Scene, series: &[Latencies<'_>], frame: Frame, [least, most]: [f64; 2]) {
    let x = Scale::log(least, most, frame.xs());
    let y = Scale::linear([0.0, 100.0], frame.ys());
    let label = |share: f64| format!("{share:.0} %");
    let axis = Axis { scale: y, title: "share", label: &label, ticks: 5 };
    frame.vertical(scene, &axis);
    let axis = Axis { scale: x, title: "latency", label: &latency_ns, ticks: 6 };
    frame.horizontal(scene, &axis);
    let place = |number: usize| least * (most / least).max(1.0).powf(number as f64 / PLACES as f64);
    for (number, latencies) in (0..).zip(series) {
        let points = (0..=PLACES).map(|step| {
            let value = place(step);
            (x.at(value), y.at(share(latencies, value)))
        });
        line(scene, number, latencies, points.collect());
    }
    let points = (0..=PLACES).step_by(8).map(|step| {
        let value = place(step);
        let told = |latencies: &Latencies<'_>| {
            format!("{}: {:.2} %", latencies.name, share(latencies, value))
        };
        let heading = format!("at most {}", latency_ns(value));
        let lines = std::iter::once(heading).chain(series.iter().map(told)).collect();
        HoverPoint { x: x.at(value), lines }
    });
    hover(scene, frame, points.collect());
}

/// Returns the percentage of I/Os that took at most `ns`.
fn share(latencies: &Latencies<'_>, ns: f64) -> f64 {
    let below = latencies.histogram.count_at_or_below(ns as u64);
    below as f64 / latencies.histogram.count() as f64 * 100.0
}

/// Draws percentiles by nines: each unit of the axis leaves a tenth of the I/Os.
fn tail(scene: &mut Scene, series: &[Latencies<'_>], frame: Frame, ends: Ends) {
    let Ends { latency_ns: [least, most], nines } = ends;
    let x = Scale::linear([0.0, nines], frame.xs());
    let y = Scale::log(least, most, frame.ys());
    let axis = Axis { scale: y, title: "latency", label: &latency_ns, ticks: 6 };
    frame.vertical(scene, &axis);
    let label = |unit: f64| percent_of(unit);
    let axis = Axis { scale: x, title: "percentile", label: &label, ticks: nines as usize + 1 };
    frame.horizontal(scene, &axis);
    for (number, latencies) in (0..).zip(series) {
        // A line ends at the slowest I/O; a share of less than one I/O does not exist.
        let own = nines_of(&latencies.histogram);
        let steps = (0..=PLACES).map(|step| nines * step as f64 / PLACES as f64);
        let points = steps.take_while(|unit| *unit < own).chain([own]).map(|unit| {
            let value = percentile(&latencies.histogram, unit);
            (x.at(unit), y.at(value))
        });
        line(scene, number, latencies, points.collect());
    }
    let points = (0..=PLACES).step_by(8).map(|step| {
        let unit = nines * step as f64 / PLACES as f64;
        let told = |latencies: &Latencies<'_>| {
            format!("{}: {}", latencies.name, latency_ns(percentile(&latencies.histogram, unit)))
        };
        let lines = std::iter::once(percent_of(unit)).chain(series.iter().map(told)).collect();
        HoverPoint { x: x.at(unit), lines }
    });
    hover(scene, frame, points.collect());
}

/// Returns the nines of the slowest I/O, where the remaining share is one I/O.
fn nines_of(histogram: &Histogram) -> f64 {
    (histogram.count().max(1) as f64).log10()
}

/// Returns the percentile with these nines, or the maximum if less than one I/O is slower.
fn percentile(histogram: &Histogram, nines: f64) -> f64 {
    if nines >= nines_of(histogram) {
        return histogram.max_ns() as f64;
    }
    histogram.percentile_ns((1.0 - 10f64.powf(-nines)) * 100.0) as f64
}

/// Formats nines as `90 %`, `99 %`, `99.9 %`.
fn percent_of(nines: f64) -> String {
    let digits = (nines.ceil() as usize).saturating_sub(2);
    format!("{:.digits$} %", (1.0 - 10f64.powf(-nines)) * 100.0)
}

fn line(scene: &mut Scene, number: u8, latencies: &Latencies<'_>, points: Vec<(f64, f64)>) {
    let stroke = Stroke::solid(Ink::Series(number), 1.6);
    let marks = vec![Mark::Line { points: points.into_iter().map(Some).collect(), stroke }];
    scene.add(Mark::Series { name: latencies.name.clone(), marks });
}

fn hover(scene: &mut Scene, frame: Frame, points: Vec<HoverPoint>) {
    let Frame { x, y, width, height } = frame;
    scene.add(Mark::Hover(Hover { x, y, width, height, points }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_tail_ends_at_the_maximum_latency() {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000, 99);
        histogram.record_n(50_000, 1);
        assert!(percentile(&histogram, 1.99) < 1_100.0);
        assert_eq!(percentile(&histogram, nines_of(&histogram)), 50_000.0);
        assert_eq!(percentile(&histogram, 3.0), 50_000.0);
    }
}
