//! Stretches in which a worker begins nothing: fio's `startdelay` and `thinktime`.

use iogauge_model::load::Load;

/// The pauses of one worker.
#[derive(Debug)]
pub(super) struct Pauses {
    delay_ns: u64,
    think_ns: u64,
    /// Reads and writes between two pauses.
    blocks: u64,
    /// Reads and writes that were done when the last pause ended.
    done_before: u64,
    /// End of the pause under way.
    until_ns: Option<u64>,
    /// The pause under way is the delay of the start.
    delayed: bool,
}

impl Pauses {
    /// The pauses of a load; `None` where it makes none.
    pub(super) fn of(load: &Load) -> Option<Self> {
        let think_ns = load.thinktime.map_or(0, |thinktime| thinktime.pause_ns);
        (think_ns > 0 || load.startdelay_ns > 0).then(|| Self {
            delay_ns: load.startdelay_ns,
            think_ns,
            blocks: load.thinktime.map_or(u64::MAX, |thinktime| thinktime.blocks.into()),
            done_before: 0,
            until_ns: None,
            delayed: false,
        })
    }

    /// Begins with the delay of the start.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.delayed = self.delay_ns > 0;
        self.until_ns = self.delayed.then(|| now_ns.saturating_add(self.delay_ns));
    }

    /// Ends the pause under way where its time is over, and begins one where nothing is begun and
    /// enough was done since the last. True where this ended the delay of the start.
    pub(super) fn review(&mut self, begun: u32, done: u64, now_ns: u64) -> bool {
        match self.until_ns {
            Some(until_ns) if until_ns > now_ns => false,
            Some(_) => {
                self.until_ns = None;
                self.done_before = done;
                std::mem::take(&mut self.delayed)
            }
            None => {
                if begun == 0 && done - self.done_before >= self.blocks {
                    self.until_ns = Some(now_ns.saturating_add(self.think_ns));
                }
                false
            }
        }
    }

    /// I/Os that may begin before the next pause, beside those begun and done.
    pub(super) fn room(&self, begun: u32, done: u64) -> u32 {
        if self.until_ns.is_some() {
            return 0;
        }
        let used = done - self.done_before + u64::from(begun);
        u32::try_from(self.blocks.saturating_sub(used)).unwrap_or(u32::MAX)
    }

    /// End of the pause under way.
    pub(super) fn until_ns(&self) -> Option<u64> {
        self.until_ns
    }

    /// True where the worker has not begun yet.
    pub(super) fn is_delayed(&self) -> bool {
        self.delayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::Thinktime;

    #[test]
    fn so_many_ios_and_a_pause() {
        assert!(Pauses::of(&Load::default()).is_none());
        let thinktime = Some(Thinktime { pause_ns: 100, blocks: 3 });
        let mut pauses = Pauses::of(&Load { thinktime, ..Load::default() }).unwrap();
        pauses.begin(0);
        assert!(!pauses.review(0, 0, 0));
        assert_eq!((pauses.room(0, 0), pauses.room(2, 0), pauses.room(1, 2)), (3, 1, 0));
        // Three are done, but a sync is under way.
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
    fn a_delay_comes_once() {
        let mut pauses = Pauses::of(&Load { startdelay_ns: 50, ..Load::default() }).unwrap();
        pauses.begin(1000);
        assert!(!pauses.review(0, 0, 1049) && pauses.is_delayed());
        assert_eq!((pauses.room(0, 0), pauses.until_ns()), (0, Some(1050)));
        assert!(pauses.review(0, 0, 1060));
        assert_eq!((pauses.room(0, 0), pauses.is_delayed()), (u32::MAX, false));
        assert!(!pauses.review(0, 1_000_000, 2000));
        assert_eq!(pauses.until_ns(), None);
    }
}
