//! The figures of a step that only databases have.

use iogauge_db::backend::{Counts, Cycle};
use iogauge_db::pool::Mode;
use iogauge_io::worker::transactions::TransactionSums;
use iogauge_model::result::{
    DaemonCycle, DatabaseCounts, DatabaseResult, DatabaseWorker, Physical, StepResult,
};
use std::time::Instant;

/// Makes the figures of what each worker did. `direct` is true if their reads bypass the page cache.
pub(super) fn of(
    mode: Mode,
    workers: &[TransactionSums],
    direct: Option<bool>,
    result: &StepResult,
) -> DatabaseResult {
    let sum = |of: fn(&TransactionSums) -> u64| workers.iter().map(of).sum::<u64>();
    let (reads, hits) = (result.read.as_ref().map_or(0, |read| read.ios), sum(|s| s.read_hits));
    let read_transactions = sum(|s| s.read_transactions);
    let through = direct == Some(false) && reads > 0;
    // A host may have fewer workers than others.
    let worked = (1..).zip(workers).filter(|(_, sums)| sums.elapsed_ns > 0);
    DatabaseResult {
        mode: mode.word().to_owned(),
        transactions: read_transactions + sum(|s| s.commits.count),
        read_transactions,
        read_percent_asked: match mode {
            Mode::Io { read_percent } => Some(f64::from(read_percent)),
            Mode::Read | Mode::Write | Mode::ReadersWriters { .. } => None,
        },
        writers: match mode {
            Mode::ReadersWriters { writers } => Some(writers),
            Mode::Read | Mode::Write | Mode::Io { .. } => None,
        },
        reads_direct: direct,
        cache_hit_percent: through.then(|| hits as f64 * 100.0 / reads as f64),
        workers: worked.map(|(number, sums)| worker(number, sums)).collect(),
        ..DatabaseResult::default()
    }
}

fn worker(number: u32, sums: &TransactionSums) -> DatabaseWorker {
    DatabaseWorker {
        worker: number,
        seconds: sums.elapsed_ns as f64 / 1e9,
        reads: sums.reads.count,
        updates: sums.updates.count,
        commits: sums.commits.count,
        read_latency_ns_mean: sums.reads.latency_ns_mean(),
        update_latency_ns_mean: sums.updates.latency_ns_mean(),
        commit_latency_ns_mean: sums.commits.latency_ns_mean(),
    }
}

/// Returns the database's counts over a span next to iogauge's.
pub(super) fn counted(made: &TransactionSums, before: &Counts, after: &Counts) -> DatabaseCounts {
    let grown = |of: fn(&Counts) -> Option<u64>| {
        of(before).zip(of(after)).map(|(before, after)| after.saturating_sub(before))
    };
    let other = |(name, after): &(&'static str, u64)| {
        let before = before.others.iter().find(|(known, _)| known == name);
        ((*name).to_owned(), after.saturating_sub(before.map_or(0, |(_, count)| *count)))
    };
    DatabaseCounts {
        updates_made: made.updates.count,
        updates: grown(|counts| counts.updates),
        commits_made: made.commits.count,
        commits: grown(|counts| counts.commits),
        blocks_read: grown(|counts| counts.blocks_read),
        blocks_hit: grown(|counts| counts.blocks_hit),
        blocks_written: grown(|counts| counts.blocks_written),
        log_bytes: grown(|counts| counts.log_bytes),
        others: after.others.iter().map(other).collect(),
    }
}

/// Returns a round of the write daemon; `None` if it ended before the measurement began.
pub(super) fn cycle(cycle: &Cycle, begin: Instant) -> Option<DaemonCycle> {
    let at = cycle.ended.checked_duration_since(begin)?;
    Some(DaemonCycle {
        at_seconds: at.as_secs_f64(),
        seconds: cycle.took.as_secs_f64(),
        blocks: cycle.blocks,
    })
}

/// Returns the bytes that the devices wrote for each byte that workers updated in the same span;
/// `None` if they updated nothing.
pub(super) fn written_per_updated(physical: &Physical, updated_bytes: u64) -> Option<f64> {
    (updated_bytes > 0).then(|| physical.write_bytes as f64 / updated_bytes as f64)
}

/// Returns the mean number of blocks in a device write while a database was drained. No log is
/// written then, so these are dirty blocks, merged by the write daemon. `None` if nothing was
/// written.
pub(super) fn blocks_per_device_write(drained: &Physical, block_bytes: u64) -> Option<f64> {
    let blocks = drained.write_bytes as f64 / block_bytes.max(1) as f64;
    (drained.writes > 0).then(|| blocks / drained.writes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_amplification_and_blocks_per_device_write_are_computed() {
        let physical = Physical { writes: 10, write_bytes: 81_920, ..Physical::default() };
        assert_eq!(written_per_updated(&physical, 0), None);
        assert_eq!(written_per_updated(&physical, 20_480), Some(4.0));
        assert_eq!(written_per_updated(&Physical::default(), 20_480), Some(0.0));
        assert_eq!(blocks_per_device_write(&physical, 4096), Some(2.0));
        assert_eq!(blocks_per_device_write(&Physical::default(), 4096), None);
    }
}
