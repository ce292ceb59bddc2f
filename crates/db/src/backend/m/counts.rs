//! Counts by name, as M databases write them: `SET:12,KIL:0`.

use std::collections::BTreeMap;

/// Counts by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedCounts(BTreeMap<String, u64>);

impl NamedCounts {
    /// Parses the counts, and ignores other text.
    pub fn read(text: &str) -> Self {
        let pairs = text.split(',').filter_map(|pair| pair.split_once(':'));
        let count =
            |(name, n): (&str, &str)| Some((name.trim().to_owned(), n.trim().parse().ok()?));
        Self(pairs.filter_map(count).collect())
    }

    /// Returns a count; 0 if it is not there.
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}
