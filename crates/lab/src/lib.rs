//! iogauge-lab

pub mod stats;
