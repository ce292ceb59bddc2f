//! Tests of pools in real time, on files.

use iogauge_io::engine::{Files, Op};
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{PoolJob, ThreadPool, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{ArrivalProcess, Arrivals, Batch, EngineKind, Load, Pattern};
use iogauge_test_support::{Loop, MIB, image, mounted_ext4, or_skip, run};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) const MS: u64 = 1_000_000;
const SIZE: u64 = 64 * MIB;
const ENGINES: [EngineKind; 3] = [EngineKind::Psync, EngineKind::IoUring, EngineKind::Libaio];

/// Lets one test at a time run a pool, because tests count the threads and pools would share the processors.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn usable() -> impl Iterator<Item = EngineKind> {
    ENGINES.into_iter().filter(|kind| iogauge_io::engine::probe(*kind).is_ok())
}

pub(crate) fn start_on(path: &Path, load: Load, max_depth: u32) -> ThreadPool {
    load.validate().unwrap();
    let mut options = std::fs::OpenOptions::new();
    let flags = if load.direct { libc::O_DIRECT } else { 0 };
    let file = options.read(true).write(true).custom_flags(flags).open(path).unwrap();
    let files: Files = Arc::new(vec![file.into()]);
    let size_bytes = std::fs::metadata(path).unwrap().len();
    let job = PoolJob { load, files, extents: whole(size_bytes) };
    ThreadPool::start(vec![job], max_depth).unwrap()
}

fn whole(size_bytes: u64) -> Vec<Extent> {
    vec![Extent { base_bytes: 0, size_bytes }]
}

/// Waits until this process has the wanted number of pool threads. A joined thread is still listed for a moment, while
/// the kernel tears its ring down.
fn assert_workers_alive(wanted: usize) {
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    let alive = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|task| name(task.ok()?));
        names.filter(|name| name.starts_with("iogauge-")).count()
    };
    let deadline = Instant::now() + Duration::from_secs(2);
    while alive() != wanted {
        assert!(Instant::now() < deadline, "{} threads, not {wanted}", alive());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn assert_near(what: &str, got: f64, wanted: f64, share: f64) {
    assert!((got - wanted).abs() <= wanted * share, "{what}: {got}, not {wanted}");
}

#[test]
fn queue_depth_change_adjusts_running_threads() {
    let _alone = alone();
    let image = image(SIZE);
    for engine in usable() {
        let mut pool = start_on(image.path(), Load { engine, ..Load::default() }, 16);
        let mut most = 1;
        for queue_depth in [1, 8, 3, 16, 0, 2] {
            pool.set_queue_depth(queue_depth).unwrap();
            let deadline = Instant::now() + Duration::from_secs(5);
            while !pool.drained() {
                assert!(Instant::now() < deadline, "{engine:?} does not drain");
                pool.advance(MS / 10).unwrap();
            }
            pool.take_window().unwrap();
            pool.advance(30 * MS).unwrap();
            let window = pool.take_window().unwrap();
            // Between a completion and the next submission, one I/O fewer is outstanding.
            assert!(
                window.queue_depth() <= f64::from(queue_depth),
                "{engine:?}: {} {queue_depth}",
                window.queue_depth()
            );
            assert_eq!(window.ios() > 0, queue_depth > 0, "{engine:?} at depth {queue_depth}");
            let longest = window.service().max_ns();
            assert!(longest as f64 <= window.seconds() * 1e9 + 5e6, "an older I/O: {longest}");
            most = most.max(queue_depth);
            let threads = if engine == EngineKind::Psync { most as usize } else { 1 };
            assert_eq!(window.workers.len(), threads, "{engine:?}");
            assert_workers_alive(threads);
            // New threads measure no time before their start.
            assert!(window.seconds() < 1.0, "{}", window.seconds());
        }
        pool.stop().unwrap();
        assert_workers_alive(0);
    }
}

#[test]
fn threaded_windows_sum_to_the_io_quota() {
    let _alone = alone();
    let image = image(SIZE);
    for engine in usable() {
        let iodepth = if engine == EngineKind::Psync { 1 } else { 4 };
        let load = Load { engine, iodepth, numjobs: 3, ..Load::default() };
        // The workers begin before `start_on` returns.
        let began = Instant::now();
        let mut pool = start_on(image.path(), Load { number_ios: Some(50_000), ..load }, 12);
        let (mut total, mut cuts, mut pause_ns) = (Window::default(), 0, 1);
        while !pool.finished() {
            pause_ns = (pause_ns * 48_271 + 11) % 700_001;
            pool.advance(pause_ns).unwrap();
            total.append(&pool.take_window().unwrap());
            cuts += 1;
        }
        total.append(&pool.stop().unwrap());
        let took = began.elapsed().as_secs_f64();
        assert_eq!((total.ios(), total.bytes()), (150_000, 150_000 * 4096), "{engine:?}");
        assert_eq!((total.errors(), pool.live().ios), (0, 150_000), "{engine:?}");
        assert!(cuts > 1, "{engine:?}: {cuts} cuts");
        assert!(total.seconds() <= took + 0.05, "{engine:?}: {} {took}", total.seconds());
    }
}

/// Waits until no I/O of the previous queue depth is outstanding.
fn drain(pool: &mut dyn WorkerPool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !pool.drained() {
        assert!(Instant::now() < deadline, "it does not drain");
        pool.advance(MS / 10).unwrap();
    }
}

/// Returns a window in which every worker did some I/O.
fn until_all_work(pool: &mut dyn WorkerPool) -> Window {
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut window = Window::default();
    while window.workers.is_empty() || window.workers.iter().any(|worker| worker.ios == 0) {
        assert!(Instant::now() < deadline, "not all work: {:?}", window.workers);
        pool.advance(20 * MS).unwrap();
        window.append(&pool.take_window().unwrap());
    }
    window
}

fn processors() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

#[test]
fn added_workers_share_queue_depth_and_lose_no_ios() {
    let _alone = alone();
    let image = image(SIZE);
    let most = processors().min(8);
    for engine in usable().chain([EngineKind::Null]).filter(|kind| *kind != EngineKind::Psync) {
        let quota = 100_000_000;
        let load = Load { engine, iodepth: 8, number_ios: Some(quota), ..Load::default() };
        let mut pool = start_on(image.path(), load, 64);
        pool.advance(10 * MS).unwrap();
        let mut total = pool.take_window().unwrap();
        while let Some(window) = pool.add_worker().unwrap() {
            total.append(&window);
            drain(&mut pool);
            total.append(&pool.take_window().unwrap());
            let window = until_all_work(&mut pool);
            // Between a completion and the next submission, one I/O fewer is outstanding. With the null engine, which
            // does nothing in between, that is most of the time.
            let least = if engine == EngineKind::Null { 0.0 } else { 4.0 };
            let queue_depth = window.queue_depth();
            assert!(queue_depth <= 8.0 && queue_depth > least, "{engine:?}: {queue_depth}");
            total.append(&window);
        }
        assert_eq!(total.workers.len(), most, "{engine:?}");
        assert_workers_alive(most);
        for queue_depth in [64, 3] {
            total.append(&pool.set_queue_depth(queue_depth).unwrap());
            drain(&mut pool);
            total.append(&pool.take_window().unwrap());
            pool.advance(20 * MS).unwrap();
            let window = pool.take_window().unwrap();
            assert!(
                window.queue_depth() <= f64::from(queue_depth),
                "{engine:?}: {}",
                window.queue_depth()
            );
            total.append(&window);
        }
        total.append(&pool.stop().unwrap());
        assert_eq!((total.ios(), total.errors()), (pool.live().ios, 0), "{engine:?}");
        let by_worker: u64 = total.workers.iter().map(|worker| worker.ios).sum();
        assert_eq!(by_worker, total.ios(), "{engine:?}");
        assert_workers_alive(0);
    }
}

#[test]
fn added_worker_does_not_repeat_offsets_of_others() {
    const TEST: &str = "added_worker_does_not_repeat_offsets_of_others";
    let _alone = alone();
    if processors() < 2 {
        return iogauge_test_support::skip(TEST, "it takes two processors");
    }
    for engine in usable().filter(|kind| *kind != EngineKind::Psync) {
        let image = image(SIZE);
        let blocks = SIZE / 4096;
        // Uses the page cache, because allocating each block in the file system takes long.
        let load = Load { engine, rw: Pattern::RandWrite, direct: false, ..Load::default() };
        let mut pool = start_on(image.path(), Load { iodepth: 2, ..load }, 2);
        let mut total = pool.add_worker().unwrap().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while total.workers.iter().any(|worker| worker.ios < blocks / 4) {
            assert!(Instant::now() < deadline, "{:?}", total.workers);
            pool.advance(MS).unwrap();
            total.append(&pool.take_window().unwrap());
        }
        total.append(&pool.stop().unwrap());
        let data = std::fs::read(image.path()).unwrap();
        let written = data.chunks(4096).filter(|block| block.iter().any(|b| *b != 0)).count();
        // n independent draws from m blocks hit m (1 - e^(-n/m)) of them. If both workers drew the same blocks, only
        // n/2 draws would count.
        let any_of = |draws: u64| {
            let m = blocks as f64;
            m * (1.0 - (-(draws as f64) / m).exp())
        };
        assert_near(&format!("{engine:?}: blocks"), written as f64, any_of(total.ios()), 0.02);
    }
}

#[test]
fn worker_is_not_added_if_it_would_change_the_load() {
    let _alone = alone();
    let image = image(SIZE);
    let adds = |load: Load| {
        let mut pool = start_on(image.path(), load, 8);
        pool.add_worker().unwrap().is_some()
    };
    let load = Load { engine: EngineKind::Null, iodepth: 8, ..Load::default() };
    assert_eq!(adds(load.clone()), processors() > 1);
    for load in [
        Load { rw: Pattern::Read, ..load.clone() },
        Load { engine: EngineKind::Psync, ..load.clone() },
        Load { iodepth: 1, ..load.clone() },
        Load { numjobs: processors() as u32, ..load.clone() },
    ] {
        assert!(!adds(load.clone()), "{load:?}");
    }
    let job = || PoolJob { load: load.clone(), files: Files::default(), extents: whole(SIZE) };
    let mut two = ThreadPool::start(vec![job(), job()], 16).unwrap();
    assert!(two.add_worker().unwrap().is_none());
}

#[test]
fn littles_law_applies_to_every_engine() {
    let _alone = alone();
    let image = image(SIZE);
    for engine in usable() {
        let load = Load { engine, iodepth: 8, ..Load::default() };
        let mut pool = start_on(image.path(), load, 8);
        pool.advance(50 * MS).unwrap();
        pool.take_window().unwrap();
        pool.advance(300 * MS).unwrap();
        let window = pool.take_window().unwrap();
        let law = window.iops() * window.service().mean_ns() / 1e9;
        assert_near("Little's law", law, window.queue_depth(), 0.02);
        pool.stop().unwrap();
    }
}

#[test]
fn engines_achieve_offered_rate() {
    let _alone = alone();
    let image = image(SIZE);
    for engine in usable() {
        for (process, ms) in [(ArrivalProcess::Linear, 300), (ArrivalProcess::Poisson, 1000)] {
            let rate_iops = 40_000.0;
            let arrivals = Some(Arrivals { rate_iops, process, only: None });
            let load = Load { engine, iodepth: 8, arrivals, ..Load::default() };
            let mut pool = start_on(image.path(), load, 8);
            pool.advance(50 * MS).unwrap();
            pool.take_window().unwrap();
            // On a busy machine, threads run late and catch up afterwards.
            let mut window = Window::default();
            for _ in 0..8 {
                pool.advance(ms * MS).unwrap();
                window.append(&pool.take_window().unwrap());
                if (window.iops() / rate_iops - 1.0).abs() < 0.01 {
                    break;
                }
            }
            pool.stop().unwrap();
            // 40,000 Poisson arrivals have a standard deviation of 0.5 %. The fixed seed makes them repeatable.
            assert_near(&format!("{engine:?} {process:?}"), window.iops(), rate_iops, 0.01);
            let tally = window.tally(Op::Read);
            let response = tally.response.as_ref().unwrap();
            assert_eq!(response.count(), tally.ios());
            assert!(response.sum_ns() >= tally.service.sum_ns());
        }
    }
}

#[test]
fn arrival_rate_is_unaffected_by_queue_depth_change() {
    let _alone = alone();
    let image = image(SIZE);
    let arrivals =
        Some(Arrivals { rate_iops: 5000.0, process: ArrivalProcess::Linear, only: None });
    let load = Load { engine: EngineKind::Psync, iodepth: 4, arrivals, ..Load::default() };
    let mut pool = start_on(image.path(), load, 8);
    for queue_depth in [8, 2] {
        pool.set_queue_depth(queue_depth).unwrap();
        pool.advance(50 * MS).unwrap();
        pool.take_window().unwrap();
        pool.advance(1000 * MS).unwrap();
        assert_near("rate", pool.take_window().unwrap().iops(), 5000.0, 0.02);
    }
}

#[test]
fn offered_rate_is_achieved_with_any_worker_count() {
    let _alone = alone();
    let image = image(SIZE);
    // psync has one worker for each unit of queue depth. At this rate most of them are idle.
    for (engine, numjobs, queue_depth) in [
        (EngineKind::Null, 1, 8),
        (EngineKind::Null, 2, 8),
        (EngineKind::Psync, 1, 2),
        (EngineKind::Psync, 1, 32),
    ] {
        let arrivals =
            Some(Arrivals { rate_iops: 5000.0, process: ArrivalProcess::Poisson, only: None });
        let iodepth = queue_depth / numjobs;
        let load = Load { engine, iodepth, numjobs, arrivals, ..Load::default() };
        let mut pool = start_on(image.path(), load, queue_depth);
        pool.advance(50 * MS).unwrap();
        pool.take_window().unwrap();
        pool.advance(1000 * MS).unwrap();
        let window = pool.take_window().unwrap();
        pool.stop().unwrap();
        let what = format!("{engine:?}, {numjobs} jobs, depth {queue_depth}");
        let offered = window.offered().unwrap();
        assert_near(&what, window.ios() as f64, offered.ios as f64, 0.01);
        assert_near(&what, offered.ios as f64 / window.seconds(), 5000.0, 0.05);
    }
}

#[test]
fn overload_is_reported() {
    let _alone = alone();
    // Far above what any engine can do.
    let rate_iops = 1e8;
    let arrivals = Some(Arrivals { rate_iops, process: ArrivalProcess::Linear, only: None });
    for (numjobs, queue_depth) in [(1, 4), (2, 4)] {
        let (engine, iodepth) = (EngineKind::Null, queue_depth / numjobs);
        let load = Load { engine, iodepth, numjobs, arrivals, ..Load::default() };
        let mut pool = start_on(image(SIZE).path(), load, queue_depth);
        let mut total = pool.take_window().unwrap();
        for _ in 0..5 {
            let before = total.offered().unwrap().backlog_max;
            pool.advance(20 * MS).unwrap();
            total.append(&pool.take_window().unwrap());
            assert!(total.offered().unwrap().backlog_max > before);
        }
        let offered = total.offered().unwrap();
        assert_near("offered", offered.ios as f64, rate_iops * total.seconds(), 0.1);
        assert!(total.ios() < offered.ios / 2, "{} of {offered:?}", total.ios());
        let waiting = (offered.ios - total.ios()) as f64;
        assert_near("backlog", offered.backlog_max as f64, waiting, 0.1);
        let response = pool.stop().unwrap().response().unwrap();
        assert!(response.max_ns() > 20 * MS, "{}", response.max_ns());
    }
}

#[test]
fn dependent_writes_use_the_offset_of_their_read() {
    let _alone = alone();
    for engine in usable() {
        let image = image(4 * MIB);
        let blocks = 4 * MIB / 4096;
        // The reads visit every block once. So every block is written only if each write follows its read.
        let load = Load {
            engine,
            rw: Pattern::RandRw,
            dependent: true,
            coverage: true,
            iodepth: 4,
            numjobs: 2,
            number_ios: Some(blocks),
            ..Load::default()
        };
        let total = to_the_end(&mut start_on(image.path(), load, 8));
        assert_eq!(total.tally(Op::Read).ios(), blocks, "{engine:?}");
        assert_eq!(total.tally(Op::Write).ios(), blocks, "{engine:?}");
        let data = std::fs::read(image.path()).unwrap();
        assert!(data.chunks(4096).all(|block| block.iter().any(|b| *b != 0)), "{engine:?}");
    }
}

pub(crate) fn to_the_end(pool: &mut dyn WorkerPool) -> Window {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !pool.finished() {
        assert!(Instant::now() < deadline, "the pool goes on: {:?}", pool.live());
        pool.advance(10 * MS).unwrap();
    }
    pool.stop().unwrap()
}

#[test]
fn fsync_is_issued_every_n_writes() {
    let _alone = alone();
    let image = image(4 * MIB);
    for engine in usable() {
        let load = Load { engine, rw: Pattern::RandWrite, fsync_every: 7, ..Load::default() };
        let load = Load { number_ios: Some(100), ..load };
        let total = to_the_end(&mut start_on(image.path(), load, 1));
        assert_eq!((total.ios(), total.tally(Op::Sync).ios()), (100, 14), "{engine:?}");
        assert_eq!(total.errors(), 0, "{engine:?}");
    }
}

#[test]
fn threaded_batches_complete_within_queue_depth() {
    let _alone = alone();
    let image = image(SIZE);
    for engine in usable().filter(|engine| *engine != EngineKind::Psync) {
        for (submit, complete_min, complete_max) in [(4, 1, 0), (16, 8, 32), (1, 1, 1), (3, 16, 16)]
        {
            let batch = Batch { submit, complete_min, complete_max };
            let load = Load { engine, iodepth: 32, batch, ..Load::default() };
            let load = Load { number_ios: Some(20_000), ..load };
            let total = to_the_end(&mut start_on(image.path(), load, 32));
            assert_eq!(total.ios(), 20_000, "{engine:?} {batch:?}");
            assert!(total.queue_depth() <= 32.0, "{engine:?} {batch:?}");
        }
    }
}

#[test]
fn dropped_pool_terminates_all_threads() {
    let _alone = alone();
    let image = image(SIZE);
    for engine in usable() {
        let load = Load { engine, iodepth: 4, numjobs: 2, ..Load::default() };
        let pool = start_on(image.path(), load, 8);
        assert_workers_alive(if engine == EngineKind::Psync { 8 } else { 2 });
        drop(pool);
        assert_workers_alive(0);
    }
}

#[test]
fn engines_support_thousands_of_outstanding_ios() {
    let _alone = alone();
    let image = image(SIZE);
    for engine in usable().filter(|engine| *engine != EngineKind::Psync) {
        let load = Load { engine, iodepth: 5000, number_ios: Some(50_000), ..Load::default() };
        let total = to_the_end(&mut start_on(image.path(), load, 5000));
        assert_eq!((total.ios(), total.errors()), (50_000, 0), "{engine:?}");
    }
}

/// A frozen file system. Writes to it wait, and no signal interrupts them.
struct Frozen<'a>(&'a Path);

impl<'a> Frozen<'a> {
    fn new(point: &'a Path) -> Result<Self, String> {
        run("fsfreeze", &["--freeze", point.to_str().unwrap()]).map(|_| Self(point))
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = run("fsfreeze", &["--unfreeze", self.0.to_str().unwrap()]);
    }
}

#[test]
fn worker_blocked_in_kernel_neither_delays_windows_nor_loses_ios() {
    const TEST: &str = "a_worker_stuck_in_the_kernel";
    let _alone = alone();
    let device = or_skip!("a_worker_stuck_in_the_kernel", Loop::new(64 * MIB));
    let mount = or_skip!("a_worker_stuck_in_the_kernel", mounted_ext4(&device.path));
    let path = mount.point.join("file");
    std::fs::write(&path, vec![1; 8 << 20]).unwrap();
    let load = Load { engine: EngineKind::Psync, rw: Pattern::RandWrite, ..Load::default() };
    let mut pool = start_on(&path, Load { iodepth: 2, ..load }, 2);
    let began = Instant::now();
    let mut total = pool.take_window().unwrap();
    for round in 0..3 {
        pool.advance(50 * MS).unwrap();
        let frozen = match Frozen::new(&mount.point) {
            Ok(frozen) => frozen,
            Err(why) => return iogauge_test_support::skip(TEST, &why),
        };
        std::thread::sleep(Duration::from_millis(50));
        let asked = Instant::now();
        total.append(&pool.take_window().unwrap());
        let waited = asked.elapsed();
        assert!(waited < Duration::from_millis(400), "round {round}: {waited:?}");
        drop(frozen);
        // Now the workers apply the request. What they hand over is part of the next window.
        pool.advance(50 * MS).unwrap();
        total.append(&pool.take_window().unwrap());
    }
    total.append(&pool.stop().unwrap());
    let took = began.elapsed().as_secs_f64();
    assert_eq!(total.ios(), pool.live().ios);
    for worker in &total.workers {
        // No time is lost with a late window, and none is counted twice.
        assert_near("time", worker.elapsed_ns as f64 / 1e9, took, 0.03);
    }
    assert_near("depth", total.queue_depth(), 2.0, 0.1);
    let law = total.iops() * total.service().mean_ns() / 1e9;
    assert_near("Little's law", law, total.queue_depth(), 0.02);
    assert_workers_alive(0);
}
