//! The interface between controller and worker: requested settings, windows handed over, and figures for the live
//! status. The worker reads one word per turn.

use super::accounting::{Bank, Banks, DIRECTIONS};
use crate::engine::Op;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The first failed I/O of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoFault {
    pub op: Op,
    /// Index of the host, from 0, the one that leads.
    pub host: u32,
    pub part: u32,
    pub offset_bytes: u64,
    /// Error number; 0 at the end of the file.
    pub errno: i32,
}

/// Figures that may be read at any time. Each is correct, but they may be from different instants.
#[derive(Debug, Default)]
pub struct Live {
    /// Reads and writes completed since the start.
    pub ios: AtomicU64,
    /// Bytes moved since the start.
    pub bytes: AtomicU64,
    /// Sum of service times, in nanoseconds.
    pub latency_ns: AtomicU64,
    /// I/Os outstanding.
    pub outstanding: AtomicU32,
    /// Outstanding I/Os that were issued before the last change.
    pub undrained: AtomicU32,
    /// Time spent polling for the next arrival with nothing else to do, in nanoseconds.
    pub polled_ns: AtomicU64,
}

const NO_BANK: u32 = u32::MAX;

/// What controller and worker share.
#[derive(Debug)]
pub struct Control {
    /// Number of the requested change. Queue depth and stop are read when it changes.
    requested: AtomicU32,
    /// Number of the last applied change.
    acknowledged: AtomicU32,
    /// Bank that waits for the controller, or [`NO_BANK`]. The worker puts a bank here only if there is none, so a
    /// controller that did not wait long enough loses nothing.
    handed_over: AtomicU32,
    /// Bank that the worker wrote when it ended; [`NO_BANK`] while it works.
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

    /// Requests this queue depth, 0 to rest, and the window so far. The worker applies it in its next turn.
    pub(crate) fn request(&self, queue_depth: u32) {
        self.queue_depth.store(queue_depth, Ordering::Relaxed);
        self.requested.fetch_add(1, Ordering::Release);
    }

    /// Asks the worker to end after its outstanding I/Os.
    pub(crate) fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.requested.fetch_add(1, Ordering::Release);
    }

    /// Returns true if the worker has applied the last request, or ended.
    pub(crate) fn applied(&self) -> bool {
        self.acknowledged.load(Ordering::Acquire) == self.requested.load(Ordering::Relaxed)
            || self.is_finished()
    }

    /// Returns true if the worker has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.last_bank.load(Ordering::Acquire) != NO_BANK
    }

    /// Passes `see` each bank that the controller owns at present, the older first: the one that was handed over and
    /// not yet taken, and the last one if the worker has ended. `see` must empty them. Afterwards the worker owns them
    /// again.
    ///
    /// # Safety
    /// Only the controller may call this, from one thread at a time.
    pub(crate) unsafe fn each_handed_over(&self, mut see: impl FnMut(&mut Bank)) {
        // Read first, so that the code below sees everything the worker handed over before it ended.
        let last = self.last_bank.load(Ordering::Acquire);
        let waiting = self.handed_over.load(Ordering::Acquire);
        if waiting != NO_BANK {
            // SAFETY: the worker writes the other bank until the store below. Its writes to this one happened before
            // the acquiring load above.
            see(unsafe { self.banks.get(waiting as usize) });
            self.handed_over.store(NO_BANK, Ordering::Release);
        }
        if last != NO_BANK {
            // SAFETY: a worker that has ended writes to no bank.
            see(unsafe { self.banks.get(last as usize) });
        }
    }

    /// Returns which features the worker's engine had to give up.
    pub(crate) fn fallbacks(&self) -> Vec<String> {
        self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the first failed I/O.
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

    /// Returns true if the controller has taken all that was handed over: the other bank is empty, and the worker owns
    /// it.
    pub(crate) fn may_hand_over(&self) -> bool {
        self.handed_over.load(Ordering::Acquire) == NO_BANK
    }

    /// Hands a bank over to the controller.
    pub(crate) fn hand_over(&self, bank: usize) {
        self.handed_over.store(bank as u32, Ordering::Release);
    }

    /// Announces that a change has been applied. A thread that sees this also sees what was handed over before.
    pub(crate) fn acknowledge(&self, change: u32) {
        self.acknowledged.store(change, Ordering::Release);
    }

    /// Announces that the worker has ended, and which bank it wrote last.
    pub(crate) fn finish(&self, bank: usize) {
        self.last_bank.store(bank as u32, Ordering::Release);
    }

    pub(crate) fn report_fault(&self, fault: IoFault) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    pub(crate) fn report_fallbacks(&self, fallbacks: Vec<String>) {
        *self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner) = fallbacks;
    }

    /// Returns the bank that the worker writes.
    ///
    /// # Safety
    /// Only the worker may call this, for the bank that it has not handed over, and without any other reference to it.
    #[expect(clippy::mut_from_ref, reason = "ownership is handed over between two threads")]
    #[inline(always)]
    pub(crate) unsafe fn writing(&self, bank: usize) -> &mut Bank {
        // SAFETY: guaranteed by the caller.
        unsafe { self.banks.get(bank) }
    }
}
