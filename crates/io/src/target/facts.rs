//! What would spoil a measurement of a part, as far as it shows before the run.

use super::device::DeviceFacts;
use super::error::TargetError;
use super::extents::{ExtentReport, extents};
use super::part::{FileOrigin, OpenMode, Part, PartKind};
use super::resolve::Intent;
use super::sample::{ZeroSample, sample_zero_blocks};
use crate::kernel::Roots;
use iogauge_model::load::SyncMode;
use iogauge_model::units::Bytes;
use iogauge_model::{Caveat, CaveatCode};
use std::fs::File;

/// Blocks looked at for zeros.
const SAMPLED_BLOCKS: u32 = 256;
/// Share of zero blocks that is worth a word.
const ZERO_SHARE: f64 = 0.01;

/// Every doubt that shows before a run. Reads 256 random blocks and asks for the extents.
///
/// # Errors
/// Where the part cannot be looked at. A file yet to be made raises no doubts about its blocks.
pub fn facts(
    part: &Part,
    intent: &Intent,
    sync: SyncMode,
    roots: &Roots,
) -> Result<Vec<Caveat>, TargetError> {
    let mut caveats = Vec::new();
    caveats.extend(page_cache(part, intent.direct));
    let device = part.device.and_then(|number| DeviceFacts::read(number, roots));
    if let Some(device) = device.filter(|_| intent.writes && sync == SyncMode::None) {
        caveats.extend(volatile_write_cache(&device));
    }
    if matches!(part.kind, PartKind::File(FileOrigin::ToMake)) {
        return Ok(caveats);
    }
    if matches!(part.kind, PartKind::File(_)) {
        let file = File::from(part.open(OpenMode::reading(false))?.fd);
        let report = extents(&file, &part.path, part.base_bytes, part.size_bytes)?;
        caveats.extend(sparse_holes(part, &report));
        caveats.extend(unwritten_extents(part, &report));
        if intent.writes {
            caveats.extend(shared_extents(part, &report));
        }
        if report.never_written_bytes() > 0 {
            // Holes read as zeros; saying so twice helps nobody.
            return Ok(caveats);
        }
    }
    let sample = sample_zero_blocks(part, SAMPLED_BLOCKS, 1)?;
    caveats.extend(zero_blocks(part, sample));
    Ok(caveats)
}

/// The command that writes every block of the part.
fn prepare(part: &Part) -> String {
    let path = quoted(&part.path.to_string_lossy());
    match part.kind {
        PartKind::BlockDevice => format!("iogauge prepare {path} --destroy-data"),
        PartKind::File(FileOrigin::Foreign) => format!("iogauge prepare {path} --overwrite"),
        // The marker says that all is written, so somebody took blocks away since.
        PartKind::File(FileOrigin::Ours(header)) if header.prefilled_bytes >= part.size_bytes => {
            format!("iogauge clean {path} && iogauge prepare {path}")
        }
        PartKind::File(_) => format!("iogauge prepare {path}"),
    }
}

/// The path as one word for a shell.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%=".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Percent with one digit, for `part` of `whole`.
fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

/// I/O that is not direct measures memory as much as the device.
#[must_use]
pub fn page_cache(part: &Part, direct: bool) -> Option<Caveat> {
    (!direct).then(|| {
        let path = part.path.display();
        Caveat::new(
            CaveatCode::PageCache,
            format!("{path}: the page cache answers instead of the device where it can"),
            "leave out --direct=0",
        )
    })
}

/// Reads of holes touch no medium.
#[must_use]
pub fn sparse_holes(part: &Part, report: &ExtentReport) -> Option<Caveat> {
    (report.hole_bytes > 0).then(|| {
        let message = format!(
            "{}: {} ({}) are holes, reads of which touch no medium",
            part.path.display(),
            Bytes(report.hole_bytes),
            percent(report.hole_bytes, report.total_bytes),
        );
        Caveat::new(CaveatCode::SparseHoles, message, prepare(part))
    })
}

/// Reads of allocated blocks that were never written touch no medium either.
#[must_use]
pub fn unwritten_extents(part: &Part, report: &ExtentReport) -> Option<Caveat> {
    (report.unwritten_bytes > 0).then(|| {
        let message = format!(
            "{}: {} ({}) are allocated and never written; reads of them touch no medium, and \
             their first write is slower than later ones",
            part.path.display(),
            Bytes(report.unwritten_bytes),
            percent(report.unwritten_bytes, report.total_bytes),
        );
        Caveat::new(CaveatCode::UnwrittenExtents, message, prepare(part))
    })
}

/// The first write of a block shared with another file or snapshot copies it.
#[must_use]
pub fn shared_extents(part: &Part, report: &ExtentReport) -> Option<Caveat> {
    (report.shared_bytes > 0).then(|| {
        let message = format!(
            "{}: {} ({}) are shared with another file or snapshot; their first write copies",
            part.path.display(),
            Bytes(report.shared_bytes),
            percent(report.shared_bytes, report.total_bytes),
        );
        Caveat::new(CaveatCode::FirstWriteDiffers, message, prepare(part))
    })
}

/// A thin device answers reads of blocks never written, or written with zeros, without its medium.
#[must_use]
pub fn zero_blocks(part: &Part, sample: ZeroSample) -> Option<Caveat> {
    (sample.zero_share() > ZERO_SHARE).then(|| {
        let message = format!(
            "{}: {} of {} blocks sampled hold only zeros; a thin or compressing device reads \
             them without touching its medium",
            part.path.display(),
            sample.zero,
            sample.read,
        );
        Caveat::new(CaveatCode::ZeroBlocks, message, prepare(part))
    })
}

/// Writes may return before they are on the medium.
#[must_use]
pub fn volatile_write_cache(device: &DeviceFacts) -> Option<Caveat> {
    (device.write_cache.as_deref() == Some("write back")).then(|| {
        Caveat::new(
            CaveatCode::VolatileWriteCache,
            format!(
                "{}: the device has a volatile write cache; writes return before they are durable",
                device.name
            ),
            "add --sync=dsync to measure durable writes",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_can_be_pasted() {
        assert_eq!(quoted("/dev/sdb"), "/dev/sdb");
        assert_eq!(quoted("/my data/it's"), r"'/my data/it'\''s'");
    }

    #[test]
    fn only_a_volatile_cache_is_doubted() {
        let with = |cache: &str| DeviceFacts {
            write_cache: Some(cache.to_owned()),
            ..DeviceFacts::default()
        };
        let caveat = volatile_write_cache(&with("write back")).unwrap();
        assert_eq!(caveat.code, CaveatCode::VolatileWriteCache);
        assert_eq!(volatile_write_cache(&with("write through")), None);
        assert_eq!(volatile_write_cache(&DeviceFacts::default()), None);
    }
}
