//! GT.M's own counts, and their conversion.
//!
//! The mnemonics are those of ZSHOW "G" in the GT.M Programmer's Guide. GVSTATS counts all processes of the database
//! since its creation. Processes add to it without synchronization, so some counts are lost when several processes
//! work. ZSHOW counts its own process, exactly.

use crate::backend::Counts;
use crate::backend::m::counts::{NamedCounts, WorkerTally};

/// Counts that are shown in addition.
const OTHERS: [(&str, &[&str]); 6] = [
    ("sets_tried", &["SET"]),
    ("journal_writes", &["JFW"]),
    ("journal_flushes", &["JFS"]),
    ("before_images", &["JRP"]),
    ("epochs", &["JRE"]),
    ("restarts", &["TR0", "TR1", "TR2", "TR3", "TR4"]),
];

/// Returns the updates of subscripts and the commits of one of our workers, from the counts of its process. Each
/// transaction also sets the worker's record, which is not included. Updates are counted when they go to the journal,
/// because SET also counts the repetitions after a restarted transaction.
pub fn updates_and_commits(process: &NamedCounts) -> (u64, u64) {
    let commits = process.of("TTW");
    (process.of("JRL").saturating_sub(commits), commits)
}

/// Converts the counts. Updates and commits are those of workers that have ended.
pub fn counts(stats: &NamedCounts, tally: &WorkerTally) -> Counts {
    let sum = |names: &[&str]| names.iter().map(|name| stats.of(name)).fold(0, u64::saturating_add);
    Counts {
        updates: Some(tally.updates()),
        commits: Some(tally.commits()),
        blocks_read: Some(stats.of("DRD")),
        blocks_hit: None,
        blocks_written: Some(stats.of("DWT")),
        log_bytes: Some(stats.of("JFB")),
        others: OTHERS.map(|(name, names)| (name, sum(names))).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gtm_statistics_are_parsed() {
        let text = "SET:5177,JRL:5100,KIL:0,DRD:7,DWT:8,TTW:100,TR0:1,TR1:2,JFL:3,JFS:4,JFB:4096,JFW:5,JRE:6";
        let (tally, stats) = (WorkerTally::new(updates_and_commits), NamedCounts::read(text));
        let before = counts(&stats, &tally);
        assert_eq!((before.updates, before.commits), (Some(0), Some(0)));
        tally.add(text);
        let counts = counts(&stats, &tally);
        assert_eq!((counts.updates, counts.commits), (Some(5000), Some(100)));
        assert_eq!((counts.blocks_read, counts.blocks_written), (Some(7), Some(8)));
        assert_eq!(counts.log_bytes, Some(4096));
        assert!(counts.others.contains(&("restarts", 3)));
    }
}
