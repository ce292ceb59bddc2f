//! Pools: changed while they run, cut into windows that lose nothing, paced, and ended.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod arrivals;
mod device_state;
mod fio;
mod options;
mod simulated;
mod threads;
