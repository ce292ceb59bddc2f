//! Settings of SQLite.

use crate::backend::Setting;
use crate::error::DbError;
use crate::url::DbUrl;
use iogauge_model::units::{parse_duration_ns, parse_size_bytes, size_word};
use std::time::Duration;

/// Default page size, in bytes.
const PAGE_BYTES: u64 = 8192;
/// From the smallest page that every device can read directly to SQLite's largest page, in bytes.
const PAGES: std::ops::RangeInclusive<u64> = 4096..=65536;

/// All settings.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        key: "page_size",
        default: "8k",
        help: "bytes of a page, a power of two from 4k to 64k; setup takes it",
    },
    Setting {
        key: "synchronous",
        default: "full",
        help: "full: a commit waits until its log is on the device; normal: only checkpoints do; off: nothing does",
    },
    Setting { key: "checkpoint", default: "1s", help: "time from one checkpoint to the next" },
    Setting {
        key: "checkpoint_size",
        default: "64m",
        help: "bytes of a global's log at which a checkpoint begins before its time, and after which the log begins anew",
    },
    Setting { key: "cache", default: "64m", help: "page cache of each worker's connection" },
];

/// SQLite's `PRAGMA synchronous`: when it waits for the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Synchronous {
    Full,
    Normal,
    Off,
}

impl Synchronous {
    /// Its name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
            Self::Off => "off",
        }
    }

    /// Returns what a crash may lose.
    pub(super) fn may_lose(self) -> Option<String> {
        let text = match self {
            Self::Full => return None,
            Self::Normal => {
                "a power cut may lose the transactions since the last checkpoint; a crash of a process loses none"
            }
            Self::Off => {
                "a power cut may lose the last transactions and may damage the database; a crash of a process loses none"
            }
        };
        Some(text.to_owned())
    }
}

/// Values of the settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// Page size in bytes, if it was set.
    pub page_bytes: Option<u64>,
    pub synchronous: Synchronous,
    /// Time from the start of one checkpoint to the start of the next.
    pub checkpoint: Duration,
    /// Size of a log at which a checkpoint starts early, in bytes.
    pub checkpoint_bytes: u64,
    /// Page cache of each worker's connection, in bytes.
    pub cache_bytes: u64,
}

impl Settings {
    /// Parses the settings of a URL.
    pub(super) fn of(url: &DbUrl) -> Result<Self, DbError> {
        let text = |key: &str| url.settings.get(key).map(String::as_str);
        let wrong = |key: &str, right: &str| {
            let value = text(key).unwrap_or_default();
            DbError::Usage(format!("sqlite: {key}={value} is not possible; hint: use {right}"))
        };
        let size = |key: &str, default: u64, right: &str| match text(key) {
            Some(text) => parse_size_bytes(text).map_err(|_| wrong(key, right)),
            None => Ok(default),
        };
        let page_bytes = match size("page_size", 0, "4k, 8k, 16k, 32k or 64k")? {
            0 if text("page_size").is_none() => None,
            bytes if bytes.is_power_of_two() && PAGES.contains(&bytes) => Some(bytes),
            _ => return Err(wrong("page_size", "4k, 8k, 16k, 32k or 64k")),
        };
        let synchronous = match text("synchronous").map(str::to_ascii_lowercase).as_deref() {
            None | Some("full") => Synchronous::Full,
            Some("normal") => Synchronous::Normal,
            Some("off") => Synchronous::Off,
            Some(_) => return Err(wrong("synchronous", "full, normal or off")),
        };
        let checkpoint_ns = match text("checkpoint") {
            Some(text) => parse_duration_ns(text).ok().filter(|ns| *ns > 0),
            None => Some(1_000_000_000),
        };
        let checkpoint_ns =
            checkpoint_ns.ok_or_else(|| wrong("checkpoint", "a duration above 0, such as 1s"))?;
        let checkpoint_bytes = size("checkpoint_size", 64 << 20, "a size such as 64m")?;
        if checkpoint_bytes == 0 {
            return Err(wrong("checkpoint_size", "a size above 0, such as 64m"));
        }
        Ok(Self {
            page_bytes,
            synchronous,
            checkpoint: Duration::from_nanos(checkpoint_ns),
            checkpoint_bytes,
            cache_bytes: size("cache", 64 << 20, "a size such as 64m")?,
        })
    }

    /// Returns the page size of a new database, in bytes.
    pub(super) fn page_bytes(&self) -> u64 {
        self.page_bytes.unwrap_or(PAGE_BYTES)
    }

    /// Returns the settings that are reported with a result.
    pub(super) fn told(&self) -> Vec<(String, String)> {
        let pair = |key: &str, value: String| (key.to_owned(), value);
        vec![
            pair("checkpoint", format!("{:?}", self.checkpoint)),
            pair("checkpoint_size", size_word(self.checkpoint_bytes)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Settings, DbError> {
        Settings::of(&format!("sqlite:/x?{text}").parse().unwrap())
    }

    #[test]
    fn sqlite_settings_are_parsed() {
        let plain = settings("").unwrap();
        assert_eq!((plain.page_bytes(), plain.synchronous), (8192, Synchronous::Full));
        assert_eq!((plain.checkpoint, plain.cache_bytes), (Duration::from_secs(1), 64 << 20));
        let all = "page_size=16k&synchronous=OFF&checkpoint=250ms&checkpoint_size=4m&cache=1m";
        let all = settings(all).unwrap();
        assert_eq!((all.page_bytes(), all.synchronous), (16384, Synchronous::Off));
        assert_eq!((all.checkpoint, all.checkpoint_bytes), (Duration::from_millis(250), 4 << 20));
        assert_eq!(all.cache_bytes, 1 << 20);
    }

    #[test]
    fn invalid_sqlite_settings_are_rejected_with_valid_values() {
        for (text, right) in [
            ("page_size=2k", "4k, 8k"),
            ("page_size=10000", "4k, 8k"),
            ("page_size=0", "4k, 8k"),
            ("synchronous=maybe", "full, normal or off"),
            ("checkpoint=0s", "above 0"),
            ("checkpoint=often", "a duration"),
            ("checkpoint_size=0", "above 0"),
            ("cache=much", "a size"),
        ] {
            let error = settings(text).unwrap_err();
            assert!(matches!(error, DbError::Usage(_)), "{text}");
            assert!(error.to_string().contains(right), "{text}: {error}");
        }
    }
}
