//! Cases over the life cycle of a database: setup, fill, inspection, purge.

use crate::fixture::Fixture;
use iogauge_db::backend::{self, RunPlan};
use iogauge_db::pool::Mode;
use iogauge_db::{Database, DbError};
use iogauge_test_support::database::{
    AtWork, Expected, SIZE_BYTES, followed, global, interrupted, plan, sequences, set_up,
};
use std::time::Duration;

const RUN: RunPlan = RunPlan { writers: 1, reads: true };

pub fn setup_is_done_once(fixture: &Fixture) {
    let db = fixture.open();
    assert!(!db.is_there().unwrap());
    let (result, last) = followed(|progress| db.setup(SIZE_BYTES, progress));
    result.unwrap();
    assert!(last.0 == last.1 && last.1 >= SIZE_BYTES, "told at last: {last:?}");
    assert!(db.is_there().unwrap());
    let size = db.size().unwrap();
    assert!(size.data_bytes >= SIZE_BYTES, "{size:?}");
    let about = db.about().unwrap();
    assert!(about.software.contains(|c: char| c.is_ascii_digit()), "{about:?}");
    assert!((512..=1 << 20).contains(&about.block_bytes), "{about:?}");
    assert_eq!(about.may_lose, None, "commits wait for their log where nothing else is set");
    for path in db.paths().unwrap() {
        assert!(path.exists(), "{}", path.display());
    }
    let again = followed(|progress| db.setup(SIZE_BYTES, progress)).0;
    assert!(matches!(again, Err(DbError::Foreign(_))), "{again:?}");
    // The existing database is unchanged, also when it is opened again.
    let identity = db.identity().unwrap();
    assert_eq!(db.globals().unwrap(), []);
    drop(db);
    let db = fixture.open();
    assert_eq!(db.identity().unwrap(), identity);
    assert!(db.is_there().unwrap());
}

pub fn what_is_missing_is_told_by_every_call(fixture: &Fixture) {
    let db = fixture.open();
    let missing = |what: &str, error: Option<DbError>| {
        assert!(matches!(error, Some(DbError::Missing(_))), "{what}: {error:?}");
        let text = error.unwrap().to_string();
        assert!(!text.contains('\n'), "{what}: {text}");
    };
    missing("about", db.about().err());
    missing("globals", db.globals().err());
    let create = followed(|progress| db.create_global(global(1, 10, 100), progress)).0;
    missing("create_global", create.err());
    missing("walk", db.walk(1, &mut |_, _| Ok(())).err());
    missing("count_subscripts", db.count_subscripts(1).err());
    missing("committed", db.committed().err());
    missing("identity", db.identity().err());
    missing("drop_globals", db.drop_globals().err());
    missing("begin", db.begin(&RUN).err());
    missing("begin to read", db.begin(&RunPlan { writers: 0, reads: true }).err());
    missing("hold", db.hold().err());
    missing("purge", db.purge().err());
    assert!(!db.is_there().unwrap());
}

pub fn globals_are_there_as_they_were_made(fixture: &Fixture) {
    let db = fixture.open();
    followed(|progress| db.setup(SIZE_BYTES, progress)).0.unwrap();
    let made = [global(1, 2000, 100), global(2, 3000, 64), global(3, 50, 2000)];
    for global in made {
        let (result, last) = followed(|progress| db.create_global(global, progress));
        result.unwrap();
        assert_eq!(last, (global.subscripts, global.subscripts));
    }
    assert_eq!(db.globals().unwrap(), made);
    assert_eq!(fixture.open().globals().unwrap(), made);
    for global in made {
        assert_eq!(db.count_subscripts(global.number).unwrap(), global.subscripts);
    }
    Expected::initial(&made).check(db.as_ref());
    assert!(db.committed().unwrap().iter().all(|(_, sequence)| *sequence == 0));
    assert!(db.count_subscripts(4).is_err(), "there is no fourth");
    // An error from the callback ends the walk.
    let mut seen = 0;
    let walked = db.walk(1, &mut |_, _| {
        seen += 1;
        if seen == 10 { Err(DbError::Interrupted) } else { Ok(()) }
    });
    assert_eq!((walked, seen), (Err(DbError::Interrupted), 10));
}

pub fn what_is_filled_takes_what_was_told(fixture: &Fixture) {
    let db = fixture.open();
    let places = db.fill_places().unwrap();
    assert!(places.iter().any(|place| place.most_bytes.is_none()), "{places:?}");
    followed(|progress| db.setup(SIZE_BYTES, progress)).0.unwrap();
    assert_eq!(db.fill_places().unwrap()[0], places[0]);
    // Files grow by more than needed; those of GT.M grow by 2500 blocks.
    let slack = if fixture.url.backend == "gtm" { 20 << 20 } else { 1 << 20 };
    for global in [global(1, 60_000, 64), global(2, 6000, 1000)] {
        let before = db.size().unwrap().data_bytes;
        followed(|progress| db.create_global(global, progress)).0.unwrap();
        let took = db.size().unwrap().data_bytes - before;
        let told = global.subscripts * db.subscript_bytes(global.value_bytes as u64);
        assert!(took <= told + told / 20 + slack, "{global:?} took {took}, {told} were told");
        assert!(told <= took + took / 4 + slack, "{global:?} took {took}, {told} were told");
    }
}

pub fn an_interrupted_global_leaves_nothing(fixture: &Fixture) {
    let db = fixture.open();
    let made = set_up(db.as_ref(), &[500]);
    let second = global(2, 20_000, 100);
    let result = interrupted(|progress| db.create_global(second, progress));
    assert_eq!(result, Err(DbError::Interrupted));
    assert_eq!(db.globals().unwrap(), made);
    assert!(db.count_subscripts(2).is_err());
    // The same global can be created afterwards.
    followed(|progress| db.create_global(second, progress)).0.unwrap();
    Expected::initial(&[made[0], second]).check(db.as_ref());
}

pub fn dropped_globals_leave_a_database_as_after_setup(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[500, 700]);
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Write, 2, 7));
    let running = fixture.open().drop_globals();
    assert!(matches!(running, Err(DbError::Busy(_))), "{running:?}");
    at_work.work(Duration::from_millis(200));
    let per_worker = at_work.pool.stop();
    let last = at_work.check(db.as_ref(), &per_worker);
    assert!(last.iter().all(|sequence| *sequence > 0), "{last:?}");
    let reading = fixture.open().begin(&RunPlan { writers: 0, reads: true }).unwrap();
    let running = db.drop_globals();
    assert!(matches!(running, Err(DbError::Busy(_))), "{running:?}");
    drop(reading);
    let identity = db.identity().unwrap();
    db.drop_globals().unwrap();
    for db in [&db, &fixture.open()] {
        assert_eq!(db.globals().unwrap(), []);
        assert!(db.count_subscripts(1).is_err());
        assert_eq!(db.identity().unwrap(), identity);
    }
    // New ones begin anew, whatever their sizes.
    let made = [global(1, 300, 64), global(2, 900, 100), global(3, 10, 100)];
    for global in made {
        followed(|progress| db.create_global(global, progress)).0.unwrap();
    }
    Expected::initial(&made).check(db.as_ref());
    assert_eq!(sequences(db.as_ref(), 3), [0, 0, 0]);
    let mut at_work = AtWork::begin(db.as_ref(), plan(Mode::Io { read_percent: 50 }, 3, 9));
    at_work.work(Duration::from_millis(200));
    let per_worker = at_work.pool.stop();
    at_work.check(db.as_ref(), &per_worker);
}

pub fn an_interrupted_setup_is_none(fixture: &Fixture) {
    let db = fixture.open();
    let result = interrupted(|progress| db.setup(SIZE_BYTES, progress));
    assert_eq!(result, Err(DbError::Interrupted));
    assert!(!db.is_there().unwrap());
    let purged = db.purge();
    assert!(matches!(purged, Ok(_) | Err(DbError::Missing(_))), "{purged:?}");
    set_up(db.as_ref(), &[10]);
}

pub fn purge_leaves_nothing(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[1000]);
    let identity = db.identity().unwrap();
    let folder = folder(db.as_ref());
    let purged = db.purge().unwrap();
    assert!(purged.freed_bytes > 0 && purged.left.is_empty(), "{purged:?}");
    assert!(!db.is_there().unwrap());
    assert!(matches!(db.purge(), Err(DbError::Missing(_))));
    if let Some(folder) = folder {
        assert!(!folder.exists(), "{}", folder.display());
    }
    // The place is free, and a new database has another identity.
    set_up(db.as_ref(), &[10]);
    assert_ne!(db.identity().unwrap(), identity);
}

pub fn purge_leaves_what_is_foreign(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[10]);
    // A database on a server has its own tests with foreign objects.
    let Some(folder) = folder(db.as_ref()) else { return };
    let foreign = folder.join("thesis.txt");
    std::fs::write(&foreign, "mine").unwrap();
    let purged = db.purge().unwrap();
    assert_eq!(purged.left, [foreign.display().to_string()]);
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "mine");
    let entries = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(entries, 1, "nothing but the foreign file stays");
    let again = followed(|progress| db.setup(SIZE_BYTES, progress)).0;
    assert!(matches!(again, Err(DbError::Foreign(_))), "{again:?}");
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "mine");
}

/// File names like those that the engines and iogauge use.
const OWN_NAMES: [&str; 8] = [
    "acknowledged.new",
    "iogauge.new",
    "global9.db",
    "global9.db-wal",
    "000999.sst",
    "000998.log",
    "mumps.mjl_2026001000000",
    "core.4711",
];

pub fn purge_harms_nothing_that_was_planted(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[10]);
    let Some(folder) = folder(db.as_ref()) else { return };
    let outside = tempfile::tempdir().unwrap();
    let canary = |name: &str| outside.path().join(name);
    for (index, name) in OWN_NAMES.iter().enumerate() {
        std::fs::create_dir(canary(name)).unwrap();
        std::fs::write(canary(name).join("file"), "precious").unwrap();
        let planted = folder.join(name);
        match index % 3 {
            0 => std::fs::rename(canary(name), &planted).unwrap(),
            1 => std::os::unix::fs::symlink(canary(name), &planted).unwrap(),
            _ => std::os::unix::fs::symlink(canary(name).join("file"), &planted).unwrap(),
        }
    }
    let mut left = db.purge().unwrap().left;
    left.sort();
    let mut planted = OWN_NAMES.map(|name| folder.join(name).display().to_string());
    planted.sort();
    assert_eq!(left, planted);
    for (index, name) in OWN_NAMES.iter().enumerate() {
        let place = if index % 3 == 0 { folder.join(name) } else { canary(name) };
        assert_eq!(std::fs::read_to_string(place.join("file")).unwrap(), "precious", "{name}");
        assert!(folder.join(name).symlink_metadata().is_ok(), "{name}");
    }
}

pub fn a_folder_that_is_a_link_is_none_of_ours(fixture: &Fixture) {
    let db = fixture.open();
    set_up(db.as_ref(), &[10]);
    let Some(folder) = folder(db.as_ref()) else { return };
    let away = folder.with_file_name("AWAY");
    std::fs::rename(&folder, &away).unwrap();
    std::os::unix::fs::symlink(&away, &folder).unwrap();
    let names = || {
        let entries = std::fs::read_dir(&away).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let size = followed(|progress| db.setup(SIZE_BYTES, progress)).0;
    assert!(matches!(size, Err(DbError::Foreign(_))), "{size:?}");
    assert!(matches!(db.purge(), Err(DbError::Foreign(_))));
    assert!(matches!(db.globals(), Err(DbError::Foreign(_))));
    assert_eq!(names(), before);
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&away, &folder).unwrap();
    db.purge().unwrap();
}

/// Returns the database's own folder, if it has one on this machine.
fn folder(db: &dyn Database) -> Option<std::path::PathBuf> {
    let path = db.acknowledged_path()?;
    Some(path.parent().unwrap().to_owned())
}

pub fn unknown_settings_are_refused(fixture: &Fixture) {
    let url = fixture.url.clone().with_setting("colour=blue").unwrap();
    let error = backend::open(&url).unwrap_err();
    assert!(matches!(error, DbError::Usage(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("\"colour\""), "{text}");
    let info = backend::backend(&url.backend).unwrap();
    assert!(info.settings.iter().all(|setting| text.contains(setting.key)), "{text}");
}
