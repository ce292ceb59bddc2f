//! Cases with workers on a database: what they report agrees with its content and its counters.

use crate::fixture::Fixture;
use iogauge_db::backend::{Activity, Counts, Cycle, Order, RunPlan, WorkerPlan, Writer};
use iogauge_db::blocks::{BlockFile, Blocks};
use iogauge_db::counts::WorkerCounts;
use iogauge_db::pool::{DbPoolPlan, Mode};
use iogauge_db::{BACKENDS, DbError};
use iogauge_test_support::database::{AtWork, Expected, plan, sequences, set_up};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WHILE: Duration = Duration::from_millis(300);
/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn every_acknowledged_update_is_there(fixture: &Fixture) {
    let db = fixture.open();
    let globals = set_up(db.as_ref(), &[2000, 3000]);
    let mut expected = Expected::initial(&globals);
    for seed in [7, 8] {
        let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 2, seed));
        at_work.work(WHILE);
        let per_worker = at_work.pool.stop();
        let (before, length) = (at_work.before.clone(), at_work.plan.transaction_length);
        let last = at_work.check(db.as_ref(), &per_worker);
        for (index, (before, last)) in before.iter().zip(&last).enumerate() {
            assert!(last > before, "worker {} did nothing", index + 1);
            expected.run(seed, index as u32 + 1, length, *before, *last);
        }
        let bytes: u64 = per_worker.iter().map(|per_worker| per_worker.update_bytes).sum();
        let updates: u64 = per_worker.iter().map(|per_worker| per_worker.updates.count()).sum();
        assert_eq!(bytes, updates * 100);
        // The next process to open the database finds the updates too.
        let db = fixture.open();
        expected.check(db.as_ref());
        assert_eq!(sequences(db.as_ref(), 2), last);
    }
}

pub fn blocks_hold_data_and_can_be_read(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[2000]);
    let block_bytes = db.about().unwrap().block_bytes;
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Read, 2, 7));
    assert_eq!(at_work.pool.block_bytes(), block_bytes);
    let blocks = at_work.pool.activity().blocks().unwrap();
    assert_eq!(blocks.block_bytes(), block_bytes);
    if let Blocks::Direct(files, _) = &blocks {
        check_files(files, block_bytes);
    } else {
        let mut reader = blocks.reader().unwrap();
        for step in 0..1000 {
            reader.read(u64::MAX / 999 * step).unwrap();
        }
    }
    at_work.work(WHILE);
    let per_worker = at_work.pool.stop();
    at_work.check(db.as_ref(), &per_worker);
    for per_worker in &per_worker {
        assert!(per_worker.reads.count() > 0);
        assert_eq!(per_worker.read_bytes, per_worker.reads.count() * block_bytes);
    }
}

/// Fails unless every block can be read and at most 5 % of the blocks are all zeros.
fn check_files(files: &[BlockFile], block_bytes: u64) {
    let all: u64 = files.iter().map(|file| file.blocks).sum();
    assert!(all * block_bytes >= iogauge_test_support::database::SIZE_BYTES, "{files:?}");
    let mut zeros = 0;
    let mut block = vec![0; block_bytes as usize];
    for file in files {
        let open = std::fs::File::open(&file.path).unwrap();
        for number in 0..file.blocks {
            open.read_exact_at(&mut block, file.base_bytes + number * block_bytes).unwrap();
            zeros += u64::from(block.iter().all(|byte| *byte == 0));
        }
    }
    assert!(zeros * 20 <= all, "{zeros} of {all} blocks are zeros");
    let mut reader = Blocks::Direct(files.to_vec(), block_bytes).reader().unwrap();
    for number in 0..all {
        // The smallest random number that selects this block.
        let random = ((u128::from(number) << 64).div_ceil(u128::from(all))) as u64;
        assert!(!reader.read(random).unwrap(), "no cache is in the way");
    }
}

pub fn the_dice_fall_as_they_should(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[1000, 1000]);
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Io { read_percent: 30 }, 2, 7));
    at_work.work(WHILE);
    let per_worker = at_work.pool.stop();
    at_work.check(db.as_ref(), &per_worker);
    let reads: u64 = per_worker.iter().map(|per_worker| per_worker.read_transactions).sum();
    let commits: u64 = per_worker.iter().map(|per_worker| per_worker.commits.count()).sum();
    let all = (reads + commits) as f64;
    assert!(all >= 10.0, "{all} transactions in {WHILE:?}");
    // Five standard deviations of a binomial distribution, and one interrupted transaction of each worker.
    let off = (reads as f64 - 0.3 * all).abs();
    assert!(off <= 5.0 * (all * 0.3 * 0.7).sqrt() + 2.0, "{reads} of {all} read");
}

pub fn workers_rest_and_come_back(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[500, 500, 500]);
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 3, 7));
    let mut sum = vec![WorkerCounts::default(); 3];
    // Takes windows until one satisfies the condition, or fails.
    let mut until = |at_work: &mut AtWork, what: &str, so: &dyn Fn(&[WorkerCounts]) -> bool| {
        let end = Instant::now() + PATIENCE;
        loop {
            let per_worker = at_work.pool.take_window();
            add(&mut sum, &per_worker);
            if so(&per_worker) {
                return;
            }
            assert!(Instant::now() < end, "{what}: {per_worker:?}, {:?}", at_work.pool.fault());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // A worker is idle if it handed over without any operation. Within a statement it does not hand over.
    let rests =
        |per_worker: &WorkerCounts| per_worker.elapsed_ns > 0 && per_worker.operations() == 0;
    let works = |per_worker: &WorkerCounts| per_worker.operations() > 0;
    until(&mut at_work, "none begins by itself", &|per_worker| per_worker.iter().all(rests));
    at_work.pool.set_active(1);
    until(&mut at_work, "one works", &|per_worker| {
        works(&per_worker[0]) && per_worker[1..].iter().all(rests)
    });
    at_work.pool.set_active(3);
    until(&mut at_work, "all work", &|per_worker| per_worker.iter().all(works));
    at_work.pool.set_active(2);
    until(&mut at_work, "two work", &|per_worker| {
        works(&per_worker[0]) && works(&per_worker[1]) && rests(&per_worker[2])
    });
    assert_eq!(at_work.pool.active(), 2);
    add(&mut sum, &at_work.pool.stop());
    at_work.check(db.as_ref(), &sum);
}

/// A search sets the number of workers, waits until they settle, and discards what they did until then.
pub fn settled_workers_are_those_asked_for(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[500, 500, 500]);
    for hang in [Duration::ZERO, Duration::from_secs(600)] {
        let plan = DbPoolPlan { hang, ..plan(Mode::Write, 3, 7) };
        let mut at_work = AtWork::begin(db.as_ref(), plan);
        let mut sum = vec![WorkerCounts::default(); 3];
        for active in [3, 1, 2, 3, 1] {
            at_work.pool.set_active(active);
            let end = Instant::now() + PATIENCE;
            while !at_work.pool.is_settled() {
                assert!(Instant::now() < end, "{active}: {:?}", at_work.pool.fault());
                std::thread::sleep(Duration::from_millis(1));
            }
            add(&mut sum, &at_work.pool.take_window());
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(5));
                let per_worker = at_work.pool.take_window();
                let resting = &per_worker[active as usize..];
                assert!(
                    resting.iter().all(|b| b.operations() == 0 && b.busy_ns == 0),
                    "{per_worker:?}"
                );
                add(&mut sum, &per_worker);
            }
        }
        add(&mut sum, &at_work.pool.stop());
        at_work.check(db.as_ref(), &sum);
    }
}

fn add(sum: &mut [WorkerCounts], per_worker: &[WorkerCounts]) {
    for (sum, per_worker) in sum.iter_mut().zip(per_worker) {
        sum.merge(per_worker);
    }
}

pub fn cuts_lose_nothing(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[1000, 1000]);
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 2, 7));
    let mut sum = vec![WorkerCounts::default(); 2];
    at_work.pool.set_active(2);
    let (begin, mut cuts) = (Instant::now(), 0);
    while begin.elapsed() < WHILE {
        add(&mut sum, &at_work.pool.take_window());
        cuts += 1;
    }
    add(&mut sum, &at_work.pool.stop());
    add(&mut sum, &at_work.pool.take_window());
    assert!(cuts > 1);
    at_work.check(db.as_ref(), &sum);
    for per_worker in &sum {
        assert!(per_worker.busy_ns > 0 && per_worker.busy_ns <= per_worker.elapsed_ns);
        let timed = per_worker.updates.sum_ns() + per_worker.commits.sum_ns();
        assert_eq!(u128::from(per_worker.busy_ns), timed);
    }
}

pub fn a_second_run_is_kept_out(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[100]);
    let run = RunPlan { writers: 1, reads: true };
    let first = db.begin(&run).unwrap();
    for other in [&db, &fixture.open()] {
        let second = other.begin(&run).err();
        assert!(matches!(second, Some(DbError::Busy(_))), "{second:?}");
        let purged = other.purge();
        assert!(matches!(purged, Err(DbError::Busy(_))), "{purged:?}");
    }
    let held = fixture.open().hold();
    assert!(matches!(held, Err(DbError::Busy(_))), "{held:?}");
    assert!(first.counts().is_ok());
    drop(first);
    // A hold keeps runs out and can read everything.
    let held = db.hold().unwrap();
    let begun = fixture.open().begin(&run).err();
    assert!(matches!(begun, Some(DbError::Busy(_))), "{begun:?}");
    assert_eq!(db.count_subscripts(1), Ok(100));
    assert!(db.about().is_ok() && db.committed().is_ok());
    drop(held);
    drop(fixture.open().begin(&run).unwrap());
    db.purge().unwrap();
}

pub fn runs_read_beside_one_that_writes(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[2000, 2000]);
    let (to_read, to_write) = (plan(Mode::Read, 2, 7), plan(Mode::Write, 2, 8));
    let databases = [fixture.open(), fixture.open()];
    let mut early = AtWork::begin(databases[0].as_ref(), to_read);
    let mut writing = AtWork::begin(db.as_ref(), to_write);
    let mut late = AtWork::begin(databases[1].as_ref(), to_read);
    for at_work in [&mut early, &mut writing, &mut late] {
        at_work.pool.set_active(2);
    }
    std::thread::sleep(WHILE);
    // One run writes, and nobody removes the database.
    let other = fixture.open().begin(&RunPlan { writers: 1, reads: true }).err();
    assert!(matches!(other, Some(DbError::Busy(_))), "{other:?}");
    let kept = || {
        let purged = fixture.open().purge();
        assert!(matches!(purged, Err(DbError::Busy(_))), "{purged:?}");
    };
    kept();
    let per_worker = writing.pool.stop();
    assert!(per_worker.iter().all(|worker| worker.updates.count() > 0), "{per_worker:?}");
    writing.check(db.as_ref(), &per_worker);
    for mut at_work in [early, late] {
        kept();
        let per_worker = at_work.pool.stop();
        assert_eq!(at_work.pool.fault(), None);
        assert!(per_worker.iter().all(|worker| worker.reads.count() > 0), "{per_worker:?}");
    }
    // What was written is whole, and a run that writes is free to begin.
    drop(db.begin(&RunPlan { writers: 1, reads: true }).unwrap());
    db.purge().unwrap();
}

pub fn readers_and_writers_of_one_run_do_one_thing_each(fixture: &Fixture) {
    let db = fixture.open();
    let globals = set_up(db.as_ref(), &[2000]);
    // Two readers need no global.
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::ReadersWriters { writers: 1 }, 3, 7));
    at_work.work(WHILE);
    let per_worker = at_work.pool.stop();
    let length = at_work.plan.transaction_length;
    let does = |worker: &WorkerCounts| (worker.reads.count() > 0, worker.updates.count() > 0);
    let done: Vec<_> = per_worker.iter().map(does).collect();
    assert_eq!(done, [(false, true), (true, false), (true, false)]);
    let last = at_work.check(db.as_ref(), &per_worker);
    let mut expected = Expected::initial(&globals);
    expected.run(7, 1, length, 0, last[0]);
    expected.check(db.as_ref());
}

pub fn other_hosts_join_a_shared_run_on_a_server(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[100]);
    let run = RunPlan { writers: 1, reads: true };
    let first = db.begin(&run).unwrap();
    let is_server =
        BACKENDS.iter().find(|info| fixture.url.backend == info.name).unwrap().is_server;
    let joined = fixture.open().join(&run);
    if !is_server {
        assert!(matches!(joined.err(), Some(DbError::Usage(_))));
        assert!(matches!(first.share(), Err(DbError::Usage(_))));
        return;
    }
    assert!(matches!(joined.err(), Some(DbError::Busy(_))), "it is not shared yet");
    first.share().unwrap();
    let joined = fixture.open().join(&run).unwrap();
    let kept_out = || {
        let begun = fixture.open().begin(&run).err();
        assert!(matches!(begun, Some(DbError::Busy(_))), "{begun:?}");
        let held = fixture.open().hold();
        assert!(matches!(held, Err(DbError::Busy(_))), "{held:?}");
    };
    kept_out();
    // Others get the lock once the last of these runs has ended.
    drop(first);
    kept_out();
    drop(joined);
    drop(fixture.open().begin(&run).unwrap());
}

pub fn a_drained_database_rests(fixture: &Fixture) {
    let db = fixture.open();
    let globals = set_up(db.as_ref(), &[2000]);
    let begin = Instant::now();
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 1, 7));
    at_work.work(WHILE);
    let per_worker = at_work.pool.stop();
    let activity = at_work.pool.activity();
    activity.drain().unwrap();
    let drained = Instant::now();
    let cycles = activity.cycles().unwrap();
    assert!(!cycles.is_empty(), "what was written reached the data files in some round");
    for cycle in &cycles {
        let Cycle { ended, took, .. } = *cycle;
        assert!(begin <= ended && ended <= drained && took <= drained - begin, "{cycle:?}");
    }
    let again = activity.cycles().unwrap();
    assert!(again.iter().all(|cycle| cycle.ended >= drained), "a round is told twice: {again:?}");
    let length = at_work.plan.transaction_length;
    let last = at_work.check(db.as_ref(), &per_worker);
    let mut expected = Expected::initial(&globals);
    expected.run(7, 1, length, 0, last[0]);
    expected.check(db.as_ref());
}

/// An activity whose second worker's connection breaks.
struct Breaking(Arc<dyn Activity>);

impl Activity for Breaking {
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        let writer = self.0.writer(worker)?;
        Ok(if worker.worker == 2 { Box::new(Broken { writer, left: 3 }) } else { writer })
    }
    fn blocks(&self) -> Result<Blocks, DbError> {
        self.0.blocks()
    }
    fn counts(&self) -> Result<Counts, DbError> {
        self.0.counts()
    }
    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        self.0.cycles()
    }
    fn drain(&self) -> Result<(), DbError> {
        self.0.drain()
    }
}

/// A writer that fails after some more calls.
struct Broken {
    writer: Box<dyn Writer>,
    left: u32,
}

impl Writer for Broken {
    fn work(&mut self, order: &Order, per_worker: &mut WorkerCounts) -> Result<u64, DbError> {
        if self.left == 0 {
            return Err(DbError::Gone("the server went away".to_owned()));
        }
        self.left -= 1;
        self.writer.work(order, per_worker)
    }
}

pub fn a_fault_ends_all_workers(fixture: &Fixture) {
    let db = fixture.open();
    let globals = set_up(db.as_ref(), &[500, 500]);
    let plan = plan(Mode::Write, 2, 7);
    let wrap = |activity| -> Arc<dyn Activity> { Arc::new(Breaking(activity)) };
    let mut at_work = AtWork::begin_through(db.as_ref(), plan, wrap);
    at_work.pool.set_active(2);
    let end = Instant::now() + PATIENCE;
    while !at_work.pool.finished() {
        assert!(Instant::now() < end, "workers go on after a fault");
        std::thread::sleep(Duration::from_millis(5));
    }
    let per_worker = at_work.pool.stop();
    let fault = at_work.pool.fault();
    assert_eq!(fault, Some((2, DbError::Gone("the server went away".to_owned()))));
    assert_eq!((per_worker[0].errors, per_worker[1].errors), (0, 1));
    // Every acknowledged transaction is there.
    let acknowledged = at_work.acknowledged();
    drop(at_work);
    let last = sequences(db.as_ref(), 2);
    assert_eq!(acknowledged, last);
    let mut expected = Expected::initial(&globals);
    for (index, last) in last.iter().enumerate() {
        assert!(*last > 0 || index == 0);
        expected.run(7, index as u32 + 1, plan.transaction_length, 0, *last);
    }
    expected.check(db.as_ref());
}
