//! What must be written once before a part can be measured.
//!
//! Workers do the writing. This module creates the file, determines where to start, updates the marker and cleans up if
//! the disk becomes full.

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

/// Number of blocks sampled to determine whether a device was ever filled.
const SAMPLED_BLOCKS: u32 = 256;
const SAMPLE_SEED: u64 = 0x10;

/// What a part needs before it can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefillNeed {
    /// Every block is written.
    None,
    /// Everything from this usable byte on must be written.
    From {
        /// Offset of the first usable byte to write, without `Part::base_bytes`.
        offset_bytes: u64,
    },
    /// Some blocks were never written, and the guards do not allow writing them. Reads of these blocks do not reach the
    /// medium.
    NotAllowed {
        /// Number of unwritten bytes; for a device, estimated from the sample.
        unwritten_bytes: u64,
    },
}

/// Determines what a part needs: own files by their marker, foreign files by their extents, block devices by 256 random
/// blocks, none of which may be all zeros.
///
/// # Errors
/// Fails if the part cannot be examined.
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
        _ if part.may_write() => PrefillNeed::From { offset_bytes: first_byte(part) },
        unwritten_bytes => PrefillNeed::NotAllowed { unwritten_bytes },
    })
}

/// Returns where to begin in a part that was never filled. What iogauge did not make is not written before the first
/// block that the workload uses as a whole.
fn first_byte(part: &Part) -> u64 {
    match part.kind {
        PartKind::File(FileOrigin::ToMake | FileOrigin::Ours(_)) => 0,
        PartKind::File(FileOrigin::Foreign) | PartKind::BlockDevice => part
            .offset_bytes
            .next_multiple_of(u64::from(part.block_bytes()).max(1))
            .min(part.size_bytes),
    }
}

/// A prefill in progress. If it is dropped without [`Prefill::finish`], the file's marker records the progress, and the
/// next prefill continues from there.
#[derive(Debug)]
pub struct Prefill {
    /// The usable bytes to be written, by all hosts.
    range: Range<u64>,
    /// The bytes that this host writes, in order.
    share: Range<u64>,
    /// Marker of a file that iogauge made. Devices and foreign files have none.
    marker: Option<Marker>,
    /// Previous header of a file that was complete and is being enlarged.
    before: Option<Header>,
    /// Files whose blocks could not be allocated in advance.
    watched: ReserveWatch,
    /// Files that use more space when they are rewritten.
    rewritten: ReserveWatch,
    /// True while there may be blocks that are allocated but not written.
    reserved: bool,
}

impl Prefill {
    /// Creates the file if it is missing, sets its length and locks it. The part can then be opened. Returns `None` if
    /// nothing needs to be written.
    ///
    /// # Errors
    /// Returns a [`GuardError`] if the disk has too little space, another run is using the file, or the part may not be
    /// written. Returns other errors if the file cannot be created.
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
            let (marker, before, share) = (None, None, range.clone());
            let reserved = false;
            return Ok(Some(Self { range, share, marker, before, watched, rewritten, reserved }));
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
        let share = range.clone();
        let mut prefill = Self { range, share, marker, before, watched, rewritten, reserved };
        match prefill.take_room(part, roots) {
            Ok(()) => Ok(Some(prefill)),
            Err(error) => {
                // What was written to an existing file is kept.
                if made || prefill.before.is_some() {
                    prefill.abandon()?;
                }
                Err(error)
            }
        }
    }

    /// Joins the prefill of a part that another host has begun, and writes this share of it. That host keeps the marker.
    ///
    /// # Errors
    /// Returns [`GuardError::ReadingOnly`] if the part may not be written.
    pub fn join(part: &Part, share: Range<u64>) -> Result<Self, TargetError> {
        if !part.may_write() {
            return Err(GuardError::ReadingOnly { path: part.path.clone() }.into());
        }
        let (mut watched, rewritten) = (ReserveWatch::default(), ReserveWatch::default());
        if matches!(part.kind, PartKind::File(_)) {
            watched.add(part)?;
        }
        let (marker, before, range) = (None, None, share.clone());
        Ok(Self { range, share, marker, before, watched, rewritten, reserved: false })
    }

    /// Leaves everything but this share to other hosts. The share begins where the range does.
    pub fn keep_share(&mut self, share: Range<u64>) {
        debug_assert_eq!(share.start, self.range.start);
        self.share = share;
    }

    /// Allocates the blocks to be written, or watches the free space while they are written.
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

    /// Checks the free space of files whose blocks could not be allocated in advance. Must be called at least every 100
    /// ms.
    ///
    /// # Errors
    /// Returns [`TargetError::ReserveReached`] if too little space would stay free.
    pub fn check_reserve(&mut self) -> Result<(), TargetError> {
        self.watched.check()
    }

    /// Like [`Self::check_reserve`], while data that is already written is rewritten.
    ///
    /// # Errors
    /// As [`Self::check_reserve`].
    pub fn check_room_to_rewrite(&mut self) -> Result<(), TargetError> {
        self.watched.check()?;
        self.rewritten.check()
    }

    /// Returns the usable bytes that this host writes, in order. Add `Part::base_bytes` for the offset in the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.share.clone()
    }

    /// Records that all usable bytes before this one are written, so that a killed prefill continues here. Flushes the
    /// file, so call it once per second or gibibyte.
    ///
    /// # Errors
    /// Fails if the file cannot be flushed. This may report a full disk.
    pub fn progress(&mut self, written_to_bytes: u64) -> Result<(), TargetError> {
        match &mut self.marker {
            Some(marker) => marker.set_prefilled(written_to_bytes.min(self.range.end)),
            None => Ok(()),
        }
    }

    /// Records that everything is written, also by other hosts.
    ///
    /// # Errors
    /// As [`Prefill::progress`].
    pub fn finish(mut self, part: &mut Part) -> Result<(), TargetError> {
        self.progress(self.range.end)?;
        self.reserved = false;
        if self.marker.is_none()
            && let Ok(file) = part.judged_file()
        {
            file.sync_data().map_err(|source| TargetError::io(&part.path, "flush it", source))?;
        }
        if let Some(marker) = &self.marker {
            part.kind = PartKind::File(FileOrigin::Ours(marker.header()));
        }
        Ok(())
    }

    /// Frees the space: removes the file, or truncates a file that was complete before to its previous size. Close the
    /// part's descriptors first, and resolve it again afterwards.
    ///
    /// # Errors
    /// Fails if the file can be neither removed nor truncated.
    pub fn abandon(mut self) -> Result<(), TargetError> {
        self.reserved = false;
        match (self.marker.take(), self.before) {
            (Some(mut marker), Some(before)) => marker.resize(before.size_bytes),
            (Some(marker), None) => marker.remove(),
            (None, _) => Ok(()),
        }
    }

    /// Abandons the prefill because the disk is full. Returns an error with the size that would fit.
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
    /// Frees the blocks that are allocated but not written.
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
