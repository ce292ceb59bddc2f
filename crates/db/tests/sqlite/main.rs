//! What only SQLite's backend has: its logs and checkpoints, crashes, disks that are full or read-only.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod disks;
mod killed;
mod logs;
mod support;
