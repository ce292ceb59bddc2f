//! `db beside`: a database compared with its device.

use crate::common::answer::assert_rows_agree;
use crate::common::{Done, Started, eventually, names};
use crate::{Db, assert_fits, assert_one_line, codes};
use iogauge_io::targets::{Ownership, ownership};
use iogauge_model::result::{BesideDocument, BesideSide, StoppedBy};
use iogauge_test_support::{Mount, or_skip, run};

#[test]
fn beside_reports_database_share_of_device_performance() {
    let db = Db::new(2, 1000);
    let there = || names(&db.place.work().join("d"));
    let length =
        || std::fs::metadata(db.place.work().join("d/iogauge.dat")).map(|file| file.len()).ok();
    for mode in ["read", "write"] {
        if mode == "write" {
            db.place.run(&["prepare", "d", "--size=64m", "--quiet"]).ends(0);
        }
        let before = (there(), length());
        // The file that a killed command left is removed.
        left_over(&db);
        let line = [
            "--mode",
            mode,
            "--budget=1s",
            "--size=64m",
            "--limit=mean<=10s",
            "--max-starvation=100%",
        ];
        let done = db.run("beside", &[&line[..], &["--json"]].concat()).ends(0);
        let document: BesideDocument = serde_json::from_value(done.json()).unwrap();
        assert_eq!(document.head.format, "iogauge.beside/1");
        let database = document.database.unwrap();
        assert!(document.device.answer.iops.mean > 0.0 && database.answer.iops.mean > 0.0);
        let rw = if mode == "read" { "randread" } else { "randwrite" };
        let durable = if mode == "write" { ", durable" } else { "" };
        for side in [&document.device, &database] {
            assert_rows_agree(&side.answer, &side.curve);
        }
        assert_eq!(document.device.load, format!("{rw} 8 KiB{durable}"));
        assert!(!document.held_back_by.is_empty());
        let (iops, bytes) = (document.database_iops, document.database_bytes_per_sec);
        let of = &document.device.answer;
        let of_ios = iops.map(|iops| iops * 100.0 / of.iops.mean);
        let of_bytes = bytes.map(|bytes| bytes * 100.0 / of.bytes_per_sec);
        let larger = of_ios.zip(of_bytes).map(|(ios, bytes)| ios.max(bytes));
        let share = document.share_percent;
        assert_eq!(share.is_some(), larger.is_some());
        // The share may differ in its last digit: the numbers went through their text form.
        assert!(
            share.zip(larger).is_none_or(|(share, larger)| (share - larger).abs() <= larger * 1e-9)
        );
        if mode == "write" {
            assert!(document.held_back_by.iter().any(|words| words.contains("commits took")));
            assert!(database.curve.iter().all(|point| point.queue_depth <= 2));
        }
        let sides = |message: &str| {
            ["the device", "the database"].iter().any(|side| message.starts_with(side))
        };
        assert!(document.caveats.iter().all(|caveat| sides(&caveat.message)));
        // The test file is removed; another file stays.
        assert_eq!((there(), length()), before);
        assert_eq!(length().is_some(), mode == "write");
        let show = |format: &str| db.place.run_on(60, &["history", "show", "--format", format]);
        assert_eq!(show("json").ends(0).json(), done.json());
        let text = show("text").ends(0).stdout;
        assert_fits(&text, 60);
        assert!(
            text.contains("The database reaches ") == larger.is_some()
                && text.contains("The device: rand"),
            "{text}"
        );
        for format in ["iogauge-csv", "csv", "classic", "fio-json"] {
            assert_one_line(show(format), 2, &["--format text or json"]);
        }
    }
    assert_eq!(db.verified()["lost"], 0);
}

/// Kills a comparison while its test file exists.
fn left_over(db: &Db) {
    let run = comparing(db, "1h");
    let file = db.place.work().join("d/iogauge-beside.dat");
    eventually(|| file.exists() && matches!(ownership(&file), Ok(Ownership::Ours(_))));
    run.kill();
    assert!(file.exists());
}

/// The limits of commits apply to the device's writes.
#[test]
fn beside_applies_commit_limits_to_device_writes() {
    let db = Db::new(1, 1000);
    let line = ["--mode=write", "--budget=1s", "--size=64m", "--max-starvation=100%"];
    let quiet = ["--quiet", "--json"];
    let beside = |more: &[&str]| db.run("beside", &[&line[..], &quiet, more].concat());
    let none = beside(&["--limit=commit:mean<=1ns"]).ends(5);
    let document: BesideDocument = serde_json::from_value(none.json()).unwrap();
    let of = |side: &BesideSide| (side.answer.limits[0].limit.to_string(), side.answer.stopped_by);
    assert_eq!(of(&document.device), ("write:mean <= 1 ns".to_owned(), StoppedBy::Unattainable));
    let database = document.database.as_ref().unwrap();
    assert_eq!(of(database), ("sync:mean <= 1 ns".to_owned(), StoppedBy::Unattainable));
    // Commits that do not wait are compared with writes that do not wait.
    let loose = beside(&["--limit=commit:mean<=10s", "--set", "synchronous=off"]);
    let document = loose.ends(0).json();
    assert_eq!(document["device"]["load"], "randwrite 8 KiB");
}

#[test]
fn beside_refuses_concurrent_runs_and_foreign_files() {
    let db = Db::new(1, 100);
    let run = db.at_work(1, &["--quiet"]);
    let line = ["--mode=read", "--budget=1s", "--size=64m", "--quiet"];
    assert_one_line(db.run("beside", &line), 3, &["another run works on this database"]);
    assert_eq!((db.place.runs().len(), names(&db.place.work().join("d"))), (1, vec!["RAN".into()]));
    run.signal("INT");
    run.end().ends(130);
    let foreign = db.place.work().join("d/iogauge-beside.dat");
    std::fs::write(&foreign, "mine").unwrap();
    assert_one_line(db.run("beside", &line), 3, &["iogauge-beside.dat"]);
    assert_eq!(std::fs::read(&foreign).unwrap(), b"mine");
}

/// A directory can be on the database's file system, inside or outside its folder, but on no other one.
#[test]
fn beside_requires_the_file_system_of_the_database() {
    let db = Db::new(1, 100);
    let work = db.place.work();
    let folder = work.join("d/RAN");
    std::fs::create_dir(work.join("other")).unwrap();
    std::fs::create_dir(folder.join("own")).unwrap();
    let line = [
        "--mode=read",
        "--budget=1s",
        "--size=64m",
        "--limit=mean<=10s",
        "--max-starvation=100%",
        "--quiet",
    ];
    let beside = |more: &[&str]| db.run("beside", &[&line[..], more].concat());
    for (directory, told) in [
        ("d/RAN", "holds files of the database"),
        ("missing", "No such file"),
        ("d/RAN/lock", "Not a directory"),
        ("/proc", "is not on the file system of the database"),
    ] {
        assert_one_line(beside(&["--directory", directory]), 2, &["--directory", told]);
    }
    for directory in ["other", "d/RAN/own"] {
        beside(&["--directory", directory]).ends(0);
        assert_eq!(names(&work.join(directory)), [""; 0]);
    }
    // The same files on a file system of their own.
    let memory =
        or_skip!("beside_requires_the_file_system_of_the_database", Mount::tmpfs(64 << 20));
    run("cp", &["-a", folder.to_str().unwrap(), memory.point.to_str().unwrap()]).unwrap();
    let made = memory.point.join("RAN");
    let _bound = Mount::at(&folder, &["--bind", made.to_str().unwrap()]).unwrap();
    assert_one_line(beside(&[]), 2, &["has a file system of its own", "--directory"]);
    let other = beside(&["--directory", "other"]);
    assert_one_line(other, 2, &["is not on the file system of the database"]);
    assert_eq!(names(&work.join("d")), ["RAN"]);
}

/// Starts a comparison that searches the device for this budget.
fn comparing(db: &Db, budget: &str) -> Started {
    let line = ["--mode=write", "--size=64m", "--limit=mean<=10s", "--json", "--quiet"];
    db.start("beside", &[&line[..], &[&format!("--budget={budget}")]].concat())
}

/// Asserts that an interrupted comparison keeps what it measured and states no share.
#[track_caller]
fn assert_cut_short(db: &Db, done: Done) -> BesideDocument {
    let json = done.ends(130).json();
    for member in ["share_percent", "database_iops", "database_bytes_per_sec", "held_back_by"] {
        assert_eq!(json.get(member), None, "{json}");
    }
    assert_eq!(codes(&json).iter().filter(|code| **code == "interrupted").count(), 1);
    assert_eq!(db.place.runs()[0].1, "interrupted");
    assert_eq!(names(&db.place.work().join("d")), ["RAN"]);
    let text = db.place.run_on(200, &["history", "show"]).ends(0).stdout;
    assert!(text.contains("Interrupted before the ") && !text.contains("reaches"), "{text}");
    serde_json::from_value(json).unwrap()
}

#[test]
fn beside_keeps_its_partial_result_when_interrupted() {
    let db = Db::new(2, 1000);
    let run = comparing(&db, "1h");
    let points = || db.place.run(&["history", "export"]).stdout.matches("\"step\":{").count();
    eventually(|| points() > 0);
    run.signal("INT");
    let document = assert_cut_short(&db, run.end());
    assert!(document.device.curve.iter().any(|point| point.iops.mean > 0.0));
    assert_eq!(document.database, None);

    let run = comparing(&db, "3s");
    let has_file = || names(&db.place.work().join("d")).len() > 1;
    eventually(has_file);
    // The device's file is removed before the database is measured.
    eventually(|| !has_file());
    run.signal("INT");
    assert!(assert_cut_short(&db, run.end()).device.answer.iops.mean > 0.0);
    assert_eq!(db.verified()["lost"], 0);
}
