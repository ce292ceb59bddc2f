//! What a picture of one or several capacity curves consists of.

use super::bound;
use super::line::Statistic;
use crate::chart::{
    Anchor, Axis, Frame, Ink, Labels, Mark, Scale, Scene, Stroke, Text, count, latency_ns,
};
use crate::exhibit::Capacity;
use iogauge_model::result::CurvePoint;

/// Opacity of a point past the answer, which is no part of the curve.
pub(super) const FAINT: f64 = 0.4;

/// The ends of both axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub latency_ns: [f64; 2],
    pub most_iops: f64,
}

impl Ends {
    /// Returns ends that include what is drawn of these curves: some statistics of each point, and one of the answer.
    pub(super) fn of<'a, 'c: 'a>(
        capacities: impl Iterator<Item = &'a Capacity<'c>> + Clone,
        of_answer: Statistic,
        of_points: impl Fn(&Capacity<'c>) -> Vec<Statistic>,
    ) -> Self {
        let mut latencies = Vec::new();
        let mut most_iops: f64 = 0.0;
        for capacity in capacities {
            let drawn = of_points(capacity);
            for point in &*capacity.curve {
                latencies.extend(drawn.iter().filter_map(|statistic| statistic.at(point)));
                // Only the answer has its interval drawn.
                most_iops = most_iops.max(point.iops.mean);
            }
            latencies.extend(capacity.limits.iter().map(|limit| limit.bound_ns as f64));
            let answer = capacity.answer;
            if answer.met {
                latencies.extend(of_answer.at_answer(answer));
                most_iops = most_iops.max(answer.iops.mean).max(answer.iops.ci95[1]);
            }
        }
        let latency_ns = crate::panel::ends(latencies.into_iter()).unwrap_or([1.0, 10.0]);
        Self { latency_ns, most_iops }
    }
}

/// The plot area with its scales.
#[derive(Debug)]
pub(super) struct Plane {
    pub frame: Frame,
    /// The statistic at which the answer, the knee and queue depths are marked.
    main: Statistic,
    pub x: Scale,
    pub y: Scale,
    pub labels: Labels,
}

impl Plane {
    /// Creates a plot area at the top of a picture and draws its axes.
    pub(super) fn new(
        scene: &mut Scene,
        height: f64,
        ends: Ends,
        main: Statistic,
        titles: [&str; 2],
    ) -> Self {
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
        Self { frame, main, x, y, labels: Labels::new(frame) }
    }

    fn place(&self, point: &CurvePoint, of: Statistic) -> Option<(f64, f64)> {
        Some((self.x.at(point.iops.mean), self.y.at(of.at(point)?)))
    }

    /// Draws one statistic of a curve: a line through the points up to the answer, and faint dots past it, where more
    /// load gives no more I/Os.
    pub(super) fn curve(
        &mut self,
        capacity: &Capacity<'_>,
        of: Statistic,
        ink: Ink,
        wide: f64,
    ) -> Vec<Mark> {
        let (line, past): (Vec<&CurvePoint>, Vec<&CurvePoint>) =
            capacity.curve.iter().partition(|point| !is_past(capacity, point));
        let places: Vec<(f64, f64)> =
            line.iter().filter_map(|point| self.place(point, of)).collect();
        self.labels.avoid_line(&places);
        let points = places.iter().copied().map(Some).collect();
        let mut marks = vec![Mark::Line { points, stroke: Stroke::solid(ink, wide) }];
        marks.extend(places.iter().map(|(x, y)| Mark::dot(*x, *y, 2.2, ink)));
        let past: Vec<(f64, f64)> = past.iter().filter_map(|point| self.place(point, of)).collect();
        for (x, y) in past {
            self.labels.avoid(x, y, 2.0);
            let dot = Mark::Dot { x, y, radius: 2.0, fill: ink, opacity: FAINT, tip: None };
            marks.push(dot);
        }
        marks
    }

    /// Draws the bounds of limits as lines.
    pub(super) fn limits(&mut self, scene: &mut Scene, limits: &[(u64, String, Ink)]) {
        let [left, right] = self.frame.xs();
        for (bound_ns, _, ink) in shared(limits) {
            let place = self.y.at(bound_ns as f64);
            let line = [(left, place), (right, place)];
            scene.line(line, Stroke::dashed(ink, 1.5));
            self.labels.avoid_line(&line);
        }
    }

    /// Names limits at their lines, if possible on the left.
    pub(super) fn name_limits(&mut self, scene: &mut Scene, limits: &[(u64, String, Ink)]) {
        let [left, right] = self.frame.xs();
        for (bound_ns, names, ink) in shared(limits) {
            let place = self.y.at(bound_ns as f64);
            let words = crate::panel::listed(&names);
            let at = |x, y, anchor| Text::new(x, y, anchor, ink, &*words).bold();
            let along = |share: f64| left + share * (right - left);
            let places = [
                (left + 4.0, Anchor::Start),
                (right - 4.0, Anchor::End),
                (along(0.25), Anchor::Middle),
                (along(0.5), Anchor::Middle),
                (along(0.75), Anchor::Middle),
            ];
            let sides = |(x, anchor)| [at(x, place - 5.0, anchor), at(x, place + 13.0, anchor)];
            let forms: Vec<Text> = places.into_iter().flat_map(sides).collect();
            self.labels.put(scene, &forms);
        }
    }

    /// Rings the knee: the smallest measured queue depth that gives 95 % of the answer's I/Os. A line leads from it to
    /// the axis.
    pub(super) fn knee(&mut self, scene: &mut Scene, capacity: &Capacity<'_>, ink: Ink) {
        let Some((x, y)) = self.knee_place(capacity) else { return };
        let stem = [(x, y + 5.0), (x, self.frame.y + self.frame.height)];
        scene.line(stem, Stroke::dashed(ink, 1.0));
        scene.add(Mark::dot(x, y, 5.0, ink));
        scene.add(Mark::dot(x, y, 3.4, Ink::Surface));
        scene.add(Mark::dot(x, y, 2.2, ink));
        self.labels.avoid(x, y, 5.0);
        self.labels.avoid_line(&stem);
    }

    /// Writes the load of the knee at its ring.
    pub(super) fn name_knee(&mut self, scene: &mut Scene, capacity: &Capacity<'_>, ink: Ink) {
        let Some((x, y)) = self.knee_place(capacity) else { return };
        let Some(knee) = capacity.knee else { return };
        let words = format!("knee {}", capacity.terms.words.at(knee.queue_depth));
        let text = |x, y, anchor| Text::new(x, y, anchor, ink, &*words).size(9.5);
        let forms = [9.0, 24.0].map(|away| around(x, y, away, text)).concat();
        self.labels.put_if_free(scene, &forms);
    }

    fn knee_place(&self, capacity: &Capacity<'_>) -> Option<(f64, f64)> {
        self.place(knee_point(capacity)?, self.main)
    }

    /// Draws the answer with its interval. A line leads from it to the axis.
    pub(super) fn answer(&mut self, scene: &mut Scene, capacity: &Capacity<'_>, ink: Ink) {
        let Some((at, high)) = self.answer_place(capacity) else { return };
        let answer = capacity.answer;
        let [left, right] = self.frame.xs();
        // An answer from few windows can have an interval that is wider than the plot.
        let ends = answer.iops.ci95.map(|end| (self.x.at(end).clamp(left, right), high));
        let stem = [(at, high), (at, self.frame.y + self.frame.height)];
        scene.line(stem, Stroke::solid(ink, 1.0));
        scene.line(ends, Stroke::solid(ink, 3.0));
        let tip = Some(format!("{} {}", count(answer.iops.mean), capacity.terms.rates));
        scene.add(Mark::Dot { x: at, y: high, radius: 5.0, fill: ink, opacity: 1.0, tip });
        self.labels.avoid(at, high, 5.0);
        self.labels.avoid_line(&stem);
        self.labels.avoid_line(&ends);
    }

    /// Writes the rate of the answer at its dot, or where its line meets the axis.
    pub(super) fn name_answer(
        &mut self,
        scene: &mut Scene,
        capacity: &Capacity<'_>,
        ink: Ink,
        words: &str,
    ) {
        let Some((at, high)) = self.answer_place(capacity) else { return };
        let text = |x, y, anchor| Text::new(x, y, anchor, ink, words).bold().size(13.0);
        let foot = self.frame.y + self.frame.height - 8.0;
        let at_foot = [text(at - 6.0, foot, Anchor::End), text(at + 6.0, foot, Anchor::Start)];
        let [near, far, farther] = [10.0, 30.0, 50.0].map(|away| around(at, high, away, text));
        let forms = [near, at_foot.to_vec(), far, farther].concat();
        self.labels.put(scene, &forms);
    }

    fn answer_place(&self, capacity: &Capacity<'_>) -> Option<(f64, f64)> {
        let answer = Some(capacity.answer).filter(|answer| answer.met)?;
        Some((self.x.at(answer.iops.mean), self.y.at(self.main.at_answer(answer)?)))
    }

    /// Labels queue depths along the curve if there is space, beginning with the answer's and the last one.
    pub(super) fn queue_depths(&mut self, scene: &mut Scene, capacity: &Capacity<'_>, ink: Ink) {
        let closed = capacity.curve.iter().filter(|point| point.rate_iops.is_none());
        let mut points: Vec<&CurvePoint> = closed.collect();
        let last = points.last().map(|point| point.queue_depth);
        let knee = knee_point(capacity).map(|point| point.queue_depth);
        let is_answer = |point: &CurvePoint| point.queue_depth == capacity.answer.queue_depth;
        points.retain(|point| Some(point.queue_depth) != knee);
        points.sort_by_key(|point| {
            (!is_answer(point), Some(point.queue_depth) != last, point.queue_depth)
        });
        for point in points {
            let Some((x, y)) = self.place(point, self.main) else { continue };
            let word = match (capacity.terms.is_database(), is_answer(point)) {
                (true, true) => capacity.terms.words.amount(point.queue_depth),
                (true, false) => point.queue_depth.to_string(),
                (false, _) => format!("QD{}", point.queue_depth),
            };
            let text = |x, y, anchor| Text::new(x, y, anchor, ink, &*word).size(9.0);
            // The dot of the answer is larger.
            let away = if is_answer(point) { &[9.0, 20.0][..] } else { &[5.0] };
            let forms: Vec<Text> = away.iter().flat_map(|away| around(x, y, *away, text)).collect();
            self.labels.put_if_free(scene, &forms);
        }
    }
}

/// Returns limits with the names of those that share a bound.
fn shared(limits: &[(u64, String, Ink)]) -> Vec<(u64, Vec<String>, Ink)> {
    let mut bounds: Vec<(u64, Vec<String>, Ink)> = Vec::new();
    for (bound_ns, words, ink) in limits {
        match bounds.iter_mut().find(|(known, ..)| known == bound_ns) {
            Some((_, names, _)) if names.contains(words) => {}
            Some((_, names, _)) => names.push(words.clone()),
            None => bounds.push((*bound_ns, vec![words.clone()], *ink)),
        }
    }
    bounds
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
