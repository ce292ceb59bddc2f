//! Tests of what only a PostgreSQL server has: logins, sessions that end, foreign objects in the same database.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod crashes;
mod disk_full;
mod login;
mod neighbours;
mod reads;
mod rights;

use iogauge_db::{Database, DbError, DbUrl, backend};

/// Opens the database that a URL names.
fn open(url: &DbUrl) -> Box<dyn Database> {
    backend::open(url).unwrap()
}

/// Returns the error's text. Fails if it has several lines or contains the password.
fn line(error: &DbError) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.contains("secret"), "{text}");
    text
}
