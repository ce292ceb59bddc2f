//! Tests of worker pools: changes while they run, windows that lose nothing, arrival rates, and how pools end.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod arrivals;
mod device_state;
mod fio;
mod hosts;
mod options;
mod simulated;
mod threads;
