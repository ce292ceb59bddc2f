//! What the benchmarks share.

use criterion::Criterion;
use iogauge_io::crew::{Crew, CrewJob};
use iogauge_io::engine::Files;
use iogauge_io::offsets::Extent;
use iogauge_model::load::Load;
use std::time::{Duration, Instant};

/// Short enough to run all of them before a commit.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args()
}

/// A job on a target of this size that opens no file.
#[allow(dead_code, reason = "not every benchmark has a crew")]
pub(crate) fn job(load: Load, size_bytes: u64) -> CrewJob {
    let extents = vec![Extent { base_bytes: 0, size_bytes }];
    CrewJob { load, files: Files::default(), extents }
}

/// Wall time of `wanted` I/Os of a crew under way, which is looked at every `look_ns` of its own
/// time: the time of those done in whole looks, scaled.
#[allow(dead_code, reason = "not every benchmark has a crew")]
pub(crate) fn time_of_ios(crew: &mut dyn Crew, wanted: u64, look_ns: u64) -> Duration {
    let before = crew.live().ios;
    let start = Instant::now();
    loop {
        let advanced = crew.advance(look_ns);
        assert!(advanced.is_ok(), "{advanced:?}");
        let done = crew.live().ios - before;
        if done >= wanted {
            return start.elapsed().mul_f64(wanted as f64 / done as f64);
        }
    }
}
