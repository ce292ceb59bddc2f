//! Latency by load in three parts: the spread of latencies, the growth of the mean, and the throughput.
//!
//! Database administrators know this form from scripts around fio: logarithmic latencies with histograms
//! above, the mean and its scaling in the middle, throughput below.

mod parts;

use super::{Figure, Panel};
use crate::chart::{Frame, Ink, Scene, count, faint_legend, latency_ns};
use crate::exhibit::{Exhibit, Sample};
use crate::rows::FINE;
use crate::terminal::Terms;
use std::collections::{BTreeMap, BTreeSet};

pub const PANEL: Panel = Panel {
    name: "latency-by-load",
    title: "Latency by load",
    about: "Top, on a logarithmic scale: the mean, bands up to the 95th and 99th percentiles, the slowest I/O \
            (dashed line), and the distribution of latencies at each load. The background shows the shares below \
            1 ms (probably a cache), below 10 ms, and above 10 ms. Middle: the mean, and bars for the growth of \
            latency relative to the growth of the load. Light red: it grew. Dark red: it grew and throughput \
            fell. Light blue: it fell. Bottom: throughput, divided by the latency of the I/Os that made it.",
    draw,
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

/// What varies along the axis of a figure. If several things vary, the one with the most values is chosen;
/// if equal, the first in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Along {
    /// Requested I/Os per second.
    Rate,
    /// Number of processes.
    Users,
    /// Queue depth.
    Depth,
    Size,
}

impl Along {
    const ALL: [Self; 4] = [Self::Rate, Self::Users, Self::Depth, Self::Size];

    fn title(self, terms: Terms) -> &'static str {
        match self {
            Self::Rate => "I/Os per second asked",
            Self::Users => "users",
            Self::Depth if terms.is_database() => terms.concurrency,
            Self::Depth => terms.outstanding(),
            Self::Size => "block size",
        }
    }

    /// Returns a sample's value along this axis, and its label; `None` if unknown.
    fn of(self, sample: &Sample) -> Option<(f64, String)> {
        match self {
            Self::Rate => sample.rate_iops.map(|rate| (rate, count(rate))),
            Self::Users => sample.row.users.map(|users| (f64::from(users), users.to_string())),
            Self::Depth => Some((f64::from(sample.queue_depth), sample.queue_depth.to_string())),
            Self::Size => Some((sample.row.size?.max_bytes as f64, sample.row.size_text()?)),
        }
    }

    /// Returns the other properties of a sample: as sort keys, and in words. A property that is the same in
    /// all samples has no words, only a key.
    fn rest(self, sample: &Sample, differ: Differ) -> (Vec<u64>, String) {
        let queue_depth = sample.queue_depth;
        let users = sample.row.users.filter(|_| differ.users);
        let each = queue_depth / sample.row.users.unwrap_or(1).max(1);
        let (size, size_word) = Self::Size.of(sample).unwrap_or_default();
        let outstanding = match (self, sample.rate_iops) {
            (Self::Depth, _) => (0, None),
            // The queue depth of an offered rate results from the rate; only its upper bound is given.
            (_, Some(_)) => (
                queue_depth,
                differ.queue_depths.then(|| format!("at most {queue_depth} outstanding")),
            ),
            (Self::Size, None) if users.is_none() => {
                let unit = if sample.terms.is_database() { "processes" } else { "outstanding" };
                (queue_depth, Some(format!("{queue_depth} {unit}")))
            }
            _ => (each, (each > 1).then(|| format!("{each} outstanding each"))),
        };
        let rate = sample.rate_iops.unwrap_or_default();
        let all = [
            (Self::Size, size as u64, Some(size_word)),
            (
                Self::Rate,
                rate as u64,
                (rate > 0.0).then(|| format!("{} a second asked", count(rate))),
            ),
            (Self::Users, users.unwrap_or(0).into(), users.map(|users| format!("{users} users"))),
            (Self::Depth, outstanding.0.into(), outstanding.1),
        ];
        let beside = all.iter().filter(|(along, ..)| *along != self);
        let words: Vec<&str> = beside
            .clone()
            .filter_map(|(.., word)| word.as_deref().filter(|word| !word.is_empty()))
            .collect();
        (beside.map(|(_, order, _)| *order).collect(), words.join(", "))
    }
}

/// The properties in which the samples of a test differ.
#[derive(Debug, Clone, Copy)]
struct Differ {
    users: bool,
    queue_depths: bool,
}

fn draw(exhibits: &[Exhibit], width: f64) -> Vec<Figure> {
    // Open-loop and closed-loop samples are different kinds of load.
    let mut tests: BTreeMap<(String, String, bool), Vec<Sample>> = BTreeMap::new();
    for sample in exhibits.iter().flat_map(Exhibit::samples) {
        if sample.row.latency.is_some() {
            let key = (sample.row.name(), sample.place.clone(), sample.rate_iops.is_some());
            tests.entry(key).or_default().push(sample);
        }
    }
    let figures = tests.into_iter().flat_map(|((test, place, _), samples)| {
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

/// Splits the samples of one test into series: along what varies most, one for each combination of the
/// other properties. The samples left over form series along what varies among them; the last ones form
/// series of a single load.
fn split(samples: Vec<Sample>) -> Vec<(String, Along, Vec<Load>)> {
    let users: BTreeSet<Option<u32>> = samples.iter().map(|sample| sample.row.users).collect();
    let queue_depths: BTreeSet<u32> = samples.iter().map(|sample| sample.queue_depth).collect();
    let differ = Differ {
        users: users.len() > 1 && !users.contains(&None),
        queue_depths: queue_depths.len() > 1,
    };
    let axes = Along::ALL.into_iter().filter(|along| *along != Along::Users || differ.users);
    let mut axes: Vec<(Along, usize)> =
        axes.map(|along| (along, loads(along, &samples).len())).collect();
    axes.sort_by_key(|(_, values)| std::cmp::Reverse(*values));
    let (mut series, mut left) = (Vec::new(), samples);
    for (along, values) in axes {
        let (known, unknown): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|sample| values > 1 && along.of(sample).is_some());
        left = unknown;
        for (rest, samples) in by_rest(along, known, differ) {
            match loads(along, &samples) {
                loads if loads.len() > 1 => series.push((rest, along, loads)),
                _ => left.extend(samples),
            }
        }
    }
    let has_rate = left.iter().any(|sample| sample.rate_iops.is_some());
    let along = match (has_rate, differ.users) {
        (true, _) => Along::Rate,
        (false, true) => Along::Users,
        (false, false) => Along::Depth,
    };
    let alone = by_rest(along, left, differ).into_iter();
    series.extend(alone.map(|(rest, samples)| (rest, along, loads(along, &samples))));
    series
}

/// Groups samples by the properties that do not vary along the axis.
fn by_rest(along: Along, samples: Vec<Sample>, differ: Differ) -> Vec<(String, Vec<Sample>)> {
    let mut all: BTreeMap<(Vec<u64>, String), Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        all.entry(along.rest(&sample, differ)).or_default().push(sample);
    }
    all.into_iter().map(|((_, rest), samples)| (rest, samples)).collect()
}

/// Returns samples by rising load. If a load occurs repeatedly, the last sample counts.
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
    let entries: Vec<(Ink, f64, &str)> =
        entries.iter().map(|((ink, opacity), name)| (*ink, *opacity, name.as_str())).collect();
    let place = [frames[0].x, scene.height, frames[0].width];
    let taken = faint_legend(&mut scene, place, &entries);
    scene.height += taken + 6.0;
    scene
}

/// Returns the legend: the lines, bands, backgrounds, bars and buckets that occur, with the opacity used in
/// the picture.
fn entries(loads: &[Load]) -> Vec<((Ink, f64), String)> {
    let any = |of: &dyn Fn(&Load) -> bool| loads.iter().any(of);
    let share = |range: std::ops::Range<usize>| {
        any(&|load| load.shares.is_some_and(|s| s[range.clone()].iter().any(|s| *s > 0.0)))
    };
    let in_bytes = in_bytes(loads);
    let grew = |ink: Ink| {
        loads.windows(2).any(|pair| {
            pair[1].scaling(&pair[0]).is_finite() && pair[1].growth_ink(&pair[0], in_bytes) == ink
        })
    };
    let percentile = |index: usize| any(&|load| load.sample.row.percentiles_ns[index].is_some());
    let [fast, fine] = parts::SHADES;
    let fixed = [
        (true, (Ink::Text, 1.0), "mean"),
        (percentile(0), parts::BANDS[0], "to 95 %"),
        (percentile(1), parts::BANDS[1], "to 99 %"),
        (
            any(&|l| l.sample.row.latency.is_some_and(|l| l.max_ns > 0.0)),
            (Ink::Limit, 1.0),
            "slowest",
        ),
        (share(0..fast), (Ink::Shade(0), 1.0), "share under 1 ms"),
        (share(fast..fine), (Ink::Shade(1), 1.0), "share under 10 ms"),
        (share(fine..FINE.len()), (Ink::Shade(2), 1.0), "share over 10 ms"),
        (grew(Ink::Fell), (Ink::Fell, Ink::BAR), "mean fell"),
        (grew(Ink::Grew), (Ink::Grew, Ink::BAR), "mean grew"),
        (grew(Ink::Worse), (Ink::Worse, Ink::BAR), "mean grew, throughput fell"),
        (any(&|load| load.shares.is_none()), parts::UNSLICED, "latencies not kept"),
    ];
    let fixed = fixed.into_iter().filter(|(occurs, ..)| *occurs);
    let fixed = fixed.map(|(_, ink, name)| (ink, name.to_owned()));
    let buckets = FINE.iter().enumerate().filter(|(bucket, _)| share(*bucket..bucket + 1));
    let buckets =
        buckets.map(|(bucket, bound)| ((Ink::Bucket(bucket as u8), 1.0), bucket_word(*bound)));
    fixed.chain(buckets).collect()
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
    loads.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Row;
    use iogauge_model::result::BlockRange;

    fn sample(users: u32, each: u32, size: u64, rate_iops: Option<f64>) -> Sample {
        let size = Some(BlockRange { min_bytes: size, max_bytes: size });
        let row = Row { test: "randread".to_owned(), users: Some(users), size, ..Row::default() };
        Sample {
            place: "disk".to_owned(),
            row,
            queue_depth: users * each,
            rate_iops,
            terms: Terms::DEVICE,
        }
    }

    /// Returns the name, the axis and the load labels of each figure.
    fn figures(samples: Vec<Sample>) -> Vec<(String, Along, Vec<String>)> {
        let words = |loads: Vec<Load>| loads.into_iter().map(|load| load.word).collect();
        let split = split(samples).into_iter();
        split.map(|(rest, along, loads)| (rest, along, words(loads))).collect()
    }

    fn figure(rest: &str, along: Along, loads: &[&str]) -> (String, Along, Vec<String>) {
        (rest.to_owned(), along, loads.iter().map(|load| (*load).to_owned()).collect())
    }

    #[test]
    fn every_user_and_queue_depth_combination_is_shown() {
        let all = [(1, 1), (1, 8), (4, 1), (4, 8)];
        let samples = all.map(|(users, each)| sample(users, each, 8192, None));
        let expected = [
            figure("8K, 1 users", Along::Depth, &["1", "8"]),
            figure("8K, 4 users", Along::Depth, &["4", "32"]),
        ];
        assert_eq!(figures(samples.to_vec()), expected);
        let each_of_two = [1, 4, 16].map(|users| sample(users, 2, 8192, None)).to_vec();
        let expected = [figure("8K, 2 outstanding each", Along::Users, &["1", "4", "16"])];
        assert_eq!(figures(each_of_two), expected);
    }

    #[test]
    fn parameter_with_most_values_becomes_the_axis() {
        let sizes = [512, 4096, 65_536, 1 << 20];
        let samples =
            sizes.iter().flat_map(|size| [1, 32].map(|each| sample(1, each, *size, None)));
        let words = ["512", "4K", "64K", "1M"];
        let expected = [
            figure("1 outstanding", Along::Size, &words),
            figure("32 outstanding", Along::Size, &words),
        ];
        assert_eq!(figures(samples.collect()), expected);
        // A single sample next to a series has its own figure, in the order of sizes.
        let mut samples = vec![sample(1, 1, 1 << 20, None), sample(1, 1, 128 << 10, None)];
        samples.extend([1, 8, 16].map(|users| sample(users, 1, 8192, None)));
        let expected = [
            figure("8K", Along::Users, &["1", "8", "16"]),
            figure("1 users", Along::Size, &["128K", "1M"]),
        ];
        assert_eq!(figures(samples), expected);
    }

    #[test]
    fn offered_rates_are_kept_as_separate_loads() {
        let rates = [2000.0, 500.0, 8000.0];
        let samples = rates.map(|rate| sample(1, 512, 4096, Some(rate))).to_vec();
        assert_eq!(figures(samples), [figure("4K", Along::Rate, &["500", "2000", "8000"])]);
        // Along another axis, rates are kept apart, and so are their bounds.
        let sizes = [4096, 8192, 16_384].iter();
        let samples =
            sizes.flat_map(|size| [500.0, 2000.0].map(|r| sample(1, 512, *size, Some(r))));
        let words = ["4K", "8K", "16K"];
        let expected = [
            figure("500 a second asked", Along::Size, &words),
            figure("2000 a second asked", Along::Size, &words),
        ];
        assert_eq!(figures(samples.collect()), expected);
        let bounds = [8, 512].into_iter();
        let samples =
            bounds.flat_map(|most| [500.0, 2000.0].map(|r| sample(1, most, 4096, Some(r))));
        let expected = [
            figure("4K, at most 8 outstanding", Along::Rate, &["500", "2000"]),
            figure("4K, at most 512 outstanding", Along::Rate, &["500", "2000"]),
        ];
        assert_eq!(figures(samples.collect()), expected);
        let one = figures(vec![sample(1, 512, 4096, Some(500.0))]);
        assert_eq!(one, [figure("4K", Along::Rate, &["500"])]);
    }
}
