//! Measures a device of known speed: the kernel limits its IOPS.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use iogauge_io::engine::{self, Files};
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{PoolJob, ThreadPool, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{EngineKind, Load};
use iogauge_test_support::{Loop, MIB, Throttle, or_skip};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MS: u64 = 1_000_000;
const IOPS: u32 = 1000;
const DEPTH: u32 = 32;

fn start(device: &Path, engine: EngineKind) -> ThreadPool {
    let load = Load { engine, iodepth: DEPTH, ..Load::default() };
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(device).unwrap();
    let files: Files = Arc::new(vec![file.into()]);
    let extents = vec![Extent { base_bytes: 0, size_bytes: 64 * MIB }];
    ThreadPool::start(vec![PoolJob { load, files, extents }], DEPTH).unwrap()
}

/// Runs the pool until the pause between two releases of I/Os.
///
/// The kernel releases the I/Os of 100 ms at once (`throtl_slice`). A window that begins and ends anywhere may contain
/// one release more or fewer than its length warrants. A window that begins and ends in the pause after a release
/// contains whole periods.
fn to_the_next_pause(pool: &mut ThreadPool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    let (mut seen, mut quiet_ms) = (pool.live().ios, None);
    loop {
        assert!(Instant::now() < deadline, "nothing is released: {:?}", pool.live());
        pool.advance(MS).unwrap();
        let now = pool.live().ios;
        quiet_ms = if now != seen { Some(0) } else { quiet_ms.map(|ms| ms + 1) };
        seen = now;
        if quiet_ms == Some(20) {
            return;
        }
    }
}

/// Measures for about this many seconds, from pause to pause.
fn measure(pool: &mut ThreadPool, seconds: u64) -> Window {
    to_the_next_pause(pool);
    pool.take_window().unwrap();
    pool.advance(1000 * MS * seconds - 50 * MS).unwrap();
    to_the_next_pause(pool);
    pool.take_window().unwrap()
}

fn is_near(got: f64, wanted: f64, share: f64) -> bool {
    (got - wanted).abs() <= wanted * share
}

#[test]
fn throttled_device_is_measured_at_its_iops_limit() {
    let device = or_skip!("a_device_of_known_speed", Loop::new(64 * MIB));
    let limit = Throttle::this_process(&device.path, IOPS);
    let _limit = or_skip!("a_device_of_known_speed", limit);
    let engines = [(EngineKind::IoUring, 4), (EngineKind::Libaio, 2), (EngineKind::Psync, 2)];
    for (engine, seconds) in engines.into_iter().filter(|(e, _)| engine::probe(*e).is_ok()) {
        let name = engine::info(engine).name;
        let mut pool = start(&device.path, engine);
        pool.advance(1000 * MS).unwrap();
        // A throttle grants its full rate only to threads that always have I/Os waiting. On a busy machine they do
        // not, and synchronous threads use their share late. So only one of several windows must be right in all.
        let mut read = Vec::new();
        loop {
            let window = measure(&mut pool, seconds);
            let (iops, queue_depth) = (window.iops(), window.queue_depth());
            let law = iops * window.service().mean_ns() / 1e9;
            assert_eq!(window.errors(), 0, "{name}");
            let kept =
                is_near(queue_depth, f64::from(DEPTH), 0.02) && is_near(law, queue_depth, 0.02);
            if kept && is_near(iops, f64::from(IOPS), 0.01) {
                break;
            }
            read.push(format!("{iops} IOPS, depth {queue_depth}, by Little's law {law}"));
            assert!(
                read.len() < 8,
                "{name}: not {IOPS} IOPS at depth {DEPTH}: {}",
                read.join("; ")
            );
        }
        pool.stop().unwrap();
    }
}
