//! Charts: marks in a plane, and how they become SVG and PNG.
//!
//! A panel makes a [`Scene`] with the help of [`Frame`]s (a plot area with its axes) and [`Scale`]s. A
//! scene knows no colours, only [`Ink`]s: roles that a [`Theme`] paints. [`svg::file`] writes a picture that
//! stands alone, [`svg::inline`] one that takes its colours from the page around it, and [`png::render`] what
//! the first one looks like. Units are CSS pixels; y grows downwards.

mod frame;
mod ink;
mod labels;
mod path;
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
