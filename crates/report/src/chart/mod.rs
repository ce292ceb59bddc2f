//! Charts: marks in a plane, rendered as SVG and PNG.
//!
//! A panel builds a [`Scene`] from [`Frame`]s (plot areas with axes) and [`Scale`]s. A scene contains no
//! colours, only [`Ink`]s: roles to which a [`Theme`] assigns colours. [`svg::file`] writes a stand-alone
//! picture, [`svg::inline`] one that takes its colours from the surrounding page, and [`png::render`]
//! rasterises the stand-alone picture. Units are CSS pixels; y grows downwards.

mod frame;
mod ink;
mod labels;
mod path;
#[cfg(feature = "png")]
pub mod png;
mod scale;
mod scene;
pub mod svg;
mod text;
mod units;

pub use frame::{Axis, Frame, faint_legend, legend};
pub use ink::{DARK, Ink, LIGHT, Theme};
pub use labels::Labels;
pub use scale::Scale;
pub use scene::{Anchor, Hover, HoverPoint, Mark, Scene, Stroke, Text};
pub use text::{width_of, wrapped};
pub(crate) use units::short;
pub use units::{bytes, bytes_per_sec, count, latency_ns, percent, seconds, times};
