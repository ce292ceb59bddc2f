//! Tests that a step of an hour takes no more memory than a short one. This needs its own process, because the kernel
//! keeps one peak per process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use iogauge_io::machine::peak_rss_bytes;
use iogauge_lab::measure::{self, Watch};
use iogauge_lab::observe::{Blind, Interrupt};
use iogauge_lab::session::rig::Rig;
use iogauge_model::Step;
use iogauge_model::load::{EngineKind, Load, Pattern};

const SECOND: u64 = 1_000_000_000;
const MOST_BYTES: u64 = 64 << 20;

#[test]
fn hour_long_run_uses_bounded_memory() {
    let rig = Rig::open("sim:service=50ms", iogauge_io::targets::Intent::default()).unwrap();
    let load = Load {
        rw: Pattern::RandRw,
        iodepth: 4,
        numjobs: 2,
        engine: EngineKind::Sim,
        ..Load::default()
    };
    let run = |seconds: u64| {
        let step = Step::single(load.clone(), SECOND, seconds * SECOND);
        let mut pool = rig.pool(&load, 8).unwrap();
        let mut watch = Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
        measure::step(pool.as_mut(), &step, None, &mut watch).unwrap().result
    };
    let short = run(60);
    let after_a_minute = peak_rss_bytes().unwrap();
    let long = run(3600);
    let peak = peak_rss_bytes().unwrap();
    // The whole hour was measured, with 160 I/Os per second.
    assert!((long.seconds - 3600.0).abs() < 1.0, "{}", long.seconds);
    let ios = long.read.unwrap().ios + long.write.unwrap().ios;
    assert!(ios.abs_diff(160 * 3600) < 160 * 36, "{ios}");
    assert!(long.series.len() <= 1201 && short.series.len() > 590);
    assert!(peak < MOST_BYTES, "{} MiB at the peak", peak >> 20);
    let grown = peak - after_a_minute;
    assert!(grown < 4 << 20, "{} KiB more after an hour than after a minute", grown >> 10);
}
