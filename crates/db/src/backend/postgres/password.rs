//! Finds a password in a variable or a file, never in a URL. It is not stored.
//!
//! Both sources are those of libpq: <https://www.postgresql.org/docs/current/libpq-pgpass.html>.

use super::address::{Address, Host};
use crate::directory::system_words;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Maximum size of a password file.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the password for an address: from `passfile` if given, otherwise from `PGPASSWORD`, from the file named by
/// `PGPASSFILE`, or from `~/.pgpass`. An error contains the reason why there is none.
pub(super) fn find(
    address: &Address,
    passfile: Option<&str>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<u8>, String> {
    if passfile.is_none()
        && let Some(password) = variable("PGPASSWORD")
    {
        return Ok(password.into_bytes());
    }
    let home = || variable("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let named = passfile.map(str::to_owned).or_else(|| variable("PGPASSFILE"));
    let Some(path) = named.map(PathBuf::from).or_else(home) else {
        return Err("PGPASSWORD is not set, and there is no ~/.pgpass".to_owned());
    };
    let shown = path.display();
    let about = match std::fs::metadata(&path) {
        Ok(about) => about,
        Err(error) => {
            return Err(format!("PGPASSWORD is not set, and {shown}: {}", system_words(&error)));
        }
    };
    if !about.is_file() || about.len() > MOST_BYTES {
        return Err(format!("{shown} is not a password file; hint: use libpq's format"));
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err(format!("others may read {shown}; hint: run chmod 0600"));
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{shown}: {}", system_words(&error)))?;
    let line = text.lines().filter(|line| !line.starts_with('#'));
    let found = line.map(fields).find_map(|fields| fits(&fields, address));
    found.map(String::into_bytes).ok_or_else(|| format!("{shown} has no line for it"))
}

/// Splits a line into fields, which are separated by colons. A backslash escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let part = match letter {
            // The password is the last field and may contain anything.
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            '\\' => letters.next().unwrap_or('\\'),
            other => other,
        };
        if let Some(field) = fields.last_mut() {
            field.push(part);
        }
    }
    fields
}

fn fits(fields: &[String], address: &Address) -> Option<String> {
    let [host, port, database, user, password] = fields else { return None };
    let is = |field: &String, right: &str| field == "*" || field == right;
    let is_host = match &address.host {
        Host::Name(name) => is(host, name),
        Host::Socket(path) => is(host, "localhost") || Path::new(host) == path,
    };
    let is_all = is_host
        && is(port, &address.port.to_string())
        && is(database, &address.database)
        && is(user, &address.user);
    is_all.then(|| password.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        Address::of(&"postgres://me@h:5433/x%3Ay".parse().unwrap()).unwrap()
    }

    fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn first_matching_pgpass_line_is_used() {
        let file = file(
            "# h:5433:x\\:y:me:no\nother:*:*:*:no\nh:5433:x\\:y:me:a\\:b\\\\c:d\n*:*:*:*:last\n",
            0o600,
        );
        let path = file.path().to_str().unwrap();
        let found = find(&address(), Some(path), &|_| None);
        assert_eq!(found.as_deref(), Ok(&b"a:b\\c:d"[..]));
        let found = find(&address(), None, &|key| (key == "PGPASSFILE").then(|| path.to_owned()));
        assert_eq!(found.as_deref(), Ok(&b"a:b\\c:d"[..]));
        let both = |key: &str| (key == "PGPASSWORD").then(|| "first".to_owned());
        assert_eq!(find(&address(), None, &both).as_deref(), Ok(&b"first"[..]));
    }

    #[test]
    fn unusable_password_files_are_reported() {
        let open = file("*:*:*:*:secret\n", 0o644);
        let other = file("other:*:*:*:secret\n", 0o600);
        let folder = tempfile::tempdir().unwrap();
        for path in [open.path(), other.path(), folder.path(), Path::new("/nonexistent")] {
            let why = find(&address(), path.to_str(), &|_| None).unwrap_err();
            assert!(why.contains(path.to_str().unwrap()) && !why.contains("secret"), "{why}");
        }
    }
}
