//! The latencies of a graded test as a histogram, above a ruler with the bounds of the marks.

use super::{FIGURES, MARKS, Subject, ink};
use crate::chart::{Anchor, Frame, Ink, Labels, Mark, Scale, Scene, Stroke, Text, latency_ns};
use crate::exhibit::Sample;
use crate::panel::edges;
use crate::rows::FINE;

/// Height of the whole drawing.
pub(super) const HEIGHT: f64 = 92.0;
/// Height of the histogram, and of the names above it.
const BARS: f64 = 42.0;
const NAMES: f64 = 12.0;
/// Height of the ruler.
const RULER: f64 = 16.0;
const SIZE: f64 = 9.0;
/// How far the lines of the figures reach into the ruler: not to the letters of its marks.
const NOTCH: f64 = 4.0;

/// Draws a sample in a place, given by its left edge, top and width.
pub(super) fn draw(
    scene: &mut Scene,
    [left, top, width]: [f64; 3],
    subject: &Subject,
    sample: &Sample,
) {
    let bounds = subject.bounds_ms.map(|ms| ms * 1e6);
    let shares = sample.row.shares(&FINE).map(|share| share.map_or(0.0, |share| share.percent()));
    let latency = sample.row.latency.unwrap_or_default();
    let floor = if latency.min_ns > 0.0 { latency.min_ns } else { latency.mean_ns };
    let values = FIGURES.iter().filter_map(|(_, of)| of(sample)).chain([floor]);
    let [least, most] = crate::panel::ends(values).unwrap_or([bounds[0], bounds[6]]);
    let x = Scale::log(least.min(bounds[0] / 2.0), most.max(bounds[6] * 1.3), [left, left + width]);
    let ruler = top + NAMES + BARS + 2.0;
    bars(scene, x, ruler - 2.0, &shares);
    if sample.row.shares.is_none() {
        let words = "the results have no distribution";
        let text = Text::new(left, top + NAMES + 12.0, Anchor::Start, Ink::Muted, words);
        scene.text(text.size(SIZE));
    }
    marks(scene, x, ruler, &bounds);
    let mut labels = Labels::new(Frame { x: left, y: top, width, height: NAMES });
    for (name, of) in FIGURES {
        let Some(ns) = of(sample) else { continue };
        let at = x.at(ns);
        scene.line([(at, top + NAMES), (at, ruler + NOTCH)], Stroke::solid(Ink::Text, 1.4));
        let text = |x, anchor| Text::new(x, top + 8.0, anchor, Ink::Text, name).size(SIZE);
        let forms = [text(at, Anchor::Middle), text(at, Anchor::Start), text(at, Anchor::End)];
        labels.put_if_free(scene, &forms);
    }
}

/// Draws a bar for each bucket, as wide as its range of latencies and as high as its share.
fn bars(scene: &mut Scene, x: Scale, bottom: f64, shares: &[f64; FINE.len()]) {
    let [left, right] = x.range();
    let largest = shares.iter().copied().fold(1e-9, f64::max);
    // The first bucket has no lower end on a logarithmic axis.
    let edges = edges(f64::MIN_POSITIVE, f64::MAX);
    for (bucket, (share, [lower, upper])) in shares.iter().zip(edges).enumerate() {
        let [begin, end] = [lower, upper].map(|edge| x.at(edge).clamp(left, right));
        if *share <= 0.0 || end - begin < 0.5 {
            continue;
        }
        let height = (share / largest * BARS).max(1.0);
        scene.add(Mark::Rect {
            x: begin,
            y: bottom - height,
            width: end - begin - 0.5,
            height,
            fill: Ink::Bucket(bucket as u8),
            opacity: 0.9,
            tip: Some(format!("{share:.2} %")),
        });
    }
}

/// Draws the ruler: a stretch for each mark, with the latencies at its bounds.
fn marks(scene: &mut Scene, x: Scale, top: f64, bounds: &[f64; 7]) {
    let [left, right] = x.range();
    let frame = Frame { x: left, y: top + RULER, width: right - left, height: 14.0 };
    let mut labels = Labels::new(frame);
    let ends = bounds.map(|ns| x.at(ns));
    let begins = [left].into_iter().chain(ends);
    for (mark, (begin, end)) in begins.zip(ends.into_iter().chain([right])).enumerate() {
        scene.rect([begin, top, end - begin - 1.0, RULER], ink(mark), 0.35);
        let place = ((begin + end) / 2.0, top + 11.5);
        let name = Text::new(place.0, place.1, Anchor::Middle, Ink::Text, MARKS[mark]).size(SIZE);
        let inside = Frame { x: begin, y: top, width: end - begin, height: RULER };
        Labels::new(inside).put_if_free(scene, &[name]);
    }
    // The first and the last bound matter most if there is no space for all.
    for bound in [0, 6, 1, 2, 3, 4, 5] {
        let words = latency_ns(bounds[bound]);
        let y = top + RULER + 10.0;
        let text = Text::new(ends[bound], y, Anchor::Middle, Ink::Muted, words).size(SIZE);
        labels.put_if_free(scene, &[text]);
    }
}
