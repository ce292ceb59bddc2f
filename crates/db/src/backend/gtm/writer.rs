//! A worker: a process of GT.M that does whole transactions itself.

use super::process::{Family, Process};
use super::tools::Tools;
use crate::backend::{Order, WorkerPlan, Writer};
use crate::books::Books;
use crate::error::DbError;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A worker's process. Its latencies come in whole microseconds, the resolution of GT.M's clock.
#[derive(Debug)]
pub struct GtmWriter {
    process: Process,
    value_bytes: u64,
}

impl GtmWriter {
    /// Starts one; it has the database open when this returns.
    ///
    /// # Errors
    /// What GT.M says.
    pub fn start(
        tools: &Tools,
        family: &Arc<Family>,
        entry: &str,
        plan: &WorkerPlan,
        durable: bool,
    ) -> Result<Self, DbError> {
        let mut process = Process::start_in(tools, family, entry, "")?;
        process.tell(format_args!("{}", plan_line(plan, durable)))?;
        process.hear(|_| Ok(()))?;
        Ok(Self { process, value_bytes: plan.global.value_bytes as u64 })
    }
}

/// A plan as the routine reads it.
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

impl Writer for GtmWriter {
    fn work(&mut self, order: &Order, books: &mut Books) -> Result<u64, DbError> {
        let whole_ms = order.hang.subsec_nanos().is_multiple_of(1_000_000);
        // GT.M pauses whole milliseconds. Pauses of any other length are made here, after each one.
        let (transactions, hang_ms) =
            if whole_ms { (order.transactions, order.hang.as_millis()) } else { (1, 0) };
        let left = order.until.saturating_duration_since(Instant::now()).as_micros();
        self.process.tell(format_args!("{transactions} {left} {hang_ms}"))?;
        let bytes = self.value_bytes;
        let committed =
            self.process.hear(|line| note(line, bytes, books).ok_or_else(|| strange(line)))?;
        let committed = committed.parse().map_err(|_| strange(committed))?;
        // The routine does not pause behind its last one: it could not hear meanwhile that it is to end.
        if order.hang > Duration::ZERO {
            std::thread::sleep(order.hang);
        }
        Ok(committed)
    }
}

/// Books a line `u LATENCY COUNT …` or `c LATENCY COUNT …`.
fn note(line: &str, value_bytes: u64, books: &mut Books) -> Option<()> {
    let mut words = line.split_ascii_whitespace();
    let kind = words.next()?;
    while let Some(word) = words.next() {
        // A clock that is set back makes a latency negative.
        let ns = u64::try_from(word.parse::<i64>().ok()?).unwrap_or(0) * 1_000;
        let count: u64 = words.next()?.parse().ok()?;
        match kind {
            "u" => books.updates_of(ns, count, count * value_bytes),
            "c" => books.commits_of(ns, count),
            _ => return None,
        }
    }
    Some(())
}

fn strange(line: &str) -> DbError {
    DbError::Failed(format!("GT.M's process answers \"{line}\", which is no line of ours"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_booked() {
        let mut books = Books::default();
        assert_eq!(note("u 12 3 -4 1", 100, &mut books), Some(()));
        assert_eq!(note("c 1500 1", 100, &mut books), Some(()));
        assert_eq!((books.updates.count(), books.update_bytes, books.commits.count()), (4, 400, 1));
        assert_eq!(books.busy_ns, 3 * 12_000 + 1_500_000);
        for line in ["x 1 1", "u 1", "u a 1", ""] {
            assert_eq!(note(line, 100, &mut books), None, "{line}");
        }
    }
}
