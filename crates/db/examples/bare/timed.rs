//! Workers that repeat a transaction for a while, counted.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "it ends where something fails")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What workers share.
#[derive(Default)]
pub struct Count {
    transactions: AtomicU64,
    stop: AtomicBool,
}

impl Count {
    /// True until the time is over.
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// A transaction is committed.
    pub fn committed(&self) {
        self.transactions.fetch_add(1, Ordering::Relaxed);
    }
}

/// Lets a thread of each worker, numbered from 1, do `each`, and prints `ALL MEASURED SECONDS`:
/// transactions in all, those behind the ramp time, and the time they took.
pub fn work(workers: u32, ramp: Duration, time: Duration, each: impl Fn(u32, &Count) + Sync) {
    let count = Count::default();
    let done = || count.transactions.load(Ordering::Relaxed);
    let (measured, seconds) = std::thread::scope(|scope| {
        for worker in 1..=workers {
            let (each, count) = (&each, &count);
            scope.spawn(move || each(worker, count));
        }
        std::thread::sleep(ramp);
        let (before, begin) = (done(), Instant::now());
        std::thread::sleep(time);
        let reached = (done() - before, begin.elapsed().as_secs_f64());
        count.stop.store(true, Ordering::Relaxed);
        reached
    });
    println!("{} {measured} {seconds:.6}", done());
}

/// The arguments behind the first, as numbers.
pub fn numbers(arguments: &[String]) -> Vec<u64> {
    arguments.iter().map(|text| text.parse().expect("a number")).collect()
}
