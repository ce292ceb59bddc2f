//! Tests that foreign objects in the same database are left alone.

use crate::{line, open};
use iogauge_db::{DbError, Progress};
use iogauge_test_support::database::{SIZE_BYTES, followed, global, set_up};
use iogauge_test_support::or_skip;
use iogauge_test_support::postgres::Server;
use std::sync::atomic::{AtomicBool, Ordering};

const COUNT_OF_SCHEMA: &str =
    "SELECT count(*) FROM pg_class WHERE relnamespace = '\"RAN\"'::regnamespace";

#[test]
fn foreign_schema_remains_unchanged() {
    let server = or_skip!("foreign_schema_remains_unchanged", Server::make());
    let db = open(&server.url());
    // Neither its name nor its comment alone makes a schema one of iogauge.
    for sql in [
        "CREATE SCHEMA \"RAN\"; CREATE TABLE \"RAN\".iogauge (format text, identity text)",
        "COMMENT ON SCHEMA \"RAN\" IS 'iogauge.database/1'; DROP TABLE \"RAN\".iogauge; \
         CREATE TABLE \"RAN\".thesis (text text)",
    ] {
        server.psql(sql);
        assert!(!db.is_there().unwrap());
        let count = server.psql(COUNT_OF_SCHEMA);
        let errors = [
            followed(|progress| db.setup(SIZE_BYTES, progress)).0.unwrap_err(),
            db.purge().unwrap_err(),
            followed(|progress| db.create_global(global(1, 10, 100), progress)).0.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, DbError::Foreign(_)), "{error:?}");
            assert!(line(&error).contains("\"RAN\""), "{error}");
        }
        assert_eq!(server.psql(COUNT_OF_SCHEMA), count);
    }
    // Another name is possible on the same server.
    let db = open(&server.url().with_name("other_1").unwrap());
    set_up(db.as_ref(), &[10]);
    db.purge().unwrap();
}

#[test]
fn purge_keeps_foreign_tables() {
    let server = or_skip!("purge_keeps_foreign_tables", Server::make());
    let db = open(&server.url());
    set_up(db.as_ref(), &[10]);
    server.psql(
        "CREATE TABLE \"RAN\".thesis AS SELECT 1 AS one; CREATE TABLE \"RAN\".global7 (x int); \
         CREATE FUNCTION \"RAN\".f() RETURNS int LANGUAGE sql AS 'SELECT 1'; \
         CREATE VIEW seen AS SELECT * FROM \"RAN\".global1",
    );
    let count = server.psql(COUNT_OF_SCHEMA);
    let error = db.purge().unwrap_err();
    assert!(matches!(error, DbError::Foreign(_)), "{error:?}");
    assert!(line(&error).contains("view seen"), "{error}");
    assert_eq!(server.psql(COUNT_OF_SCHEMA), count, "all or nothing");
    server.psql("DROP VIEW seen");
    let mut purged = db.purge().unwrap();
    purged.left.sort();
    let left = ["function \"RAN\".f()", "table \"RAN\".global7", "table \"RAN\".thesis"];
    assert_eq!(purged.left, left);
    assert!(purged.freed_bytes >= SIZE_BYTES);
    assert_eq!(server.psql("SELECT one FROM \"RAN\".thesis"), "1");
    assert_eq!(server.psql(COUNT_OF_SCHEMA), "2");
    assert!(!db.is_there().unwrap());
    let again = followed(|progress| db.setup(SIZE_BYTES, progress)).0;
    assert!(matches!(again, Err(DbError::Foreign(_))), "{again:?}");
}

#[test]
fn interrupted_global_creation_leaves_no_table() {
    let server = or_skip!("interrupted_global_creation_leaves_no_table", Server::make());
    let db = open(&server.url());
    set_up(db.as_ref(), &[10]);
    let stop = AtomicBool::new(false);
    let all = 200_000;
    let mut tell = |done, _| {
        if done == all {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let made = db.create_global(global(2, all, 100), &mut Progress::new(&mut tell, &stop));
    assert_eq!(made, Err(DbError::Interrupted));
    assert_eq!(db.globals().unwrap().len(), 1);
    assert_eq!(server.psql("SELECT to_regclass('\"RAN\".global2') IS NULL"), "t");
    // The number is free.
    followed(|progress| db.create_global(global(2, 10, 100), progress)).0.unwrap();
    let twice = followed(|progress| db.create_global(global(2, 10, 100), progress)).0;
    assert!(matches!(twice, Err(DbError::Usage(_))), "{twice:?}");
}
