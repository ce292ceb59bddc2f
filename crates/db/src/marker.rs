//! The marker file, which shows that iogauge made a database. It may have been changed, so every value is checked.

use crate::backend::Global;
use crate::value::{LEAST_BYTES, MOST_BYTES};
use serde::{Deserialize, Serialize};

/// Format and version of the marker.
pub const FORMAT: &str = "iogauge.database/1";
/// Possible block sizes of databases.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=1 << 20;
/// Maximum length of an identifier that iogauge generates.
const MOST_IDENTITY_BYTES: usize = 128;
/// Maximum number of subscripts of a global: that of the subscript stream.
pub const MOST_SUBSCRIPTS: u64 = 2_147_483_646;

/// The marker of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// [`FORMAT`].
    pub format: String,
    /// Name of the backend.
    pub backend: String,
    /// Unique identifier of the database.
    pub identity: String,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// False while setup runs, and after setup was killed.
    pub complete: bool,
    /// True if setup also created the parent directory.
    pub made_parent: bool,
    pub globals: Vec<Global>,
}

/// Why a file is not a valid marker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkerError {
    /// It is another kind of file, or has another version.
    #[error("it is not {FORMAT}")]
    Other,
    /// It has an impossible value.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

/// The field that is checked first.
#[derive(Deserialize)]
struct FormatOnly {
    format: String,
}

impl Marker {
    /// Parses a marker. The result is valid: its block size and globals are possible.
    ///
    /// # Errors
    /// Fails if it is not a marker, or has an impossible value.
    pub fn read(bytes: &[u8]) -> Result<Self, MarkerError> {
        let head: FormatOnly = serde_json::from_slice(bytes).map_err(|_| MarkerError::Other)?;
        if head.format != FORMAT {
            return Err(MarkerError::Other);
        }
        let marker: Self = serde_json::from_slice(bytes).map_err(|error| {
            MarkerError::Damaged(format!("a value is missing or of another kind ({error})"))
        })?;
        marker.check().map_err(MarkerError::Damaged)?;
        Ok(marker)
    }

    fn check(&self) -> Result<(), String> {
        let Self { block_bytes, identity, globals, .. } = self;
        if !block_bytes.is_power_of_two() || !BLOCK_BYTES.contains(block_bytes) {
            return Err(format!(
                "block_bytes is {block_bytes}; it must be a power of two between 512 and 1048576"
            ));
        }
        if !is_identity(identity) {
            return Err("identity was not made by iogauge".to_owned());
        }
        for (number, global) in (1u32..).zip(globals) {
            check_global(number, global)?;
        }
        Ok(())
    }
}

/// Checks a global from an untrusted source. It must have this number.
///
/// # Errors
/// Returns a description of the impossible value.
pub fn check_global(number: u32, global: &Global) -> Result<(), String> {
    let Global { number: there, subscripts, value_bytes } = *global;
    if there != number {
        return Err(format!("global {there} is in the place of global {number}"));
    }
    if !(1..=MOST_SUBSCRIPTS).contains(&subscripts) {
        return Err(format!("global {number} has {subscripts} subscripts"));
    }
    if !(LEAST_BYTES..=MOST_BYTES).contains(&value_bytes) {
        return Err(format!("global {number} has values of {value_bytes} bytes"));
    }
    Ok(())
}

/// Returns true for an identifier that iogauge generates for databases. It is safe as a file name.
#[must_use]
pub fn is_identity(word: &str) -> bool {
    (1..=MOST_IDENTITY_BYTES).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marker() -> Marker {
        Marker {
            format: FORMAT.to_owned(),
            backend: "sqlite".to_owned(),
            identity: "1a-2b-3c".to_owned(),
            block_bytes: 8192,
            complete: true,
            made_parent: false,
            globals: vec![
                Global { number: 1, subscripts: 1000, value_bytes: 100 },
                Global { number: 2, subscripts: 1, value_bytes: 64 },
            ],
        }
    }

    fn read(marker: &Marker) -> Result<Marker, MarkerError> {
        Marker::read(&serde_json::to_vec(marker).unwrap())
    }

    #[test]
    fn valid_marker_is_read_back() {
        assert_eq!(read(&marker()), Ok(marker()));
    }

    #[test]
    fn impossible_marker_values_are_rejected() {
        type Change = fn(&mut Marker);
        let changes: [(&str, Change); 10] = [
            ("block_bytes is 0", |m| m.block_bytes = 0),
            ("block_bytes is 100", |m| m.block_bytes = 100),
            ("block_bytes is 9223372036854775808", |m| m.block_bytes = 1 << 63),
            ("identity", |m| m.identity = "../../etc/passwd".to_owned()),
            ("identity", |m| m.identity = String::new()),
            ("global 2 is in the place of global 1", |m| m.globals = m.globals.split_off(1)),
            ("0 subscripts", |m| m.globals[1].subscripts = 0),
            ("subscripts", |m| m.globals[1].subscripts = u64::MAX),
            ("values of 0 bytes", |m| m.globals[0].value_bytes = 0),
            ("values of", |m| m.globals[0].value_bytes = usize::MAX),
        ];
        for (words, change) in changes {
            let mut changed = marker();
            change(&mut changed);
            let error = read(&changed).unwrap_err().to_string();
            assert!(error.starts_with("it is damaged: ") && error.contains(words), "{error}");
        }
        for text in ["", "{}", "[]", "null", "{\"format\": \"iogauge.database/9\"}"] {
            assert_eq!(Marker::read(text.as_bytes()), Err(MarkerError::Other), "{text}");
        }
        let half = format!("{{\"format\": \"{FORMAT}\", \"backend\": 7}}");
        assert!(matches!(Marker::read(half.as_bytes()), Err(MarkerError::Damaged(_))));
    }

    proptest! {
        #[test]
        fn every_accepted_marker_is_valid(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            block_bytes: u64,
            identity in ".{0,40}",
            numbers in prop::collection::vec((any::<u32>(), any::<u64>(), any::<usize>()), 0..4),
        ) {
            let _ = Marker::read(&bytes);
            let globals = numbers.into_iter().map(|(number, subscripts, value_bytes)| {
                Global { number, subscripts, value_bytes }
            });
            let made = Marker { block_bytes, identity, globals: globals.collect(), ..marker() };
            if let Ok(read) = read(&made) {
                prop_assert!(read.check().is_ok() && read == made);
            }
        }
    }
}
