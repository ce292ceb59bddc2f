//! I/Os of a load that verifies.

use super::{EMPTY, FAILURES_TO_GIVE_UP, Slot, WorkerState};
use crate::engine::Op;
use crate::verify::verifier::Moved;

impl WorkerState {
    /// Prepares the I/O in a slot. If it is a write, fills the buffer with data that can be checked.
    #[cold]
    pub(super) fn begin_verified(&mut self, slot: u32) {
        let moved = self.moved(slot);
        if let Some(verify) = &mut self.verify {
            let data = self.pool.bytes(slot, moved.len as usize);
            self.slots[slot as usize].op = verify.begin(moved, data);
        }
    }

    /// Checks the data that a slot's read returned, or records the result of its write. The first finding may end the
    /// worker.
    pub(super) fn end_verified(&mut self, slot: u32, succeeded: bool) {
        let moved = self.moved(slot);
        if let Some(verify) = &mut self.verify {
            let data = self.pool.bytes(slot, moved.len as usize);
            if !verify.end(moved, data, succeeded) {
                self.failures = FAILURES_TO_GIVE_UP;
            }
        }
    }

    /// Returns true if a write is to be read back before anything else is issued.
    #[inline(always)]
    pub(super) fn check_is_due(&self) -> bool {
        self.verify.as_ref().is_some_and(|verify| verify.check_is_due())
            && self.failures < FAILURES_TO_GIVE_UP
    }

    /// Puts the read of a write that is to be checked into a slot. It takes no arrival and no I/O of the quota.
    #[cold]
    pub(super) fn next_check(&mut self, now_ns: u64) -> Option<u32> {
        let slot = self.free.pop()?;
        let Some(range) = self.verify.as_mut().and_then(|verify| verify.take_check(slot)) else {
            self.free.push(slot);
            return None;
        };
        self.slots[slot as usize] = Slot {
            intended_ns: now_ns,
            offset_bytes: range.offset_bytes,
            len: range.len,
            part: range.part,
            op: Op::Read,
            ..EMPTY
        };
        self.begin_verified(slot);
        Some(slot)
    }

    fn moved(&self, slot: u32) -> Moved {
        let in_slot = &self.slots[slot as usize];
        Moved {
            slot,
            op: in_slot.op,
            part: in_slot.part,
            offset_bytes: in_slot.offset_bytes,
            len: in_slot.len,
        }
    }
}
