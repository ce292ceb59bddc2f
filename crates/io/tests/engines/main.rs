//! Runs the same cases on every row of the engine table.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bench;
mod cases;
mod faults;
