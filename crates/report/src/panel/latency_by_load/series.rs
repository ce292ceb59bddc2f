//! What was measured as series: loads along the property that varies most.

use super::Load;
use crate::chart::count;
use crate::exhibit::{Exhibit, Sample, split};
use crate::rows::FINE;
use crate::terminal::Terms;
use std::collections::{BTreeMap, BTreeSet};

/// Loads of one test that differ in one property.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// What was measured: test and properties that do not vary.
    pub name: String,
    /// Where, and the settings in which samples from there differ.
    pub place: String,
    pub along: Along,
    pub loads: Vec<Load>,
}

/// Returns the series of runs.
pub(super) fn of_runs<'a>(exhibits: impl Iterator<Item = &'a Exhibit>) -> Vec<Series> {
    // Open-loop and closed-loop samples are different kinds of load.
    let mut tests: BTreeMap<(String, String, bool), Vec<Sample>> = BTreeMap::new();
    for sample in exhibits.flat_map(Exhibit::samples) {
        if sample.row.latency.is_some() {
            let key = (sample.row.name(), sample.place.clone(), sample.rate_iops.is_some());
            tests.entry(key).or_default().push(sample);
        }
    }
    let mut all = Vec::new();
    for ((test, place, _), samples) in tests {
        // Samples with different settings are not one series.
        for (words, samples) in split(samples, |sample| &sample.settings) {
            let parts = [&*place, &*words].into_iter().filter(|part| !part.is_empty());
            let place = parts.collect::<Vec<_>>().join(", ");
            all.extend(by_load(samples).into_iter().map(|(rest, along, loads)| Series {
                name: if rest.is_empty() { test.clone() } else { format!("{test} {rest}") },
                place: place.clone(),
                along,
                loads,
            }));
        }
    }
    all
}

/// What varies along the axis of a figure. If several things vary, the one with the most values is chosen;
/// if equal, the first in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
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

    pub(super) fn title(self, terms: Terms) -> &'static str {
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

/// Splits the samples of one test into series: along what varies most, one for each combination of the
/// other properties. The samples left over form series along what varies among them; the last ones form
/// series of a single load.
fn by_load(samples: Vec<Sample>) -> Vec<(String, Along, Vec<Load>)> {
    let users: BTreeSet<Option<u32>> = samples.iter().map(|sample| sample.row.users).collect();
    let queue_depths: BTreeSet<u32> = samples.iter().map(|sample| sample.queue_depth).collect();
    let differ = Differ {
        users: users.len() > 1 && !users.contains(&None),
        queue_depths: queue_depths.len() > 1,
    };
    let axes = Along::ALL.into_iter().filter(|along| *along != Along::Users || differ.users);
    let mut axes: Vec<(Along, usize)> =
        axes.map(|along| (along, loads(along, samples.iter()).len())).collect();
    axes.sort_by_key(|(_, values)| std::cmp::Reverse(*values));
    let mut series = Vec::new();
    let mut is_left = vec![true; samples.len()];
    for (along, _) in axes.into_iter().filter(|(_, values)| *values > 1) {
        for (rest, numbers) in by_rest(along, &samples, differ) {
            let loads = loads(along, numbers.iter().map(|number| &samples[*number]));
            // A load may be part of several series: the one at which two axes cross belongs to both.
            if loads.len() > 1 && numbers.iter().any(|number| is_left[*number]) {
                numbers.iter().for_each(|number| is_left[*number] = false);
                series.push((rest, along, loads));
            }
        }
    }
    let left = samples.into_iter().zip(is_left).filter(|(_, is_left)| *is_left);
    let left: Vec<Sample> = left.map(|(sample, _)| sample).collect();
    let has_rate = left.iter().any(|sample| sample.rate_iops.is_some());
    let along = match (has_rate, differ.users) {
        (true, _) => Along::Rate,
        (false, true) => Along::Users,
        (false, false) => Along::Depth,
    };
    let alone = by_rest(along, &left, differ).into_iter();
    series.extend(alone.map(|(rest, numbers)| {
        (rest, along, loads(along, numbers.iter().map(|number| &left[*number])))
    }));
    series
}

/// Groups samples, given by their numbers, by the properties that do not vary along the axis. Samples without a value on
/// the axis are left out.
fn by_rest(along: Along, samples: &[Sample], differ: Differ) -> Vec<(String, Vec<usize>)> {
    let mut all: BTreeMap<(Vec<u64>, String), Vec<usize>> = BTreeMap::new();
    for (number, sample) in samples.iter().enumerate().filter(|(_, s)| along.of(s).is_some()) {
        all.entry(along.rest(sample, differ)).or_default().push(number);
    }
    all.into_iter().map(|((_, rest), numbers)| (rest, numbers)).collect()
}

/// Returns samples by rising load. If a load occurs repeatedly, the last sample counts.
fn loads<'a>(along: Along, samples: impl Iterator<Item = &'a Sample>) -> Vec<Load> {
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
            settings: crate::exhibit::Settings::default(),
            terms: Terms::DEVICE,
        }
    }

    /// Returns the name, the axis and the load labels of each figure.
    fn figures(samples: Vec<Sample>) -> Vec<(String, Along, Vec<String>)> {
        let words = |loads: Vec<Load>| loads.into_iter().map(|load| load.word).collect();
        let series = by_load(samples).into_iter();
        series.map(|(rest, along, loads)| (rest, along, words(loads))).collect()
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
        // The load at which the axes cross belongs to both figures.
        let mut samples = vec![sample(1, 1, 1 << 20, None), sample(1, 1, 128 << 10, None)];
        samples.extend([1, 8, 16].map(|users| sample(users, 1, 8192, None)));
        let expected = [
            figure("8K", Along::Users, &["1", "8", "16"]),
            figure("1 users", Along::Size, &["8K", "128K", "1M"]),
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
