//! Tests that a killed run loses no acknowledged transaction.

use crate::support::database;
use iogauge_db::acknowledged::{Acknowledged, FORMAT, RunOfWorkers};
use iogauge_db::backend::RunPlan;
use iogauge_db::pool::{DbPool, Mode};
use iogauge_db::{Database, DbError};
use iogauge_test_support::database::{Expected, followed, global, plan, sequences};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Environment variable with the URL for the process to be killed.
const URL: &str = "IOGAUGE_TEST_URL";
const RUN: RunPlan = RunPlan { writers: 2, reads: false };
const SEED: u64 = 7;
/// Settings with very frequent checkpoints and log restarts.
const OFTEN: &str = "checkpoint=2ms&checkpoint_size=128k";

/// Works until it is killed, in the process that [`work_and_kill`] spawns.
#[test]
#[ignore = "it is a part of another test, which starts it"]
fn child_process_that_writes_until_killed() {
    let url = std::env::var(URL).expect("the other test says where");
    let db = iogauge_db::backend::open(&url.parse().unwrap()).unwrap();
    let (plan, before) = (plan(Mode::Write, 2, SEED), sequences(db.as_ref(), 2));
    let run = RunOfWorkers {
        format: FORMAT.to_owned(),
        database: db.identity().unwrap(),
        seed: plan.seed,
        transaction_length: plan.transaction_length,
        workers: plan.workers,
        may_lose: None,
    };
    let path = db.acknowledged_path().unwrap();
    let file = Acknowledged::new(&path, run, &before);
    let activity = Arc::from(db.begin(&RUN).unwrap());
    let globals = db.globals().unwrap();
    let mut pool = DbPool::start(activity, plan, &globals, &before, Some(file)).unwrap();
    pool.set_active(2);
    std::thread::sleep(Duration::from_secs(60));
    panic!("nobody killed it");
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills a run in the middle, and compares the database with what was acknowledged.
fn kill(settings: &str, times: u32) {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), settings);
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    let globals = [global(1, 3000, 100), global(2, 2000, 100)];
    for global in globals {
        followed(|progress| db.create_global(global, progress)).0.unwrap();
    }
    let mut expected = Expected::initial(&globals);
    for _ in 0..times {
        let before = sequences(db.as_ref(), 2);
        work_and_kill(db.as_ref(), &format!("sqlite:{}?{settings}", dir.path().display()), &before);
        let path = db.acknowledged_path().unwrap();
        let remembered = Acknowledged::read(&path).unwrap().unwrap();
        let committed = sequences(db.as_ref(), 2);
        for (index, (begin, acknowledged)) in remembered.workers.iter().enumerate() {
            assert_eq!(*begin, before[index]);
            let last = committed[index];
            // One more transaction may be committed without acknowledgement.
            assert!((*acknowledged..=acknowledged + 1).contains(&last), "{acknowledged}, {last}");
            expected.run(SEED, index as u32 + 1, 10, before[index], last);
        }
        expected.check(db.as_ref());
    }
    // The next run has the database to itself, and moves what is left in the logs to the data files.
    drop(db.begin(&RUN).unwrap());
    expected.check(db.as_ref());
    assert!(db.purge().unwrap().left.is_empty());
}

fn work_and_kill(db: &dyn Database, url: &str, before: &[u64]) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "killed::child_process_that_writes_until_killed"])
        .env(URL, url)
        .stdout(Stdio::null())
        .spawn();
    let mut child = Killed(child.unwrap());
    let path = db.acknowledged_path().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    let works = || {
        let Ok(Some(remembered)) = Acknowledged::read(&path) else { return false };
        let pairs = remembered.workers.iter().zip(before);
        pairs.clone().count() == 2 && pairs.clone().all(|((_, last), before)| *last > before + 100)
    };
    while !works() {
        assert!(Instant::now() < end, "it does not work");
        assert!(child.0.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(3));
    }
    let busy = db.begin(&RUN).err();
    assert!(matches!(busy, Some(DbError::Busy(_))), "{busy:?}");
    // Reading the database meanwhile does not disturb the run.
    assert!(sequences(db, 2)[0] > before[0] + 100);
    child.0.kill().unwrap();
    child.0.wait().unwrap();
}

#[test]
fn acknowledged_commits_survive_a_killed_run() {
    kill(&format!("{OFTEN}&synchronous=full"), 3);
}

#[test]
fn killed_process_loses_nothing_with_asynchronous_commits() {
    kill(&format!("{OFTEN}&synchronous=normal"), 2);
    kill("synchronous=off", 2);
}

/// The file of the previous run stays until the next run can begin.
#[test]
fn failed_worker_connection_keeps_previous_run_record() {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "");
    followed(|progress| db.setup(1 << 20, progress)).0.unwrap();
    let globals = [global(1, 10, 100), global(2, 10, 100)];
    for global in globals {
        followed(|progress| db.create_global(global, progress)).0.unwrap();
    }
    let activity = Arc::from(db.begin(&RunPlan { writers: 1, ..RUN }).unwrap());
    let path = dir.path().join("noted");
    let run = RunOfWorkers {
        format: FORMAT.to_owned(),
        database: db.identity().unwrap(),
        seed: SEED,
        transaction_length: 10,
        workers: 2,
        may_lose: None,
    };
    let file = Acknowledged::new(&path, run, &[0, 0]);
    let pool = DbPool::start(activity, plan(Mode::Write, 2, SEED), &globals, &[0, 0], Some(file));
    assert!(matches!(pool, Err(DbError::Usage(_))), "{pool:?}");
    assert!(!path.exists());
}
