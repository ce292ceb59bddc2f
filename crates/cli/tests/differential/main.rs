//! Job files run by fio and by iogauge on the same devices, compared by the I/Os that the kernel traced.
//!
//! Each test runs one file of `jobs/` with both tools. If the file determines the I/Os (amounts, sequential orders,
//! maps of random blocks), both tools must do the same. If they are random, both must be samples of one distribution.
//! docs/formats.md lists the intended differences.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod files;
mod pair;
mod places;
mod reports;
mod seen;
mod sequences;
mod sizes;
mod stage;
mod statistics;
mod time;
mod trace;
