//! Several capacity curves in one picture: one latency statistic of each, limits, knees and answers.

use super::line::Statistic;
use super::plane::{Ends, Plane, bounds};
use crate::chart::{Frame, Ink, Mark, Scene, count, legend};
use crate::exhibit::Capacity;
use crate::panel::Figure;
use crate::terminal::Terms;

/// Maximum number of curves in one picture. More cannot be distinguished.
pub(super) const MOST: usize = Ink::SERIES as usize;

/// Up to this many curves, the numbers at their points have space.
const FEW: usize = 4;

/// Draws at least two named curves, all in the same terms.
pub(super) fn figure(curves: &[(String, Capacity<'_>)], width: f64) -> Figure {
    let one = |(name, capacity): &(String, Capacity<'_>)| {
        let (answer, terms) = (capacity.answer, capacity.terms);
        let most = count(answer.iops.mean);
        let kept = if answer.met { "keeps" } else { "breaks" };
        let limits: Vec<String> = bounds(capacity, Ink::Limit).into_iter().map(|b| b.1).collect();
        format!(
            "{name}: {most} {} {}, which {kept} {}.",
            terms.rates,
            terms.words.at(answer.queue_depth),
            crate::panel::listed(&limits)
        )
    };
    Figure {
        title: format!("{} searches together", curves.len()),
        description: curves.iter().map(one).collect::<Vec<_>>().join(" "),
        scene: scene(curves, width),
    }
}

/// Returns the statistic that the limits of all searches bound, if there is one and its values were kept.
fn shared(curves: &[(String, Capacity<'_>)]) -> Option<Statistic> {
    let statistic = Statistic::of(curves.first()?.1.limits.first()?);
    let is_kept = |capacity: &Capacity<'_>| {
        let answer = capacity.answer;
        (!answer.met || statistic.at_answer(answer).is_some())
            && capacity.curve.iter().any(|point| statistic.at(point).is_some())
    };
    let is_own = |(_, capacity): &(String, Capacity<'_>)| {
        let limits = &capacity.limits;
        let is_only = limits.iter().all(|limit| Statistic::of(limit) == statistic);
        !limits.is_empty() && is_only && is_kept(capacity)
    };
    curves.iter().all(is_own).then_some(statistic)
}

fn scene(curves: &[(String, Capacity<'_>)], width: f64) -> Scene {
    let height = if width < 600.0 { 250.0 } else { 340.0 };
    let mut scene = Scene::new(width, 0.0);
    let terms = curves.first().map_or(Terms::DEVICE, |(_, capacity)| capacity.terms);
    let shared = shared(curves);
    let drawn = shared.unwrap_or(Statistic::MEAN);
    let capacities = curves.iter().map(|(_, capacity)| capacity);
    let ends = Ends::of(capacities, drawn, |_| vec![drawn]);
    let titles = [&*drawn.title(terms), terms.rates];
    let mut plane = Plane::new(&mut scene, height, ends, drawn, titles);
    let numbered = || (0..).map(Ink::Series).zip(curves);
    for (ink, (name, capacity)) in numbered() {
        let marks = plane.curve(capacity, drawn, ink, 1.8);
        scene.add(Mark::Series { name: name.clone(), marks });
    }
    let limits: Vec<_> = curves.iter().flat_map(|(_, c)| bounds(c, Ink::Limit)).collect();
    let is_few = curves.len() <= FEW;
    plane.limits(&mut scene, &limits);
    numbered().for_each(|(ink, (_, capacity))| plane.answer(&mut scene, capacity, ink));
    for (ink, (_, capacity)) in numbered().filter(|_| is_few) {
        plane.knee(&mut scene, capacity, ink);
    }
    plane.name_limits(&mut scene, &limits);
    for (ink, (_, capacity)) in numbered() {
        plane.name_answer(&mut scene, capacity, ink, &count(capacity.answer.iops.mean));
    }
    for (ink, (_, capacity)) in numbered().filter(|_| is_few) {
        plane.name_knee(&mut scene, capacity, ink);
    }
    for (ink, (_, capacity)) in numbered().filter(|_| is_few) {
        plane.queue_depths(&mut scene, capacity, ink);
    }
    let entries: Vec<(Ink, &str)> =
        (0..).map(Ink::Series).zip(curves.iter().map(|(name, _)| name.as_str())).collect();
    // On an axis of means, the limits may be on other statistics.
    let limit = if shared.is_some() { "limit" } else { "limit on the latency that it names" };
    let entries = [&entries[..], &[(Ink::Limit, limit)]].concat();
    let place = plane.frame.y + height + Frame::BELOW + 4.0;
    let left = [plane.frame.x, place, plane.frame.width];
    scene.height = place + legend(&mut scene, left, &entries) + 4.0;
    scene
}
