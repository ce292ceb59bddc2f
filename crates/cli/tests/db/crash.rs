//! Killed runs and damaged files.

use crate::common::names;
use crate::{Db, assert_one_line, codes};
use iogauge_model::result::{DatabaseWorker, StepResult};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

#[test]
fn acknowledged_transactions_survive_a_killed_run() {
    let db = Db::new(2, 3000);
    let often = ["--set", "checkpoint=5ms", "--set", "checkpoint_size=256k", "--quiet"];
    let mut random: u64 = 7;
    for round in 1..=4 {
        let run = db.at_work(2, &often);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis((random >> 33) % 300));
        assert_eq!(run.kill().code, None);
        let checked = db.verified();
        assert_eq!((&checked["wrong"], &checked["lost"]), (&0.into(), &0.into()));
        assert_eq!(checked["acknowledged_known"], true);
        assert!(checked["acknowledged"].as_u64() > Some(0), "{checked}");
        assert_eq!(db.place.runs()[0].1, "crashed");
        assert_eq!(db.place.runs().len(), round);
    }
    let document = db.measured("write", &["--processes=2"]);
    assert!(!codes(&document).contains(&"other-load"));
    assert_eq!(db.verified()["lost"], 0);
    db.run("purge", &["--yes"]).ends(0);
    assert_eq!(db.place.names(), [""; 0]);
}

/// Returns the steps of the last run in the history.
fn kept(db: &Db) -> Vec<Value> {
    let stored = db.place.run(&["history", "show", "--format=json"]).ends(0).json();
    stored["steps"].as_array().cloned().unwrap_or_default()
}

#[test]
fn history_keeps_completed_steps_of_a_killed_ladder() {
    let db = Db::new(2, 1000);
    // With the think time, two processes do twice as much as one.
    let line = ["--mode=write", "--ladder=1,2", "--hang=40ms", "--transaction-length=1"];
    let run = db.start("run", &[&line[..], &["--runtime=1s", "--ramp-time=0", "--quiet"]].concat());
    crate::common::eventually(|| !db.place.runs().is_empty() && kept(&db).len() == 1);
    run.kill();
    assert_eq!(db.place.runs()[0].1, "crashed");
    let steps = kept(&db);
    assert_eq!(steps.len(), 1);
    let step = &steps[0]["result"];
    assert_eq!(step["depth"], 1);
    assert!(step["database"]["counted"]["commits_made"].as_u64() > Some(0), "{step}");
    let text = db.place.run(&["history", "show"]).ends(0).stdout;
    assert!(
        text.contains("is crashed: db-run sqlite:d RAN") && text.contains("1 process"),
        "{text}"
    );
}

#[test]
fn history_keeps_partial_measurements_of_a_killed_step() {
    let db = Db::new(2, 1000);
    let run = db.at_work(2, &["--quiet"]);
    crate::common::eventually(|| kept(&db).len() == 1);
    run.kill();
    assert_eq!(db.place.runs()[0].1, "crashed");
    let step: StepResult = serde_json::from_value(kept(&db)[0]["result"].clone()).unwrap();
    let (write, sync) = (step.write.unwrap(), step.sync.unwrap());
    let database = step.database.unwrap();
    let of_workers = |of: fn(&DatabaseWorker) -> u64| database.workers.iter().map(of).sum::<u64>();
    assert_eq!((database.mode.as_str(), database.workers.len()), ("write", 2));
    assert_eq!((write.ios, sync.ios), (of_workers(|w| w.updates), of_workers(|w| w.commits)));
    assert!(write.ios > 0 && sync.ios == database.transactions && step.physical.is_some());
    let checked = db.verified();
    assert_eq!((&checked["wrong"], &checked["lost"]), (&0.into(), &0.into()));
}

/// Returns the position of the first occurrence of these bytes in a file.
fn position(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).position(|window| window == wanted).expect("they are there")
}

#[test]
fn verify_reports_a_corrupted_byte() {
    let db = Db::new(2, 1000);
    let path = db.file("global2.db");
    let right = std::fs::read(&path).unwrap();
    let stamp = |subscript| iogauge_db::value::Stamp::initial(2, subscript);
    let mut value = String::new();
    stamp(321).write(100, &mut value);
    let at = position(&right, value.as_bytes());
    let (check, padding) = (at + 4, at + 99);
    for place in [at, check, padding] {
        let mut wrong = right.clone();
        // A digit stays a digit, and a letter stays text.
        wrong[place] ^= 1;
        std::fs::write(&path, &wrong).unwrap();
        let done = db.run("verify", &[]).ends(4);
        let told = done.stdout.lines().take(2).collect::<Vec<_>>();
        assert_eq!(told[0], "1 value NOT as written, of 2,000 values:");
        assert!(told[1].starts_with("global 2, subscript 321: "), "{told:?}");
        let checked = db.run("verify", &["--json"]).ends(4).json();
        assert_eq!((&checked["wrong"], &checked["values"]), (&1.into(), &2000.into()));
    }
    std::fs::write(&path, &right).unwrap();
    db.verified();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for name in names(from) {
        std::fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// If a database returns to an earlier state, it has lost what it acknowledged since.
#[test]
fn verify_counts_lost_transactions() {
    let db = Db::new(2, 1000);
    let (folder, kept) = (db.place.work().join("d/RAN"), db.place.work().join("kept"));
    db.measured("write", &["--processes=2", "--drain"]);
    copy(&folder, &kept);
    db.measured("write", &["--processes=2", "--drain"]);
    let acknowledged = std::fs::read(db.file("acknowledged")).unwrap();
    for name in names(&folder).iter().filter(|name| name.starts_with("global2")) {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    for name in names(&kept).iter().filter(|name| name.starts_with("global2")) {
        std::fs::copy(kept.join(name), folder.join(name)).unwrap();
    }
    assert_eq!(std::fs::read(db.file("acknowledged")).unwrap(), acknowledged);
    let (first, last) = db.acknowledged().unwrap().workers[1];
    let checked = db.run("verify", &["--json"]).ends(4).json();
    assert_eq!(checked["lost"], last - first);
    assert_eq!(
        (&checked["workers"][0]["lost"], &checked["workers"][1]["committed"]),
        (&0.into(), &first.into())
    );
    let text = db.run("verify", &[]).ends(4).stdout;
    assert!(text.contains("LOST") && text.contains("worker 2: acknowledged up to"), "{text}");
}

/// A later `verify`, without the run's setting, reports what that setting may lose. The next run that writes reports
/// what was lost.
#[test]
fn next_write_run_reports_losses_of_the_previous_run() {
    let db = Db::new(1, 1000);
    let (folder, kept) = (db.place.work().join("d/RAN"), db.place.work().join("kept"));
    copy(&folder, &kept);
    let document = db.measured("write", &["--set", "synchronous=off", "--drain"]);
    let may_lose = &document["target"]["may_lose"];
    assert!(may_lose.is_string() && !codes(&document).contains(&"acknowledged-lost"), "{document}");
    assert_eq!(&db.verified()["may_lose"], may_lose);
    for name in names(&folder).iter().filter(|name| name.starts_with("global1")) {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    std::fs::copy(kept.join("global1.db"), folder.join("global1.db")).unwrap();
    let checked = db.run("verify", &["--json"]).ends(4).json();
    assert_eq!((&checked["lost"], &checked["may_lose"]), (&checked["acknowledged"], may_lose));
    let text = db.run("verify", &[]).ends(4).stdout;
    assert!(text.contains("LOST") && text.contains("do not wait for the log"), "{text}");
    // A run that only reads leaves the loss for later commands to find.
    assert!(!codes(&db.measured("read", &[])).contains(&"acknowledged-lost"));
    assert_eq!(db.run("verify", &["--json"]).ends(4).json()["lost"], checked["lost"]);
    let document = db.measured("write", &[]);
    let caveats = document["caveats"].as_array().unwrap();
    let told: Vec<_> = caveats.iter().filter(|c| c["code"] == "acknowledged-lost").collect();
    let lost = format!("{} transaction", checked["lost"]);
    assert_eq!(told.len(), 1, "{document}");
    assert!(told[0]["message"].as_str().unwrap().starts_with(&lost), "{told:?}");
    // Its commits waited, whatever setting the command line has.
    let checked = db.run("verify", &["--json", "--set", "synchronous=off"]).ends(0).json();
    assert_eq!((&checked["lost"], &checked["may_lose"]), (&0.into(), &Value::Null));
    assert!(!codes(&db.measured("write", &[])).contains(&"acknowledged-lost"));
}

#[test]
fn invalid_acknowledgement_record_is_reported() {
    let db = Db::new(2, 1000);
    db.measured("write", &["--processes=2"]);
    let path = db.file("acknowledged");
    let right = std::fs::read(&path).unwrap();
    let mut backwards = right.clone();
    let length = backwards.len();
    backwards[length - 8..].fill(0);
    backwards[length - 16..length - 8].fill(0x01);
    for wrong in [
        &right[..length - 1],
        &right[..length - 16],
        &right[..100],
        b"",
        b"notes of mine",
        &backwards,
    ] {
        std::fs::write(&path, wrong).unwrap();
        let words = ["d/RAN/acknowledged", "it is not iogauge.acknowledged/2", "hint: remove it"];
        assert_one_line(db.run("verify", &["--quiet"]), 1, &words);
    }
    // The hint works.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(db.verified()["acknowledged_known"], false);
    // The record of another database does not apply to this one.
    let other = Db::new(2, 1000);
    other.measured("write", &["--processes=2"]);
    std::fs::copy(other.file("acknowledged"), &path).unwrap();
    assert_eq!(db.verified()["acknowledged_known"], false);
    let text = db.run("verify", &[]).ends(0).stdout;
    assert!(text.contains("No run on this database recorded"), "{text}");
    // The next run starts its own record.
    db.measured("write", &["--processes=2"]);
    assert_eq!(db.verified()["acknowledged_known"], true);
}
