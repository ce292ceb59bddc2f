//! Names of runs.

use super::UtcTime;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::Serialize;
use std::fmt;

/// Digits and letters without i, l, o and u, which read like others.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Name of a run, `20261121-101530-x7k2`: the second it started in UTC, then four random
/// characters. Names sort by time; the history keeps them unique.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// A new name. One in a million of the names of the same second equals another; the history
    /// draws again where it meets one.
    #[must_use]
    pub fn generate(started: UtcTime) -> Self {
        let mut random = [0u8; 4];
        if getrandom(&mut random, GetRandomFlags::empty()).is_err() {
            // Without the system call (a strict sandbox) the clock and process number still tell
            // runs apart, and uniqueness does not rest on this.
            let mixed = UtcTime::now().unix_ns() as u32 ^ std::process::id().rotate_left(16);
            random = (mixed.wrapping_mul(0x9e37_79b1)).to_be_bytes();
        }
        let suffix = random.map(|byte| ALPHABET[usize::from(byte & 31)]);
        let mut name = started.compact();
        name.push('-');
        name.extend(suffix.map(char::from));
        Self(name)
    }

    pub(super) fn stored(name: String) -> Self {
        Self(name)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_and_sortable() {
        let early = RunId::generate(UtcTime::from_unix_ns(1_795_256_130_000_000_000));
        let late = RunId::generate(UtcTime::from_unix_ns(1_795_256_131_000_000_000));
        assert!(early < late);
        assert_eq!(early.as_str().len(), "20261121-101530-x7k2".len());
        assert!(early.as_str().starts_with("20261121-"), "{early}");
        assert!(early.as_str()[16..].bytes().all(|b| ALPHABET.contains(&b)), "{early}");
    }
}
