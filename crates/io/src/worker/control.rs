//! The one place where controller and worker meet: requested settings, handed-over windows, and
//! figures for the live status. The worker reads one word per turn.

use super::accounting::{Bank, Banks, DIRECTIONS};
use crate::engine::Op;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The first I/O of a worker that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoFault {
    /// What it did.
    pub op: Op,
    /// Part of the target.
    pub part: u32,
    /// Where.
    pub offset_bytes: u64,
    /// Error number; 0 where the file ended.
    pub errno: i32,
}

/// Figures anyone may read at any time; each is right, but not all of the same instant.
#[derive(Debug, Default)]
pub struct Live {
    /// Reads and writes completed since the start.
    pub ios: AtomicU64,
    /// Bytes moved since the start.
    pub bytes: AtomicU64,
    /// Service times summed up, in nanoseconds.
    pub latency_ns: AtomicU64,
    /// I/Os outstanding.
    pub outstanding: AtomicU32,
    /// I/Os outstanding that were issued before the last change.
    pub undrained: AtomicU32,
    /// Scheduled arrivals that wait for a free slot.
    pub backlog: AtomicU64,
}

/// Settings of a worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// I/Os to keep outstanding; 0 to rest.
    pub depth: u32,
    /// Arrivals per second; 0 for a closed loop.
    pub rate_iops: f64,
}

/// What controller and worker share.
#[derive(Debug)]
pub struct Control {
    /// Number of the change asked for; settings are read when it moves.
    requested: AtomicU32,
    /// Number of the change made, times two, plus the bank written since.
    acknowledged: AtomicU32,
    depth: AtomicU32,
    rate_bits: AtomicU64,
    stop: AtomicBool,
    finished: AtomicBool,
    /// Figures for the status line.
    pub live: Live,
    banks: Banks,
    fault: Mutex<Option<IoFault>>,
    fallbacks: Mutex<Vec<String>>,
}

impl Control {
    pub(crate) fn new(directions: [bool; DIRECTIONS], paced: bool) -> Self {
        Self {
            requested: AtomicU32::new(0),
            acknowledged: AtomicU32::new(0),
            depth: AtomicU32::new(0),
            rate_bits: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            live: Live::default(),
            banks: Banks::new(directions, paced),
            fault: Mutex::new(None),
            fallbacks: Mutex::new(Vec::new()),
        }
    }

    // The controller's side.

    /// Asks for these settings and for the window so far; the worker obeys at its next turn.
    pub(crate) fn request(&self, setting: Setting) {
        self.depth.store(setting.depth, Ordering::Relaxed);
        self.rate_bits.store(setting.rate_iops.to_bits(), Ordering::Relaxed);
        self.requested.fetch_add(1, Ordering::Release);
    }

    /// Asks the worker to end when what is outstanding is done.
    pub(crate) fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.requested.fetch_add(1, Ordering::Release);
    }

    /// True once the worker has obeyed the last request, or ended.
    pub(crate) fn obeyed(&self) -> bool {
        let requested = self.requested.load(Ordering::Relaxed);
        self.acknowledged.load(Ordering::Acquire) >> 1 == (requested & (u32::MAX >> 1))
            || self.is_finished()
    }

    /// True once the worker has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// Shows the controller each bank that is its own at present: the one handed over last, both
    /// once the worker has ended, none while it has not obeyed.
    ///
    /// # Safety
    /// Only the one controller calls this, and never while a request of its own is being made.
    pub(crate) unsafe fn each_handed_over(&self, mut see: impl FnMut(&mut Bank)) {
        let ended = self.is_finished();
        let written = (self.acknowledged.load(Ordering::Acquire) & 1) as usize;
        if ended || self.obeyed() {
            // SAFETY: the worker has moved to the other bank, or ended; its writes happened before
            // the acquiring loads above.
            see(unsafe { self.banks.get(1 - written) });
        }
        if ended {
            // SAFETY: as above; a worker that has ended writes no bank.
            see(unsafe { self.banks.get(written) });
        }
    }

    /// What the worker's engine had to give up.
    pub(crate) fn fallbacks(&self) -> Vec<String> {
        self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first I/O that failed.
    pub(crate) fn fault(&self) -> Option<IoFault> {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // The worker's side.

    #[inline(always)]
    pub(crate) fn change_requested(&self) -> u32 {
        self.requested.load(Ordering::Acquire)
    }

    pub(crate) fn setting(&self) -> Setting {
        Setting {
            depth: self.depth.load(Ordering::Relaxed),
            rate_iops: f64::from_bits(self.rate_bits.load(Ordering::Relaxed)),
        }
    }

    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Hands the other bank over.
    pub(crate) fn acknowledge(&self, change: u32, bank: usize) {
        self.acknowledged.store(change << 1 | bank as u32, Ordering::Release);
    }

    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub(crate) fn report_fault(&self, fault: IoFault) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    pub(crate) fn report_fallbacks(&self, fallbacks: Vec<String>) {
        *self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner) = fallbacks;
    }

    /// The bank the worker writes.
    ///
    /// # Safety
    /// Only the worker calls this, for the bank it has not handed over, and keeps no other
    /// reference to it.
    #[expect(clippy::mut_from_ref, reason = "ownership is handed over between two threads")]
    #[inline(always)]
    pub(crate) unsafe fn writing(&self, bank: usize) -> &mut Bank {
        // SAFETY: as the caller promises.
        unsafe { self.banks.get(bank) }
    }
}
