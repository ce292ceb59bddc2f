//! Tests of fake PostgreSQL servers: whatever a server sends or does not send, the client fails, and soon.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use iogauge_db::backend;
use iogauge_db::{Database, DbError, DbUrl};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Timeout of every test, much longer than any of them takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// The server's side of a session.
struct Session(TcpStream);

impl Session {
    fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Sends a message: its tag, length and body.
    fn message(&mut self, tag: u8, body: &[u8]) -> std::io::Result<()> {
        self.say(&message(tag, body))
    }

    /// Reads the client's startup message, which has no tag.
    fn startup(&mut self) -> std::io::Result<()> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        self.body(length).map(drop)
    }

    /// Reads a statement. Returns `None` if the client terminates the session.
    fn statement(&mut self) -> std::io::Result<Option<String>> {
        let (tag, said) = self.hear()?;
        Ok((tag != b'X').then(|| String::from_utf8_lossy(&said).into_owned()))
    }

    /// Reads a message: its tag and body.
    fn hear(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head)?;
        let [tag, length @ ..] = head;
        Ok((tag, self.body(length)?))
    }

    fn body(&mut self, length: [u8; 4]) -> std::io::Result<Vec<u8>> {
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.0.read_exact(&mut body)?;
        Ok(body)
    }

    /// Accepts a client's login.
    fn let_in(&mut self) -> std::io::Result<()> {
        self.startup()?;
        self.message(b'R', &[0; 4])?;
        self.message(b'Z', b"I")
    }

    /// Sends nothing more, and waits until the client disconnects.
    fn fall_silent(&mut self) -> std::io::Result<()> {
        std::io::copy(&mut self.0, &mut std::io::sink()).map(drop)
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

type Script = fn(&mut Session) -> std::io::Result<()>;

/// Opens a database on a server that follows a script in each session, and returns the result.
fn opened(script: Script) -> Result<Box<dyn Database>, DbError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A script fails if the client disconnects in the middle.
            std::thread::spawn(move || script(&mut Session(stream.unwrap())));
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pass");
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&path);
    file.as_mut().unwrap().write_all(b"*:*:*:*:secret\n").unwrap();
    let url = format!("postgres://me@127.0.0.1:{port}/x?passfile={}", path.display());
    let url: DbUrl = url.parse().unwrap();
    let (done, answer) = channel();
    std::thread::spawn(move || done.send(backend::open(&url)));
    let answer = answer.recv_timeout(PATIENCE).expect("it goes on for ever");
    if let Err(error) = &answer {
        let text = error.to_string();
        assert!(!text.contains("secret") && !text.contains("os error"), "{text}");
        assert!(!text.contains('\n') && text.len() < 2000, "{text}");
    }
    answer
}

#[test]
fn server_that_never_answers_times_out() {
    let error = opened(|session| session.fall_silent()).unwrap_err();
    assert!(matches!(&error, DbError::Unreachable(text) if text.contains("10 s")), "{error:?}");
}

#[test]
fn slow_endless_login_message_times_out() {
    let drip: Script = |session| {
        session.startup()?;
        session.say(b"N\0\x01\0\0")?;
        loop {
            session.say(b"x")?;
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let error = opened(drip).unwrap_err();
    assert!(matches!(error, DbError::Unreachable(_)), "{error:?}");
}

#[test]
fn server_silent_after_login_is_reported_as_gone() {
    let silent: Script = |session| {
        session.let_in()?;
        session.fall_silent()
    };
    let error = opened(silent).unwrap_err();
    assert!(matches!(error, DbError::Gone(_)), "{error:?}");
}

#[test]
fn endless_server_notices_end_the_connection() {
    let login: Script = |session| {
        session.startup()?;
        loop {
            session.message(b'N', b"SNOTICE\0Mhello\0\0")?;
        }
    };
    let statement: Script = |session| {
        session.let_in()?;
        loop {
            session.message(b'S', b"TimeZone\0UTC\0")?;
        }
    };
    for flood in [login, statement] {
        let error = opened(flood).unwrap_err();
        assert!(matches!(error, DbError::Failed(_)), "{error:?}");
    }
}

#[test]
fn impossible_message_lengths_end_the_connection() {
    // Each server waits until the client disconnects. A client that waited for the rest of the message would not.
    let lengths: [Script; 4] = [
        |session| {
            session.startup()?;
            session.say(b"R\x7f\xff\xff\xff")?;
            session.fall_silent()
        },
        |session| {
            session.startup()?;
            session.say(b"R\xff\xff\xff\xff")?;
            session.fall_silent()
        },
        |session| {
            session.startup()?;
            session.say(b"R\0\0\0\0")?;
            session.fall_silent()
        },
        |session| {
            session.let_in()?;
            session.say(b"D\x40\0\0\0")?;
            session.fall_silent()
        },
    ];
    for length in lengths {
        let error = opened(length).unwrap_err();
        let strange = |text: &str| text.contains("does not speak PostgreSQL's protocol");
        assert!(matches!(&error, DbError::Failed(text) if strange(text)), "{error:?}");
    }
}

#[test]
fn non_postgres_server_is_rejected() {
    let web: Script = |session| {
        session.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
        session.fall_silent()
    };
    let error = opened(web).unwrap_err();
    assert!(matches!(error, DbError::Failed(_)), "{error:?}");
}

#[test]
fn endless_password_requests_are_rejected() {
    let never: Script = |session| {
        session.startup()?;
        loop {
            session.message(b'R', &3u32.to_be_bytes())?;
            session.hear()?;
        }
    };
    let error = opened(never).unwrap_err();
    assert!(matches!(error, DbError::Failed(_)), "{error:?}");
}

#[test]
fn excessive_scram_iterations_are_rejected() {
    let hours: Script = |session| {
        session.startup()?;
        session.message(b'R', &[&10u32.to_be_bytes()[..], b"SCRAM-SHA-256\0\0"].concat())?;
        let (_, first) = session.hear()?;
        let text = String::from_utf8_lossy(&first).into_owned();
        let nonce = text.rsplit("r=").next().unwrap_or_default();
        let challenge = format!("r={nonce}more,s=c2FsdHNhbHQ=,i=2147483647");
        session.message(b'R', &[&11u32.to_be_bytes()[..], challenge.as_bytes()].concat())?;
        session.fall_silent()
    };
    let error = opened(hours).unwrap_err();
    let bounded = |text: &str| text.contains("scram_iterations");
    assert!(matches!(&error, DbError::Denied(text) if bounded(text)), "{error:?}");
}

#[test]
fn overlong_server_error_is_reported_as_failure() {
    let quotes: Script = |session| {
        session.startup()?;
        let body = [&b"SFATAL\0VFATAL\0CXX000\0M"[..], &[b'x'; 100_000], b"\0\0"].concat();
        session.message(b'E', &body)
    };
    let error = opened(quotes).unwrap_err();
    assert!(matches!(error, DbError::Failed(_)), "{error:?}");
}

#[test]
fn byte_by_byte_messages_are_parsed() {
    let slow: Script = |session| {
        session.0.set_nodelay(true)?;
        session.startup()?;
        let login = [
            message(b'R', &[0; 4]),
            message(b'S', b"TimeZone\0UTC\0"),
            message(b'K', &[0; 8]),
            message(b'Z', b"I"),
        ];
        for byte in login.concat() {
            session.say(&[byte])?;
        }
        while session.statement()?.is_some() {
            for byte in [message(b'C', b"SET\0"), message(b'Z', b"I")].concat() {
                session.say(&[byte])?;
            }
        }
        Ok(())
    };
    assert!(opened(slow).is_ok());
}

/// Answers every statement with one row of this one field, which fits no statement of iogauge.
fn with_one_field(session: &mut Session, field: &[u8]) -> std::io::Result<()> {
    session.let_in()?;
    while session.statement()?.is_some() {
        let length = (field.len() as u32).to_be_bytes();
        session.message(b'D', &[&1u16.to_be_bytes()[..], &length, field].concat())?;
        session.message(b'C', b"SELECT 1\0")?;
        session.message(b'Z', b"I")?;
    }
    Ok(())
}

#[test]
fn nonsensical_query_results_cause_errors_without_panic() {
    let answers: [Script; 3] = [
        |session| with_one_field(session, b"18446744073709551615"),
        |session| with_one_field(session, b"../../etc/passwd"),
        |session| with_one_field(session, b"\xff"),
    ];
    for answer in answers {
        let Ok(database) = opened(answer) else { continue };
        assert!(database.about().is_err());
        assert!(database.identity().is_err());
        assert!(database.globals().is_err());
        assert!(database.size().is_err());
        let _ = (database.paths(), database.fill_places(), database.purge());
    }
}

/// Answers the statements that look for a database of iogauge as if there was one with this identity.
fn with_identity(session: &mut Session, identity: &str) -> std::io::Result<()> {
    session.let_in()?;
    while let Some(asked) = session.statement()? {
        let fields: &[&str] = match asked.as_str() {
            sql if sql.contains("obj_description") => &["iogauge.database/1", "1"],
            sql if sql.contains("SELECT identity") => &[identity],
            _ => &[],
        };
        if !fields.is_empty() {
            let mut row = (fields.len() as u16).to_be_bytes().to_vec();
            for field in fields {
                row.extend((field.len() as u32).to_be_bytes());
                row.extend(field.as_bytes());
            }
            session.message(b'D', &row)?;
        }
        session.message(b'C', b"SELECT 1\0")?;
        session.message(b'Z', b"I")?;
    }
    Ok(())
}

#[test]
fn server_identity_cannot_name_an_outside_file() {
    let honest = opened(|session| with_identity(session, "7b0cb1ee-2f02-4b1c")).unwrap();
    assert_eq!(honest.identity().unwrap(), "7b0cb1ee-2f02-4b1c");
    let liars: [Script; 3] = [
        |session| with_identity(session, "../../history.db"),
        |session| with_identity(session, "/etc/passwd"),
        |session| with_identity(session, ""),
    ];
    for liar in liars {
        let identity = opened(liar).unwrap().identity();
        assert!(matches!(identity, Err(DbError::Failed(_))), "{identity:?}");
    }
}
