//! The URL of a database: `sqlite:DIR`, `postgres://user@host/database?key=value`.

use crate::backend::BACKENDS;
use crate::error::DbError;
use iogauge_model::units::shell_word;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Default name of a database.
pub const DEFAULT_NAME: &str = "RAN";
/// Maximum length of a name that fits into all file and schema names.
const LONGEST_NAME: usize = 31;

/// Shown in place of text that contains a password.
const PASSWORD: &str = "the URL holds a password, which every user of this machine can read in the list of \
                        processes; hint: use the variable PGPASSWORD or the file ~/.pgpass";

/// The URL of a database: backend, location, settings. It never contains a password, so it can be shown and stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DbUrl {
    /// Name of the backend: the part before the first colon.
    pub backend: String,
    /// The location, between the first colon and the question mark: a directory, or `//user@host/database`.
    pub place: String,
    /// Settings after the question mark, by key.
    pub settings: BTreeMap<String, String>,
    /// Name of the database: letters, digits and underscores, beginning with a letter.
    pub name: String,
}

impl DbUrl {
    /// Returns the same URL with another database name.
    ///
    /// # Errors
    /// Fails if the name does not fit into file and schema names.
    pub fn with_name(mut self, name: &str) -> Result<Self, DbError> {
        let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.len() <= LONGEST_NAME;
        if !fits {
            return Err(DbError::Usage(format!(
                "\"{name}\" cannot be the name of a database; hint: use up to {LONGEST_NAME} \
                 letters, digits and underscores, a letter first"
            )));
        }
        name.clone_into(&mut self.name);
        Ok(self)
    }

    /// Returns the same URL with another setting, `key=value`.
    ///
    /// # Errors
    /// Fails if there is no `=`, or the key is already set.
    pub fn with_setting(mut self, text: &str) -> Result<Self, DbError> {
        let Some((key, value)) = text.split_once('=') else {
            // Text that is not a setting may be a password.
            let which = if is_setting(text) {
                format!("setting \"{text}\"")
            } else {
                "a setting".to_owned()
            };
            return Err(DbError::Usage(format!("{which} has no value; hint: use KEY=VALUE")));
        };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().to_owned());
        if self.settings.insert(key.clone(), value).is_some() {
            return Err(DbError::Usage(format!("setting \"{key}\" is given twice")));
        }
        Ok(self)
    }

    /// Returns the arguments with which a command of `iogauge db` finds this database, quoted for a shell: the URL, and
    /// the name unless it is the default.
    #[must_use]
    pub fn typed(&self) -> String {
        let url = shell_word(&self.to_string());
        if self.name == DEFAULT_NAME { url } else { format!("{url} --name {}", self.name) }
    }

    /// Returns true if `text` is a URL of one of these backends rather than a file name.
    #[must_use]
    pub fn is_one(text: &str, backends: &[&str]) -> bool {
        text.split_once(':').is_some_and(|(word, _)| backends.contains(&usual(word).as_str()))
    }
}

impl FromStr for DbUrl {
    type Err = DbError;

    fn from_str(text: &str) -> Result<Self, DbError> {
        let wrong = |reason: String| Err(DbError::Usage(reason));
        let Some((backend, rest)) = text.split_once(':') else {
            if holds_password("", text, text) {
                return wrong(PASSWORD.to_owned());
            }
            let what = if text.contains(['@', '%', ';', '=', '?']) {
                "that"
            } else {
                &format!("\"{text}\"")
            };
            return wrong(format!(
                "{what} is not a database; hint: use sqlite:DIR or postgres://user@host/database"
            ));
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        if holds_password(backend, place, rest) {
            return wrong(PASSWORD.to_owned());
        }
        let settings = || query.split('&').filter(|setting| !setting.is_empty());
        if settings().any(sets_password) {
            return wrong(PASSWORD.to_owned());
        }
        if place.is_empty() {
            let backend = if is_word(backend) { backend } else { "sqlite" };
            return wrong(match backend {
                "iris" => "the URL has no instance; hint: use iris:INSTANCE/NAMESPACE".to_owned(),
                _ => format!("the URL has no directory; hint: use {backend}:DIR"),
            });
        }
        if usual(backend) == "postgres" {
            check_server(place)?;
        }
        let mut url = Self {
            backend: usual(backend),
            place: place.to_owned(),
            settings: BTreeMap::new(),
            name: DEFAULT_NAME.to_owned(),
        };
        for setting in settings() {
            url = url.with_setting(setting)?;
        }
        Ok(url)
    }
}

/// Returns true for a setting that is, or looks like, a password.
fn sets_password(setting: &str) -> bool {
    let key = setting.split(['=', ':']).next().unwrap_or_default().to_ascii_lowercase();
    key.contains("pass") && key != "passfile" || key == "pwd"
}

/// Returns the name of a backend in lower case. `postgresql` is a synonym of `postgres`.
fn usual(word: &str) -> String {
    match word.to_ascii_lowercase() {
        word if word == "postgresql" => "postgres".to_owned(),
        word => word,
    }
}

/// Returns true for a word of letters only, as the names of backends are.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns true for the key of a setting of any backend.
fn is_setting(text: &str) -> bool {
    let key = text.trim().to_ascii_lowercase();
    BACKENDS.iter().any(|backend| backend.settings.iter().any(|setting| setting.key == key))
}

/// Checks that a server's location has the form `//user@host:port/database`, and contains no character that could hide
/// a password, because locations are shown and stored.
fn check_server(place: &str) -> Result<(), DbError> {
    let wrong = |what: &str| {
        Err(DbError::Usage(format!(
            "{what}; hint: use postgres://user@host:port/database, without a password, and with %40 and \
             the like for special signs in a name"
        )))
    };
    let Some(rest) = place.strip_prefix("//") else { return wrong("there is no // in the URL") };
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = authority.split_once('@').unwrap_or(("", authority));
    let is_plain = |c: char| c.is_alphanumeric() || "-_.~%+$ ".contains(c);
    if !user.chars().all(is_plain) || user.to_ascii_lowercase().contains("%3a") {
        return wrong("the user's name in the URL has a sign that no name has");
    }
    if host.contains('@') || database.contains(['@', ':', '/']) {
        return wrong("the URL has more parts than a server's");
    }
    let port = match host.split_once(']') {
        Some((_, behind)) => behind.strip_prefix(':'),
        None => host.split_once(':').map(|(_, port)| port),
    };
    if port.is_some_and(|port| !port.is_empty() && port.parse::<u16>().is_err()) {
        return wrong("the URL has an invalid port");
    }
    Ok(())
}

/// Returns true if a user name with a password precedes the host, even if the password contains a question mark or the
/// URL is mistyped. A path with such characters is a directory.
fn holds_password(backend: &str, place: &str, rest: &str) -> bool {
    let is_path = rest.starts_with(['/', '.']) && !rest.starts_with("//");
    if is_path && usual(backend) != "postgres" {
        return false;
    }
    let place = place.trim_start_matches('/');
    let authority = rest.trim_start_matches('/').split('/').next().unwrap_or(rest);
    [place, authority].iter().any(|text| {
        let credentials = text.rsplit_once('@').map(|(credentials, _)| credentials);
        credentials.is_some_and(|text| text.contains(':') || text.to_lowercase().contains("%3a"))
    })
}

/// Shows the URL in a form that can be used again, without the name of the database.
impl fmt::Display for DbUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.backend, self.place)?;
        for (index, (key, value)) in self.settings.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_and_displayed() {
        let url: DbUrl = "sqlite:/data/x?synchronous=full&checkpoint=1s".parse().unwrap();
        assert_eq!((url.backend.as_str(), url.place.as_str()), ("sqlite", "/data/x"));
        assert_eq!(url.settings["checkpoint"], "1s");
        assert_eq!(url.to_string(), "sqlite:/data/x?checkpoint=1s&synchronous=full");
        let url: DbUrl = "postgres://me@db.example:5432/bench".parse().unwrap();
        assert_eq!(url.place, "//me@db.example:5432/bench");
        assert_eq!("postgresql://me@db.example:5432/bench".parse(), Ok(url.clone()));
        assert!(DbUrl::is_one("postgresql://h/x", &["postgres"]));
        assert_eq!(url.with_name("BIG_1").unwrap().name, "BIG_1");
    }

    #[test]
    fn urls_with_passwords_are_rejected_without_printing_them() {
        for text in [
            "postgres://me:secret@host/x",
            "postgres://me:secret?or@host/x",
            "postgres://me:secret/or@host/x",
            "postgres://host/x?password=secret",
            "postgres:me:secret@host/x",
            "postgres:/me:secret@host/x",
            "postgres://me%3Asecret@host/x",
            "postgres:me%3asecret@host/x",
            "me%3Asecret@host/x",
            "postgres://host/x?Passwd=secret",
            "postgres://host/x?pwd=secret",
            "postgres:?password=secret",
            "postgres://host/x?password:secret",
        ] {
            let error = text.parse::<DbUrl>().unwrap_err().to_string();
            assert!(error.contains("PGPASSWORD") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn possible_passwords_are_never_printed_in_url_errors() {
        for text in [
            // The host is missing, or another character separates user name and password.
            "postgres://me:secret/x",
            "postgres://me;secret@host/x",
            "postgres://me=secret@host/x",
            "postgres://me,secret@host/x",
            "postgres://me/secret@host/x",
            "postgres://me@secret@host/x",
            "postgres://me@host:secret/x",
            "postgres://me@host/x:secret",
            "postgres:me secret@host",
            "postgres//me secret@host",
            "me;secret@host/x",
            "postgres;//me=secret",
            "postgres://me@host/x?secret",
            "sqlite:/x?secret",
            "sqlite:?me=secret",
        ] {
            let error = match text.parse::<DbUrl>() {
                Ok(url) => crate::backend::open(&url).unwrap_err(),
                Err(error) => error,
            };
            let told = error.to_string();
            assert!(
                !told.contains("secret") && matches!(error, DbError::Usage(_)),
                "{text}: {told}"
            );
        }
    }

    #[test]
    fn typed_form_of_a_url_parses_to_the_same_database() {
        let url: DbUrl = "sqlite:/my data?checkpoint=1s&cache=1m".parse().unwrap();
        assert_eq!(url.typed(), "'sqlite:/my data?cache=1m&checkpoint=1s'");
        let url: DbUrl = "sqlite:/data".parse().unwrap();
        assert_eq!(url.with_name("BIG").unwrap().typed(), "sqlite:/data --name BIG");
        // A port, or a setting with these characters, is not a password.
        let plain = "postgres://me@host:5432/x?a=b:c@d";
        assert_eq!(plain.parse::<DbUrl>().unwrap().typed(), format!("'{plain}'"));
        // The name of a directory may contain them.
        assert!("sqlite:/data/a:b@c".parse::<DbUrl>().is_ok());
    }

    #[test]
    fn invalid_urls_and_names_are_rejected() {
        for text in ["/dev/sdx", "sqlite:", "sqlite:/x?synchronous", "sqlite:/x?a=1&A=2"] {
            assert!(text.parse::<DbUrl>().is_err(), "{text}");
        }
        let url: DbUrl = "sqlite:/x".parse().unwrap();
        for name in ["", "1a", "a-b", "a b", "../x", &"a".repeat(32)] {
            assert!(url.clone().with_name(name).is_err(), "{name}");
        }
    }
}
