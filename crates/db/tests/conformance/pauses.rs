//! Cases of the hang time between transactions, which is the same with every database.

use crate::fixture::Fixture;
use iogauge_db::Database;
use iogauge_db::pool::{DbPoolPlan, Mode};
use iogauge_test_support::database::{AtWork, plan, set_up};
use std::time::{Duration, Instant};

/// Pauses measured in one try.
const PAUSES: u32 = 8;
const TRIES: usize = 3;
/// Rounds of tries at most. On a busy machine, paused workers wake up late.
const ROUNDS: usize = 4;
/// Allowed difference between the clocks of two processes.
const CLOCK: Duration = Duration::from_micros(100);

fn hanging(mode: Mode, hang: Duration) -> DbPoolPlan {
    DbPoolPlan { transaction_length: 1, hang, ..plan(mode, 1, 7) }
}

/// Returns a worker's mean pause. Fails if the pauses are shorter than `hang`.
fn mean_pause(db: &dyn Database, mode: Mode, hang: Duration) -> Duration {
    let mut at_work = AtWork::begin(db, hanging(mode, hang));
    at_work.work(hang * PAUSES);
    let per_worker = at_work.pool.stop();
    let transactions = (per_worker[0].commits.count() + per_worker[0].read_transactions) as u32;
    let idle = Duration::from_nanos(per_worker[0].elapsed_ns - per_worker[0].busy_ns);
    at_work.check(db, &per_worker);
    // The pause after the last transaction was cut short.
    let whole = transactions.saturating_sub(1);
    assert!(hang * whole <= idle + CLOCK, "{mode:?}: {whole} pauses of {hang:?} in {idle:?}");
    idle / transactions.max(1)
}

pub fn pauses_are_as_long_as_asked(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[500]);
    for mode in [Mode::Write, Mode::Read] {
        for hang_ms in [5, 40] {
            let hang = Duration::from_millis(hang_ms);
            let most = hang.mul_f64(1.15) + Duration::from_millis(1);
            let mut medians = Vec::new();
            while medians.last().is_none_or(|median| *median > most) {
                assert!(medians.len() < ROUNDS, "{mode:?}, {hang:?}: {medians:?}");
                let mut means: Vec<Duration> =
                    (0..TRIES).map(|_| mean_pause(db.as_ref(), mode, hang)).collect();
                means.sort_unstable();
                medians.push(means[TRIES / 2]);
            }
        }
    }
}

pub fn a_long_pause_ends_with_the_run(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[500]);
    for mode in [Mode::Write, Mode::Read] {
        let hang = Duration::from_secs(600);
        let mut at_work = AtWork::begin(db.as_ref(), hanging(mode, hang));
        at_work.pool.set_active(1);
        let done = |per_worker: &[iogauge_db::counts::WorkerCounts]| {
            per_worker[0].commits.count() + per_worker[0].read_transactions
        };
        let (begin, mut per_worker) = (Instant::now(), at_work.pool.take_window());
        while done(&per_worker) == 0 {
            std::thread::sleep(Duration::from_millis(5));
            // A worker hands over its counts during a pause too.
            per_worker[0].merge(&at_work.pool.take_window()[0]);
            assert!(begin.elapsed() < hang / 10, "no transaction is done");
        }
        per_worker[0].merge(&at_work.pool.stop()[0]);
        assert!(begin.elapsed() < hang / 10, "{mode:?}: it ended after {:?}", begin.elapsed());
        assert_eq!(done(&per_worker), 1);
        at_work.check(db.as_ref(), &per_worker);
    }
}
