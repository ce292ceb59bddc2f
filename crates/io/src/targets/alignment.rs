//! Alignment required by direct I/O.

use super::error::TargetError;
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::fs::File;
use std::path::Path;

/// Alignment of direct I/O, in bytes; powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alignment {
    pub memory_bytes: u32,
    pub offset_bytes: u32,
}

impl Alignment {
    /// Returns a safe alignment for when the kernel reports none: the device's logical block, but at least 512 bytes,
    /// for offsets and memory.
    pub fn cautious(logical_block_bytes: u32) -> Self {
        let bytes = logical_block_bytes.max(512);
        Self { memory_bytes: bytes, offset_bytes: bytes }
    }

    /// Asks the kernel (`STATX_DIOALIGN`, Linux 6.1). Returns `None` if the file does not support direct I/O.
    ///
    /// # Errors
    /// Fails if the kernel cannot be asked.
    pub fn of(
        file: &File,
        path: &Path,
        logical_block_bytes: u32,
    ) -> Result<Option<Self>, TargetError> {
        let stat = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
            .map_err(|source| TargetError::io(path, "ask for its alignment", source))?;
        if stat.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
            return Ok(Some(Self::cautious(logical_block_bytes)));
        }
        let (memory_bytes, offset_bytes) = (stat.stx_dio_mem_align, stat.stx_dio_offset_align);
        let supported = memory_bytes.is_power_of_two() && offset_bytes.is_power_of_two();
        Ok(supported.then_some(Self { memory_bytes, offset_bytes }))
    }
}
