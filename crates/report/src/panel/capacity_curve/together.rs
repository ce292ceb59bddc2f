//! Several capacity curves in one picture: their means and answers.

use crate::chart::{Axis, Frame, Ink, Mark, Scale, Scene, Stroke, count, latency_ns, legend};
use crate::exhibit::Capacity;
use crate::panel::Figure;

/// Maximum number of curves in one picture. More cannot be distinguished.
pub(super) const MOST: usize = Ink::SERIES as usize;

/// Draws at least two named curves, all in the same terms.
pub(super) fn figure(curves: &[(String, Capacity<'_>)], width: f64) -> Figure {
    let one = |(name, capacity): &(String, Capacity<'_>)| {
        let (answer, terms) = (capacity.answer, capacity.terms);
        let most = count(answer.iops.mean);
        let kept = if answer.met { "keeps" } else { "breaks" };
        format!(
            "{name}: {most} {} {}, which {kept} its limits.",
            terms.rates,
            terms.words.at(answer.queue_depth)
        )
    };
    Figure {
        title: format!("{} searches together", curves.len()),
        description: curves.iter().map(one).collect::<Vec<_>>().join(" "),
        scene: scene(curves, width),
    }
}

fn scene(curves: &[(String, Capacity<'_>)], width: f64) -> Scene {
    let height = if width < 600.0 { 220.0 } else { 290.0 };
    let mut scene = Scene::new(width, 0.0);
    let (left, inner) = (Frame::LEFT, width - Frame::LEFT - Frame::RIGHT);
    let frame = Frame { x: left, y: Frame::ABOVE, width: inner, height };
    let answers = || curves.iter().map(|(_, c)| (c.answer.iops.mean, c.answer.latency_ns.mean));
    let points = || {
        let points = curves.iter().flat_map(|(_, capacity)| &*capacity.curve);
        points.map(|point| (point.iops.mean, point.latency_ns.mean)).chain(answers())
    };
    let means = || points().map(|(_, mean)| mean).filter(|mean| *mean > 0.0);
    let y =
        Scale::log(means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max), frame.ys());
    let x = Scale::from_zero(points().map(|(iops, _)| iops).fold(0.0, f64::max), frame.xs());
    frame.vertical(
        &mut scene,
        &Axis { scale: y, title: "mean latency", label: &latency_ns, ticks: 8 },
    );
    let title = curves.first().map_or("", |(_, capacity)| capacity.terms.rates);
    let ticks = if width < 600.0 { 4 } else { 8 };
    frame.horizontal(&mut scene, &Axis { scale: x, title, label: &count, ticks });
    for (number, (name, capacity)) in (0..).zip(curves) {
        let place = |iops: f64, ns: f64| (ns > 0.0).then(|| (x.at(iops), y.at(ns)));
        let line = capacity.curve.iter().map(|p| place(p.iops.mean, p.latency_ns.mean));
        let ink = Ink::Series(number);
        let mut marks =
            vec![Mark::Line { points: line.collect(), stroke: Stroke::solid(ink, 1.8) }];
        let answer = capacity.answer;
        if let Some((x, y)) = place(answer.iops.mean, answer.latency_ns.mean) {
            let tip = Some(format!("{} {}", count(answer.iops.mean), capacity.terms.rates));
            marks.push(Mark::Dot { x, y, radius: 4.5, fill: ink, tip });
        }
        scene.add(Mark::Series { name: name.clone(), marks });
    }
    let entries: Vec<(Ink, &str)> =
        (0..).map(Ink::Series).zip(curves.iter().map(|(name, _)| name.as_str())).collect();
    let place = frame.y + frame.height + Frame::BELOW + 4.0;
    scene.height = place + legend(&mut scene, [left, place, inner], &entries) + 4.0;
    scene
}
