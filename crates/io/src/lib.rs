//! iogauge-io
pub mod target;
