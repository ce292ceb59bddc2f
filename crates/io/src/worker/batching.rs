//! The number of I/Os that a worker takes back and submits in one call, if the load does not specify it.
//!
//! If the device is faster than the processor, few system calls are best: one call takes all completions and submits as
//! many I/Os. If the device is slower, each I/O should be submitted as soon as there is room for it: batches complete
//! as batches, and the device is idle in between. The thread itself shows which is the case, because it sleeps if the
//! device is slower. So a worker with time to spare takes completions one by one and submits the next I/O after each.
//! It returns to batches when that takes all of its time.

use crate::machine::ThreadUse;
use iogauge_model::load::Batch;

/// Time between two reviews.
const REVIEW_NS: u64 = 5_000_000;
/// A thread that is busy for less than this share of the time can afford more system calls.
const SPARE: f64 = 0.8;
/// A thread that is busy for more than this share cannot.
const BUSY: f64 = 0.95;
/// A thread that ran out of time works in batches for this long, and twice as long each time this recurs.
const SHORTEST_BATCHES_NS: u64 = 50_000_000;
const LONGEST_BATCHES_NS: u64 = 5_000_000_000;

/// The batches of a worker.
#[derive(Debug)]
pub(super) struct Batching {
    /// Maximum number of I/Os submitted per call; 0 for as many as there is room for.
    pub(super) submit: u32,
    pub(super) complete_min: u32,
    /// Maximum number of completions taken per call; 0 for all. This is what adapts.
    pub(super) complete_max: u32,
    /// Time of the next review; never if the load specifies the batches.
    review_ns: u64,
    /// Time of the last review, and what the thread had used by then; `None` before the first.
    reviewed: Option<(u64, ThreadUse)>,
    /// Until when batches stay in use, and for how long they did the last time.
    batches_until_ns: u64,
    batches_ns: u64,
}

impl Batching {
    /// Uses the batches of the load, or batches that adapt from now on.
    pub(super) fn new(batch: Batch, adapts: bool, now_ns: u64) -> Self {
        let adapts = adapts && batch == Batch::default();
        let Batch { submit, complete_min, complete_max } = batch;
        Self {
            submit,
            complete_min,
            complete_max,
            review_ns: if adapts { now_ns } else { u64::MAX },
            reviewed: None,
            batches_until_ns: 0,
            batches_ns: 0,
        }
    }

    #[inline(always)]
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.review_ns
    }

    /// Decides again, based on the thread's activity since the last review. In an open loop, arrivals start I/Os and
    /// completions do not, so all completions are taken.
    #[cold]
    pub(super) fn review(&mut self, now_ns: u64, closed_loop: bool) {
        if closed_loop {
            self.decide(ThreadUse::now(), now_ns);
        } else {
            *self = Self { review_ns: now_ns + REVIEW_NS, ..Self::new(Batch::default(), true, 0) };
        }
    }

    fn decide(&mut self, used: ThreadUse, now_ns: u64) {
        self.review_ns = now_ns + REVIEW_NS;
        let Some((before_ns, before)) = self.reviewed.replace((now_ns, used)) else { return };
        let elapsed_ns = now_ns.saturating_sub(before_ns);
        let busy = used.cpu_ns.saturating_sub(before.cpu_ns) as f64 / elapsed_ns as f64;
        // A thread that waits for a processor also uses little processor time, but does not sleep.
        let sleeps = used.sleeps > before.sleeps;
        if self.complete_max == 0 {
            if sleeps && busy < SPARE && now_ns >= self.batches_until_ns {
                self.complete_max = 1;
            }
        } else if !sleeps || busy > BUSY {
            self.complete_max = 0;
            let recent = now_ns < self.batches_until_ns + LONGEST_BATCHES_NS;
            let again_ns = if recent { self.batches_ns * 2 } else { 0 };
            self.batches_ns = again_ns.clamp(SHORTEST_BATCHES_NS, LONGEST_BATCHES_NS);
            self.batches_until_ns = now_ns + self.batches_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that is reviewed repeatedly.
    struct Thread {
        batching: Batching,
        now_ns: u64,
        used: ThreadUse,
    }

    impl Thread {
        fn new(batch: Batch) -> Self {
            Self { batching: Batching::new(batch, true, 0), now_ns: 0, used: ThreadUse::default() }
        }

        /// Lets this many milliseconds pass. Returns after how many of the reviews completions were taken one by one.
        fn passes(&mut self, ms: u64, busy: impl Fn(bool) -> f64, sleeps: bool) -> u32 {
            let mut single = 0;
            for _ in 0..ms / 5 {
                self.now_ns += REVIEW_NS;
                self.used.cpu_ns +=
                    (busy(self.batching.complete_max == 1) * REVIEW_NS as f64) as u64;
                self.used.sleeps += u64::from(sleeps);
                self.batching.decide(self.used, self.now_ns);
                single += u32::from(self.batching.complete_max == 1);
            }
            single
        }
    }

    #[test]
    fn slow_device_gets_ios_submitted_immediately() {
        let mut thread = Thread::new(Batch::default());
        assert!(thread.passes(1000, |_| 0.3, true) >= 198);
    }

    #[test]
    fn fast_device_gets_batched_submissions() {
        let mut thread = Thread::new(Batch::default());
        assert_eq!(thread.passes(1000, |_| 1.0, false), 0);
        // A thread that waits for a processor is not idle either.
        assert_eq!(thread.passes(1000, |_| 0.5, false), 0);
    }

    /// Batches leave time to spare, single calls do not.
    #[test]
    fn single_submission_is_retried_less_often_if_cpu_bound() {
        let mut thread = Thread::new(Batch::default());
        let busy = |single| if single { 1.0 } else { 0.6 };
        assert!(thread.passes(1000, busy, true) <= 10);
        assert!(thread.passes(60_000, busy, true) <= 30);
        // The device may become slower.
        assert!(thread.passes(10_000, |_| 0.2, true) > 1000);
    }

    #[test]
    fn open_loop_disables_completion_batching() {
        let mut thread = Thread::new(Batch::default());
        thread.passes(100, |_| 0.3, true);
        thread.batching.review(thread.now_ns, false);
        assert_eq!((thread.batching.complete_max, thread.batching.reviewed), (0, None));
        assert!(thread.batching.is_due(thread.now_ns + REVIEW_NS), "the loop may close again");
    }

    #[test]
    fn explicit_batch_settings_are_not_changed() {
        let typed = Batch { submit: 16, complete_min: 8, complete_max: 32 };
        let batching = Batching::new(typed, true, 0);
        assert!(!batching.is_due(u64::MAX - 1));
        assert!(!Batching::new(Batch::default(), false, 0).is_due(u64::MAX - 1));
    }
}
