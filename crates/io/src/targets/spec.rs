//! TARGET as given by the user.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Maximum number of paths in one TARGET.
const LARGEST_LIST: usize = 1024;

/// TARGET as given by the user. Nothing has been looked up yet, except to distinguish a list from a path that contains
/// a separator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetSpec {
    /// `sim:…`: a simulated device. The text includes the prefix.
    Simulated(String),
    /// Directories, files or block devices, at least one.
    Paths(Vec<PathBuf>),
}

/// Why a TARGET could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("the target is empty; hint: use a directory, a file, a block device or sim:…")]
    Empty,
    #[error(
        "the target list \"{text}\" has an empty element; hint: use /dev/sdb,/dev/sdc (write \\: or \\, \
         for a separator inside a path)"
    )]
    EmptyElement { text: String },
    #[error("the target \"{text}\" contains a NUL byte, which no path can")]
    Nul { text: String },
    #[error("\"{text}\" is a database URL, not a path; hint: run iogauge db run {text}")]
    Url { text: String },
    #[error("\"{text}\" mixes a simulated device with paths; hint: use sim:… alone or paths alone")]
    MixedWithSimulated { text: String },
    #[error("the target lists more than {LARGEST_LIST} paths; hint: use fewer")]
    TooMany,
}

impl FromStr for TargetSpec {
    type Err = SpecError;

    /// Parses TARGET.
    ///
    /// The paths of a list are separated by commas, or by colons as in fio's `filename` if all of them exist: a new path
    /// may contain colons. If a path that contains a separator exists, it is used as a path, not as a list. `\:`, `\,`
    /// and `\\` represent the characters themselves.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::parse_with(text, &|path| path.symlink_metadata().is_ok())
    }
}

impl TargetSpec {
    /// Returns a target that consists of a single path, used as it is.
    #[must_use]
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self::Paths(vec![path.into()])
    }

    fn parse_with(text: &str, exists: &dyn Fn(&Path) -> bool) -> Result<Self, SpecError> {
        if text.is_empty() {
            return Err(SpecError::Empty);
        }
        if text.contains('\0') {
            return Err(SpecError::Nul { text: text.escape_default().to_string() });
        }
        if text.starts_with("sim:") {
            return Ok(Self::Simulated(text.to_owned()));
        }
        if exists(Path::new(text)) {
            return Ok(Self::path(text));
        }
        if is_url(text) {
            return Err(SpecError::Url { text: text.to_owned() });
        }
        let pieces = pieces(text);
        if pieces.len() > LARGEST_LIST {
            return Err(SpecError::TooMany);
        }
        let mut paths = Vec::new();
        let mut first = 0;
        // The pieces between two commas, and the paths before them.
        let mut between = (0, 0);
        while first < pieces.len() {
            let (mut path, mut next) = longest_existing(&pieces, first, exists);
            if path == "sim" && pieces[first].separator == Some(':') {
                return Err(SpecError::MixedWithSimulated { text: text.to_owned() });
            }
            if !exists(Path::new(&path)) {
                paths.truncate(between.1);
                (path, next) = until_comma(&pieces, between.0);
            }
            if path.is_empty() {
                return Err(SpecError::EmptyElement { text: text.to_owned() });
            }
            paths.push(PathBuf::from(path));
            if pieces[next - 1].separator == Some(',') {
                between = (next, paths.len());
            }
            first = next;
        }
        Ok(Self::Paths(paths))
    }
}

impl fmt::Display for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated(text) => f.write_str(text),
            Self::Paths(paths) => {
                for (index, path) in paths.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "," };
                    write!(f, "{separator}{}", path.display())?;
                }
                Ok(())
            }
        }
    }
}

/// Returns true for `scheme://…`.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Unescaped text between two separators, with the separator that follows it.
struct PartText {
    text: String,
    separator: Option<char>,
}

fn pieces(text: &str) -> Vec<PartText> {
    let mut pieces = Vec::new();
    let mut current = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next_if(|next| matches!(next, ':' | ',' | '\\')) {
                Some(escaped) => current.push(escaped),
                None => current.push('\\'),
            },
            ':' | ',' => {
                pieces.push(PartText { text: std::mem::take(&mut current), separator: Some(c) });
            }
            _ => current.push(c),
        }
    }
    pieces.push(PartText { text: current, separator: None });
    pieces
}

/// Returns the longest sequence of pieces from `first` that is an existing path, otherwise the first piece alone; also
/// the index of the next piece.
fn longest_existing(
    pieces: &[PartText],
    first: usize,
    exists: &dyn Fn(&Path) -> bool,
) -> (String, usize) {
    let mut joined = pieces[first].text.clone();
    let mut best = (joined.clone(), first + 1);
    for (index, pair) in pieces.windows(2).enumerate().skip(first) {
        joined.extend(pair[0].separator);
        joined.push_str(&pair[1].text);
        if exists(Path::new(&joined)) {
            best = (joined.clone(), index + 2);
        }
    }
    best
}

/// Returns the pieces from `first` to the next comma as one path; also the index of the next piece.
fn until_comma(pieces: &[PartText], first: usize) -> (String, usize) {
    let mut joined = String::new();
    for (index, piece) in pieces.iter().enumerate().skip(first) {
        joined.push_str(&piece.text);
        match piece.separator {
            Some(':') => joined.push(':'),
            _ => return (joined, index + 1),
        }
    }
    (joined, pieces.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str, existing: &[&str]) -> Result<TargetSpec, SpecError> {
        TargetSpec::parse_with(text, &|path| existing.iter().any(|e| Path::new(e) == path))
    }

    fn paths(list: &[&str]) -> Result<TargetSpec, SpecError> {
        Ok(TargetSpec::Paths(list.iter().map(PathBuf::from).collect()))
    }

    #[test]
    fn target_lists_are_split_unless_the_path_exists() {
        assert_eq!(parse("/data", &[]), paths(&["/data"]));
        assert_eq!(parse("/dev/sdb,/dev/sdc", &[]), paths(&["/dev/sdb", "/dev/sdc"]));
        let both = ["/dev/sdb", "/dev/sdc"];
        assert_eq!(parse("/dev/sdb:/dev/sdc", &both), paths(&both));
        assert_eq!(parse("/dev/sdb:/dev/sdc,x", &both), paths(&["/dev/sdb", "/dev/sdc", "x"]));
        assert_eq!(parse("a:b", &["a:b"]), paths(&["a:b"]));
        let by_path = "/dev/disk/by-path/pci-0000:00:1f.2-ata-1";
        assert_eq!(
            parse(&format!("{by_path},/dev/sdb"), &[by_path]),
            paths(&[by_path, "/dev/sdb"])
        );
        assert_eq!(
            parse(&format!("/dev/sdb:{by_path}"), &[by_path, "/dev/sdb"]),
            paths(&["/dev/sdb", by_path])
        );
        assert_eq!(parse(r"a\:b,c\,d,e\\f,g\h", &[]), paths(&["a:b", "c,d", r"e\f", r"g\h"]));
    }

    #[test]
    fn new_path_may_contain_colons() {
        let new = "/data/pci-0000:00:1f.2-ata-1";
        assert_eq!(parse(new, &["/data"]), paths(&[new]));
        assert_eq!(parse(&format!("/x,{new},/y"), &["/x"]), paths(&["/x", new, "/y"]));
        assert_eq!(parse("/x:/new", &["/x"]), paths(&["/x:/new"]));
        assert_eq!(parse("/data/http://x", &["/data"]), paths(&["/data/http://x"]));
        assert_eq!(parse("/a:/b,/c:/d", &["/a", "/b", "/c"]), paths(&["/a", "/b", "/c:/d"]));
    }

    #[test]
    fn simulated_target_spec_is_kept_verbatim() {
        let text = "sim:channels=8,service=100us";
        assert_eq!(text.parse(), Ok(TargetSpec::Simulated(text.to_owned())));
        assert!(matches!(parse("/a,sim:hdd", &[]), Err(SpecError::MixedWithSimulated { .. })));
    }

    #[test]
    fn target_spec_errors_explain_valid_input() {
        for (text, word) in [
            ("", "directory"),
            ("a,,b", "empty element"),
            (",", "empty element"),
            ("postgres://localhost/db", "iogauge db"),
            ("a\0b", "NUL"),
        ] {
            let message = parse(text, &[]).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
            assert!(!message.contains('\n'));
        }
        assert_eq!(parse(&"a,".repeat(2000), &[]), Err(SpecError::TooMany));
    }

    proptest! {
        #[test]
        fn parsing_target_spec_never_panics(text in "\\PC{0,40}") {
            let _ = parse(&text, &[]);
            let _ = TargetSpec::parse_with(&text, &|path| path.as_os_str().len() % 3 == 0);
        }

        #[test]
        fn parsing_separators_and_escapes_never_panics(text in "[a:,\\\\]{0,30}") {
            if let Ok(TargetSpec::Paths(paths)) = parse(&text, &[]) {
                prop_assert!(!paths.is_empty());
                prop_assert!(paths.iter().all(|p| !p.as_os_str().is_empty()));
            }
        }

        #[test]
        fn escaped_target_paths_round_trip(names in proptest::collection::vec("[a-z:,\\\\]{1,8}", 1..5)) {
            let typed: Vec<String> = names
                .iter()
                .map(|n| n.replace('\\', r"\\").replace(':', r"\:").replace(',', r"\,"))
                .collect();
            let typed = typed.join(",");
            prop_assume!(!is_url(&typed) && !typed.starts_with("sim:"));
            prop_assert_eq!(
                parse(&typed, &[]),
                Ok(TargetSpec::Paths(names.iter().map(PathBuf::from).collect()))
            );
        }
    }
}
