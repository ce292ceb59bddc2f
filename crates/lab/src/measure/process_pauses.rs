//! Pauses of iogauge itself. They are looked for after each window, and what they touched is left out
//! of every figure; a caveat says so.

use crate::error::LabError;
use crate::observe::Interrupt;
use iogauge_io::pool::{Paused, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::caveat::{Fact, MachineFact, PauseFact};

/// Longest wait for I/Os that were outstanding over a pause.
const SETTLING_NS: u64 = 10_000_000_000;
/// Time between two looks meanwhile.
const LOOK_NS: u64 = 25_000_000;
/// Pauses that follow each other while I/Os come back; a further one is seen after the next window.
const IN_A_ROW: u32 = 3;

/// Pauses in a measurement, and what is in no figure because of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pauses {
    pub paused: Paused,
    /// Reads and writes that are left out.
    pub ios: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Time that is left out, on the pool's clock, in nanoseconds: the pauses, the windows they lie in,
    /// and the wait for what was outstanding.
    pub left_out_ns: u64,
    /// Points of a search that were measured again.
    pub repeats: u32,
}

impl Pauses {
    /// Looks for pauses in the window that has just ended and began at `since_ns`. Where there is one,
    /// leaves out the window, and all that is done until the I/Os outstanding over the pause have come
    /// back. True in that case: another window has begun.
    ///
    /// # Errors
    /// Where a worker's engine fails.
    pub(crate) fn leave_out(
        &mut self,
        pool: &mut dyn WorkerPool,
        window: &Window,
        since_ns: u64,
        interrupt: &Interrupt,
    ) -> Result<bool, LabError> {
        let mut new = pool.take_pauses();
        if new.times == 0 {
            return Ok(false);
        }
        self.note(window);
        for _ in 0..IN_A_ROW {
            self.paused.add(new);
            self.settle(pool, interrupt)?;
            new = pool.take_pauses();
            if new.times == 0 {
                break;
            }
        }
        self.paused.add(new);
        self.left_out_ns += pool.now_ns().saturating_sub(since_ns);
        Ok(true)
    }

    /// Lets what was outstanding over a pause come back.
    fn settle(&mut self, pool: &mut dyn WorkerPool, interrupt: &Interrupt) -> Result<(), LabError> {
        // What came due in the pause would be served in a burst, and what comes due now behind it.
        pool.hold_back_arrivals(true);
        // What is outstanding now is kept apart from what is issued from here on.
        self.note(&pool.take_window()?);
        let end_ns = pool.now_ns().saturating_add(SETTLING_NS);
        loop {
            pool.advance(LOOK_NS)?;
            if pool.drained() || pool.finished() || pool.now_ns() >= end_ns || interrupt.is_set() {
                break;
            }
        }
        pool.hold_back_arrivals(false);
        self.note(&pool.take_window()?);
        Ok(())
    }

    /// Counts a window that is left out.
    fn note(&mut self, window: &Window) {
        self.ios += window.ios();
        self.bytes += window.bytes();
    }

    /// Time left out in which iogauge was not paused, in nanoseconds.
    pub(crate) fn worked_ns(&self) -> u64 {
        self.left_out_ns.saturating_sub(self.paused.ns)
    }

    /// Adds those of a measurement that followed.
    pub(crate) fn add(&mut self, others: &Self) {
        self.paused.add(others.paused);
        self.ios += others.ios;
        self.bytes += others.bytes;
        self.left_out_ns += others.left_out_ns;
        self.repeats += others.repeats;
    }
}

/// Pauses of those who do the I/O, which are left out of figures of so many seconds.
#[must_use]
pub(crate) fn fact(pauses: &Pauses, via_fio: bool, seconds: f64) -> Option<Fact> {
    let Pauses { paused, ios, left_out_ns, repeats, .. } = *pauses;
    paused_fact(paused, via_fio, seconds, Some((ios, left_out_ns, repeats)))
}

/// Pauses that are in the figures of so many seconds.
#[must_use]
pub(crate) fn fact_within(paused: Paused, seconds: f64) -> Option<Fact> {
    paused_fact(paused, true, seconds, None)
}

fn paused_fact(
    paused: Paused,
    via_fio: bool,
    seconds: f64,
    left_out: Option<(u64, u64, u32)>,
) -> Option<Fact> {
    let Paused { times, ns: paused_ns, .. } = paused;
    let fact = PauseFact { via_fio, times, paused_ns, seconds, left_out };
    (times > 0).then(|| MachineFact::Paused(fact).into())
}
