//! Device numbers.

use serde::{Serialize, Serializer};
use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// A device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// The driver; 0 if no block device belongs to the number.
    pub major: u32,
    /// The device within the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Converts a number in the form that `stat` returns (`st_dev`, `st_rdev`).
    #[must_use]
    pub fn from_raw(raw: u64) -> Self {
        Self { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// Returns the number of the block device at `path`. Follows symbolic links. Returns `None` for anything else.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let meta = fs::metadata(path).ok()?;
        meta.file_type().is_block_device().then(|| Self::from_raw(meta.rdev()))
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DeviceNumber {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.trim().split_once(':').ok_or(())?;
        Ok(Self { major: major.parse().map_err(|_| ())?, minor: minor.parse().map_err(|_| ())? })
    }
}

impl Serialize for DeviceNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_device_number_never_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<DeviceNumber>();
        }

        #[test]
        fn device_numbers_round_trip(major: u32, minor: u32) {
            let number = DeviceNumber { major, minor };
            prop_assert_eq!(number.to_string().parse(), Ok(number));
        }
    }
}
