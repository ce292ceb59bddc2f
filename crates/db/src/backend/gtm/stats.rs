//! GT.M's own counts, and what they are in iogauge's words.
//!
//! The mnemonics are those of ZSHOW "G" in the GT.M Programmer's Guide. They count for the database, by
//! all its processes, since it was made.

use crate::backend::Counts;
use std::collections::BTreeMap;

/// `SET:12,KIL:0,…`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats(BTreeMap<String, u64>);

/// Counts that are shown beside the others.
const OTHERS: [(&str, &[&str]); 6] = [
    ("sets_tried", &["SET"]),
    ("journal_writes", &["JFW"]),
    ("journal_flushes", &["JFS"]),
    ("before_images", &["JRP"]),
    ("epochs", &["JRE"]),
    ("restarts", &["TR0", "TR1", "TR2", "TR3", "TR4"]),
];

impl Stats {
    /// Reads the counts; what is none is left out.
    pub fn read(text: &str) -> Self {
        let pairs = text.split(',').filter_map(|pair| pair.split_once(':'));
        let count =
            |(name, n): (&str, &str)| Some((name.trim().to_owned(), n.trim().parse().ok()?));
        Self(pairs.filter_map(count).collect())
    }

    /// A count; 0 where this version has none of that name.
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// In iogauge's words. Each transaction sets the worker's record, too: only differences over a run of
    /// our workers are updates of subscripts. Updates are counted where they go to the journal, since SET
    /// counts again what a restart of the transaction repeats.
    pub fn counts(&self) -> Counts {
        let (logged, commits) = (self.of("JRL"), self.of("TTW"));
        let sum = |names: &[&str]| names.iter().map(|name| self.of(name)).sum();
        Counts {
            updates: Some(logged.wrapping_sub(commits)),
            commits: Some(commits),
            blocks_read: Some(self.of("DRD")),
            blocks_hit: None,
            blocks_written: Some(self.of("DWT")),
            log_bytes: Some(self.of("JFB")),
            others: OTHERS.map(|(name, names)| (name, sum(names))).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        let text = "SET:5177,JRL:5100,KIL:0,DRD:7,DWT:8,TTW:100,TR0:1,TR1:2,JFL:3,JFS:4,JFB:4096,JFW:5,JRE:6";
        let counts = Stats::read(text).counts();
        assert_eq!((counts.updates, counts.commits), (Some(5000), Some(100)));
        assert_eq!((counts.blocks_read, counts.blocks_written), (Some(7), Some(8)));
        assert_eq!(counts.log_bytes, Some(4096));
        assert!(counts.others.contains(&("restarts", 3)));
    }
}
