//! I/Os of a load that verifies.

use super::{FAILURES_TO_GIVE_UP, WorkerState};
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
