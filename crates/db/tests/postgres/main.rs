//! What only a server has: who may log in, sessions that end, neighbours in the same database.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod crashes;
mod disk_full;
mod login;
mod neighbours;
mod reads;
mod rights;

use iogauge_db::{Database, DbError, DbUrl, backend};

/// The database that a URL names.
fn open(url: &DbUrl) -> Box<dyn Database> {
    backend::open(url).unwrap()
}

/// The fault as one line, without a password.
fn line(error: &DbError) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.contains("secret"), "{text}");
    text
}
