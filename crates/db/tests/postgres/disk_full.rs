//! Tests with disks that are too small.

use crate::{line, open};
use iogauge_db::DbError;
use iogauge_test_support::database::{followed, global, set_up};
use iogauge_test_support::postgres::Server;
use iogauge_test_support::{Mount, or_skip};
use std::path::PathBuf;

/// Mounts a file system of 100 MiB.
fn small_disk() -> Result<Mount, String> {
    Mount::tmpfs(100 << 20)
}

/// Starts a server on a small disk, with its log there or in another directory.
fn server_on(disk: &Mount, log: Option<PathBuf>) -> Result<Server, String> {
    let waldir = log.map(|log| format!("--waldir={}", log.display()));
    let mut initdb = vec!["-A", "trust"];
    initdb.extend(waldir.as_deref());
    Server::make_in(disk.point.clone(), None, &initdb)
}

#[test]
fn objects_too_large_for_the_disk_are_removed_again() {
    let name = "objects_too_large_for_the_disk_are_removed_again";
    let log = tempfile::tempdir().unwrap();
    let disk = or_skip!("objects_too_large_for_the_disk_are_removed_again", small_disk());
    let waldir = log.path().join("wal");
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(log.path(), open_to_all).unwrap();
    let server = or_skip!(
        "objects_too_large_for_the_disk_are_removed_again",
        server_on(&disk, Some(waldir))
    );
    let db = open(&server.url());
    let free = || rustix::fs::statvfs(&disk.point).map(|about| about.f_bavail * about.f_frsize);
    let before = free().unwrap();
    let (made, _) = followed(|progress| db.setup(1 << 30, progress));
    let error = made.unwrap_err();
    assert!(matches!(error, DbError::Full(_)), "{name}: {error:?}");
    assert!(line(&error).contains("hint: "), "{error}");
    assert!(!db.is_there().unwrap());
    // A dropped table keeps its first block until a checkpoint.
    server.psql("CHECKPOINT");
    let after = free().unwrap();
    assert!(after + (4 << 20) > before, "{before} bytes were free, {after} are");
    set_up(db.as_ref(), &[1000]);
    let (made, _) = followed(|progress| db.create_global(global(2, 10_000_000, 100), progress));
    assert!(matches!(made, Err(DbError::Full(_))), "{made:?}");
    assert_eq!(db.globals().unwrap().len(), 1);
    db.purge().unwrap();
}

#[test]
fn data_and_wal_locations_are_reported() {
    let name = "data_and_wal_locations_are_reported";
    let log = tempfile::tempdir().unwrap();
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(log.path(), open_to_all).unwrap();
    let disk = or_skip!("data_and_wal_locations_are_reported", small_disk());
    let waldir = log.path().join("wal");
    let made = server_on(&disk, Some(waldir.clone()));
    let server = or_skip!("data_and_wal_locations_are_reported", made);
    server.psql("ALTER SYSTEM SET max_wal_size = '48MB'");
    server.psql("SELECT pg_reload_conf()");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while server.psql("SHOW max_wal_size").trim() != "48MB" {
        assert!(std::time::Instant::now() < end, "{name}: the server does not take the setting");
    }
    let places = open(&server.url()).fill_places().unwrap();
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(places[0].path.starts_with(&disk.point) && places[0].most_bytes.is_none());
    assert_eq!(places[1].path.canonicalize().unwrap(), waldir.canonicalize().unwrap());
    // One log segment of 16 MB exists already.
    assert_eq!(places[1].most_bytes, Some(32 << 20));
}

#[test]
fn full_wal_disk_is_reported() {
    let disk = or_skip!("full_wal_disk_is_reported", small_disk());
    let mut server = or_skip!("full_wal_disk_is_reported", server_on(&disk, None));
    let db = open(&server.url());
    let (made, _) = followed(|progress| db.setup(1 << 30, progress));
    let error = made.unwrap_err();
    // The server may shut down if it cannot write its log.
    assert!(matches!(error, DbError::Full(_) | DbError::Gone(_)), "{error:?}");
    line(&error);
    server.crash();
}
