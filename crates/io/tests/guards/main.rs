//! Tests of the guards and the life cycle of a test file, on real files and loop devices.
//!
//! Loop devices and mounts need root. A test without what it needs reports that it is skipped, or fails if
//! `IOGAUGE_REQUIRE_ALL=1` is set.
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
