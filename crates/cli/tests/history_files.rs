//! The history among foreign files: a file that is not a history is left unchanged.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, eventually, skip};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

const QUICK: [&str; 4] = ["run", "sim:nvme", "--runtime=100ms", "--ramp-time=0"];

/// Runs a script on a file. Returns false if there is no Python with SQLite.
fn python(script: &str, arguments: &[&Path]) -> bool {
    let mut command = Command::new("python3");
    command.args(["-c", script]).args(arguments);
    command.status().is_ok_and(|status| status.success())
}

/// Returns all files of a directory with their contents.
fn content(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(&path).unwrap_or_default())).collect()
}

/// Runs each command that opens a history on this one. Each must refuse it with one message and change nothing.
#[track_caller]
fn all_refuse(place: &Place, history: &str) {
    let before = content(&place.work());
    let lines: [&[&str]; 7] = [
        &QUICK,
        &["history", "list"],
        &["history", "export"],
        &["history", "reset", "--yes"],
        &["report", "--html", "r.html"],
        &["stop"],
        &["import", "nothing.out"],
    ];
    for line in lines {
        let done = place.run(&[line, &["--history", history]].concat()).ends(2);
        assert_eq!(
            (done.stdout.as_str(), common::is_one_message(&done.stderr)),
            ("", true),
            "{line:?}: {done:?}"
        );
        assert!(content(&place.work()) == before, "{line:?} changed something");
    }
}

/// Makes a database with a log that is not yet copied into it, as a killed program leaves it.
const LEFTOVER: &str = "
import sqlite3, sys, shutil, os
path = sys.argv[1]
db = sqlite3.connect(path + '.made')
db.execute('PRAGMA journal_mode=wal')
db.execute('CREATE TABLE precious (x)')
db.execute('INSERT INTO precious VALUES (1)')
db.commit()
for suffix in ['', '-wal']:
    shutil.copyfile(path + '.made' + suffix, path + suffix)
db.close()
os.remove(path + '.made')
";

#[test]
fn wal_of_a_foreign_database_is_preserved() {
    let place = Place::new();
    let foreign = place.work().join("foreign.db");
    if !python(LEFTOVER, &[&foreign]) {
        return skip("wal_of_a_foreign_database_is_preserved", "no python3 with SQLite");
    }
    assert_eq!(place.names(), ["foreign.db", "foreign.db-wal"]);
    all_refuse(&place, "foreign.db");
    // A log alone is as valuable, whether its database is empty or missing.
    fs::write(&foreign, "").unwrap();
    all_refuse(&place, "foreign.db");
    fs::remove_file(&foreign).unwrap();
    let before = content(&place.work());
    place.run(&[&QUICK[..], &["--history", "foreign.db"]].concat()).ends(2);
    assert!(content(&place.work()) == before);
}

#[test]
fn foreign_wal_and_journal_files_next_to_history_remain() {
    let place = Place::new();
    place.run(&[&QUICK[..], &["--history", "own.db", "-q"]].concat()).ends(0);
    let precious = place.work().join("precious");
    fs::write(&precious, "precious\n").unwrap();
    for suffix in ["-wal", "-shm", "-journal"] {
        let beside = place.work().join(format!("own.db{suffix}"));
        let makers: [&dyn Fn(); 4] = [
            &|| fs::write(&beside, "precious\n").unwrap(),
            &|| symlink("precious", &beside).unwrap(),
            &|| symlink("gone", &beside).unwrap(),
            &|| fs::hard_link(&precious, &beside).unwrap(),
        ];
        for make in makers {
            make();
            all_refuse(&place, "own.db");
            fs::remove_file(&beside).unwrap();
        }
    }
    // An incomplete index, which SQLite leaves on a full disk, belongs to the history.
    let index = place.work().join("own.db-shm");
    fs::write(&index, [0; 3]).unwrap();
    place.run(&["history", "list", "--history", "own.db"]).ends(0);
    // A journal may name a file that SQLite would remove.
    let journal = place.work().join("own.db-journal");
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    fs::write(&journal, [&magic[..], &[0; 504], &magic[..]].concat()).unwrap();
    all_refuse(&place, "own.db");
    fs::remove_file(&journal).unwrap();
    let list = place.run(&["history", "list", "--history", "own.db"]).ends(0).stdout;
    assert!(list.contains("sim:nvme"), "{list}");
}

/// Makes a database of another program, with any application id.
fn foreign_database(path: &Path, application_id: i32) {
    let sql = format!(
        "CREATE TABLE precious (x); INSERT INTO precious VALUES (1); PRAGMA user_version = 1; \
         PRAGMA application_id = {application_id}"
    );
    rusqlite::Connection::open(path).unwrap().execute_batch(&sql).unwrap();
}

#[test]
fn matching_application_id_alone_is_not_accepted_as_history() {
    let place = Place::new();
    place.run(&[&QUICK[..], &["-q"]].concat()).ends(0);
    let head = fs::read(place.history()).unwrap();
    let id = i32::from_be_bytes(head[68..72].try_into().unwrap());
    foreign_database(&place.work().join("forged.db"), id);
    all_refuse(&place, "forged.db");
    let told = place.run(&["history", "list", "--history", "forged.db"]).ends(2).stderr;
    assert!(told.contains("another application's database"), "{told}");
}

#[test]
fn wal_of_another_database_is_not_applied_to_the_history() {
    let place = Place::new();
    place.run(&[&QUICK[..], &["--history", "own.db", "-q"]].concat()).ends(0);
    let log = place.work().join("own.db-wal");
    // A log with the first page of the database, and one without it.
    for last in ["INSERT INTO t VALUES (1)", "PRAGMA wal_checkpoint; UPDATE t SET x = 2"] {
        let other = place.work().join("other.db");
        let connection = rusqlite::Connection::open(&other).unwrap();
        let sql =
            "PRAGMA page_size = 8192; PRAGMA journal_mode = wal; CREATE TABLE IF NOT EXISTS t (x)";
        connection.execute_batch(&format!("{sql}; {last}")).unwrap();
        fs::copy(other.with_extension("db-wal"), &log).unwrap();
        drop(connection);
        fs::remove_file(&other).unwrap();
        all_refuse(&place, "own.db");
        fs::remove_file(&log).unwrap();
    }
    // The history's own log, left by a killed process, is used.
    let run = place.start(&["run", "sim:nvme", "--runtime=100d", "--history", "own.db", "-q"]);
    let running = ["history", "list", "--state", "running", "--history", "own.db"];
    eventually(|| place.run(&running).stdout.contains("sim:nvme"));
    run.kill();
    assert!(fs::metadata(&log).unwrap().len() > 0);
    let list = place.run(&["history", "list", "--history", "own.db"]).ends(0).stdout;
    assert_eq!(list.matches("sim:nvme").count(), 2, "{list}");
}

#[test]
fn read_only_history_commands_create_no_file() {
    let place = Place::new();
    let empty = place.work().join("empty.db");
    fs::write(&empty, "").unwrap();
    for history in ["empty.db", "missing.db", "no/directory.db"] {
        let with = |line: &[&str]| place.run(&[line, &["--history", history]].concat());
        for line in
            [&["history", "list"][..], &["history", "export"], &["history", "reset", "--yes"]]
        {
            with(line).ends(0);
        }
        for line in [
            &["history", "show", "last"][..],
            &["history", "rm", "last"],
            &["stop"],
            &["report", "--html", "r.html"],
        ] {
            with(line).ends(2);
        }
        assert_eq!(place.names(), ["empty.db"], "{history}");
        assert_eq!(fs::metadata(&empty).unwrap().len(), 0);
    }
    // A run accepts an empty file, such as mktemp makes.
    place.run(&[&QUICK[..], &["--history", "empty.db", "-q"]].concat()).ends(0);
    let list = place.run(&["history", "list", "--history", "empty.db"]).ends(0).stdout;
    assert!(list.contains("sim:nvme"), "{list}");
}

/// Exchanges two names until `end` is set. Then restores them, unless one of the files is gone.
fn exchange(one: &Path, other: &Path, end: &AtomicBool) {
    let flip = || renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok();
    let mut is_exchanged = false;
    while !end.load(Ordering::Relaxed) {
        is_exchanged ^= flip();
    }
    if is_exchanged {
        flip();
    }
}

#[test]
fn files_swapped_in_for_the_history_during_a_run_remain() {
    let place = Place::new();
    let own = ["--history", "own.db"];
    place.run(&[&QUICK[..], &own, &["-q"]].concat()).ends(0);
    let precious = place.work().join("precious");
    // One of the contents is a database that SQLite would accept. The others are not.
    foreign_database(&precious, 0);
    let database = fs::read(&precious).unwrap();
    let contents = [b"precious\n".repeat(2000), database, vec![7; 40_000]];
    for (content, suffix) in contents.iter().flat_map(|c| ["", "-wal", "-shm"].map(|s| (c, s))) {
        fs::write(&precious, content).unwrap();
        let before = fs::metadata(&precious).unwrap();
        let at = place.work().join(format!("own.db{suffix}"));
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| exchange(&at, &precious, &end));
            for line in [&["history", "list"][..], &QUICK, &["history", "list"], &QUICK] {
                place.run(&[line, &own].concat());
            }
            end.store(true, Ordering::Relaxed);
        });
        let after = fs::metadata(&precious).unwrap();
        assert_eq!(after.ino(), before.ino(), "{suffix}: it was removed");
        assert!(fs::read(&precious).unwrap() == *content, "{suffix}: it was changed");
        assert_eq!(after.mtime_nsec(), before.mtime_nsec(), "{suffix}: it was written");
    }
}

#[test]
fn history_names_that_are_not_paths_are_refused() {
    let place = Place::new();
    for name in [":memory:", "file:x.db", "file:x?mode=memory", " ", "postgres://u:pw@h/db"] {
        let done = place.run(&[&QUICK[..], &["--history", name]].concat()).ends(2);
        assert_eq!(done.stdout, "", "{name}");
        assert!(done.stderr.contains("names no file"), "{name}: {}", done.stderr);
        assert!(!done.stderr.contains("pw@"), "{}", done.stderr);
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
    place.run(&[&QUICK[..], &["--history", "./:memory:", "-q"]].concat()).ends(0);
    assert!(place.names().contains(&":memory:".to_owned()));
}

#[test]
fn fifo_device_or_directory_as_history_is_refused() {
    let place = Place::new();
    let fifo = place.work().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in ["fifo", "/dev/null", "/dev/full", "."] {
        let done = place.run(&[&QUICK[..], &["--history", path]].concat()).ends(2);
        assert!(done.stderr.contains("cannot open the history"), "{path}: {}", done.stderr);
    }
}

/// A process that is killed on drop.
struct Victim(Child);

impl Victim {
    /// Starts a process that locks a whole file and does nothing else.
    fn holding(file: &Path) -> Option<Self> {
        let script = "import fcntl, sys, time\nf = open(sys.argv[1], 'a+b')\n\
                      fcntl.lockf(f, fcntl.LOCK_EX)\nopen(sys.argv[1] + '.held', 'w')\n\
                      time.sleep(600)";
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(file).stdin(Stdio::null());
        let victim = Self(command.spawn().ok()?);
        let held = PathBuf::from(format!("{}.held", file.display()));
        eventually(|| held.exists());
        Some(victim)
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Changes a history so that it names a process as the writer of its last run.
const NAMED: &str = "
import sqlite3, sys
pid = int(open(sys.argv[2]).read())
ticks = int(open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()[19])
db = sqlite3.connect(sys.argv[1])
db.execute('''UPDATE run SET state = 'running', finished_ns = NULL, pid = ?, pid_started_ticks = ?,
              boot_id = ?''', (pid, ticks, open('/proc/sys/kernel/random/boot_id').read().strip()))
db.commit()
";

#[test]
fn stop_does_not_signal_a_forged_process_id() {
    let test = "stop_does_not_signal_a_forged_process_id";
    let place = Place::new();
    place.run(&[&QUICK[..], &["--history", "evil.db", "-q"]].concat()).ends(0);
    let (evil, locked) = (place.work().join("evil.db"), place.work().join("locked"));
    let Some(mut victim) = Victim::holding(&locked) else { return skip(test, "no python3") };
    let pid = place.work().join("pid");
    fs::write(&pid, victim.0.id().to_string()).unwrap();
    if !python(NAMED, &[&evil, &pid]) {
        return skip(test, "no python3 with SQLite");
    }
    let refused = |place: &Place| {
        let done: Done = place.run(&["stop", "--history", "evil.db"]).ends(2);
        assert!(done.stderr.contains("nothing was sent to it"), "{}", done.stderr);
    };
    refused(&place);
    assert!(victim.lives());
    // A lock that the process does hold proves nothing either, under any name.
    let lock = place.work().join("evil.db-lock");
    let content = fs::read(&lock).unwrap();
    fs::write(&locked, &content).unwrap();
    let makers: [&dyn Fn(); 3] = [
        &|| symlink("locked", &lock).unwrap(),
        &|| fs::hard_link(&locked, &lock).unwrap(),
        &|| fs::write(&lock, &content).unwrap(),
    ];
    for make in makers {
        fs::remove_file(&lock).unwrap();
        make();
        refused(&place);
        assert!(victim.lives());
    }
}

#[test]
fn stop_ends_the_process_that_writes_the_run() {
    let place = Place::new();
    let run = place.start(&["run", "sim:nvme", "--runtime=100d", "--history", "own.db", "-q"]);
    let list = ["history", "list", "--state", "running", "--history", "own.db"];
    eventually(|| place.run(&list).stdout.contains("sim:nvme"));
    place.run(&["stop", "--history", "own.db"]).ends(0);
    run.end().ends(130);
}

#[test]
fn history_file_is_refused_as_target() {
    let place = Place::new();
    let history = ["--history", "own.db"];
    place.run(&[&QUICK[..], &history, &["-q"]].concat()).ends(0);
    fs::hard_link(place.work().join("own.db"), place.work().join("hard")).unwrap();
    symlink("own.db", place.work().join("soft")).unwrap();
    for target in ["own.db", "./own.db", "hard", "soft"] {
        for more in [&["--rw=randwrite", "--overwrite-file"][..], &["--rw=randread"]] {
            let line = ["run", target, "--runtime=100ms", "--bs=512", "--direct=0"];
            let done = place.run(&[&line[..], more, &history].concat()).ends(3);
            let is_told = target == "soft" || done.stderr.contains("is the history");
            assert!(is_told, "{}", done.stderr);
            crate::common::assert_one_message(&done.stderr);
        }
    }
    // The user's own history, whatever history the command uses.
    place.run(&[&QUICK[..], &["-q"]].concat()).ends(0);
    let own = place.history().to_string_lossy().into_owned();
    let write = ["run", &own, "--rw=write", "--overwrite-file", "--history=none", "--runtime=1"];
    for line in [&write[..], &["prepare", &own, "--overwrite-file"]] {
        place.run(line).ends(3);
    }
    assert_eq!(place.runs().len(), 1);
    // A history that does not exist yet, as target and as history.
    let line = ["run", "new.db", "--size=1m", "--runtime=100ms", "--history", "new.db"];
    place.run(&line).ends(3);
    assert!(!place.names().contains(&"new.db".to_owned()));
    let list = place.run(&[&["history", "list"], &history[..]].concat()).ends(0).stdout;
    assert_eq!(list.matches("sim:nvme").count(), 1, "{list}");
}
