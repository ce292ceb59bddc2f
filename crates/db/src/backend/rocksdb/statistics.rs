//! RocksDB's own counts, which it reports as text, one per line.

use crate::backend::Counts;
use std::collections::HashMap;

/// Counts by name.
#[derive(Debug)]
pub struct Statistics<'a>(HashMap<&'a str, u64>);

impl<'a> Statistics<'a> {
    /// Parses lines of the form `rocksdb.NAME COUNT : N`. Skips lines of distributions, which have more fields.
    pub fn read(text: &'a str) -> Self {
        let count = |line: &'a str| {
            let mut words = line.split_ascii_whitespace();
            let name = words.next()?;
            let is_count = words.next() == Some("COUNT") && words.next() == Some(":");
            Some((name, words.next().filter(|_| is_count)?.parse().ok()?))
        };
        Self(text.lines().filter_map(count).collect())
    }

    fn of(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// Returns the counts of a process that only writes transactions. `block_bytes` is the size of a block.
    pub fn counts(&self, block_bytes: u64) -> Counts {
        let keys = self.of("rocksdb.number.keys.written");
        // Each batch is counted for the thread that wrote it: its own, or the leader of its group.
        let commits = self.of("rocksdb.write.self").zip(self.of("rocksdb.write.other"));
        let commits = commits.map(|(own, other)| own + other);
        let written =
            self.of("rocksdb.flush.write.bytes").zip(self.of("rocksdb.compact.write.bytes"));
        let others = [
            ("flush_write_bytes", "rocksdb.flush.write.bytes"),
            ("compaction_read_bytes", "rocksdb.compact.read.bytes"),
            ("compaction_write_bytes", "rocksdb.compact.write.bytes"),
            ("batch_bytes", "rocksdb.bytes.written"),
            ("log_syncs", "rocksdb.wal.synced"),
            ("group_followers", "rocksdb.write.other"),
            ("stall_us", "rocksdb.stall.micros"),
        ];
        let shown = |(name, ticker): (&'static str, &str)| Some((name, self.of(ticker)?));
        Counts {
            // One key of each batch is the worker's record.
            updates: keys.zip(commits).map(|(keys, commits)| keys - commits.min(keys)),
            commits,
            blocks_read: self.of("rocksdb.block.cache.miss"),
            blocks_hit: self.of("rocksdb.block.cache.hit"),
            blocks_written: written
                .map(|(flushed, compacted)| (flushed + compacted).div_ceil(block_bytes.max(1))),
            log_bytes: self.of("rocksdb.wal.bytes"),
            others: others.into_iter().filter_map(shown).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rocksdb_counters_are_parsed_and_histograms_skipped() {
        let text = "rocksdb.number.keys.written COUNT : 5100\n\
            rocksdb.write.self COUNT : 60\nrocksdb.write.other COUNT : 40\n\
            rocksdb.wal.bytes COUNT : 615000\n\
            rocksdb.flush.write.bytes COUNT : 8192\nrocksdb.compact.write.bytes COUNT : 1\n\
            rocksdb.db.write.micros P50 : 7.3 P95 : 11.3 P99 : 20.3 P100 : 1036.0 COUNT : 5000 SUM : 39769\n";
        let counts = Statistics::read(text).counts(8192);
        assert_eq!((counts.updates, counts.commits), (Some(5000), Some(100)));
        assert_eq!((counts.log_bytes, counts.blocks_written), (Some(615_000), Some(2)));
        assert_eq!(counts.blocks_read, None);
        assert!(counts.others.contains(&("group_followers", 40)));
        assert_eq!(Statistics::read(text).of("rocksdb.db.write.micros"), None);
    }
}
