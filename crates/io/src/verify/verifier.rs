//! A worker's part in verification: stamps what it writes, and judges what it reads.

use super::classify::{Expected, UnitPlace, UnitState, judge};
use super::findings::{BadUnit, Findings};
use super::header::{Format, Origin};
use super::ledger::{Known, Ledger, Territory, UnitEntry, format};
use crate::engine::Op;
use crate::offsets::Extent;
use iogauge_model::load::Load;
use std::sync::Arc;

/// What the workers of a job that verifies share.
#[derive(Debug)]
pub struct JobVerify {
    pub(super) format: Format,
    /// Record of writes for each part; empty for a job that only reads.
    pub(super) territories: Vec<Arc<Territory>>,
    /// Indices of the job's parts in the target.
    pub(super) parts: Vec<u32>,
    pub(super) findings: Arc<Findings>,
    pub(super) fatal: bool,
    reads_only: bool,
    /// True if only reads that replace a write are judged.
    judges_writes: bool,
    /// What a load that only reads should find.
    expected: Expected,
}

impl JobVerify {
    /// Returns what a load needs on these parts, given with their index in the target; `None` if it does not verify. A
    /// load that writes must be in the ledger.
    #[must_use]
    pub fn of(
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
            format: format(load, verify),
            territories,
            parts: parts.iter().map(|(part, _)| *part).collect(),
            findings: findings.clone(),
            fatal: verify.fatal,
            reads_only: !load.writes(),
            judges_writes: load.only_checks() && load.rw.writes(),
            expected: verify.round.map_or(Expected::AnyRun, |round| Expected::Since {
                run: round.run,
                sequence: round.number,
            }),
        })
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
            UnitState::Unjudged => self.findings.unjudged(),
            UnitState::Wrong(fault) => {
                let UnitPlace { part, offset_bytes } = place;
                let found = BadUnit { part, offset_bytes, len: self.format.unit_bytes, fault };
                self.findings.wrong(found, self.fatal);
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

/// One worker's part.
#[derive(Debug)]
pub(crate) struct Verifier {
    job: Arc<JobVerify>,
    worker: u32,
    /// State of the units when each slot's read began (see [`Territory::look`]); `None` if the read is not judged.
    still: Box<[Option<u64>]>,
    /// Entries of the units read last.
    entries: Vec<UnitEntry>,
}

impl Verifier {
    pub(crate) fn new(job: Arc<JobVerify>, worker: u32, slots: u32) -> Self {
        let still = vec![None; slots as usize].into_boxed_slice();
        Self { job, worker, still, entries: Vec::new() }
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
        match (io.op, job.territories.get(io.part as usize)) {
            (Op::Write, Some(territory)) => {
                let units = territory.units_of(io.offset_bytes, io.len);
                units.for_each(|unit| territory.end(unit, succeeded));
            }
            (Op::Read, Some(territory)) if succeeded && before.is_some() => {
                // If no write was in progress at any time since before the read began, the read has seen what is known
                // now. The entries are read only once, because more writes may begin a moment later.
                let units = territory.units_of(io.offset_bytes, io.len);
                if territory.look(units.clone(), &mut self.entries) == before {
                    let entries = self.entries.iter().map(|entry| territory.known_of(*entry));
                    let units = units.zip(data.chunks_exact_mut(unit_bytes));
                    for ((number, unit), known) in units.zip(entries) {
                        job.judge_known(territory, number, unit, known);
                    }
                }
            }
            (Op::Read, None) if succeeded && before.is_some() => {
                let part = job.parts.get(io.part as usize).copied().unwrap_or(io.part);
                let offsets = (io.offset_bytes..).step_by(unit_bytes);
                for (offset_bytes, unit) in offsets.zip(data.chunks_exact_mut(unit_bytes)) {
                    job.judge(unit, UnitPlace { part, offset_bytes }, job.expected);
                }
            }
            _ => {}
        }
        !job.findings.is_over()
    }
}
