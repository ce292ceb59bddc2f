//! Files that commands write in addition to their result, among foreign files.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, skip};
use iogauge_lab::history::UtcTime;
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const FOREIGN: &str = "precious\n";

/// Makes a place with a run in its history.
fn with_a_run() -> Place {
    let place = Place::new();
    place.run(&["run", "sim:nvme", "--runtime=100ms", "--ramp-time=0", "-q"]).ends(0);
    place
}

fn at(place: &Place, name: &str) -> PathBuf {
    place.work().join(name)
}

fn report(place: &Place, path: &Path, more: &[&str]) -> Done {
    place.run(&[&["report", "--html", path.to_str().unwrap()], more].concat())
}

/// Asserts that a command was refused with one message, so that no data is lost. Returns the message.
#[track_caller]
fn refused(done: Done) -> String {
    let done = done.ends(3);
    assert_eq!(done.stdout, "", "{}", done.stderr);
    common::assert_one_message(&done.stderr);
    done.stderr
}

/// Makes a device node or a FIFO. Returns false if that is not allowed.
fn mknod(path: &Path, kind: &[&str]) -> bool {
    Command::new("mknod").arg(path).args(kind).status().is_ok_and(|status| status.success())
}

#[test]
fn html_report_replaces_a_foreign_file_only_with_force() {
    let place = with_a_run();
    let path = at(&place, "precious.html");
    for content in [FOREIGN, "", "<!DOCTYPE html>\n<p>mine</p>\n"] {
        fs::write(&path, content).unwrap();
        let told = refused(report(&place, &path, &[]));
        assert!(told.contains("iogauge did not make it") && told.contains("--force"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    report(&place, &path, &["--force"]).ends(0);
    assert!(fs::read_to_string(&path).unwrap().contains("iogauge"));
    // A file that iogauge made is replaced without `--force`.
    report(&place, &path, &["--title=second"]).ends(0);
    assert!(fs::read_to_string(&path).unwrap().contains("second"));
    assert_eq!(place.names(), ["precious.html"]);
}

#[test]
fn report_images_replace_foreign_files_only_with_force() {
    let place = with_a_run();
    for kind in ["svg", "png"] {
        let directory = at(&place, kind);
        let option = format!("--{kind}");
        let line = ["report", &option, directory.to_str().unwrap()];
        place.run(&line).ends(0);
        let pictures = common::names(&directory);
        assert!(pictures.len() > 1, "{pictures:?}");
        // Pictures that iogauge made are replaced.
        place.run(&line).ends(0);
        let last = directory.join(pictures.last().unwrap());
        fs::write(&last, FOREIGN).unwrap();
        let first = directory.join(&pictures[0]);
        fs::remove_file(&first).unwrap();
        refused(place.run(&line));
        assert_eq!(fs::read_to_string(&last).unwrap(), FOREIGN);
        assert!(!first.exists(), "judged before the first one is written");
        place.run(&[&line[..], &["--force"]].concat()).ends(0);
        assert_ne!(fs::read(&last).unwrap(), FOREIGN.as_bytes());
        assert_eq!(common::names(&directory), pictures);
    }
}

#[test]
fn report_does_not_replace_symlinks() {
    let place = with_a_run();
    let precious = at(&place, "precious");
    fs::write(&precious, FOREIGN).unwrap();
    for (name, target) in [("link", "precious"), ("dangling", "gone")] {
        let link = at(&place, name);
        symlink(target, &link).unwrap();
        for more in [&[][..], &["--force"]] {
            let told = refused(report(&place, &link, more));
            assert!(told.contains("symbolic link"), "{told}");
            assert!(link.is_symlink());
        }
    }
    // A link in the place of a picture is not replaced either.
    let directory = at(&place, "svg");
    place.run(&["report", "--svg", directory.to_str().unwrap()]).ends(0);
    let picture = directory.join(&common::names(&directory)[0]);
    fs::remove_file(&picture).unwrap();
    symlink(&precious, &picture).unwrap();
    refused(place.run(&["report", "--force", "--svg", directory.to_str().unwrap()]));
    assert!(picture.is_symlink());
    assert_eq!(fs::read_to_string(&precious).unwrap(), FOREIGN);
    assert!(!at(&place, "gone").exists());
}

#[test]
fn report_output_to_a_device_does_not_replace_it() {
    let place = with_a_run();
    for more in [&[][..], &["--force"]] {
        let full = report(&place, Path::new("/dev/full"), more).ends(1).stderr;
        assert!(full.contains("/dev/full cannot be written"), "{full}");
        report(&place, Path::new("/dev/null"), more).ends(0);
    }
    for device in ["/dev/full", "/dev/null"] {
        assert!(fs::metadata(device).unwrap().file_type().is_char_device(), "{device}");
    }
    // The node of a loop device that does not exist. No command opens it.
    let node = at(&place, "loop");
    if !mknod(&node, &["b", "7", "4095"]) {
        return skip("report_output_to_a_device_does_not_replace_it", "no nodes can be made");
    }
    for more in [&[][..], &["--force"]] {
        let told = refused(report(&place, &node, more));
        assert!(told.contains("block device"), "{told}");
        assert!(fs::symlink_metadata(&node).unwrap().file_type().is_block_device());
    }
}

#[test]
fn report_can_be_written_to_a_fifo() {
    let place = with_a_run();
    let fifo = at(&place, "fifo");
    assert!(mknod(&fifo, &["p"]));
    let unread = report(&place, &fifo, &[]).ends(1).stderr;
    assert!(unread.contains("a FIFO that no process reads"), "{unread}");
    let mut reader = Command::new("cat");
    reader.arg(&fifo).stdout(std::process::Stdio::piped());
    let reader = reader.spawn().unwrap();
    // The reader may open the FIFO a little later.
    let tried = std::time::Instant::now();
    while report(&place, &fifo, &[]).code != Some(0) {
        assert!(tried.elapsed().as_secs() < 60, "the FIFO has a reader");
    }
    let read = reader.wait_with_output().unwrap().stdout;
    assert!(String::from_utf8(read).unwrap().trim_end().ends_with("</html>"));
    assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn report_refuses_to_overwrite_the_history() {
    let place = with_a_run();
    let history = place.history();
    let directory = history.parent().unwrap().to_path_buf();
    let linked = at(&place, "linked.html");
    fs::hard_link(&history, &linked).unwrap();
    let wal = directory.join("history.db-wal");
    for path in [&history, &linked, &wal, &directory.join("history.db-shm")] {
        for more in [&[][..], &["--force"]] {
            let told = refused(report(&place, path, more));
            assert!(told.contains("history"), "{told}");
        }
    }
    assert_eq!(place.runs().len(), 1, "the history is whole");
    // A history that the command itself creates.
    let fresh = at(&place, "fresh.db");
    let fresh = fresh.to_str().unwrap();
    let line =
        ["profile", "--for=200ms", "--every=100ms", "-q", "--history", fresh, "--csv", fresh];
    let told = place.run(&[&line[..], &["--force"]].concat());
    if told.code == Some(2) {
        return skip("report_refuses_to_overwrite_the_history", &told.stderr);
    }
    refused(told);
    place.run(&["history", "list", "--history", fresh]).ends(0);
}

#[test]
fn profile_csv_replaces_a_foreign_file_only_with_force() {
    let place = Place::new();
    let path = at(&place, "rows.csv");
    let line = ["profile", "--for=200ms", "--every=100ms", "-q", "--csv", path.to_str().unwrap()];
    fs::write(&path, FOREIGN).unwrap();
    let begin = std::time::Instant::now();
    let long = ["profile", "--for=10m", "-q", "--csv", path.to_str().unwrap()];
    refused(place.run(&long));
    assert!(begin.elapsed().as_secs() < 300, "judged before it is recorded");
    assert_eq!(fs::read_to_string(&path).unwrap(), FOREIGN);
    assert!(place.runs().is_empty());
    place.run(&[&line[..], &["--force"]].concat()).ends(0);
    assert!(fs::read_to_string(&path).unwrap().starts_with("format,run_id"));
    place.run(&line).ends(0);
    assert_eq!(place.names(), ["rows.csv"]);
}

#[test]
fn man_pages_replace_foreign_files_only_with_force() {
    let place = Place::new();
    place.run(&["man", "pages"]).ends(0);
    place.run(&["man", "pages"]).ends(0);
    let page = at(&place, "pages/iogauge-run.1");
    fs::write(&page, FOREIGN).unwrap();
    refused(place.run(&["man", "pages"]));
    assert_eq!(fs::read_to_string(&page).unwrap(), FOREIGN);
    place.run(&["man", "pages", "--force"]).ends(0);
    assert_ne!(fs::read_to_string(&page).unwrap(), FOREIGN);
}

#[test]
fn db_export_never_replaces_files() {
    let place = Place::new();
    place.run(&["db", "setup", "sqlite:base", "--size=2m"]).ends(0);
    let made = ["db", "create-globals", "sqlite:base", "--globals=1", "--subscripts=1000"];
    place.run(&made).ends(0);
    place.run(&["db", "run", "sqlite:base", "--mode=write", "--runtime=200ms", "--quiet"]).ends(0);
    let (tables, precious) = (at(&place, "tables"), at(&place, "precious"));
    fs::create_dir(&tables).unwrap();
    fs::write(&precious, FOREIGN).unwrap();
    // The first export is in one of these seconds.
    let now = UtcTime::now().unix_ns();
    let mut foreign = Vec::new();
    for second in 0..300 {
        let time = UtcTime::from_unix_ns(now + second * 1_000_000_000);
        let path = |table: &str| tables.join(format!("{table}_{}.csv", time.compact()));
        fs::write(path("workers"), FOREIGN).unwrap();
        symlink(&precious, path("write")).unwrap();
        symlink("nowhere", path("read")).unwrap();
        foreign.push(path("workers"));
    }
    let told = place.run(&["db", "export", "tables"]).ends(0).stdout;
    assert!(told.lines().all(|line| line.contains("-2.csv: 1 row")), "{told}");
    let before = common::names(&tables);
    assert_eq!(before.iter().filter(|name| name.ends_with("-2.csv")).count(), 2, "{told}");
    place.run(&["db", "export", "tables"]).ends(0);
    assert_eq!(common::names(&tables).len(), before.len() + 2);
    foreign.push(precious);
    for path in foreign {
        assert_eq!(fs::read_to_string(path).unwrap(), FOREIGN);
    }
}

#[test]
fn detached_run_log_never_overwrites_a_foreign_file() {
    let place = with_a_run();
    let precious = at(&place, "detached-precious.log");
    fs::write(&precious, FOREIGN).unwrap();
    let mut command = place.command(&["run", "sim:nvme", "--runtime=10ms", "-q"]);
    command.env("IOGAUGE_DETACHED_LOG", &precious);
    Done::from(command.output().unwrap()).ends(0);
    assert_eq!(fs::read_to_string(&precious).unwrap(), FOREIGN);
}
