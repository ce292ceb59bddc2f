//! Records of completed I/Os, for logs.

use super::WorkerState;
use super::pauses::Pauses;
use crate::engine::Op;
use iogauge_fio::log_out::{LogDirection, LoggedIo};

impl WorkerState {
    /// Records an I/O that has completed. Syncs are in no log.
    #[inline]
    pub(super) fn record(&mut self, index: u32, now_ns: u64) {
        let Some(recorder) = &mut self.recorder else { return };
        let slot = &self.slots[index as usize];
        let direction = match slot.op {
            Op::Read => LogDirection::Read,
            Op::Write => LogDirection::Write,
            Op::Sync => return,
        };
        recorder.record(LoggedIo {
            ended_ns: now_ns,
            latency_ns: now_ns.saturating_sub(slot.start_ns),
            offset_bytes: slot.offset_bytes,
            bytes: slot.len,
            direction,
        });
    }

    /// Begins to record once the I/Os count, and ends when those that complete from now on do not count.
    pub(super) fn review_recording(&mut self, now_ns: u64) {
        let counts = !self.pauses.as_ref().is_some_and(Pauses::is_uncounted);
        let Some(recorder) = &mut self.recorder else { return };
        recorder.end_if_uncounted(self.stopping, now_ns);
        if counts && !self.stopping {
            recorder.begin_if_wanted(now_ns);
        }
    }

    /// Ends the records of a worker that has ended.
    pub(super) fn end_recording(&mut self, now_ns: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.end(now_ns);
        }
    }
}
