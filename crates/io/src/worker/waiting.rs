//! How long a worker waits, for what, and whether it continues.

use super::pauses::Pauses;
use super::schedule::Pacer;
use super::{EMPTY, FAILURES_TO_GIVE_UP, Slot, Turn, WorkerState};
use crate::engine::Op;

/// Sleeps end this long before an arrival is due, and the worker polls for the rest of the time. A timer wakes a thread
/// tens of microseconds late, which would count as response time of the device.
const POLL_BEFORE_ARRIVAL_NS: u64 = 60_000;
/// Maximum length of a sleep, even if the next arrival is later.
const LONGEST_SLEEP_NS: u64 = 10_000_000;

impl WorkerState {
    /// Returns how many completions to wait for in this turn, and for how long at most.
    #[inline(always)]
    pub(super) fn patience(&mut self) -> (u32, Option<u64>) {
        self.polls = false;
        if self.open_pacer().is_none() {
            return (self.completions_wanted(), self.pause_left_ns());
        }
        // Submission may take long. Meanwhile, idle workers can take the next arrival.
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

    /// Returns the pacer, if the loop is open and the worker has room for another arrival.
    #[inline(always)]
    pub(super) fn open_pacer(&self) -> Option<&Pacer> {
        let pacer = self.pacer.as_ref()?;
        let room = self.outstanding < self.queue_depth
            && !self.begins_no_more()
            && self.pauses_allow_more();
        (room && !pacer.is_closed_loop()).then_some(pacer)
    }

    /// Returns how many completions to wait for if nothing else can happen. With room for arrivals, one is enough.
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

    /// Returns true if the batch of the last turn was smaller than the room there was.
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

    /// Returns true if the worker begins no more reads and writes.
    #[inline(always)]
    pub(super) fn begins_no_more(&self) -> bool {
        self.stopping
            || !self.quota_is_left()
            || self.failures >= FAILURES_TO_GIVE_UP
            || self.pauses.as_ref().is_some_and(Pauses::is_over)
    }

    /// Queues the sync of the next part, for a worker that ends with syncs. Returns false if none is left to do.
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

    /// Returns true if no pause is in progress or due.
    #[inline(always)]
    fn pauses_allow_more(&self) -> bool {
        self.pauses.as_ref().is_none_or(|pauses| pauses.room(self.outstanding, self.ios) > 0)
    }

    /// Returns the end of the current pause, if the worker has more to do after it.
    pub(super) fn paused_until_ns(&self) -> Option<u64> {
        let until_ns = self.pauses.as_ref()?.until_ns();
        until_ns.filter(|_| !self.begins_no_more())
    }

    /// Returns how long to sleep in a pause; `None` outside of pauses, or if so little of the pause is left that the
    /// worker polls.
    #[inline(always)]
    fn pause_left_ns(&self) -> Option<u64> {
        let until_ns = self.pauses.as_ref()?.until_ns()?;
        let rest_ns = until_ns.saturating_sub(self.clock_ns);
        (rest_ns > POLL_BEFORE_ARRIVAL_NS)
            .then(|| (rest_ns - POLL_BEFORE_ARRIVAL_NS).min(LONGEST_SLEEP_NS))
    }
}
