//! Pools: changed while they run, cut into windows that lose nothing, paced, and ended.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod arrivals;
mod device_state;
mod fio;
#[path = "../support/mmc.rs"]
mod mmc;
mod options;
mod simulated;
#[path = "../guards/support.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "shared with the guards' tests")]
mod support;
mod threads;
