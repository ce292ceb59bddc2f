//! Compares the open loop with the closed forms of queueing theory, in virtual time.

use iogauge_io::offsets::Extent;
use iogauge_io::pool::{PoolJob, VirtualPool, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{ArrivalProcess, Arrivals, EngineKind, Load};
use iogauge_test_support::mmc::Queue;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
/// The device serves four I/Os at once, with exponential service times of mean 1 ms.
const CHANNELS: u32 = 4;
const DEVICE: &str = "channels=4,service=1ms";
const SERVICE_NS: f64 = 1e6;

fn start(load: &Load, rate_iops: f64, max_depth: u32) -> VirtualPool {
    let arrivals = Some(Arrivals { rate_iops, process: ArrivalProcess::Poisson, only: None });
    let load = Load { engine: EngineKind::Sim, arrivals, ..load.clone() };
    load.validate().unwrap();
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
    let job = PoolJob { load, files: Arc::default(), extents };
    VirtualPool::start(vec![job], DEVICE.parse().unwrap(), max_depth).unwrap()
}

fn window(pool: &mut dyn WorkerPool, seconds: u64) -> Window {
    pool.advance(5 * SECOND).unwrap();
    pool.take_window().unwrap();
    pool.advance(seconds * SECOND).unwrap();
    pool.take_window().unwrap()
}

fn assert_near(what: &str, got: f64, wanted: f64, share: f64) {
    assert!((got - wanted).abs() <= wanted * share, "{what}: {got}, not {wanted}");
}

const QUEUE: Queue = Queue { servers: CHANNELS, service: SERVICE_NS / 1e9 };

/// With one server, response times are exponential with mean 1 / (μ − λ).
#[test]
fn single_server_queue_matches_closed_form() {
    let queue = Queue { servers: 1, service: 1e-3 };
    let rate = queue.highest_rate(|rate| queue.mean(rate) <= 5e-3);
    assert_near("mean", rate, 800.0, 1e-9);
    let rate = queue.highest_rate(|rate| queue.longer_than(rate, 1e-2) <= 0.01);
    assert_near("p99", rate, 1000.0 - 100f64.ln() / 0.01, 1e-9);
    assert_near("percentile", queue.percentile(rate, 99.0), 1e-2, 1e-9);
}

#[test]
fn response_times_match_m_m_c_queue() {
    for (rho, seconds) in [(0.5, 20), (0.8, 80)] {
        let rate = rho * f64::from(CHANNELS) / SERVICE_NS * 1e9;
        // The queue is the same with one worker, with four that share the queue depth, and with a queue depth so small
        // that most of the queue is backlog.
        for (numjobs, queue_depth) in [(1, 4096), (4, 4096), (1, 4), (4, 4)] {
            let what = format!("{rho} of {numjobs} workers with depth {queue_depth}");
            let mut all = Window::default();
            for seed in 1..=4 {
                let load =
                    Load { iodepth: queue_depth / numjobs, numjobs, seed, ..Load::default() };
                all.append(&window(&mut start(&load, rate, queue_depth), seconds));
            }
            assert_is_the_queue(&what, &all, rate, queue_depth);
        }
    }
}

fn assert_is_the_queue(what: &str, window: &Window, rate: f64, queue_depth: u32) {
    let response = window.response().unwrap();
    assert_near(what, response.mean_ns(), QUEUE.mean(rate) * 1e9, 0.03);
    for (percent, share) in [(50.0, 0.03), (90.0, 0.04), (99.0, 0.06)] {
        let got = response.percentile_ns(percent) as f64;
        assert_near(
            &format!("{what} p{percent}"),
            got,
            QUEUE.percentile(rate, percent) * 1e9,
            share,
        );
    }
    let offered = window.offered().unwrap();
    assert_near(what, offered.ios as f64 / window.seconds(), rate, 0.005);
    assert_near(what, window.ios() as f64, offered.ios as f64, 0.001);
    if queue_depth == 4096 {
        assert_eq!((offered.backlog, offered.backlog_max), (0, 0));
        // By Little's law: all I/Os in the queue are outstanding.
        assert_near(what, window.queue_depth(), rate * QUEUE.mean(rate), 0.035);
    } else {
        assert!(offered.backlog_max > 4, "{what}: {offered:?}");
        assert_near(what, window.service().mean_ns(), SERVICE_NS, 0.01);
    }
}

#[test]
fn overload_grows_backlog_without_losing_arrivals() {
    let load = Load { iodepth: 8, numjobs: 2, ..Load::default() };
    let mut pool = start(&load, 5000.0, 16);
    let mut total = Window::default();
    for second in 1..=10 {
        pool.advance(SECOND).unwrap();
        total.append(&pool.take_window().unwrap());
        let offered = total.offered().unwrap();
        let begun = total.ios() + u64::from(pool.live().outstanding);
        assert_near("offered", offered.ios as f64, 5000.0 * f64::from(second), 0.02);
        assert_near("achieved", total.iops(), 4000.0, 0.03);
        assert_eq!(offered.backlog, offered.ios - begun);
        // During a run the backlog is estimated from the mean gap. Its standard deviation is its square root.
        let waiting = offered.backlog as f64;
        assert!((offered.backlog_max as f64 - waiting).abs() < 4.0 * waiting.sqrt(), "{second}");
        assert!((pool.live().backlog as f64 - waiting).abs() < 4.0 * waiting.sqrt());
    }
    // A change of the rate drops the backlog.
    let last = pool.set_rate(Some(1000.0)).unwrap();
    assert_eq!(last.offered().unwrap().ios, 0);
    pool.advance(SECOND).unwrap();
    let calm = pool.take_window().unwrap();
    assert_eq!(pool.live().backlog, 0);
    assert_near("offered", calm.offered().unwrap().ios as f64, 1000.0, 0.1);
    assert_near("achieved", calm.ios() as f64, calm.offered().unwrap().ios as f64 + 16.0, 0.02);
}

#[test]
fn pool_switches_between_closed_and_open_loop() {
    let mut pool = start(&Load { iodepth: 16, ..Load::default() }, 1.0, 16);
    for _ in 0..2 {
        pool.set_rate(None).unwrap();
        let closed = window(&mut pool, 20);
        assert_eq!(closed.offered(), None);
        assert_near("capacity", closed.iops(), 4000.0, 0.02);
        assert_near("depth", closed.queue_depth(), 16.0, 0.001);
        pool.set_rate(Some(1000.0)).unwrap();
        let open = window(&mut pool, 20);
        assert_near("rate", open.iops(), 1000.0, 0.03);
        assert_near("offered", open.offered().unwrap().ios as f64, 20_000.0, 0.03);
    }
    pool.set_rate(Some(0.0)).unwrap();
    assert_eq!(window(&mut pool, 1).ios(), 0);
}

#[test]
fn rate_is_divided_in_proportion_to_job_rates() {
    let job = |rate_iops| {
        let arrivals = Some(Arrivals { rate_iops, process: ArrivalProcess::Linear, only: None });
        let load = Load { engine: EngineKind::Sim, iodepth: 16, arrivals, ..Load::default() };
        let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
        PoolJob { load, files: Arc::default(), extents }
    };
    let jobs = vec![job(500.0), job(1500.0)];
    let mut pool = VirtualPool::start(jobs, DEVICE.parse().unwrap(), 32).unwrap();
    for rate in [2000.0, 1000.0] {
        pool.set_rate(Some(rate)).unwrap();
        let window = window(&mut pool, 10);
        assert_near("all", window.offered().unwrap().ios as f64, 10.0 * rate, 0.001);
        for (job, share) in [(0, 0.25), (1, 0.75)] {
            let of_job = window.of_job(job);
            assert_near(
                "offered",
                of_job.offered().unwrap().ios as f64,
                10.0 * rate * share,
                0.001,
            );
            assert_near("achieved", of_job.ios() as f64, 10.0 * rate * share, 0.01);
        }
    }
}
