//! Intended start times of scheduled I/Os: one schedule for all workers of a job.

use crate::engine::Op;
use crate::offsets::mix64;
use iogauge_model::load::{ArrivalProcess, RatedDirection};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The unit of positions is 2⁻⁸ ns: a gap of 333⅓ ns has an error of 10⁻⁵, and a run may last two years.
const FRACTION_BITS: u32 = 8;
/// Position if no more arrivals come.
const NEVER: u64 = u64::MAX;
/// A backlog is counted arrival by arrival up to this number and estimated beyond it. Otherwise, at a rate far above
/// what the target can do, the controller would never finish counting.
const COUNTED_ONE_BY_ONE: u64 = 65_536;
/// Position if there is an arrival whenever there is room for it: a closed loop.
const ALWAYS: u64 = 0;

/// The arrivals of one job, in the order they are due. Any of its workers takes the next one, so they serve one queue.
/// The schedule does not depend on completions: an I/O that could not be issued in time keeps its intended start. A
/// backlog of any size costs no memory.
///
/// The whole state is the position of the next arrival. The gap after an arrival is drawn from a hash of its position,
/// so a position determines all that follow. Taking an arrival is a single compare-exchange, and the controller counts
/// what was due without asking the workers.
#[derive(Debug)]
pub(crate) struct Schedule {
    next: AtomicU64,
    /// Mean gap in units of positions, as the bits of an `f64`.
    gap_bits: AtomicU64,
    /// Number of restarts.
    epoch: AtomicU32,
    process: ArrivalProcess,
    seed: u64,
    base_ns: u64,
}

impl Schedule {
    /// Creates a schedule without arrivals. `base_ns` is the current time.
    pub(crate) fn new(process: ArrivalProcess, seed: u64, base_ns: u64) -> Self {
        Self {
            next: AtomicU64::new(NEVER),
            gap_bits: AtomicU64::new(f64::INFINITY.to_bits()),
            epoch: AtomicU32::new(0),
            process,
            seed,
            base_ns,
        }
    }

    /// Restarts from `now_ns` and drops arrivals that were due and not taken. `None` means a closed loop: an arrival
    /// whenever a worker has room. Returns the position of the first arrival. Only the controller calls this.
    pub(crate) fn restart(&self, rate_iops: Option<f64>, now_ns: u64) -> u64 {
        let next = match rate_iops {
            None => ALWAYS,
            Some(rate) if rate > 0.0 => {
                let gap = 1e9 / rate * f64::from(1u32 << FRACTION_BITS);
                self.gap_bits.store(gap.to_bits(), Ordering::Relaxed);
                let now = (now_ns.saturating_sub(self.base_ns) << FRACTION_BITS).max(1);
                match self.process {
                    // Jobs with the same rate must not run in step, so each starts at its own phase.
                    ArrivalProcess::Linear => now + (self.draw(now) * gap) as u64,
                    ArrivalProcess::Poisson => self.after(now),
                }
            }
            Some(_) => NEVER,
        };
        // A worker that sees the new position also sees its gap. One that still has the old position fails to take it.
        self.next.store(next, Ordering::Release);
        self.epoch.fetch_add(1, Ordering::Release);
        next
    }

    /// Returns a uniform draw from (0, 1] for a position.
    #[inline(always)]
    fn draw(&self, position: u64) -> f64 {
        let hash = mix64(self.seed ^ position.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        ((hash >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns the position of the arrival after this one.
    #[inline(always)]
    fn after(&self, position: u64) -> u64 {
        let mean = f64::from_bits(self.gap_bits.load(Ordering::Relaxed));
        let gap = match self.process {
            ArrivalProcess::Linear => mean,
            ArrivalProcess::Poisson => -self.draw(position).ln() * mean,
        };
        position.saturating_add((gap.round() as u64).max(1))
    }

    #[inline(always)]
    fn time_ns(&self, position: u64) -> u64 {
        if position == NEVER {
            return u64::MAX;
        }
        self.base_ns + (position >> FRACTION_BITS)
    }

    /// Takes the next arrival if it is due, and returns its intended start.
    #[inline(always)]
    fn take_due(&self, now_ns: u64) -> Option<u64> {
        let mut next = self.next.load(Ordering::Acquire);
        loop {
            if next == ALWAYS {
                return Some(now_ns);
            }
            if self.time_ns(next) > now_ns {
                return None;
            }
            match self.advance(next) {
                Ok(due_ns) => return Some(due_ns),
                Err(meanwhile) => next = meanwhile,
            }
        }
    }

    /// Takes the next arrival, whether due or not; `None` if there is none to wait for.
    fn take_next(&self) -> Option<u64> {
        let mut next = self.next.load(Ordering::Acquire);
        loop {
            if next == ALWAYS || next == NEVER {
                return None;
            }
            match self.advance(next) {
                Ok(due_ns) => return Some(due_ns),
                Err(meanwhile) => next = meanwhile,
            }
        }
    }

    #[inline(always)]
    fn advance(&self, next: u64) -> Result<u64, u64> {
        let after = self.after(next);
        self.next
            .compare_exchange_weak(next, after, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| self.time_ns(next))
    }

    /// Returns how many arrivals are due and not taken, estimated from the mean gap. Zero is exact.
    #[inline(always)]
    pub(crate) fn backlog(&self, now_ns: u64) -> u64 {
        let next = self.position();
        if next == ALWAYS { 0 } else { self.about(next, now_ns) }
    }

    /// Returns the position of the next arrival, where [`Self::count_due`] can start.
    pub(crate) fn position(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    /// Counts the arrivals that are due by `until_ns`, from a position on. Takes about 10 ns for each one that was
    /// taken, and at most 1 ms for those that wait.
    pub(crate) fn count_due(&self, position: u64, until_ns: u64) -> Due {
        let next = self.position();
        let mut due = Due { taken: 0, waiting: 0, next: position };
        if position == ALWAYS {
            return due;
        }
        while due.next < next && self.time_ns(due.next) <= until_ns {
            due.next = self.after(due.next);
            due.taken += 1;
        }
        let mut at = due.next;
        while due.waiting < COUNTED_ONE_BY_ONE && self.time_ns(at) <= until_ns {
            at = self.after(at);
            due.waiting += 1;
        }
        due.waiting += self.about(at, until_ns);
        due
    }

    /// Estimates from the mean gap how many arrivals are due from a position on. Zero is exact.
    #[inline(always)]
    fn about(&self, position: u64, until_ns: u64) -> u64 {
        let due_ns = self.time_ns(position);
        if due_ns > until_ns {
            return 0;
        }
        let mean = f64::from_bits(self.gap_bits.load(Ordering::Relaxed));
        let late = (until_ns - due_ns) as f64 * f64::from(1u32 << FRACTION_BITS);
        1 + (late / mean) as u64
    }
}

/// Arrivals due at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    /// Taken by workers.
    pub(crate) taken: u64,
    /// Not taken yet. A very large number is estimated from the mean gap.
    pub(crate) waiting: u64,
    /// Position after those taken.
    pub(crate) next: u64,
}

/// One worker's access to its job's schedule.
///
/// A worker that is about to sleep reserves the next arrival and sleeps until that one is due. So each arrival wakes
/// one worker, the next idle worker waits for the arrival after it, and each polls only for its own.
#[derive(Debug)]
pub(crate) struct Pacer {
    schedule: Arc<Schedule>,
    /// The direction that arrives, if only one does. I/Os of the other one then take all other room, as in a closed
    /// loop.
    only: Option<Op>,
    reserved: Option<Reserved>,
}

#[derive(Debug, Clone, Copy)]
struct Reserved {
    due_ns: u64,
    epoch: u32,
}

impl Pacer {
    pub(crate) fn new(schedule: Arc<Schedule>, only: Option<RatedDirection>) -> Self {
        let only = only.map(|only| match only {
            RatedDirection::Read => Op::Read,
            RatedDirection::Write => Op::Write,
        });
        Self { schedule, only, reserved: None }
    }

    /// Takes the next I/O that may begin now. Returns its intended start, and its direction if that is not for the
    /// worker to choose.
    #[inline(always)]
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<(u64, Option<Op>)> {
        match (self.take_due(now_ns), self.only) {
            (Some(due_ns), only) => Some((due_ns, only)),
            (None, Some(Op::Write)) => Some((now_ns, Some(Op::Read))),
            (None, Some(_)) => Some((now_ns, Some(Op::Write))),
            (None, None) => None,
        }
    }

    /// Takes the next arrival if it is due, and returns its intended start. In a closed loop, there is always one.
    #[inline(always)]
    fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        match self.reserved {
            Some(reserved) if reserved.due_ns > now_ns => None,
            Some(reserved) => {
                self.reserved = None;
                Some(reserved.due_ns)
            }
            None => self.schedule.take_due(now_ns),
        }
    }

    /// Reserves the next arrival and returns when it is due; `None` if there is none.
    pub(crate) fn reserve(&mut self) -> Option<u64> {
        if self.reserved.is_none() {
            let epoch = self.schedule.epoch.load(Ordering::Acquire);
            let due_ns = self.schedule.take_next();
            self.reserved = due_ns.map(|due_ns| Reserved { due_ns, epoch });
        }
        self.reserved.map(|reserved| reserved.due_ns)
    }

    /// Returns when the next arrival that this worker could take is due; `None` if there is none.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        let next = self.schedule.position();
        let scheduled = next != ALWAYS && next != NEVER;
        let due_ns = scheduled.then(|| self.schedule.time_ns(next));
        self.reserved.map(|reserved| reserved.due_ns).or(due_ns)
    }

    /// Returns true if only completions make room for the next I/O.
    #[inline(always)]
    pub(crate) fn is_closed_loop(&self) -> bool {
        self.only.is_some() || self.schedule.position() == ALWAYS
    }

    /// Gives up the reservation if the schedule was restarted or the worker's queue depth is 0.
    pub(crate) fn review(&mut self, queue_depth: u32) {
        let epoch = self.schedule.epoch.load(Ordering::Acquire);
        self.reserved = self.reserved.filter(|reserved| queue_depth > 0 && reserved.epoch == epoch);
    }

    /// Estimates how many arrivals of the job are due and not taken.
    #[inline(always)]
    pub(crate) fn backlog(&self, now_ns: u64) -> u64 {
        self.schedule.backlog(now_ns)
    }
}

#[cfg(test)]
mod tests;
