//! iogauge-io

pub mod system;
