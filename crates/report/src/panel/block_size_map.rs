//! The block-size map: the throughput and latency of each block size.

use super::map::{self, Ends, Map, Side, placed};
use super::{Drawn, Figure, Panel};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, Text, bytes_per_sec,
    count, latency_ns, legend,
};
use crate::exhibit::{Exhibit, Total};
use crate::rows::size_word;
use std::collections::{BTreeMap, BTreeSet};

pub const PANEL: Panel = Panel {
    name: "block-size-map",
    title: "Block sizes",
    about: "I/Os per second, bandwidth and latency of each block size. While a target is bound by I/Os, larger \
            blocks keep the rate and move more bytes. Once its bandwidth is used up, larger blocks only wait \
            longer. Green marks the workload that moves the most bytes within the limit: the limit of the \
            search, otherwise a mean of 10 ms. Where workloads have different limits, each is judged by its own \
            and none is green.",
    figures: draw,
};

/// A bandwidth of at least this share of the largest counts as equal. The suite `blocksize` uses the same
/// share.
const AS_GOOD: f64 = 0.9;
/// A picture with at least this many queue depths is a map instead of lines.
const MAP_DEPTHS: usize = 3;
/// Minimum share of cells with values in a map.
const MAP_FILLED: f64 = 0.6;

/// If there are more mixes than this, only pure reads and pure writes have pictures.
const MOST_MIXES: usize = 3;

/// What distinguishes pictures: place with the settings that differ, order of the offsets, share of reads.
type Key = (String, &'static str, u32);

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let mut kinds: BTreeMap<Key, BTreeMap<(u64, u64), Total>> = BTreeMap::new();
    for (place, totals) in placed(drawn.exhibits) {
        for total in totals {
            let access = &total.access;
            let key = (place.clone(), access.order, access.read_percent);
            let cell = (u64::from(access.queue_depth), access.block_bytes);
            kinds.entry(key).or_default().insert(cell, total);
        }
    }
    let mixes = |(place, order, _): &Key| {
        kinds.keys().filter(|(other, o, _)| other == place && o == order).count()
    };
    // The map of mixes shows everything between pure reads and pure writes at once.
    let own = |key: &Key| matches!(key.2, 0 | 100) || mixes(key) <= MOST_MIXES;
    let all: Vec<Total> = drawn.all().flat_map(Exhibit::totals).collect();
    let ends = |(_, order, read_percent): &Key| {
        map::ends(all.iter().filter(|total| {
            total.access.order == *order && total.access.read_percent == *read_percent
        }))
    };
    kinds
        .iter()
        .filter(|(key, _)| own(key))
        .filter_map(|(key, cells)| figure(key, cells, ends(key), drawn.width))
        .collect()
}

fn figure(
    (place, order, read_percent): &Key,
    cells: &BTreeMap<(u64, u64), Total>,
    ends: Ends,
    width: f64,
) -> Option<Figure> {
    let map = Map {
        columns: Side::queue_depths(cells.keys().map(|(queue_depth, _)| *queue_depth).collect()),
        rows: Side::sizes(cells.keys().map(|(_, bytes)| *bytes).collect()),
        cells: cells.iter().map(|(cell, total)| (*cell, total)).collect(),
        ends,
    };
    let title = format!("{}, {place}", kind(order, *read_percent));
    if map.rows.values.len() < 2 {
        return None;
    }
    let mapped = map.columns.values.len() >= MAP_DEPTHS && map.filled() >= MAP_FILLED;
    let lines = if mapped { Vec::new() } else { lines(cells) };
    if !mapped && lines.is_empty() {
        return None;
    }
    let description = description(&map);
    let scene = if mapped { map.draw(width) } else { scene(&map, &lines, width) };
    Some(Figure { title, description, scene })
}

/// Returns `random reads` or `sequential, 65 % reads`.
fn kind(order: &str, read_percent: u32) -> String {
    match read_percent {
        100 => format!("{order} reads"),
        0 => format!("{order} writes"),
        mixed => format!("{order}, {mixed} % reads"),
    }
}

/// The block sizes measured at one queue depth, rising.
#[derive(Debug)]
struct Line<'a> {
    queue_depth: u32,
    points: Vec<&'a Total>,
}

/// Returns the queue depths at which several sizes were measured, rising, at most as many as there are
/// distinguishable inks.
fn lines(cells: &BTreeMap<(u64, u64), Total>) -> Vec<Line<'_>> {
    let queue_depths: BTreeSet<u32> =
        cells.values().map(|total| total.access.queue_depth).collect();
    let line = |queue_depth: u32| Line {
        queue_depth,
        points: cells.values().filter(|total| total.access.queue_depth == queue_depth).collect(),
    };
    let several = queue_depths.into_iter().map(line).filter(|line| line.points.len() > 1);
    several.take(usize::from(Ink::SERIES)).collect()
}

/// Returns the smallest size of a line from which on all bandwidths are about as large as the largest.
fn saturated_from(line: &Line<'_>) -> Option<u64> {
    let most = line.points.iter().map(|total| total.bytes_per_sec).fold(0.0, f64::max);
    let full = line.points.iter().rev().take_while(|t| t.bytes_per_sec >= AS_GOOD * most);
    full.last().map(|total| total.access.block_bytes)
}

struct Plot {
    title: &'static str,
    label: fn(f64) -> String,
    of: fn(&Total) -> f64,
    log: bool,
}

/// The plots, in the order of a map's figures.
const PLOTS: [Plot; 3] = [
    Plot { title: "I/Os per second", label: count, of: |total| total.iops, log: false },
    Plot { title: "bandwidth", label: bytes_per_sec, of: |total| total.bytes_per_sec, log: false },
    Plot {
        title: "mean latency, logarithmic",
        label: latency_ns,
        of: |total| total.mean_ns,
        log: true,
    },
];

fn scene(map: &Map<'_>, lines: &[Line<'_>], width: f64) -> Scene {
    let narrow = width < 600.0;
    let height = if narrow { 96.0 } else { 130.0 };
    let step = height + Frame::ABOVE + 12.0;
    let frame = |number: usize| Frame {
        x: Frame::LEFT,
        y: Frame::ABOVE + step * number as f64,
        width: width - Frame::LEFT - Frame::RIGHT,
        height,
    };
    let bottom = step * PLOTS.len() as f64 - 12.0;
    let mut scene = Scene::new(width, bottom + Frame::BELOW);
    let sizes = &map.rows.values;
    let x = Scale::Bands { count: sizes.len(), range: frame(0).xs() };
    let at = |total: &Total| {
        let number = sizes.iter().position(|(bytes, _)| *bytes == total.access.block_bytes);
        x.at(number.unwrap_or_default() as f64)
    };
    saturation(&mut scene, lines, &at, [frame(0).y, bottom]);
    for (number, (plot, ends)) in PLOTS.iter().zip(map.ends).enumerate() {
        one(&mut scene, plot, lines, map.best(), ends, frame(number), &at);
    }
    let label =
        |number: f64| sizes.get(number as usize).map_or_else(String::new, |(_, word)| word.clone());
    let axis = Axis { scale: x, title: "block size", label: &label, ticks: sizes.len() };
    frame(PLOTS.len() - 1).horizontal(&mut scene, &axis);
    scene.add(Mark::Hover(hover(map, lines, x, [frame(0).y, bottom])));
    let names: Vec<String> = lines.iter().map(name).collect();
    let mut entries: Vec<(Ink, &str)> =
        (0..).map(Ink::Series).zip(names.iter().map(String::as_str)).collect();
    let best = map.best().and(map.limits()).map(|limits| format!("most bytes within {limits}"));
    entries.extend(best.as_deref().map(|best| (Ink::Good, best)));
    let place = [Frame::LEFT, scene.height + 4.0, frame(0).width];
    scene.height = place[1] + legend(&mut scene, place, &entries) + 4.0;
    scene
}

fn name(line: &Line<'_>) -> String {
    format!("{} outstanding", line.queue_depth)
}

/// Marks the size from which on larger blocks do not increase the bandwidth, at the largest queue depth.
fn saturation(
    scene: &mut Scene,
    lines: &[Line<'_>],
    at: &dyn Fn(&Total) -> f64,
    [top, bottom]: [f64; 2],
) {
    let Some(line) = lines.last() else { return };
    let from = saturated_from(line);
    let first = line.points.iter().find(|total| Some(total.access.block_bytes) == from);
    let Some(first) = first else { return };
    let x = at(first);
    scene.line([(x, top), (x, bottom)], Stroke::dashed(Ink::Muted, 1.0));
}

fn one(
    scene: &mut Scene,
    plot: &Plot,
    lines: &[Line<'_>],
    best: Option<&Total>,
    [least, most]: [f64; 2],
    frame: Frame,
    at: &dyn Fn(&Total) -> f64,
) {
    let y = if plot.log {
        Scale::log(least, most, frame.ys())
    } else {
        Scale::from_zero(most, frame.ys())
    };
    frame.vertical(scene, &Axis { scale: y, title: plot.title, label: &plot.label, ticks: 4 });
    let bottom = frame.y + frame.height;
    scene.line([(frame.x, bottom), (frame.x + frame.width, bottom)], Stroke::solid(Ink::Grid, 1.0));
    for (number, line) in (0..).zip(lines) {
        let ink = Ink::Series(number);
        let place = |total: &&Total| (at(total), y.at((plot.of)(total)));
        let points: Vec<(f64, f64)> = line.points.iter().map(place).collect();
        let mut marks = vec![Mark::Line {
            points: points.iter().copied().map(Some).collect(),
            stroke: Stroke::solid(ink, 1.8),
        }];
        let dot = |(x, y)| Mark::dot(x, y, 2.4, ink);
        marks.extend(points.into_iter().map(dot));
        scene.add(Mark::Series { name: name(line), marks });
    }
    let drawn =
        |best: &&Total| lines.iter().any(|line| line.queue_depth == best.access.queue_depth);
    if let Some(best) = best.filter(drawn) {
        let (x, y) = (at(best), y.at((plot.of)(best)));
        scene.add(Mark::dot(x, y, 4.5, Ink::Good));
        let text = (plot.label)((plot.of)(best));
        // Next to the dot, on the side with more space.
        let left = x > frame.x + frame.width / 2.0;
        let (x, anchor) = if left { (x - 8.0, Anchor::End) } else { (x + 8.0, Anchor::Start) };
        let below = y < frame.y + 12.0;
        let y = if below { y + 14.0 } else { y - 6.0 };
        scene.text(Text::new(x, y, anchor, Ink::Good, text).bold());
    }
}

fn hover(map: &Map<'_>, lines: &[Line<'_>], x: Scale, [top, bottom]: [f64; 2]) -> Hover {
    let point = |(number, (bytes, word)): (usize, &(u64, String))| {
        let mut told = vec![word.clone()];
        for line in lines {
            let Some(total) = line.points.iter().find(|t| t.access.block_bytes == *bytes) else {
                continue;
            };
            told.push(format!(
                "{}: {} IOPS, {}, mean {}",
                name(line),
                count(total.iops),
                bytes_per_sec(total.bytes_per_sec),
                latency_ns(total.mean_ns)
            ));
        }
        HoverPoint { x: x.at(number as f64), lines: told }
    };
    let [left, right] = x.range();
    let points = map.rows.values.iter().enumerate().map(point).collect();
    Hover { x: left, y: top, width: right - left, height: bottom - top, points }
}

fn description(map: &Map<'_>) -> String {
    let mut sentences = vec![match (map.limits(), map.best()) {
        (Some(limits), Some(best)) => format!(
            "Within {limits}, {} at queue depth {} moves the most bytes: {} at {} I/Os per second, mean {}.",
            size_word(best.access.block_bytes),
            best.access.queue_depth,
            bytes_per_sec(best.bytes_per_sec),
            count(best.iops),
            latency_ns(best.mean_ns)
        ),
        (Some(limits), None) => format!("No workload meets {limits}."),
        (None, _) => {
            let within = map.cells.values().filter(|total| total.within).count();
            format!(
                "Workloads have different limits: {within} of {} meet their own.",
                map.cells.len()
            )
        }
    }];
    let deepest = map.columns.values.iter().rev().map(|(queue_depth, _)| *queue_depth);
    let line = |queue_depth: u64| {
        let points = map.cells.iter().filter(|((of, _), _)| *of == queue_depth);
        Line { queue_depth: queue_depth as u32, points: points.map(|(_, total)| *total).collect() }
    };
    if let Some(line) = deepest.map(line).find(|line| line.points.len() > 1) {
        if let Some(from) = saturated_from(&line) {
            sentences.push(format!(
                "At queue depth {} sizes of {} and more reach at least 90 % of the largest bandwidth.",
                line.queue_depth,
                size_word(from)
            ));
        }
        sentences.extend(line.points.iter().map(|total| {
            format!(
                "{}: {} IOPS, {}, mean {}.",
                size_word(total.access.block_bytes),
                count(total.iops),
                bytes_per_sec(total.bytes_per_sec),
                latency_ns(total.mean_ns)
            )
        }));
    }
    sentences.join(" ")
}
