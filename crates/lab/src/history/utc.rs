//! Points in time, in UTC, proleptic Gregorian calendar.

use iogauge_model::calendar::Civil;
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time in nanoseconds. Shown and serialized as RFC 3339 to the second:
/// `2026-11-21T10:15:30Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime {
    unix_ns: i64,
}

impl UtcTime {
    /// Returns the current time of the system clock.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Makes a time from nanoseconds since 1970-01-01T00:00:00Z; negative before. The range is 1677
    /// to 2262.
    #[must_use]
    pub fn from_unix_ns(unix_ns: i64) -> Self {
        Self { unix_ns }
    }

    /// Returns the nanoseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix_ns(self) -> i64 {
        self.unix_ns
    }

    /// Returns sortable digits for names, to the second: `20261121-101530`.
    #[must_use]
    pub fn compact(self) -> String {
        let Civil { year, month, day, hour, minute, second } = self.civil();
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
    }

    fn civil(self) -> Civil {
        Civil::of_unix_seconds(self.unix_ns.div_euclid(1_000_000_000))
    }
}

impl From<SystemTime> for UtcTime {
    /// Clamps times before 1677 or after 2262.
    fn from(time: SystemTime) -> Self {
        let unix_ns = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
            Err(e) => i64::try_from(e.duration().as_nanos()).map_or(i64::MIN, |before| -before),
        };
        Self { unix_ns }
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second } = self.civil();
        f.pad(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
    }
}

impl Serialize for UtcTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn utc_formatting_matches_known_timestamps() {
        let shown = |seconds: i64| UtcTime::from_unix_ns(seconds * 1_000_000_000).to_string();
        assert_eq!(shown(0), "1970-01-01T00:00:00Z");
        assert_eq!(shown(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(shown(-1), "1969-12-31T23:59:59Z");
        assert_eq!(UtcTime::from_unix_ns(1_000_000_000_999_999_999).compact(), "20010909-014640");
    }

    proptest! {
        /// Compares with SQLite's own calendar.
        #[test]
        fn utc_formatting_agrees_with_sqlite(seconds in -9_000_000_000i64..9_000_000_000) {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            let oracle: String = connection
                .query_row("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', ?1, 'unixepoch')", [seconds],
                           |row| row.get(0))
                .unwrap();
            prop_assert_eq!(UtcTime::from_unix_ns(seconds * 1_000_000_000).to_string(), oracle);
        }
    }
}
