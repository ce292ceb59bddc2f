//! Latency by load in three parts: how latencies spread, how the mean grows, what it brings.
//!
//! The form is the one database administrators know from scripts around fio: logarithmic latencies with
//! their histograms above, the mean and how it scales in the middle, throughput below.

mod parts;

use super::{Figure, Panel};
use crate::chart::{Frame, Ink, Scene, count, latency_ns, legend};
use crate::classic::FINE;
use crate::exhibit::{Exhibit, Sample};
use crate::terminal::Terms;
use std::collections::{BTreeMap, BTreeSet};

pub const PANEL: Panel = Panel {
    name: "latency-by-load",
    title: "Latency by load",
    about: "Above, on a logarithmic scale: the mean, the bands up to 95 % and 99 % of the I/Os, the slowest one \
            (broken line), and at each load how many took how long. The background tells the shares under 1 ms \
            (likely a cache), under 10 ms, and over 10 ms. In the middle the mean, and as bars how much it grew \
            for the growth of the load: light red where it grew, dark red where throughput fell as well, light \
            blue where it fell. Below the throughput, sliced by the latency of the I/Os that made it.",
    draw,
};

/// One load of a figure.
#[derive(Debug, Clone, PartialEq)]
struct Load {
    /// Its word on the axis.
    word: String,
    /// How much it is, to tell growth by.
    amount: f64,
    /// What was measured.
    sample: Sample,
    /// Percent of the I/Os in each bucket of [`FINE`]; `None` where it is not known.
    shares: Option<[f64; FINE.len()]>,
}

/// What grows along the axis of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Along {
    Users,
    Depth,
    Size,
}

impl Along {
    fn title(self, terms: Terms) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Depth if terms.is_database() => terms.depth,
            Self::Depth => terms.outstanding(),
            Self::Size => "block size",
        }
    }

    fn of(self, sample: &Sample) -> Option<(f64, String)> {
        match self {
            Self::Users => sample.row.users.map(|users| (f64::from(users), users.to_string())),
            Self::Depth => Some((f64::from(sample.depth), sample.depth.to_string())),
            Self::Size => Some((sample.row.size?.max_bytes as f64, sample.row.size_text()?)),
        }
    }
}

fn draw(exhibits: &[Exhibit], width: f64) -> Vec<Figure> {
    let mut tests: BTreeMap<(String, String), Vec<Sample>> = BTreeMap::new();
    for sample in exhibits.iter().flat_map(Exhibit::samples) {
        if sample.row.latency.is_some() {
            let key = (sample.row.name(), sample.place.clone());
            tests.entry(key).or_default().push(sample);
        }
    }
    let figures = tests.into_iter().flat_map(|((test, place), samples)| {
        let series = split(samples);
        series.into_iter().map(move |(rest, along, loads)| {
            let rest = if rest.is_empty() { test.clone() } else { format!("{test} {rest}") };
            let title = format!("{rest}, {place}");
            Figure {
                title,
                description: description(along, &loads),
                scene: scene(along, &loads, width),
            }
        })
    });
    figures.collect()
}

/// Samples of one test as series along what differs between them: users (or depth) of one size, sizes of
/// one number of users. What stands alone is a series along users with one load.
fn split(samples: Vec<Sample>) -> Vec<(String, Along, Vec<Load>)> {
    let users: BTreeSet<Option<u32>> = samples.iter().map(|sample| sample.row.users).collect();
    let differ = users.len() > 1 && !users.contains(&None);
    let many = if differ { Along::Users } else { Along::Depth };
    let mut by_size: BTreeMap<Option<String>, Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        by_size.entry(sample.row.size_text()).or_default().push(sample);
    }
    let (several, single): (Vec<_>, Vec<_>) =
        by_size.into_iter().partition(|(_, samples)| loads(many, samples).len() > 1);
    let mut series: Vec<(String, Along, Vec<Load>)> = several
        .into_iter()
        .map(|(size, samples)| (size.unwrap_or_default(), many, loads(many, &samples)))
        .collect();
    let mut by_amount: BTreeMap<(u64, String), Vec<Sample>> = BTreeMap::new();
    for sample in single.into_iter().flat_map(|(_, samples)| samples) {
        let amount = many.of(&sample).map(|(amount, word)| (amount as u64, word));
        by_amount.entry(amount.unwrap_or_default()).or_default().push(sample);
    }
    for ((_, word), samples) in by_amount {
        let database = samples.iter().any(|sample| sample.terms.is_database());
        let unit = match many {
            Along::Users => "users",
            _ if database => "processes",
            _ => "outstanding",
        };
        let rest = if word.is_empty() { word } else { format!("{word} {unit}") };
        let by_size = loads(Along::Size, &samples);
        let along = if by_size.is_empty() { many } else { Along::Size };
        let loads = if by_size.is_empty() { loads(many, &samples) } else { by_size };
        if !loads.is_empty() {
            series.push((rest, along, loads));
        }
    }
    series
}

/// Samples by rising load; of the same load the last one.
fn loads(along: Along, samples: &[Sample]) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for sample in samples {
        let Some((amount, word)) = along.of(sample) else { continue };
        let known = sample.row.shares.is_some();
        let shares = known.then(|| {
            sample.row.shares(&FINE).map(|share| share.map_or(0.0, |share| share.percent()))
        });
        let load = Load { word, amount, sample: sample.clone(), shares };
        match loads.iter_mut().find(|load| load.amount == amount) {
            Some(same) => *same = load,
            None => loads.push(load),
        }
    }
    loads.sort_by(|a, b| a.amount.total_cmp(&b.amount));
    loads
}

impl Load {
    fn mean_ns(&self) -> f64 {
        self.sample.row.latency.map_or(0.0, |latency| latency.mean_ns)
    }

    /// Bytes per second, or I/Os where those are not known.
    fn throughput(&self) -> f64 {
        self.sample.row.bytes_per_sec.unwrap_or(self.sample.row.iops)
    }

    /// How the mean scales since the load before.
    fn scaling(&self, before: &Self) -> f64 {
        super::scaling([before.mean_ns(), self.mean_ns()], [before.amount, self.amount])
    }
}

fn scene(along: Along, loads: &[Load], width: f64) -> Scene {
    let narrow = width < 600.0;
    let heights = if narrow { [210.0, 90.0, 90.0] } else { [260.0, 110.0, 120.0] };
    let mut scene = Scene::new(width, 0.0);
    let mut y = Frame::ABOVE;
    let frames = heights.map(|height| {
        let frame = Frame { x: Frame::LEFT, y, width: width - Frame::LEFT - Frame::RIGHT, height };
        y += height + Frame::ABOVE + 8.0;
        frame
    });
    scene.height = y + Frame::BELOW - Frame::ABOVE;
    parts::spread(&mut scene, loads, frames[0]);
    parts::mean(&mut scene, loads, frames[1]);
    parts::throughput(&mut scene, along, loads, frames[2]);
    parts::hover(&mut scene, along, loads, frames);
    let entries = entries(loads);
    let entries: Vec<(Ink, &str)> =
        entries.iter().map(|(ink, name)| (*ink, name.as_str())).collect();
    let place = [frames[0].x, scene.height, frames[0].width];
    let taken = legend(&mut scene, place, &entries);
    scene.height += taken + 6.0;
    scene
}

/// The one legend: lines, bands, and the buckets that occur.
fn entries(loads: &[Load]) -> Vec<(Ink, String)> {
    let mut entries = vec![
        (Ink::Text, "mean".to_owned()),
        (Ink::Series(0), "to 95 %".to_owned()),
        (Ink::Series(5), "to 99 %".to_owned()),
        (Ink::Limit, "slowest".to_owned()),
    ];
    let occurs =
        |bucket: usize| loads.iter().any(|load| load.shares.is_some_and(|s| s[bucket] > 0.0));
    for (bucket, bound) in FINE.iter().enumerate().filter(|(bucket, _)| occurs(*bucket)) {
        entries.push((Ink::Bucket(bucket as u8), bucket_word(*bound)));
    }
    entries
}

/// A bucket by its upper bound in nanoseconds.
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
    loads.iter().map(one).collect::<Vec<_>>().join(" ")
}
