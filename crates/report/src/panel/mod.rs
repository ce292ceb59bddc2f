//! Panels: the kinds of pictures of runs, one file each.

mod block_layer;
mod block_size_map;
mod capacity_curve;
mod distribution;
mod grades;
mod heat;
mod latency_by_load;
mod map;
mod mix_map;
mod over_time;
mod rounds;
mod system;
mod timeline;

use crate::chart::Scene;
use crate::exhibit::Exhibit;
use crate::terminal::listed;

#[derive(Debug, Clone, Copy)]
pub struct Panel {
    /// Its name in files and on the command line.
    pub name: &'static str,
    pub title: &'static str,
    /// What it shows and how to read it, for first-time readers.
    pub about: &'static str,
    /// Draws the runs in pictures of this width; returns nothing if the runs have no data for it.
    pub draw: fn(&[Exhibit], f64) -> Vec<Figure>,
}

/// Every panel, in the order of a report.
pub const PANELS: &[Panel] = &[
    capacity_curve::PANEL,
    grades::PANEL,
    latency_by_load::PANEL,
    block_size_map::PANEL,
    mix_map::PANEL,
    rounds::PANEL,
    distribution::PANEL,
    over_time::PANEL,
    system::PANEL,
    block_layer::PANEL,
];

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

/// Panels that draw each run over time.
pub(crate) const OVER_TIME: [&str; 2] = [over_time::PANEL.name, system::PANEL.name];
pub(crate) use timeline::most as points_over_time;

/// With at least this many runs, the picture of each has fewer points, so that the page stays small enough
/// to mail.
pub(crate) const CROWD: usize = 20;

/// Returns how latency grows with load, both given before and after: (latency ratio − 1) / load ratio.
fn scaling(latency: [f64; 2], load: [f64; 2]) -> f64 {
    (latency[1] / latency[0] - 1.0) / (load[1] / load[0])
}

/// Formats a value with two decimals, without the sign of a negative zero.
fn hundredths(value: f64) -> String {
    format!("{:.2}", (value * 100.0).round() / 100.0 + 0.0)
}
