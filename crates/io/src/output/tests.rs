//! Tests outputs in the presence of foreign files, in a temporary directory.
#![allow(clippy::unwrap_used)]

use super::*;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use tempfile::TempDir;

const OURS: &[u8] = b"format,run_id,kind\niogauge.run-csv/1,x\n";
const FOREIGN: &[u8] = b"precious\n";

/// Creates a directory with a file of each kind.
fn directory() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("ours"), OURS).unwrap();
    fs::write(dir.path().join("foreign"), FOREIGN).unwrap();
    let mut history = vec![0; 4096];
    history[..16].copy_from_slice(b"SQLite format 3\0");
    history[68..72].copy_from_slice(&HISTORY_APPLICATION_ID.to_be_bytes());
    fs::write(dir.path().join("history.db"), history).unwrap();
    dir
}

fn put(path: &Path, replace: Replace) -> Result<(), OutputError> {
    OutputFile::check(path, replace)?.put(b"new")
}

fn names(dir: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn new_output_file_is_written_atomically() {
    let dir = directory();
    let path = dir.path().join("new");
    let mut output = OutputFile::check(&path, Replace::Ours).unwrap();
    assert!(!path.exists(), "checking makes nothing");
    output.write_all(b"one ").unwrap();
    assert!(!path.exists());
    output.write_all(b"two").unwrap();
    output.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one two");
    let mut dropped = OutputFile::check(&dir.path().join("dropped"), Replace::Ours).unwrap();
    dropped.write_all(b"x").unwrap();
    drop(dropped);
    assert_eq!(names(&dir), ["foreign", "history.db", "new", "ours"]);
    OutputFile::check(&dir.path().join("empty"), Replace::Ours).unwrap().commit().unwrap();
    assert_eq!(fs::read(dir.path().join("empty")).unwrap(), b"");
}

#[test]
fn own_output_file_is_replaced_with_same_permissions() {
    let dir = directory();
    let path = dir.path().join("ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    put(&path, Replace::Ours).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(&dir), ["foreign", "history.db", "ours"]);
}

#[test]
fn replacing_foreign_file_needs_explicit_permission() {
    let dir = directory();
    let path = dir.path().join("foreign");
    let refused = put(&path, Replace::Ours).unwrap_err();
    assert!(matches!(refused, OutputError::Foreign { .. }) && refused.is_refusal(), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), FOREIGN);
    fs::write(dir.path().join("empty"), "").unwrap();
    assert!(put(&dir.path().join("empty"), Replace::Ours).unwrap_err().is_refusal());
    put(&path, Replace::Any).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn new_file_replaces_nothing() {
    let dir = directory();
    symlink("nowhere", dir.path().join("dangling")).unwrap();
    for name in ["ours", "foreign", "dangling"] {
        let refused = put(&dir.path().join(name), Replace::Nothing).unwrap_err();
        assert!(matches!(refused, OutputError::Exists { .. }) && refused.is_refusal(), "{refused}");
    }
    let new = dir.path().join("new");
    put(&new, Replace::Nothing).unwrap();
    fs::remove_file(&new).unwrap();
    let mut late = OutputFile::check(&new, Replace::Nothing).unwrap();
    late.write_all(b"late").unwrap();
    put(&new, Replace::Ours).unwrap();
    assert!(matches!(late.commit(), Err(OutputError::Changed { .. })));
    assert_eq!(fs::read(&new).unwrap(), b"new");
}

#[test]
fn log_replaces_only_logs_and_empty_files() {
    let dir = directory();
    for (name, old) in [("log", "1, 2, 0, 4096, 0\n"), ("empty", "")] {
        let path = dir.path().join(name);
        fs::write(&path, old).unwrap();
        assert!(put(&path, Replace::Ours).unwrap_err().is_refusal(), "fio may have made it");
        put(&path, Replace::Logs).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
    put(&dir.path().join("next"), Replace::Logs).unwrap();
    let refused = put(&dir.path().join("foreign"), Replace::Logs).unwrap_err();
    assert!(matches!(refused, OutputError::NoLog { .. }) && refused.is_refusal(), "{refused}");
    for other in [Path::new("/dev/null"), dir.path()] {
        let refused = put(other, Replace::Logs).unwrap_err();
        assert!(matches!(refused, OutputError::NoLog { .. }), "{refused}");
    }
    symlink("/dev/null", dir.path().join("link")).unwrap();
    assert!(put(&dir.path().join("link"), Replace::Logs).unwrap_err().is_refusal());
    let history = put(&dir.path().join("history.db"), Replace::Logs).unwrap_err();
    assert!(matches!(history, OutputError::Database { .. }), "{history}");
    assert_eq!(fs::read(dir.path().join("foreign")).unwrap(), FOREIGN);
}

#[test]
fn history_and_its_sqlite_side_files_are_never_replaced() {
    let dir = directory();
    let kept = fs::read(dir.path().join("history.db")).unwrap();
    fs::hard_link(dir.path().join("history.db"), dir.path().join("other-name")).unwrap();
    fs::write(dir.path().join("history.db-wal"), "").unwrap();
    let beside =
        ["history.db", "other-name", "history.db-wal", "history.db-shm", "history.db-lock"];
    for name in beside {
        let refused = put(&dir.path().join(name), Replace::Any).unwrap_err();
        assert!(matches!(refused, OutputError::Database { .. }), "{name}: {refused}");
    }
    assert_eq!(fs::read(dir.path().join("history.db")).unwrap(), kept);
    assert_eq!(names(&dir), ["foreign", "history.db", "history.db-wal", "other-name", "ours"]);
}

#[test]
fn symbolic_links_are_never_replaced() {
    let dir = directory();
    for (name, target) in [("to-ours", "ours"), ("to-foreign", "foreign"), ("to-nothing", "gone")] {
        let link = dir.path().join(name);
        symlink(dir.path().join(target), &link).unwrap();
        let refused = put(&link, Replace::Any).unwrap_err();
        assert!(matches!(refused, OutputError::Link { .. }), "{name}: {refused}");
        assert!(link.is_symlink());
    }
    assert_eq!(fs::read(dir.path().join("ours")).unwrap(), OURS);
    assert!(!dir.path().join("gone").exists());
    symlink("/dev/null", dir.path().join("null")).unwrap();
    put(&dir.path().join("null"), Replace::Ours).unwrap();
    assert!(dir.path().join("null").is_symlink());
}

#[test]
fn output_is_written_into_devices_and_fifos() {
    let full = put(Path::new("/dev/full"), Replace::Any).unwrap_err();
    assert!(matches!(full, OutputError::Io { .. }), "{full}");
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    let dir = directory();
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let unread = put(&fifo, Replace::Any).unwrap_err();
    assert!(matches!(unread, OutputError::NoFile { .. }), "{unread}");
    let reader = rustix::fs::open(
        &fifo,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    );
    let mut reader = File::from(reader.unwrap());
    put(&fifo, Replace::Ours).unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "new");
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn unwritable_output_path_is_reported() {
    let dir = directory();
    for path in [dir.path().to_path_buf(), dir.path().join("gone/x"), "".into(), "..".into()] {
        let refused = put(&path, Replace::Any).unwrap_err();
        assert!(
            !refused.is_refusal() && refused.to_string().contains("cannot be written"),
            "{refused}"
        );
    }
    let socket = dir.path().join("socket");
    let _listens = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(matches!(put(&socket, Replace::Any), Err(OutputError::NoFile { .. })));
    // The kernel log acts on what is written.
    let kmsg = put(Path::new("/dev/kmsg"), Replace::Any).unwrap_err();
    assert!(kmsg.is_refusal(), "{kmsg}");
}

#[test]
fn file_changed_after_check_is_not_overwritten() {
    let dir = directory();
    // No file had the name.
    let new = dir.path().join("new");
    let output = OutputFile::check(&new, Replace::Any).unwrap();
    fs::write(&new, FOREIGN).unwrap();
    assert!(matches!(output.put(b"new"), Err(OutputError::Changed { .. })));
    assert_eq!(fs::read(&new).unwrap(), FOREIGN);
    // A file of ours had the name. It becomes another file, a symbolic link, or the same file with other content.
    let ours = dir.path().join("ours");
    let changes: [&dyn Fn(); 3] = [
        &|| fs::rename(dir.path().join("foreign"), &ours).unwrap(),
        &|| symlink("/dev/null", &ours).unwrap(),
        &|| fs::write(&ours, FOREIGN).unwrap(),
    ];
    for (number, change) in changes.iter().enumerate() {
        let _ = fs::remove_file(&ours);
        fs::write(&ours, OURS).unwrap();
        let output = OutputFile::check(&ours, Replace::Ours).unwrap();
        // Time stamps of files have the resolution of kernel ticks.
        std::thread::sleep(std::time::Duration::from_millis(20));
        if number == 1 {
            fs::remove_file(&ours).unwrap();
        }
        change();
        assert!(matches!(output.put(b"new"), Err(OutputError::Changed { .. })), "{number}");
        assert!(number == 1 || fs::read(&ours).unwrap() == FOREIGN, "{number}");
    }
    assert_eq!(names(&dir), ["history.db", "new", "ours"]);
}

#[test]
fn files_in_output_directory_are_checked_individually() {
    let dir = directory();
    let pictures = OutputDirectory::make(&dir.path().join("a/b")).unwrap();
    pictures.check("one.svg", Replace::Ours).unwrap().put(b"x").unwrap();
    assert_eq!(fs::read(dir.path().join("a/b/one.svg")).unwrap(), b"x");
    assert!(matches!(pictures.check("one.svg", Replace::Ours), Err(OutputError::Foreign { .. })));
    assert!(OutputDirectory::make(&dir.path().join("foreign")).is_err());
}

#[test]
fn new_file_in_dev_proc_or_sys_is_refused() {
    for path in ["/dev/iogauge-no-device", "/proc/iogauge", "/sys/iogauge"] {
        if !Path::new(path).parent().unwrap().is_dir() {
            continue;
        }
        let refused = OutputFile::check(Path::new(path), Replace::Any).unwrap_err();
        assert!(matches!(refused, OutputError::AmongKernelFiles { .. }), "{path}: {refused}");
        assert!(refused.is_refusal());
    }
    let memory = Path::new("/dev/shm");
    let devices = rustix::fs::stat("/dev").unwrap();
    if rustix::fs::stat(memory).is_ok_and(|memory| memory.st_dev != devices.st_dev) {
        let dir = TempDir::new_in(memory).unwrap();
        put(&dir.path().join("new"), Replace::Ours).unwrap();
        assert_eq!(fs::read(dir.path().join("new")).unwrap(), b"new");
    }
}
