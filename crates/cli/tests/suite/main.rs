//! Suites through the binary: what all of them keep to, and each one's own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod own;
mod resume;
mod table;
mod verify;
