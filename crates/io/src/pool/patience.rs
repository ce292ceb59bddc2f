//! How long to wait for workers that should end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time without any completed I/O after which workers are no longer waited for. Drivers give up a request after 30 s.
const WITHOUT_PROGRESS: Duration = Duration::from_secs(60);
/// Time that workers have for outstanding I/Os once the user wants to end.
const HURRIED: Duration = Duration::from_secs(3);

/// A wait with a limit, which is short once the user wants to end.
#[derive(Debug)]
pub(super) struct Patience<'a> {
    hurry: Option<&'a Arc<AtomicBool>>,
    /// A count that grows with each completion, and when it last grew.
    progress: (u64, Instant),
    hurried: Option<Instant>,
}

impl<'a> Patience<'a> {
    pub(super) fn new(hurry: Option<&'a Arc<AtomicBool>>) -> Self {
        Self { hurry, progress: (0, Instant::now()), hurried: None }
    }

    /// Returns true if waiting longer is useless, given the progress of the workers so far.
    pub(super) fn is_over(&mut self, progress: u64, now: Instant) -> bool {
        if progress != self.progress.0 {
            self.progress = (progress, now);
        }
        if self.hurry.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.hurried.get_or_insert(now);
        }
        let hurried = self.hurried.is_some_and(|since| now - since >= HURRIED);
        hurried || now - self.progress.1 >= WITHOUT_PROGRESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_without_progress_and_sooner_when_hurried() {
        let flag = Arc::default();
        let mut patience = Patience::new(Some(&flag));
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        assert!(!(0..10).any(|turn| patience.is_over(turn, after(50 * turn))));
        assert!(!patience.is_over(9, after(505)));
        assert!(patience.is_over(9, after(515)));
        flag.store(true, Ordering::Relaxed);
        let mut patience = Patience::new(Some(&flag));
        assert!(!patience.is_over(1, after(520)));
        assert!(!patience.is_over(2, after(522)));
        assert!(patience.is_over(3, after(523)));
    }
}
