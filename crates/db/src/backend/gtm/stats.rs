//! GT.M's own counts, and their conversion.
//!
//! The mnemonics are those of ZSHOW "G" in the GT.M Programmer's Guide. GVSTATS counts all processes of the database
//! since its creation. Processes add to it without synchronization, so some counts are lost when several processes
//! work. ZSHOW counts its own process, exactly.

use crate::backend::Counts;
use crate::backend::m::WorkerTally;
use crate::backend::m::counts::NamedCounts;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts by mnemonic, parsed from `SET:12,KIL:0,…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats(NamedCounts);

/// Counts that are shown in addition.
const OTHERS: [(&str, &[&str]); 6] = [
    ("sets_tried", &["SET"]),
    ("journal_writes", &["JFW"]),
    ("journal_flushes", &["JFS"]),
    ("before_images", &["JRP"]),
    ("epochs", &["JRE"]),
    ("restarts", &["TR0", "TR1", "TR2", "TR3", "TR4"]),
];

impl Stats {
    /// Parses the counts, and ignores other text.
    pub fn read(text: &str) -> Self {
        Self(NamedCounts::read(text))
    }

    /// Returns a count; 0 if this version does not have it.
    pub fn of(&self, name: &str) -> u64 {
        self.0.of(name)
    }

    /// Returns the updates of subscripts by one of our workers, from the counts of its process. Each transaction also
    /// sets the worker's record, which is not included. Updates are counted when they go to the journal, because SET
    /// also counts the repetitions after a restarted transaction.
    fn updates(&self) -> u64 {
        self.of("JRL").saturating_sub(self.of("TTW"))
    }

    /// Converts the counts. Updates and commits are those of workers that have ended.
    pub fn counts(&self, tally: &StatsTally) -> Counts {
        let sum =
            |names: &[&str]| names.iter().map(|name| self.of(name)).fold(0, u64::saturating_add);
        Counts {
            updates: Some(tally.updates.load(Ordering::Relaxed)),
            commits: Some(tally.commits.load(Ordering::Relaxed)),
            blocks_read: Some(self.of("DRD")),
            blocks_hit: None,
            blocks_written: Some(self.of("DWT")),
            log_bytes: Some(self.of("JFB")),
            others: OTHERS.map(|(name, names)| (name, sum(names))).to_vec(),
        }
    }
}

/// GT.M's counts of a run's workers that have ended.
#[derive(Debug, Default)]
pub struct StatsTally {
    updates: AtomicU64,
    commits: AtomicU64,
}

impl WorkerTally for StatsTally {
    fn add(&self, answer: &str) {
        let process = Stats::read(answer);
        self.updates.fetch_add(process.updates(), Ordering::Relaxed);
        self.commits.fetch_add(process.of("TTW"), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gtm_statistics_are_parsed() {
        let text = "SET:5177,JRL:5100,KIL:0,DRD:7,DWT:8,TTW:100,TR0:1,TR1:2,JFL:3,JFS:4,JFB:4096,JFW:5,JRE:6";
        let (tally, stats) = (StatsTally::default(), Stats::read(text));
        let counts = stats.counts(&tally);
        assert_eq!((counts.updates, counts.commits), (Some(0), Some(0)));
        tally.add(text);
        let counts = stats.counts(&tally);
        assert_eq!((counts.updates, counts.commits), (Some(5000), Some(100)));
        assert_eq!((counts.blocks_read, counts.blocks_written), (Some(7), Some(8)));
        assert_eq!(counts.log_bytes, Some(4096));
        assert!(counts.others.contains(&("restarts", 3)));
    }
}
