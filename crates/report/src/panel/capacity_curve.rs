//! The capacity curve: latency against IOPS, with the limit and the answer.

mod line;
mod plane;
mod together;

use super::{Drawn, Figure, Panel};
use crate::chart::{
    Anchor, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Text, count, latency_ns, legend,
    wrapped,
};
use crate::exhibit::{Capacity, Exhibit, run_names, run_titles};
use crate::terminal::stop_reason;
use iogauge_model::Limit;
use line::{Statistic, lines};
use plane::{Ends, Plane, bounds};

pub const PANEL: Panel = Panel {
    name: "capacity-curve",
    title: "Capacity",
    about: "Latency against I/Os per second (for a database: operations per second), from one I/O outstanding on \
            the left to the largest queue depth tried. The dashed line is the limit; a limit on other \
            latencies, such as those of writes, has a curve of its own. The answer is the highest rate within the limit; the bar is its 95 % confidence interval. Faint dots have more load than the \
            answer. The ring is the knee, the smallest measured queue depth that gives 95 % of the answer: a \
            larger one adds latency and almost no I/Os. The reason why the search stopped is below the curve.",
    figures: draw,
};

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let runs: Vec<&Exhibit> = drawn.exhibits.iter().collect();
    let own = of_runs(&runs);
    let all = of_runs(&drawn.all().collect::<Vec<_>>());
    let alone = own.iter().map(|named| {
        let same =
            |other: &&Named<'_>| std::ptr::eq(other.exhibit, named.exhibit) || drawn.share_scales();
        let alike = |other: &&Named<'_>| {
            other.capacity.label == named.capacity.label
                && other.capacity.terms == named.capacity.terms
        };
        let beside = all.iter().filter(same).filter(alike).map(|other| &other.capacity);
        let ends = Ends::of(beside, Statistic::MEAN, |capacity| {
            lines(capacity).into_iter().map(|line| line.statistic).collect()
        });
        Figure {
            title: named.with_label(&named.title),
            description: description(&named.capacity),
            scene: scene(&named.capacity, ends, drawn.width),
        }
    });
    together(&own, drawn.width).into_iter().chain(alone).collect()
}

/// A capacity, with what distinguishes its run from others and the title of the run.
struct Named<'a> {
    exhibit: &'a Exhibit,
    name: String,
    title: String,
    capacity: Capacity<'a>,
}

impl Named<'_> {
    /// Returns a title or name of the run, after what was searched for.
    fn with_label(&self, of_run: &str) -> String {
        let parts = [self.capacity.label, of_run].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the capacities of runs that have a curve.
fn of_runs<'a>(exhibits: &[&'a Exhibit]) -> Vec<Named<'a>> {
    let of_run = |exhibit: &&'a Exhibit| {
        let capacities = exhibit.capacities().into_iter();
        let drawn: Vec<_> = capacities.filter(|capacity| !capacity.curve.is_empty()).collect();
        (*exhibit, drawn)
    };
    let runs: Vec<_> = exhibits.iter().map(of_run).filter(|(_, drawn)| !drawn.is_empty()).collect();
    let drawn: Vec<&Exhibit> = runs.iter().map(|(exhibit, _)| *exhibit).collect();
    let names = match &drawn[..] {
        [_] => vec![String::new()],
        several => run_names(several),
    };
    let named = runs.into_iter().zip(names).zip(run_titles(&drawn));
    let named = named.flat_map(|(((exhibit, drawn), name), title)| {
        drawn.into_iter().map(move |capacity| {
            let (name, title) = (name.clone(), title.clone());
            Named { exhibit, name, title, capacity }
        })
    });
    named.collect()
}

/// Draws the curves in one picture, if there are several and not too many.
fn together(own: &[Named<'_>], width: f64) -> Option<Figure> {
    let first = own.first()?;
    let alike = own.iter().all(|named| named.capacity.terms == first.capacity.terms);
    let named = own.iter().map(|own| (own.with_label(&own.name), own.capacity.clone()));
    let holds = alike && (2..=together::MOST).contains(&own.len());
    holds.then(|| together::figure(&named.collect::<Vec<_>>(), width))
}

fn scene(capacity: &Capacity<'_>, ends: Ends, width: f64) -> Scene {
    let height = if width < 600.0 { 208.0 } else { 288.0 };
    let mut scene = Scene::new(width, 0.0);
    let titles = ["latency", capacity.terms.rates];
    let mut plane = Plane::new(&mut scene, height, ends, Statistic::MEAN, titles);
    let lines = lines(capacity);
    for line in lines.iter().rev() {
        let marks = plane.curve(capacity, line.statistic, line.ink, line.wide);
        scene.add(Mark::Series { name: line.name.clone(), marks });
    }
    let limits = bounds(capacity, Ink::Limit);
    plane.limits(&mut scene, &limits);
    plane.answer(&mut scene, capacity, Ink::Good);
    plane.knee(&mut scene, capacity, Ink::Muted);
    plane.name_limits(&mut scene, &limits);
    let most = format!("{} {}", count(capacity.answer.iops.mean), capacity.terms.rate);
    plane.name_answer(&mut scene, capacity, Ink::Good, &most);
    plane.name_knee(&mut scene, capacity, Ink::Muted);
    plane.queue_depths(&mut scene, capacity, Ink::Muted);
    let frame = plane.frame;
    scene.add(Mark::Hover(hover(capacity, frame, plane.x)));
    let names = lines.iter().map(|line| (line.ink, line.name.as_str()));
    let more = [(Ink::Limit, "limit"), (Ink::Good, "answer and its 95 % interval")];
    let entries: Vec<(Ink, &str)> = names.chain(more).collect();
    let place = frame.y + height + Frame::BELOW + 4.0;
    scene.height = place + legend(&mut scene, [frame.x, place, frame.width], &entries) + 4.0;
    ending(&mut scene, capacity, frame);
    scene
}

/// Writes below everything why the search ended.
fn ending(scene: &mut Scene, capacity: &Capacity<'_>, frame: Frame) {
    const LINE: f64 = 15.0;
    for line in wrapped(&why(capacity), Text::SIZE, frame.width) {
        scene.height += LINE;
        let text = Text::new(frame.x, scene.height - 4.0, Anchor::Start, Ink::Text, line);
        scene.text(text);
    }
}

/// Returns the stop reason as a sentence.
fn why(capacity: &Capacity<'_>) -> String {
    let reason = stop_reason(capacity.answer, capacity.terms);
    let mut letters = reason.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// Returns a limit in the terms for what was measured: `mean <= 10 ms`, `commit:mean <= 10 ms`.
fn bound(capacity: &Capacity<'_>, limit: &Limit) -> String {
    let own = limit.statistic();
    limit.to_string().replacen(&own, &capacity.terms.words.statistic(limit), 1)
}

fn hover(capacity: &Capacity<'_>, frame: Frame, x: Scale) -> Hover {
    let (terms, lines) = (capacity.terms, lines(capacity));
    let mut points: Vec<HoverPoint> = capacity
        .curve
        .iter()
        .map(|point| {
            let load = match point.rate_iops {
                Some(rate) => format!("{} a second asked", count(rate)),
                None => terms.words.amount(point.queue_depth),
            };
            let mut told = vec![load, format!("{} {}", count(point.iops.mean), terms.rate)];
            told.extend(lines.iter().filter_map(|line| {
                Some(format!("{} {}", line.name, latency_ns(line.statistic.at(point)?)))
            }));
            HoverPoint { x: x.at(point.iops.mean), lines: told }
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Hover { x: frame.x, y: frame.y, width: frame.width, height: frame.height, points }
}

fn description(capacity: &Capacity<'_>) -> String {
    let (answer, terms) = (capacity.answer, capacity.terms);
    let limits: Vec<String> = capacity.limits.iter().map(|limit| bound(capacity, limit)).collect();
    let limits = super::listed(&limits);
    let first = if answer.met {
        let [low, high] = answer.iops.ci95.map(count);
        let (most, place) = (count(answer.iops.mean), terms.words.at(answer.queue_depth));
        format!("{most} {} ({low} to {high}) {place} while {limits} holds.", terms.rates)
    } else {
        format!("{limits} does not hold even at the least load.")
    };
    // Older versions defined the knee otherwise and stored no share.
    let knee = capacity.knee.filter(|knee| knee.share.is_some()).map(|knee| {
        let most = count(knee.iops);
        let share = knee.share.map(|share| format!(", {:.0} % of that", share.mean * 100.0));
        let (place, share) = (terms.words.at(knee.queue_depth), share.unwrap_or_default());
        format!(" The knee is {place}, {most} {}{share}.", terms.rates)
    });
    format!("{first} {}{}", why(capacity), knee.unwrap_or_default())
}
