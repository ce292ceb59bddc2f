//! Checks the free-space reserve while a load writes files that may take more room.

use crate::error::LabError;
use crate::measure::Watch;
use crate::session::rig::Rig;
use iogauge_io::targets::ReserveWatch;
use iogauge_io::worker::WorkerError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// How long to wait at the end for a check under way. A file system that does not respond must not
/// delay the result, so that thread is left behind.
const PATIENCE: Duration = Duration::from_millis(500);

/// A thread that repeats a check until the check ends it or this value is dropped.
struct Lookout {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Lookout {
    /// Repeats `look` until it returns false.
    fn start(mut look: impl FnMut() -> bool + Send + 'static) -> Result<Self, WorkerError> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let looks = move || {
            while !is_over.load(Ordering::Relaxed) && look() {
                thread::park_timeout(PAUSE);
            }
        };
        let thread = thread::Builder::new().name("iogauge-room".to_owned()).spawn(looks);
        Ok(Self { over, thread: Some(thread.map_err(WorkerError::Thread)?) })
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        thread.thread().unpark();
        let end = Instant::now() + PATIENCE;
        while !thread.is_finished() {
            if Instant::now() >= end {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // A panic has been reported already, and the thread has no result.
        let _ = thread.join();
    }
}

/// Runs `work`, and interrupts it before a disk has less free space than its reserve.
/// [`Rig::stopped_by`] then returns the reason.
///
/// # Errors
/// Those of `work`, or a file cannot be inspected.
pub(crate) fn watched<T>(
    rig: &Rig,
    watch: &mut Watch<'_>,
    work: impl FnOnce(&mut Watch<'_>) -> Result<T, LabError>,
) -> Result<T, LabError> {
    let mut room = ReserveWatch::of(rig.parts())?;
    if room.is_empty() {
        return work(watch);
    }
    let (interrupt, stopped) = (watch.interrupt.clone(), rig.stopped());
    let lookout = Lookout::start(move || match room.check() {
        Ok(()) => true,
        Err(error) => {
            // Only the first reason counts.
            let _ = stopped.set(error.to_string());
            interrupt.set();
            false
        }
    })?;
    let done = work(watch);
    drop(lookout);
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn dropping_lookout_ends_its_thread() {
        let seen = Arc::new(());
        let held = seen.clone();
        let (sender, looked) = channel();
        let lookout = Lookout::start(move || {
            let _held = &held;
            sender.send(()).is_ok()
        });
        looked.recv().unwrap();
        drop(lookout);
        assert_eq!(Arc::strong_count(&seen), 1, "the thread is gone with what it held");
    }

    #[test]
    fn dropping_lookout_does_not_wait_for_a_hung_check() {
        let (ends, never) = channel::<()>();
        let (sender, looked) = channel();
        let lookout = Lookout::start(move || {
            sender.send(()).unwrap();
            never.recv().is_ok()
        });
        looked.recv().unwrap();
        // Without the timeout this would wait forever.
        drop(lookout);
        drop(ends);
    }
}
