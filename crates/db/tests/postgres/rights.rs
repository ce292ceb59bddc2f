//! Tests that an ordinary user can do everything except what the server reserves to privileged users.

use crate::{line, open};
use iogauge_db::backend::RunPlan;
use iogauge_db::pool::Mode;
use iogauge_db::{DbError, DbUrl};
use iogauge_test_support::database::{AtWork, Expected, plan, set_up};
use iogauge_test_support::or_skip;
use iogauge_test_support::postgres::Server;
use std::time::Duration;

#[test]
fn unprivileged_user_can_run_most_operations() {
    let server = or_skip!("unprivileged_user_can_run_most_operations", Server::make());
    server.psql("CREATE ROLE plain LOGIN");
    let url = format!("postgres://plain@/postgres?host={}", server.dir().display());
    let url: DbUrl = url.parse().unwrap();
    let db = open(&url);
    let mut tell = |_, _| {};
    let stop = std::sync::atomic::AtomicBool::new(false);
    let made = db.setup(8192, &mut iogauge_db::Progress::new(&mut tell, &stop));
    assert!(matches!(made, Err(DbError::Denied(_))), "{made:?}");
    server.psql("GRANT CREATE ON DATABASE postgres TO plain");
    let globals = set_up(db.as_ref(), &[500]);
    assert!(db.paths().unwrap().is_empty(), "the server does not tell where its data is");
    assert_eq!(db.size().unwrap().log_bytes, 0);
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Io { read_percent: 50 }, 1, 7));
    assert!(!at_work.pool.reads_directly());
    at_work.work(Duration::from_millis(100));
    let per_worker = at_work.pool.stop();
    let drained = at_work.pool.activity().drain().unwrap_err();
    assert!(matches!(drained, DbError::Denied(_)), "{drained:?}");
    assert!(line(&drained).contains("GRANT"), "{drained}");
    at_work.check(db.as_ref(), &per_worker);
    let direct = open(&url.clone().with_setting("reads=direct").unwrap());
    let activity = direct.begin(&RunPlan { writers: 0, reads: true }).unwrap();
    let error = activity.blocks().unwrap_err();
    assert!(line(&error).contains("reads=server"), "{error}");
    drop(activity);
    // A session that is read-only by default is reported as such.
    server.psql("ALTER ROLE plain SET default_transaction_read_only = on");
    let begun = db.begin(&RunPlan { writers: 1, reads: false }).err();
    assert!(matches!(begun, Some(DbError::ReadOnly(_))), "{begun:?}");
    let mut tell = |_, _| {};
    let made = db.create_global(
        iogauge_test_support::database::global(2, 10, 100),
        &mut iogauge_db::Progress::new(&mut tell, &stop),
    );
    assert!(matches!(made, Err(DbError::ReadOnly(_))), "{made:?}");
    server.psql("ALTER ROLE plain RESET default_transaction_read_only");
    assert_eq!(db.globals().unwrap(), globals);
    let mut expected = Expected::initial(&globals);
    let committed = db.committed().unwrap();
    expected.run(7, 1, 10, 0, committed[0].1);
    expected.check(db.as_ref());
    db.purge().unwrap();
}
