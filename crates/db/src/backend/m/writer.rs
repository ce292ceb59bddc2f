//! The writer of a worker: a process of the database that executes complete transactions.

use super::Installation;
use super::counts::WorkerTally;
use super::process::{Family, Process, hold};
use crate::backend::{Order, WorkerPlan, Writer};
use crate::counts::WorkerCounts;
use crate::error::DbError;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A worker's process. Its latencies are in whole microseconds, the resolution of the
/// clocks of M.
#[derive(Debug)]
pub struct MWriter {
    /// Outlives this value: see [`Self::process`].
    process: Arc<Mutex<Process>>,
    tally: Arc<WorkerTally>,
    /// True while it waits for an order.
    idle: bool,
    transaction_length: usize,
    value_bytes: u64,
}

/// Maximum transaction length for which the times fit into one string of M, which has at most 1 MiB.
const MOST_UPDATES: u32 = 50_000;
/// Number of digits of a time in microseconds since 1970, from 2001 to 2286.
const TIME_DIGITS: usize = 16;

impl MWriter {
    /// Starts the process. It has the database open when this returns.
    ///
    /// # Errors
    /// Returns [`DbError::Usage`] if transactions are too long, or errors of the database.
    pub fn start(
        installation: &Arc<dyn Installation>,
        family: &Arc<Family>,
        tally: &Arc<WorkerTally>,
        plan: &WorkerPlan,
        durable: bool,
    ) -> Result<Self, DbError> {
        if plan.transaction_length > MOST_UPDATES {
            return Err(DbError::Usage(format!(
                "transactions of {} updates are too long for {}; hint: use --transaction-length \
                 {MOST_UPDATES} or less",
                plan.transaction_length,
                installation.name()
            )));
        }
        let mut process = Process::start_in(installation, family, "^RanWorker")?;
        process.tell(format_args!("{}", plan_line(plan, durable)))?;
        process.hear(|_| Ok(()))?;
        Ok(Self {
            process: Arc::new(Mutex::new(process)),
            tally: tally.clone(),
            idle: true,
            transaction_length: plan.transaction_length as usize,
            value_bytes: plan.global.value_bytes as u64,
        })
    }

    /// Returns the process, which must keep the database open until it is drained. A process that closes the database
    /// writes everything that is not yet in the data file.
    pub fn process(&self) -> Arc<Mutex<Process>> {
        self.process.clone()
    }
}

impl Drop for MWriter {
    /// Reads the database's counts of the process. They are exact for one process, but not for all together.
    fn drop(&mut self) {
        let mut process = hold(&self.process);
        if self.idle
            && process.tell(format_args!("counts")).is_ok()
            && let Ok(counts) = process.hear(|_| Ok(()))
        {
            self.tally.add(counts);
        }
    }
}

/// Returns the plan in the form that the routine reads.
pub fn plan_line(plan: &WorkerPlan, durable: bool) -> String {
    let WorkerPlan { worker, global, sequence, draws_state, transaction_length } = plan;
    format!(
        "{worker} {} {} {} {sequence} {draws_state} {transaction_length} {}",
        global.number,
        global.subscripts,
        global.value_bytes,
        u8::from(!durable)
    )
}

impl Writer for MWriter {
    fn work(&mut self, order: &Order, counts: &mut WorkerCounts) -> Result<u64, DbError> {
        let Order { transactions, until } = *order;
        self.idle = false;
        let left = until.saturating_duration_since(Instant::now()).as_micros();
        let mut process = hold(&self.process);
        process.tell(format_args!("{transactions} {left}"))?;
        if transactions == u32::MAX {
            // The times arrive gradually. Waiting for them would wake this thread each time, and take processor time
            // from the process.
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        let Self { transaction_length, value_bytes, .. } = self;
        let committed = process.hear(|line| {
            note(line, *transaction_length, *value_bytes, counts).ok_or_else(|| strange(line))
        })?;
        let committed = committed.parse().map_err(|_| strange(committed))?;
        drop(process);
        self.idle = true;
        Ok(committed)
    }
}

/// Records a line `tTIMETIME…` of complete transactions. The times of each are its start, the start of its updates,
/// the end of each update, and the end of the commit. If a transaction was restarted, the time from its start to the
/// start of its updates is discarded work, which is added to the commit.
fn note(line: &str, updates: usize, value_bytes: u64, counts: &mut WorkerCounts) -> Option<()> {
    let (times, rest) = line.strip_prefix('t')?.as_bytes().as_chunks::<TIME_DIGITS>();
    let transactions = times.chunks_exact(updates + 3);
    if !rest.is_empty() || !transactions.remainder().is_empty() {
        return None;
    }
    for times in transactions {
        let [begun, started, done @ .., committed] = times else { return None };
        let (begun, started) = (microseconds(begun)?, microseconds(started)?);
        let mut last = started;
        for time in done {
            let time = microseconds(time)?;
            counts.update(ns_between(last, time), value_bytes);
            last = time;
        }
        let committed = microseconds(committed)?;
        counts.commit(ns_between(begun, started).saturating_add(ns_between(last, committed)));
    }
    Some(())
}

/// Parses a line of times for every possible transaction length.
pub fn read_untrusted(line: &str) {
    for updates in 0..=line.len() / TIME_DIGITS {
        let _ = note(line, updates, 100, &mut WorkerCounts::default());
    }
}

/// Parses a time.
fn microseconds(digits: &[u8; TIME_DIGITS]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })
}

/// Returns the nanoseconds between two times in microseconds; 0 if the clock was set back.
fn ns_between(begin: u64, end: u64) -> u64 {
    end.saturating_sub(begin).saturating_mul(1_000)
}

fn strange(line: &str) -> DbError {
    let line: String = line.chars().take(80).collect();
    DbError::Failed(format!("a worker's process answers \"{line}\", which iogauge does not expect"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gtm_timing_lines_are_added_to_the_counts() {
        let mut counts = WorkerCounts::default();
        let line =
            |times: &[u64]| times.iter().fold("t".to_owned(), |l, t| l + &format!("{t:016}"));
        // The second transaction was restarted after 200 µs, and the clock was set back by 1 µs meanwhile.
        let times = [1000, 1000, 1012, 1024, 1500, 2000, 2200, 2199, 2212, 2300];
        assert_eq!(note(&line(&times), 2, 100, &mut counts), Some(()));
        assert_eq!(
            (counts.updates.count(), counts.update_bytes, counts.commits.count()),
            (4, 400, 2)
        );
        assert_eq!(counts.updates.sum_ns(), 12_000 + 12_000 + 13_000);
        assert_eq!(counts.commits.sum_ns(), 476_000 + 200_000 + 88_000);
        assert_eq!(u128::from(counts.busy_ns), counts.updates.sum_ns() + counts.commits.sum_ns());
        let wrong =
            [line(&times[1..]), line(&times) + "1", line(&times).replace('5', "x"), "x1".into()];
        for line in wrong {
            assert_eq!(note(&line, 2, 100, &mut WorkerCounts::default()), None, "{line}");
        }
    }
}
