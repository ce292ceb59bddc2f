//! Tests of logins, and of the errors if no login is possible.

use crate::{line, open};
use iogauge_db::{DbError, DbUrl, backend};
use iogauge_test_support::database::set_up;
use iogauge_test_support::or_skip;
use iogauge_test_support::postgres::Server;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Starts a server that requires a password over TCP and over its socket. Returns it with its port.
fn guarded(method: &str) -> Result<(Server, u16), String> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = dir.path().to_owned();
    let password = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    std::fs::write(password.path(), "the secret:one\n").unwrap();
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(password.path(), readable).unwrap();
    let pwfile = format!("--pwfile={}", password.path().display());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = ["listen_addresses=127.0.0.1".to_owned(), format!("port={port}")];
    let settings = settings.each_ref().map(String::as_str);
    let server = Server::make_on(path, Some(dir), port, &["-A", method, &pwfile], &settings)?;
    Ok((server, port))
}

fn url(port: u16, passfile: &Path) -> DbUrl {
    let url =
        format!("postgres://tester@127.0.0.1:{port}/postgres?passfile={}", passfile.display());
    url.parse().unwrap()
}

fn passfile(dir: &Path, text: &str) -> std::path::PathBuf {
    let path = dir.join("pass");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn passwords_are_asked_for(method: &str, port: u16) {
    let dir = tempfile::tempdir().unwrap();
    let right = passfile(dir.path(), "127.0.0.1:*:postgres:tester:the secret\\:one\n");
    let db = open(&url(port, &right));
    set_up(db.as_ref(), &[10]);
    db.purge().unwrap();
    let others =
        [("wrong", "*:*:*:*:the wrong secret\n"), ("none", "elsewhere:*:*:*:the secret:one\n")];
    for (what, text) in others {
        let path = passfile(dir.path(), text);
        let error = backend::open(&url(port, &path)).unwrap_err();
        assert!(matches!(error, DbError::Denied(_)), "{method}, {what}: {error:?}");
        let text = line(&error);
        assert!(text.contains("PGPASSWORD") && text.contains("tester@127.0.0.1"), "{text}");
    }
}

#[test]
fn scram_passwords_are_requested() {
    let (_server, port) = or_skip!("scram_passwords_are_requested", guarded("scram-sha-256"));
    passwords_are_asked_for("scram", port);
}

#[test]
fn md5_passwords_are_requested() {
    let (_server, port) = or_skip!("md5_passwords_are_requested", guarded("md5"));
    passwords_are_asked_for("md5", port);
}

#[test]
fn missing_server_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    // Accepts the connection and closes it without an answer.
    let other = std::thread::spawn(move || drop(free.accept()));
    let stranger = format!("postgres://tester@127.0.0.1:{port}/postgres");
    let socket = format!("postgres://tester@/postgres?host={}", dir.path().display());
    for url in [&stranger, &socket, "postgres://tester@127.0.0.1:1/postgres"] {
        let error = backend::open(&url.parse().unwrap()).unwrap_err();
        assert!(matches!(error, DbError::Unreachable(_)), "{url}: {error:?}");
        assert!(line(&error).contains("tester@"), "{error}");
    }
    other.join().unwrap();
}

#[test]
fn invalid_postgres_settings_are_rejected_before_connecting() {
    let place = "postgres://tester@127.0.0.1:1/postgres";
    for setting in [
        "sslmode=require",
        "sslmode=nonsense",
        "reads=sideways",
        "fillfactor=5",
        "fillfactor=x",
        "synchronous_commit=maybe; DROP TABLE x",
    ] {
        let url: DbUrl = place.parse().unwrap();
        let error = backend::open(&url.with_setting(setting).unwrap()).unwrap_err();
        assert!(matches!(error, DbError::Usage(_)), "{setting}: {error:?}");
        assert!(line(&error).contains("hint: "), "{error}");
    }
}

#[test]
fn nonexistent_database_is_reported_as_missing() {
    let server = or_skip!("nonexistent_database_is_reported_as_missing", Server::make());
    let url = format!("postgres://tester@/nowhere?host={}", server.dir().display());
    let error = backend::open(&url.parse().unwrap()).unwrap_err();
    assert!(matches!(error, DbError::Missing(_)), "{error:?}");
    assert!(line(&error).contains("\"nowhere\""), "{error}");
    // A user that does not exist on the server.
    let url = format!("postgres://nobody@/postgres?host={}", server.dir().display());
    let error = backend::open(&url.parse().unwrap()).unwrap_err();
    assert!(matches!(error, DbError::Denied(_)), "{error:?}");
}

#[test]
fn session_settings_are_reported() {
    let server = or_skip!("session_settings_are_reported", Server::make());
    let db = open(&server.url());
    set_up(db.as_ref(), &[10]);
    assert_eq!(db.about().unwrap().may_lose, None);
    let db = open(&server.url().with_setting("synchronous_commit=off").unwrap());
    let about = db.about().unwrap();
    let loss = about.may_lose.unwrap();
    assert!(loss.contains("synchronous_commit") && loss.contains("200ms"), "{loss}");
    assert!(about.settings.contains(&("synchronous_commit".to_owned(), "off".to_owned())));
    assert_eq!(about.block_bytes, 8192);
}
