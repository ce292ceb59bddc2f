//! Panels: what is drawn of runs, one file each.

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

/// One kind of picture.
#[derive(Debug, Clone, Copy)]
pub struct Panel {
    /// Its name in files and on the command line.
    pub name: &'static str,
    pub title: &'static str,
    /// What it shows and how it is read, for those who see it for the first time.
    pub about: &'static str,
    /// Draws what it can of the runs, in pictures of this width; nothing where they have nothing for it.
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

/// A picture with its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is of, within its panel: `randread 8K, host`.
    pub title: String,
    /// What can be seen in it, in sentences: the text alternative.
    pub description: String,
    pub scene: Scene,
}

/// Width of a picture on a page that has room.
pub const WIDE: f64 = 920.0;
/// Width of a picture beside another one on a page that has room.
pub const BESIDE: f64 = 560.0;
/// Width of a picture on a telephone.
pub const NARROW: f64 = 360.0;

/// Panels that draw each run over time.
pub(crate) const OVER_TIME: [&str; 2] = [over_time::PANEL.name, system::PANEL.name];
pub(crate) use timeline::most as points_over_time;

/// From so many runs on, pictures of each run have fewer points, so that all fit on a page that can be mailed.
pub(crate) const CROWD: usize = 20;

/// Growth of latency for growth of load, each from the first to the second: (latency ratio − 1) / load ratio.
fn scaling(latency: [f64; 2], load: [f64; 2]) -> f64 {
    (latency[1] / latency[0] - 1.0) / (load[1] / load[0])
}

/// Two digits behind the point, without the sign of nothing.
fn hundredths(value: f64) -> String {
    format!("{:.2}", (value * 100.0).round() / 100.0 + 0.0)
}
