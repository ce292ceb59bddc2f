//! Tests with servers and clients that are killed in the middle of a run.

use crate::{line, open};
use iogauge_db::pool::Mode;
use iogauge_db::{DbError, DbUrl};
use iogauge_test_support::database::{AtWork, Expected, plan, sequences, set_up};
use iogauge_test_support::or_skip;
use iogauge_test_support::postgres::Server;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const WORKERS: u32 = 2;
/// Environment variable with the URL for the child process of a test.
const URL: &str = "IOGAUGE_TEST_POSTGRES_URL";

#[test]
fn acknowledged_commits_survive_a_server_crash() {
    let name = "acknowledged_commits_survive_a_server_crash";
    let mut server = or_skip!("a_server_that_crashes", Server::make());
    let db = open(&server.url());
    let globals = set_up(db.as_ref(), &[2000, 2000]);
    let mut expected = Expected::initial(&globals);
    for seed in [7, 8] {
        let plan = plan(Mode::Write, WORKERS, seed);
        let mut at_work = AtWork::begin(db.as_ref(), plan);
        at_work.work(Duration::from_millis(300));
        server.crash();
        let end = Instant::now() + PATIENCE;
        while !at_work.pool.finished() {
            assert!(Instant::now() < end, "{name}: workers go on without a server");
            std::thread::sleep(Duration::from_millis(5));
        }
        let (_, fault) = at_work.pool.fault().unwrap();
        assert!(matches!(fault, DbError::Gone(_)), "{fault:?}");
        line(&fault);
        for error in [
            at_work.pool.activity().counts().unwrap_err(),
            at_work.pool.activity().cycles().unwrap_err(),
            at_work.pool.activity().drain().unwrap_err(),
        ] {
            assert!(matches!(error, DbError::Gone(_)), "{error:?}");
        }
        assert!(matches!(db.globals(), Err(DbError::Unreachable(_))));
        let (before, acknowledged) = (at_work.before.clone(), at_work.acknowledged());
        drop(at_work);
        server.restart();
        let committed = sequences(db.as_ref(), WORKERS);
        for (index, committed) in committed.iter().enumerate() {
            let (before, acknowledged) = (before[index], acknowledged[index]);
            assert!(acknowledged > before, "worker {} did nothing", index + 1);
            // One more transaction may have been committed without acknowledgement.
            assert!((acknowledged..=acknowledged + 1).contains(committed), "{committed}");
            expected.run(seed, index as u32 + 1, plan.transaction_length, before, *committed);
        }
        expected.check(db.as_ref());
    }
    // The database is usable as before.
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, WORKERS, 9));
    at_work.work(Duration::from_millis(50));
    let per_worker = at_work.pool.stop();
    at_work.check(db.as_ref(), &per_worker);
}

#[test]
fn terminated_session_is_reported_as_gone() {
    let server = or_skip!("terminated_session_is_reported_as_gone", Server::make());
    let db = open(&server.url());
    set_up(db.as_ref(), &[1000]);
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 1, 7));
    at_work.work(Duration::from_millis(50));
    let end = Instant::now() + PATIENCE;
    while !at_work.pool.finished() {
        // Retried, because between updates a session shows another statement.
        server.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'UPDATE%'",
        );
        assert!(Instant::now() < end, "a worker goes on without a session");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (_, fault) = at_work.pool.fault().unwrap();
    assert!(matches!(fault, DbError::Gone(_)), "{fault:?}");
}

#[test]
fn killed_client_leaves_only_complete_transactions() {
    let name = "a_client_that_is_killed";
    let server = or_skip!("a_client_that_is_killed", Server::make());
    let db = open(&server.url());
    let globals = set_up(db.as_ref(), &[1000, 1000]);
    let mut client = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashes::works_until_it_is_killed", "--ignored"])
        .env(URL, server.url().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while sequences(db.as_ref(), WORKERS).iter().any(|sequence| *sequence < 20) {
        assert!(Instant::now() < end, "{name}: it does nothing");
        assert!(client.try_wait().unwrap().is_none(), "{name}: it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(matches!(db.purge(), Err(DbError::Busy(_))));
    assert!(matches!(db.hold(), Err(DbError::Busy(_))));
    client.kill().unwrap();
    client.wait().unwrap();
    // The hold waits for commits of the client's sessions that are still in progress.
    let held = db.hold().unwrap();
    let committed = sequences(db.as_ref(), WORKERS);
    drop(held);
    // The client's sessions end when they notice that it is gone.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'iogauge'";
    while server.psql(sessions) != "0" {
        assert!(Instant::now() < end, "{name}: its sessions stay");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(sequences(db.as_ref(), WORKERS), committed);
    let mut expected = Expected::initial(&globals);
    for (index, committed) in committed.iter().enumerate() {
        expected.run(7, index as u32 + 1, 10, 0, *committed);
    }
    expected.check(db.as_ref());
    db.purge().unwrap();
}

/// Runs the client of the test above.
#[test]
#[ignore = "it is a process of another test"]
fn works_until_it_is_killed() {
    let Ok(url) = std::env::var(URL) else { return };
    let url: DbUrl = url.parse().unwrap();
    let mut at_work = AtWork::begin(open(&url).as_ref(), plan(Mode::Write, WORKERS, 7));
    at_work.work(PATIENCE);
}
