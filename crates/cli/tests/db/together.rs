//! Two commands on one database at the same time.

use crate::{Db, SHORT, assert_one_line, eventually, typed};

#[test]
fn a_read_run_goes_on_beside_one_that_writes() {
    let db = Db::new(2, 1000);
    let writing = db.run("run", &["--mode=write", "--runtime=60s", "--ramp-time=0", "--detach"]);
    let id = writing.ends(0).stdout.split(' ').nth(1).unwrap().to_owned();
    let read = typed(&db.measured("read", &["--processes=2"]));
    let database = read.steps[0].database.clone().unwrap();
    assert!(database.workers.iter().all(|worker| worker.reads > 0), "{database:?}");
    // What the other run does is not compared with this one's.
    assert!(read.caveats.iter().all(|caveat| !caveat.message.contains("counted")), "{read:?}");
    let second = ["--mode=write", "--runtime=1s"];
    for more in [&second[..], &["--mode=write", "--runtime=1s", "--detach"]] {
        let refused = db.run("run", &[more, &["--quiet"]].concat());
        assert_one_line(refused, 3, &["another run works on this database", "iogauge db stop"]);
    }
    assert_one_line(db.run("purge", &["--yes"]), 3, &["another run works on this database"]);
    assert_one_line(db.run("create-globals", &["--recreate"]), 3, &["another run works"]);
    db.place.run(&["stop", &id]).ends(0);
    eventually(|| db.place.runs().iter().all(|run| run.1 != "running"));
    // Nothing that was acknowledged is missing.
    db.verified();
    let reading = db.start("run", &["--mode=read", "--runtime=60s", "--quiet"]);
    eventually(|| db.place.runs()[0].1 == "running");
    db.run("run", &[&["--mode=write"], &SHORT[..]].concat()).ends(0);
    eventually(|| {
        let purged = db.run("purge", &["--yes"]);
        purged.code == Some(3) && purged.stderr.contains("another run works on this database")
    });
    let replaced = db.run("create-globals", &["--recreate", "--subscripts=10"]);
    assert_one_line(replaced, 3, &["another run works on this database"]);
    assert_eq!(db.run("sizes", &[]).ends(0).stdout, "2,1000,1000\n");
    db.place.run(&["db", "stop"]).ends(0);
    drop(reading);
    eventually(|| db.place.runs().iter().all(|run| run.1 != "running"));
    db.run("purge", &["--yes"]).ends(0);
}

#[test]
fn recreated_globals_begin_anew() {
    let db = Db::new(3, 1000);
    db.measured("write", &["--processes=3"]);
    let kept = db.run("create-globals", &["--globals=2", "--subscripts=500"]);
    assert_one_line(kept, 2, &["3 globals have been made already", "--recreate"]);
    // Wrong numbers remove nothing.
    let wrong = db.run("create-globals", &["--recreate", "--subscripts=0"]);
    assert_one_line(wrong, 2, &["--subscripts must be between 1 and"]);
    let large = db.run("create-globals", &["--recreate", "--globals=100", "--subscripts=1g"]);
    assert_one_line(large, 3, &["of the disk free"]);
    assert_eq!(db.run("sizes", &[]).ends(0).stdout, "3,1000,1000,1000\n");
    let made = ["--globals=2", "--subscripts=500", "--recreate", "--quiet"];
    db.run("create-globals", &made).ends(0);
    assert_eq!(db.run("sizes", &[]).ends(0).stdout, "2,500,500\n");
    let verified = db.run("verify", &[]).ends(0).stdout;
    assert!(
        verified.contains("No run on this database recorded what it acknowledged."),
        "{verified}"
    );
    db.measured("write", &["--processes=2"]);
    db.verified();
}
