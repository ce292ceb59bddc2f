//! Makes text from outside safe to print: without terminal control characters, changes of text direction, and
//! secrets.

use std::borrow::Cow;

/// Replaces a password.
const HIDDEN: &str = "***";
/// Schemes of URLs that users sometimes type without `//` before the user name.
const SCHEMES: [&str; 8] =
    ["postgres", "postgresql", "mysql", "http", "https", "ftp", "sqlite", "rocksdb"];
/// Endings of the names of secrets, in lower case.
const SECRET_NAMES: [&str; 4] = ["password", "passwd", "passphrase", "pwd"];
/// Maximum length of a file name (`NAME_MAX`).
const LONGEST_NAME: usize = 255;
/// Characters kept of the start and of the end of a longer name.
const SHOWN_OF_NAME: (usize, usize) = (48, 16);
/// Secrets with fewer characters are hidden only as separate words, not within words.
const LEAST_LETTERS: usize = 4;

/// True for a character that is invisible or misleading: control characters, marks that change the direction
/// of text (Unicode Standard Annex 9), line separators, invisible characters.
#[must_use]
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Escapes unprintable characters as Rust does (`\u{1b}`), except line ends and tabs.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| is_unprintable(letter) && !matches!(letter, '\n' | '\t'))
}

/// Escapes all unprintable characters, including line ends and tabs.
#[must_use]
pub fn shown_in_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unprintable)
}

/// Shortens each name that is longer than any file name (255 characters) to its start, its end, and its
/// length.
#[must_use]
pub fn with_short_names(text: &str) -> Cow<'_, str> {
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, '/' | ':' | '"');
    if text.split(ends).all(|name| name.len() <= LONGEST_NAME) {
        return Cow::Borrowed(text);
    }
    let mut short = String::new();
    for word in text.split_inclusive(ends) {
        let name = word.trim_end_matches(ends);
        let letters = name.chars().count();
        if letters <= LONGEST_NAME {
            short.push_str(word);
            continue;
        }
        short.extend(name.chars().take(SHOWN_OF_NAME.0));
        short.push('…');
        short.extend(name.chars().skip(letters - SHOWN_OF_NAME.1));
        short.push_str(&format!(" ({letters} letters)"));
        short.push_str(&word[name.len()..]);
    }
    Cow::Owned(short)
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '\n' | '\t' | '\r' if is_bad(letter) => safe.extend(letter.escape_default()),
            letter if is_bad(letter) => safe.extend(letter.escape_unicode()),
            letter => safe.push(letter),
        }
    }
    Cow::Owned(safe)
}

/// Formats a CSV cell: puts an apostrophe before text that a spreadsheet would read as a formula, and escapes
/// unprintable characters. Numbers are unchanged.
#[must_use]
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{}", shown_in_line(text)))
    } else {
        shown_in_line(text)
    }
}

/// Escapes unprintable characters in JSON strings as `\uXXXX` (RFC 8259, section 7). The JSON keeps its
/// meaning.
#[must_use]
pub fn json_shown(json: &str) -> Cow<'_, str> {
    // JSON writers escape those of ASCII, except DEL. Line ends occur only between values.
    let is_bad = |letter: char| is_unprintable(letter) && letter >= '\u{7f}';
    if !json.contains(is_bad) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if is_bad(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(letter);
        }
    }
    Cow::Owned(safe)
}

/// The passwords in a command line and its environment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// Collects the secrets in arguments, each of which may be a malformed URL, and the `known` secrets.
    pub fn of<'a>(
        arguments: impl IntoIterator<Item = &'a str>,
        known: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut secrets: Vec<String> = known.into_iter().collect();
        let mut names_the_next = false;
        for argument in arguments {
            if names_the_next {
                secrets.push(argument.to_owned());
            }
            let option = argument.trim_start_matches('-').to_ascii_lowercase();
            names_the_next = argument.starts_with("--")
                && SECRET_NAMES.iter().any(|name| option.ends_with(name));
            if let Some(secret) = secret_of_url(argument) {
                // An unknown scheme was taken for the user, and the user for part of the secret.
                let parts = secret.match_indices(':').map(|(at, _)| secret[at + 1..].to_owned());
                secrets.extend(parts);
                secrets.push(secret.to_owned());
            }
            for value in named_values(argument) {
                secrets.push(value.to_owned());
                secrets.extend(value.split('&').next().map(str::to_owned));
            }
        }
        // Messages break or join lines at a line end within a secret.
        let lines: Vec<String> = secrets
            .iter()
            .filter(|secret| secret.contains(char::is_control))
            .flat_map(|secret| secret.split(char::is_control).map(|line| line.trim().to_owned()))
            .collect();
        secrets.extend(lines);
        let others: Vec<String> = secrets
            .iter()
            .flat_map(|secret| [decoded(secret), secret.escape_debug().to_string()])
            .collect();
        secrets.extend(others);
        secrets.retain(|secret| !secret.trim().is_empty());
        // Longest first, because a secret may be part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// Hides these secrets and everything that looks like a secret: in `scheme://user:secret@`, even if
    /// malformed, and after `password=`.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = without(&text, secret);
        }
        let mut hidden = String::with_capacity(text.len());
        for piece in text.split_inclusive(is_separator) {
            let (word, end) = match piece.char_indices().next_back() {
                Some((at, letter)) if is_separator(letter) => piece.split_at(at),
                _ => (piece, ""),
            };
            match secret_of_url(word) {
                Some(secret) => {
                    // `secret` is a slice of `word`.
                    let at = secret.as_ptr() as usize - word.as_ptr() as usize;
                    hidden.push_str(&word[..at]);
                    hidden.push_str(HIDDEN);
                    hidden.push_str(&word[at + secret.len()..]);
                }
                None => hidden.push_str(word),
            }
            hidden.push_str(end);
        }
        without_named(&hidden)
    }
}

/// True for characters that separate words in a line.
fn is_separator(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '<' | '>' | '“' | '”')
}

/// Hides every occurrence of a secret.
fn without(text: &str, secret: &str) -> String {
    if secret.chars().count() >= LEAST_LETTERS {
        return text.replace(secret, HIDDEN);
    }
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(secret) {
        let (before, behind) = (&rest[..at], &rest[at + secret.len()..]);
        let last = before.chars().next_back().or_else(|| hidden.chars().next_back());
        hidden.push_str(before);
        let stands_alone = !is_word(last) && !is_word(behind.chars().next());
        hidden.push_str(if stands_alone { HIDDEN } else { secret });
        rest = behind;
    }
    hidden.push_str(rest);
    hidden
}

/// Returns the password in a URL, well-formed or not: between user and host, or at the end if the host is
/// missing.
fn secret_of_url(word: &str) -> Option<&str> {
    let (rest, is_url) = match word.split_once("://") {
        Some((scheme, rest)) if !scheme.contains([':', '@']) => {
            (rest.trim_start_matches('/'), true)
        }
        _ => (word, false),
    };
    let Some((user, _)) = rest.rsplit_once('@') else {
        return if is_url { secret_for_port(rest) } else { None };
    };
    let scheme = user.split_once(':').filter(|(scheme, _)| {
        let scheme = scheme.rsplit(['=', ' ']).next().unwrap_or_default();
        !is_url && SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
    });
    let user = scheme.map_or(user, |(_, user)| user.trim_start_matches('/'));
    let (_, secret) = user.split_once(':')?;
    // A path on another host has a slash there: HOST:/PATH@SNAPSHOT.
    let is_path = !is_url && scheme.is_none() && secret.starts_with('/') && !secret.contains(':');
    (!secret.is_empty() && !is_path && secret != HIDDEN).then_some(secret)
}

/// Returns the text in the place of the port if it is not a number: a password after a user, without a host.
fn secret_for_port(rest: &str) -> Option<&str> {
    let (_, port) = rest.split_once(':').filter(|_| !rest.starts_with('['))?;
    let number = port.split(['/', '?', '#']).next().unwrap_or_default();
    let number = number.trim_end_matches([';', ',', '.', ':', ')']);
    let is_port = number.chars().all(|letter| letter.is_ascii_digit());
    (!is_port && port != HIDDEN).then_some(port)
}

/// Returns the values after `password=` and similar names, each to the end of the text.
fn named_values(text: &str) -> Vec<&str> {
    value_starts(text).into_iter().map(|at| &text[at..]).filter(|value| !value.is_empty()).collect()
}

/// Returns the positions of values of secret names.
fn value_starts(text: &str) -> Vec<usize> {
    let small = text.to_ascii_lowercase();
    let is_secret = |at: &usize| SECRET_NAMES.iter().any(|name| small[..*at].ends_with(name));
    small.match_indices('=').map(|(at, _)| at).filter(is_secret).map(|at| at + 1).collect()
}

fn without_named(text: &str) -> String {
    let mut hidden = String::with_capacity(text.len());
    let mut done = 0;
    for at in value_starts(text) {
        if at < done {
            continue;
        }
        let value = &text[at..];
        let quote = value.chars().next().filter(|letter| matches!(letter, '"' | '\''));
        let length = match quote {
            Some(quote) => value[1..].find(quote).map_or(value.len(), |end| end + 2),
            None => value
                .find(|letter: char| is_separator(letter) || matches!(letter, '&' | ';' | ','))
                .unwrap_or(value.len()),
        };
        hidden.push_str(&text[done..at]);
        if length > 0 {
            hidden.push_str(HIDDEN);
        }
        done = at + length;
    }
    hidden.push_str(&text[done..]);
    hidden
}

/// Decodes percent-encoding such as `%40` (RFC 3986, section 2.1).
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let letter = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match letter.filter(|_| *first == b'%') {
            Some(letter) => {
                bytes.push(letter);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unprintable_characters_are_escaped() {
        assert_eq!(shown("a\u{1b}[31mb\u{202e}c\nd\te"), "a\\u{1b}[31mb\\u{202e}c\nd\te");
        assert_eq!(shown_in_line("a\nb\rc\t\u{85}"), "a\\nb\\rc\\t\\u{85}");
        assert!(matches!(shown_in_line("Größe ≤ 10 µs"), Cow::Borrowed(_)));
    }

    #[test]
    fn overlong_names_are_shortened() {
        let long = format!("{}ü{}", "a".repeat(4000), "z".repeat(999));
        let (begin, end) = ("a".repeat(48), "z".repeat(16));
        assert_eq!(
            with_short_names(&format!("/x/{long}: \"{long}\" is none")),
            format!("/x/{begin}…{end} (5000 letters): \"{begin}…{end} (5000 letters)\" is none")
        );
        let path = "/some".repeat(500);
        assert!(matches!(with_short_names(&path), Cow::Borrowed(_)));
    }

    #[test]
    fn csv_formulas_are_escaped_and_numbers_unchanged() {
        for formula in ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "-"] {
            assert_eq!(csv_cell(formula), format!("'{formula}"));
        }
        assert_eq!(csv_cell("\t=1\r"), "'\\t=1\\r");
        assert_eq!(csv_cell("a\u{1b}[31m\u{202e}"), "a\\u{1b}[31m\\u{202e}");
        for plain in ["-5.25", "+3", "1e9", "", "a=b", "sim:nvme", "-0"] {
            assert_eq!(csv_cell(plain), plain);
        }
    }

    #[test]
    fn escaped_json_is_printable_and_equivalent() {
        let text = "a\u{1b}b\u{202e}c\u{9b}d\u{7f}e\u{e0001}\n\u{1f4be}ä";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let safe = json_shown(&json);
        assert!(!safe.contains(|letter| is_unprintable(letter) && letter != '\n'), "{safe}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), [text]);
        assert!(matches!(json_shown("[\n\"ä\"]"), Cow::Borrowed(_)));
    }

    #[test]
    fn secrets_are_hidden_even_in_malformed_urls() {
        let none = Secrets::default();
        let cases = [
            ("postgres://u:s3cret@h/db", "postgres://u:***@h/db"),
            (
                "no such file: postgres://u:s3cret@h/db; try",
                "no such file: postgres://u:***@h/db; try",
            ),
            ("'postgres:u:s3cret@h/db'", "'postgres:u:***@h/db'"),
            ("postgres:/u:s3cret@h", "postgres:/u:***@h"),
            ("postgres//u:s3cret@h", "postgres//u:***@h"),
            ("postgres:///u:s3cret@h", "postgres:///u:***@h"),
            ("postgres://u:s3@cr/et@h", "postgres://u:***@h"),
            ("postgres://u:s3?cr#et@h", "postgres://u:***@h"),
            ("u:s3cret@h/db", "u:***@h/db"),
            ("postgres://u:s3cret", "postgres://u:***"),
            ("--target=postgres://u:s3cret@h", "--target=postgres://u:***@h"),
            ("postgres://h/db?password=s3cret&x=1", "postgres://h/db?password=***&x=1"),
            ("PGPASSWORD=s3cret iogauge", "PGPASSWORD=*** iogauge"),
            ("password='s3 cret' x", "password=*** x"),
        ];
        for (text, expected) in cases {
            assert_eq!(none.hide(text), expected);
        }
        for plain in [
            "postgres://u@h:5432/db",
            "postgres://h:5432/db",
            "host:/export@snapshot",
            "sim:channels=8,service=100us",
            "read:p99<=5ms",
            "mail me@example.org",
            "http://[::1]:80/",
        ] {
            assert_eq!(none.hide(plain), plain);
        }
    }

    #[test]
    fn secrets_from_arguments_are_hidden_everywhere() {
        let arguments =
            ["run", "postgres://u:my pass@h/db", "--password", "other1", "sqlite:p%40ss@"];
        let secrets = Secrets::of(arguments, ["envpass".to_owned()]);
        let line = secrets.hide("port \"my pass\" of my pass, other1, envpass, p%40ss and p@ss");
        assert_eq!(line, "port \"***\" of ***, ***, ***, p%40ss and p@ss");
        let short = Secrets::of(["postgres://u:pw@h"], []);
        assert_eq!(short.hide("pw: pwrite, 'pw'"), "***: pwrite, '***'");
        assert_eq!(format!("{short:?}"), "Secrets(1)");
    }

    proptest! {
        #[test]
        fn url_password_never_appears_in_output(
            secret in "[a-zA-Z0-9@:/?#% ,;]{4,20}",
            scheme in "(postgres|postgresql|mysql|foo)(://|:|:/|//)",
        ) {
            prop_assume!(!secret.trim().is_empty() && !secret.starts_with(['/', ' ', '@']));
            let secret = format!("Q{secret}Q");
            let url = format!("{scheme}user:{secret}@host/db");
            let hidden = Secrets::of([url.as_str()], []).hide(&format!("cannot open {url}: {secret}"));
            prop_assert!(!hidden.contains(&secret), "{}", hidden);
        }

        #[test]
        fn hiding_secrets_in_arbitrary_text_never_panics(text: String, argument: String) {
            let hidden = Secrets::of([argument.as_str()], []).hide(&text);
            prop_assert!(!shown_in_line(&hidden).chars().any(is_unprintable));
        }
    }
}
