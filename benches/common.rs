//! Helpers of the benchmarks.

use criterion::Criterion;
use iogauge_io::engine::Files;
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{PoolJob, WorkerPool};
use iogauge_model::load::Load;
use std::time::{Duration, Instant};

/// Returns settings that make all benchmarks short enough to run before a commit.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args()
}

/// Returns a job on a target of this size without files.
#[allow(dead_code, reason = "not every benchmark has a pool")]
pub(crate) fn job(load: Load, size_bytes: u64) -> PoolJob {
    let extents = vec![Extent { base_bytes: 0, size_bytes }];
    PoolJob { load, files: Files::default(), extents }
}

/// Returns the wall time of `wanted` I/Os of a running pool. The pool is polled every `look_ns` of its own time, and
/// the time of the I/Os done until the last poll is scaled to `wanted`.
#[allow(dead_code, reason = "not every benchmark has a pool")]
pub(crate) fn time_of_ios(pool: &mut dyn WorkerPool, wanted: u64, look_ns: u64) -> Duration {
    let before = pool.live().ios;
    let start = Instant::now();
    loop {
        let advanced = pool.advance(look_ns);
        assert!(advanced.is_ok(), "{advanced:?}");
        let done = pool.live().ios - before;
        if done >= wanted {
            return start.elapsed().mul_f64(wanted as f64 / done as f64);
        }
    }
}
