//! Tests that a simulated device keeps its state from one pool to the next.

use iogauge_io::engine::sim::{Sim, World};
use iogauge_io::engine::{Engine, Io, Op};
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{PoolJob, VirtualPool, WorkerPool};
use iogauge_io::sim::DeviceSlot;
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{
    ArrivalProcess, Arrivals, BlockSizes, EngineKind, Load, OwnTime, Pattern,
};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const EVEN: &str = "channels=8,service=100us,dist=const";

fn slot(device: &str) -> DeviceSlot {
    DeviceSlot::new(device.parse().unwrap())
}

fn job(load: &Load) -> PoolJob {
    let load = Load { engine: EngineKind::Sim, ..load.clone() };
    load.validate().unwrap();
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
    PoolJob { load, files: Arc::default(), extents }
}

fn start(slot: &DeviceSlot, load: &Load) -> Result<VirtualPool, WorkerError> {
    VirtualPool::start_on(vec![job(load)], slot, load.queue_depth())
}

fn writes(iodepth: u32) -> Load {
    Load { rw: Pattern::RandWrite, iodepth, ..Load::default() }
}

fn reads(iodepth: u32) -> Load {
    Load { iodepth, ..Load::default() }
}

/// Runs a step. Returns its window and the device's time at its end.
fn step(slot: &DeviceSlot, load: &Load, ns: u64) -> (Window, u64) {
    let mut pool = start(slot, load).unwrap();
    pool.advance(ns).unwrap();
    let window = pool.take_window().unwrap();
    pool.stop().unwrap();
    (window, pool.now_ns())
}

fn assert_near(what: &str, got: f64, wanted: f64, share: f64) {
    assert!((got - wanted).abs() <= wanted * share, "{what}: {got}, not {wanted}");
}

#[test]
fn simulated_time_continues_between_steps() {
    let slot = slot(EVEN);
    for nth in 0..3 {
        let (window, end_ns) = step(&slot, &reads(4), SECOND);
        // The I/Os that start at the end of the second take another 100 µs.
        assert_eq!(end_ns, (nth + 1) * (SECOND + 100_000));
        assert_eq!((window.seconds(), window.ios(), window.queue_depth()), (1.0, 40_000, 4.0));
        assert_eq!(window.ended_ns, end_ns - 100_000);
    }
}

#[test]
fn first_pool_starts_with_a_new_device() {
    for device in [EVEN, "", "hdd", "cloud-volume", "array,seed=7"] {
        let on_slot = step(&slot(device), &writes(16), SECOND / 10).0;
        let mut pool =
            VirtualPool::start(vec![job(&writes(16))], device.parse().unwrap(), 16).unwrap();
        pool.advance(SECOND / 10).unwrap();
        assert_eq!(
            format!("{on_slot:?}"),
            format!("{:?}", pool.take_window().unwrap()),
            "{device}"
        );
    }
}

#[test]
fn same_steps_give_the_same_results() {
    let run = |device: &str| {
        let slot = slot(device);
        let steps = [writes(8), reads(1), writes(64), Load { numjobs: 3, ..reads(4) }, writes(8)];
        steps.map(|load| format!("{:?}", step(&slot, &load, SECOND / 20)))
    };
    for device in ["hdd", "sata-ssd,fresh=1g", "nvme,wander=20%:100ms", "cloud-volume", "eio=1"] {
        let first = run(device);
        assert_eq!(first, run(device), "{device}");
        // The random numbers continue too, so the last step differs from the first.
        assert_ne!(first[0], first[4], "{device}");
        assert_ne!(first, run(&format!("{device},seed=2")), "{device}");
    }
}

#[test]
fn filled_cache_remains_filled_for_next_pool() {
    // 4096 writes (16 MiB) fill the cache, which destages 1000 writes per second.
    let slot = slot("cache=16m,cache_service=20us,destage=4096000");
    let (window, _) = step(&slot, &writes(8), SECOND);
    assert_near("writes of an empty cache", window.iops(), 5096.0, 0.01);
    let (window, _) = step(&slot, &writes(8), SECOND);
    assert_near("writes of a full cache", window.iops(), 1000.0, 0.01);
    // Reads do not use the cache, which destages meanwhile.
    step(&slot, &reads(1), 2 * SECOND);
    let (window, _) = step(&slot, &writes(8), SECOND);
    assert_near("writes after two seconds", window.iops(), 3000.0, 0.02);
}

#[test]
fn spent_burst_credits_persist_until_earned_again() {
    let slot = slot("channels=64,service=100us,dist=const,iops_cap=1000,burst=5000");
    let (window, _) = step(&slot, &reads(32), SECOND);
    assert_near("IOPS with credits", window.iops(), 6000.0, 0.01);
    let (window, _) = step(&slot, &reads(32), SECOND);
    assert_near("IOPS without", window.iops(), 1000.0, 0.01);
    // Two seconds at half the cap earn 1000 credits.
    let arrivals = Some(Arrivals { rate_iops: 500.0, process: ArrivalProcess::Linear, only: None });
    step(&slot, &Load { arrivals, ..reads(32) }, 2 * SECOND);
    let (window, _) = step(&slot, &reads(32), SECOND);
    assert_near("IOPS after some rest", window.iops(), 2000.0, 0.02);
}

#[test]
fn written_device_does_not_become_fresh_again() {
    let device = "channels=1,dist=const,fresh=64m,fresh_service=100us,write_service=400us";
    let slot = slot(device);
    // 16384 writes to the fresh device, then 8192 in the transition, which take 250 µs each on average.
    let iops: Vec<f64> = (0..6).map(|_| step(&slot, &writes(1), SECOND).0.iops()).collect();
    assert_near("fresh", iops[0], 10_000.0, 0.001);
    assert!(iops.is_sorted_by(|a, b| a >= b), "{iops:?}");
    assert_near("settled", iops[5], 2500.0, 0.001);
    let total: f64 = iops[..4].iter().sum();
    // These phases last 1.6384 s and 2.048 s, so the device settles within the fourth second.
    assert_near("writes", total, 16_384.0 + 8192.0 + (4.0 - 3.6864) * 2500.0, 0.001);
}

#[test]
fn wandering_device_never_reaches_steady_state() {
    for round_ns in [SECOND / 10, SECOND, 10 * SECOND] {
        let period = format!("{}ns", 5 * round_ns);
        let slot = slot(&format!("channels=1,service=1ms,dist=const,wander=30%:{period}"));
        let rounds: Vec<f64> = (0..25).map(|_| step(&slot, &reads(1), round_ns).0.iops()).collect();
        for five in rounds.windows(5) {
            let (low, high) = five
                .iter()
                .fold((f64::MAX, 0_f64), |(low, high), iops| (low.min(*iops), high.max(*iops)));
            let mean = five.iter().sum::<f64>() / 5.0;
            // The steady state of the SNIA PTS allows at most 0.2.
            assert!((0.45..0.6).contains(&((high - low) / mean)), "{period}: {five:?}");
        }
    }
}

#[test]
fn arrivals_and_job_times_start_with_their_pool() {
    let slot = slot(EVEN);
    step(&slot, &reads(1), 3 * SECOND);
    for process in [ArrivalProcess::Linear, ArrivalProcess::Poisson] {
        let arrivals = Some(Arrivals { rate_iops: 500.0, process, only: None });
        let (window, _) = step(&slot, &Load { arrivals, ..reads(8) }, 2 * SECOND);
        let offered = window.offered().unwrap();
        assert_near("arrivals", offered.ios as f64, 1000.0, 0.1);
        // No arrival was due before the pool started.
        assert_eq!((offered.backlog_max, window.seconds()), (0, 2.0));
        assert!(window.response().unwrap().max_ns() < 200_000);
    }
    let own_time = Some(OwnTime { ramp_ns: SECOND / 2, runtime_ns: Some(SECOND) });
    let load = Load { own_time, startdelay_ns: SECOND, ..reads(1) };
    let mut pool = start(&slot, &load).unwrap();
    let begin_ns = pool.now_ns();
    pool.advance(10 * SECOND).unwrap();
    assert!(pool.finished());
    assert_eq!(pool.now_ns() - begin_ns, 5 * SECOND / 2);
    let window = pool.stop().unwrap();
    assert_eq!((window.seconds(), window.ios()), (1.0, 10_000));
}

#[test]
fn ios_of_a_dropped_pool_do_not_affect_the_next() {
    // The first pool has more workers than the second, and 64 I/Os in flight.
    let slot = slot(EVEN);
    let mut pool = start(&slot, &Load { numjobs: 4, ..reads(16) }).unwrap();
    pool.advance(SECOND).unwrap();
    let left_ns = pool.now_ns();
    drop(pool);
    let pool = start(&slot, &reads(1)).unwrap();
    // The device completes them eight at a time, in 100 µs each.
    assert_eq!(pool.now_ns(), left_ns + 800_000);
    drop(pool);
    let (window, _) = step(&slot, &reads(1), SECOND);
    assert_eq!((window.ios(), window.service().max_ns()), (10_000, 100_000));
    assert_eq!(window.service().min_ns(), 100_000);
}

#[test]
fn simulated_device_allows_only_one_pool_at_a_time() {
    let slot = slot(EVEN);
    let first = start(&slot, &reads(1)).unwrap();
    assert!(matches!(start(&slot, &reads(1)), Err(WorkerError::DeviceInUse)));
    drop(first);
    // A pool that cannot start releases the device.
    let unfit = Load { block: BlockSizes::fixed(2 << 30), ..reads(1) };
    assert!(matches!(start(&slot, &unfit), Err(WorkerError::Offsets(_))));
    start(&slot, &reads(1)).unwrap();
}

#[test]
fn kept_data_is_readable_by_the_next_pool() {
    let slot = slot("data=keep");
    let mut buffer = vec![0x5a_u8; 8192];
    let io = |op, data: &mut [u8]| {
        let world = World::of(&slot).unwrap();
        let mut engine = Sim::new(world.clone());
        let (offset_bytes, len) = (6144, data.len() as u32);
        engine.queue(Io { slot: 0, op, file: 0, offset_bytes, len, buffer: data.as_mut_ptr() });
        world.borrow_mut().advance(SECOND);
        let mut done = 0;
        engine.reap(1, |_, result| done = result);
        assert_eq!(done, 8192);
    };
    io(Op::Write, &mut buffer);
    let mut back = vec![0; 8192];
    io(Op::Read, &mut back);
    assert_eq!(back, buffer);
}
