//! Where the history lies.

use super::HistoryError;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where runs are kept, as `--history` says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HistoryPath {
    /// `$XDG_DATA_HOME/iogauge/history.db`, or `~/.local/share/iogauge/history.db` where that
    /// variable is unset (XDG Base Directory Specification).
    #[default]
    Default,
    /// A file of the user's choice.
    File(PathBuf),
    /// Nowhere: runs are not kept.
    None,
}

impl HistoryPath {
    /// Reads `default`, `none` or the path of a file; a file of one of those names is reached by
    /// `./none`.
    ///
    /// # Errors
    /// [`HistoryError::EmptyPath`] where the text is empty.
    pub fn parse(text: &OsStr) -> Result<Self, HistoryError> {
        match text.to_str() {
            Some("") => Err(HistoryError::EmptyPath),
            Some("default") => Ok(Self::Default),
            Some("none") => Ok(Self::None),
            _ => Ok(Self::File(PathBuf::from(text))),
        }
    }

    /// The file meant, `None` where runs are not kept. Touches no file.
    ///
    /// # Errors
    /// [`HistoryError::NoHome`] where neither `XDG_DATA_HOME` nor `HOME` names a directory.
    pub fn resolve(&self) -> Result<Option<PathBuf>, HistoryError> {
        match self {
            Self::Default => {
                default_file(env::var_os("XDG_DATA_HOME"), env::var_os("HOME")).map(Some)
            }
            Self::File(path) => Ok(Some(path.clone())),
            Self::None => Ok(None),
        }
    }
}

/// Where programs keep data of this user, and iogauge its own in it; `None` where no home is known.
#[must_use]
pub fn data_directory() -> Option<PathBuf> {
    let file = default_file(env::var_os("XDG_DATA_HOME"), env::var_os("HOME")).ok()?;
    file.parent().map(PathBuf::from)
}

fn default_file(data: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, HistoryError> {
    // The specification has relative paths ignored.
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
    fn words_and_files() {
        assert_eq!("none".parse::<HistoryPath>().unwrap(), HistoryPath::None);
        assert_eq!("default".parse::<HistoryPath>().unwrap(), HistoryPath::Default);
        assert_eq!("./none".parse::<HistoryPath>().unwrap(), HistoryPath::File("./none".into()));
        assert!(matches!("".parse::<HistoryPath>(), Err(HistoryError::EmptyPath)));
        assert_eq!(HistoryPath::None.resolve().unwrap(), None);
    }

    #[test]
    fn default_follows_the_base_directory_specification() {
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
