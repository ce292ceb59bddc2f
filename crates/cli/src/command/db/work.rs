//! Long operations on a database: progress, time left, and interruption.

use crate::screen;
use crate::screen::Progress;
use iogauge_lab::Interrupt;
use iogauge_lab::db::DbError;
use iogauge_model::units::{Bytes, Count};
use std::time::{Duration, Instant};

/// What progress is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    /// Other items, by their plural noun.
    Count(&'static str),
}

impl Unit {
    fn show(self, n: u64) -> String {
        match self {
            Self::Bytes => Bytes(n).to_string(),
            Self::Count(_) => Count(n as f64).to_string(),
        }
    }

    fn noun(self) -> String {
        match self {
            Self::Bytes => String::new(),
            Self::Count(noun) => format!(" {noun}"),
        }
    }
}

/// Duration from which an operation counts as long.
const SOON: Duration = Duration::from_secs(1);

/// Runs an operation and shows its progress. Prints the warning in `doubt` once the operation has
/// taken [`SOON`], so that the user can still end it, or after a shorter operation that succeeds.
/// An operation that fails sooner reports its own error instead.
///
/// # Errors
/// Those of the operation; [`DbError::Interrupted`] if the user ended it.
pub fn with_progress<T>(
    word: &str,
    unit: Unit,
    quiet: bool,
    mut doubt: Option<String>,
    interrupt: &Interrupt,
    work: impl FnOnce(&mut iogauge_lab::db::Progress<'_>) -> Result<T, DbError>,
) -> Result<T, DbError> {
    let mut shown = Progress::new(quiet);
    let begin = Instant::now();
    let mut tell = |done: u64, of: u64| {
        let percent = done as f64 * 100.0 / of.max(1) as f64;
        let left = left(begin.elapsed(), done, of);
        if begin.elapsed() >= SOON
            && let Some(doubt) = doubt.take()
        {
            shown.warning(&doubt);
        }
        let (so_far, all, noun) = (unit.show(done), unit.show(of), unit.noun());
        shown.show_line(&format!("{word}  {so_far} of {all}{noun} ({percent:.0} %){left}"));
    };
    let stop = interrupt.flag();
    let done = work(&mut iogauge_lab::db::Progress::new(&mut tell, &stop));
    shown.clear();
    if let (Some(doubt), true) = (doubt, done.is_ok()) {
        screen::warning(&doubt);
    }
    done
}

/// Estimates the time left; empty in the first second.
fn left(elapsed: Duration, done: u64, of: u64) -> String {
    if elapsed < Duration::from_secs(1) || done == 0 || done >= of {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * (of - done) as f64 / done as f64;
    match seconds.ceil() as u64 {
        seconds if seconds < 120 => format!("  {seconds} s left"),
        seconds => format!("  {} min left", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_is_extrapolated_from_progress() {
        let of = |seconds, done| left(Duration::from_secs(seconds), done, 100);
        assert_eq!(of(10, 25), "  30 s left");
        assert_eq!(of(100, 10), "  15 min left");
        assert_eq!((of(0, 50), of(10, 0), of(10, 100)), Default::default());
    }
}
