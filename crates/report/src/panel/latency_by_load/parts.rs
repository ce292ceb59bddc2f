//! The three parts of the figure.

use super::{Along, Load, bucket_word, in_bytes};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, Text, bytes_per_sec,
    count, latency_ns,
};
use crate::panel::hundredths;
use crate::rows::FINE;
use crate::terminal::Terms;

/// Bounds of the shares in the background, as numbers of [`FINE`] buckets below them: 1 ms and 10 ms.
pub(super) const SHADES: [usize; 2] = [5, 8];
/// Inks of the bands up to the 95th and to the 99th percentile.
pub(super) const BANDS: [(Ink, f64); 2] = [(Ink::Series(0), 0.5), (Ink::Series(0), 0.2)];
/// Length of the tick, left of the histogram, for a figure that no band or line shows.
const TICK: f64 = 24.0;
/// Share of a load's column that its histogram takes.
const HISTOGRAM: f64 = 0.46;
/// Ink of a throughput bar whose latencies are unknown.
pub(super) const UNSLICED: (Ink, f64) = (Ink::Muted, 0.8);
/// Share of a load's column that a bar takes.
const BAR: f64 = 0.6;

/// Returns the lower and upper edge of each bucket on the latency axis, in nanoseconds.
fn edges(least: f64, most: f64) -> [[f64; 2]; FINE.len()] {
    let upper = FINE.map(|bound| bound.map_or(most.max(2e9), |bound| bound as f64));
    let mut edges = [[0.0; 2]; FINE.len()];
    let mut lower = least.min(upper[0] / 2.0);
    for (edge, upper) in edges.iter_mut().zip(upper) {
        *edge = [lower, upper];
        lower = upper;
    }
    edges
}

/// Draws the upper part: the spread of latencies.
pub(super) fn spread(scene: &mut Scene, loads: &[Load], frame: Frame) {
    let x = Scale::Bands { count: loads.len(), range: frame.xs() };
    let latencies = || loads.iter().filter_map(|load| load.sample.row.latency);
    let least = latencies().map(|l| if l.min_ns > 0.0 { l.min_ns } else { l.mean_ns });
    let least = least.fold(f64::INFINITY, f64::min);
    let most = latencies().map(|l| l.max_ns.max(l.mean_ns)).fold(0.0, f64::max);
    let y = Scale::log(least, most, frame.ys());
    shades(scene, loads, frame, x);
    let axis = Axis { scale: y, title: "latency, logarithmic", label: &latency_ns, ticks: 8 };
    frame.vertical(scene, &axis);
    let mean = |load: &Load| load.mean_ns();
    let p95 = |load: &Load| load.sample.row.percentiles_ns[0].map(|ns| ns as f64);
    let p99 = |load: &Load| load.sample.row.percentiles_ns[1].map(|ns| ns as f64);
    let place = |number: usize, value: f64| (x.at(number as f64), y.at(value));
    let band = |scene: &mut Scene,
                lower: &dyn Fn(&Load) -> Option<f64>,
                upper: &dyn Fn(&Load) -> Option<f64>,
                (ink, opacity): (Ink, f64)| {
        let pairs: Option<Vec<(f64, f64)>> =
            loads.iter().map(|load| lower(load).zip(upper(load))).collect();
        let Some(pairs) = pairs.filter(|pairs| pairs.len() > 1) else {
            // There is only one load, or one lacks the figure: draw a tick for each load that has it.
            for (number, upper) in
                loads.iter().enumerate().filter_map(|(n, l)| Some((n, upper(l)?)))
            {
                let (x, y) = place(number, upper);
                scene.line([(x - TICK, y), (x, y)], Stroke::solid(ink, 1.0 + 4.0 * opacity));
            }
            return;
        };
        let above = pairs.iter().enumerate().map(|(number, (_, upper))| place(number, *upper));
        let below =
            pairs.iter().enumerate().rev().map(|(number, (lower, _))| place(number, *lower));
        let points = above.chain(below).collect();
        scene.add(Mark::Area { points, fill: ink, opacity });
    };
    band(scene, &|load| Some(mean(load)), &p95, BANDS[0]);
    band(scene, &p95, &p99, BANDS[1]);
    histograms(scene, loads, x, y, [least, most]);
    let slowest = loads.iter().enumerate().filter_map(|(number, load)| {
        Some(place(number, load.sample.row.latency.filter(|l| l.max_ns > 0.0)?.max_ns))
    });
    let slowest: Vec<(f64, f64)> = match slowest.collect::<Vec<_>>()[..] {
        [(x, y)] => vec![(x - TICK, y), (x, y)],
        ref several => several.to_vec(),
    };
    scene.line(slowest, Stroke::dashed(Ink::Limit, 1.3));
    let means: Vec<(f64, f64)> =
        loads.iter().enumerate().map(|(number, load)| place(number, mean(load))).collect();
    scene.line(means.clone(), Stroke::solid(Ink::Text, 2.0));
    for (x, y) in means {
        scene.add(Mark::Dot { x, y, radius: 2.6, fill: Ink::Text, tip: None });
    }
    let bottom = frame.y + frame.height;
    scene
        .line([(frame.x, bottom), (frame.x + frame.width, bottom)], Stroke::solid(Ink::Muted, 1.0));
}

/// Draws the background: from the bottom up, the shares under 1 ms, under 10 ms, and above.
fn shades(scene: &mut Scene, loads: &[Load], frame: Frame, x: Scale) {
    for (number, load) in loads.iter().enumerate() {
        let Some(shares) = &load.shares else { continue };
        let sum = |range: std::ops::Range<usize>| shares[range].iter().sum::<f64>();
        let parts = [sum(0..SHADES[0]), sum(SHADES[0]..SHADES[1]), sum(SHADES[1]..FINE.len())];
        let mut bottom = frame.y + frame.height;
        for (shade, part) in (0..).zip(parts) {
            let height = frame.height * part / 100.0;
            bottom -= height;
            let left = x.at(number as f64) - x.band() / 2.0;
            scene.rect([left, bottom, x.band(), height], Ink::Shade(shade), 1.0);
        }
    }
}

/// Draws a histogram at each load: a bar per bucket, as high as the bucket's range of latencies and as long
/// as its share.
fn histograms(scene: &mut Scene, loads: &[Load], x: Scale, y: Scale, [least, most]: [f64; 2]) {
    let edges = edges(least, most);
    let [bottom, top] = y.range();
    for (number, load) in loads.iter().enumerate() {
        let Some(shares) = &load.shares else { continue };
        let largest = shares.iter().copied().fold(0.0, f64::max).max(1e-9);
        let left = x.at(number as f64);
        for (bucket, (share, [lower, upper])) in shares.iter().zip(edges).enumerate() {
            if *share <= 0.0 {
                continue;
            }
            let upper_y = y.at(upper).max(top);
            let lower_y = y.at(lower).min(bottom);
            let width = (share / largest * x.band() * HISTOGRAM).max(1.0);
            let below = bucket_word(FINE[bucket]);
            scene.add(Mark::Rect {
                x: left,
                y: upper_y + 0.5,
                width,
                height: (lower_y - upper_y - 1.0).max(1.0),
                fill: Ink::Bucket(bucket as u8),
                opacity: 0.9,
                tip: Some(format!("{below}: {share:.2} %")),
            });
        }
    }
}

/// Draws the middle part: the mean and how it scales.
pub(super) fn mean(scene: &mut Scene, loads: &[Load], frame: Frame) {
    let x = Scale::Bands { count: loads.len(), range: frame.xs() };
    let y = Scale::from_zero(loads.iter().map(Load::mean_ns).fold(0.0, f64::max), frame.ys());
    let axis =
        Axis { scale: y, title: "mean latency, and how it scales", label: &latency_ns, ticks: 4 };
    frame.vertical(scene, &axis);
    let in_bytes = in_bytes(loads);
    let growths: Vec<f64> = loads.windows(2).map(|pair| pair[1].scaling(&pair[0])).collect();
    let most = growths.iter().map(|growth| growth.abs()).fold(1.0, f64::max);
    let bottom = frame.y + frame.height;
    for (number, (growth, pair)) in growths.iter().zip(loads.windows(2)).enumerate() {
        if !growth.is_finite() {
            continue;
        }
        let ink = pair[1].growth_ink(&pair[0], in_bytes);
        let height = (growth.abs() / most * frame.height * 0.9).max(1.0);
        let width = x.band() * BAR;
        let left = (x.at(number as f64) + x.at(number as f64 + 1.0)) / 2.0 - width / 2.0;
        scene.rect([left, bottom - height, width, height], ink, Ink::BAR);
        if x.band() > 26.0 {
            let text = hundredths(*growth);
            let text = Text::new(left + width / 2.0, bottom - 4.0, Anchor::Middle, Ink::Text, text);
            scene.text(text.size(9.5));
        }
    }
    let points: Vec<(f64, f64)> = loads
        .iter()
        .enumerate()
        .map(|(number, load)| (x.at(number as f64), y.at(load.mean_ns())))
        .collect();
    scene.line(points.clone(), Stroke::solid(Ink::Text, 2.0));
    for (x, y) in points {
        scene.add(Mark::Dot { x, y, radius: 2.6, fill: Ink::Text, tip: None });
    }
    scene
        .line([(frame.x, bottom), (frame.x + frame.width, bottom)], Stroke::solid(Ink::Muted, 1.0));
}

/// Draws the lower part: throughput, sliced by latency.
pub(super) fn throughput(scene: &mut Scene, along: Along, loads: &[Load], frame: Frame) {
    let x = Scale::Bands { count: loads.len(), range: frame.xs() };
    let in_bytes = in_bytes(loads);
    let brought = |load: &Load| load.throughput(in_bytes);
    let y = Scale::from_zero(loads.iter().map(brought).fold(0.0, f64::max), frame.ys());
    let label = |value: f64| if in_bytes { bytes_per_sec(value) } else { count(value) };
    let terms = loads.first().map_or(Terms::DEVICE, |load| load.sample.terms);
    let title = if in_bytes { "throughput" } else { terms.rates };
    frame.vertical(scene, &Axis { scale: y, title, label: &label, ticks: 4 });
    let bottom = frame.y + frame.height;
    for (number, load) in loads.iter().enumerate() {
        let width = x.band() * BAR;
        let left = x.at(number as f64) - width / 2.0;
        let height = bottom - y.at(brought(load));
        let Some(shares) = &load.shares else {
            scene.rect([left, bottom - height, width, height], UNSLICED.0, UNSLICED.1);
            continue;
        };
        // Rounded shares do not add up to exactly 100 %.
        let sum = shares.iter().sum::<f64>().max(1e-9);
        let mut from = bottom;
        for (bucket, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let slice = height * share / sum;
            from -= slice;
            scene.rect([left, from, width, slice], Ink::Bucket(bucket as u8), 0.9);
        }
    }
    let label =
        |number: f64| loads.get(number as usize).map_or_else(String::new, |load| load.word.clone());
    frame.horizontal(
        scene,
        &Axis { scale: x, title: along.title(terms), label: &label, ticks: loads.len() },
    );
}

/// Returns the hover texts of each load, for all three parts.
pub(super) fn hover(scene: &mut Scene, along: Along, loads: &[Load], frames: [Frame; 3]) {
    let x = Scale::Bands { count: loads.len(), range: frames[0].xs() };
    let point = |(number, load): (usize, &Load)| {
        let mut lines = vec![
            format!("{} {}", load.word, along.title(load.sample.terms)),
            format!("mean {}", latency_ns(load.mean_ns())),
        ];
        let percentiles = [("95 %", 0), ("99 %", 1), ("99.9 %", 3)];
        for (word, index) in percentiles {
            if let Some(ns) = load.sample.row.percentiles_ns[index] {
                lines.push(format!("{word} {}", latency_ns(ns as f64)));
            }
        }
        if let Some(latency) = load.sample.row.latency.filter(|l| l.max_ns > 0.0) {
            lines.push(format!("slowest {}", latency_ns(latency.max_ns)));
        }
        lines.push(format!("{} {}", count(load.sample.row.iops), load.sample.terms.rate));
        lines.extend(load.sample.row.bytes_per_sec.map(bytes_per_sec));
        HoverPoint { x: x.at(number as f64), lines }
    };
    let (first, last) = (frames[0], frames[2]);
    scene.add(Mark::Hover(Hover {
        x: first.x,
        y: first.y,
        width: first.width,
        height: last.y + last.height - first.y,
        points: loads.iter().enumerate().map(point).collect(),
    }));
}
