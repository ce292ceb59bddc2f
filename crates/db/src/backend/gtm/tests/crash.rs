//! Acknowledged transactions survive, whichever processes are killed.

use super::{gtm, kill, processes, set_up, signal};
use crate::acknowledged::{Acknowledged, FORMAT, RunOfWorkers};
use crate::backend::gtm::tools::Tools;
use crate::backend::gtm::{Gtm, files};
use crate::backend::m::process::Process;
use crate::backend::{Database, RunPlan};
use crate::error::DbError;
use crate::pool::{DbPool, DbPoolPlan, Mode, WorkerNumbers};
use crate::subscript_stream::SubscriptStream;
use crate::value::Stamp;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const WORKERS: u32 = 3;
const SUBSCRIPTS: u64 = 1_000;
const PLAN: DbPoolPlan = DbPoolPlan {
    mode: Mode::Write,
    workers: WORKERS,
    numbers: WorkerNumbers::ALONE,
    transaction_length: 10,
    hang: Duration::ZERO,
    seed: 7,
};
/// Environment variable with the place of the database that the child uses.
const CHILD: &str = "IOGAUGE_TEST_GTM_CHILD";

fn pool(db: &Gtm) -> DbPool {
    let run = RunOfWorkers {
        format: FORMAT.to_owned(),
        database: db.identity().unwrap(),
        seed: PLAN.seed,
        transaction_length: PLAN.transaction_length,
        workers: WORKERS,
        may_lose: None,
    };
    let sequences = [0; WORKERS as usize];
    let file = Acknowledged::new(&db.directory.acknowledged(), run, &sequences);
    let activity = db.begin(&RunPlan { writers: WORKERS, reads: false }).unwrap();
    let globals = db.globals().unwrap();
    let mut pool =
        DbPool::start(Arc::from(activity), PLAN, &globals, &sequences, Some(file)).unwrap();
    pool.set_active(WORKERS);
    pool
}

/// Checks that everything acknowledged is there, followed by at most some more complete transactions.
fn check(db: &Gtm) {
    let acknowledged = Acknowledged::read(&db.directory.acknowledged()).unwrap().unwrap();
    let committed = db.committed().unwrap();
    for worker in 1..=WORKERS {
        let noted = acknowledged.workers[worker as usize - 1].1;
        let last =
            committed.iter().find(|(other, _)| *other == worker).map_or(0, |(_, last)| *last);
        assert!(last >= noted, "worker {worker}: {noted} were acknowledged, {last} are there");
        let stamp = |subscript| Stamp::initial(worker, subscript);
        let mut stamps: Vec<Stamp> = (1..=SUBSCRIPTS).map(stamp).collect();
        let mut draws = SubscriptStream::new(PLAN.seed, worker);
        for sequence in 1..=last {
            for _ in 0..PLAN.transaction_length {
                let subscript = draws.subscript(SUBSCRIPTS);
                stamps[subscript as usize - 1] =
                    Stamp { global: worker, subscript, worker, sequence };
            }
        }
        let mut seen = 0;
        db.walk(worker, &mut |subscript, value| {
            seen += 1;
            assert_eq!(Stamp::read(worker, subscript, value), Ok(stamps[subscript as usize - 1]));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, SUBSCRIPTS);
    }
}

/// Waits until some transactions of each worker are acknowledged.
fn wait_for_work(path: &Path) {
    let end = Instant::now() + Duration::from_secs(30);
    let works = || {
        Acknowledged::read(path).is_ok_and(|read| {
            read.is_some_and(|read| read.workers.iter().all(|(_, last)| *last > 5))
        })
    };
    while !works() {
        assert!(Instant::now() < end, "nobody works");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a run, and kills its processes whose command contains one of these words.
fn run_and_kill(db: &Gtm, words: &[&str]) {
    let mut pool = pool(db);
    wait_for_work(&db.directory.acknowledged());
    let killed: usize = words.iter().map(|word| kill(db.directory.path(), word)).sum();
    assert!(killed >= words.len());
    let end = Instant::now() + Duration::from_secs(30);
    while pool.fault().is_none() {
        assert!(Instant::now() < end, "nobody notices");
        std::thread::sleep(Duration::from_millis(10));
    }
    pool.stop();
    let (_, fault) = pool.fault().unwrap();
    assert!(matches!(&fault, DbError::Gone(text) if !text.contains('\n')), "{fault:?}");
}

/// Checks that a purge leaves nothing of a database, whatever GT.M has put next to it.
#[track_caller]
fn goes(db: &Gtm) {
    assert_eq!(db.purge().unwrap().left, Vec::<String>::new());
    assert!(!db.directory.path().exists());
}

/// GT.M writes the parts of transactions that never committed next to the journal, and keeps existing files there.
#[test]
fn files_left_by_recovery_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let Some(db) = gtm("files_left_by_recovery_are_removed", dir.path(), "cache=16M") else {
        return;
    };
    set_up(&db, 2 << 20, WORKERS, SUBSCRIPTS);
    std::fs::write(db.directory.join("mumps.broken"), "of one that was cut short").unwrap();
    run_and_kill(&db, &["RanWorker", "RanKeeper"]);
    forget_memory(&db);
    check(&db);
    let names = || db.directory.there().unwrap().names().unwrap().into_iter();
    assert_eq!(names().find(|name| name.contains("broken") || name.contains("lost")), None);
    for name in ["mumps.broken", "mumps.lost_2026326205602", "forw_phase_mumps.mjl_2026326205602"] {
        std::fs::write(db.directory.join(name), "").unwrap();
    }
    goes(&db);
}

#[test]
fn killing_workers_loses_no_acknowledged_data() {
    let dir = tempfile::tempdir().unwrap();
    let Some(db) = gtm("killing_workers_loses_no_acknowledged_data", dir.path(), "cache=16M")
    else {
        return;
    };
    set_up(&db, 2 << 20, WORKERS, SUBSCRIPTS);
    run_and_kill(&db, &["RanWorker"]);
    check(&db);
    goes(&db);
}

#[test]
fn killing_all_processes_loses_no_acknowledged_data() {
    let dir = tempfile::tempdir().unwrap();
    let name = "killing_all_processes_loses_no_acknowledged_data";
    let Some(db) = gtm(name, dir.path(), "cache=16M") else { return };
    set_up(&db, 2 << 20, WORKERS, SUBSCRIPTS);
    run_and_kill(&db, &["RanWorker", "RanKeeper"]);
    check(&db);
}

/// Returns the ids of a database's semaphores and shared memory, and its FTOK key.
fn kernel_ids(db: &Gtm) -> [String; 3] {
    let said = db.tools.run("mupip", &["ftok", files::DATA], "").unwrap();
    let line = said.lines().find(|line| line.contains(files::DATA)).unwrap();
    let mut ids = line.split("::").skip(1).filter_map(|part| part.split_whitespace().next());
    std::array::from_fn(|_| ids.next().unwrap().to_owned())
}

/// Removes the shared memory and semaphores of a database, as if the machine had stopped.
fn forget_memory(db: &Gtm) {
    let [semaphores, memory, _] = kernel_ids(db);
    for (option, id) in [("-s", semaphores), ("-m", memory)] {
        let removed = Command::new("ipcrm").args([option, &id]).status().unwrap();
        assert!(removed.success(), "{option} {id}");
    }
}

#[test]
fn commands_wait_while_a_process_opens_or_closes_the_database() {
    // Takes and releases the semaphore of the FTOK key, as each such process does.
    const HOLDER: &str = "import ctypes, sys, time; c = ctypes.CDLL(None); id = int(sys.argv[1]); \
                          assert c.semctl(id, 0, 16, 1) == 0; print(flush=True); time.sleep(1); \
                          assert c.semctl(id, 0, 16, 0) == 0";
    let dir = tempfile::tempdir().unwrap();
    let name = "commands_wait_while_a_process_opens_or_closes_the_database";
    let Some(db) = gtm(name, dir.path(), "cache=16M") else { return };
    set_up(&db, 2 << 20, 1, 100);
    let activity = db.begin(&RunPlan { writers: 1, reads: false }).unwrap();
    let [_, _, key] = kernel_ids(&db);
    let table = std::fs::read_to_string("/proc/sysvipc/sem").unwrap();
    let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let row = table.lines().map(columns).find(|columns| columns[0] == key).unwrap();
    let mut holder = Command::new("python3");
    let mut holder = holder.args(["-c", HOLDER, &row[1]]).stdout(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    let mut held = [0];
    std::io::Read::read_exact(&mut holder.stdout.take().unwrap(), &mut held).unwrap();
    assert_eq!(db.committed().unwrap(), []);
    assert!(begin.elapsed() >= Duration::from_secs(1));
    assert!(holder.wait().unwrap().success());
    drop(activity);
}

#[test]
fn simulated_machine_crash_loses_no_acknowledged_data() {
    let dir = tempfile::tempdir().unwrap();
    let Some(db) =
        gtm("simulated_machine_crash_loses_no_acknowledged_data", dir.path(), "cache=16M")
    else {
        return;
    };
    set_up(&db, 2 << 20, WORKERS, SUBSCRIPTS);
    run_and_kill(&db, &["RanWorker", "RanKeeper"]);
    forget_memory(&db);
    check(&db);
    // The database is usable as before.
    drop(db.begin(&RunPlan { writers: 1, reads: true }).unwrap());
    goes(&db);
}

#[test]
fn database_can_be_purged_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let name = "database_can_be_purged_after_a_crash";
    let Some(db) = gtm(name, dir.path(), "cache=16M") else { return };
    set_up(&db, 2 << 20, WORKERS, SUBSCRIPTS);
    run_and_kill(&db, &["RanWorker", "RanKeeper"]);
    goes(&db);
}

/// Works until it is killed, as the child process of the next test.
#[test]
fn child() {
    let Some(place) = std::env::var_os(CHILD) else { return };
    let db = gtm("child", &PathBuf::from(place), "cache=16M").unwrap();
    let _pool = pool(&db);
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn workers_end_when_iogauge_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let Some(db) = gtm("workers_end_when_iogauge_is_killed", dir.path(), "cache=16M") else {
        return;
    };
    set_up(&db, 2 << 20, WORKERS, SUBSCRIPTS);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["backend::gtm::tests::crash::child", "--exact"])
        .env(CHILD, dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_work(&db.directory.acknowledged());
    assert!(matches!(
        db.create_global(
            db.globals().unwrap()[0],
            &mut crate::Progress::new(&mut |_, _| {}, &std::sync::atomic::AtomicBool::new(false))
        ),
        Err(DbError::Busy(_))
    ));
    child.kill().unwrap();
    child.wait().unwrap();
    // Its processes are still leaving. While the lock is held nothing changes any more.
    let held = db.hold().unwrap();
    check(&db);
    drop(held);
    let end = Instant::now() + Duration::from_secs(20);
    while !processes(db.directory.path()).is_empty() {
        assert!(Instant::now() < end, "{:?}", processes(db.directory.path()));
        std::thread::sleep(Duration::from_millis(10));
    }
    check(&db);
}

#[test]
fn stopped_gtm_processes_do_not_block_a_run() {
    let name = "stopped_gtm_processes_do_not_block_a_run";
    let dir = tempfile::tempdir().unwrap();
    let Some(db) = gtm(name, dir.path(), "cache=16M") else { return };
    set_up(&db, 2 << 20, 1, 100);
    for word in ["RanWorker", "RanKeeper"] {
        let plan = RunPlan { writers: 1, reads: false };
        let activity: Arc<dyn crate::backend::Activity> = db.begin(&plan).unwrap().into();
        let plan = DbPoolPlan {
            mode: Mode::Write,
            workers: 1,
            numbers: WorkerNumbers::ALONE,
            transaction_length: 5,
            hang: Duration::ZERO,
            seed: 1,
        };
        let globals = db.globals().unwrap();
        let sequences = [db.committed().unwrap().first().map_or(0, |(_, last)| *last)];
        let mut pool = DbPool::start(activity, plan, &globals, &sequences, None).unwrap();
        pool.set_active(1);
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(signal(db.directory.path(), word, rustix::process::Signal::STOP), 1);
        std::thread::sleep(Duration::from_millis(100));
        let (done, waiting) = std::sync::mpsc::channel();
        let ending = std::thread::spawn(move || {
            pool.stop();
            let _ = done.send((pool.fault(), pool.activity().counts()));
        });
        let (fault, counts) = waiting.recv_timeout(Duration::from_secs(60)).expect("it hangs");
        match word {
            "RanWorker" => assert!(matches!(fault, Some((1, DbError::Gone(_)))), "{fault:?}"),
            _ => assert!(matches!(counts, Err(DbError::Gone(_))), "{counts:?}"),
        }
        ending.join().unwrap();
    }
    // Nothing is left, and the next run finds a consistent database.
    assert_eq!(processes(db.directory.path()), []);
    drop(db.begin(&RunPlan { writers: 1, reads: false }).unwrap());
}

#[test]
fn unterminated_or_invalid_gtm_output_lines_are_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    for said in ["yes | tr -d '\\n'", "printf '\\377\\n'; cat", "printf '\\377'; cat"] {
        let program = dir.path().join("mumps");
        std::fs::write(&program, format!("#!/bin/sh\n{said}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let tools = Tools::new(dir.path().to_owned(), dir.path());
        let mut process = Process::start(&tools.installation(), "any").unwrap();
        let patience = Some(Duration::from_secs(20));
        let heard = process.ask("x", patience).map(drop);
        assert!(matches!(&heard, Err(DbError::Gone(_))), "{said}: {heard:?}");
    }
}

#[test]
fn paths_unsupported_by_gtm_are_refused() {
    for name in ["a\"b", "a'b", "a\nb", "a\u{7}b", "a$b", "a,b"] {
        let url = format!("gtm:/tmp/{name}").parse().unwrap();
        let error = super::super::open(&url).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, DbError::Usage(_)) && text.contains("hint: "), "{text}");
        assert!(!text.contains(|c: char| c.is_control()), "{text:?}");
    }
}
