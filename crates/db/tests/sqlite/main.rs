//! Tests of what only the SQLite backend has: logs and checkpoints, crashes, full and read-only disks.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod disks;
mod killed;
mod logs;
mod support;
