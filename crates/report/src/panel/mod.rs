//! Panels: the kinds of pictures of runs, one file each.

mod block_layer;
mod block_size_map;
mod capacity_curve;
mod compare;
mod distribution;
mod grades;
mod heat;
mod hosts_curve;
mod latency_by_load;
mod map;
mod mix_map;
mod over_time;
mod rounds;
mod system;
mod timeline;
mod trend;

use crate::chart::Scene;
use crate::exhibit::Exhibit;
use crate::rows::FINE;
use crate::terminal::listed;

#[derive(Debug, Clone, Copy)]
pub struct Panel {
    /// Its name in files and on the command line.
    pub name: &'static str,
    pub title: &'static str,
    /// What it shows and how to read it, for first-time readers.
    pub about: &'static str,
    figures: fn(&Drawn<'_>) -> Vec<Figure>,
}

/// Runs to draw.
#[derive(Debug, Clone, Copy)]
struct Drawn<'a> {
    /// The runs of one group.
    exhibits: &'a [Exhibit],
    /// The runs of each group, this one included.
    beside: &'a [&'a [Exhibit]],
    /// Width of a picture.
    width: f64,
}

impl<'a> Drawn<'a> {
    /// Returns the runs of all groups.
    fn all(&self) -> impl Iterator<Item = &'a Exhibit> {
        self.beside.iter().flat_map(|group| group.iter())
    }

    /// True if pictures stand side by side, so that they share their scales: those of several groups, or many small
    /// ones. Below each other, a picture of a slow target keeps its detail.
    fn share_scales(&self) -> bool {
        self.beside.len() > 1 || self.exhibits.len() >= MANY
    }
}

impl Panel {
    /// Draws runs in pictures of this width; returns nothing if the runs have no data for it.
    #[must_use]
    pub fn draw(&self, exhibits: &[Exhibit], width: f64) -> Vec<Figure> {
        self.draw_beside(exhibits, &[exhibits], width)
    }

    /// Draws the runs of one group, on the scales of all groups; `beside` are the runs of each group.
    #[must_use]
    pub fn draw_beside(
        &self,
        exhibits: &[Exhibit],
        beside: &[&[Exhibit]],
        width: f64,
    ) -> Vec<Figure> {
        (self.figures)(&Drawn { exhibits, beside, width })
    }
}

/// Returns the smallest and the largest of values that are numbers above 0, or `None`.
fn ends(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.filter(|value| value.is_finite() && *value > 0.0).fold(None, |ends, value| match ends {
        Some([least, most]) => Some([value.min(least), value.max(most)]),
        None => Some([value, value]),
    })
}

/// Every panel, in the order of a report.
pub const PANELS: &[Panel] = &[
    capacity_curve::PANEL,
    hosts_curve::PANEL,
    compare::PANEL,
    grades::PANEL,
    latency_by_load::PANEL,
    block_size_map::PANEL,
    mix_map::PANEL,
    rounds::PANEL,
    distribution::PANEL,
    over_time::PANEL,
    system::PANEL,
    block_layer::PANEL,
    trend::PANEL,
];

/// The panel of a series of runs. No single run has data for it.
pub const OF_SERIES: &str = trend::PANEL.name;

/// A picture with its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows within its panel: `randread 8K, host`.
    pub title: String,
    /// What can be seen in it, in sentences: the text alternative.
    pub description: String,
    pub scene: Scene,
}

/// Width of a picture on a wide page.
pub const WIDE: f64 = 920.0;
/// Width of a picture next to another one on a wide page.
pub const BESIDE: f64 = 560.0;
/// Width of a picture on a phone.
pub const NARROW: f64 = 360.0;

/// If a panel has at least this many figures, they are small and stand side by side.
pub(crate) const MANY: usize = 9;

/// Panels that draw each run over time.
pub(crate) const OVER_TIME: [&str; 2] = [over_time::PANEL.name, system::PANEL.name];
pub(crate) use timeline::most as points_over_time;

/// With at least this many runs, the picture of each has fewer points, so that the page stays small enough
/// to mail.
pub(crate) const CROWD: usize = 20;

/// Returns how latency grows with load, both given before and after: (latency ratio − 1) / (load ratio − 1). 0 means
/// that latency does not grow, 1 that it grows as much as the load. Steps of any size compare.
fn scaling(latency: [f64; 2], load: [f64; 2]) -> f64 {
    (latency[1] / latency[0] - 1.0) / (load[1] / load[0] - 1.0)
}

/// Formats a value with two decimals, without the sign of a negative zero.
fn hundredths(value: f64) -> String {
    format!("{:.2}", (value * 100.0).round() / 100.0 + 0.0)
}

/// Returns the lower and upper edge of each bucket of [`FINE`] on a latency axis with these ends, in nanoseconds.
fn edges(least: f64, most: f64) -> [[f64; 2]; FINE.len()] {
    let upper = FINE.map(|bound| bound.map_or(most.max(2e9), |bound| bound as f64));
    let mut edges = [[0.0; 2]; FINE.len()];
    let mut lower = least.min(upper[0] / 2.0);
    for (edge, upper) in edges.iter_mut().zip(upper) {
        *edge = [lower, upper];
        lower = upper;
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_compares_unequal_steps() {
        for load in [[1.0, 2.0], [1.0, 8.0], [16.0, 32.0]] {
            let ratio = load[1] / load[0];
            assert_eq!(scaling([5.0, 5.0], load), 0.0);
            assert_eq!(scaling([5.0, 5.0 * ratio], load), 1.0, "as much as the load");
        }
        assert_eq!(scaling([4.0, 3.0], [1.0, 2.0]), -0.25);
    }
}
