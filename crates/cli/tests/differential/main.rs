//! Job files through fio and through iogauge on the same devices, by what the kernel saw of both.
//!
//! Each test runs one file of `jobs/` with both. Where the file decides what is done (amounts,
//! sequential orders, maps of random blocks), both have to do the same; where chance does, both
//! have to be samples of one distribution. Differences that are meant are in docs/formats.md.
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
