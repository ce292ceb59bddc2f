//! Decides on the next I/O: direction, size, place.

use crate::engine::Op;
use crate::offsets::{IoPlace, OffsetSource};
use iogauge_model::load::{BlockSplit, Load};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The next I/O.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) op: Op,
    pub(crate) part: u32,
    pub(crate) offset_bytes: u64,
    pub(crate) len: u32,
}

/// Block sizes to draw from.
#[derive(Debug)]
enum Sizes {
    One(u32),
    /// Each size, with the threshold of 2³² below which draws select it.
    Split(Vec<(u64, u32)>),
    /// `count` sizes, `step` apart, all equally likely.
    Range {
        least: u32,
        step: u32,
        count: u64,
    },
}

impl Sizes {
    fn new(split: &BlockSplit) -> Self {
        if let [(size, _)] = split.entries() {
            return Self::One(*size as u32);
        }
        if let Some(range) = split.range() {
            let (least, step) = (range.least_bytes as u32, range.step_bytes as u32);
            return Self::Range { least, step, count: range.count() };
        }
        let mut share = 0;
        let entries = split.entries().iter().map(|(size, percent)| {
            share += u64::from(*percent);
            (share * (1 << 32) / 100, *size as u32)
        });
        Self::Split(entries.collect())
    }

    #[inline(always)]
    fn next(&self, random: &mut Xoshiro256PlusPlus) -> u32 {
        match self {
            Self::One(size) => *size,
            Self::Split(entries) => {
                let draw = random.next_u64() >> 32;
                // The last threshold is 2³², above every draw.
                entries.iter().find(|(below, _)| draw < *below).map_or(entries[0].1, |e| e.1)
            }
            Self::Range { least, step, count } => {
                // There are at most 2³⁰ sizes, so the product with a 32-bit draw fits.
                let index = ((random.next_u64() >> 32) * count) >> 32;
                least + step * index as u32
            }
        }
    }
}

/// How the direction is chosen.
#[derive(Debug, Clone, Copy)]
enum Mix {
    Only(Op),
    /// Draws below this threshold of 2³² are reads.
    Mixed(u64),
}

/// The stream of I/Os of one worker.
#[derive(Debug)]
pub(crate) struct Chooser {
    mix: Mix,
    read_sizes: Sizes,
    write_sizes: Sizes,
    offsets: OffsetSource,
    random: Xoshiro256PlusPlus,
    sync_every: u32,
    writes_since_sync: u32,
    last_written_part: u32,
}

impl Chooser {
    pub(crate) fn new(load: &Load, offsets: OffsetSource, seed: u64) -> Self {
        let mix = if load.dependent {
            Mix::Only(Op::Read)
        } else if load.rw.is_mixed() {
            Mix::Mixed(u64::from(load.read_percent) * (1 << 32) / 100)
        } else if load.rw.reads() {
            Mix::Only(Op::Read)
        } else {
            Mix::Only(Op::Write)
        };
        Self {
            mix,
            read_sizes: Sizes::new(&load.block.read),
            write_sizes: Sizes::new(&load.block.write),
            offsets,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            // At most one of them is set.
            sync_every: load.fsync_every.max(load.fdatasync_every),
            writes_since_sync: 0,
            last_written_part: 0,
        }
    }

    /// Returns true if the next I/O is a sync.
    #[inline(always)]
    pub(crate) fn sync_is_due(&self) -> bool {
        self.sync_every != 0 && self.writes_since_sync >= self.sync_every
    }

    /// Returns the next I/O, in this direction if one is given and no sync is due.
    #[inline(always)]
    pub(crate) fn next(&mut self, asked: Option<Op>) -> Choice {
        if self.sync_is_due() {
            self.writes_since_sync = 0;
            return Choice { op: Op::Sync, part: self.last_written_part, offset_bytes: 0, len: 0 };
        }
        let op = match (asked, self.mix) {
            (Some(op), _) | (None, Mix::Only(op)) => op,
            (None, Mix::Mixed(reads_below)) => {
                if self.random.next_u64() >> 32 < reads_below {
                    Op::Read
                } else {
                    Op::Write
                }
            }
        };
        let write = op == Op::Write;
        let sizes = if write { &self.write_sizes } else { &self.read_sizes };
        let len = sizes.next(&mut self.random);
        let place = self.offsets.next(&mut self.random, u64::from(len), write);
        if write {
            self.wrote(place.part);
        }
        let IoPlace { part, offset_bytes, len_bytes } = place;
        Choice { op, part, offset_bytes, len: len_bytes as u32 }
    }

    /// Counts a write towards the next sync.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, part: u32) {
        self.writes_since_sync += 1;
        self.last_written_part = part;
    }
}
