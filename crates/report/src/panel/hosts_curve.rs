//! Capacity by number of hosts: where more hosts add nothing.

use super::timeline::titles;
use super::{Drawn, Figure, Panel};
use crate::chart::{
    Anchor, Axis, Frame, Hover, HoverPoint, Ink, Mark, Scale, Scene, Stroke, Text, count,
    latency_ns, legend,
};
use crate::exhibit::Exhibit;
use iogauge_model::result::{HostsCurveFindings, HostsOutcome, HostsPoint};
use iogauge_model::units::Count;

pub const PANEL: Panel = Panel {
    name: "hosts-curve",
    title: "Capacity by number of hosts",
    about: "The capacity of 1, 2, 4 and more hosts, each with its 95 % confidence interval. The dashed grey line is \
            ideal scaling: as many times the capacity of one host. While the dots follow it, the hosts are the limit. \
            The green line marks saturation: the smallest number of hosts that no larger number exceeds by more than \
            5 % and beyond chance. From there on the limit is the target, or what the hosts share on the way to it.",
    figures: draw,
};

const HEIGHT: f64 = 260.0;
/// Half the width of the ends of an interval.
const CAP: f64 = 4.0;

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let of_run = |exhibit| Some((exhibit, Exhibit::hosts_curve(exhibit)?));
    let runs: Vec<(&Exhibit, HostsCurveFindings)> =
        drawn.exhibits.iter().filter_map(of_run).collect();
    let titles = titles(&runs.iter().map(|(exhibit, _)| *exhibit).collect::<Vec<_>>());
    let figure = |((_, found), title): (&(&Exhibit, HostsCurveFindings), String)| Figure {
        title,
        description: description(found),
        scene: scene(found, drawn.width),
    };
    runs.iter().zip(titles).map(figure).collect()
}

fn given(found: &HostsCurveFindings) -> impl Iterator<Item = &HostsPoint> {
    found.hosts_curve.iter().filter(|point| point.given)
}

fn scene(found: &HostsCurveFindings, width: f64) -> Scene {
    let mut scene = Scene::new(width, Frame::ABOVE + HEIGHT + Frame::BELOW);
    let frame = Frame {
        x: Frame::LEFT,
        y: Frame::ABOVE,
        width: width - Frame::LEFT - Frame::RIGHT,
        height: HEIGHT,
    };
    let most_hosts = found.hosts_curve.iter().map(|point| point.hosts).max().unwrap_or(1);
    let most_iops =
        given(found).map(|point| point.iops.mean.max(point.iops.ci95[1])).fold(0.0, f64::max);
    let x = Scale::linear([0.0, f64::from(most_hosts) * 1.04], frame.xs());
    let y = Scale::from_zero(most_iops * 1.1, frame.ys());
    frame.vertical(
        &mut scene,
        &Axis { scale: y, title: "I/Os per second", label: &count, ticks: 5 },
    );
    let number = |hosts: f64| if hosts.fract() == 0.0 { count(hosts) } else { String::new() };
    frame.horizontal(&mut scene, &Axis { scale: x, title: "hosts", label: &number, ticks: 8 });
    saturation(&mut scene, found, frame, x);
    ideal(&mut scene, found, frame, [x, y]);
    capacities(&mut scene, found, [x, y]);
    scene.add(Mark::Hover(hover(found, frame, x)));
    let entries = [
        (Ink::Series(0), "capacity with its 95 % interval"),
        (Ink::Muted, "ideal scaling"),
        (Ink::Good, "saturation"),
    ];
    let is_saturated = matches!(found.outcome, Some(HostsOutcome::SaturatesAt(_)));
    let entries = if is_saturated { &entries[..] } else { &entries[..2] };
    let place = [0.0, scene.height + 4.0, width];
    scene.height = place[1] + legend(&mut scene, place, entries) + 4.0;
    scene
}

/// Draws a vertical line at the number of hosts that saturates the target, with its name beside it.
fn saturation(scene: &mut Scene, found: &HostsCurveFindings, frame: Frame, x: Scale) {
    let Some(HostsOutcome::SaturatesAt(hosts)) = found.outcome else { return };
    let at = x.at(f64::from(hosts));
    let ends = frame.ys().map(|y| (at, y));
    scene.line(ends, Stroke::dashed(Ink::Good, 1.4));
    let is_left = at < frame.x + frame.width / 2.0;
    let (beside, anchor) =
        if is_left { (at + 6.0, Anchor::Start) } else { (at - 6.0, Anchor::End) };
    let words = format!("saturates at {}", counted(hosts));
    scene.text(Text::new(beside, frame.y + frame.height - 8.0, anchor, Ink::Good, words));
}

/// Draws the line on which the capacity grows as much as the number of hosts, as far as it is in the plot.
fn ideal(scene: &mut Scene, found: &HostsCurveFindings, frame: Frame, [x, y]: [Scale; 2]) {
    let Some(alone) = given(found).find(|point| point.hosts == 1) else { return };
    let [left, right] = frame.xs();
    let [bottom, top] = frame.ys();
    let (end_x, end_y) = (x.at(1.0), y.at(alone.iops.mean));
    let slope = (bottom - end_y) / (end_x - left);
    let reach = ((bottom - top) / slope).min(right - left);
    let points = [(left, bottom), (left + reach, bottom - reach * slope)];
    scene.line(points, Stroke::dashed(Ink::Muted, 1.2));
}

/// Draws the capacities with their intervals.
fn capacities(scene: &mut Scene, found: &HostsCurveFindings, [x, y]: [Scale; 2]) {
    let ink = Ink::Series(0);
    let place = |point: &HostsPoint| (x.at(f64::from(point.hosts)), y.at(point.iops.mean));
    scene.line(given(found).map(place), Stroke::solid(ink, 1.6));
    for point in given(found) {
        let (at, middle) = place(point);
        let [low, high] = point.iops.ci95.map(|end| y.at(end.max(0.0)));
        for line in [
            [(at, low), (at, high)],
            [(at - CAP, low), (at + CAP, low)],
            [(at - CAP, high), (at + CAP, high)],
        ] {
            scene.line(line, Stroke::solid(ink, 1.2));
        }
        scene.add(Mark::dot(at, middle, 3.4, ink));
    }
}

fn hover(found: &HostsCurveFindings, frame: Frame, x: Scale) -> Hover {
    let point = |point: &HostsPoint| HoverPoint {
        x: x.at(f64::from(point.hosts)),
        lines: vec![
            counted(point.hosts),
            format!("{} IOPS, {} per host", whole(point.iops.mean), whole(point.iops_per_host)),
            format!("queue depth {}", point.queue_depth),
            format!("mean {}", latency_ns(point.latency_ns_mean)),
        ],
    };
    let Frame { x: left, y, width, height } = frame;
    Hover { x: left, y, width, height, points: given(found).map(point).collect() }
}

fn whole(rate: f64) -> Count {
    Count(rate.round())
}

fn counted(hosts: u32) -> String {
    format!("{hosts} host{}", if hosts == 1 { "" } else { "s" })
}

fn description(found: &HostsCurveFindings) -> String {
    let first = match found.outcome {
        Some(HostsOutcome::SaturatesAt(hosts)) => {
            format!("The capacity saturates at {}.", counted(hosts))
        }
        Some(HostsOutcome::ScalesAt(hosts)) => {
            format!("The capacity still scales at {}.", counted(hosts))
        }
        Some(HostsOutcome::UndecidedAt(hosts)) => {
            format!("Undecided: the search on {} has no capacity to compare.", counted(hosts))
        }
        None => "Nothing was measured.".to_owned(),
    };
    let one = |point: &HostsPoint| {
        let efficiency = point.scaling_efficiency.filter(|_| point.hosts > 1);
        let efficiency = efficiency
            .map_or_else(String::new, |share| format!(", {:.0} % of ideal scaling", share * 100.0));
        format!("{}: {} IOPS{efficiency}.", counted(point.hosts), whole(point.iops.mean))
    };
    std::iter::once(first).chain(given(found).map(one)).collect::<Vec<_>>().join(" ")
}
