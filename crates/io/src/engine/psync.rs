//! One blocking `pread` or `pwrite` at a time. A queue depth of n needs n threads.

use super::{Engine, EngineError, Files, Io, Op, Setup, sleep_ns};
use crate::clock::Clock;
use rustix::io::{pread, pwrite};

/// Blocking I/O of one thread.
#[derive(Debug)]
pub struct Psync {
    clock: Clock,
    files: Files,
    syncs_data_only: bool,
    queued: Option<Io>,
    done: Option<(u32, i32)>,
}

impl Psync {
    /// Creates an engine for these files.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        Self {
            clock: Clock::get(),
            files: setup.files.clone(),
            syncs_data_only: setup.syncs_data_only,
            queued: None,
            done: None,
        }
    }
}

impl Engine for Psync {
    #[inline(always)]
    fn queue(&mut self, io: Io) {
        debug_assert!(self.queued.is_none());
        self.queued = Some(io);
    }

    #[inline(always)]
    fn enter(&mut self, _wait: u32, timeout_ns: Option<u64>) -> Result<(), EngineError> {
        let Some(io) = self.queued.take() else {
            if let (None, Some(timeout_ns)) = (self.done, timeout_ns) {
                sleep_ns(timeout_ns);
            }
            return Ok(());
        };
        let file = &self.files[io.file as usize];
        // SAFETY: the worker keeps the slot's buffer valid and untouched until the completion is reaped, and this call
        // ends before that.
        let data = unsafe { std::slice::from_raw_parts_mut(io.buffer, io.len as usize) };
        let result = match io.op {
            Op::Read => pread(file, data, io.offset_bytes),
            Op::Write => pwrite(file, data, io.offset_bytes),
            Op::Sync if self.syncs_data_only => rustix::fs::fdatasync(file).map(|()| 0),
            Op::Sync => rustix::fs::fsync(file).map(|()| 0),
        };
        let result = match result {
            Ok(bytes) => bytes as i32,
            Err(error) => -error.raw_os_error(),
        };
        self.done = Some((io.slot, result));
        Ok(())
    }

    #[inline(always)]
    fn reap(&mut self, _max: u32, mut sink: impl FnMut(u32, i32)) {
        if let Some((slot, result)) = self.done.take() {
            sink(slot, result);
        }
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn grow(&mut self, _slots: u32) {}
}
