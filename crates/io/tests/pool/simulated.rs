//! Tests of pools in virtual time, mostly with exact results.

use iogauge_io::engine::Op;
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{Paused, PoolJob, VirtualPool, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{
    ArrivalProcess, Arrivals, Batch, BlockSizes, EngineKind, Load, OwnTime, Pattern, Thinktime,
};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
/// The device serves eight I/Os at once, in 100 µs each.
const EVEN: &str = "channels=8,service=100us,dist=const";

fn sim(load: Load) -> Load {
    Load { engine: EngineKind::Sim, ..load }
}

fn start(load: Load, device: &str, max_depth: u32) -> VirtualPool {
    let load = sim(load);
    load.validate().unwrap();
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
    let job = PoolJob { load, files: Arc::default(), extents };
    VirtualPool::start(vec![job], device.parse().unwrap(), max_depth).unwrap()
}

/// Returns a window of one second after one second of ramp.
fn second(pool: &mut dyn WorkerPool) -> Window {
    pool.advance(SECOND).unwrap();
    pool.take_window().unwrap();
    pool.advance(SECOND).unwrap();
    pool.take_window().unwrap()
}

fn assert_near(what: &str, got: f64, wanted: f64, share: f64) {
    assert!((got - wanted).abs() <= wanted * share, "{what}: {got}, not {wanted}");
}

#[test]
fn closed_loop_iops_and_latency_are_exact() {
    // Queue depths N below, at and above the number of channels. IOPS are min(N, 8) / 100 µs.
    for (queue_depth, iops, latency_ns) in
        [(4, 40_000, 100_000), (8, 80_000, 100_000), (32, 80_000, 400_000)]
    {
        let mut pool = start(Load { iodepth: queue_depth, ..Load::default() }, EVEN, queue_depth);
        let window = second(&mut pool);
        assert_eq!(window.ios(), iops);
        let service = window.service();
        assert_eq!((service.min_ns(), service.max_ns()), (latency_ns, latency_ns));
        assert_eq!(window.queue_depth(), f64::from(queue_depth));
        assert_eq!((window.iops(), window.seconds()), (iops as f64, 1.0));
    }
}

#[test]
fn completions_wait_while_workers_are_paused() {
    let device = format!("{EVEN},pause=every:300ms,for:500ms");
    let mut pool = start(Load { iodepth: 8, ..Load::default() }, &device, 8);
    pool.advance(250_000_000).unwrap();
    assert_eq!(pool.take_pauses(), Paused::default());
    assert_eq!(pool.take_window().unwrap().service().max_ns(), 100_000);
    pool.advance(100_000_000).unwrap();
    assert_eq!(pool.take_pauses(), Paused { times: 1, ns: 500_000_000 });
    assert_eq!(pool.take_pauses(), Paused::default());
    let window = pool.take_window().unwrap();
    assert_eq!(window.service().max_ns(), 500_000_000, "the device was done long before");
    assert_eq!(window.ios(), 4000 + 8);
}

#[test]
fn queue_depth_change_takes_effect_after_draining() {
    let mut pool = start(Load { iodepth: 32, numjobs: 2, ..Load::default() }, EVEN, 128);
    assert_eq!(second(&mut pool).service().min_ns(), 800_000);
    for queue_depth in [4, 128, 1, 16, 0, 8] {
        pool.set_queue_depth(queue_depth).unwrap();
        while !pool.drained() {
            pool.advance(10_000).unwrap();
        }
        // The first new I/Os still waited behind the last old ones.
        pool.advance(SECOND / 100).unwrap();
        pool.take_window().unwrap();
        pool.advance(SECOND).unwrap();
        let window = pool.take_window().unwrap();
        assert_eq!(pool.live().outstanding, queue_depth);
        assert_near("depth", window.queue_depth(), f64::from(queue_depth), 0.0);
        let service = window.service();
        // I/Os above eight wait their turn. The first round of a larger queue depth waits less.
        let latency_ns = 100_000 * u64::from(queue_depth.div_ceil(8));
        assert_eq!(
            service.max_ns(),
            if queue_depth == 0 { 0 } else { latency_ns },
            "depth {queue_depth}"
        );
        assert_eq!(window.ios(), 10_000 * u64::from(queue_depth.min(8)), "depth {queue_depth}");
    }
}

#[test]
fn simulated_windows_sum_to_the_io_quota() {
    let load = Load { rw: Pattern::RandRw, iodepth: 5, numjobs: 3, ..Load::default() };
    let mut pool = start(Load { number_ios: Some(33_337), ..load }, "service=77us", 15);
    let (mut total, mut cuts, mut step_ns) = (Window::default(), 0, 1);
    while !pool.finished() {
        step_ns = (step_ns * 48_271 + 11) % 3_000_017;
        pool.advance(step_ns).unwrap();
        total.append(&pool.take_window().unwrap());
        cuts += 1;
    }
    total.append(&pool.stop().unwrap());
    assert!(cuts > 100, "{cuts}");
    assert_eq!((total.ios(), total.bytes()), (100_011, 100_011 * 4096));
    assert!(total.workers.iter().all(|w| w.ios == 33_337), "{:?}", total.workers);
    assert_eq!(pool.live().ios, 100_011);
    // Every worker measured the whole time until its end. The ends differ by a few I/Os.
    for worker in &total.workers {
        assert_near("time", worker.elapsed_ns as f64, pool.now_ns() as f64, 0.005);
    }
}

#[test]
fn simulated_pool_achieves_offered_rate() {
    for process in [ArrivalProcess::Linear, ArrivalProcess::Poisson] {
        let arrivals = Some(Arrivals { rate_iops: 5000.0, process, only: None });
        let load = Load { iodepth: 64, numjobs: 2, arrivals, ..Load::default() };
        let mut pool = start(load, "service=100us", 128);
        for rate in [5000.0, 20_000.0, 1000.0] {
            pool.set_rate(Some(rate)).unwrap();
            pool.advance(SECOND).unwrap();
            pool.take_window().unwrap();
            pool.advance(100 * SECOND).unwrap();
            let window = pool.take_window().unwrap();
            assert_near("rate", window.iops(), rate, 0.01);
            let tally = window.tally(Op::Read);
            let response = tally.response.as_ref().unwrap();
            assert_eq!(response.count(), tally.ios());
            assert!(response.sum_ns() >= tally.service.sum_ns());
        }
    }
}

#[test]
fn response_time_includes_wait_for_a_slot() {
    // With one slot and constant service times at half load, the mean wait is half the service time by the
    // Pollaczek–Khinchine formula. The service time does not include it.
    let arrivals =
        Some(Arrivals { rate_iops: 5000.0, process: ArrivalProcess::Poisson, only: None });
    let mut pool = start(Load { arrivals, ..Load::default() }, EVEN, 1);
    pool.advance(200 * SECOND).unwrap();
    let window = pool.take_window().unwrap();
    let tally = window.tally(Op::Read);
    assert_eq!((tally.service.min_ns(), tally.service.max_ns()), (100_000, 100_000));
    let response = tally.response.as_ref().unwrap();
    assert_near("response", response.mean_ns(), 150_000.0, 0.02);
    assert_eq!(response.min_ns(), 100_000);
}

#[test]
fn littles_law_applies_to_every_simulated_device() {
    for (device, seconds) in [
        ("service=100us", 4),
        ("bus=300MB/s", 4),
        ("iops_cap=3000", 20),
        ("hdd", 60),
        ("nvme", 1),
        ("cloud-volume", 20),
    ] {
        for queue_depth in [1, 7, 64] {
            let load = Load { rw: Pattern::RandRw, iodepth: queue_depth, ..Load::default() };
            let mut pool = start(load, device, queue_depth);
            pool.advance(seconds * SECOND / 10).unwrap();
            pool.take_window().unwrap();
            pool.advance(seconds * SECOND).unwrap();
            let window = pool.take_window().unwrap();
            let law = window.iops() * window.service().mean_ns() / 1e9;
            assert_near(device, law, window.queue_depth(), 0.02);
            assert_near(device, window.queue_depth(), f64::from(queue_depth), 0.02);
        }
    }
}

#[test]
fn dependent_chains_read_before_they_write() {
    let load = Load { rw: Pattern::RandRw, dependent: true, iodepth: 3, ..Load::default() };
    let mut pool = start(Load { number_ios: Some(20_000), ..load.clone() }, EVEN, 3);
    let mut total = Window::default();
    while !pool.finished() {
        pool.advance(33_333).unwrap();
        total.append(&pool.take_window().unwrap());
        let (reads, writes) = (total.tally(Op::Read).ios(), total.tally(Op::Write).ios());
        assert!((writes..=writes + 3).contains(&reads), "{reads} {writes}");
    }
    assert_eq!((total.tally(Op::Read).ios(), total.tally(Op::Write).ios()), (10_000, 10_000));
    // In an open loop, reads and writes together meet the rate, and a write's response time does not include its read.
    let arrivals =
        Some(Arrivals { rate_iops: 1000.0, process: ArrivalProcess::Linear, only: None });
    let mut pool = start(Load { arrivals, ..load }, EVEN, 3);
    let window = second(&mut pool);
    assert_near("rate", window.iops(), 1000.0, 0.01);
    let response = window.tally(Op::Write).response.as_ref().unwrap();
    assert_eq!((response.min_ns(), response.max_ns()), (100_000, 100_000));
}

#[test]
fn fsync_every_n_writes_does_not_displace_other_ios() {
    let load = Load { rw: Pattern::RandWrite, fsync_every: 7, iodepth: 4, ..Load::default() };
    let mut pool = start(Load { number_ios: Some(1000), ..load.clone() }, EVEN, 4);
    pool.advance(SECOND).unwrap();
    let total = pool.stop().unwrap();
    assert_eq!((total.ios(), total.tally(Op::Sync).ios()), (1000, 142));
    let arrivals =
        Some(Arrivals { rate_iops: 5000.0, process: ArrivalProcess::Poisson, only: None });
    let mut pool = start(Load { arrivals, ..load }, EVEN, 4);
    pool.advance(100 * SECOND).unwrap();
    let window = pool.take_window().unwrap();
    assert_near("rate", window.iops(), 5000.0, 0.01);
    let tally = window.tally(Op::Sync);
    assert!(tally.response.as_ref().unwrap().sum_ns() >= tally.service.sum_ns());
    assert_eq!(tally.ios(), window.tally(Op::Write).ios() / 7);
}

#[test]
fn thinktime_follows_n_ios_and_counts_as_run_time() {
    for (blocks, submit, numjobs, fsync_every) in
        [(1, 0, 1, 0), (4, 0, 2, 0), (6, 2, 1, 0), (3, 0, 1, 1)]
    {
        let thinktime = Some(Thinktime { pause_ns: 700_000, blocks });
        let batch = Batch { submit, ..Batch::default() };
        let load = Load {
            rw: if fsync_every > 0 { Pattern::RandWrite } else { Pattern::RandRead },
            iodepth: 8,
            numjobs,
            thinktime,
            batch,
            fsync_every,
            ..Load::default()
        };
        let mut pool = start(load, "channels=64,service=100us,dist=const", 16);
        let window = second(&mut pool);
        let cycle_ns = if fsync_every > 0 { None } else { Some(800_000.0) };
        if let Some(cycle_ns) = cycle_ns {
            let ios = f64::from(blocks * numjobs);
            assert_near("ios", window.ios() as f64, ios * 1e9 / cycle_ns, 0.01);
            assert_near("depth", window.queue_depth(), ios / 8.0, 0.01);
        } else {
            let (writes, syncs) = (window.tally(Op::Write).ios(), window.tally(Op::Sync).ios());
            assert!(writes.abs_diff(syncs) <= 1 && writes > 1000, "{writes} {syncs}");
        }
        assert_eq!(window.service().max_ns(), 100_000);
        assert_near("law", window.iops() * 1e-4, window.queue_depth(), 0.02);
        pool.stop().unwrap();
        assert!(pool.finished());
    }
}

#[test]
fn thinktime_preserves_arrival_rate_and_dependent_chains() {
    let thinktime = Some(Thinktime { pause_ns: 10_000_000, blocks: 20 });
    // 20 I/Os and their pause take less than 12 ms, so 1000 IOPS are still possible.
    let arrivals =
        Some(Arrivals { rate_iops: 1000.0, process: ArrivalProcess::Linear, only: None });
    let load = Load { thinktime, iodepth: 4, ..Load::default() };
    let mut pool = start(Load { arrivals, ..load.clone() }, EVEN, 4);
    let window = second(&mut pool);
    assert_near("rate", window.iops(), 1000.0, 0.03);
    assert!(window.response().unwrap().max_ns() > 9_000_000);
    let chains = Load { rw: Pattern::RandRw, dependent: true, number_ios: Some(1000), ..load };
    let mut pool = start(chains, EVEN, 4);
    while !pool.finished() {
        pool.advance(SECOND / 10).unwrap();
    }
    let total = pool.stop().unwrap();
    assert_eq!((total.tally(Op::Read).ios(), total.tally(Op::Write).ios()), (500, 500));
    assert!(pool.now_ns() > 40 * 10_000_000, "{}", pool.now_ns());
}

#[test]
fn startdelay_is_excluded_from_job_time() {
    let load = sim(Load { startdelay_ns: 3 * SECOND, ..Load::default() });
    let arrivals =
        Some(Arrivals { rate_iops: 500.0, process: ArrivalProcess::Poisson, only: None });
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
    let job = |load: &Load| PoolJob {
        load: load.clone(),
        files: Arc::default(),
        extents: extents.clone(),
    };
    let at_a_rate = Load { arrivals, iodepth: 8, ..load.clone() };
    let jobs = vec![job(&load), job(&at_a_rate), job(&sim(Load::default()))];
    let mut pool = VirtualPool::start(jobs, EVEN.parse().unwrap(), 16).unwrap();
    let mut total = Window::default();
    for _ in 0..7 {
        pool.advance(SECOND * 5 / 7).unwrap();
        total.append(&pool.take_window().unwrap());
    }
    total.append(&pool.stop().unwrap());
    let [late, rated, whole] = [0, 1, 2].map(|job| total.of_job(job));
    assert_near("seconds", late.seconds(), 2.0, 0.001);
    assert_near("seconds", whole.seconds(), 5.0, 0.001);
    assert_near("IOPS", late.iops(), 10_000.0, 0.001);
    assert_near("depth", late.queue_depth(), 1.0, 0.001);
    assert_near("offered", rated.offered().unwrap().ios as f64, 1000.0, 0.1);
    // No backlog builds up before the start.
    assert!(rated.response().unwrap().max_ns() < 1_000_000);
    // A pool that ends before its jobs begin measures no time.
    let mut pool = VirtualPool::start(vec![job(&load)], EVEN.parse().unwrap(), 1).unwrap();
    pool.advance(SECOND).unwrap();
    let window = pool.stop().unwrap();
    assert_eq!((window.ios(), window.seconds()), (0, 0.0));
    assert!(pool.finished());
}

#[test]
fn each_job_uses_its_own_ramp_and_runtime() {
    let own = |ramp_ns, runtime_ns| Some(OwnTime { ramp_ns, runtime_ns: Some(runtime_ns) });
    let load = |own_time| sim(Load { own_time, ..Load::default() });
    let pause = Thinktime { pause_ns: 10 * SECOND, blocks: 1 };
    let arrivals = Some(Arrivals { rate_iops: 500.0, process: ArrivalProcess::Linear, only: None });
    let loads = [
        load(own(0, SECOND)),
        Load { startdelay_ns: SECOND, ..load(own(SECOND / 2, 2 * SECOND)) },
        Load { iodepth: 4, ..load(own(SECOND / 2, SECOND / 4)) },
        Load { arrivals, iodepth: 8, ..load(own(SECOND, SECOND)) },
        Load { thinktime: Some(pause), ..load(own(0, SECOND / 2)) },
        // Ends before its ramp does.
        Load { number_ios: Some(10), ..load(own(SECOND, SECOND)) },
    ];
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
    let job = |load: &Load| PoolJob {
        load: load.clone(),
        files: Arc::default(),
        extents: extents.clone(),
    };
    let jobs = loads.iter().map(job).collect();
    let mut pool =
        VirtualPool::start(jobs, "channels=16,service=100us,dist=const".parse().unwrap(), 16)
            .unwrap();
    let mut total = Window::default();
    // Windows end within ramps and delays, and after ends.
    while !pool.finished() {
        pool.advance(SECOND / 10).unwrap();
        total.append(&pool.take_window().unwrap());
    }
    assert_eq!(pool.now_ns(), 7 * SECOND / 2);
    total.append(&pool.stop().unwrap());
    let figures: Vec<_> = (0..6)
        .map(|job| total.of_job(job))
        .map(|window| (window.seconds(), window.ios(), window.queue_depth()))
        .collect();
    assert_eq!(figures[0], (1.0, 10_000, 1.0));
    assert_eq!(figures[1], (2.0, 20_000, 1.0));
    assert_eq!(figures[2], (0.25, 10_000, 4.0));
    // An arrival right before the end completes after it.
    assert_near("seconds", figures[3].0, 1.0, 0.0002);
    assert_near("arrivals", figures[3].1 as f64, 500.0, 0.003);
    assert_eq!((figures[4].0, figures[4].1), (0.5, 1));
    assert_eq!(figures[5], (0.0, 0, 0.0));
    assert_eq!(total.seconds(), 2.0);
}

#[test]
fn end_fsync_syncs_every_target_part_per_worker() {
    for (rw, syncs) in [(Pattern::RandWrite, 3 * 2), (Pattern::RandRead, 0)] {
        let load = Load { rw, end_fsync: true, iodepth: 4, numjobs: 2, ..Load::default() };
        let load = sim(Load { number_ios: Some(100), ..load });
        let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 20 }; 3];
        let job = PoolJob { load, files: Arc::default(), extents };
        let mut pool = VirtualPool::start(vec![job], EVEN.parse().unwrap(), 8).unwrap();
        pool.advance(SECOND).unwrap();
        assert!(pool.finished());
        let total = pool.stop().unwrap();
        assert_eq!((total.ios(), total.tally(Op::Sync).ios()), (200, syncs), "{rw}");
    }
    // The same applies to a worker that is stopped.
    let load = Load { rw: Pattern::Write, end_fsync: true, ..Load::default() };
    let mut pool = start(load, EVEN, 1);
    pool.advance(SECOND).unwrap();
    assert_eq!(pool.stop().unwrap().tally(Op::Sync).ios(), 1);
}

#[test]
fn read_mix_and_block_sizes_match_configured_shares() {
    let load = Load {
        rw: Pattern::RandRw,
        read_percent: 70,
        block: BlockSizes::parse_bssplit("4k/60:64k/40").unwrap(),
        iodepth: 8,
        ..Load::default()
    };
    let mut pool = start(load, EVEN, 8);
    pool.advance(10 * SECOND).unwrap();
    let window = pool.take_window().unwrap();
    let reads = window.tally(Op::Read).ios() as f64;
    assert_near("reads", reads / window.ios() as f64, 0.7, 0.01);
    let mean_bytes = 0.6 * 4096.0 + 0.4 * 65_536.0;
    assert_near("bytes", window.bytes() as f64 / window.ios() as f64, mean_bytes, 0.01);
}

#[test]
fn simulated_batches_complete_within_queue_depth() {
    for (submit, complete_min, complete_max) in
        [(4, 1, 0), (0, 8, 0), (16, 8, 32), (1, 1, 1), (3, 16, 16)]
    {
        let batch = Batch { submit, complete_min, complete_max };
        let load = Load { iodepth: 32, batch, ..Load::default() };
        let mut pool = start(Load { number_ios: Some(10_000), ..load }, "service=100us", 32);
        pool.advance(10 * SECOND).unwrap();
        assert!(pool.finished(), "{batch:?}: {:?}", pool.live());
        let total = pool.stop().unwrap();
        assert_eq!(total.ios(), 10_000);
        // Waiting for 8 of 32 I/Os leaves 25 to 32 outstanding, 28 on average.
        let lowest = f64::from(32 - complete_min);
        assert!(
            (lowest..=32.0).contains(&total.queue_depth()),
            "{batch:?}: {}",
            total.queue_depth()
        );
    }
}
