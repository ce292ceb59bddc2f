//! Every row of the table of engines, put through the same cases.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bench;
mod cases;
mod faults;
