//! Tests of block reads through the server, and of its cache counters.

use crate::open;
use iogauge_db::backend::RunPlan;
use iogauge_db::blocks::Blocks;
use iogauge_db::pool::Mode;
use iogauge_test_support::database::{AtWork, SIZE_BYTES, plan, set_up};
use iogauge_test_support::or_skip;
use iogauge_test_support::postgres::Server;
use std::time::Duration;

const RUN: RunPlan = RunPlan { writers: 0, reads: true };

#[test]
fn server_reports_its_cache_hits() {
    let mut server = or_skip!("server_reports_its_cache_hits", Server::make());
    let url = server.url().with_setting("reads=server").unwrap();
    let db = open(&url);
    set_up(db.as_ref(), &[2000]);
    // Recovery caches the blocks that it redoes. After a checkpoint there are none.
    server.psql("CHECKPOINT");
    server.crash();
    server.restart();
    let activity = db.begin(&RUN).unwrap();
    let blocks = activity.blocks().unwrap();
    assert!(!blocks.is_direct());
    let mut reader = blocks.reader().unwrap();
    // A session reads a table's index tree when it plans its first statement.
    reader.read(u64::MAX).unwrap();
    let before = activity.counts().unwrap();
    // The reads last long enough for the session to report and reset its counters in between.
    let (step, all) = (u64::MAX / 400, 400);
    for hit in [false, true] {
        for number in 0..all {
            assert_eq!(reader.read(number * step).unwrap(), hit, "block {number} of {all}");
            std::thread::sleep(Duration::from_millis(3));
        }
    }
    drop(reader);
    let after = activity.counts().unwrap();
    assert!(after.blocks_read.unwrap() - before.blocks_read.unwrap() >= all);
    assert!(after.blocks_hit.unwrap() - before.blocks_hit.unwrap() >= all);
}

#[test]
fn read_counts_match_server_statistics() {
    let server = or_skip!("read_counts_match_server_statistics", Server::make());
    let db = open(&server.url().with_setting("reads=server").unwrap());
    set_up(db.as_ref(), &[2000, 2000]);
    // Excludes the index tree, which a session reads when it plans a statement.
    let blocks = || {
        let sum = server.psql(
            "SELECT sum(heap_blks_hit), sum(heap_blks_read) FROM pg_statio_user_tables \
             WHERE relname = 'filler' OR relname LIKE 'global_'",
        );
        let (hit, read) = sum.split_once('|').unwrap();
        (hit.parse::<u64>().unwrap(), read.parse::<u64>().unwrap())
    };
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Read, 2, 7));
    let before = blocks();
    at_work.work(Duration::from_millis(200));
    let per_worker = at_work.pool.stop();
    let reads: u64 = per_worker.iter().map(|per_worker| per_worker.reads.count()).sum();
    let hits: u64 = per_worker.iter().map(|per_worker| per_worker.read_hits).sum();
    let after = blocks();
    assert_eq!((after.0 - before.0, after.1 - before.1), (hits, reads - hits));
}

#[test]
fn direct_reads_bypass_the_server_when_possible() {
    let name = "files_are_read_around_the_server";
    let server = or_skip!("files_are_read_around_the_server", Server::make());
    if !rustix::process::getuid().is_root() {
        return iogauge_test_support::skip(name, "only root can read the server's files here");
    }
    let db = open(&server.url().with_setting("reads=direct").unwrap());
    set_up(db.as_ref(), &[2000]);
    let data = server.dir().join("data").canonicalize().unwrap();
    assert_eq!(db.paths().unwrap(), [data.as_path()]);
    let activity = db.begin(&RUN).unwrap();
    let Blocks::Direct(files, 8192) = activity.blocks().unwrap() else { panic!("not direct") };
    let blocks: u64 = files.iter().map(|file| file.blocks).sum();
    let filler = SIZE_BYTES / 8192;
    assert_eq!(files[0].blocks, filler);
    assert!(blocks > filler);
    assert!(files.iter().all(|file| file.path.starts_with(server.dir().join("data"))));
}

#[test]
fn standby_server_supports_reads() {
    let mut server = or_skip!("standby_server_supports_reads", Server::make());
    let url = server.url().with_setting("reads=server").unwrap();
    set_up(open(&url).as_ref(), &[2000]);
    server.psql("CHECKPOINT");
    server.crash();
    std::fs::write(server.dir().join("data/standby.signal"), "").unwrap();
    server.restart();
    assert_eq!(server.psql("SELECT pg_is_in_recovery()"), "t");
    let db = open(&url);
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Read, 2, 7));
    at_work.work(Duration::from_millis(100));
    let per_worker = at_work.pool.stop();
    assert!(per_worker.iter().all(|per_worker| per_worker.reads.count() > 0));
    let counts = at_work.pool.activity().counts().unwrap();
    assert!(counts.log_bytes > Some(0), "{counts:?}");
    assert_eq!(at_work.pool.fault(), None);
}
