//! What a picture of one or several capacity curves consists of.

use super::bound;
use crate::chart::{
    Anchor, Axis, Frame, Ink, Labels, Mark, Scale, Scene, Stroke, Text, count, latency_ns,
};
use crate::exhibit::Capacity;
use iogauge_model::result::{CurvePoint, LatencySummary};

/// Selects a figure of a point.
pub(super) type Figured = fn(&LatencySummary) -> f64;

/// Opacity of a point past the answer, which is no part of the curve.
pub(super) const FAINT: f64 = 0.4;

/// The ends of both axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub latency_ns: [f64; 2],
    pub most_iops: f64,
}

impl Ends {
    /// Returns ends that include these curves, with the given latencies of each point.
    pub(super) fn of<'a, 'c: 'a>(
        capacities: impl Iterator<Item = &'a Capacity<'c>> + Clone,
        lines: &[Figured],
    ) -> Self {
        let points = || capacities.clone().flat_map(|capacity| &*capacity.curve);
        let answers = capacities.clone().map(|capacity| capacity.answer).filter(|a| a.met);
        let drawn = points().map(|point| &point.latency_ns);
        let drawn = drawn.chain(answers.clone().map(|answer| &answer.latency_ns));
        let values = drawn.flat_map(|latency| lines.iter().map(|of| of(latency)));
        let bounds = capacities.clone().flat_map(|capacity| capacity.limits.iter());
        let values = values.chain(bounds.map(|limit| limit.bound_ns as f64));
        let rates = points().map(|point| point.iops).chain(answers.map(|answer| answer.iops));
        Self {
            latency_ns: crate::panel::ends(values).unwrap_or([1.0, 10.0]),
            most_iops: rates.map(|iops| iops.mean.max(iops.ci95[1])).fold(0.0, f64::max),
        }
    }
}

/// The plot area with its scales.
#[derive(Debug)]
pub(super) struct Plane {
    pub frame: Frame,
    pub x: Scale,
    pub y: Scale,
    pub labels: Labels,
}

impl Plane {
    /// Creates a plot area at the top of a picture and draws its axes.
    pub(super) fn new(scene: &mut Scene, height: f64, ends: Ends, titles: [&str; 2]) -> Self {
        let width = scene.width;
        let frame = Frame {
            x: Frame::LEFT,
            y: Frame::ABOVE,
            width: width - Frame::LEFT - Frame::RIGHT,
            height,
        };
        let [least, most] = ends.latency_ns;
        let y = Scale::log(least, most, frame.ys());
        let x = Scale::from_zero(ends.most_iops, frame.xs());
        let ticks = if width < 600.0 { 4 } else { 8 };
        frame.vertical(scene, &Axis { scale: y, title: titles[0], label: &latency_ns, ticks: 8 });
        frame.horizontal(scene, &Axis { scale: x, title: titles[1], label: &count, ticks });
        Self { frame, x, y, labels: Labels::new(frame) }
    }

    fn place(&self, point: &CurvePoint, of: Figured) -> (f64, f64) {
        (self.x.at(point.iops.mean), self.y.at(of(&point.latency_ns)))
    }

    /// Draws one figure of a curve: a line through the points up to the answer, and faint dots past it, where more load
    /// gives no more I/Os.
    pub(super) fn curve(
        &mut self,
        capacity: &Capacity<'_>,
        of: Figured,
        ink: Ink,
        wide: f64,
    ) -> Vec<Mark> {
        let (line, past): (Vec<&CurvePoint>, Vec<&CurvePoint>) =
            capacity.curve.iter().partition(|point| !is_past(capacity, point));
        let places: Vec<(f64, f64)> = line.iter().map(|point| self.place(point, of)).collect();
        self.labels.avoid_line(&places);
        let points = places.iter().copied().map(Some).collect();
        let mut marks = vec![Mark::Line { points, stroke: Stroke::solid(ink, wide) }];
        marks.extend(places.iter().map(|(x, y)| Mark::dot(*x, *y, 2.2, ink)));
        for point in past {
            let (x, y) = self.place(point, of);
            self.labels.avoid(x, y, 2.0);
            let dot = Mark::Dot { x, y, radius: 2.0, fill: ink, opacity: FAINT, tip: None };
            marks.push(dot);
        }
        marks
    }

    /// Draws the bounds of limits as lines, and labels them on the left. Limits with the same bound share both.
    pub(super) fn limits(&mut self, scene: &mut Scene, limits: &[(u64, String, Ink)]) {
        let mut bounds: Vec<(u64, Vec<String>, Ink)> = Vec::new();
        for (bound_ns, words, ink) in limits {
            match bounds.iter_mut().find(|(known, ..)| known == bound_ns) {
                Some((_, names, _)) if names.contains(words) => {}
                Some((_, names, _)) => names.push(words.clone()),
                None => bounds.push((*bound_ns, vec![words.clone()], *ink)),
            }
        }
        let [left, right] = self.frame.xs();
        for (bound_ns, names, ink) in bounds {
            let place = self.y.at(bound_ns as f64);
            let line = [(left, place), (right, place)];
            scene.line(line, Stroke::dashed(ink, 1.5));
            let words = crate::panel::listed(&names);
            let at = |x, y, anchor| Text::new(x, y, anchor, ink, &*words).bold();
            let forms = [
                at(left + 4.0, place - 4.0, Anchor::Start),
                at(left + 4.0, place + 13.0, Anchor::Start),
                at(right - 4.0, place - 4.0, Anchor::End),
                at(right - 4.0, place + 13.0, Anchor::End),
            ];
            self.labels.put(scene, &forms);
            self.labels.avoid_line(&line);
        }
    }

    /// Rings the knee: the smallest measured queue depth that gives 95 % of the answer's I/Os. A line leads from it to
    /// the axis.
    pub(super) fn knee(
        &mut self,
        scene: &mut Scene,
        capacity: &Capacity<'_>,
        ink: Ink,
        words: &str,
    ) {
        let Some(point) = knee_point(capacity) else { return };
        let (x, y) = self.place(point, |latency| latency.mean);
        let bottom = self.frame.y + self.frame.height;
        scene.line([(x, y + 5.0), (x, bottom)], Stroke::dashed(ink, 1.0));
        scene.add(Mark::dot(x, y, 5.0, ink));
        scene.add(Mark::dot(x, y, 3.4, Ink::Surface));
        scene.add(Mark::dot(x, y, 2.2, ink));
        self.labels.avoid(x, y, 5.0);
        let forms = around(x, y, 9.0, |x, y, anchor| Text::new(x, y, anchor, ink, words).size(9.5));
        self.labels.put_if_free(scene, &forms);
    }

    /// Draws the answer with its interval, and its rate in words.
    pub(super) fn answer(
        &mut self,
        scene: &mut Scene,
        capacity: &Capacity<'_>,
        ink: Ink,
        words: &str,
    ) {
        let answer = capacity.answer;
        if !answer.met {
            return;
        }
        let (at, high) = (self.x.at(answer.iops.mean), self.y.at(answer.latency_ns.mean));
        let [left, right] = self.frame.xs();
        // An answer from few windows can have an interval that is wider than the plot.
        let [low_end, high_end] = answer.iops.ci95.map(|end| self.x.at(end).clamp(left, right));
        scene.line([(at, high), (at, self.frame.y + self.frame.height)], Stroke::solid(ink, 1.0));
        scene.line([(low_end, high), (high_end, high)], Stroke::solid(ink, 3.0));
        let tip = Some(format!("{} {}", count(answer.iops.mean), capacity.terms.rates));
        scene.add(Mark::Dot { x: at, y: high, radius: 5.0, fill: ink, opacity: 1.0, tip });
        self.labels.avoid(at, high, 5.0);
        self.labels.avoid_line(&[(low_end, high), (high_end, high)]);
        let text = |x, y, anchor| Text::new(x, y, anchor, ink, words).bold().size(13.0);
        let near = around(at, high, 10.0, text);
        let far = around(at, high, 30.0, text);
        self.labels.put(scene, &[near, far].concat());
    }

    /// Labels queue depths along the curve of means if there is space, beginning with the last one and the answer's.
    pub(super) fn queue_depths(&mut self, scene: &mut Scene, capacity: &Capacity<'_>, ink: Ink) {
        let closed = capacity.curve.iter().filter(|point| point.rate_iops.is_none());
        let mut points: Vec<&CurvePoint> = closed.collect();
        let last = points.last().map(|point| point.queue_depth);
        let knee = knee_point(capacity).map(|point| point.queue_depth);
        points.retain(|point| Some(point.queue_depth) != knee);
        points.sort_by_key(|point| {
            let answer = point.queue_depth == capacity.answer.queue_depth;
            (!answer, Some(point.queue_depth) != last, point.queue_depth)
        });
        for point in points {
            let word = if capacity.terms.is_database() {
                point.queue_depth.to_string()
            } else {
                format!("QD{}", point.queue_depth)
            };
            let (x, y) = self.place(point, |latency| latency.mean);
            let text = |x, y, anchor| Text::new(x, y, anchor, ink, &*word).size(9.0);
            self.labels.put_if_free(scene, &around(x, y, 5.0, text));
        }
    }
}

/// Returns a text at each side of a point: below right, right, below left, left, above.
fn around(x: f64, y: f64, away: f64, text: impl Fn(f64, f64, Anchor) -> Text) -> Vec<Text> {
    vec![
        text(x + away, y + away + 6.0, Anchor::Start),
        text(x + away, y + 3.0, Anchor::Start),
        text(x - away, y - away, Anchor::End),
        text(x - away, y + 3.0, Anchor::End),
        text(x - away, y + away + 6.0, Anchor::End),
        text(x + away, y - away, Anchor::Start),
        text(x, y + away + 10.0, Anchor::Middle),
        text(x, y - away - 2.0, Anchor::Middle),
    ]
}

/// Returns true if a point has more load than the answer.
fn is_past(capacity: &Capacity<'_>, point: &CurvePoint) -> bool {
    let answer = capacity.answer;
    match (answer.rate_iops, point.rate_iops) {
        _ if !answer.met => false,
        (Some(of_answer), Some(rate)) => rate > of_answer,
        _ => point.queue_depth > answer.queue_depth,
    }
}

/// Returns the measured point of the knee, if it is below the answer. Older versions defined the knee otherwise and
/// stored no share.
fn knee_point<'a>(capacity: &'a Capacity<'_>) -> Option<&'a CurvePoint> {
    let knee = capacity.knee.filter(|knee| knee.share.is_some())?;
    let is_below = knee.queue_depth < capacity.answer.queue_depth;
    capacity.curve.iter().find(|point| is_below && point.queue_depth == knee.queue_depth)
}

/// Returns the bounds of a search's limits with their words, in this ink.
pub(super) fn bounds(capacity: &Capacity<'_>, ink: Ink) -> Vec<(u64, String, Ink)> {
    capacity.limits.iter().map(|limit| (limit.bound_ns, bound(capacity, limit), ink)).collect()
}
