//! Creates engines and pools over files, in the same way for every engine.

use iogauge_io::buffers::BufferPool;
use iogauge_io::engine::io_uring::Uring;
use iogauge_io::engine::libaio::Libaio;
use iogauge_io::engine::mmap::Mmap;
use iogauge_io::engine::null::Null;
use iogauge_io::engine::psync::Psync;
use iogauge_io::engine::sim::{Sim, World};
use iogauge_io::engine::{self, ENGINES, Engine, EngineInfo, Files, Io, Setup};
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{PoolJob, ThreadPool, VirtualPool, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{EngineKind, Load};
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const BLOCK: u64 = 4096;
/// How long a pool may take to end by itself.
const END: Duration = Duration::from_secs(20);

/// Returns the rows of the engines that this kernel supports, and reports the others as skipped.
pub fn usable(test: &str) -> impl Iterator<Item = &'static EngineInfo> {
    ENGINES.iter().filter(move |row| match engine::probe(row.kind) {
        Ok(()) => true,
        Err(error) => {
            iogauge_test_support::skip(&format!("{test} ({})", row.name), &error.to_string());
            false
        }
    })
}

/// Returns the usable engines that do I/O on real files.
pub fn on_files(test: &str) -> impl Iterator<Item = &'static EngineInfo> {
    usable(test).filter(|row| !matches!(row.kind, EngineKind::Null | EngineKind::Sim))
}

/// Opens a file for reading and writing.
pub fn open(path: &Path, direct: bool) -> std::io::Result<OwnedFd> {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    Ok(OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?.into())
}

/// Opens files for an engine: with `O_DIRECT` unless the engine is always buffered.
pub fn files(row: &EngineInfo, paths: &[&Path]) -> Files {
    Arc::new(paths.iter().map(|path| open(path, !row.always_buffered).unwrap()).collect())
}

/// Submits I/Os to an engine, at most `most` at a time, and waits for all of them. Returns the results in the order of
/// the I/Os. Each I/O must have its own slot.
fn drive<E: Engine>(engine: &mut E, most: usize, mut tick: impl FnMut(), ios: &[Io]) -> Vec<i32> {
    let slots = ios.iter().map(|io| io.slot + 1).max().unwrap_or(0);
    engine.grow(slots);
    let mut results = vec![None; slots as usize];
    let (mut begun, mut done) = (0, 0);
    let deadline = Instant::now() + END;
    while done < ios.len() {
        assert!(Instant::now() < deadline, "{done} of {} came back", ios.len());
        while begun < ios.len() && begun - done < most {
            engine.queue(ios[begun]);
            begun += 1;
        }
        engine.enter(1, None).unwrap();
        tick();
        engine.reap(u32::MAX, |slot, result| {
            assert_eq!(results[slot as usize].replace(result), None, "slot {slot} came back twice");
            done += 1;
        });
    }
    ios.iter().map(|io| results[io.slot as usize].unwrap()).collect()
}

/// Runs lists of I/Os, one after the other, on a new engine, and calls `between` with the results after each list.
pub fn exchange(
    row: &EngineInfo,
    files: &Files,
    pool: &BufferPool,
    lists: &[Vec<Io>],
    mut between: impl FnMut(usize, &[i32]),
) {
    let setup = Setup {
        files: files.clone(),
        max_depth: pool.slots(),
        advised_random: Some(true),
        writes: true,
        syncs_data_only: false,
    };
    let most = if row.kind.is_synchronous() { 1 } else { pool.slots() as usize };
    let mut each = |run: &mut dyn FnMut(&[Io]) -> Vec<i32>| {
        for (index, ios) in lists.iter().enumerate() {
            between(index, &run(ios));
        }
    };
    match row.kind {
        EngineKind::IoUring => {
            let mut engine = Uring::new(&setup, pool).unwrap();
            each(&mut |ios| drive(&mut engine, most, || {}, ios));
            assert_eq!(engine.fallbacks(), [""; 0]);
        }
        EngineKind::Libaio => {
            let mut engine = Libaio::new(&setup).unwrap();
            each(&mut |ios| drive(&mut engine, most, || {}, ios));
        }
        EngineKind::Psync => {
            let mut engine = Psync::new(&setup);
            each(&mut |ios| drive(&mut engine, most, || {}, ios));
        }
        EngineKind::Mmap => {
            let mut engine = Mmap::new(&setup).unwrap();
            each(&mut |ios| drive(&mut engine, most, || {}, ios));
        }
        EngineKind::Null => {
            let mut engine = Null::new(pool.slots());
            each(&mut |ios| drive(&mut engine, most, || {}, ios));
        }
        EngineKind::Sim => {
            let world = World::new("data=keep".parse().unwrap());
            let mut engine = Sim::new(world.clone());
            let tick = || drop(world.borrow_mut().advance(u64::MAX));
            each(&mut |ios| drive(&mut engine, most, tick, ios));
        }
    }
}

/// The files, extents and simulated device of a pool.
pub struct Ground<'a> {
    pub files: Files,
    pub extents: Vec<Extent>,
    /// Specification of the simulated device; only [`EngineKind::Sim`] uses it.
    pub sim: &'a str,
}

/// Starts a pool of one job.
pub fn pool(load: &Load, ground: &Ground<'_>) -> Box<dyn WorkerPool> {
    load.validate().unwrap();
    let job = PoolJob {
        load: load.clone(),
        files: ground.files.clone(),
        extents: ground.extents.clone(),
    };
    if load.engine == EngineKind::Sim {
        let spec = ground.sim.parse().unwrap();
        return Box::new(VirtualPool::start(vec![job], spec, load.queue_depth()).unwrap());
    }
    Box::new(ThreadPool::start(vec![job], load.queue_depth()).unwrap())
}

/// Runs a pool until it ends by itself, and returns one window over all its I/Os.
pub fn to_the_end(pool: &mut dyn WorkerPool) -> Window {
    let mut total = Window::default();
    let deadline = Instant::now() + END;
    while !pool.finished() {
        assert!(Instant::now() < deadline, "the pool goes on: {:?}", pool.live());
        pool.advance(10_000_000).unwrap();
        total.append(&pool.take_window().unwrap());
    }
    total.append(&pool.stop().unwrap());
    total
}

/// Returns one extent of this size at offset 0.
pub fn extent(size_bytes: u64) -> Vec<Extent> {
    vec![Extent { base_bytes: 0, size_bytes }]
}
