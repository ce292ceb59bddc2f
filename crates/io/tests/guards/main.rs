//! The guards and the life of a test file, on real files and loop devices.
//!
//! Needs root for loop devices and mounts; what cannot be had is skipped with a word, or fails
//! where `IOGAUGE_REQUIRE_ALL=1`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod confine;
mod devices;
mod files;
mod lifetime;
mod loops;
mod making;
mod names;
mod room;
mod signatures;
mod support;
