//! Every row of the table of engines, put through the same cases.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bench;
mod cases;
mod faults;
#[path = "../guards/support.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "shared with the guards' tests")]
mod support;
