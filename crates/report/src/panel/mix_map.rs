//! The mix map: the combined throughput of reads and writes, from pure writes to pure reads.

use super::map::{self, Ends, Map, Side, placed};
use super::{Drawn, Figure, Panel, listed};
use crate::chart::{count, latency_ns};
use crate::exhibit::{Exhibit, Total};
use crate::rows::size_word;
use std::collections::{BTreeMap, BTreeSet};

pub const PANEL: Panel = Panel {
    name: "mix-map",
    title: "Reads and writes together",
    about: "Each column is a mix, from writes only (0) to reads only (100). Each row is a block size or a queue \
            depth. Darker means more, on a scale of ratios. In rows that darken to the right, writes cost more \
            than reads. Where the middle is paler than both ends, reads and writes disturb each other. A red \
            edge marks a broken limit: the limit of the search, otherwise a mean of 10 ms; where workloads have \
            different limits, each has its own.",
    figures: draw,
};

/// Minimum number of cells of a map.
const LEAST_CELLS: usize = 3;

/// What distinguishes pictures: place with the settings that differ, order of the offsets, and what the rows have in common.
type Key = (String, &'static str, u64);

/// Cells by share of reads and row. If a workload was measured repeatedly, the last result counts.
type Cells = BTreeMap<(u64, u64), Total>;

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let width = drawn.width;
    let mut by_depth: BTreeMap<Key, Cells> = BTreeMap::new();
    for (place, totals) in placed(drawn.exhibits) {
        for total in totals {
            let access = &total.access;
            let key = (place.clone(), access.order, u64::from(access.queue_depth));
            let cell = (u64::from(access.read_percent), access.block_bytes);
            by_depth.entry(key).or_default().insert(cell, total);
        }
    }
    let by_size = by_size(&mut by_depth);
    let all: Vec<Total> = drawn.all().flat_map(Exhibit::totals).collect();
    let ends = |order: &str| map::ends(all.iter().filter(|total| total.access.order == order));
    let sizes = by_depth.iter().filter_map(|((place, order, queue_depth), cells)| {
        let title = format!("{order}, {queue_depth} outstanding, {place}");
        figure(title, cells, Side::sizes, ends(order), width)
    });
    let queue_depths = by_size.iter().filter_map(|((place, order, bytes), cells)| {
        let title = format!("{order}, blocks of {}, {place}", size_word(*bytes));
        figure(title, cells, Side::queue_depths, ends(order), width)
    });
    sizes.chain(queue_depths).collect()
}

/// Moves out the workloads that have a single block size at their queue depth: they can differ only in
/// queue depth.
fn by_size(by_depth: &mut BTreeMap<Key, Cells>) -> BTreeMap<Key, Cells> {
    let mut by_size: BTreeMap<Key, Cells> = BTreeMap::new();
    by_depth.retain(|(place, order, queue_depth), cells| {
        let sizes: BTreeSet<u64> = cells.keys().map(|(_, bytes)| *bytes).collect();
        if sizes.len() > 1 {
            return true;
        }
        for ((read_percent, bytes), total) in cells {
            let key = (place.clone(), *order, *bytes);
            by_size.entry(key).or_default().insert((*read_percent, *queue_depth), total.clone());
        }
        false
    });
    by_size
}

fn figure(
    title: String,
    cells: &Cells,
    rows: fn(BTreeSet<u64>) -> Side,
    ends: Ends,
    width: f64,
) -> Option<Figure> {
    let mixes: BTreeSet<u64> = cells.keys().map(|(read_percent, _)| *read_percent).collect();
    let in_rows: BTreeSet<u64> = cells.keys().map(|(_, row)| *row).collect();
    // Mixes that never share a row belong to different workloads.
    let compares = cells.len() > in_rows.len();
    if !compares || cells.len() < LEAST_CELLS {
        return None;
    }
    let percents = mixes.into_iter().map(|percent| (percent, percent.to_string())).collect();
    let map = Map {
        columns: Side { title: "% reads", values: percents },
        rows: rows(in_rows),
        cells: cells.iter().map(|(cell, total)| (*cell, total)).collect(),
        ends,
    };
    let (description, scene) = (description(&map), map.draw(width));
    Some(Figure { title, description, scene })
}

fn description(map: &Map<'_>) -> String {
    let row = |(row, word): &(u64, String)| {
        let cells = map.columns.values.iter().filter_map(|(column, percent)| {
            let total = map.cells.get(&(*column, *row))?;
            Some(format!("{percent} % reads {}", count(total.iops)))
        });
        let cells: Vec<String> = cells.collect();
        format!("{} {word}: {} I/Os per second.", map.rows.title, listed(&cells))
    };
    let slowest = map.cells.values().max_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns));
    let slowest = slowest.map(|total| {
        format!(
            "The longest mean is {}: {} % reads, blocks of {}, queue depth {}.",
            latency_ns(total.mean_ns),
            total.access.read_percent,
            size_word(total.access.block_bytes),
            total.access.queue_depth
        )
    });
    map.rows.values.iter().map(row).chain(slowest).collect::<Vec<_>>().join(" ")
}
