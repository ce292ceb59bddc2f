//! Disks that are full or cannot be written.

use crate::{
    acknowledged, alone::alone, begin, check, create, database, one_line, pool, sequences, setup,
    skip,
};
use iogauge_db::DbError;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A file system of its own, which goes with this.
struct Mount(tempfile::TempDir);

impl Mount {
    fn of(megabytes: u32) -> Result<Self, String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let size = format!("size={megabytes}m");
        mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], dir.path())?;
        Ok(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn freeze(&self) {
        mount(&["-o", "remount,ro"], self.path()).unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).output();
    }
}

fn mount(arguments: &[&str], path: &Path) -> Result<(), String> {
    let output = Command::new("mount").args(arguments).arg(path).output();
    let output = output.map_err(|error| format!("mount: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

/// Direct I/O is not what these are about, and some memory file systems have none.
const SETTINGS: &str = "direct=no";

#[test]
fn a_full_disk_is_told_and_leaves_what_was_there() {
    let _alone = alone();
    let disk = match Mount::of(64) {
        Ok(disk) => disk,
        Err(why) => return skip("a_full_disk_is_told_and_leaves_what_was_there", &why),
    };
    let db = database(disk.path(), SETTINGS);
    let full = setup(db.as_ref(), 200 << 20).unwrap_err();
    assert!(matches!(full, DbError::Full(_)), "{full:?}");
    one_line(&full);
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0, "what was made is gone");
    setup(db.as_ref(), 10 << 20).unwrap();
    create(db.as_ref(), 1000).unwrap();
    let full = create(db.as_ref(), 1_000_000).unwrap_err();
    assert!(matches!(full, DbError::Full(_)), "{full:?}");
    one_line(&full);
    assert_eq!(db.globals().unwrap().len(), 1);
    assert_eq!(db.count_subscripts(1).unwrap(), 1000);
    // There is room again.
    create(db.as_ref(), 1000).unwrap();
    check(db.as_ref());
}

#[test]
fn a_disk_that_fills_ends_the_run_and_loses_nothing() {
    let _alone = alone();
    let disk = match Mount::of(16) {
        Ok(disk) => disk,
        Err(why) => return skip("a_disk_that_fills_ends_the_run_and_loses_nothing", &why),
    };
    let db = database(disk.path(), SETTINGS);
    setup(db.as_ref(), 1 << 20).unwrap();
    create(db.as_ref(), 1000).unwrap();
    let mut pool = pool(db.as_ref(), 1);
    let end = Instant::now() + Duration::from_secs(60);
    while !pool.finished() {
        assert!(Instant::now() < end, "16 MiB hold more than a minute of updates");
        std::thread::sleep(Duration::from_millis(10));
    }
    pool.stop();
    let (worker, fault) = pool.fault().unwrap();
    assert!(worker == 1 && matches!(fault, DbError::Full(_)), "{fault:?}");
    one_line(&fault);
    drop(pool);
    assert!(acknowledged(db.as_ref())[0] > 100);
    check(db.as_ref());
}

#[test]
fn where_nothing_can_be_written_it_is_read() {
    let _alone = alone();
    let disk = match Mount::of(16) {
        Ok(disk) => disk,
        Err(why) => return skip("where_nothing_can_be_written_it_is_read", &why),
    };
    let db = database(disk.path(), SETTINGS);
    setup(db.as_ref(), 1 << 20).unwrap();
    create(db.as_ref(), 1000).unwrap();
    disk.freeze();
    assert_eq!(db.count_subscripts(1).unwrap(), 1000);
    assert_eq!(sequences(db.as_ref(), 1), [0]);
    db.about().unwrap();
    let other = database(&disk.path().join("other"), SETTINGS);
    let faults = [
        begin(db.as_ref(), 1).err(),
        create(db.as_ref(), 10).err(),
        db.purge().err(),
        setup(other.as_ref(), 1 << 20).err(),
    ];
    for fault in faults {
        assert!(matches!(fault, Some(DbError::ReadOnly(_))), "{fault:?}");
        one_line(&fault.unwrap());
    }
}
