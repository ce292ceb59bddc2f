//! Times in which a worker issues or counts no I/Os: fio's `startdelay`, `thinktime`, and the `ramp_time` and `runtime`
//! of a job that has its own.

use iogauge_model::load::Load;

/// The pauses of one worker.
#[derive(Debug)]
pub(super) struct Pauses {
    delay_ns: u64,
    /// Ramp after the delay, in which I/Os are not counted.
    ramp_ns: u64,
    /// Time after the ramp, at the end of which no I/O begins any more.
    runtime_ns: u64,
    think_ns: u64,
    /// Number of reads and writes between two pauses.
    blocks: u64,
    /// Number of reads and writes completed when the last pause ended.
    done_before: u64,
    /// End of the current pause.
    until_ns: Option<u64>,
    /// When the worker starts to count; `None` once it counts.
    counts_from_ns: Option<u64>,
    /// When the worker stops issuing I/Os.
    ends_ns: u64,
    /// True once that time has passed.
    over: bool,
}

impl Pauses {
    /// Returns the pauses of a load; `None` if it has none.
    pub(super) fn of(load: &Load) -> Option<Self> {
        let think_ns = load.thinktime.map_or(0, |thinktime| thinktime.pause_ns);
        let own = load.own_time;
        (think_ns > 0 || load.startdelay_ns > 0 || own.is_some()).then(|| Self {
            delay_ns: load.startdelay_ns,
            ramp_ns: own.map_or(0, |own| own.ramp_ns),
            runtime_ns: own.and_then(|own| own.runtime_ns).unwrap_or(u64::MAX),
            think_ns,
            blocks: load.thinktime.map_or(u64::MAX, |thinktime| thinktime.blocks.into()),
            done_before: 0,
            until_ns: None,
            counts_from_ns: None,
            ends_ns: u64::MAX,
            over: false,
        })
    }

    /// Starts with the start delay.
    pub(super) fn begin(&mut self, now_ns: u64) {
        let begin_ns = now_ns.saturating_add(self.delay_ns);
        self.until_ns = Some(begin_ns).filter(|begin_ns| *begin_ns > now_ns);
        let ramped_ns = begin_ns.saturating_add(self.ramp_ns);
        self.counts_from_ns = Some(ramped_ns).filter(|ramped_ns| *ramped_ns > now_ns);
        self.ends_ns = ramped_ns.saturating_add(self.runtime_ns);
    }

    /// Ends the current pause if its time is over. Starts one if no I/O is in progress and enough were done since the
    /// last. Returns true if the worker counts from now on.
    pub(super) fn review(&mut self, begun: u32, done: u64, now_ns: u64) -> bool {
        match self.until_ns {
            Some(until_ns) if until_ns > now_ns => {}
            Some(_) => {
                self.until_ns = None;
                self.done_before = done;
            }
            None => {
                if begun == 0 && done - self.done_before >= self.blocks {
                    self.until_ns = Some(now_ns.saturating_add(self.think_ns));
                }
            }
        }
        let counts = self.counts_from_ns.take_if(|from_ns| *from_ns <= now_ns).is_some();
        if counts {
            // A worker that woke up late still gets all of its time.
            self.ends_ns = now_ns.saturating_add(self.runtime_ns);
        }
        self.over = now_ns >= self.ends_ns;
        counts
    }

    /// Returns how many I/Os may begin before the next pause, after `begun` in progress and `done` completed ones.
    pub(super) fn room(&self, begun: u32, done: u64) -> u32 {
        if self.until_ns.is_some() || self.over {
            return 0;
        }
        let used = done - self.done_before + u64::from(begun);
        u32::try_from(self.blocks.saturating_sub(used)).unwrap_or(u32::MAX)
    }

    /// Returns the end of the current pause.
    pub(super) fn until_ns(&self) -> Option<u64> {
        self.until_ns
    }

    /// Returns true if the worker has not started yet, or is in its ramp.
    pub(super) fn is_uncounted(&self) -> bool {
        self.counts_from_ns.is_some()
    }

    /// Returns true if the worker issues no more I/Os.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Returns when the worker starts to count, or else when it stops issuing I/Os; `None` if neither is still to come.
    pub(super) fn turns_ns(&self) -> Option<u64> {
        let ends_ns = Some(self.ends_ns).filter(|ends_ns| *ends_ns < u64::MAX && !self.over);
        self.counts_from_ns.or(ends_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::{OwnTime, Thinktime};

    #[test]
    fn thinktime_pauses_after_requested_number_of_ios() {
        assert!(Pauses::of(&Load::default()).is_none());
        let thinktime = Some(Thinktime { pause_ns: 100, blocks: 3 });
        let mut pauses = Pauses::of(&Load { thinktime, ..Load::default() }).unwrap();
        pauses.begin(0);
        assert!(!pauses.review(0, 0, 0));
        assert_eq!((pauses.room(0, 0), pauses.room(2, 0), pauses.room(1, 2)), (3, 1, 0));
        // Three I/Os are done, but a sync is still outstanding.
        pauses.review(1, 3, 10);
        assert_eq!(pauses.until_ns(), None);
        pauses.review(0, 3, 20);
        assert_eq!((pauses.until_ns(), pauses.room(0, 3)), (Some(120), 0));
        pauses.review(0, 3, 119);
        assert_eq!(pauses.room(0, 3), 0);
        assert!(!pauses.review(0, 3, 120));
        assert_eq!((pauses.room(0, 3), pauses.room(1, 4)), (3, 1));
    }

    #[test]
    fn start_delay_applies_only_once() {
        let mut pauses = Pauses::of(&Load { startdelay_ns: 50, ..Load::default() }).unwrap();
        pauses.begin(1000);
        assert!(!pauses.review(0, 0, 1049) && pauses.is_uncounted());
        assert_eq!((pauses.room(0, 0), pauses.until_ns()), (0, Some(1050)));
        assert!(pauses.review(0, 0, 1060));
        assert_eq!((pauses.room(0, 0), pauses.is_uncounted()), (u32::MAX, false));
        assert!(!pauses.review(0, 1_000_000, 2000));
        assert_eq!((pauses.until_ns(), pauses.turns_ns()), (None, None));
    }

    #[test]
    fn ramp_and_runtime_count_from_end_of_start_delay() {
        let own_time = Some(OwnTime { ramp_ns: 20, runtime_ns: Some(30) });
        let load = Load { startdelay_ns: 50, own_time, ..Load::default() };
        let mut pauses = Pauses::of(&load).unwrap();
        pauses.begin(1000);
        assert!(!pauses.review(0, 0, 1050) && pauses.is_uncounted());
        assert_eq!((pauses.room(0, 0), pauses.turns_ns()), (u32::MAX, Some(1070)));
        assert!(pauses.review(1, 9, 1070) && !pauses.is_uncounted());
        assert!(!pauses.review(1, 9, 1099) && !pauses.is_over());
        assert_eq!((pauses.room(1, 9), pauses.turns_ns()), (u32::MAX, Some(1100)));
        assert!(!pauses.review(1, 9, 1100) && pauses.is_over());
        assert_eq!((pauses.room(1, 9), pauses.turns_ns()), (0, None));
    }
}
