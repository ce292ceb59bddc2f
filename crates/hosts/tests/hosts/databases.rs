//! A database that several hosts use together.

use super::{Run, line};
use iogauge_hosts::channel::channels;
use iogauge_hosts::follower::{Ended, follow};
use iogauge_hosts::leader::Leader;
use iogauge_io::pool::{Parts, WorkerPool};
use iogauge_io::worker::accounting::{HostWindow, Window};
use iogauge_io::worker::transactions::TransactionSums;
use iogauge_lab::db::{Database, DbLoad, Mode, WorkerNumbers, open};
use iogauge_lab::error::LabError;
use iogauge_lab::member::Member;
use iogauge_lab::observe::Interrupt;
use iogauge_lab::session::hosts::{Hosts, Opening, Starting, Wanted, Work};
use iogauge_test_support::database::{sequences, set_up};
use iogauge_test_support::or_skip;
use iogauge_test_support::postgres::Server;
use std::time::{Duration, Instant};

/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with a database of this many globals.
struct Shared {
    server: Server,
    database: Box<dyn Database>,
    globals: u32,
}

impl Shared {
    fn make(globals: u32) -> Result<Self, String> {
        let server = Server::make()?;
        // The device of this machine is not what is tested.
        server.psql("ALTER SYSTEM SET fsync = off");
        server.psql("SELECT pg_reload_conf()");
        let database = open(&server.url()).unwrap();
        set_up(database.as_ref(), &vec![100; globals as usize]);
        Ok(Self { server, database, globals })
    }

    fn opening(&self) -> Opening {
        let identity = self.database.identity().unwrap();
        let url = Box::new(self.server.url());
        Opening { text: url.to_string(), wanted: Wanted::Database { url, identity } }
    }

    /// Returns the last transaction of each worker.
    fn sequences(&self) -> Vec<u64> {
        sequences(self.database.as_ref(), self.globals)
    }
}

fn starting(mode: Mode, processes: u32, max_depth: u32) -> Starting {
    let load = DbLoad { mode, processes, transaction_length: 5, hang_ns: 0, seed: 7 };
    Starting { work: Work::Database(load, WorkerNumbers::ALONE), max_depth }
}

/// Opens the database on all hosts, and starts workers there.
fn start(run: &Run, shared: &Shared, starting: &Starting) -> Box<dyn WorkerPool> {
    let own = Member::open(shared.opening()).unwrap();
    run.leader.open(&shared.opening()).unwrap();
    let parts = Parts::equal(run.leader.number());
    run.leader.start(starting, &parts, &|part| own.pool(part)).unwrap()
}

fn settle(pool: &mut dyn WorkerPool) {
    while !pool.drained() {
        pool.advance(1_000_000).unwrap();
    }
}

/// Takes windows until they have what is wanted, and returns them as one.
fn window_until(pool: &mut dyn WorkerPool, has_all: impl Fn(&Window) -> bool) -> Window {
    pool.take_window().unwrap();
    let (mut window, begin) = (Window::default(), Instant::now());
    while !has_all(&window) && begin.elapsed() < PATIENCE {
        pool.advance(100_000_000).unwrap();
        window.append(&pool.take_window().unwrap());
    }
    window
}

/// Takes windows until this many workers have committed.
fn window_of(pool: &mut dyn WorkerPool, workers: usize) -> Window {
    window_until(pool, |window| committed(window).len() >= workers)
}

/// Returns the numbers of the workers that committed.
fn committed(window: &Window) -> Vec<usize> {
    let each = (1..).zip(&window.transactions);
    each.filter(|(_, sums)| sums.commits.count > 0).map(|(number, _)| number).collect()
}

#[test]
fn workers_are_shared_and_each_host_writes_to_globals_of_its_own() {
    let shared =
        or_skip!("workers_are_shared_and_each_host_writes_to_globals_of_its_own", Shared::make(8));
    let run = Run::of(3);
    let mut pool = start(&run, &shared, &starting(Mode::Write, 1, 8));
    settle(pool.as_mut());
    assert_eq!(committed(&window_of(pool.as_mut(), 1)), [1]);
    // Three, two and two workers.
    pool.set_queue_depth(7).unwrap();
    settle(pool.as_mut());
    let window = window_of(pool.as_mut(), 7);
    assert_eq!(committed(&window), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(window.hosts.iter().map(HostWindow::ios).sum::<u64>(), window.ios());
    assert!(window.hosts.iter().all(|host| host.ios() > 0));
    let updates: u64 = window.transactions.iter().map(|sums| sums.updates.count).sum();
    assert_eq!(updates, window.ios());
    assert_eq!(pool.workers(), 7);
    pool.set_queue_depth(2).unwrap();
    settle(pool.as_mut());
    assert_eq!(committed(&window_of(pool.as_mut(), 2)), [1, 2]);
    pool.stop().unwrap();
    // The database has what the windows have, to the transaction.
    let there = shared.sequences();
    let made = pool.transactions();
    assert_eq!(made.commits.count, there.iter().sum::<u64>());
    assert_eq!(made.updates.count, 5 * made.commits.count);
    assert_eq!(there[7], 0, "the eighth global has no worker");
    let reports = run.leader.database_reports();
    let mut acknowledged: Vec<(u32, u64)> =
        reports.into_iter().flat_map(|(_, report)| report.acknowledged).collect();
    acknowledged.sort_unstable();
    let of_others = [2, 3, 5, 6].map(|worker: u32| (worker, there[worker as usize - 1]));
    assert_eq!(acknowledged, of_others);
    drop(pool);
    run.end();
}

#[test]
fn hosts_read_and_write_at_once() {
    let shared = or_skip!("hosts_read_and_write_at_once", Shared::make(4));
    let run = Run::of(2);
    let mode = Mode::Io { read_percent: 50 };
    let mut pool = start(&run, &shared, &starting(mode, 4, 4));
    let does_both = |window: &Window| {
        let of_worker =
            |sums: &TransactionSums| sums.commits.count > 0 && sums.read_transactions > 0;
        window.transactions.len() == 4 && window.transactions.iter().all(of_worker)
    };
    let window = window_until(pool.as_mut(), does_both);
    assert!(does_both(&window), "{:?}", window.transactions);
    for host in &window.hosts {
        assert!(host.directions.iter().all(|tally| tally.ios() > 0), "{host:?}");
    }
    pool.stop().unwrap();
    drop(pool);
    run.end();
}

#[test]
fn nobody_else_takes_the_database_while_a_host_uses_it() {
    let shared = or_skip!("nobody_else_takes_the_database_while_a_host_uses_it", Shared::make(2));
    let run = Run::of(2);
    let pool = start(&run, &shared, &starting(Mode::Write, 2, 2));
    let busy = shared.database.hold().unwrap_err();
    assert!(busy.to_string().contains("another run"), "{busy}");
    drop(pool);
    run.end();
    drop(shared.database.hold().unwrap());
}

#[test]
fn other_database_on_a_host_is_refused() {
    let shared = or_skip!("other_database_on_a_host_is_refused", Shared::make(1));
    let run = Run::of(2);
    let Wanted::Database { url, .. } = shared.opening().wanted else { panic!() };
    let wanted = Wanted::Database { url, identity: "another".to_owned() };
    let error = run.leader.open(&Opening { text: String::new(), wanted }).unwrap_err();
    let told = error.to_string();
    assert!(matches!(error, LabError::OnHost { .. }) && error.is_usage(), "{error:?}");
    assert!(told.contains("another database") && told.contains("hint: "), "{told}");
    run.end();
}

#[test]
fn too_few_connections_limit_all_hosts_alike() {
    let shared = or_skip!("too_few_connections_limit_all_hosts_alike", Shared::make(0));
    // Of 100 connections, three are kept for superusers, which this user is. Each host takes one more.
    let run = Run::of(2);
    let mut pool = start(&run, &shared, &starting(Mode::Read, 1, 400));
    pool.set_queue_depth(300).unwrap();
    let most = pool.most_depth().unwrap();
    assert!((1..=98).contains(&most), "{most}");
    assert_eq!(pool.workers(), most as usize);
    settle(pool.as_mut());
    pool.take_window().unwrap();
    pool.advance(200_000_000).unwrap();
    let window = pool.take_window().unwrap();
    let busy = window.workers.iter().filter(|worker| worker.ios > 0).count();
    assert!(busy <= most as usize, "{busy} of {most}");
    pool.stop().unwrap();
    drop(pool);
    run.end();
}

#[test]
fn crash_of_the_server_ends_the_workers_of_all_hosts() {
    let mut shared = or_skip!("crash_of_the_server_ends_the_workers_of_all_hosts", Shared::make(4));
    let run = Run::of(2);
    let mut pool = start(&run, &shared, &starting(Mode::Write, 4, 4));
    assert_eq!(committed(&window_of(pool.as_mut(), 4)), [1, 2, 3, 4]);
    shared.server.crash();
    let begin = Instant::now();
    while !pool.finished() {
        pool.advance(20_000_000).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(20), "the end is not noticed");
    }
    let errors = pool.take_window().unwrap().errors() + pool.stop().unwrap().errors();
    assert!((2..=4).contains(&errors), "{errors}");
    assert!(pool.losses().is_empty(), "a host is not lost with a server");
    let (_, report) = run.leader.database_reports().pop().unwrap();
    assert!(report.fault.is_some());
    drop(pool);
    run.end();
}

#[test]
fn lost_host_ends_a_measurement_on_a_database() {
    let shared = or_skip!("lost_host_ends_a_measurement_on_a_database", Shared::make(4));
    let mut ports = channels(2).into_iter();
    let own = line(ports.next().unwrap());
    let vanishes = Interrupt::default();
    let (port, told) = (ports.next().unwrap(), vanishes.clone());
    let vanishing = std::thread::spawn(move || follow(line(port), &told));
    let leader = Leader::new(own, "first".to_owned(), Interrupt::default());
    let run = Run { leader, followers: Vec::new() };
    let mut pool = start(&run, &shared, &starting(Mode::Write, 4, 4));
    assert_eq!(committed(&window_of(pool.as_mut(), 4)), [1, 2, 3, 4]);
    vanishes.set();
    assert_eq!(vanishing.join().unwrap(), Ended::BySignal);
    let begin = Instant::now();
    while !pool.finished() {
        pool.advance(20_000_000).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(25), "the loss is not noticed");
    }
    assert_eq!(pool.losses().len(), 1);
    pool.stop().unwrap();
    drop(pool);
    run.end();
}
