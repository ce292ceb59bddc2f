//! Latency by load in three parts: the spread of latencies, the growth of the mean, and the throughput.
//!
//! Database administrators know this form from scripts around fio: logarithmic latencies with histograms
//! above, the mean and its scaling in the middle, throughput below.

mod parts;
mod series;

use super::{Drawn, Figure, Panel};
use crate::chart::{Frame, Ink, Scene, count, faint_legend, latency_ns};
use crate::exhibit::Sample;
use crate::rows::FINE;
use series::{Along, Series, of_runs};

pub const PANEL: Panel = Panel {
    name: "latency-by-load",
    title: "Latency by load",
    about: "Top, on a logarithmic scale: the mean, bands up to the 95th and 99th percentiles, the slowest I/O \
            (dashed line, with its value), and the distribution of latencies at each load. The background shows \
            the shares below 1 ms (probably a cache), below 10 ms, and above 10 ms. Middle: the mean, and bars \
            for the growth of latency relative to the growth of the load: 0 is none, 1 is as much as the load. \
            Light red: it grew. Dark red: it grew and throughput fell. Light blue: it fell. Bottom: throughput, \
            divided by the latency of the I/Os that made it.",
    figures: draw,
};

#[derive(Debug, Clone, PartialEq)]
struct Load {
    /// Its label on the axis.
    word: String,
    /// Its value on the axis, for the computation of growth.
    amount: f64,
    sample: Sample,
    /// Percentage of the I/Os in each bucket of [`FINE`]; `None` if unknown.
    shares: Option<[f64; FINE.len()]>,
}

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    // Each group has its own series: a run of one does not replace that of another.
    let all: Vec<Series> = drawn.beside.iter().flat_map(|group| of_runs(group.iter())).collect();
    let own = of_runs(drawn.exhibits.iter());
    let figure = |series: &Series| {
        let Series { name, place, along, loads } = series;
        // Pictures of the same test elsewhere or under other settings.
        let same =
            |other: &&Series| drawn.share_scales() && other.name == *name && other.along == *along;
        let ends = Ends::of(all.iter().filter(same).chain([series]));
        Figure {
            title: format!("{name}, {place}"),
            description: description(*along, loads),
            scene: scene(*along, loads, ends, drawn.width),
        }
    };
    own.iter().map(figure).collect()
}

/// The ends of the vertical axes.
#[derive(Debug, Clone, Copy)]
struct Ends {
    latency_ns: [f64; 2],
    most_mean_ns: f64,
    most_throughput: f64,
    most_growth: f64,
}

impl Ends {
    fn of<'a>(all: impl Iterator<Item = &'a Series> + Clone) -> Self {
        let loads = || all.clone().flat_map(|series| &series.loads);
        let latencies = loads().filter_map(|load| load.sample.row.latency);
        let latencies = latencies.flat_map(|l| {
            let least = if l.min_ns > 0.0 { l.min_ns } else { l.mean_ns };
            [least, l.mean_ns, l.max_ns]
        });
        let throughput = |series: &'a Series| {
            let in_bytes = in_bytes(&series.loads);
            series.loads.iter().map(move |load| load.throughput(in_bytes))
        };
        let growths = all.clone().flat_map(|series| series.loads.windows(2));
        let growths = growths.map(|pair| pair[1].scaling(&pair[0]).abs());
        Self {
            latency_ns: super::ends(latencies).unwrap_or([1.0, 10.0]),
            most_mean_ns: loads().map(Load::mean_ns).fold(0.0, f64::max),
            most_throughput: all.clone().flat_map(throughput).fold(0.0, f64::max),
            most_growth: growths.filter(|growth| growth.is_finite()).fold(1.0, f64::max),
        }
    }
}

impl Load {
    fn mean_ns(&self) -> f64 {
        self.sample.row.latency.map_or(0.0, |latency| latency.mean_ns)
    }

    /// Returns bytes per second, or else I/Os per second.
    fn throughput(&self, in_bytes: bool) -> f64 {
        let row = &self.sample.row;
        row.bytes_per_sec.filter(|_| in_bytes).unwrap_or(row.iops)
    }

    /// Returns the ink for the change of the mean since the previous load.
    fn growth_ink(&self, before: &Self, in_bytes: bool) -> Ink {
        match () {
            () if self.scaling(before) < 0.0 => Ink::Fell,
            () if self.throughput(in_bytes) < before.throughput(in_bytes) => Ink::Worse,
            () => Ink::Grew,
        }
    }

    /// Returns how the mean scales since the previous load.
    fn scaling(&self, before: &Self) -> f64 {
        super::scaling([before.mean_ns(), self.mean_ns()], [before.amount, self.amount])
    }
}

/// Returns true if throughput is shown in bytes, which requires that they are known for all loads.
fn in_bytes(loads: &[Load]) -> bool {
    loads.iter().all(|load| load.sample.row.bytes_per_sec.is_some())
}

/// A legend: inks with their opacity, and their names.
type Entries = Vec<((Ink, f64), String)>;

fn scene(along: Along, loads: &[Load], ends: Ends, width: f64) -> Scene {
    let narrow = width < 600.0;
    let heights = if narrow { [220.0, 96.0, 96.0] } else { [270.0, 116.0, 120.0] };
    let legends = [of_spread(loads), of_growth(loads), of_slices(loads)];
    let mut scene = Scene::new(width, 0.0);
    let frame = |y| {
        move |height| Frame { x: Frame::LEFT, y, width: width - Frame::LEFT - Frame::RIGHT, height }
    };
    // Each part has its own legend below it, so that a colour has one meaning in each.
    let first = frame(Frame::ABOVE)(heights[0]);
    let below = explain(&mut scene, first, 0.0, &legends[0]);
    let second = frame(below + Frame::ABOVE + 8.0)(heights[1]);
    // Below the bars are their numbers.
    let below = explain(&mut scene, second, 14.0, &legends[1]);
    let third = frame(below + Frame::ABOVE + 8.0)(heights[2]);
    parts::spread(&mut scene, loads, ends.latency_ns, first);
    parts::mean(&mut scene, loads, ends, second);
    parts::throughput(&mut scene, along, loads, ends.most_throughput, third);
    parts::hover(&mut scene, along, loads, [first, second, third]);
    scene.height = explain(&mut scene, third, Frame::BELOW, &legends[2]) + 4.0;
    scene
}

/// Draws the legend of a part, this far below it. Returns its lower edge.
fn explain(scene: &mut Scene, frame: Frame, away: f64, entries: &Entries) -> f64 {
    let entries: Vec<(Ink, f64, &str)> =
        entries.iter().map(|((ink, opacity), name)| (*ink, *opacity, name.as_str())).collect();
    let place = [frame.x, frame.y + frame.height + away + 6.0, frame.width];
    place[1] + faint_legend(scene, place, &entries)
}

fn entries<const N: usize>(all: [(bool, (Ink, f64), &str); N]) -> Entries {
    let all = all.into_iter().filter(|(occurs, ..)| *occurs);
    all.map(|(_, ink, name)| (ink, name.to_owned())).collect()
}

/// Returns true if any load has I/Os in these buckets.
fn has_shares(loads: &[Load], mut range: std::ops::Range<usize>) -> bool {
    let held = |bucket: usize| {
        loads.iter().any(|load| load.shares.is_some_and(|shares| shares[bucket] > 0.0))
    };
    range.any(held)
}

/// Returns the lines, bands and backgrounds that occur.
fn of_spread(loads: &[Load]) -> Entries {
    let any = |of: &dyn Fn(&Load) -> bool| loads.iter().any(of);
    let percentile = |index: usize| any(&|load| load.sample.row.percentiles_ns[index].is_some());
    let slowest = any(&|load| load.sample.row.latency.is_some_and(|l| l.max_ns > 0.0));
    let [fast, fine] = parts::SHADES;
    entries([
        (true, (Ink::Text, 1.0), "mean"),
        (percentile(0), parts::BANDS[0], "to 95 %"),
        (percentile(1), parts::BANDS[1], "to 99 %"),
        (slowest, (Ink::Limit, 1.0), "slowest"),
        (has_shares(loads, 0..fast), (Ink::Shade(0), 1.0), "share under 1 ms"),
        (has_shares(loads, fast..fine), (Ink::Shade(1), 1.0), "share under 10 ms"),
        (has_shares(loads, fine..FINE.len()), (Ink::Shade(2), 1.0), "share over 10 ms"),
    ])
}

/// Returns the kinds of growth that occur.
fn of_growth(loads: &[Load]) -> Entries {
    let in_bytes = in_bytes(loads);
    let grew = |ink: Ink| {
        loads.windows(2).any(|pair| {
            let growth = pair[1].scaling(&pair[0]);
            growth.is_finite()
                && growth.abs() >= parts::LEAST_GROWTH
                && pair[1].growth_ink(&pair[0], in_bytes) == ink
        })
    };
    entries([
        (grew(Ink::Fell), (Ink::Fell, Ink::BAR), "mean fell"),
        (grew(Ink::Grew), (Ink::Grew, Ink::BAR), "mean grew"),
        (grew(Ink::Worse), (Ink::Worse, Ink::BAR), "mean grew, throughput fell"),
    ])
}

/// Returns the slices of the throughput that occur.
fn of_slices(loads: &[Load]) -> Entries {
    let unknown = loads.iter().any(|load| load.shares.is_none());
    let buckets = FINE.iter().enumerate();
    let buckets = buckets.filter(|(bucket, _)| has_shares(loads, *bucket..bucket + 1));
    let buckets =
        buckets.map(|(bucket, bound)| ((Ink::Bucket(bucket as u8), 1.0), bucket_word(*bound)));
    entries([(unknown, parts::UNSLICED, "latencies not kept")]).into_iter().chain(buckets).collect()
}

/// Returns the label of a bucket with this upper bound in nanoseconds.
fn bucket_word(bound: Option<u64>) -> String {
    bound.map_or("slower".to_owned(), |bound| format!("< {}", latency_ns(bound as f64)))
}

fn description(along: Along, loads: &[Load]) -> String {
    let one = |load: &Load| {
        let mut text = format!(
            "{} {}: mean {}",
            load.word,
            along.title(load.sample.terms),
            latency_ns(load.mean_ns())
        );
        if let [Some(p95), Some(p99), ..] = load.sample.row.percentiles_ns {
            let [p95, p99] = [p95, p99].map(|ns| latency_ns(ns as f64));
            text.push_str(&format!(", 95 % {p95}, 99 % {p99}"));
        }
        text.push_str(&format!(", {} {}.", count(load.sample.row.iops), load.sample.terms.rate));
        text
    };
    let mut text = loads.iter().map(one).collect::<Vec<_>>().join(" ");
    if loads.iter().any(|load| load.shares.is_some() && load.sample.row.shares_are_whole) {
        text.push_str(" Shares are whole percentages from a table, truncated.");
    }
    text
}
