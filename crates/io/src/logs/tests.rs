//! Tests that no I/O is lost between workers and log files.
#![allow(clippy::unwrap_used)]

use super::*;
use iogauge_fio::log_out::{LogDirection, LogKind, LoggedIo};
use iogauge_model::Load;
use iogauge_model::load::Logs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

fn io(ended_ns: u64) -> LoggedIo {
    let direction = LogDirection::Read;
    LoggedIo { ended_ns, latency_ns: 10, offset_bytes: 0, bytes: 4096, direction }
}

/// Returns the logs of a worker that writes its IOPS to one file.
fn worker(files: &mut LogFiles, path: &Path) -> WorkerLogs {
    let logs = Logs { iops: Some("p".to_owned()), ..Logs::default() };
    let mut of_kinds = [const { None }; LogKind::ALL.len()];
    of_kinds[3] = Some(files.open(path).unwrap());
    WorkerLogs { logs, files: of_kinds }
}

#[test]
fn slow_writer_makes_the_worker_wait_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p_iops.1.log");
    let mut files = LogFiles::default();
    let worker = worker(&mut files, &path);
    let file = worker.files[3].clone().unwrap();
    let mut writer = LogWriter::start(vec![None, Some(worker)], true).unwrap();
    assert!(writer.recorder(0, &Load::default()).is_none());
    let mut recorder = writer.recorder(1, &Load::default()).unwrap();
    assert!(
        writer.recorder(1, &Load::default()).is_none()
            && writer.recorder(2, &Load::default()).is_none()
    );
    let all = (MOST_CHUNKS + 3) * CHUNK_IOS + 7;
    let (held, is_held) = channel();
    let slow = std::thread::spawn(move || {
        let _held = file.hold();
        held.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    });
    is_held.recv().unwrap();
    recorder.begin_if_wanted(1_000);
    (0..all).for_each(|n| recorder.record(io(1_000 + n as u64 * 1_000_000)));
    recorder.end(u64::MAX);
    recorder.record(io(u64::MAX));
    slow.join().unwrap();
    let waits = writer.finish();
    assert!(waits.times > 0 && waits.ns > 1_000_000, "{waits:?}");
    assert!(!path.exists());
    assert_eq!(files.commit(true), (vec![path.clone()], vec![]));
    let text = std::fs::read_to_string(&path).unwrap();
    let times = text.lines().map(|line| line.split(", ").next().unwrap().parse::<usize>().unwrap());
    assert!(times.eq(0..all), "a line for each I/O, in their order");
}

#[test]
fn records_begin_after_the_ramp() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let mut files = LogFiles::default();
    let worker = worker(&mut files, &path);
    let mut writer = LogWriter::start(vec![Some(worker)], false).unwrap();
    let mut recorder = writer.recorder(0, &Load::default()).unwrap();
    recorder.begin_if_wanted(10);
    recorder.record(io(20));
    writer.begin();
    recorder.record(io(30));
    recorder.begin_if_wanted(40);
    recorder.begin_if_wanted(50);
    recorder.record(io(3_000_040));
    recorder.end_if_uncounted(true, 4_000_000);
    recorder.record(io(5_000_000));
    recorder.end(6_000_000);
    assert_eq!(writer.finish(), LogWaits::default());
    assert_eq!(files.commit(true).1, [""; 0]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "3, 1, 0, 4096, 0\n");
}

#[test]
fn ios_after_the_stop_count_if_the_load_ends_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let mut files = LogFiles::default();
    let worker = worker(&mut files, &path);
    let mut writer = LogWriter::start(vec![Some(worker)], true).unwrap();
    let load = Load { number_ios: Some(2), ..Load::default() };
    let mut recorder = writer.recorder(0, &load).unwrap();
    recorder.begin_if_wanted(0);
    recorder.record(io(1));
    recorder.end_if_uncounted(true, 2);
    recorder.record(io(3));
    recorder.end(4);
    writer.finish();
    assert_eq!(files.commit(true).1, [""; 0]);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
}

#[test]
fn log_that_was_taken_by_another_is_lost_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = LogFiles::default();
    let paths = ["a.log", "b.log"].map(|name| dir.path().join(name));
    for path in &paths {
        files.open(path).unwrap().append("1, 1, 0, 4096, 0\n");
        let same = dir.path().join(".").join(path.file_name().unwrap());
        files.open(&same).unwrap().append("2, 1, 0, 4096, 0\n");
    }
    std::fs::write(&paths[0], "precious").unwrap();
    let (made, wrong) = files.commit(true);
    assert_eq!((made, wrong.len()), (vec![paths[1].clone()], 1));
    assert!(wrong[0].contains("a.log is lost: "), "{wrong:?}");
    assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(&paths[1]).unwrap().lines().count(), 2);
}

#[test]
fn logs_of_workers_that_did_not_run_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["begun.log", "not-begun.log"].map(|name| dir.path().join(name));
    for complete in [false, true] {
        let mut files = LogFiles::default();
        files.open(&paths[0]).unwrap().append("1, 1, 0, 4096, 0\n");
        files.open(&paths[1]).unwrap();
        let (made, wrong) = files.commit(complete);
        assert_eq!((made, wrong.len()), (paths[..1 + usize::from(complete)].to_vec(), 0));
        assert_eq!(paths[1].exists(), complete);
    }
}
