//! The three parts of the figure.

use super::series::Along;
use super::{Ends, Load, bucket_word, in_bytes};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Labels, Mark, Scale, Scene, Stroke, Text,
    bytes_per_sec, count, latency_ns,
};
use crate::panel::{edges, hundredths};
use crate::rows::FINE;
use crate::terminal::Terms;

/// Bounds of the shares in the background, as numbers of [`FINE`] buckets below them: 1 ms and 10 ms.
pub(super) const SHADES: [usize; 2] = [5, 8];
/// Inks of the bands up to the 95th and to the 99th percentile.
pub(super) const BANDS: [(Ink, f64); 2] = [(Ink::Muted, 0.45), (Ink::Muted, 0.2)];
/// Length of the tick, left of the histogram, for a figure that no band or line shows.
const TICK: f64 = 24.0;
/// Share of a load's column that its histogram takes.
const HISTOGRAM: f64 = 0.46;
/// Ink of a throughput bar whose latencies are unknown.
pub(super) const UNSLICED: (Ink, f64) = (Ink::Muted, 0.8);
/// Share of a load's column that a bar takes.
const BAR: f64 = 0.6;

/// A mean that many users call slow, in nanoseconds: the default limit of a search.
const SLOW_NS: f64 = 10e6;
/// Growth below this value rounds to 0 and has no bar.
pub(super) const LEAST_GROWTH: f64 = 0.005;
/// Size of the numbers at points and bars.
const NUMBER: f64 = 9.5;

/// Space left of the loads for the names of lines and bands.
const NAMES: f64 = 34.0;

/// Returns the horizontal scale of all parts.
fn bands(loads: &[Load], frame: Frame) -> Scale {
    let [left, right] = frame.xs();
    Scale::Bands { count: loads.len(), range: [left + NAMES, right] }
}

/// Draws the upper part: the spread of latencies.
pub(super) fn spread(scene: &mut Scene, loads: &[Load], ends: [f64; 2], frame: Frame) {
    let x = bands(loads, frame);
    let [least, most] = ends;
    let y = Scale::log(least, most, frame.ys());
    shades(scene, loads, frame, x);
    let axis = Axis { scale: y, title: "latency, logarithmic", label: &latency_ns, ticks: 8 };
    frame.vertical(scene, &axis);
    let mut labels = Labels::new(frame);
    slow(scene, &mut labels, frame, y, ends);
    let mean = |load: &Load| load.mean_ns();
    let p95 = |load: &Load| load.sample.row.percentiles_ns[0].map(|ns| ns as f64);
    let p99 = |load: &Load| load.sample.row.percentiles_ns[1].map(|ns| ns as f64);
    let place = |number: usize, value: f64| (x.at(number as f64), y.at(value));
    let band = |scene: &mut Scene,
                labels: &mut Labels,
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
                let tick = [(x - TICK, y), (x, y)];
                labels.avoid_line(&tick);
                scene.line(tick, Stroke::solid(ink, 1.0 + 4.0 * opacity));
            }
            return;
        };
        let above = pairs.iter().enumerate().map(|(number, (_, upper))| place(number, *upper));
        let below =
            pairs.iter().enumerate().rev().map(|(number, (lower, _))| place(number, *lower));
        let points = above.chain(below).collect();
        scene.add(Mark::Area { points, fill: ink, opacity });
    };
    band(scene, &mut labels, &|load| Some(mean(load)), &p95, BANDS[0]);
    band(scene, &mut labels, &p95, &p99, BANDS[1]);
    histograms(scene, &mut labels, loads, x, y, [least, most]);
    let slowest = loads.iter().enumerate().filter_map(|(number, load)| {
        Some(place(number, load.sample.row.latency.filter(|l| l.max_ns > 0.0)?.max_ns))
    });
    let slowest: Vec<(f64, f64)> = match slowest.collect::<Vec<_>>()[..] {
        [(x, y)] => vec![(x - TICK, y), (x, y)],
        ref several => several.to_vec(),
    };
    labels.avoid_line(&slowest);
    scene.line(slowest, Stroke::dashed(Ink::Limit, 1.3));
    let means: Vec<(f64, f64)> =
        loads.iter().enumerate().map(|(number, load)| place(number, mean(load))).collect();
    labels.avoid_line(&means);
    scene.line(means.clone(), Stroke::solid(Ink::Text, 2.0));
    for (x, y) in means {
        scene.add(Mark::dot(x, y, 2.6, Ink::Text));
    }
    named(scene, &mut labels, loads, x, y);
    let bottom = frame.y + frame.height;
    scene
        .line([(frame.x, bottom), (frame.x + frame.width, bottom)], Stroke::solid(Ink::Muted, 1.0));
}

/// Draws a line at 10 ms, if the axis has it.
fn slow(scene: &mut Scene, labels: &mut Labels, frame: Frame, y: Scale, [least, most]: [f64; 2]) {
    if !(least..=most).contains(&SLOW_NS) {
        return;
    }
    let place = y.at(SLOW_NS);
    let [left, right] = frame.xs();
    scene.line([(left, place), (right, place)], Stroke::dashed(Ink::Muted, 1.0));
    let words = latency_ns(SLOW_NS);
    let text = Text::new(right - 2.0, place - 3.0, Anchor::End, Ink::Muted, words);
    labels.put(scene, &[text.size(NUMBER).bold()]);
}

/// Returns a number beside a point, at the sides at which a line leaves space.
fn beside(x: f64, y: f64, ink: Ink, words: &str) -> [Text; 6] {
    let text = |x, y, anchor| Text::new(x, y, anchor, ink, words).size(NUMBER);
    [
        text(x - 1.0, y - 5.0, Anchor::End),
        text(x, y - 6.0, Anchor::Middle),
        text(x + 4.0, y - 5.0, Anchor::Start),
        text(x + 5.0, y + 12.0, Anchor::Start),
        text(x - 4.0, y + 12.0, Anchor::End),
        text(x - 1.0, y - 14.0, Anchor::End),
    ]
}

/// Writes the slowest latency at each load, and left of the first load what the lines and bands are.
fn named(scene: &mut Scene, labels: &mut Labels, loads: &[Load], x: Scale, y: Scale) {
    let text = |x, y, anchor, ink, words: String| Text::new(x, y, anchor, ink, words).size(NUMBER);
    for (number, load) in loads.iter().enumerate() {
        let Some(slowest) = load.sample.row.latency.filter(|l| l.max_ns > 0.0) else { continue };
        let (x, y) = (x.at(number as f64), y.at(slowest.max_ns));
        labels.put_if_free(scene, &beside(x, y, Ink::Limit, &latency_ns(slowest.max_ns)));
    }
    let Some(first) = loads.first() else { return };
    let percentile = |index: usize| first.sample.row.percentiles_ns[index].map(|ns| ns as f64);
    let names = [
        ("mean", Some(first.mean_ns()), Ink::Text),
        ("99 %", percentile(1), Ink::Muted),
        ("95 %", percentile(0), Ink::Muted),
        ("slowest", first.sample.row.latency.map(|l| l.max_ns).filter(|ns| *ns > 0.0), Ink::Limit),
    ];
    for (name, value, ink) in names {
        let Some(value) = value else { continue };
        let (x, y) = (x.at(0.0) - 5.0, y.at(value));
        let at = |left, down| text(x - left, y + down, Anchor::End, ink, name.to_owned());
        // Left of the point, or of a single load's tick there; above and below; left of a name there.
        let places: &[(f64, f64)] = match loads {
            [_] => &[(0.0, 3.0), (TICK, 3.0), (TICK, 13.0), (TICK, -8.0), (2.3 * TICK, 3.0)],
            _ => &[(0.0, 3.0), (0.0, -4.0), (0.0, 10.0)],
        };
        let forms: Vec<Text> = places.iter().map(|(left, down)| at(*left, *down)).collect();
        labels.put_if_free(scene, &forms);
    }
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
            // The first load's background also lies behind the names.
            let wide = x.band() + if number == 0 { NAMES } else { 0.0 };
            let right = x.at(number as f64) + x.band() / 2.0;
            scene.rect([right - wide, bottom, wide, height], Ink::Shade(shade), 1.0);
        }
    }
}

/// Draws a histogram at each load: a bar per bucket, as high as the bucket's range of latencies and as long
/// as its share.
fn histograms(
    scene: &mut Scene,
    labels: &mut Labels,
    loads: &[Load],
    x: Scale,
    y: Scale,
    [least, most]: [f64; 2],
) {
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
            let height = (lower_y - upper_y - 1.0).max(1.0);
            labels.avoid_rect([left, upper_y + 0.5, width, height]);
            scene.add(Mark::Rect {
                x: left,
                y: upper_y + 0.5,
                width,
                height,
                fill: Ink::Bucket(bucket as u8),
                opacity: 0.9,
                tip: Some(format!("{below}: {share:.2} %")),
            });
        }
    }
}

/// Draws the middle part: the mean and how it scales.
pub(super) fn mean(scene: &mut Scene, loads: &[Load], ends: Ends, frame: Frame) {
    let x = bands(loads, frame);
    let y = Scale::from_zero(ends.most_mean_ns, frame.ys());
    let axis =
        Axis { scale: y, title: "mean latency, and how it scales", label: &latency_ns, ticks: 4 };
    frame.vertical(scene, &axis);
    let in_bytes = in_bytes(loads);
    let growths: Vec<f64> = loads.windows(2).map(|pair| pair[1].scaling(&pair[0])).collect();
    let bottom = frame.y + frame.height;
    for (number, (growth, pair)) in growths.iter().zip(loads.windows(2)).enumerate() {
        if !growth.is_finite() {
            continue;
        }
        let width = x.band() * BAR;
        let middle = (x.at(number as f64) + x.at(number as f64 + 1.0)) / 2.0;
        if growth.abs() >= LEAST_GROWTH {
            let ink = pair[1].growth_ink(&pair[0], in_bytes);
            let height = growth.abs() / ends.most_growth * frame.height * 0.8;
            scene.rect([middle - width / 2.0, bottom - height, width, height], ink, Ink::BAR);
        }
        // Below the axis, where no line crosses it.
        if x.band() > 26.0 {
            let words = hundredths(*growth);
            let text = Text::new(middle, bottom + 12.0, Anchor::Middle, Ink::Muted, words);
            scene.text(text.size(NUMBER));
        }
    }
    let points: Vec<(f64, f64)> = loads
        .iter()
        .enumerate()
        .map(|(number, load)| (x.at(number as f64), y.at(load.mean_ns())))
        .collect();
    scene.line(points.clone(), Stroke::solid(Ink::Text, 2.0));
    let mut labels = Labels::new(frame);
    labels.avoid_line(&points);
    for ((x, y), load) in points.into_iter().zip(loads) {
        scene.add(Mark::dot(x, y, 2.6, Ink::Text));
        labels.put_if_free(scene, &beside(x, y, Ink::Text, &latency_ns(load.mean_ns())));
    }
    scene
        .line([(frame.x, bottom), (frame.x + frame.width, bottom)], Stroke::solid(Ink::Muted, 1.0));
}

/// Draws the lower part: throughput, sliced by latency.
pub(super) fn throughput(scene: &mut Scene, along: Along, loads: &[Load], most: f64, frame: Frame) {
    let x = bands(loads, frame);
    let in_bytes = in_bytes(loads);
    let brought = |load: &Load| load.throughput(in_bytes);
    // The numbers above the bars need space.
    let y = Scale::from_zero(most * 1.15, frame.ys());
    let mut labels = Labels::new(frame);
    let label = |value: f64| if in_bytes { bytes_per_sec(value) } else { count(value) };
    let terms = loads.first().map_or(Terms::DEVICE, |load| load.sample.terms);
    let title = if in_bytes { "throughput" } else { terms.rates };
    frame.vertical(scene, &Axis { scale: y, title, label: &label, ticks: 4 });
    let bottom = frame.y + frame.height;
    for (number, load) in loads.iter().enumerate() {
        let width = x.band() * BAR;
        let left = x.at(number as f64) - width / 2.0;
        let height = bottom - y.at(brought(load));
        let words = label(brought(load));
        let place = (left + width / 2.0, bottom - height - 4.0);
        let text = Text::new(place.0, place.1, Anchor::Middle, Ink::Text, words);
        labels.put_if_free(scene, &[text.size(NUMBER)]);
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
    let x = bands(loads, frames[0]);
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
