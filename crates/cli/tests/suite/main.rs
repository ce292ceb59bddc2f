//! Suites through the binary: what all suites have in common, and what is specific to each.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod best_worst;
mod blocksize;
#[path = "../common/mod.rs"]
mod common;
mod iometer;
mod ladder;
mod oltp;
mod own;
mod resume;
mod snia;
mod table;
mod verify;
