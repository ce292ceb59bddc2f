//! Several capacity curves in one picture: their means, limits, knees and answers.

use super::plane::{Ends, Figured, Plane, bounds};
use crate::chart::{Frame, Ink, Mark, Scene, count, legend};
use crate::exhibit::Capacity;
use crate::panel::Figure;

/// Maximum number of curves in one picture. More cannot be distinguished.
pub(super) const MOST: usize = Ink::SERIES as usize;

/// Up to this many curves, the numbers at their points have space.
const FEW: usize = 4;

const MEAN: Figured = |latency| latency.mean;

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

fn scene(curves: &[(String, Capacity<'_>)], width: f64) -> Scene {
    let height = if width < 600.0 { 250.0 } else { 340.0 };
    let mut scene = Scene::new(width, 0.0);
    let rates = curves.first().map_or("", |(_, capacity)| capacity.terms.rates);
    let ends = Ends::of(curves.iter().map(|(_, capacity)| capacity), &[MEAN]);
    let mut plane = Plane::new(&mut scene, height, ends, ["mean latency", rates]);
    let numbered = || (0..).map(Ink::Series).zip(curves);
    for (ink, (name, capacity)) in numbered() {
        let marks = plane.curve(capacity, MEAN, ink, 1.8);
        scene.add(Mark::Series { name: name.clone(), marks });
    }
    let limits: Vec<_> = curves.iter().flat_map(|(_, c)| bounds(c, Ink::Limit)).collect();
    plane.limits(&mut scene, &limits);
    for (ink, (_, capacity)) in numbered() {
        plane.answer(&mut scene, capacity, ink, &count(capacity.answer.iops.mean));
    }
    if curves.len() <= FEW {
        for (ink, (_, capacity)) in numbered() {
            let words = capacity.knee.map(|knee| capacity.terms.words.at(knee.queue_depth));
            let words = words.map(|place| format!("knee {place}"));
            plane.knee(&mut scene, capacity, ink, &words.unwrap_or_default());
        }
        for (ink, (_, capacity)) in numbered() {
            plane.queue_depths(&mut scene, capacity, ink);
        }
    }
    let entries: Vec<(Ink, &str)> =
        (0..).map(Ink::Series).zip(curves.iter().map(|(name, _)| name.as_str())).collect();
    let entries = [&entries[..], &[(Ink::Limit, "limit")]].concat();
    let place = plane.frame.y + height + Frame::BELOW + 4.0;
    let left = [plane.frame.x, place, plane.frame.width];
    scene.height = place + legend(&mut scene, left, &entries) + 4.0;
    scene
}
