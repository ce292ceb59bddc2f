//! Compares the queueing model with closed forms.

use super::*;

fn read(slot: u32) -> Request {
    Request {
        owner: 0,
        slot,
        op: Op::Read,
        offset_bytes: u64::from(slot) << 30,
        len: 4096,
        host: 0,
        return_ns: 0,
    }
}

fn write(slot: u32, len: u32) -> Request {
    Request { op: Op::Write, len, ..read(slot) }
}

/// Keeps `queue_depth` I/Os outstanding until `until_ns` and returns the times of completions.
fn closed_loop(spec: &str, queue_depth: u32, until_ns: u64, make: fn(u32) -> Request) -> Vec<u64> {
    let mut device = Device::new(spec.parse().unwrap());
    (0..queue_depth).for_each(|slot| assert!(device.submit(make(slot))));
    let mut times = Vec::new();
    while let Some(at) = device.next_completion(until_ns) {
        device.set_now(at);
        while let Some(done) = device.take() {
            times.push(at);
            device.submit(make(done.slot));
        }
    }
    times
}

#[test]
fn constant_service_time_matches_closed_form() {
    // X(N) = min(N, c)/s.
    for (queue_depth, wanted) in [(1, 10_000), (4, 40_000), (8, 80_000), (100, 80_000)] {
        let spec = "channels=8,service=100us,dist=const";
        let count = closed_loop(spec, queue_depth, 1_000_000_000, read).len();
        assert_eq!(count, wanted, "depth {queue_depth}");
    }
}

#[test]
fn exponential_service_time_saturates_at_closed_form() {
    let count = closed_loop("channels=8,service=100us", 64, 10_000_000_000, read).len();
    assert!((count as f64 / 800_000.0 - 1.0).abs() < 0.005, "{count}");
}

#[test]
fn lognormal_service_time_has_requested_mean() {
    let spec = "channels=1,service=100us,dist=lognormal:1";
    let count = closed_loop(spec, 1, 20_000_000_000, read).len();
    assert!((count as f64 / 200_000.0 - 1.0).abs() < 0.02, "{count}");
}

#[test]
fn simulated_bus_limits_bandwidth() {
    let spec = "channels=64,service=10us,dist=const,bus=40960000";
    let count = closed_loop(spec, 64, 1_000_000_000, read).len();
    assert!((9_990..=10_000).contains(&count), "{count}");
}

#[test]
fn link_limits_the_bandwidth_of_each_host() {
    // Links of 10,000 IOPS, behind a bus of 25,000.
    let count = |hosts: u32| {
        let spec = "channels=64,service=10us,dist=const,hosts=4,host_link=40960000,bus=102400000";
        let mut device = Device::new(spec.parse().unwrap());
        let on_host = |slot: u32| Request { host: slot % hosts, ..read(slot) };
        (0..64).for_each(|slot| assert!(device.submit(on_host(slot))));
        let mut done = 0;
        while let Some(at) = device.next_completion(1_000_000_000) {
            device.set_now(at);
            while let Some(taken) = device.take() {
                done += 1;
                device.submit(on_host(taken.slot));
            }
        }
        done
    };
    for (hosts, wanted) in [(1, 10_000), (2, 20_000), (4, 25_000)] {
        assert!((wanted - 20..=wanted).contains(&count(hosts)), "{hosts}: {}", count(hosts));
    }
}

#[test]
fn iops_cap_allows_burst_until_credits_are_spent() {
    let spec = "channels=64,service=100us,dist=const,iops_cap=1000,burst=5000";
    let times = closed_loop(spec, 32, 3_000_000_000, read);
    let early = times.iter().filter(|t| **t < 16_000_000).count();
    assert!(early >= 4_900, "{early}");
    let late = times.iter().filter(|t| **t >= 2_000_000_000).count();
    assert!((995..=1005).contains(&late), "{late}");
}

#[test]
fn full_write_cache_is_limited_by_destage_rate() {
    let spec = "channels=8,cache=4m,cache_service=20us,destage=4096000,service=1ms";
    let times = closed_loop(spec, 8, 3_000_000_000, |slot| write(slot, 4096));
    assert!(times.iter().filter(|t| **t < 10_000_000).count() >= 1000);
    let late = times.iter().filter(|t| **t >= 2_000_000_000).count();
    assert!((990..=1010).contains(&late), "{late}");
}

#[test]
fn gc_stalls_pause_service() {
    let spec = "channels=1,service=100us,dist=const,gc=every:100ms,stall:20ms";
    let times = closed_loop(spec, 1, 1_000_000_000, read);
    assert_eq!(times.len(), 8_000);
    assert!(times.iter().all(|t| t % 100_000_000 <= 80_000_000));
}

#[test]
fn service_slows_down_over_time() {
    let spec = "channels=1,service=100us,dist=const,fade=10%";
    let times = closed_loop(spec, 1, 11_000_000_000, read);
    let in_second = |second: u64| times.iter().filter(|t| **t / 1_000_000_000 == second).count();
    // 1/(1 + t/10) integrated over one second, from 0 and from 10.
    assert!((9_520..=9_540).contains(&in_second(0)), "{}", in_second(0));
    assert!((4_870..=4_885).contains(&in_second(10)), "{}", in_second(10));
}

#[test]
fn seek_time_makes_nearest_block_first_scheduling() {
    let spec = "channels=1,service=1ms,dist=const,seek=10ms,size=64g";
    let deep = closed_loop(spec, 32, 10_000_000_000, |slot| read(slot * 37 % 61)).len();
    let shallow = closed_loop(spec, 1, 10_000_000_000, |_| read(30)).len();
    assert!(deep > 2500, "{deep}");
    assert!(shallow < 1_000_000);
}

#[test]
fn network_round_trip_adds_latency_but_not_load() {
    let spec = "channels=1,service=100us,dist=const,rtt=900us";
    assert_eq!(closed_loop(spec, 1, 1_000_000_000, read).len(), 1_000);
    let deep = closed_loop(spec, 100, 1_000_000_000, read).len();
    assert!((9_990..=10_000).contains(&deep), "{deep}");
}

#[test]
fn requested_faults_are_simulated() {
    let mut device = Device::new("eio=100".parse().unwrap());
    device.submit(read(3));
    let at = device.next_completion(u64::MAX).unwrap();
    device.set_now(at);
    assert_eq!(device.take().unwrap().result, -libc::EIO);
    let mut device = Device::new("space=1m".parse().unwrap());
    device.submit(write(0, 4096));
    device.submit(write(3, 4096));
    let mut results = Vec::new();
    while let Some(at) = device.next_completion(u64::MAX) {
        device.set_now(at);
        results.extend(std::iter::from_fn(|| device.take()).map(|d| d.result));
    }
    results.sort_unstable();
    assert_eq!(results, [-libc::ENOSPC, 4096]);
}

#[test]
fn same_seed_reproduces_simulated_device() {
    let run = |seed| closed_loop(&format!("seed={seed}"), 16, 100_000_000, read);
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn fresh_device_reaches_steady_state_through_writes() {
    // 1024 writes while fresh, 512 during the transition, then settled.
    let spec = "channels=1,dist=const,fresh=4m,fresh_service=10us,write_service=50us";
    let times = closed_loop(spec, 1, 1_000_000_000, |slot| write(slot, 4096));
    let service = |nth: usize| times[nth] - times[nth - 1];
    assert_eq!((times[0], times[1023]), (10_000, 10_240_000));
    assert_eq!((service(1024), service(1280), service(1535)), (10_000, 30_000, 49_922));
    // 512 × 10 µs and 40 µs × (0 + 1 + … + 511) / 512, each rounded.
    assert!(times[1535].abs_diff(10_240_000 + 5_120_000 + 10_220_000) <= 256);
    assert!((1536..times.len()).all(|nth| service(nth) == 50_000));
    // Reads neither wear the device nor are affected by wear.
    assert_eq!(closed_loop(spec, 1, 1_000_000_000, read).len(), 10_000);
}

#[test]
fn fresh_device_destages_its_cache_faster() {
    let spec = "cache=4k,destage=4096000,fresh=4m,fresh_service=25us,write_service=100us";
    let times = closed_loop(spec, 8, 3_000_000_000, |slot| write(slot, 4096));
    // A settled device takes 1000 writes per second, a fresh one four times as many.
    let fresh = times.iter().filter(|t| **t < 250_000_000).count();
    assert!((998..=1002).contains(&fresh), "{fresh}");
    let settled = times.iter().filter(|t| **t >= 2_000_000_000).count();
    assert!((999..=1001).contains(&settled), "{settled}");
}

#[test]
fn wandering_service_time_oscillates_around_its_mean() {
    let spec = "channels=1,service=100us,dist=const,wander=50%:10s";
    let times = closed_loop(spec, 1, 30_000_000_000, read);
    let between = |from: u64, to: u64| {
        times.iter().filter(|t| (from..to).contains(&(**t / 1_000_000_000))).count() as f64
    };
    // ∫ dθ / (1 + A·sin θ) is 2·arccos(A)/√(1−A²) over the slow half, and 2π/√(1−A²) over the period.
    let (root, per_radian) = (0.75_f64.sqrt(), 100_000.0 / std::f64::consts::TAU);
    let slow = 2.0 * 0.5_f64.acos() / root * per_radian;
    let whole = 100_000.0 / root;
    for turn in [0, 10, 20] {
        assert!((between(turn, turn + 5) - slow).abs() < 5.0, "{}", between(turn, turn + 5));
        assert!((between(turn, turn + 10) - whole).abs() < 5.0, "{}", between(turn, turn + 10));
    }
}

#[test]
fn wandering_service_time_never_reaches_zero() {
    let spec = "channels=1,service=1ns,dist=const,wander=99%:4us";
    assert!(closed_loop(spec, 1, 4_000, read).len() <= 4_000);
}

#[test]
fn outstanding_ios_are_completed_and_discarded() {
    for spec in ["channels=2,service=100us,dist=const", "hdd", "iops_cap=100,bus=1MB/s"] {
        let mut device = Device::new(spec.parse().unwrap());
        (0..40).for_each(|slot| assert!(device.submit(read(slot))));
        device.complete_outstanding();
        assert!(device.now_ns() >= 100_000);
        assert_eq!(device.next_completion(u64::MAX), None);
        let before = device.now_ns();
        device.complete_outstanding();
        assert_eq!(device.now_ns(), before);
    }
}
