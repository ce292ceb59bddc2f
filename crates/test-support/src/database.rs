//! The contents that a database must have, recomputed, and a pool that works on it.

use iogauge_db::acknowledged::{Acknowledged, FORMAT, RunOfWorkers};
use iogauge_db::backend::{Activity, Counts, Global};
use iogauge_db::counts::WorkerCounts;
use iogauge_db::pool::{DbPool, DbPoolPlan, Mode, WorkerNumbers};
use iogauge_db::subscript_stream::SubscriptStream;
use iogauge_db::value::Stamp;
use iogauge_db::{Database, Progress};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Small enough for a test, larger than what any backend needs for itself.
pub const SIZE_BYTES: u64 = 4 << 20;

/// Calls `act`; returns its result and the last progress that it reported.
pub fn followed<T>(act: impl FnOnce(&mut Progress<'_>) -> T) -> (T, (u64, u64)) {
    let mut last = (0, 0);
    let mut tell = |done, of| {
        assert!(done >= last.0, "progress went back from {} to {done}", last.0);
        assert!(done <= of, "{done} of {of}");
        last = (done, of);
    };
    let stop = AtomicBool::new(false);
    let result = act(&mut Progress::new(&mut tell, &stop));
    (result, last)
}

/// Calls `act` as if the user had already interrupted it.
pub fn interrupted<T>(act: impl FnOnce(&mut Progress<'_>) -> T) -> T {
    let mut tell = |_, _| {};
    let stop = AtomicBool::new(true);
    act(&mut Progress::new(&mut tell, &stop))
}

/// Returns a global with this number, this many subscripts, and values of this many bytes.
pub fn global(number: u32, subscripts: u64, value_bytes: usize) -> Global {
    Global { number, subscripts, value_bytes }
}

/// Creates a database with globals of these numbers of subscripts.
pub fn set_up(db: &dyn Database, subscripts: &[u64]) -> Vec<Global> {
    followed(|progress| db.setup(SIZE_BYTES, progress)).0.unwrap();
    for (index, subscripts) in subscripts.iter().enumerate() {
        let global = global(index as u32 + 1, *subscripts, 100);
        followed(|progress| db.create_global(global, progress)).0.unwrap();
    }
    db.globals().unwrap()
}

/// The values expected under every subscript.
pub struct Expected {
    globals: Vec<(Global, Vec<Stamp>)>,
}

impl Expected {
    /// The values that `create_global` wrote.
    pub fn initial(globals: &[Global]) -> Self {
        let stamps = |global: &Global| {
            let subscripts = 1..=global.subscripts;
            subscripts.map(|subscript| Stamp::initial(global.number, subscript)).collect()
        };
        Self { globals: globals.iter().map(|global| (*global, stamps(global))).collect() }
    }

    /// Applies a worker's run: the transactions after `before` up to `last`.
    pub fn run(&mut self, seed: u64, worker: u32, length: u32, before: u64, last: u64) {
        let (global, stamps) = &mut self.globals[worker as usize - 1];
        let mut draws = SubscriptStream::new(seed, worker);
        for sequence in before + 1..=last {
            for _ in 0..length {
                let subscript = draws.subscript(global.subscripts);
                let stamp = Stamp { global: global.number, subscript, worker, sequence };
                stamps[subscript as usize - 1] = stamp;
            }
        }
    }

    /// Walks all globals and compares every value.
    pub fn check(&self, db: &dyn Database) {
        for (global, stamps) in &self.globals {
            let mut right = String::new();
            let mut seen = 0;
            db.walk(global.number, &mut |subscript, value| {
                seen += 1;
                assert_eq!(subscript, seen, "global {} is walked in order", global.number);
                stamps[subscript as usize - 1].write(global.value_bytes, &mut right);
                assert_eq!(value, right, "global {}, subscript {subscript}", global.number);
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, global.subscripts, "global {}", global.number);
        }
    }
}

/// A pool on a database, with a file of acknowledged transactions and the earlier counts.
pub struct AtWork {
    pub pool: DbPool,
    /// What the workers do.
    pub plan: DbPoolPlan,
    /// Last transaction of each worker before the run.
    pub before: Vec<u64>,
    /// The database's counts before the run.
    pub counts_before: Counts,
    dir: tempfile::TempDir,
}

/// Returns a plan for workers without think time, whose transactions have ten operations.
pub fn plan(mode: Mode, workers: u32, seed: u64) -> DbPoolPlan {
    DbPoolPlan {
        mode,
        workers,
        numbers: WorkerNumbers::ALONE,
        transaction_length: 10,
        hang: Duration::ZERO,
        seed,
    }
}

/// Returns the last transaction of each worker from the first one on; 0 for those that never worked.
pub fn sequences(db: &dyn Database, workers: u32) -> Vec<u64> {
    let committed = db.committed().unwrap();
    let of = |worker| committed.iter().find(|(other, _)| *other == worker).map_or(0, |(_, n)| *n);
    (1..=workers).map(of).collect()
}

impl AtWork {
    /// Begins a run with all workers idle.
    pub fn begin(db: &dyn Database, plan: DbPoolPlan) -> Self {
        Self::begin_through(db, plan, |activity| activity)
    }

    /// Begins a run with the activity that `wrap` returns for the database's own.
    pub fn begin_through(
        db: &dyn Database,
        plan: DbPoolPlan,
        wrap: impl FnOnce(Arc<dyn Activity>) -> Arc<dyn Activity>,
    ) -> Self {
        let before = sequences(db, plan.workers);
        let run = RunOfWorkers {
            format: FORMAT.to_owned(),
            database: db.identity().unwrap(),
            seed: plan.seed,
            transaction_length: plan.transaction_length,
            workers: plan.workers,
            may_lose: None,
        };
        let dir = tempfile::tempdir().unwrap();
        let file = Acknowledged::new(&dir.path().join("file"), run, &before);
        let globals = db.globals().unwrap();
        let activity = wrap(Arc::from(db.begin(&plan.mode.run_plan(plan.workers)).unwrap()));
        let counts_before = activity.counts().unwrap();
        let pool = DbPool::start(activity, plan, &globals, &before, Some(file)).unwrap();
        Self { pool, plan, before, counts_before, dir }
    }

    /// Lets all workers work for a while.
    pub fn work(&mut self, time: Duration) {
        self.pool.set_active(self.plan.workers);
        std::thread::sleep(time);
    }

    /// Returns the last acknowledged transaction of each worker.
    pub fn acknowledged(&self) -> Vec<u64> {
        let file = Acknowledged::read(&self.dir.path().join("file")).unwrap().unwrap();
        file.workers.iter().map(|(_, last)| *last).collect()
    }

    /// Compares the workers' counts of a finished run with those of the database and of the file, and ends
    /// the run. Returns the last transaction of each worker.
    pub fn check(self, db: &dyn Database, per_worker: &[WorkerCounts]) -> Vec<u64> {
        assert_eq!(self.pool.fault(), None);
        let counts = self.pool.activity().counts().unwrap();
        let updates: u64 = per_worker.iter().map(|per_worker| per_worker.updates.count()).sum();
        let counted = counts.updates.expect("a backend counts updates");
        assert_eq!(counted - self.counts_before.updates.unwrap(), updates);
        if let (Some(counted), Some(before)) = (counts.commits, self.counts_before.commits) {
            let commits: u64 = per_worker.iter().map(|per_worker| per_worker.commits.count()).sum();
            assert_eq!(counted - before, commits);
        }
        let acknowledged = self.acknowledged();
        let Self { pool, before, plan, .. } = self;
        drop(pool);
        let last = sequences(db, plan.workers);
        assert_eq!(acknowledged, last);
        for ((per_worker, before), last) in per_worker.iter().zip(&before).zip(&last) {
            assert_eq!(per_worker.errors, 0);
            assert_eq!(per_worker.commits.count(), last - before);
            assert_eq!(
                per_worker.updates.count(),
                (last - before) * u64::from(plan.transaction_length)
            );
        }
        last
    }
}
