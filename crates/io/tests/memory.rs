//! Tests that memory does not grow with the length of a run. This needs its own process, because the kernel keeps one
//! peak per process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use iogauge_io::engine::Op;
use iogauge_io::machine::peak_rss_bytes;
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{PoolJob, ThreadPool, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{EngineKind, Load, Pattern};
use std::sync::Arc;

/// Windows in an hour at ten a second.
const TICKS: u64 = 36_000;
const MOST_BYTES: u64 = 64 << 20;

#[test]
fn memory_use_does_not_grow_with_run_length() {
    let load = Load {
        rw: Pattern::RandRw,
        iodepth: 32,
        numjobs: 1,
        engine: EngineKind::Null,
        ..Load::default()
    };
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 40 }];
    let job = PoolJob { load, files: Arc::default(), extents };
    let mut pool = ThreadPool::start(vec![job], 128).unwrap();
    let mut total = Window::default();
    let mut after_a_second = 0;
    for tick in 0..TICKS {
        // Takes the windows of an hour as fast as the workers hand them over.
        total.append(&pool.take_window().unwrap());
        if tick == 100 {
            after_a_second = peak_rss_bytes().unwrap();
        }
    }
    total.append(&pool.stop().unwrap());
    let peak = peak_rss_bytes().unwrap();
    assert_eq!(total.ios(), pool.live().ios);
    assert!(total.tally(Op::Read).ios() > TICKS, "too little was done: {}", total.ios());
    assert!(peak < MOST_BYTES, "{} MiB at the peak", peak >> 20);
    // The kernel sums its page counters approximately, so a later peak may read lower.
    let grown = peak.saturating_sub(after_a_second);
    assert!(grown < 4 << 20, "{} KiB more after an hour than after a second", grown >> 10);
}
