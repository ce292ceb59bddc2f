//! What has to be written once before a part can be measured, and the keeping of it.
//!
//! The writing itself is the worker's; this module makes the file, says from where to write, keeps
//! the marker and cleans up where the disk turns out to be full.

use super::block_sample::sample_blocks;
use super::error::TargetError;
use super::extents::extents;
use super::header::Header;
use super::marker::{BASE_BYTES, Marker};
use super::part::{FileOrigin, OpenMode, Part, PartKind};
use super::reserve::{ReserveWatch, check_reserve, free_space_of, release, reserve};
use crate::guard::GuardError;
use crate::kernel::Roots;
use std::fs::File;
use std::ops::Range;

/// Blocks of a device looked at to judge whether it was ever filled.
const SAMPLED_BLOCKS: u32 = 256;
const SAMPLE_SEED: u64 = 0x10;

/// What a part needs before it can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefillNeed {
    /// Every block is written.
    None,
    /// Everything behind this usable byte has to be written.
    From {
        /// First usable byte to write; `Part::base_bytes` is not in it.
        offset_bytes: u64,
    },
    /// Some blocks were never written, and the guards allow no writing here: reads of them say
    /// nothing of the medium.
    NotAllowed {
        /// How many bytes, for a device as sampled.
        unwritten_bytes: u64,
    },
}

/// Finds out what a part needs: own files by their marker, foreign ones by their extents, block
/// devices by 256 random blocks, of which none may be all zeros.
///
/// # Errors
/// Where the part cannot be looked at.
pub fn need(part: &Part) -> Result<PrefillNeed, TargetError> {
    let unwritten_bytes = match part.kind {
        PartKind::File(FileOrigin::ToMake) => part.size_bytes,
        PartKind::File(FileOrigin::Ours(header)) => {
            let offset_bytes = header.prefilled_bytes;
            if offset_bytes < part.size_bytes && part.may_write() {
                return Ok(PrefillNeed::From { offset_bytes });
            }
            part.size_bytes.saturating_sub(offset_bytes)
        }
        PartKind::File(FileOrigin::Foreign) => {
            let file = File::from(part.open(OpenMode::reading(false))?.fd);
            extents(&file, &part.path, part.base_bytes, part.size_bytes)?.never_written_bytes()
        }
        PartKind::BlockDevice => {
            let sample = sample_blocks(part, SAMPLED_BLOCKS, SAMPLE_SEED)?;
            (part.size_bytes as f64 * sample.zero_share()) as u64
        }
    };
    Ok(match unwritten_bytes {
        0 => PrefillNeed::None,
        _ if part.may_write() => PrefillNeed::From { offset_bytes: 0 },
        unwritten_bytes => PrefillNeed::NotAllowed { unwritten_bytes },
    })
}

/// A prefill under way. Dropped without [`Prefill::finish`], it leaves a file whose marker says how
/// far it came, and the next one goes on from there.
#[derive(Debug)]
pub struct Prefill {
    range: Range<u64>,
    /// Of a file of ours; devices and foreign files keep no record.
    marker: Option<Marker>,
    /// The header of a file that was complete before and grows now.
    before: Option<Header>,
    /// Files whose blocks could not be taken beforehand.
    watched: ReserveWatch,
    /// Files that take more room when they are written once more.
    rewritten: ReserveWatch,
    /// True while there may be blocks that were taken and not written.
    reserved: bool,
}

impl Prefill {
    /// Makes the file where it is missing, gives it its length and locks it; then the part can be
    /// opened. `None` where nothing has to be written.
    ///
    /// # Errors
    /// A [`GuardError`] where the disk has no room, another run is using the file or the part may
    /// not be written; others where the file cannot be made.
    pub fn begin(part: &mut Part, roots: &Roots) -> Result<Option<Self>, TargetError> {
        let offset_bytes = match need(part)? {
            PrefillNeed::None => return Ok(None),
            PrefillNeed::NotAllowed { .. } => {
                return Err(GuardError::ReadingOnly { path: part.path.clone() }.into());
            }
            PrefillNeed::From { offset_bytes } => offset_bytes,
        };
        let range = offset_bytes..part.size_bytes;
        let PartKind::File(origin) = part.kind else {
            let (watched, rewritten) = Default::default();
            let (marker, before) = (None, None);
            return Ok(Some(Self { range, marker, before, watched, rewritten, reserved: false }));
        };
        check_reserve(part)?;
        let made = origin == FileOrigin::ToMake;
        let (marker, before) = match origin {
            FileOrigin::Foreign => {
                part.take_lock()?;
                (None, None)
            }
            FileOrigin::ToMake => (Some(make(part)?), None),
            FileOrigin::Ours(_) => {
                part.take_lock()?;
                let mut marker = Marker::open(part.judged_file()?, part.place()?)?;
                let header = marker.header();
                if part.size_bytes > header.size_bytes {
                    marker.resize(part.size_bytes)?;
                }
                part.kind = PartKind::File(FileOrigin::Ours(marker.header()));
                let complete = header.prefilled_bytes == header.size_bytes;
                (Some(marker), complete.then_some(header))
            }
        };
        let (reserved, (watched, rewritten)) = (marker.is_some(), Default::default());
        let mut prefill = Self { range, marker, before, watched, rewritten, reserved };
        match prefill.take_room(part, roots) {
            Ok(()) => Ok(Some(prefill)),
            Err(error) => {
                // What was there before stays as far as it was written.
                if made || prefill.before.is_some() {
                    prefill.abandon()?;
                }
                Err(error)
            }
        }
    }

    /// Takes the blocks that will be written, or has the room watched while they are.
    fn take_room(&mut self, part: &Part, roots: &Roots) -> Result<(), TargetError> {
        let taken = match &self.marker {
            Some(marker) => reserve(part, marker.file(), roots)?,
            None => false,
        };
        if !taken {
            self.watched.add(part)?;
        }
        self.rewritten.add_if_copied(part)
    }

    /// Looks whether the disk keeps its reserve where the blocks could not be taken beforehand: call it
    /// at least every 100 ms.
    ///
    /// # Errors
    /// [`TargetError::ReserveReached`].
    pub fn check_reserve(&mut self) -> Result<(), TargetError> {
        self.watched.check()
    }

    /// As [`Self::check_reserve`], while what is written already is written once more.
    ///
    /// # Errors
    /// As [`Self::check_reserve`].
    pub fn check_room_to_rewrite(&mut self) -> Result<(), TargetError> {
        self.watched.check()?;
        self.rewritten.check()
    }

    /// Usable bytes to write, in order; add `Part::base_bytes` for the place in the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Notes that every usable byte before this one is written, so that a killed prefill goes on
    /// here. Flushes the file: call it once in a second or gibibyte.
    ///
    /// # Errors
    /// Where the file cannot be flushed; a full disk may show here.
    pub fn progress(&mut self, written_to_bytes: u64) -> Result<(), TargetError> {
        match &mut self.marker {
            Some(marker) => marker.set_prefilled(written_to_bytes.min(self.range.end)),
            None => Ok(()),
        }
    }

    /// Notes that everything is written.
    ///
    /// # Errors
    /// As [`Prefill::progress`].
    pub fn finish(mut self, part: &mut Part) -> Result<(), TargetError> {
        self.progress(self.range.end)?;
        self.reserved = false;
        if let Some(marker) = &self.marker {
            part.kind = PartKind::File(FileOrigin::Ours(marker.header()));
        }
        Ok(())
    }

    /// Gives the room back: removes the file, or cuts one that was complete before to its former
    /// size. The part has to be resolved again. Close its descriptors first.
    ///
    /// # Errors
    /// Where the file can be neither removed nor cut.
    pub fn abandon(mut self) -> Result<(), TargetError> {
        self.reserved = false;
        match (self.marker.take(), self.before) {
            (Some(mut marker), Some(before)) => marker.resize(before.size_bytes),
            (Some(marker), None) => marker.remove(),
            (None, _) => Ok(()),
        }
    }

    /// Abandons the prefill because a write found the disk full, and says what would fit.
    #[must_use]
    pub fn disk_full(self, part: &Part) -> TargetError {
        let path = part.path.clone();
        if let Err(error) = self.abandon() {
            return error;
        }
        let spare = free_space_of(part).map_or(0, |room| room.spare_bytes());
        TargetError::DiskFull { path, fits_bytes: spare.saturating_sub(BASE_BYTES) }
    }
}

impl Drop for Prefill {
    /// Gives back the blocks that were taken and not written.
    fn drop(&mut self) {
        if let Some(marker) = self.marker.as_ref().filter(|_| self.reserved) {
            release(marker.file(), marker.header().prefilled_bytes, self.range.end);
        }
    }
}

fn make(part: &mut Part) -> Result<Marker, TargetError> {
    let marker = Marker::create_at(part.place()?.clone(), part.size_bytes)?;
    match part.adopt(&marker) {
        Ok(()) => Ok(marker),
        Err(error) => {
            marker.remove()?;
            Err(error)
        }
    }
}
