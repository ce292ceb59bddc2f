//! Record of writes: how often each unit was written, and whether its content can be known.
//!
//! A unit's entry is one 64-bit word: the number of writes begun, the number of writes in progress, and how far back
//! the writes go that may have landed last. Writes in progress at the same time may land in any order, or mix. They
//! form a *cluster*, which ends when none is in progress any more. Only a write that begins after the end of a cluster
//! is certain to land after it.
//!
//! Memory: 8 bytes per unit, allocated in pieces of 32 KiB where units are written. That is 2 MiB per GiB with units of
//! 4 KiB. It is twice that if units are read back while the load goes on (`verify_backlog`).

use super::header::Format;
use crate::offsets::Extent;
use crate::pool::Room;
use iogauge_model::load::{Load, Verify, VerifyRound};
use iogauge_model::units::Bytes;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Number of units per piece of memory.
pub(super) const PIECE_UNITS: u64 = 4096;

/// One unit's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitEntry(u64);

// Bits of an entry, from the lowest: writes begun (32); writes of the cluster before the newest (16); writes in
// progress (14); a write of the cluster failed, or their number overflowed (1); the unit is given up (1).
const REACH: u32 = 32;
const UNDER_WAY: u32 = 48;
const REACH_MOST: u64 = (1 << 16) - 1;
const UNDER_WAY_MOST: u64 = (1 << 14) - 1;
const SPOILT: u64 = 1 << 62;
const GIVEN_UP: u64 = 1 << 63;

/// What is known about a unit's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Nothing was written to it.
    Untouched,
    /// A write is in progress or failed, or the content is unknown for another reason.
    Nothing,
    /// The content is that of this write.
    Exactly(u32),
    /// Several writes were in progress at once. The content is that of one of them, or a mixture.
    OneOf { first: u32, last: u32 },
}

impl Known {
    /// Returns the first and the last write that the content may be from; `None` if unknown.
    pub(super) fn allowed(self) -> Option<(u32, u32)> {
        match self {
            Self::Untouched | Self::Nothing => None,
            Self::Exactly(sequence) => Some((sequence, sequence)),
            Self::OneOf { first, last } => Some((first, last)),
        }
    }

    /// Returns the same with the numbers of writes increased by `before`.
    fn behind(self, before: u32) -> Self {
        let count = |sequence: u32| sequence.wrapping_add(before);
        match self {
            Self::Untouched | Self::Nothing => self,
            Self::Exactly(sequence) => Self::Exactly(count(sequence)),
            Self::OneOf { first, last } => Self::OneOf { first: count(first), last: count(last) },
        }
    }
}

impl UnitEntry {
    fn writes(self) -> u32 {
        self.0 as u32
    }

    fn reach(self) -> u64 {
        self.0 >> REACH & REACH_MOST
    }

    fn under_way(self) -> u64 {
        self.0 >> UNDER_WAY & UNDER_WAY_MOST
    }

    /// Returns the entry with one more write begun.
    fn begin(self) -> Self {
        if self.0 & GIVEN_UP != 0 {
            return self;
        }
        let writes = u64::from(self.writes().wrapping_add(1));
        if self.under_way() == 0 {
            return Self(writes | 1 << UNDER_WAY);
        }
        if self.under_way() == UNDER_WAY_MOST {
            return Self(GIVEN_UP);
        }
        // Nothing is known about a cluster too long to count.
        let spoilt = self.0 & SPOILT | if self.reach() == REACH_MOST { SPOILT } else { 0 };
        let reach = (self.reach() + 1).min(REACH_MOST);
        Self(writes | reach << REACH | (self.under_way() + 1) << UNDER_WAY | spoilt)
    }

    /// Returns the entry with one write ended.
    fn end(self, succeeded: bool) -> Self {
        if self.0 & GIVEN_UP != 0 {
            return self;
        }
        debug_assert!(self.under_way() > 0);
        let spoilt = if succeeded { 0 } else { SPOILT };
        Self((self.0 - (1 << UNDER_WAY)) | spoilt)
    }

    fn known(self) -> Known {
        if self.0 == 0 {
            return Known::Untouched;
        }
        if self.0 & (SPOILT | GIVEN_UP) != 0 || self.under_way() > 0 {
            return Known::Nothing;
        }
        let last = self.writes();
        match self.reach() as u32 {
            0 => Known::Exactly(last),
            reach => Known::OneOf { first: last.wrapping_sub(reach), last },
        }
    }
}

type EntryBlock = Box<[AtomicU64]>;

/// The units of a range of one file or device, in order of their offsets.
#[derive(Debug)]
pub struct Territory {
    /// Index of the file or device in the target.
    pub part: u32,
    /// First byte.
    pub base_bytes: u64,
    /// Number of units.
    pub units: u64,
    /// Format of the units.
    pub format: Format,
    /// Number of the run that writes the units.
    pub run: u64,
    /// Number of the run's writes to each unit before the first one recorded here.
    before: u32,
    pieces: Pieces,
    /// The entry of each unit when it was last read back while the load went on; 0 for never.
    checked: Pieces,
}

/// Words of the units, in pieces that are allocated when a unit in them is first used.
#[derive(Debug)]
struct Pieces(Box<[OnceLock<EntryBlock>]>);

impl Pieces {
    fn new(units: u64) -> Self {
        Self((0..units.div_ceil(PIECE_UNITS)).map(|_| OnceLock::new()).collect())
    }

    fn word(&self, unit: u64) -> &AtomicU64 {
        let piece = self.0[(unit / PIECE_UNITS) as usize]
            .get_or_init(|| (0..PIECE_UNITS).map(|_| AtomicU64::new(0)).collect());
        &piece[(unit % PIECE_UNITS) as usize]
    }

    fn load(&self, unit: u64) -> u64 {
        let piece = self.0.get((unit / PIECE_UNITS) as usize).and_then(OnceLock::get);
        piece.map_or(0, |piece| piece[(unit % PIECE_UNITS) as usize].load(Ordering::SeqCst))
    }
}

impl Territory {
    fn new(run: u64, stretch: &LoadRange) -> Self {
        let units = stretch.units();
        Self {
            part: stretch.part,
            base_bytes: stretch.bytes.start,
            units,
            format: stretch.format.clone(),
            run: stretch.round.map_or(run, |round| round.run),
            before: stretch.round.map_or(0, |round| round.number.saturating_sub(1)),
            pieces: Pieces::new(units),
            checked: Pieces::new(units),
        }
    }

    /// Returns the numbers of the units in a range of whole units.
    #[must_use]
    pub fn units_of(&self, offset_bytes: u64, len: u32) -> Range<u64> {
        let unit = u64::from(self.format.unit_bytes);
        let first = (offset_bytes - self.base_bytes) / unit;
        first..first + u64::from(len) / unit
    }

    /// Returns the offset of a unit.
    #[must_use]
    pub fn offset_of(&self, unit: u64) -> u64 {
        self.base_bytes + unit * u64::from(self.format.unit_bytes)
    }

    /// Records that a write is about to begin, and returns its sequence number.
    pub fn begin(&self, unit: u64) -> u32 {
        let change = |word| Some(UnitEntry(word).begin().0);
        let entry = self.pieces.word(unit);
        // SeqCst: a write is recorded before it is submitted, regardless of what other threads record.
        let before = entry.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
        UnitEntry(before.unwrap_or_default()).begin().writes().wrapping_add(self.before)
    }

    /// Records that a write has ended. If it did not succeed, part of it may have landed.
    pub fn end(&self, unit: u64, succeeded: bool) {
        let change = |word| Some(UnitEntry(word).end(succeeded).0);
        let _ = self.pieces.word(unit).fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
    }

    /// Returns what is known about the content of a unit.
    #[must_use]
    pub fn known(&self, unit: u64) -> Known {
        self.known_of(UnitEntry(self.pieces.load(unit)))
    }

    /// Returns what an entry says about its unit.
    pub(crate) fn known_of(&self, entry: UnitEntry) -> Known {
        entry.known().behind(self.before)
    }

    /// Records that a unit was read back and judged, with the entry that it had.
    pub(super) fn check(&self, unit: u64, entry: UnitEntry) {
        self.checked.word(unit).store(entry.0, Ordering::SeqCst);
    }

    /// Returns true if a unit was written, and not read back since its last write.
    pub(super) fn is_unchecked(&self, unit: u64) -> bool {
        let word = self.pieces.load(unit);
        word != 0 && self.checked.load(unit) != word
    }

    /// Reads the entry of each unit once. Returns a number that stays the same as long as no write to any of them
    /// begins or ends; `None` if one is in progress.
    pub(crate) fn look(&self, units: Range<u64>, entries: &mut Vec<UnitEntry>) -> Option<u64> {
        entries.clear();
        entries.extend(units.map(|unit| UnitEntry(self.pieces.load(unit))));
        if entries.iter().any(|entry| entry.under_way() > 0) {
            return None;
        }
        Some(entries.iter().fold(0, |still, entry| crate::offsets::mix64(still ^ entry.0)))
    }

    /// Returns the numbers of the pieces in which a unit was written.
    pub(super) fn touched_pieces(&self) -> impl Iterator<Item = u64> {
        self.pieces.0.iter().zip(0..).filter_map(|(piece, number)| piece.get().map(|_| number))
    }

    /// Returns the number of units that were written, and not read back since.
    #[must_use]
    pub fn unchecked(&self) -> u64 {
        let units =
            self.touched_pieces().flat_map(|piece| piece * PIECE_UNITS..(piece + 1) * PIECE_UNITS);
        units.filter(|unit| self.is_unchecked(*unit)).count() as u64
    }
}

/// A range of the target that a load may write.
#[derive(Debug, Clone)]
struct LoadRange {
    part: u32,
    bytes: Range<u64>,
    format: Format,
    round: Option<VerifyRound>,
}

impl LoadRange {
    fn units(&self) -> u64 {
        (self.bytes.end - self.bytes.start) / u64::from(self.format.unit_bytes)
    }
}

/// Refuses to record more units than fit into memory, assuming that all of them are written. `words` is the number of
/// words for each unit.
fn check_memory(units: u64, words: u64, room: &Room) -> Result<(), LedgerError> {
    let asked_bytes = units.saturating_mul(words * size_of::<AtomicU64>() as u64);
    let (most_bytes, bound) = (room.memory_bytes, room.memory_bound());
    if asked_bytes <= most_bytes {
        return Ok(());
    }
    Err(LedgerError::TooLarge { units, asked_bytes, most_bytes, bound: bound.to_owned() })
}

/// A load with the parts that it writes, by their index in the target.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    pub load: &'a Load,
    pub parts: &'a [(u32, Extent)],
}

/// Why the writes of jobs cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    #[error(
        "verify: another job writes the same stretch without it; hint: use verify for both, or \
         stretches apart"
    )]
    Overwritten,
    #[error(
        "verify: another job writes what this one reads to check it; hint: run one after the \
         other"
    )]
    Read,
    #[error(
        "verify: two jobs write the same stretch with headers that differ; hint: use the same \
         verify, verify_interval and block sizes for both, or stretches apart"
    )]
    Differs,
    #[error(
        "verify: remembering what was written to {units} blocks would take {}, and half of what is \
         available by {bound} is {}; hint: use a smaller --size, or larger blocks",
        Bytes(*asked_bytes), Bytes(*most_bytes)
    )]
    TooLarge { units: u64, asked_bytes: u64, most_bytes: u64, bound: String },
}

/// Record of what the jobs of one step write.
#[derive(Debug)]
pub struct Ledger {
    territories: Vec<Arc<Territory>>,
}

impl Ledger {
    /// Creates an empty ledger for jobs that run together.
    ///
    /// # Errors
    /// If a job writes, in another form, what another one checks.
    pub fn new(writers: &[Writer<'_>]) -> Result<Self, LedgerError> {
        let writing = || writers.iter().filter(|writer| writer.load.writes());
        let mut kept: Vec<LoadRange> = Vec::new();
        for writer in writing() {
            let Some(verify) = &writer.load.verify else { continue };
            for stretch in stretches(writer, &format(writer.load, verify)) {
                join(&mut kept, stretch)?;
            }
        }
        let overlaps = |a: &LoadRange, b: &LoadRange| {
            a.part == b.part && a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end
        };
        let checks = |writer: &&Writer<'_>| writer.load.verify.is_some();
        let reading = writers.iter().filter(|writer| !writer.load.writes()).filter(checks);
        for read in reading.flat_map(|writer| {
            let verify = writer.load.verify.as_ref();
            verify.map_or_else(Vec::new, |verify| stretches(writer, &format(writer.load, verify)))
        }) {
            // Units that are being written may not be there yet, or may have changed.
            if kept.iter().any(|own| overlaps(own, &read)) {
                return Err(LedgerError::Read);
            }
            kept_apart(&read, writing(), overlaps)?;
        }
        for own in &kept {
            kept_apart(own, writing(), overlaps)?;
        }
        if !kept.is_empty() {
            let has_backlog =
                writing().any(|w| w.load.verify.as_ref().is_some_and(|v| v.backlog.is_some()));
            let words = if has_backlog { 2 } else { 1 };
            check_memory(kept.iter().map(LoadRange::units).sum(), words, &Room::here())?;
        }
        let run = RandomState::new().hash_one(std::time::SystemTime::now());
        let territories = kept.iter().map(|stretch| Arc::new(Territory::new(run, stretch)));
        Ok(Self { territories: territories.collect() })
    }

    /// Returns the territory of a load's part.
    pub(crate) fn territory(
        &self,
        part: u32,
        load: &Load,
        extent: &Extent,
    ) -> Option<&Arc<Territory>> {
        let bytes = written(load, extent);
        self.territories.iter().find(|territory| {
            let end = territory.offset_of(territory.units);
            territory.part == part && territory.base_bytes <= bytes.start && bytes.start < end
        })
    }
}

/// Returns an error if a load that does not verify writes the range.
fn kept_apart<'a, 'b: 'a>(
    own: &LoadRange,
    writers: impl Iterator<Item = &'a Writer<'b>>,
    overlaps: impl Fn(&LoadRange, &LoadRange) -> bool,
) -> Result<(), LedgerError> {
    for writer in writers.filter(|writer| writer.load.verify.is_none()) {
        if stretches(writer, &own.format).iter().any(|other| overlaps(own, other)) {
            return Err(LedgerError::Overwritten);
        }
    }
    Ok(())
}

/// Returns the format of a load's units.
pub(crate) fn format(load: &Load, verify: &Verify) -> Format {
    Format {
        algorithm: verify.algorithm,
        // No block is larger than 1 GiB, and the offset of a header is less.
        unit_bytes: load.verify_unit_bytes() as u32,
        pattern: verify.pattern.clone(),
        pattern_interval_bytes: usize::try_from(verify.pattern_interval_bytes).unwrap_or(0),
        header_offset_bytes: verify.header_offset_bytes as usize,
    }
}

/// Returns the range of bytes that the load may access.
fn written(load: &Load, extent: &Extent) -> Range<u64> {
    let begin = extent.base_bytes + load.offset_bytes;
    let last = u64::from(load.numjobs.saturating_sub(1));
    let behind = load.offset_increment_bytes.unwrap_or(0).saturating_mul(last);
    let extent_end = extent.base_bytes + extent.size_bytes;
    let end = load.size_bytes.map_or(extent_end, |size| begin.saturating_add(behind + size));
    begin..end.min(extent_end).max(begin)
}

fn stretches(writer: &Writer<'_>, format: &Format) -> Vec<LoadRange> {
    let unit = u64::from(format.unit_bytes);
    let stretch = |(part, extent): &(u32, Extent)| {
        let mut bytes = written(writer.load, extent);
        bytes.end -= (bytes.end - bytes.start) % unit;
        let round = writer.load.verify.as_ref().and_then(|verify| verify.round);
        LoadRange { part: *part, bytes, format: format.clone(), round }
    };
    writer.parts.iter().map(stretch).collect()
}

/// Adds a range, merged with those that it overlaps.
fn join(kept: &mut Vec<LoadRange>, mut new: LoadRange) -> Result<(), LedgerError> {
    let touches = |own: &LoadRange, new: &LoadRange| {
        own.part == new.part && own.bytes.start < new.bytes.end && new.bytes.start < own.bytes.end
    };
    while let Some(index) = kept.iter().position(|own| touches(own, &new)) {
        let own = kept.remove(index);
        let unit = u64::from(own.format.unit_bytes);
        let apart = own.bytes.start.abs_diff(new.bytes.start);
        let alike = own.format == new.format && own.round == new.round;
        if !alike || !apart.is_multiple_of(unit) {
            return Err(LedgerError::Differs);
        }
        new.bytes.start = new.bytes.start.min(own.bytes.start);
        new.bytes.end = new.bytes.end.max(own.bytes.end);
    }
    kept.push(new);
    Ok(())
}

#[cfg(test)]
mod tests;
