//! The path of the history.

use super::{HistoryError, files, run_lock};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where runs are kept, as given by `--history`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HistoryPath {
    /// `$XDG_DATA_HOME/iogauge/history.db`, or `~/.local/share/iogauge/history.db` if that variable
    /// is unset (XDG Base Directory Specification).
    #[default]
    Default,
    /// A file of the user's choice.
    File(PathBuf),
    /// Runs are not kept.
    None,
}

impl HistoryPath {
    /// Parses `default`, `none` or the path of a file. A file with one of these names can be given
    /// as `./none`.
    ///
    /// # Errors
    /// [`HistoryError::EmptyPath`] if the text is empty, [`HistoryError::SpecialName`] if it is no
    /// path.
    pub fn parse(text: &OsStr) -> Result<Self, HistoryError> {
        match text.to_str() {
            Some("") => Err(HistoryError::EmptyPath),
            Some("default") => Ok(Self::Default),
            Some("none") => Ok(Self::None),
            // SQLite takes these for in-memory databases and URIs; a URL is another mistake.
            Some(name) if is_special(name) => {
                Err(HistoryError::SpecialName { name: name.to_owned() })
            }
            _ => Ok(Self::File(PathBuf::from(text))),
        }
    }

    /// Refuses targets that are the history or a file next to it that it needs, by any path, link
    /// or name. Call it before a target is opened: a process that closes a file loses the locks by
    /// which SQLite keeps other processes away from it (fcntl(2)).
    ///
    /// # Errors
    /// [`HistoryError::IsTarget`].
    pub fn refuse_as_target(&self, targets: &[PathBuf]) -> Result<(), HistoryError> {
        let Some(path) = self.resolve()? else { return Ok(()) };
        // A history whose directory is missing shares no file with any target.
        let Ok(real) = files::real(&path) else { return Ok(()) };
        for (suffix, what) in [
            ("", "the history"),
            ("-wal", "the log of the history"),
            ("-shm", "the index of the history's log"),
            ("-journal", "the journal of the history"),
            (run_lock::SUFFIX, "the lock of the history"),
        ] {
            let mut file = real.clone().into_os_string();
            file.push(suffix);
            let file = PathBuf::from(file);
            if let Some(target) = targets.iter().find(|target| is_same(target, &file)) {
                return Err(HistoryError::IsTarget { target: target.clone(), what });
            }
        }
        Ok(())
    }

    /// Returns the path of the file; `None` if runs are not kept. Touches no file.
    ///
    /// # Errors
    /// [`HistoryError::NoHome`] if neither `XDG_DATA_HOME` nor `HOME` names a directory.
    pub fn resolve(&self) -> Result<Option<PathBuf>, HistoryError> {
        match self {
            Self::Default => default_file(env::var_os("XDG_DATA_HOME"), home()).map(Some),
            Self::File(path) => Ok(Some(path.clone())),
            Self::None => Ok(None),
        }
    }
}

/// Returns true if both paths lead to the same file, or would if it existed.
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
    match (inode(one), inode(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => files::real(one).ok() == files::real(other).ok(),
        _ => false,
    }
}

/// Returns true for names like `:memory:`, `file:…`, and URLs.
fn is_special(name: &str) -> bool {
    let name = name.trim();
    let is_uri = name.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("file:"));
    name.is_empty() || name.starts_with(':') || is_uri || name.contains("://")
}

/// Returns iogauge's directory for the user's data; `None` if no home directory is known.
#[must_use]
pub fn data_directory() -> Option<PathBuf> {
    let file = default_file(env::var_os("XDG_DATA_HOME"), home()).ok()?;
    file.parent().map(PathBuf::from)
}

/// Returns the home directory. A user without one often has a name such as `/nonexistent`, which must not be made.
fn home() -> Option<OsString> {
    env::var_os("HOME").filter(|home| Path::new(home).is_dir())
}

fn default_file(data: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, HistoryError> {
    // The specification requires that relative paths are ignored.
    let absolute = |text: OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    data.and_then(absolute)
        .or_else(|| home.and_then(absolute).map(|home| home.join(".local/share")))
        .map(|data| data.join("iogauge/history.db"))
        .ok_or(HistoryError::NoHome)
}

impl FromStr for HistoryPath {
    type Err = HistoryError;

    fn from_str(text: &str) -> Result<Self, HistoryError> {
        Self::parse(OsStr::new(text))
    }
}

impl fmt::Display for HistoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_path_parses_keywords_and_file_names() {
        assert_eq!("none".parse::<HistoryPath>().unwrap(), HistoryPath::None);
        assert_eq!("default".parse::<HistoryPath>().unwrap(), HistoryPath::Default);
        assert_eq!("./none".parse::<HistoryPath>().unwrap(), HistoryPath::File("./none".into()));
        assert!(matches!("".parse::<HistoryPath>(), Err(HistoryError::EmptyPath)));
        assert_eq!(HistoryPath::None.resolve().unwrap(), None);
        for name in [":memory:", " ", ":x", "file:x?mode=memory", "FILE:/x", "postgres://h/db"] {
            let refused = name.parse::<HistoryPath>();
            assert!(matches!(refused, Err(HistoryError::SpecialName { .. })), "{name}");
        }
        let file = HistoryPath::File("./:memory:".into());
        assert_eq!("./:memory:".parse::<HistoryPath>().unwrap(), file);
    }

    #[test]
    fn default_path_follows_xdg_base_directory_spec() {
        let of = |data: Option<&str>, home: Option<&str>| {
            default_file(data.map(Into::into), home.map(Into::into))
        };
        let file = |path: &str| PathBuf::from(path);
        assert_eq!(of(Some("/d"), Some("/h")).unwrap(), file("/d/iogauge/history.db"));
        assert_eq!(of(None, Some("/h")).unwrap(), file("/h/.local/share/iogauge/history.db"));
        assert_eq!(
            of(Some("rel"), Some("/h")).unwrap(),
            file("/h/.local/share/iogauge/history.db")
        );
        assert!(matches!(of(Some(""), None), Err(HistoryError::NoHome)));
    }
}
