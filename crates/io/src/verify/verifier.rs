//! A worker's part in verification: stamps what it writes, and judges what it reads.

use super::classify::{Expected, UnitPlace, UnitState, judge};
use super::findings::{BadUnit, Findings};
use super::header::{Format, Origin};
use super::ledger::{Known, Ledger, Territory, UnitEntry, format};
use super::state::SavedState;
use crate::engine::Op;
use crate::offsets::Extent;
use iogauge_model::load::{Load, VerifyBacklog};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the workers of a job that verifies share.
#[derive(Debug)]
pub struct JobVerify {
    /// Number of the job in the step.
    pub(super) number: usize,
    pub(super) format: Format,
    /// Record of writes for each part; empty for a job that only reads.
    pub(super) territories: Vec<Arc<Territory>>,
    /// Indices of the job's parts in the target.
    pub(super) parts: Vec<u32>,
    pub(super) findings: Arc<Findings>,
    pub(super) fatal: bool,
    reads_only: bool,
    backlog: Option<VerifyBacklog>,
    /// True if only reads that replace a write are judged.
    judges_writes: bool,
    /// What a load that only reads should find, if no state was loaded.
    expected: Expected,
    /// What an earlier run wrote.
    saved: Option<Arc<SavedState>>,
}

impl JobVerify {
    /// Returns what the load of a job needs on these parts, given with their index in the target; `None` if it does not
    /// verify. A load that writes must be in the ledger.
    #[must_use]
    pub fn of(
        number: usize,
        load: &Load,
        parts: &[(u32, Extent)],
        ledger: &Ledger,
        findings: &Arc<Findings>,
    ) -> Option<Self> {
        let verify = load.verify.as_ref()?;
        let territory = |(part, extent): &(u32, Extent)| ledger.territory(*part, load, extent);
        let territories = if load.writes() {
            parts.iter().map(|part| territory(part).cloned()).collect::<Option<Vec<_>>>()?
        } else {
            Vec::new()
        };
        Some(Self {
            number,
            format: format(load, verify),
            territories,
            parts: parts.iter().map(|(part, _)| *part).collect(),
            findings: findings.clone(),
            fatal: verify.fatal,
            reads_only: !load.writes(),
            backlog: verify.backlog.filter(|_| load.writes()),
            judges_writes: load.only_checks() && load.rw.writes(),
            expected: verify.round.map_or(Expected::AnyRun, |round| Expected::Since {
                run: round.run,
                sequence: round.number,
            }),
            saved: None,
        })
    }

    /// Returns the same for a load that reads what an earlier run wrote.
    #[must_use]
    pub fn with_saved(self, saved: Arc<SavedState>) -> Self {
        Self { saved: Some(saved), ..self }
    }

    /// Returns the format of the units.
    #[must_use]
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Returns true if a finding has ended the load.
    pub(crate) fn is_over(&self) -> bool {
        self.findings.is_over()
    }

    /// Returns the record of writes, for a load that writes.
    #[must_use]
    pub fn territories(&self) -> &[Arc<Territory>] {
        &self.territories
    }

    /// Judges a unit read by a load that also writes, if something is known about it. The final read-back counts the
    /// units about which nothing is known.
    fn judge_known(&self, territory: &Territory, number: u64, unit: &mut [u8], known: Known) {
        if matches!(known, Known::Exactly(_) | Known::OneOf { .. }) {
            let place =
                UnitPlace { part: territory.part, offset_bytes: territory.offset_of(number) };
            self.judge(unit, place, Expected::Of { run: territory.run, known });
        }
    }

    /// Judges one unit and records the result.
    pub(super) fn judge(&self, unit: &mut [u8], place: UnitPlace, expected: Expected) {
        match judge(&self.format, unit, place, expected) {
            UnitState::Right => self.findings.right(self.format.unit_bytes),
            UnitState::Unjudged => {
                let is_unwritten = matches!(expected, Expected::Of { known: Known::Untouched, .. });
                self.findings.unjudged(is_unwritten);
            }
            UnitState::Wrong(fault) => {
                let UnitPlace { part, offset_bytes } = place;
                let found = BadUnit { part, offset_bytes, len: self.format.unit_bytes, fault };
                self.findings.wrong(self.number, found, self.fatal);
            }
        }
    }
}

/// An I/O of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    pub slot: u32,
    pub op: Op,
    /// Index of the part in the job.
    pub part: u32,
    pub offset_bytes: u64,
    pub len: u32,
}

/// A range that a worker has written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrittenRange {
    pub part: u32,
    pub offset_bytes: u64,
    pub len: u32,
}

/// Writes of a worker that it reads back before it goes on.
#[derive(Debug)]
struct Backlog {
    settings: VerifyBacklog,
    /// The oldest ones first. Never more than its capacity.
    written: VecDeque<WrittenRange>,
    /// Number of them whose read is due.
    due: u32,
}

impl Backlog {
    fn new(settings: VerifyBacklog, slots: u32) -> Self {
        // While the reads are due, the writes in flight complete.
        let capacity = (settings.writes + slots) as usize;
        Self { settings, written: VecDeque::with_capacity(capacity), due: 0 }
    }

    fn wrote(&mut self, range: WrittenRange) {
        if self.written.len() < self.written.capacity() {
            self.written.push_back(range);
        }
        if self.due == 0 && self.written.len() >= self.settings.writes as usize {
            self.due = self.settings.batch.min(self.settings.writes);
        }
    }

    fn take(&mut self) -> Option<WrittenRange> {
        self.due = self.due.checked_sub(1)?;
        let range = self.written.pop_front();
        if self.due == 0 {
            // The rest is verified at the end.
            let rest = self.settings.writes.saturating_sub(self.settings.batch) as usize;
            self.written.drain(..rest.min(self.written.len()));
        }
        range
    }
}

/// One worker's part.
#[derive(Debug)]
pub(crate) struct Verifier {
    job: Arc<JobVerify>,
    worker: u32,
    /// State of the units when each slot's read began (see [`Territory::look`]); `None` if the read is not judged.
    still: Box<[Option<u64>]>,
    /// True for each slot whose read is that of a write to be checked.
    checks: Box<[bool]>,
    /// Entries of the units read last.
    entries: Vec<UnitEntry>,
    backlog: Option<Backlog>,
}

impl Verifier {
    pub(crate) fn new(job: Arc<JobVerify>, worker: u32, slots: u32) -> Self {
        let still = vec![None; slots as usize].into_boxed_slice();
        let checks = vec![false; slots as usize].into_boxed_slice();
        let backlog = job.backlog.map(|settings| Backlog::new(settings, slots));
        Self { job, worker, still, checks, entries: Vec::new(), backlog }
    }

    /// Returns true if a write is to be read back before the worker goes on.
    pub(crate) fn check_is_due(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| backlog.due > 0)
    }

    /// Takes the next write that is to be read back, for a slot.
    pub(crate) fn take_check(&mut self, slot: u32) -> Option<WrittenRange> {
        let range = self.backlog.as_mut()?.take();
        self.checks[slot as usize] = range.is_some();
        range
    }

    /// Prepares an I/O that is about to be submitted, and returns its operation: for a load that only checks, a write
    /// becomes a read.
    pub(crate) fn begin(&mut self, io: Moved, data: &mut [u8]) -> Op {
        let job = &*self.job;
        if job.reads_only {
            let judged = io.op == Op::Write || !job.judges_writes;
            self.still[io.slot as usize] = judged.then_some(0);
            return if io.op == Op::Write { Op::Read } else { io.op };
        }
        if io.op == Op::Sync {
            // It has no data, and its offset is not in the territory.
            return io.op;
        }
        let Some(territory) = job.territories.get(io.part as usize) else { return io.op };
        let units = territory.units_of(io.offset_bytes, io.len);
        match io.op {
            Op::Write => {
                let stamped = data.chunks_exact_mut(job.format.unit_bytes as usize);
                for (number, unit) in units.zip(stamped) {
                    let origin = Origin {
                        run: territory.run,
                        offset_bytes: territory.offset_of(number),
                        sequence: territory.begin(number),
                        worker: self.worker,
                        part: territory.part,
                    };
                    job.format.stamp(unit, &origin);
                }
            }
            Op::Read => {
                self.still[io.slot as usize] = territory.look(units, &mut self.entries);
            }
            Op::Sync => {}
        }
        io.op
    }

    /// Handles an I/O that has moved all its bytes or failed. Returns false if a finding has ended the load.
    pub(crate) fn end(&mut self, io: Moved, data: &mut [u8], succeeded: bool) -> bool {
        let job = &*self.job;
        let unit_bytes = job.format.unit_bytes as usize;
        let before = self.still[io.slot as usize];
        let is_check = std::mem::take(&mut self.checks[io.slot as usize]);
        match (io.op, job.territories.get(io.part as usize)) {
            (Op::Write, Some(territory)) => {
                let units = territory.units_of(io.offset_bytes, io.len);
                units.for_each(|unit| territory.end(unit, succeeded));
                if let Some(backlog) = self.backlog.as_mut().filter(|_| succeeded) {
                    let Moved { part, offset_bytes, len, .. } = io;
                    backlog.wrote(WrittenRange { part, offset_bytes, len });
                }
            }
            (Op::Read, Some(territory)) if succeeded && before.is_some() => {
                // If no write was in progress at any time since before the read began, the read has seen what is known
                // now. The entries are read only once, because more writes may begin a moment later.
                let units = territory.units_of(io.offset_bytes, io.len);
                if territory.look(units.clone(), &mut self.entries) == before {
                    let units = units.zip(data.chunks_exact_mut(unit_bytes));
                    for ((number, unit), entry) in units.zip(&self.entries) {
                        job.judge_known(territory, number, unit, territory.known_of(*entry));
                        if is_check {
                            territory.check(number, *entry);
                        }
                    }
                }
            }
            (Op::Read, None) if succeeded && before.is_some() => {
                let part = job.parts.get(io.part as usize).copied().unwrap_or(io.part);
                let offsets = (io.offset_bytes..).step_by(unit_bytes);
                for (offset_bytes, unit) in offsets.zip(data.chunks_exact_mut(unit_bytes)) {
                    let place = UnitPlace { part, offset_bytes };
                    let expected = job.saved.as_ref().map(|saved| saved.expected(place));
                    job.judge(unit, place, expected.unwrap_or(job.expected));
                }
            }
            _ => {}
        }
        !job.findings.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(writes: u32, batch: u32, count: u64) -> Vec<u64> {
        let mut backlog = Backlog::new(VerifyBacklog { writes, batch }, 2);
        let mut read = Vec::new();
        for number in 0..count {
            backlog.wrote(WrittenRange { part: 0, offset_bytes: number, len: 1 });
            while let Some(range) = backlog.take() {
                read.push(range.offset_bytes);
            }
        }
        read
    }

    #[test]
    fn backlog_is_read_back_after_every_n_writes() {
        assert_eq!(reads(3, 3, 7), [0, 1, 2, 3, 4, 5]);
        assert_eq!(reads(3, 9, 7), [0, 1, 2, 3, 4, 5]);
        assert_eq!(reads(3, 1, 7), [0, 3]);
        assert_eq!(reads(1, 1, 3), [0, 1, 2]);
        assert_eq!(reads(9, 9, 7), [0; 0]);
    }

    #[test]
    fn writes_that_complete_while_reads_are_due_stay_in_the_backlog() {
        let mut backlog = Backlog::new(VerifyBacklog { writes: 2, batch: 2 }, 2);
        let write = |number| WrittenRange { part: 0, offset_bytes: number, len: 1 };
        (0..4).for_each(|number| backlog.wrote(write(number)));
        let mut read = Vec::new();
        while let Some(range) = backlog.take() {
            read.push(range.offset_bytes);
        }
        assert_eq!(read, [0, 1]);
        backlog.wrote(write(4));
        assert_eq!(backlog.take().map(|range| range.offset_bytes), Some(2));
    }
}
