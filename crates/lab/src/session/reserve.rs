//! The room that stays free, looked at while a load writes files that may take more of it.

use crate::error::LabError;
use crate::measure::Watch;
use crate::session::rig::Rig;
use iogauge_io::targets::ReserveWatch;
use iogauge_io::worker::WorkerError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a look may take that is under way at the end. One at a file system that does not answer must not hold
/// up the result: that thread is left behind.
const PATIENCE: Duration = Duration::from_millis(500);

/// A thread that looks again and again, until it has seen enough or this goes, however that comes.
struct Lookout {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Lookout {
    /// Looks until `look` returns false.
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
        // A look that panicked was reported by the panic itself, and measured nothing.
        let _ = thread.join();
    }
}

/// Measures, and ends that as an interrupt does before less is free on a disk than has to stay free.
/// [`Rig::stopped_by`] then says so.
///
/// # Errors
/// Those of the work, and where a file cannot be looked at.
pub(crate) fn watched<T>(
    rig: &Rig,
    watch: &mut Watch<'_>,
    work: impl FnOnce(&mut Watch<'_>) -> Result<T, LabError>,
) -> Result<T, LabError> {
    let mut room = ReserveWatch::of(rig.parts())?;
    if room.is_empty() {
        return work(watch);
    }
    let reason = Arc::new(OnceLock::new());
    let (interrupt, why) = (watch.interrupt.clone(), reason.clone());
    let lookout = Lookout::start(move || match room.check() {
        Ok(()) => true,
        Err(error) => {
            let _ = why.set(error.to_string());
            interrupt.set();
            false
        }
    })?;
    let done = work(watch);
    drop(lookout);
    if let Some(reason) = reason.get() {
        rig.stop_because(reason.clone());
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_that_looks_is_over_with_its_lookout() {
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
    fn a_look_that_does_not_end_is_left_behind() {
        let (ends, never) = channel::<()>();
        let (sender, looked) = channel();
        let lookout = Lookout::start(move || {
            sender.send(()).unwrap();
            never.recv().is_ok()
        });
        looked.recv().unwrap();
        // It would wait for good here.
        drop(lookout);
        drop(ends);
    }
}
