//! Engines and pools over files, made the same way whatever the engine.

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
/// Time a pool gets to end by itself.
const END: Duration = Duration::from_secs(20);

/// Engines that this kernel allows, with their rows; the others are named as skipped.
pub fn usable(test: &str) -> impl Iterator<Item = &'static EngineInfo> {
    ENGINES.iter().filter(move |row| match engine::probe(row.kind) {
        Ok(()) => true,
        Err(error) => {
            iogauge_test_support::skip(&format!("{test} ({})", row.name), &error.to_string());
            false
        }
    })
}

/// Engines that move data of real files.
pub fn on_files(test: &str) -> impl Iterator<Item = &'static EngineInfo> {
    usable(test).filter(|row| !matches!(row.kind, EngineKind::Null | EngineKind::Sim))
}

/// Opens a file for reading and writing.
pub fn open(path: &Path, direct: bool) -> std::io::Result<OwnedFd> {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    Ok(OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?.into())
}

/// Opens files as the engine would have them: direct unless it cannot.
pub fn files(row: &EngineInfo, paths: &[&Path]) -> Files {
    Arc::new(paths.iter().map(|path| open(path, !row.always_buffered).unwrap()).collect())
}

/// Hands I/Os to an engine, as many at once as it takes, and waits for all of them. The results
/// stand in order of the I/Os, which each have a slot of their own.
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

/// Gives I/Os to a new engine of a row, one list after the other.
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
        random: true,
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

/// What a pool works on.
pub struct Ground<'a> {
    pub files: Files,
    pub extents: Vec<Extent>,
    /// The simulated device, for the engine that has one.
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

/// Lets a pool work until it ends by itself, and returns all it did.
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

/// A whole part of so many bytes.
pub fn extent(size_bytes: u64) -> Vec<Extent> {
    vec![Extent { base_bytes: 0, size_bytes }]
}
