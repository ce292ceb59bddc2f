//! What only SQLite's backend has: its logs and checkpoints, crashes, disks that are full or read-only.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod disks;
mod killed;
mod logs;
#[path = "../conformance/model.rs"]
#[allow(dead_code, reason = "the conformance test uses all of it")]
mod model;
mod support;
