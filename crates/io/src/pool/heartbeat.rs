//! Detects that the whole process stood still: stopped by a signal or a debugger, frozen with its control group,
//! suspended with its machine, or on a virtual machine that was paused.
//!
//! A thread repeatedly sleeps for a short time. If a sleep takes much longer than requested and the thread was not
//! waiting for a processor, nothing in the process ran. This costs the workers nothing.

use crate::clock::Clock;
use crate::machine::wait_ns;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Length of one sleep.
const INTERVAL_NS: u64 = 20_000_000;
/// A shorter gap is not a pause: a loaded machine has such gaps by itself.
const SHORTEST_PAUSE_NS: u64 = 250_000_000;
/// Stack size of the thread, which runs one small loop.
const STACK_BYTES: usize = 64 << 10;

/// Pauses of the process that issues I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Number of pauses.
    pub times: u64,
    /// Total length, in nanoseconds.
    pub ns: u64,
}

impl Paused {
    pub fn add(&mut self, others: Self) {
        self.times += others.times;
        self.ns += others.ns;
    }
}

/// A thread that beats while the process runs.
#[derive(Debug)]
pub struct Heartbeat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    clock: Clock,
    /// Pauses that were already taken.
    taken: Paused,
}

#[derive(Debug)]
struct Shared {
    /// Time of the last beat on the workers' clock.
    beat_ns: AtomicU64,
    times: AtomicU64,
    paused_ns: AtomicU64,
    ends: AtomicBool,
}

impl Heartbeat {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system refuses another thread.
    pub fn start() -> std::io::Result<Self> {
        let clock = Clock::get();
        let shared = Arc::new(Shared {
            beat_ns: AtomicU64::new(clock.now_ns()),
            times: AtomicU64::new(0),
            paused_ns: AtomicU64::new(0),
            ends: AtomicBool::new(false),
        });
        let theirs = shared.clone();
        let thread = std::thread::Builder::new()
            .name("heartbeat".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || beat(&theirs, clock))?;
        Ok(Self { shared, thread: Some(thread), clock, taken: Paused::default() })
    }

    /// Returns the pauses since the last call. None is missing: if the last beat is long ago, waits for the next one.
    pub fn take(&mut self) -> Paused {
        while !self.knows_all() && self.beats() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let all = Paused {
            times: self.shared.times.load(Ordering::Relaxed),
            ns: self.shared.paused_ns.load(Ordering::Relaxed),
        };
        let new = Paused { times: all.times - self.taken.times, ns: all.ns - self.taken.ns };
        self.taken = all;
        new
    }

    /// Returns true if no pause fits between the last beat and now.
    fn knows_all(&self) -> bool {
        // Makes everything visible that was counted before that beat.
        let beat_ns = self.shared.beat_ns.load(Ordering::Acquire);
        self.clock.now_ns().saturating_sub(beat_ns) < SHORTEST_PAUSE_NS
    }

    fn beats(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn beat(shared: &Shared, clock: Clock) {
    let queue = RunQueue::of_this_thread();
    let mut before = Moment::now(clock, &queue);
    while !shared.ends.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_nanos(INTERVAL_NS));
        let now = Moment::now(clock, &queue);
        if let Some(paused_ns) = now.pause_since_ns(&before) {
            shared.times.fetch_add(1, Ordering::Relaxed);
            shared.paused_ns.fetch_add(paused_ns, Ordering::Relaxed);
        }
        shared.beat_ns.store(now.clock_ns, Ordering::Release);
        before = now;
    }
}

/// What a beat compares.
#[derive(Debug, Clone, Copy)]
struct Moment {
    clock_ns: u64,
    /// A clock that runs while the machine is suspended.
    boot_ns: u64,
    /// Total time for which the thread has waited for a processor.
    waited_ns: u64,
}

impl Moment {
    fn now(clock: Clock, queue: &RunQueue) -> Self {
        let boot = clock_gettime(ClockId::Boottime);
        Self {
            clock_ns: clock.now_ns(),
            boot_ns: boot.tv_sec as u64 * 1_000_000_000 + boot.tv_nsec as u64,
            waited_ns: queue.waited_ns(),
        }
    }

    /// Returns how long the process stood still since the last beat; `None` if it did not.
    fn pause_since_ns(&self, before: &Self) -> Option<u64> {
        let passed_ns = self.clock_ns.saturating_sub(before.clock_ns);
        let passed_ns = passed_ns.max(self.boot_ns.saturating_sub(before.boot_ns));
        let waited_ns = self.waited_ns.saturating_sub(before.waited_ns);
        let paused_ns = passed_ns.saturating_sub(INTERVAL_NS).saturating_sub(waited_ns);
        Some(paused_ns).filter(|ns| *ns >= SHORTEST_PAUSE_NS)
    }
}

/// The kernel's account of how long this thread was ready to run without a processor
/// (Documentation/scheduler/sched-stats.rst).
#[derive(Debug)]
struct RunQueue(Option<File>);

impl RunQueue {
    fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Returns nanoseconds; 0 if the kernel keeps no account.
    fn waited_ns(&self) -> u64 {
        let mut text = [0; 64];
        let read = self.0.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        let text = std::str::from_utf8(&text[..read]).unwrap_or("");
        wait_ns(text).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn after(clock_ns: u64, boot_ns: u64, waited_ns: u64) -> Option<u64> {
        let before = Moment { clock_ns: SECOND_NS, boot_ns: 9 * SECOND_NS, waited_ns: 5 };
        let now = Moment {
            clock_ns: before.clock_ns + clock_ns,
            boot_ns: before.boot_ns + boot_ns,
            waited_ns: before.waited_ns + waited_ns,
        };
        now.pause_since_ns(&before)
    }

    #[test]
    fn heartbeat_gap_without_cpu_wait_is_a_pause() {
        assert_eq!(after(INTERVAL_NS, INTERVAL_NS, 0), None);
        assert_eq!(after(260_000_000, 260_000_000, 0), None, "late, as on a busy machine");
        let two = 2 * SECOND_NS + INTERVAL_NS;
        assert_eq!(after(two, two, 0), Some(2 * SECOND_NS));
        assert_eq!(after(INTERVAL_NS, two, 0), Some(2 * SECOND_NS), "suspended");
        assert_eq!(after(two, INTERVAL_NS, 0), Some(2 * SECOND_NS), "a machine that was paused");
    }

    #[test]
    fn waiting_for_cpu_is_not_a_pause() {
        let two = 2 * SECOND_NS;
        assert_eq!(after(two, two, two - SHORTEST_PAUSE_NS), None);
        assert_eq!(after(two, two, SECOND_NS), Some(SECOND_NS - INTERVAL_NS));
    }

    #[test]
    fn running_process_has_no_pauses() {
        let queue = RunQueue::of_this_thread();
        let first = queue.waited_ns();
        let mut heart = Heartbeat::start().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(heart.take(), Paused::default());
        assert!(heart.knows_all() && queue.waited_ns() >= first);
    }
}
