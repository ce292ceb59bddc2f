//! Hosts in one process: each is a thread with a port of its own, and all use one directory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod databases;
mod verify;

use iogauge_hosts::channel::{Channel, channels};
use iogauge_hosts::follower::{Ended, follow};
use iogauge_hosts::leader::Leader;
use iogauge_hosts::line::{Event, Line, SILENCE};
use iogauge_hosts::message::{Numbered, Order, Report, decode, encode};
use iogauge_io::clock::Clock;
use iogauge_io::pool::{Parts, WorkerPool};
use iogauge_io::targets::Intent;
use iogauge_io::worker::accounting::{HostWindow, Window};
use iogauge_lab::error::{LabError, RefusedKind};
use iogauge_lab::member::Member;
use iogauge_lab::observe::Interrupt;
use iogauge_lab::session::Region;
use iogauge_lab::session::hosts::{Hosts, Opening, Preparing, Starting, Wanted};
use iogauge_lab::session::sharing::Sharing;
use iogauge_model::load::{ArrivalProcess, Arrivals, Load, Pattern};
use iogauge_test_support::eventually;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

fn now_ns() -> u64 {
    Clock::get().now_ns()
}

fn line(port: Channel) -> Line {
    Line::open(|| Ok(port), now_ns, || ()).unwrap()
}

/// A leader with followers on threads.
struct Run {
    leader: Leader,
    followers: Vec<JoinHandle<Ended>>,
}

impl Run {
    fn of(hosts: usize) -> Self {
        let mut ports = channels(hosts).into_iter();
        let own = ports.next().unwrap();
        let follower = |port| std::thread::spawn(|| follow(line(port), &Interrupt::default()));
        let followers = ports.map(follower).collect();
        let leader = Leader::new(line(own), "first".to_owned(), Interrupt::default());
        Self { leader, followers }
    }

    /// Opens and prepares a target on all hosts, and returns this host's part.
    fn ready(&self, directory: &Path, intent: Intent) -> Result<Member, LabError> {
        let opening =
            Opening { text: directory.display().to_string(), wanted: Wanted::All(intent) };
        let mut own = Member::open(opening.for_host(1, self.hosts()))?;
        self.leader.open(&opening)?;
        let interrupt = Interrupt::default();
        let preparing = Preparing { sharing: vec![Sharing::Own], ..Preparing::default() };
        self.leader.begin_preparing(&preparing);
        own.prepare(&preparing, &interrupt)?;
        self.leader.wait_prepared(&interrupt)?;
        Ok(own)
    }

    fn hosts(&self) -> u32 {
        self.leader.number() as u32
    }

    /// Starts a workload on all hosts, in equal parts.
    fn start(&self, own: &Member, load: Load, max_depth: u32) -> Box<dyn WorkerPool> {
        self.start_parts(own, load, max_depth, &Parts::equal(self.leader.number()))
    }

    fn start_parts(
        &self,
        own: &Member,
        load: Load,
        max_depth: u32,
        parts: &Parts,
    ) -> Box<dyn WorkerPool> {
        let starting = Starting::new(vec![(load, Region::All)], max_depth, vec![Sharing::Own]);
        self.leader.start(&starting, parts, &|part| own.pool(part)).unwrap()
    }

    fn end(self) {
        self.leader.end();
        for follower in self.followers {
            assert_eq!(follower.join().unwrap(), Ended::ByOrder);
        }
    }
}

fn intent() -> Intent {
    Intent { size_bytes: Some(4 * MIB), writes: false, ..Intent::default() }
}

fn reads(iodepth: u32) -> Load {
    Load { rw: Pattern::RandRead, iodepth, ..Load::default() }
}

fn queue_depths(window: &Window) -> Vec<u32> {
    window.hosts.iter().map(|host| host.queue_depth().round() as u32).collect()
}

#[test]
fn hosts_share_the_queue_depth_and_their_figures_are_summed() {
    let directory = tempfile::tempdir().unwrap();
    let run = Run::of(3);
    let own = run.ready(directory.path(), intent()).unwrap();
    for host in 1..=3 {
        let file = directory.path().join(format!("iogauge-host-{host}.dat"));
        assert!(file.exists(), "each host has a file of its own");
    }
    let mut pool = run.start(&own, reads(7), 64);
    assert_eq!(pool.host_names().len(), 3);
    pool.take_window().unwrap();
    pool.advance(300_000_000).unwrap();
    let window = pool.take_window().unwrap();
    assert_eq!(queue_depths(&window), [3, 2, 2]);
    let sum: u64 = window.hosts.iter().map(HostWindow::ios).sum();
    assert_eq!(window.ios(), sum);
    assert!(window.hosts.iter().all(|host| host.ios() > 0), "all hosts did I/O");
    // The windows of all hosts are of the same time.
    for host in &window.hosts {
        let seconds = host.elapsed_ns as f64 / 1e9;
        assert!((0.3..3.0).contains(&seconds), "{seconds}");
    }
    for (number, host) in window.hosts.iter().enumerate() {
        assert!(host.cpu_ns > 0 && host.processors >= 1 && host.same_kernel, "{host:?}");
        assert_eq!(host.clock_error_ns > 0, number > 0, "{host:?}");
    }
    pool.set_queue_depth(2).unwrap();
    while !pool.drained() {
        pool.advance(1_000_000).unwrap();
    }
    pool.take_window().unwrap();
    pool.advance(200_000_000).unwrap();
    let window = pool.take_window().unwrap();
    assert_eq!(queue_depths(&window), [1, 1, 0]);
    assert_eq!(window.hosts[2].ios(), 0);
    let live = pool.live();
    let last = pool.stop().unwrap();
    assert!(last.hosts.len() == 3 && live.ios > 0 && pool.losses().is_empty());
    drop(pool);
    run.end();
}

/// Returns a window of this pool in which each of its hosts did I/O. On a busy machine, workers may be late for one.
fn window(pool: &mut dyn WorkerPool) -> Window {
    while !pool.drained() {
        pool.advance(1_000_000).unwrap();
    }
    pool.take_window().unwrap();
    for _ in 0..20 {
        pool.advance(200_000_000).unwrap();
        let window = pool.take_window().unwrap();
        if window.hosts.iter().all(|host| host.ios() > 0) {
            return window;
        }
    }
    panic!("a host does no I/O");
}

#[test]
fn hosts_have_the_parts_that_they_were_given() {
    let directory = tempfile::tempdir().unwrap();
    let run = Run::of(3);
    let own = run.ready(directory.path(), intent()).unwrap();
    let parts = Parts::weighted(vec![1000, 700, 300]);
    let mut pool = run.start_parts(&own, reads(20), 64, &parts);
    assert_eq!(queue_depths(&window(pool.as_mut())), [10, 7, 3]);
    pool.set_queue_depth(40).unwrap();
    assert_eq!(queue_depths(&window(pool.as_mut())), [20, 14, 6]);
    pool.stop().unwrap();
    drop(pool);
    // The last host takes no part, and the others keep their proportions.
    let mut pool = run.start_parts(&own, reads(17), 64, &parts.first(2));
    assert_eq!(pool.host_names().len(), 2);
    let two = window(pool.as_mut());
    assert_eq!(queue_depths(&two), [10, 7]);
    assert!(two.hosts.iter().all(|host| host.ios() > 0));
    pool.stop().unwrap();
    drop(pool);
    run.end();
}

#[test]
fn any_host_can_be_alone() {
    let directory = tempfile::tempdir().unwrap();
    let run = Run::of(3);
    let own = run.ready(directory.path(), intent()).unwrap();
    for host in 0..3 {
        let mut pool = run.start_parts(&own, reads(4), 8, &Parts::only(host, 3));
        assert_eq!(pool.host_names(), [run.leader.names()[host].clone()]);
        // Processor time of this host alone can show that it is the bottleneck.
        assert_eq!((pool.cpu().is_none(), pool.is_only_client()), (host == 0, host == 0));
        let begin = Instant::now();
        let alone = window(pool.as_mut());
        assert!(begin.elapsed() >= Duration::from_millis(200), "time passes on an idle leader");
        assert_eq!(queue_depths(&alone), [4], "host {host}");
        assert!(alone.ios() > 0 && alone.hosts[0].ios() == alone.ios());
        pool.set_queue_depth(2).unwrap();
        assert_eq!(queue_depths(&window(pool.as_mut())), [2]);
        assert!(pool.stop().unwrap().hosts.len() == 1 && pool.losses().is_empty());
    }
    // All of them can follow again.
    let mut pool = run.start(&own, reads(3), 8);
    assert_eq!(queue_depths(&window(pool.as_mut())), [1, 1, 1]);
    pool.stop().unwrap();
    drop(pool);
    run.end();
}

#[test]
fn rate_is_shared_out_by_parts() {
    let directory = tempfile::tempdir().unwrap();
    let run = Run::of(3);
    let own = run.ready(directory.path(), intent()).unwrap();
    let mut load = reads(16);
    load.arrivals =
        Some(Arrivals { rate_iops: 200.0, process: ArrivalProcess::Linear, only: None });
    let parts = Parts::weighted(vec![5, 3, 2]);
    let mut pool = run.start_parts(&own, load, 48, &parts);
    for rate in [None, Some(500.0)] {
        if rate.is_some() {
            pool.set_rate(rate).unwrap();
        }
        pool.take_window().unwrap();
        pool.advance(1_000_000_000).unwrap();
        let window = pool.take_window().unwrap();
        let all = window.ios() as f64;
        for (host, part) in window.hosts.iter().zip([0.5, 0.3, 0.2]) {
            let share = host.ios() as f64 / all;
            assert!((share - part).abs() < 0.02, "{share} of {all}, not {part}");
        }
    }
    pool.stop().unwrap();
    drop(pool);
    run.end();
}

#[test]
fn arrivals_of_hosts_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let run = Run::of(3);
    let own = run.ready(directory.path(), intent()).unwrap();
    let mut load = reads(16);
    load.arrivals =
        Some(Arrivals { rate_iops: 300.0, process: ArrivalProcess::Poisson, only: None });
    let mut pool = run.start(&own, load, 48);
    pool.set_rate(Some(900.0)).unwrap();
    pool.advance(1_000_000_000).unwrap();
    let window = pool.take_window().unwrap();
    let offered = window.offered().unwrap().ios as f64;
    let expected = 900.0 * window.seconds();
    // Five standard deviations of a Poisson count.
    assert!((offered - expected).abs() < 5.0 * expected.sqrt() + 1.0, "{offered} {expected}");
    let of_each: Vec<u64> = window.hosts.iter().map(HostWindow::ios).collect();
    assert!(of_each[1] != of_each[2] || of_each[0] != of_each[1], "processes of their own");
    pool.stop().unwrap();
    drop(pool);
    run.end();
}

#[test]
fn refusal_on_one_host_refuses_for_all_and_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("iogauge-host-3.dat");
    std::fs::write(&foreign, vec![7u8; 8 << 20]).unwrap();
    let run = Run::of(3);
    let writes = Intent { writes: true, ..intent() };
    let error = run.ready(directory.path(), writes).unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert!(error.to_string().contains("iogauge-host-3.dat"), "{error}");
    let files = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(files, 1, "no host has made its file");
    assert_eq!(std::fs::read(&foreign).unwrap(), vec![7u8; 8 << 20]);
    run.end();
}

#[test]
fn refusal_during_an_interrupt_names_its_host() {
    let mut ports = channels(3).into_iter();
    let own = line(ports.next().unwrap());
    // The second host is still busy when the third one refuses and the user interrupts.
    let busy = line(ports.next().unwrap());
    let refusing = line(ports.next().unwrap());
    let interrupt = Interrupt::default();
    let leader = Leader::new(own, "first".to_owned(), interrupt.clone());
    leader.begin_preparing(&Preparing::default());
    let third = std::thread::spawn(move || {
        let number = loop {
            if let Some(Event::Message { bytes, .. }) = refusing.next(Duration::from_millis(50)) {
                break decode::<Numbered<Order>>(&bytes).unwrap().number;
            }
        };
        let (kind, message) = (RefusedKind::Fault, "no room".to_owned());
        refusing.send(0, encode(&Numbered { number, content: Report::Refused { kind, message } }));
        std::thread::sleep(Duration::from_secs(1));
        interrupt.set();
        refusing
    });
    let error = leader.wait_prepared(&Interrupt::default()).unwrap_err().to_string();
    assert_eq!(error, "host number 3: no room");
    drop((third.join().unwrap(), busy));
}

#[test]
fn lost_host_ends_the_measurement_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let mut ports = channels(3).into_iter();
    let own = line(ports.next().unwrap());
    let alive = ports.next().unwrap();
    let alive = std::thread::spawn(|| follow(line(alive), &Interrupt::default()));
    // A host that vanishes: its thread ends, and its messages with it.
    let vanishes = Interrupt::default();
    let (port, told) = (ports.next().unwrap(), vanishes.clone());
    let vanishing = std::thread::spawn(move || follow(line(port), &told));
    let leader = Leader::new(own, "first".to_owned(), Interrupt::default());
    let run = Run { leader, followers: vec![alive] };
    let own = run.ready(directory.path(), intent()).unwrap();
    let mut pool = run.start(&own, reads(6), 6);
    vanishes.set();
    assert_eq!(vanishing.join().unwrap(), Ended::BySignal);
    let begin = Instant::now();
    while !pool.finished() {
        pool.advance(20_000_000).unwrap();
        assert!(begin.elapsed() < SILENCE + Duration::from_secs(12), "the loss is not noticed");
    }
    assert_eq!(pool.take_window().unwrap().ios(), 0, "no window without all hosts");
    let losses = pool.losses();
    assert!(losses.len() == 1 && losses[0].contains("#2"), "{losses:?}");
    assert!(run.leader.lost().unwrap().contains("was lost"));
    pool.stop().unwrap();
    drop(pool);
    run.end();
}

#[test]
fn follower_ends_without_its_leader() {
    let mut ports = channels(2).into_iter();
    // Its messages are never looked at.
    let _leader = ports.next().unwrap();
    let begin = Instant::now();
    let ended = follow(line(ports.next().unwrap()), &Interrupt::default());
    assert_eq!(ended, Ended::LeaderLost);
    assert!(begin.elapsed() >= SILENCE - Duration::from_secs(1));
}

#[test]
fn clocks_are_compared_before_anything_starts() {
    let directory = tempfile::tempdir().unwrap();
    let run = Run::of(2);
    run.ready(directory.path(), intent()).unwrap();
    let error_ns = || run.leader.clock_error_ns().expect("the clocks are compared");
    error_ns();
    // A look that takes place every 20 ms could not tell the clocks apart like this. Later bursts make up for a first one
    // during which others had the processors.
    eventually(|| error_ns() < 1_000_000);
    run.end();
}
