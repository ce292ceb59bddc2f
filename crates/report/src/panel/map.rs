//! Maps of IOPS, bandwidth and latency for workloads that differ in two dimensions, with a cell for each
//! workload.

use crate::chart::{
    Anchor, Hover, HoverPoint, Ink, Mark, Scene, Stroke, Text, bytes_per_sec, count, latency_ns,
    legend, short, width_of,
};
use crate::exhibit::{Exhibit, Settings, Total, differing, split_by};
use crate::rows::size_word;
use crate::terminal::listed;
use std::collections::{BTreeMap, BTreeSet};

/// A dimension: its title, and its values with their labels, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    pub title: &'static str,
    pub values: Vec<(u64, String)>,
}

/// Workloads by column and row.
#[derive(Debug)]
pub struct Map<'a> {
    pub columns: Side,
    pub rows: Side,
    /// Keys are the value of the column and that of the row.
    pub cells: BTreeMap<(u64, u64), &'a Total>,
    pub ends: Ends,
}

/// The smallest and the largest value of each figure of [`SHOWN`], over all pictures that share scales.
pub type Ends = [[f64; 2]; SHOWN.len()];

/// Returns the ends of scales that include these workloads.
pub fn ends<'a>(totals: impl Iterator<Item = &'a Total> + Clone) -> Ends {
    SHOWN.map(|shown| {
        crate::panel::ends(totals.clone().map(shown.of)).unwrap_or([f64::INFINITY, 0.0])
    })
}

/// A figure that has a map of its own.
struct Shown {
    title: &'static str,
    of: fn(&Total) -> f64,
    ink: fn(u8) -> Ink,
    /// Returns the unit of a whole map, given its smallest value: its name and the divisor.
    unit: fn(f64) -> (&'static str, f64),
}

const SHOWN: [Shown; 3] = [
    Shown {
        title: "I/Os per second",
        of: |total| total.iops,
        ink: Ink::Amount,
        unit: |_| ("", 1.0),
    },
    Shown {
        title: "bandwidth",
        of: |total| total.bytes_per_sec,
        ink: Ink::Amount,
        unit: |_| (", MB/s", 1e6),
    },
    Shown {
        title: "mean latency",
        of: |total| total.mean_ns,
        ink: Ink::Wait,
        unit: |least| if least < 1e5 { (", µs", 1e3) } else { (", ms", 1e6) },
    },
];

/// Space left of the cells for the row labels, and above them for both titles and the column labels.
const LEFT: f64 = 44.0;
const ABOVE: f64 = 46.0;
/// Height of a row.
const ROW: f64 = 24.0;
/// Minimum width of a map next to others.
const BESIDE: f64 = 290.0;
/// A bandwidth of at least this share of another counts as equal.
const AS_MANY: f64 = 0.99;
/// What a workload violates if workloads have different limits.
const OWN_LIMIT: &str = "its own limit";
/// Text sizes of cells, from the largest; the first that fits is used.
const LETTERS: [f64; 3] = [11.0, 10.0, 9.0];

impl Side {
    /// Creates a dimension of block sizes.
    pub fn sizes(sizes: BTreeSet<u64>) -> Self {
        let values = sizes.into_iter().map(|bytes| (bytes, size_word(bytes))).collect();
        Self { title: "block size", values }
    }

    /// Creates a dimension of queue depths.
    pub fn queue_depths(queue_depths: BTreeSet<u64>) -> Self {
        let values = queue_depths
            .into_iter()
            .map(|queue_depth| (queue_depth, queue_depth.to_string()))
            .collect();
        Self { title: "I/Os outstanding", values }
    }
}

impl<'a> Map<'a> {
    /// Returns the share of the cells that were measured.
    pub fn filled(&self) -> f64 {
        let cells = self.columns.values.len() * self.rows.values.len();
        self.cells.len() as f64 / cells.max(1) as f64
    }

    fn at(&self, column: u64, row: u64) -> Option<&'a Total> {
        self.cells.get(&(column, row)).copied()
    }

    /// Returns the workload that moves the most bytes while its limits hold; among equals, the one with the
    /// lowest mean latency. Returns `None` also if workloads have different limits, because then no single
    /// answer fits all of them.
    pub fn best(&self) -> Option<&'a Total> {
        self.limits()?;
        let within = || self.cells.values().copied().filter(|total| total.within);
        let most = within().map(|total| total.bytes_per_sec).fold(0.0, f64::max);
        let as_many = within().filter(|total| total.bytes_per_sec >= AS_MANY * most);
        as_many.min_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns))
    }

    /// Returns the limits that all cells share; `None` if they differ.
    pub fn limits(&self) -> Option<String> {
        let mut words = self.cells.values().map(|total| limits(total));
        let first = words.next()?;
        words.all(|other| other == first).then_some(first)
    }

    /// Draws the maps next to each other if there is space.
    pub fn draw(&self, width: f64) -> Scene {
        let beside = ((width / BESIDE) as usize).clamp(1, SHOWN.len());
        let high = ABOVE + ROW * self.rows.values.len() as f64 + 12.0;
        let mut scene = Scene::new(width, high * SHOWN.len().div_ceil(beside) as f64);
        let wide = width / beside as f64;
        for (number, (shown, ends)) in SHOWN.iter().zip(self.ends).enumerate() {
            let x = wide * (number % beside) as f64;
            let y = high * (number / beside) as f64;
            self.one(&mut scene, shown, ends, [x, y, wide - 10.0]);
        }
        let limits = self.limits().unwrap_or_else(|| OWN_LIMIT.to_owned());
        let [over, best] = ["breaks", "most bytes within"].map(|word| format!("{word} {limits}"));
        let mut entries = Vec::new();
        if self.cells.values().any(|total| !total.within) {
            entries.push((Ink::Limit, &*over));
        }
        if self.best().is_some() {
            entries.push((Ink::Good, &*best));
        }
        let place = [0.0, scene.height + 2.0, width];
        scene.height = place[1] + legend(&mut scene, place, &entries) + 6.0;
        scene
    }

    fn one(&self, scene: &mut Scene, shown: &Shown, ends: [f64; 2], [x, y, width]: [f64; 3]) {
        let (unit, divisor) = (shown.unit)(ends[0]);
        let title = format!("{}{unit}", shown.title);
        scene.text(Text::new(x, y + 12.0, Anchor::Start, Ink::Text, title).bold());
        let column = (width - LEFT) / self.columns.values.len().max(1) as f64;
        let middle = |number: usize| x + LEFT + column * (number as f64 + 0.5);
        let sides = format!("{} down, {} across", self.rows.title, self.columns.title);
        scene.text(Text::new(x, y + 27.0, Anchor::Start, Ink::Muted, sides).size(10.0));
        self.columns(scene, column, &|number| (middle(number), y + ABOVE - 5.0));
        for (number, (row, word)) in self.rows.values.iter().enumerate() {
            let top = y + ABOVE + ROW * number as f64;
            let place = (x + LEFT - 5.0, top + ROW / 2.0 + 4.0);
            scene.text(Text::new(place.0, place.1, Anchor::End, Ink::Muted, word));
            let mut points = Vec::new();
            for (number, (column_value, _)) in self.columns.values.iter().enumerate() {
                let Some(total) = self.at(*column_value, *row) else { continue };
                let place = [middle(number) - column / 2.0, top, column, ROW];
                let value = (shown.of)(total);
                let level = level(value, ends);
                let words = words(value / divisor);
                self.cell(scene, place, (shown.ink)(level), &words, total);
                points.push(HoverPoint { x: middle(number), lines: told(total) });
            }
            let (x, width) = (x + LEFT, width - LEFT);
            scene.add(Mark::Hover(Hover { x, y: top, width, height: ROW, points }));
        }
    }

    /// Draws the column labels, skipping some if they would touch.
    fn columns(&self, scene: &mut Scene, width: f64, place: &dyn Fn(usize) -> (f64, f64)) {
        let widest = self.columns.values.iter().map(|(_, word)| width_of(word, Text::SIZE));
        let every = ((widest.fold(0.0, f64::max) + 4.0) / width.max(1.0)).ceil().max(1.0) as usize;
        for (number, (_, word)) in self.columns.values.iter().enumerate().step_by(every) {
            let (x, y) = place(number);
            scene.text(Text::new(x, y, Anchor::Middle, Ink::Muted, word));
        }
    }

    fn cell(
        &self,
        scene: &mut Scene,
        [x, y, width, height]: [f64; 4],
        ink: Ink,
        words: &str,
        total: &Total,
    ) {
        scene.rect([x + 0.5, y + 0.5, width - 1.0, height - 1.0], ink, 1.0);
        if !total.within {
            scene.rect([x + 0.5, y + 0.5, 3.0, height - 1.0], Ink::Limit, 1.0);
        }
        if self.best().is_some_and(|best| best.access == total.access) {
            let (left, right, top, bottom) = (x + 1.5, x + width - 1.5, y + 1.5, y + height - 1.5);
            let edge = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
            scene.line(edge, Stroke::solid(Ink::Good, 2.0));
        }
        let fits = |size: &&f64| width_of(words, **size) <= width - 1.0;
        if let Some(size) = LETTERS.iter().find(fits) {
            let place = (x + width / 2.0, y + height / 2.0 + size * 0.36);
            let text = Text::new(place.0, place.1, Anchor::Middle, Ink::Text, words);
            scene.text(text.size(*size));
        }
    }
}

/// Returns the workloads of runs by place. Where they differ in settings, each combination of these has a place of its
/// own, because one map cannot show several.
pub fn placed(exhibits: &[Exhibit]) -> Vec<(String, Vec<Total>)> {
    let mut places: BTreeMap<String, Vec<Total>> = BTreeMap::new();
    for exhibit in exhibits {
        places.entry(exhibit.place()).or_default().extend(exhibit.totals());
    }
    let parts = places.into_iter().flat_map(|(place, totals)| {
        // Reads and writes may differ in settings by design, such as `sync`.
        let mut kinds: BTreeMap<(&str, u32), Vec<&Settings>> = BTreeMap::new();
        for total in &totals {
            let kind = (total.access.order, total.access.read_percent);
            kinds.entry(kind).or_default().push(&total.settings);
        }
        let mut names: Vec<String> = Vec::new();
        for kind in kinds.into_values() {
            let own = differing(kind.into_iter());
            names.extend(own.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        }
        let parts = split_by(totals, &names, |total| &total.settings).into_iter();
        parts.map(move |(words, part)| match words.is_empty() {
            true => (place.clone(), part),
            false => (format!("{place}, {words}"), part),
        })
    });
    parts.collect()
}

/// Returns the level of a value between the ends of a map. Levels are logarithmic because workloads differ
/// by factors.
fn level(value: f64, [least, most]: [f64; 2]) -> u8 {
    let share =
        if most > least { (value.max(least) / least).ln() / (most / least).ln() } else { 0.5 };
    let level = (share * f64::from(Ink::LEVELS)).floor();
    (level as u8).min(Ink::LEVELS - 1)
}

/// Formats a value with at most four characters and a decimal point.
fn words(value: f64) -> String {
    if value >= 1000.0 { count(value) } else { short(value) }
}

/// Returns the limits of a workload as text.
fn limits(total: &Total) -> String {
    let mut words: Vec<String> = total.limits.iter().map(ToString::to_string).collect();
    words.sort();
    words.dedup();
    listed(&words)
}

fn told(total: &Total) -> Vec<String> {
    let access = &total.access;
    let keeps = if total.within { "keeps" } else { "breaks" };
    vec![
        format!(
            "{}, {} % reads, {} outstanding",
            size_word(access.block_bytes),
            access.read_percent,
            access.queue_depth
        ),
        format!("{} IOPS", count(total.iops)),
        bytes_per_sec(total.bytes_per_sec),
        format!("mean {}", latency_ns(total.mean_ns)),
        format!("{keeps} {}", limits(total)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_color_levels_are_logarithmic() {
        let ends = [1.0, 1e4];
        assert_eq!([1.0, 9.9, 11.0, 1.1e3, 1e4].map(|value| level(value, ends)), [0, 1, 2, 6, 7]);
        assert_eq!(level(5.0, [5.0, 5.0]), 4);
        assert_eq!(level(0.0, ends), 0);
        assert_eq!(level(0.0, [f64::INFINITY, 0.0]), 4);
    }

    #[test]
    fn map_cell_labels_are_compact() {
        let shown = [0.0, 0.083, 12.5, 999.0, 1234.0, 12_500.0, 3.2e6].map(words);
        assert_eq!(shown, ["0", "0.083", "12.5", "999", "1234", "12.5k", "3.2M"]);
    }
}
