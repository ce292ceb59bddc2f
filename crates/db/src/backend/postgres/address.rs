//! The address of a server, from a URL: host, port, user and database.

use crate::error::DbError;
use crate::url::DbUrl;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Default port of a server.
const DEFAULT_PORT: u16 = 5432;
/// Socket directories of Debian's servers and of PostgreSQL's own builds.
const SOCKET_DIRECTORIES: [&str; 2] = ["/run/postgresql", "/tmp"];

/// A server, a database and a user, without a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub host: Host,
    /// Its port, which is also part of the socket's name.
    pub port: u16,
    /// The user.
    pub user: String,
    pub database: String,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// A directory of Unix sockets on this machine.
    Socket(PathBuf),
    /// On a network.
    Name(String),
}

impl Address {
    /// Parses `//user@host:port/database` and the settings `host` and `port`.
    pub(super) fn of(url: &DbUrl) -> Result<Self, DbError> {
        let wrong = |what: &str| {
            // The URL is not repeated in the message, because the invalid part may be a password.
            DbError::Usage(format!("{what}; hint: use postgres://user@host:port/database"))
        };
        let rest =
            url.place.strip_prefix("//").ok_or_else(|| wrong("there is no // in the URL"))?;
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (host, port) = split_port(host);
        let decode = |text: &str| {
            decode(text)
                .ok_or_else(|| wrong("a % in the URL is not followed by two hexadecimal digits"))
        };
        let (user, host, database) = (decode(user)?, decode(host)?, decode(database)?);
        let user = if user.is_empty() { system_user() } else { Some(user) };
        let user = user.ok_or_else(|| wrong("the URL names no user"))?;
        let database = if database.is_empty() { user.clone() } else { database };
        let port = port.or(url.settings.get("port").map(String::as_str)).unwrap_or("");
        let port = match port {
            "" => DEFAULT_PORT,
            text => text.parse().map_err(|_| wrong("the port is invalid"))?,
        };
        let host = match url.settings.get("host") {
            Some(_) if !host.is_empty() => return Err(wrong("the host is given twice")),
            Some(other) => decode(other)?,
            None => host,
        };
        if [&user, &database, &host].iter().any(|text| text.contains(char::is_control)) {
            return Err(wrong("a name in the URL holds a sign that no name has"));
        }
        Ok(Self { host: Host::of(&host), port, user, database })
    }
}

impl Host {
    fn of(host: &str) -> Self {
        if host.starts_with('/') {
            return Self::Socket(host.into());
        }
        if !host.is_empty() {
            return Self::Name(host.to_owned());
        }
        let there = SOCKET_DIRECTORIES.iter().find(|path| std::path::Path::new(path).is_dir());
        Self::Socket(there.unwrap_or(&SOCKET_DIRECTORIES[0]).into())
    }
}

/// Splits off the port. An address that contains colons is in brackets.
fn split_port(host: &str) -> (&str, Option<&str>) {
    if let Some((address, port)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (address, port.strip_prefix(':'));
    }
    host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port)))
}

/// Decodes percent-encoding such as `%2F`.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

fn system_user() -> Option<String> {
    ["PGUSER", "USER", "LOGNAME"].iter().find_map(|key| std::env::var(key).ok())
}

/// Shows the address in a form that can be used as a URL.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, user, database } = self;
        match host {
            Host::Socket(path) if *port == DEFAULT_PORT => {
                write!(f, "postgres://{user}@/{database}?host={}", path.display())
            }
            Host::Socket(path) => {
                write!(f, "postgres://{user}@:{port}/{database}?host={}", path.display())
            }
            Host::Name(name) if name.contains(':') => {
                write!(f, "postgres://{user}@[{name}]:{port}/{database}")
            }
            Host::Name(name) => write!(f, "postgres://{user}@{name}:{port}/{database}"),
        }
    }
}

/// Returns the value of a URL setting that accepts a fixed set of words.
pub(super) fn one_of<'a>(
    settings: &'a BTreeMap<String, String>,
    key: &str,
    default: &'a str,
    words: &[&str],
) -> Result<&'a str, DbError> {
    let word = settings.get(key).map_or(default, String::as_str);
    if word.is_empty() || words.contains(&word) {
        return Ok(word);
    }
    Err(DbError::Usage(format!("the value of {key} is unknown; hint: use {}", words.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::of(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn server_and_socket_addresses_are_parsed_and_displayed() {
        let shown = |text: &str| address(text).to_string();
        let full = "postgres://me@db.example:5433/bench";
        assert_eq!(shown(full), full);
        assert_eq!(shown("postgres://me@db.example"), "postgres://me@db.example:5432/me");
        assert_eq!(shown("postgres://me@[::1]:7/x"), "postgres://me@[::1]:7/x");
        assert_eq!(shown("postgres://m%40e@h/a%20b"), "postgres://m@e@h:5432/a b");
        let socket = Host::Socket("/run/postgresql".into());
        for text in ["postgres://me@/x?host=/run/postgresql", "postgres://me@%2Frun%2Fpostgresql/x"]
        {
            assert_eq!(address(text).host, socket, "{text}");
            assert_eq!(shown(text), "postgres://me@/x?host=/run/postgresql");
        }
        let other = "postgres://me@:5433/x?host=/run/postgresql";
        assert_eq!(shown(other), other);
        assert_eq!(address("postgres://me@%2Frun%2Fpostgresql/x?port=5433"), address(other));
    }

    #[test]
    fn invalid_server_addresses_are_rejected() {
        for text in [
            "postgres:/x",
            "postgres://me@h:port/x",
            "postgres://me@h:70000/x",
            "postgres://me@h/%zz",
            "postgres://me@h/%2",
            "postgres://me@h/%00",
            "postgres://me@h/x?host=/run",
        ] {
            let error = text.parse().and_then(|url| Address::of(&url)).unwrap_err();
            assert!(matches!(error, DbError::Usage(_)), "{text}: {error:?}");
        }
    }
}
