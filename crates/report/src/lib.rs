//! Results as text and pictures: pure functions of the documents of `iogauge-model`, so that any stored run
//! can be shown again offline. Nothing here prints, measures or reads a clock.
#![forbid(unsafe_code)]

pub mod chart;
pub mod ci;
pub mod classic;
pub mod csv;
pub mod exhibit;
pub mod html;
pub mod panel;
pub mod rows;
pub mod settings;
pub mod terminal;
