//! Stretches of a window in which the client was starved of processor time. What they show is not the
//! target's doing: they are left out, and the window goes on for as long, while the budget allows.

use super::bench::{Bench, SHORTEST_NS};
use iogauge_io::machine::Starvation;
use iogauge_io::worker::accounting::Window;
use iogauge_model::Limit;
use iogauge_model::result::LimitValue;

/// Length of a stretch.
const STRETCH_NS: u64 = SHORTEST_NS;
/// A window takes at most so many times its longest for what is left out of it.
const PATIENCE: u64 = 3;
/// After so many stretches is known whether there is anything to wait for.
const MANY: u32 = 16;

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

/// The stretch of a window under way.
pub(super) struct Stretches {
    /// The reading at its begin; `None` where nothing tells.
    before: Option<Starvation>,
    began_ns: u64,
    /// Time left out of the window so far.
    pub(super) left_out_ns: u64,
    /// Longest that the window may take with it.
    pub(super) longest_ns: u64,
}

impl Bench<'_, '_> {
    /// Begins to look for starvation, with a window that is to take so long, and its first stretch.
    pub(super) fn stretches<S: Show>(&self, sieve: &mut Sieve<S>, longest_ns: u64) -> Stretches {
        let counts = self.plan.max_starvation < 1.0;
        let before = self.pool.starvation().filter(|_| counts);
        if before.is_some() {
            sieve.before = sieve.seen.clone();
        }
        // A client that is starved all the time will be so for longer.
        let hopeless = self.starved.stretches >= MANY && self.starved.is_most();
        let patience = if hopeless { 1 } else { PATIENCE };
        let longest_ns = longest_ns.max(self.left_ns().min(patience * longest_ns));
        Stretches { before, began_ns: self.pool.now_ns(), left_out_ns: 0, longest_ns }
    }

    /// Begins a stretch anew, with what happened since the last one left out.
    pub(super) fn begin_stretch(&self, stretches: &mut Stretches) {
        let now_ns = self.pool.now_ns();
        stretches.left_out_ns += now_ns - stretches.began_ns;
        (stretches.before, stretches.began_ns) = (self.pool.starvation(), now_ns);
    }

    /// Ends the stretch under way where it has lasted long enough, and at the end of a window where half of
    /// that is enough. Returns true where the client was starved in it; `None` where it goes on.
    pub(super) fn end_stretch(&mut self, stretches: &mut Stretches, at_end: bool) -> Option<bool> {
        let before = stretches.before?;
        let length_ns = self.pool.now_ns() - stretches.began_ns;
        if length_ns < if at_end { STRETCH_NS / 2 } else { STRETCH_NS } {
            return None;
        }
        let now = self.pool.starvation()?;
        let lost = now.since(&before);
        let starved = lost.lost_ns() as f64 > length_ns as f64 * self.plan.max_starvation;
        self.starved.stretches += 1;
        if starved {
            self.starved.left_out += 1;
            self.starved.left_out_ns += length_ns;
            self.starved.lost.add(&lost);
            stretches.left_out_ns += length_ns;
        }
        (stretches.before, stretches.began_ns) = (Some(now), self.pool.now_ns());
        Some(starved)
    }
}
