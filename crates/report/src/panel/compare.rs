//! A comparison: the difference in each block, and its interval.

use super::{Drawn, Figure, Panel, ends};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, Text, count, legend,
    wrapped,
};
use crate::exhibit::Exhibit;
use iogauge_model::result::{self, CompareFindings, CompareVerdict, Compared, ComparedFigure};

pub const PANEL: Panel = Panel {
    name: "compare",
    title: "Comparison, block by block",
    about: "Each dot is the difference between a subject and the baseline within a block, in which both were measured \
            in turns. The bar on the right is the mean difference with its 95 % interval. The shaded band is the margin: \
            an interval within it proves that they are equivalent, one outside of it that they differ. Dots that spread \
            widely mean that more blocks are needed.",
    figures: draw,
};

const HEIGHT: f64 = 240.0;
/// Width of the part of the plot with the interval.
const BESIDE: f64 = 70.0;
/// Half the width of the ends of an interval.
const CAP: f64 = 5.0;

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let of_run = |exhibit: &Exhibit| exhibit.compared();
    let found: Vec<CompareFindings> = drawn.exhibits.iter().filter_map(of_run).collect();
    let figures = found.iter().flat_map(|found| {
        let each = found.compared.iter();
        each.map(|compared| match compared.block_ratios.is_empty() {
            true => without_blocks(found, compared, drawn.width),
            false => figure(found, compared, drawn.width),
        })
    });
    figures.collect()
}

/// Returns a figure with a note in place of the plot.
fn without_blocks(found: &CompareFindings, compared: &Compared, width: f64) -> Figure {
    const LINE: f64 = 15.0;
    let note = format!("No block has figures of both. {}", description(found, compared));
    let mut scene = Scene::new(width, 4.0);
    for line in wrapped(&note, Text::SIZE, width) {
        scene.height += LINE;
        scene.text(Text::new(0.0, scene.height - 4.0, Anchor::Start, Ink::Text, line));
    }
    Figure { title: title(found, compared), description: note, scene }
}

fn title(found: &CompareFindings, compared: &Compared) -> String {
    format!("{} of {} against {}", found.metric.word(), compared.subject, found.baseline)
}

fn figure(found: &CompareFindings, compared: &Compared, width: f64) -> Figure {
    Figure {
        title: title(found, compared),
        description: description(found, compared),
        scene: scene(found, compared, width),
    }
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

fn scene(found: &CompareFindings, compared: &Compared, width: f64) -> Scene {
    let mut scene = Scene::new(width, Frame::ABOVE + HEIGHT + Frame::BELOW);
    let frame = Frame {
        x: Frame::LEFT,
        y: Frame::ABOVE,
        width: width - Frame::LEFT - Frame::RIGHT,
        height: HEIGHT,
    };
    let [left, right] = frame.xs();
    let interval = compared.figure(found.metric).filter(|figure| figure.ratio.n > 1);
    let blocks = compared.block_ratios.len() as f64;
    let x = Scale::linear([0.5, blocks + 0.5], [left, right - BESIDE]);
    let y = scale(found, compared, frame);
    let label = |value: f64| format!("{value:+} %").replace('-', "−").replace("+0 %", "0 %");
    let is_rate = found.metric == result::Figure::Iops;
    let worse = if is_rate { "" } else { " (more is worse)" };
    let title = format!("difference in {}{worse}", found.metric.word());
    frame.vertical(&mut scene, &Axis { scale: y, title: &title, label: &label, ticks: 5 });
    let whole = |block: f64| if block.fract() == 0.0 { count(block) } else { String::new() };
    frame.horizontal(&mut scene, &Axis { scale: x, title: "block", label: &whole, ticks: 8 });
    let margin = found.margin * 100.0;
    let [low, high] = [y.at(-margin), y.at(margin)];
    scene.rect([left, high, right - left, (low - high).max(0.0)], Ink::Good, 0.12);
    scene.line([(left, y.at(0.0)), (right, y.at(0.0))], Stroke::dashed(Ink::Muted, 1.2));
    for (ratio, block) in compared.block_ratios.iter().zip(1_u32..) {
        let at = (x.at(f64::from(block)), y.at(percent(*ratio)));
        scene.add(Mark::dot(at.0, at.1, 3.0, Ink::Series(0)));
    }
    if let Some(figure) = interval {
        draw_interval(&mut scene, figure, compared.verdict, [right - BESIDE / 2.0, frame.y], y);
    }
    scene.add(Mark::Hover(hover(compared, frame, x)));
    let all = [
        (Ink::Series(0), "block"),
        (Ink::Muted, "no difference"),
        (ink_of(compared.verdict), "mean with its 95 % interval"),
        (Ink::Good, "margin"),
    ];
    let shown = if found.margin > 0.0 { 4 } else { 3 };
    let entries = &all[..shown];
    let place = [0.0, scene.height + 4.0, width];
    scene.height = place[1] + legend(&mut scene, place, entries) + 4.0;
    scene
}

fn ink_of(verdict: CompareVerdict) -> Ink {
    match verdict {
        CompareVerdict::Better | CompareVerdict::Equivalent => Ink::Good,
        CompareVerdict::Worse => Ink::Limit,
        CompareVerdict::Undecided => Ink::Muted,
    }
}

/// Draws the mean difference with its interval, and the verdict above the plot.
fn draw_interval(
    scene: &mut Scene,
    figure: &ComparedFigure,
    verdict: CompareVerdict,
    [at, top]: [f64; 2],
    y: Scale,
) {
    let ink = ink_of(verdict);
    let [low, high] = figure.ratio.ci95.map(|end| y.at(percent(end)));
    for line in [
        [(at, low), (at, high)],
        [(at - CAP, low), (at + CAP, low)],
        [(at - CAP, high), (at + CAP, high)],
    ] {
        scene.line(line, Stroke::solid(ink, 1.8));
    }
    scene.add(Mark::dot(at, y.at(percent(figure.ratio.mean)), 4.0, ink));
    scene.text(Text::new(at, top - 6.0, Anchor::Middle, ink, word(verdict)));
}

/// Returns a scale with all blocks, the interval, the margin and 0.
fn scale(found: &CompareFindings, compared: &Compared, frame: Frame) -> Scale {
    let interval = compared.figure(found.metric).map_or([1.0; 2], |figure| figure.ratio.ci95);
    let margin = [1.0 - found.margin, 1.0 + found.margin];
    let shown = compared.block_ratios.iter().copied().chain(interval).chain(margin);
    let [least, most] = ends(shown).unwrap_or([0.99, 1.01]).map(percent);
    let room = ((most - least) * 0.12).max(0.1);
    Scale::linear([least - room, most + room], frame.ys())
}

fn word(verdict: CompareVerdict) -> &'static str {
    match verdict {
        CompareVerdict::Equivalent => "equivalent",
        CompareVerdict::Better => "better",
        CompareVerdict::Worse => "worse",
        CompareVerdict::Undecided => "undecided",
    }
}

fn hover(compared: &Compared, frame: Frame, x: Scale) -> Hover {
    let point = |(ratio, block): (&f64, u32)| HoverPoint {
        x: x.at(f64::from(block)),
        lines: vec![format!("block {block}"), format!("{:+.1} %", percent(*ratio))],
    };
    let Frame { x: left, y, width, height } = frame;
    let points = compared.block_ratios.iter().zip(1..).map(point).collect();
    Hover { x: left, y, width, height, points }
}

fn description(found: &CompareFindings, compared: &Compared) -> String {
    let (subject, baseline) = (&compared.subject, &found.baseline);
    let verdict = match compared.verdict {
        CompareVerdict::Equivalent => format!("{subject} and {baseline} are equivalent."),
        CompareVerdict::Better => format!("{subject} is better than {baseline}."),
        CompareVerdict::Worse => format!("{subject} is worse than {baseline}."),
        CompareVerdict::Undecided => {
            format!("It is undecided whether {subject} differs from {baseline}.")
        }
    };
    let Some(figure) = compared.figure(found.metric) else { return verdict };
    let [low, high] = figure.ratio.ci95.map(percent);
    let blocks = compared.block_ratios.len();
    let mean = percent(figure.ratio.mean);
    format!(
        "{verdict} Difference in {}: {mean:+.1} %, 95 % interval {low:+.1} % to {high:+.1} %, from {blocks} blocks.",
        found.metric.word()
    )
}
