//! Pauses of iogauge itself. Each window is checked for them, and what they affected is left out of all figures. A
//! caveat reports them.

use crate::error::LabError;
use crate::observe::Interrupt;
use iogauge_io::pool::{Paused, WorkerPool};
use iogauge_io::worker::accounting::Window;
use iogauge_model::caveat::{Fact, MachineFact, PauseFact};

/// Maximum wait for I/Os that were outstanding during a pause.
const SETTLING_NS: u64 = 10_000_000_000;
/// Interval between two checks during that wait.
const LOOK_NS: u64 = 25_000_000;
/// Maximum number of consecutive pauses that are handled while I/Os complete. A further one is found after the next
/// window.
const IN_A_ROW: u32 = 3;

/// Pauses in a measurement, and what is left out because of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pauses {
    pub paused: Paused,
    /// Number of reads and writes left out.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Time left out, on the pool's clock, in nanoseconds: the pauses, the windows that contain them, and the wait for
    /// outstanding I/Os.
    pub left_out_ns: u64,
    /// Number of points of a search that were measured again.
    pub repeats: u32,
}

impl Pauses {
    /// Checks the window that has just ended and began at `since_ns` for pauses. If there is one, leaves out the window
    /// and everything until the I/Os outstanding during the pause have completed. Returns true in that case: another
    /// window has begun.
    ///
    /// # Errors
    /// If a worker's engine fails.
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

    /// Waits for the I/Os that were outstanding during a pause.
    fn settle(&mut self, pool: &mut dyn WorkerPool, interrupt: &Interrupt) -> Result<(), LabError> {
        // Arrivals that came due during the pause would be served in a burst and delay later ones.
        pool.hold_back_arrivals(true);
        // Separates what is outstanding now from what is issued later.
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

    /// Returns the time left out in which iogauge was not paused, in nanoseconds.
    pub(crate) fn worked_ns(&self) -> u64 {
        self.left_out_ns.saturating_sub(self.paused.ns)
    }

    /// Adds the pauses of a later measurement.
    pub(crate) fn add(&mut self, others: &Self) {
        self.paused.add(others.paused);
        self.ios += others.ios;
        self.bytes += others.bytes;
        self.left_out_ns += others.left_out_ns;
        self.repeats += others.repeats;
    }
}

/// Returns the pauses of the process that does the I/O, which are left out of the figures. `seconds` is the time that
/// the figures cover.
#[must_use]
pub(crate) fn fact(pauses: &Pauses, via_fio: bool, seconds: f64) -> Option<Fact> {
    let Pauses { paused, ios, left_out_ns, repeats, .. } = *pauses;
    paused_fact(paused, via_fio, seconds, Some((ios, left_out_ns, repeats)))
}

/// Returns the pauses that are included in figures that cover `seconds`.
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
