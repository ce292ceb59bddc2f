//! Settings of GT.M.

use crate::backend::Setting;
use crate::error::DbError;
use crate::url::DbUrl;
use iogauge_model::units::parse_size_bytes;

/// Every setting.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "cache",
        default: "128M",
        help: "the database's cache of blocks (global buffers), as 64M or 4G",
    },
    Setting {
        key: "durable",
        default: "yes",
        help: "yes: a commit waits until the journal is on the device; batch: it does not",
    },
    Setting {
        key: "asyncio",
        default: "no",
        help: "yes: blocks are written asynchronously and around the system's cache",
    },
    Setting {
        key: "epoch",
        default: "300",
        help: "seconds between two epochs, when everything goes to the data file: 1 to 32767",
    },
];

/// Values of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Size of the cache in blocks.
    pub buffers: u64,
    /// True if a commit waits for the journal.
    pub durable: bool,
    /// True if blocks are written asynchronously.
    pub asyncio: bool,
    /// Seconds between two epochs.
    pub epoch_s: u64,
}

/// Numbers of buffers that GT.M accepts.
const BUFFERS: std::ops::RangeInclusive<u64> = 64..=2_097_151;

impl Settings {
    /// Parses the settings of a URL.
    ///
    /// # Errors
    /// [`DbError::Usage`] for invalid values.
    pub fn of(url: &DbUrl) -> Result<Self, DbError> {
        let get = |key: &str| {
            let preset = SETTINGS.iter().find(|s| s.key == key).map_or("", |s| s.default);
            url.settings.get(key).map_or(preset, String::as_str)
        };
        let wrong = |key: &str, right: &str| {
            DbError::Usage(format!("{key}={} is not possible; hint: use {right}", get(key)))
        };
        let choice = |key: &str, yes: &str, no: &str| match get(key) {
            word if word == yes => Ok(true),
            word if word == no => Ok(false),
            _ => Err(wrong(key, &format!("{yes} or {no}"))),
        };
        let buffers = parse_size_bytes(get("cache"))
            .ok()
            .map(|bytes| bytes / super::BLOCK_BYTES)
            .filter(|buffers| BUFFERS.contains(buffers))
            .ok_or_else(|| wrong("cache", "512K to 15G, as 128M"))?;
        let epoch_s = get("epoch").parse().ok().filter(|s| (1..=32_767).contains(s));
        Ok(Self {
            buffers,
            durable: choice("durable", "yes", "batch")?,
            asyncio: choice("asyncio", "yes", "no")?,
            epoch_s: epoch_s
                .ok_or_else(|| wrong("epoch", "a number of seconds from 1 to 32767"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Settings, DbError> {
        Settings::of(&format!("gtm:/x?{text}").parse().unwrap())
    }

    #[test]
    fn gtm_settings_are_parsed() {
        let preset = Settings { buffers: 16_384, durable: true, asyncio: false, epoch_s: 300 };
        assert_eq!(settings("").unwrap(), preset);
        let other = Settings { buffers: 8_192, durable: false, asyncio: true, epoch_s: 5 };
        assert_eq!(settings("cache=64M&durable=batch&asyncio=yes&epoch=5").unwrap(), other);
    }

    #[test]
    fn invalid_gtm_settings_are_rejected_with_a_hint() {
        for text in ["cache=1K", "cache=100G", "cache=x", "durable=no", "asyncio=1", "epoch=0"] {
            let error = settings(text).unwrap_err();
            assert!(matches!(&error, DbError::Usage(t) if t.contains("hint: ")), "{error}");
        }
    }
}
