//! Results to text and pictures: pure functions from the documents of `iogauge-model`, so that any
//! stored run is shown again offline. Nothing here prints, measures or reads a clock.
#![forbid(unsafe_code)]

pub mod chart;
pub mod classic;
pub mod csv;
pub mod exhibit;
pub mod html;
pub mod panel;
pub mod terminal;
