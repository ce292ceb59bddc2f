//! Tests with a process that is killed in the middle of its work.

use crate::{acknowledged, alone::alone, check, create, database, pool, setup};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DIRECTORY: &str = "IOGAUGE_TEST_ROCKSDB_DIRECTORY";
const SETTINGS: &str = "IOGAUGE_TEST_ROCKSDB_SETTINGS";
const WORKERS: u32 = 2;

/// A child process that is killed when its test ends, even by a panic.
struct Victim(Child);

impl Victim {
    fn begin(dir: &Path, settings: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::works_until_it_is_killed", "--ignored"])
            .env(DIRECTORY, dir)
            .env(SETTINGS, settings)
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // SIGKILL.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "it is the process that other tests kill"]
fn works_until_it_is_killed() {
    let _alone = alone();
    let dir = std::env::var_os(DIRECTORY).unwrap();
    let settings = std::env::var(SETTINGS).unwrap();
    let db = database(Path::new(&dir), &settings);
    let pool = pool(db.as_ref(), WORKERS);
    let begin = Instant::now();
    while !pool.finished() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nobody killed it: {:?}", pool.fault());
}

fn survives(settings: &str) {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), settings);
    setup(db.as_ref(), 1 << 20).unwrap();
    for _ in 0..WORKERS {
        create(db.as_ref(), 5000).unwrap();
    }
    let victim = Victim::begin(dir.path(), settings);
    let end = Instant::now() + Duration::from_secs(30);
    // After that many transactions, memtables have been flushed and logs have become obsolete.
    while acknowledged(db.as_ref()).iter().min().copied().unwrap_or(0) < 100 {
        assert!(Instant::now() < end, "it does not work: {:?}", acknowledged(db.as_ref()));
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(victim);
    check(db.as_ref());
    // Recovery for writing gives the same.
    drop(crate::begin(db.as_ref(), 1).unwrap());
    check(db.as_ref());
}

#[test]
fn acknowledged_rocksdb_commits_survive_a_kill() {
    survives("memtable=128k");
}

#[test]
fn unsynced_rocksdb_commits_survive_a_process_kill() {
    survives("synchronous=off&memtable=128k");
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path(), "synchronous=off");
    setup(db.as_ref(), 1 << 20).unwrap();
    let loss = db.about().unwrap().may_lose.unwrap();
    assert!(loss.contains("crash of the machine"), "{loss}");
}
