//! Stretches of a window in which the client was starved of processor time. What they show is not the
//! target's doing: they are left out, and the window goes on for as long, while the budget allows.

use iogauge_io::machine::Starvation;
use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::result::LimitValue;

/// Stretches that a search looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Starved {
    /// All of them.
    pub stretches: u32,
    /// Those in which the client lacked processor time beyond the share allowed.
    pub left_out: u32,
    /// Their time, in nanoseconds.
    pub left_out_ns: u64,
    /// What was lost in them.
    pub lost: Starvation,
}

impl Starved {
    /// True where more was left out than not: the search has not seen the target often enough.
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

/// What a point comes to with the stretches that are left out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WithStarved {
    /// I/Os per second.
    pub iops: f64,
    /// The limits' statistics.
    pub limits: Vec<LimitValue>,
}

impl WithStarved {
    /// True where all limits hold even so.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.limits.iter().all(|value| {
            value.value_ns.is_some_and(|value_ns| value_ns <= value.limit.bound_ns as f64)
        })
    }
}

/// What the ticks of a window add up to.
pub(super) trait Show: Clone + Default {
    /// Adds a tick.
    fn append(&mut self, tick: &Window, limits: &[Limit]);
    /// All of its ticks in one.
    fn total(&self) -> &Window;
}

/// What a window has shown, with and without its starved stretches.
#[derive(Debug, Clone, Default)]
pub(super) struct Sieve<S> {
    /// What counts.
    pub(super) seen: S,
    /// That at the begin of the stretch under way.
    before: S,
    /// All of it; `None` as long as nothing is left out.
    all: Option<S>,
}

impl<S: Show> Sieve<S> {
    pub(super) fn of(seen: S) -> Self {
        Self { before: S::default(), all: None, seen }
    }

    /// Begins a stretch, before which everything counts.
    pub(super) fn begin_stretch(&mut self) {
        self.before = self.seen.clone();
    }

    pub(super) fn append(&mut self, tick: &Window, limits: &[Limit]) {
        self.seen.append(tick, limits);
        if let Some(all) = &mut self.all {
            all.append(tick, limits);
        }
    }

    /// Ends a stretch, where one has ended, and leaves it out where the client was starved in it.
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

    /// What was seen with what is left out; `None` where nothing is, or where that is all there is.
    pub(super) fn all(&self) -> Option<&S> {
        self.all.as_ref().filter(|_| !self.is_all_starved())
    }

    /// Every tick of it in one.
    pub(super) fn whole(&self) -> &Window {
        self.all.as_ref().unwrap_or(&self.seen).total()
    }

    /// Ends the window. Behind a starved stretch nothing counts that was not looked at.
    pub(super) fn end(&mut self, starved: Option<bool>) {
        self.sift(starved);
        if starved.is_none() && self.all.is_some() {
            self.seen = self.before.clone();
        }
    }

    /// True where there is nothing but starved stretches.
    pub(super) fn is_all_starved(&self) -> bool {
        self.all.is_some() && self.seen.total().seconds() <= 0.0
    }

    /// What to judge by: what counts, or all of it where nothing does.
    pub(super) fn judged(&self) -> &S {
        self.all.as_ref().filter(|_| self.is_all_starved()).unwrap_or(&self.seen)
    }
}
