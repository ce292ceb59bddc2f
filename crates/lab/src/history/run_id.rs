//! IDs of runs.

use super::UtcTime;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::Serialize;
use std::fmt;

/// Digits and letters without i, l, o and u, which resemble others.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// ID of a run, such as `20261121-101530-x7k2`: the second in which it started, in UTC, then four
/// random characters. IDs sort by time; the history keeps them unique.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// Makes a new ID. Two IDs of the same second are equal with a probability of one in a million;
    /// the history then draws again.
    #[must_use]
    pub fn generate(started: UtcTime) -> Self {
        let mut random = [0u8; 4];
        if getrandom(&mut random, GetRandomFlags::empty()).is_err() {
            // Without the system call (in a strict sandbox), clock and process number still
            // distinguish runs, and uniqueness does not depend on this.
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

    /// Returns the ID as text.
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
    fn run_ids_are_readable_and_sort_by_time() {
        let early = RunId::generate(UtcTime::from_unix_ns(1_795_256_130_000_000_000));
        let late = RunId::generate(UtcTime::from_unix_ns(1_795_256_131_000_000_000));
        assert!(early < late);
        assert_eq!(early.as_str().len(), "20261121-101530-x7k2".len());
        assert!(early.as_str().starts_with("20261121-"), "{early}");
        assert!(early.as_str()[16..].bytes().all(|b| ALPHABET.contains(&b)), "{early}");
    }
}
