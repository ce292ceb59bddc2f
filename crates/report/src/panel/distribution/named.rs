//! Selects the latencies to draw and gives them unique names.

use crate::exhibit::{Exhibit, Latencies, run_names};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of curves in all pictures together, as long as each workload keeps one. Nobody looks at
/// more, and the page would be too large to mail.
const MOST: usize = 400;

pub(super) struct Named<'a> {
    pub series: Vec<Latencies<'a>>,
    /// If some are left out: how many of the latest runs of each workload are drawn.
    pub latest: Option<usize>,
    /// Number of curves that are left out.
    pub left_out: usize,
}

/// A run, and latencies named after what was measured, with its place if there are several.
type OfRun<'a> = (&'a Exhibit, Latencies<'a>);

/// Returns the latencies of all runs. Names that runs have in common get the settings in which those runs differ, or
/// else their ids.
pub(super) fn named(exhibits: &[Exhibit]) -> Named<'_> {
    let (kept, latest, left_out) = latest(placed(exhibits));
    let mut runs: BTreeMap<String, Vec<&Exhibit>> = BTreeMap::new();
    for (exhibit, latencies) in &kept {
        let same = runs.entry(latencies.name.clone()).or_default();
        if !same.iter().any(|known| std::ptr::eq(*known, *exhibit)) {
            same.push(exhibit);
        }
    }
    let words: BTreeMap<&String, Vec<String>> =
        runs.iter().map(|(name, runs)| (name, run_names(runs))).collect();
    let times = counted(kept.iter().map(|(_, latencies)| latencies.name.clone()));
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let named = |(exhibit, latencies): OfRun<'_>| {
        let name = &latencies.name;
        if times.get(name).is_none_or(|times| *times == 1) {
            return latencies.name;
        }
        // What differs comes first because a legend truncates long names at the end.
        let of_run = runs[name].iter().position(|known| std::ptr::eq(*known, exhibit));
        let run = match (runs[name].len(), of_run) {
            (2.., Some(place)) => words[name][place].clone(),
            _ => String::new(),
        };
        let number = used.entry(format!("{run}: {name}")).or_default();
        *number += 1;
        let times = (*number > 1 || run.is_empty()).then(|| format!("no. {number}"));
        let parts: Vec<String> =
            [Some(run), times].into_iter().flatten().filter(|part| !part.is_empty()).collect();
        format!("{}: {name}", parts.join(", "))
    };
    let names: Vec<String> = kept.iter().cloned().map(named).collect();
    let series = kept.into_iter().zip(names);
    let series = series.map(|((_, latencies), name)| Latencies { name, ..latencies }).collect();
    Named { series, latest, left_out }
}

fn placed(exhibits: &[Exhibit]) -> Vec<OfRun<'_>> {
    let of_run = |exhibit| Exhibit::latencies(exhibit).into_iter().map(move |own| (exhibit, own));
    let mut all: Vec<OfRun<'_>> = exhibits.iter().flat_map(of_run).collect();
    let places: BTreeSet<String> = all.iter().map(|(exhibit, _)| exhibit.place()).collect();
    // What all names have in common is left out.
    if places.len() > 1 {
        for (exhibit, latencies) in &mut all {
            latencies.name = format!("{}, {}", latencies.name, exhibit.place());
        }
    }
    all
}

/// If there are too many, keeps the latest of each name. Returns the kept ones, how many of each name are
/// kept, and how many are left out.
fn latest(all: Vec<OfRun<'_>>) -> (Vec<OfRun<'_>>, Option<usize>, usize) {
    let before = all.len();
    if before <= MOST {
        return (all, None, 0);
    }
    let loads = counted(all.iter().map(|(_, latencies)| latencies.name.clone())).len();
    let of_each = (MOST / loads).max(1);
    let mut order: Vec<usize> = (0..before).collect();
    order.sort_by_key(|number| Reverse((all[*number].0.head().started.as_str(), *number)));
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut is_kept = vec![false; before];
    for number in order {
        let taken = taken.entry(&all[number].1.name).or_default();
        is_kept[number] = *taken < of_each;
        *taken += 1;
    }
    let kept: Vec<OfRun<'_>> =
        all.into_iter().zip(is_kept).filter_map(|(own, kept)| kept.then_some(own)).collect();
    let left_out = before - kept.len();
    (kept, (left_out > 0).then_some(of_each), left_out)
}

/// Counts how often each name occurs.
fn counted(names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    names.for_each(|name| *times.entry(name).or_default() += 1);
    times
}
