//! What only a server has: who may log in, sessions that end, neighbours in the same database.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod crashes;
mod disk_full;
mod login;
#[allow(dead_code, reason = "shared with the conformance test, which uses all of it")]
#[path = "../conformance/model.rs"]
mod model;
mod neighbours;
mod reads;
mod rights;
mod server;

use iogauge_db::{Database, DbError, DbUrl, backend};

/// A server, or why the test ends here.
macro_rules! server_or_skip {
    ($test:literal, $server:expr) => {
        match $server {
            Ok(server) => server,
            Err(why) => return crate::skip($test, &why),
        }
    };
}
use server_or_skip;

fn skip(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
    assert!(std::env::var_os("IOGAUGE_REQUIRE_ALL").is_none(), "{test} was skipped: {why}");
}

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
