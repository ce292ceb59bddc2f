//! A device whose speed is known: the kernel lets so many I/Os through in a second.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "guards/support.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "shared with the guards' tests")]
mod support;
#[path = "support/throttle.rs"]
mod throttle;

use iogauge_io::crew::{Crew, CrewJob, ThreadCrew};
use iogauge_io::engine::{self, Files};
use iogauge_io::offsets::Extent;
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{EngineKind, Load};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Loop, MIB, or_skip};
use throttle::Throttle;

const MS: u64 = 1_000_000;
const IOPS: u32 = 1000;
const DEPTH: u32 = 32;

fn start(device: &Path, engine: EngineKind) -> ThreadCrew {
    let load = Load { engine, iodepth: DEPTH, ..Load::default() };
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(device).unwrap();
    let files: Files = Arc::new(vec![file.into()]);
    let extents = vec![Extent { base_bytes: 0, size_bytes: 64 * MIB }];
    ThreadCrew::start(vec![CrewJob { load, files, extents }], DEPTH).unwrap()
}

/// Lets the crew work until it is between two releases.
///
/// The kernel releases a tenth of a second's worth of I/Os at once (`throtl_slice`, 100 ms). A
/// window that begins and ends anywhere holds one release more or less than its length is worth;
/// one that begins and ends in the pause after a release holds whole periods.
fn to_the_next_pause(crew: &mut ThreadCrew) {
    let deadline = Instant::now() + Duration::from_secs(5);
    let (mut seen, mut quiet_ms) = (crew.live().ios, None);
    loop {
        assert!(Instant::now() < deadline, "nothing is released: {:?}", crew.live());
        crew.advance(MS).unwrap();
        let now = crew.live().ios;
        quiet_ms = if now != seen { Some(0) } else { quiet_ms.map(|ms| ms + 1) };
        seen = now;
        if quiet_ms == Some(20) {
            return;
        }
    }
}

/// So many seconds between two pauses, after a second of ramp.
fn measure(device: &Path, engine: EngineKind, seconds: u64) -> Window {
    let mut crew = start(device, engine);
    crew.advance(1000 * MS).unwrap();
    to_the_next_pause(&mut crew);
    crew.cut().unwrap();
    crew.advance(1000 * MS * seconds - 50 * MS).unwrap();
    to_the_next_pause(&mut crew);
    let window = crew.cut().unwrap();
    crew.stop().unwrap();
    window
}

fn assert_near(what: &str, got: f64, wanted: f64, share: f64) {
    assert!((got - wanted).abs() <= wanted * share, "{what}: {got}, not {wanted}");
}

#[test]
fn a_device_of_known_speed_is_measured_right() {
    let device = or_skip!("a_device_of_known_speed", Loop::new(64 * MIB));
    let limit = Throttle::this_process(&device.path, IOPS);
    let _limit = or_skip!("a_device_of_known_speed", limit);
    let engines = [(EngineKind::IoUring, 4), (EngineKind::Libaio, 2), (EngineKind::Psync, 2)];
    for (engine, seconds) in engines.into_iter().filter(|(e, _)| engine::probe(*e).is_ok()) {
        let window = measure(&device.path, engine, seconds);
        let name = engine::info(engine).name;
        let law = window.iops() * window.service().mean_ns() / 1e9;
        assert_eq!(window.errors(), 0, "{name}");
        assert_near(&format!("{name}: depth kept"), window.depth(), f64::from(DEPTH), 0.02);
        assert_near(&format!("{name}: Little's law"), law, window.depth(), 0.02);
        assert_near(&format!("{name}: IOPS"), window.iops(), f64::from(IOPS), 0.01);
    }
}
