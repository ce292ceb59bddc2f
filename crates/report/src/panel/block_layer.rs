//! Latencies in the block layer: those of the device compared with those of the workload, and how much of
//! an I/O's time is the device's.

use super::distribution::{curves, ends};
use super::{Drawn, Figure, Panel};
use crate::chart::{Anchor, Frame, Ink, Mark, Scene, Text, count, latency_ns, percent};
use crate::exhibit::{Exhibit, Latencies, Traced};
use iogauge_model::result::IoTime;
use std::borrow::Cow;

pub const PANEL: Panel = Panel {
    name: "block-layer",
    title: "Device and path",
    about: "Latencies of the workload's I/Os beside those of the requests that the device completed. The gap \
            between the two lines is the path: system call, file system, waits for room in the queue, and the \
            wake-up at the end. The bars below show the device's share of the mean latency.",
    figures: draw,
};

/// Height of a bar, and of a bar with its text above it.
const BAR: f64 = 14.0;
const ROW: f64 = 38.0;

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let Drawn { exhibits, width, .. } = *drawn;
    let of_exhibit = |exhibit: &Exhibit| {
        let place = exhibit.place();
        let figures = exhibit.traced().into_iter();
        figures.filter_map(|traced| figure(&traced, &place, width)).collect::<Vec<_>>()
    };
    exhibits.iter().flat_map(of_exhibit).collect()
}

fn figure(traced: &Traced<'_>, place: &str, width: f64) -> Option<Figure> {
    let series = series(traced);
    if series.is_empty() {
        return None;
    }
    let mut scene = curves(&series, ends(&series), width);
    let shares = shares(traced, &series);
    for (word, ink, io) in &shares {
        bar(&mut scene, word, *ink, io);
    }
    let title = format!("{}, {place}", traced.name);
    let words = series.iter().map(|series| {
        let h = &series.histogram;
        let at = |percent| latency_ns(h.percentile_ns(percent) as f64);
        let (n, mean) = (count(h.count() as f64), latency_ns(h.mean_ns()));
        format!("{}: {n} of mean {mean}, 99 % at most {}.", series.name, at(99.0))
    });
    let told = shares.iter().map(|(word, _, io)| format!("{}.", share_words(word, io)));
    let description = words.chain(told).collect::<Vec<_>>().join(" ");
    Some(Figure { title, description, scene })
}

/// Returns the latencies of whole I/Os and of requests, for each direction.
fn series<'a>(traced: &Traced<'a>) -> Vec<Latencies<'a>> {
    let mut series = Vec::new();
    for direction in &traced.directions {
        if let Some(histogram) = direction.ios {
            let name = format!("{}, whole I/O", direction.word);
            series.push(Latencies { name, counted: "I/Os", histogram: Cow::Borrowed(histogram) });
        }
        if let Some(requests) = direction.requests {
            let histogram = Cow::Borrowed(&requests.device_histogram);
            let name = device_name(direction.word);
            series.push(Latencies { name, counted: "requests", histogram });
        }
    }
    series
}

fn device_name(word: &str) -> String {
    format!("{word}, device")
}

/// Returns the device's share of the time in each direction for which it is known, in the ink of its line.
fn shares<'a>(traced: &Traced<'a>, series: &[Latencies<'_>]) -> Vec<(&'static str, Ink, IoTime)> {
    let with_ink = |direction: &crate::exhibit::TracedDirection<'a>| {
        let io = direction.requests?.io?;
        let name = device_name(direction.word);
        let number = series.iter().position(|series| series.name == name)?;
        Some((direction.word, Ink::Series(u8::try_from(number).ok()?), io))
    };
    traced.directions.iter().filter_map(with_ink).collect()
}

fn share_words(word: &str, io: &IoTime) -> String {
    format!(
        "{word}, mean {}: device {} ({}), path {}",
        latency_ns(io.mean_ns),
        latency_ns(io.device_ns),
        percent(100.0 * io.device_share()),
        latency_ns(io.path_ns())
    )
}

/// Adds a bar at the bottom.
fn bar(scene: &mut Scene, word: &str, ink: Ink, io: &IoTime) {
    let top = scene.height;
    let left = 0.0;
    let width = scene.width - left - Frame::RIGHT;
    let words = share_words(word, io);
    scene.text(Text::new(left, top + 12.0, Anchor::Start, Ink::Text, words.clone()));
    let y = top + 18.0;
    scene.rect([left, y, width, BAR], Ink::Grid, 1.0);
    scene.add(Mark::Rect {
        x: left,
        y,
        width: width * io.device_share(),
        height: BAR,
        fill: ink,
        opacity: 1.0,
        tip: Some(words),
    });
    scene.height += ROW;
}
