//! What a worker waits for and for how long, and whether it goes on at all.

use super::pauses::Pauses;
use super::schedule::Pacer;
use super::{EMPTY, FAILURES_TO_GIVE_UP, Slot, Turn, WorkerState};
use crate::engine::Op;

/// Sleeps end this long before an arrival is due and the rest is spent polling: a timer wakes a
/// thread tens of microseconds late, which would be counted as the device's response time.
const POLL_BEFORE_ARRIVAL_NS: u64 = 60_000;
/// A worker looks up this often though its next arrival is further away.
const LONGEST_SLEEP_NS: u64 = 10_000_000;

impl WorkerState {
    /// How many completions to wait for in this turn, and for how long at most.
    #[inline(always)]
    pub(super) fn patience(&mut self) -> (u32, Option<u64>) {
        self.polls = false;
        if self.open_pacer().is_none() {
            return (self.completions_wanted(), self.pause_left_ns());
        }
        // Handing over may take long, and meanwhile the next arrival is for whoever is idle.
        if self.queued {
            return (0, None);
        }
        let due_ns = self.pacer.as_mut().and_then(Pacer::reserve).unwrap_or(u64::MAX);
        let rest_ns = due_ns.saturating_sub(self.clock_ns);
        if rest_ns <= POLL_BEFORE_ARRIVAL_NS {
            self.polls = true;
            return (0, None);
        }
        let wait = self.outstanding.min(1);
        (wait, Some((rest_ns - POLL_BEFORE_ARRIVAL_NS).min(LONGEST_SLEEP_NS)))
    }

    /// The pacer of a worker that has room for another arrival, in an open loop.
    #[inline(always)]
    pub(super) fn open_pacer(&self) -> Option<&Pacer> {
        let pacer = self.pacer.as_ref()?;
        let room = self.outstanding < self.queue_depth
            && !self.begins_no_more()
            && self.pauses_allow_more();
        (room && !pacer.is_closed_loop()).then_some(pacer)
    }

    /// How many completions to wait for where nothing else can happen; with room for arrivals any
    /// one will do.
    #[inline(always)]
    pub(super) fn completions_wanted(&self) -> u32 {
        if self.open_pacer().is_some() {
            return self.outstanding.min(1);
        }
        if self.has_more_to_submit() {
            return 0;
        }
        self.batch.complete_min.min(self.outstanding)
    }

    /// True where the batch of the last turn was smaller than the room there was.
    #[inline(always)]
    pub(super) fn has_more_to_submit(&self) -> bool {
        self.batch.submit != 0
            && self.outstanding < self.queue_depth
            && self.quota_is_left()
            && self.pauses_allow_more()
    }

    pub(super) fn state(&mut self) -> Turn {
        if self.outstanding > 0 {
            return Turn::Going;
        }
        if self.begins_no_more() {
            return if self.begin_closing_sync() { Turn::Going } else { Turn::Finished };
        }
        let scheduled = self.pacer.as_ref().is_some_and(|p| p.due_ns().is_some());
        let goes_on = scheduled || self.paused_until_ns().is_some();
        if goes_on && self.queue_depth > 0 { Turn::Going } else { Turn::Resting }
    }

    /// True where the worker begins no more reads and writes.
    #[inline(always)]
    pub(super) fn begins_no_more(&self) -> bool {
        self.stopping
            || !self.quota_is_left()
            || self.failures >= FAILURES_TO_GIVE_UP
            || self.pauses.as_ref().is_some_and(Pauses::is_over)
    }

    /// Decides on the sync of the next part, of a worker that ends with syncs; false where none is
    /// left to do.
    #[cold]
    fn begin_closing_sync(&mut self) -> bool {
        if self.closing_syncs == 0 {
            return false;
        }
        let Some(slot) = self.free.pop() else { return false };
        self.closing_syncs -= 1;
        let (op, part) = (Op::Sync, self.closing_syncs);
        self.slots[slot as usize] = Slot { op, part, intended_ns: self.clock_ns, ..EMPTY };
        self.again.push(slot);
        true
    }

    #[inline(always)]
    pub(super) fn quota_is_left(&self) -> bool {
        self.quota.as_ref().is_none_or(|quota| quota.is_left())
    }

    /// True where no pause is under way or due.
    #[inline(always)]
    fn pauses_allow_more(&self) -> bool {
        self.pauses.as_ref().is_none_or(|pauses| pauses.room(self.outstanding, self.ios) > 0)
    }

    /// End of the pause under way, of a worker that has more to do behind it.
    pub(super) fn paused_until_ns(&self) -> Option<u64> {
        let until_ns = self.pauses.as_ref()?.until_ns();
        until_ns.filter(|_| !self.begins_no_more())
    }

    /// How long to sleep in a pause; `None` outside of one, and where so little of it is left that
    /// it is spent polling.
    #[inline(always)]
    fn pause_left_ns(&self) -> Option<u64> {
        let until_ns = self.pauses.as_ref()?.until_ns()?;
        let rest_ns = until_ns.saturating_sub(self.clock_ns);
        (rest_ns > POLL_BEFORE_ARRIVAL_NS)
            .then(|| (rest_ns - POLL_BEFORE_ARRIVAL_NS).min(LONGEST_SLEEP_NS))
    }
}
