//! Tests of several hosts on one simulated device.

use iogauge_io::engine::Op;
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{Parts, PoolJob, VirtualPool, WorkerPool};
use iogauge_io::sim::DeviceSlot;
use iogauge_io::worker::accounting::Window;
use iogauge_model::load::{ArrivalProcess, Arrivals, EngineKind, Load, Pattern};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
/// The device serves eight I/Os at once, in 100 µs each.
const EVEN: &str = "channels=8,service=100us,dist=const";

fn start(loads: &[Load], device: &str, max_depth: u32) -> VirtualPool {
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
    let job = |load: &Load| {
        let load = Load { engine: EngineKind::Sim, ..load.clone() };
        PoolJob { load, files: Arc::default(), extents: extents.clone() }
    };
    let jobs = loads.iter().map(job).collect();
    VirtualPool::start(jobs, device.parse().unwrap(), max_depth).unwrap()
}

fn of_depth(iodepth: u32) -> Load {
    Load { iodepth, ..Load::default() }
}

/// Returns a window of one second after one second of ramp.
fn second(pool: &mut dyn WorkerPool) -> Window {
    pool.advance(SECOND).unwrap();
    pool.take_window().unwrap();
    pool.advance(SECOND).unwrap();
    pool.take_window().unwrap()
}

fn depths(window: &Window) -> Vec<f64> {
    window.hosts.iter().map(|host| host.queue_depth()).collect()
}

#[test]
fn one_host_is_not_kept_apart() {
    let mut alone = start(&[of_depth(8)], EVEN, 8);
    let mut named = start(&[of_depth(8)], &format!("{EVEN},hosts=1"), 8);
    assert!(named.host_names().is_empty());
    let (alone, named) = (second(&mut alone), second(&mut named));
    assert!(named.hosts.is_empty());
    assert_eq!(alone.service(), named.service());
}

#[test]
fn queue_depth_is_shared_out_over_hosts_one_by_one() {
    let mut pool = start(&[of_depth(8)], &format!("{EVEN},hosts=3"), 32);
    assert_eq!(pool.host_names(), ["host-1", "host-2", "host-3"]);
    let window = second(&mut pool);
    assert_eq!(depths(&window), [3.0, 3.0, 2.0]);
    assert_eq!((window.ios(), window.queue_depth()), (80_000, 8.0));
    let ios: Vec<u64> = window.hosts.iter().map(|host| host.ios()).collect();
    assert_eq!(ios, [30_000, 30_000, 20_000]);
    pool.set_queue_depth(2).unwrap();
    let window = second(&mut pool);
    assert_eq!(depths(&window), [1.0, 1.0, 0.0], "with fewer I/Os than hosts, some are idle");
    assert_eq!((window.hosts[2].ios(), window.hosts[2].elapsed_ns), (0, SECOND));
    pool.set_queue_depth(32).unwrap();
    assert_eq!(depths(&second(&mut pool)), [11.0, 11.0, 10.0]);
}

#[test]
fn hosts_have_the_parts_that_they_were_given() {
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
    let start = |load: Load, parts: Parts| {
        let load = Load { engine: EngineKind::Sim, ..load };
        let job = PoolJob { load, files: Arc::default(), extents: extents.clone() };
        let slot = DeviceSlot::new(format!("{EVEN},hosts=4").parse().unwrap());
        VirtualPool::start_verified(vec![(job, None)], None, &slot, parts, 64).unwrap()
    };
    let weighted = Parts::weighted(vec![1000, 700, 300, 0]);
    let mut pool = start(of_depth(20), weighted.clone());
    assert_eq!(pool.host_names(), ["host-1", "host-2", "host-3"]);
    assert_eq!(depths(&second(&mut pool)), [10.0, 7.0, 3.0]);
    pool.set_queue_depth(2).unwrap();
    assert_eq!(depths(&second(&mut pool)), [1.0, 1.0, 0.0]);
    // The first hosts keep their proportions, and one that is not the first can be alone.
    let mut pool = start(of_depth(17), weighted.first(2));
    assert_eq!(depths(&second(&mut pool)), [10.0, 7.0]);
    let mut pool = start(of_depth(5), Parts::only(2, 4));
    assert_eq!(pool.host_names(), ["host-3"]);
    assert_eq!(depths(&second(&mut pool)), [5.0]);
    let process = ArrivalProcess::Linear;
    let arrivals = Some(Arrivals { rate_iops: 2000.0, process, only: None });
    let mut pool = start(Load { arrivals, ..of_depth(32) }, weighted);
    let ios = |window: Window| window.hosts.iter().map(|host| host.ios()).collect::<Vec<_>>();
    let near = |ios: Vec<u64>, wanted: [u64; 3]| {
        assert!(ios.iter().zip(wanted).all(|(ios, wanted)| ios.abs_diff(wanted) <= 1), "{ios:?}");
    };
    near(ios(second(&mut pool)), [1000, 700, 300]);
    pool.set_rate(Some(200.0)).unwrap();
    near(ios(second(&mut pool)), [100, 70, 30]);
}

#[test]
fn figures_of_the_hosts_add_up_over_several_jobs_and_workers() {
    let reads = Load { numjobs: 2, ..of_depth(4) };
    let writes = Load { rw: Pattern::RandWrite, ..of_depth(3) };
    let mut pool = start(&[reads, writes], "channels=8,service=100us,hosts=3", 11);
    assert_eq!(pool.workers(), 3 * 3);
    let window = second(&mut pool);
    assert_eq!(window.jobs.len(), 2);
    for op in [Op::Read, Op::Write] {
        let mut sum = iogauge_model::Histogram::empty();
        window.hosts.iter().for_each(|host| sum.merge(&host.directions[op as usize].service));
        assert_eq!(sum, window.tally(op).service);
        assert_eq!(sum, window.jobs[op as usize][op as usize].service);
    }
    assert!((depths(&window).iter().sum::<f64>() - window.queue_depth()).abs() < 1e-9);
    assert!((window.queue_depth() - 11.0).abs() < 1e-9);
}

#[test]
fn each_host_does_the_whole_of_a_job_that_ends_by_itself() {
    let load = Load { number_ios: Some(1000), ..of_depth(3) };
    let mut pool = start(&[load], &format!("{EVEN},hosts=3,seed=4"), 3);
    pool.advance(10 * SECOND).unwrap();
    let window = pool.stop().unwrap();
    assert_eq!(window.ios(), 3000);
    assert!(window.hosts.iter().all(|host| host.ios() == 1000));
}

#[test]
fn arrivals_of_several_hosts_are_independent_processes_of_equal_rates() {
    let arrivals = Arrivals { rate_iops: 9_000.0, process: ArrivalProcess::Poisson, only: None };
    let load = Load { arrivals: Some(arrivals), ..of_depth(300) };
    let mut pool = start(&[load], &format!("{EVEN},hosts=3"), 300);
    let window = second(&mut pool);
    let ios: Vec<u64> = window.hosts.iter().map(|host| host.ios()).collect();
    assert_eq!(window.offered.len(), 1);
    let offered = window.offered().unwrap().ios;
    assert!(offered.abs_diff(window.ios()) < 20, "{offered}, {}", window.ios());
    // Four standard deviations.
    assert!(ios.iter().all(|ios| ios.abs_diff(3000) < 220), "{ios:?}");
    assert!(ios[0] != ios[1] && ios[1] != ios[2], "{ios:?}");
    pool.set_rate(Some(3_000.0)).unwrap();
    let window = second(&mut pool);
    let ios: Vec<u64> = window.hosts.iter().map(|host| host.ios()).collect();
    assert!(ios.iter().all(|ios| ios.abs_diff(1000) < 127), "{ios:?}");
    pool.hold_back_arrivals(true);
    pool.take_window().unwrap();
    assert_eq!(second(&mut pool).ios(), 0);
    pool.hold_back_arrivals(false);
    pool.take_window().unwrap();
    let ios = second(&mut pool).ios();
    assert!(ios.abs_diff(3000) < 220, "{ios}");
}

#[test]
fn far_host_waits_longer_for_the_same_device() {
    let mut pool = start(&[of_depth(6)], &format!("{EVEN},hosts=3,far_host=1ms"), 6);
    let window = second(&mut pool);
    let max: Vec<u64> =
        window.hosts.iter().map(|host| host.directions[0].service.max_ns()).collect();
    assert_eq!(max, [100_000, 100_000, 1_100_000]);
}
