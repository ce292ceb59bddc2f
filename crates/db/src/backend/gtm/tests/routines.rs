//! The M routines count as Rust does, and report what they did.

use super::{gtm, processes, set_up};
use crate::backend::gtm::files;
use crate::backend::m::process::Process;
use crate::backend::m::walk;
use crate::backend::m::writer::plan_line;
use crate::backend::{Activity, Counts, Database, Global, Order, RunPlan, WorkerPlan, Writer};
use crate::counts::WorkerCounts;
use crate::error::DbError;
use crate::subscript_stream::{MODULUS, SubscriptStream};
use crate::value::Stamp;
use std::time::{Duration, Instant};

const RUN: RunPlan = RunPlan { writers: 1, reads: false };

/// Compares what M draws and writes, line by line, with what Rust does.
fn compare(gtm: &crate::backend::gtm::Gtm, plan: &WorkerPlan) {
    let mut process = Process::start(&gtm.tools.installation(), "prove^RanWorker").unwrap();
    process.tell(format_args!("{}", plan_line(plan, true))).unwrap();
    let mut draws = SubscriptStream::from_state(plan.draws_state);
    let WorkerPlan { worker, global, sequence, .. } = *plan;
    let (mut right, mut seen) = (String::new(), 0);
    process
        .hear(|line| {
            let subscript = draws.subscript(global.subscripts);
            let stamp = Stamp { global: global.number, subscript, worker, sequence };
            stamp.write(global.value_bytes, &mut right);
            assert_eq!(line, format!("{subscript} {right}"), "{plan:?}");
            seen += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, plan.transaction_length);
}

#[test]
fn m_routines_match_the_rust_implementation() {
    let dir = tempfile::tempdir().unwrap();
    let Some(gtm) = gtm("m_routines_match_the_rust_implementation", dir.path(), "") else { return };
    std::fs::create_dir_all(gtm.directory.path()).unwrap();
    files::write_routines(&gtm.tools, &gtm.directory.there().unwrap()).unwrap();
    let plans = [
        (1, 1, 1_000_000, 100, 1, 1),
        (3, 3, 999_983, 64, 0, MODULUS - 1),
        (99_999, 99_999, 999_999_999_999, 101, 999_999_999_999, 12_345),
        (7, 7, 2_147_483_646, 2_000, 123_456_789_012, 987_654_321),
        (65, 65, 1, 333, 3_000_000_000_000, 2_000_000_000),
    ];
    for (worker, number, subscripts, value_bytes, sequence, draws_state) in plans {
        let global = Global { number, subscripts, value_bytes };
        let transaction_length = 10_000;
        compare(&gtm, &WorkerPlan { worker, global, sequence, draws_state, transaction_length });
    }
}

#[test]
fn sizes_of_globals_are_where_the_reference_suite_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let name = "sizes_of_globals_are_where_the_reference_suite_reads_them";
    let Some(db) = gtm(name, dir.path(), "cache=16M") else { return };
    set_up(&db, 2 << 20, 3, 70);
    // As its routine GetSizes reads them: the number of globals, and the size of each.
    let sizes = || {
        let code = "write $get(^RanWriteGlobalCount) for i=1:1:$get(^RanWriteGlobalCount) \
                    write \",\",@(\"^RanWriteGlobal\"_i_\"(\"\"Size\"\")\")";
        db.tools.run("mumps", &["-run", "%XCMD", code], "").unwrap().trim().to_owned()
    };
    assert_eq!(sizes(), "3,70,70,70");
    // The nodes are no subscripts of ours.
    assert_eq!(db.count_subscripts(3), Ok(70));
    db.drop_globals().unwrap();
    assert_eq!(sizes(), "0");
}

#[test]
fn m_routine_fills_a_global_with_its_initial_values() {
    let dir = tempfile::tempdir().unwrap();
    let name = "m_routine_fills_a_global_with_its_initial_values";
    let Some(db) = gtm(name, dir.path(), "cache=16M") else { return };
    set_up(&db, 2 << 20, 1, 10);
    let installation = db.tools.installation();
    let mut process = Process::start(&installation, "fill^RanWorker").unwrap();
    process.tell(format_args!("7 45000 100")).unwrap();
    let mut told = Vec::new();
    process
        .hear(|line| {
            told.push(line.parse::<u64>().unwrap());
            Ok(())
        })
        .unwrap();
    assert_eq!(told, [20_000, 40_000, 45_000]);
    let (mut right, mut last) = (String::new(), 0);
    walk::values(&installation, 7, &mut |subscript, value| {
        Stamp::initial(7, subscript).write(100, &mut right);
        assert_eq!((subscript, value), (last + 1, right.as_str()));
        last = subscript;
        Ok(())
    })
    .unwrap();
    assert_eq!(last, 45_000);
}

fn work(
    writer: &mut dyn Writer,
    transactions: u32,
    time: Duration,
    counts: &mut WorkerCounts,
) -> u64 {
    writer.work(&Order { transactions, until: Instant::now() + time }, counts).unwrap()
}

fn plan_of(db: &dyn Database, worker: u32, transaction_length: u32) -> WorkerPlan {
    let global = db.globals().unwrap()[worker as usize - 1];
    let draws_state = SubscriptStream::new(7, worker).state();
    WorkerPlan { worker, global, sequence: 0, draws_state, transaction_length }
}

fn other(counts: &Counts, name: &str) -> u64 {
    counts.others.iter().find(|(other, _)| *other == name).unwrap().1
}

/// Returns the commits of one worker, and the journal flushes meanwhile.
fn flushes(activity: &dyn Activity, plan: WorkerPlan) -> (u64, u64) {
    let mut writer = activity.writer(plan).unwrap();
    let before = activity.counts().unwrap();
    let mut counts = WorkerCounts::default();
    work(writer.as_mut(), 50, Duration::from_secs(20), &mut counts);
    // Its own counts arrive when it ends.
    drop(writer);
    let after = activity.counts().unwrap();
    let commits = after.commits.unwrap() - before.commits.unwrap();
    assert_eq!(commits, counts.commits.count());
    (commits, other(&after, "journal_flushes") - other(&before, "journal_flushes"))
}

#[test]
fn only_durable_gtm_commits_wait_for_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let name = "only_durable_gtm_commits_wait_for_the_journal";
    let Some(durable) = gtm(name, dir.path(), "cache=16M") else { return };
    set_up(&durable, 2 << 20, 1, 1_000);
    assert_eq!(durable.about().unwrap().may_lose, None);
    let plan = plan_of(&durable, 1, 5);
    let (commits, flushed) = flushes(durable.begin(&RUN).unwrap().as_ref(), plan);
    assert!(commits == 50 && flushed >= commits, "{flushed} flushes for {commits} commits");
    let batch = gtm(name, dir.path(), "cache=16M&durable=batch&epoch=7").unwrap();
    let (commits, flushed) = flushes(batch.begin(&RUN).unwrap().as_ref(), plan);
    assert!(flushed * 2 < commits, "{flushed} flushes for {commits} commits");
    let about = batch.about().unwrap();
    assert!(about.may_lose.is_some());
    let setting = |name: &str| about.settings.iter().find(|(n, _)| n == name).unwrap().1.clone();
    assert_eq!(
        (setting("global_buffers"), setting("epoch_interval_s")),
        ("2048".into(), "7".into())
    );
}

/// Otherwise a process that leaves would write them, which takes an unknown time.
#[test]
fn dirty_blocks_are_kept_until_the_drain() {
    let dir = tempfile::tempdir().unwrap();
    let name = "dirty_blocks_are_kept_until_the_drain";
    let Some(db) = gtm(name, dir.path(), "cache=64M&durable=batch") else { return };
    set_up(&db, 2 << 20, 1, 100_000);
    let activity = db.begin(&RUN).unwrap();
    let mut writer = activity.writer(plan_of(&db, 1, 50)).unwrap();
    work(writer.as_mut(), 200, Duration::from_secs(20), &mut WorkerCounts::default());
    drop(writer);
    let written = || activity.counts().unwrap().blocks_written.unwrap();
    let (before, _) = (written(), activity.cycles().unwrap());
    activity.drain().unwrap();
    // Out of about 1,300 blocks. Timers write a few earlier, once per second.
    let drained = written() - before;
    assert!(drained > 500, "{drained} blocks");
    let cycles = activity.cycles().unwrap();
    assert!(cycles.len() == 1 && cycles[0].blocks >= drained, "{cycles:?} {drained}");
}

#[test]
fn work_order_ends_by_count_or_time() {
    let dir = tempfile::tempdir().unwrap();
    let name = "work_order_ends_by_count_or_time";
    let Some(db) = gtm(name, dir.path(), "cache=16M&durable=batch") else { return };
    set_up(&db, 2 << 20, 1, 1_000);
    let activity = db.begin(&RUN).unwrap();
    let mut writer = activity.writer(plan_of(&db, 1, 5)).unwrap();
    let mut counts = WorkerCounts::default();
    assert_eq!(work(writer.as_mut(), 20, Duration::from_secs(20), &mut counts), 20);
    assert_eq!((counts.commits.count(), counts.updates.count()), (20, 100));
    assert_eq!(counts.update_bytes, 10_000);
    // An order whose time is over does one transaction.
    assert_eq!(work(writer.as_mut(), u32::MAX, Duration::ZERO, &mut counts), 21);
    assert_eq!(counts.commits.count(), 21);
    drop((writer, activity));
    assert_eq!(processes(db.directory.path()), []);
}

#[test]
fn old_gtm_journals_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let Some(db) = gtm("old_gtm_journals_are_deleted", dir.path(), "cache=16M") else { return };
    set_up(&db, 2 << 20, 1, 100);
    for _ in 0..4 {
        drop(db.begin(&RUN).unwrap());
    }
    let folder = db.directory.path();
    let journals = || -> Vec<_> {
        let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        let name =
            |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        entries.filter(|path| name(path).starts_with(files::JOURNAL)).collect()
    };
    // A crash may need the journals of the last few seconds, and always the last one.
    assert!(journals().len() > 2);
    for path in journals() {
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    files::prune(&db.directory.there().unwrap());
    assert_eq!(journals().len(), 2);
    assert!(folder.join(files::JOURNAL).exists());
    assert!(db.size().unwrap().log_bytes < 100 << 20);
}

#[test]
fn overlong_gtm_transactions_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let name = "overlong_gtm_transactions_are_reported";
    let Some(db) = gtm(name, dir.path(), "cache=512K") else { return };
    set_up(&db, 2 << 20, 1, 100_000);
    let activity = db.begin(&RUN).unwrap();
    let mut writer = activity.writer(plan_of(&db, 1, 5_000)).unwrap();
    let order = Order { transactions: 1, until: Instant::now() };
    let error = writer.work(&order, &mut WorkerCounts::default()).unwrap_err();
    assert!(matches!(&error, DbError::Usage(text) if text.contains("cache")), "{error:?}");
    assert_eq!(db.committed().unwrap(), []);
}
