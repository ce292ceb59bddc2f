//! The one place where controller and worker meet: requested settings, handed-over windows, and
//! figures for the live status. The worker reads one word per turn.

use super::accounting::{Bank, Banks, DIRECTIONS};
use crate::engine::Op;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The first I/O of a worker that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoFault {
    pub op: Op,
    /// Part of the target.
    pub part: u32,
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
    /// Time polled for the next arrival with nothing else to do, in nanoseconds.
    pub polled_ns: AtomicU64,
}

const NO_BANK: u32 = u32::MAX;

/// What controller and worker share.
#[derive(Debug)]
pub struct Control {
    /// Number of the change asked for; depth and stop are read when it moves.
    requested: AtomicU32,
    /// Number of the change made last.
    acknowledged: AtomicU32,
    /// Bank that waits for the controller to take it, or [`NO_BANK`]. The worker puts one here
    /// only where none is, so a controller that was not patient enough loses nothing.
    handed_over: AtomicU32,
    /// Bank the worker wrote when it ended; [`NO_BANK`] as long as it works.
    last_bank: AtomicU32,
    queue_depth: AtomicU32,
    stop: AtomicBool,
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
            handed_over: AtomicU32::new(NO_BANK),
            last_bank: AtomicU32::new(NO_BANK),
            queue_depth: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            live: Live::default(),
            banks: Banks::new(directions, paced),
            fault: Mutex::new(None),
            fallbacks: Mutex::new(Vec::new()),
        }
    }

    // The controller's side.

    /// Asks for so many I/Os outstanding, 0 to rest, and for the window so far; the worker applies at
    /// its next turn.
    pub(crate) fn request(&self, queue_depth: u32) {
        self.queue_depth.store(queue_depth, Ordering::Relaxed);
        self.requested.fetch_add(1, Ordering::Release);
    }

    /// Asks the worker to end when what is outstanding is done.
    pub(crate) fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.requested.fetch_add(1, Ordering::Release);
    }

    /// True once the worker has applied the last request, or ended.
    pub(crate) fn applied(&self) -> bool {
        self.acknowledged.load(Ordering::Acquire) == self.requested.load(Ordering::Relaxed)
            || self.is_finished()
    }

    /// True once the worker has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.last_bank.load(Ordering::Acquire) != NO_BANK
    }

    /// Shows the controller each bank that is its own at present, the older first: the one that
    /// was handed over and not taken yet, and the last one once the worker has ended. `see` has to
    /// empty them; they are the worker's again afterwards.
    ///
    /// # Safety
    /// Only the one controller calls this, from one thread at a time.
    pub(crate) unsafe fn each_handed_over(&self, mut see: impl FnMut(&mut Bank)) {
        // Read first: what a worker has handed over before it ended is seen below.
        let last = self.last_bank.load(Ordering::Acquire);
        let waiting = self.handed_over.load(Ordering::Acquire);
        if waiting != NO_BANK {
            // SAFETY: the worker writes the other bank until the store below; what it wrote here
            // happened before the acquiring load above.
            see(unsafe { self.banks.get(waiting as usize) });
            self.handed_over.store(NO_BANK, Ordering::Release);
        }
        if last != NO_BANK {
            // SAFETY: a worker that has ended writes no bank.
            see(unsafe { self.banks.get(last as usize) });
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

    pub(crate) fn queue_depth(&self) -> u32 {
        self.queue_depth.load(Ordering::Relaxed)
    }

    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// True where the controller has taken all that was handed over: the other bank is empty and
    /// the worker's.
    pub(crate) fn may_hand_over(&self) -> bool {
        self.handed_over.load(Ordering::Acquire) == NO_BANK
    }

    /// Gives a bank to the controller.
    pub(crate) fn hand_over(&self, bank: usize) {
        self.handed_over.store(bank as u32, Ordering::Release);
    }

    /// Says that the change has been applied; what was handed over before is seen with it.
    pub(crate) fn acknowledge(&self, change: u32) {
        self.acknowledged.store(change, Ordering::Release);
    }

    /// Says that the worker has ended, and which bank it wrote.
    pub(crate) fn finish(&self, bank: usize) {
        self.last_bank.store(bank as u32, Ordering::Release);
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
