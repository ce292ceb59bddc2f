//! Whether blocks fit a target.

use super::{Site, SuiteError};
use iogauge_model::units::Bytes;

/// Checks that blocks of an option can go around the page cache of a target, and fit into each part.
///
/// # Errors
/// Where they cannot.
pub(crate) fn block_fits(
    site: &Site,
    option: &'static str,
    block_bytes: u64,
) -> Result<(), SuiteError> {
    let unit = site.block_bytes;
    if !block_bytes.is_multiple_of(u64::from(unit)) {
        let reason = format!(
            "{block_bytes} is not a multiple of {unit}, the block of the target; hint: use {}",
            block_bytes.next_multiple_of(u64::from(unit))
        );
        return Err(SuiteError::option(option, reason));
    }
    let smallest = site.part_bytes.iter().min().copied().unwrap_or(0);
    if block_bytes > smallest {
        let reason = format!(
            "a block of {} is larger than the target, which has {}",
            Bytes(block_bytes),
            Bytes(smallest)
        );
        return Err(SuiteError::option(option, reason));
    }
    Ok(())
}
