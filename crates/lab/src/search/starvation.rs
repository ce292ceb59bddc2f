//! Stretches of a window in which the client was starved of processor time. What they show is not due to the target.
//! They are left out, and the window is extended by their length if the budget allows.

use iogauge_io::machine::Starvation;
use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::result::LimitValue;

/// Stretches that a search has checked for starvation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Starved {
    /// Number of all stretches.
    pub stretches: u32,
    /// Number of stretches in which the client lacked processor time beyond the allowed share.
    pub left_out: u32,
    /// Total length of those, in nanoseconds.
    pub left_out_ns: u64,
    /// Processor time lost in them.
    pub lost: Starvation,
}

impl Starved {
    /// Returns true if more stretches were left out than kept: the search has not seen enough of the target.
    pub(super) fn is_most(&self) -> bool {
        2 * self.left_out > self.stretches
    }

    /// Adds those of another part of the search.
    pub(super) fn add(&mut self, other: &Self) {
        self.stretches += other.stretches;
        self.left_out += other.left_out;
        self.left_out_ns += other.left_out_ns;
        self.lost.add(&other.lost);
    }
}

/// Figures of a point including the stretches that were left out.
#[derive(Debug, Clone, PartialEq)]
pub struct WithStarved {
    /// I/Os per second.
    pub iops: f64,
    /// The limits' statistics.
    pub limits: Vec<LimitValue>,
}

impl WithStarved {
    /// Returns true if all limits hold even with those stretches.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.limits.iter().all(|value| {
            value.value_ns.is_some_and(|value_ns| value_ns <= value.limit.bound_ns as f64)
        })
    }
}

/// Accumulated ticks of a window.
pub(super) trait Show: Clone + Default {
    /// Adds a tick.
    fn append(&mut self, tick: &Window, limits: &[Limit]);
    /// Returns all its ticks as one window.
    fn total(&self) -> &Window;
}

/// What a window has shown, with and without its starved stretches.
#[derive(Debug, Clone, Default)]
pub(super) struct Sieve<S> {
    /// What counts.
    pub(super) seen: S,
    /// `seen` at the start of the current stretch.
    before: S,
    /// Everything; `None` as long as nothing is left out.
    all: Option<S>,
}

impl<S: Show> Sieve<S> {
    pub(super) fn of(seen: S) -> Self {
        Self { before: S::default(), all: None, seen }
    }

    /// Starts a stretch. Everything before it counts.
    pub(super) fn begin_stretch(&mut self) {
        self.before = self.seen.clone();
    }

    pub(super) fn append(&mut self, tick: &Window, limits: &[Limit]) {
        self.seen.append(tick, limits);
        if let Some(all) = &mut self.all {
            all.append(tick, limits);
        }
    }

    /// If a stretch has ended, keeps it, or leaves it out if the client was starved in it.
    pub(super) fn sift(&mut self, starved: Option<bool>) {
        match starved {
            Some(true) => {
                let with = std::mem::replace(&mut self.seen, self.before.clone());
                self.all.get_or_insert(with);
            }
            Some(false) => self.before = self.seen.clone(),
            None => {}
        }
    }

    /// Returns everything, including what is left out; `None` if nothing is left out or nothing else is there.
    pub(super) fn all(&self) -> Option<&S> {
        self.all.as_ref().filter(|_| !self.is_all_starved())
    }

    /// Returns all ticks as one window.
    pub(super) fn whole(&self) -> &Window {
        self.all.as_ref().unwrap_or(&self.seen).total()
    }

    /// Ends the window. After a starved stretch, a remainder that was not checked does not count.
    pub(super) fn end(&mut self, starved: Option<bool>) {
        self.sift(starved);
        if starved.is_none() && self.all.is_some() {
            self.seen = self.before.clone();
        }
    }

    /// Returns true if all stretches were starved.
    pub(super) fn is_all_starved(&self) -> bool {
        self.all.is_some() && self.seen.total().seconds() <= 0.0
    }

    /// Returns what to judge by: what counts, or everything if nothing does.
    pub(super) fn judged(&self) -> &S {
        self.all.as_ref().filter(|_| self.is_all_starved()).unwrap_or(&self.seen)
    }
}
