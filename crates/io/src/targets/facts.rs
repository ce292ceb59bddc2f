//! What would spoil a measurement of a part, as far as it shows before the run.

use super::block_sample::{BlockSample, sample_blocks};
use super::device::device_facts;
use super::error::TargetError;
use super::extents::{ExtentReport, extents};
use super::file_system::{Behind, behind};
use super::part::{FileOrigin, OpenMode, Part, PartKind};
use crate::engine;
use crate::kernel::Roots;
use crate::machine::Memory;
use iogauge_model::load::{Load, SyncMode};
use iogauge_model::result::DeviceFacts;
use iogauge_model::units::{Bytes, shell_word};
use iogauge_model::{Caveat, CaveatCode, Impact};
use std::fs::File;

/// Blocks looked at for zeros.
const SAMPLED_BLOCKS: u32 = 256;
/// Share of zero or compressible blocks that is worth a word.
const SHARE: f64 = 0.01;
/// A target this many times as large as memory is read from the medium for the most part.
const TIMES_MEMORY: u64 = 2;
/// Disks and their controllers rarely tell the size of their cache; few have more than this.
const DEVICE_CACHE_BYTES: u64 = 1 << 30;

/// Every doubt that shows before a run. Reads 256 random blocks and asks for the extents.
///
/// # Errors
/// Where the part cannot be looked at. A file yet to be made raises no doubts about its blocks.
pub fn facts(part: &Part, load: &Load, roots: &Roots) -> Result<Vec<Caveat>, TargetError> {
    let mut caveats = Vec::new();
    caveats.extend(page_cache(part, load));
    caveats.extend(no_device(part, roots));
    let device = part.device.and_then(|number| device_facts(number, roots));
    if let Some(memory) = Memory::read(roots) {
        let cache = Cache::before(device.as_ref(), engine::is_direct(load), memory.total_bytes);
        caveats.extend(cache.and_then(|cache| smaller_than_cache(part, &cache)));
    }
    if let Some(device) = device.filter(|_| load.writes() && load.sync == SyncMode::None) {
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
        if load.writes() {
            caveats.extend(shared_extents(part, &report));
        }
        if report.never_written_bytes() > 0 {
            // Holes read as zeros; saying so twice helps nobody.
            return Ok(caveats);
        }
    }
    let sample = sample_blocks(part, SAMPLED_BLOCKS, 1)?;
    caveats.extend(zero_blocks(part, sample));
    if load.rw.reads() || load.dependent {
        caveats.extend(compressible_data(part, sample));
    }
    Ok(caveats)
}

/// The command that writes every block of the part.
fn prepare(part: &Part) -> String {
    let path = shell_word(&part.path.to_string_lossy());
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

/// Percent with one digit, for `part` of `whole`.
fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

fn share(bytes: u64, report: &ExtentReport) -> f64 {
    bytes as f64 / report.total_bytes.max(1) as f64
}

/// I/O that is not direct measures memory as much as the device.
#[must_use]
pub fn page_cache(part: &Part, load: &Load) -> Option<Caveat> {
    (!engine::is_direct(load)).then(|| {
        let engine = engine::info(load.engine);
        let path = part.path.display();
        let answers = "answers instead of the device where it can";
        let (message, hint) = if engine.always_buffered {
            let name = engine.name;
            (
                format!("{path}: {name} goes through the page cache, which {answers}"),
                format!("leave out --ioengine={name}"),
            )
        } else {
            (format!("{path}: the page cache {answers}"), "leave out --direct=0".to_owned())
        };
        Caveat::new(CaveatCode::PageCache, message, hint)
    })
}

/// A file system without a block device behind it shows memory, or something that is not known.
#[must_use]
pub fn no_device(part: &Part, roots: &Roots) -> Option<Caveat> {
    let place = part.place.as_ref()?;
    let behind = match &part.judged {
        Some(file) => behind(file, place.path(), roots),
        None => behind(place.directory(), place.directory_path(), roots),
    };
    let (path, name) = (part.path.display(), part.file_system.as_deref().unwrap_or("its volume"));
    match behind {
        Behind::Device => None,
        Behind::Memory(memory) => {
            let what = if memory == name {
                format!("{name} is memory")
            } else {
                format!("{name} keeps its files on {memory}, which is memory")
            };
            let message = format!("{path}: {what}; no device is behind it, and none is measured");
            Some(Caveat::of(CaveatCode::NoDevice, message))
        }
        Behind::Unknown => {
            let message = format!(
                "{path}: no block device shows behind {name}; the figures are those of whatever \
                 answers"
            );
            Some(Caveat::of(CaveatCode::NoDevice, message).with_impact(Impact::Note))
        }
    }
}

/// A cache on the way to a medium, or one that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// What it is, in words.
    words: String,
    /// A target of this size is safe from it.
    safe_bytes: u64,
    /// A doubt where the cache is certain, a note where it may be there.
    impact: Impact,
    /// A command that takes it out of the way.
    hint: Option<String>,
}

impl Cache {
    /// The cache before a device, by a rule, for devices do not tell of theirs:
    ///
    /// - buffered I/O, and a loop device on a buffered file, go through the page cache of this
    ///   machine, which may take all its memory: a target has to be twice as large;
    /// - a virtual disk may be cached by its host, which has at least the memory of its guest: the
    ///   same size, but no more than a note, for many hosts cache nothing;
    /// - any other device is taken to have less than 1 GiB: a note.
    ///
    /// `None` for direct I/O where no device shows: what a server keeps is not known.
    fn before(device: Option<&DeviceFacts>, direct: bool, memory_bytes: u64) -> Option<Self> {
        let memory = Bytes(memory_bytes);
        let safe_bytes = memory_bytes.saturating_mul(TIMES_MEMORY);
        if !direct {
            let words = format!("the page cache, which may take the {memory} of this machine");
            return Some(Self { words, safe_bytes, impact: Impact::Doubt, hint: None });
        }
        let device = device?;
        let name = &device.name;
        Some(if device.is_cached_here() {
            Self {
                words: format!(
                    "{name} reads its file through the page cache, which may take the {memory} of \
                     this machine"
                ),
                safe_bytes,
                impact: Impact::Doubt,
                hint: Some(format!("losetup --direct-io=on /dev/{name}")),
            }
        } else if device.is_virtual() {
            Self {
                words: format!(
                    "{name} is a virtual disk, whose host may cache it in memory of at least this \
                     machine's {memory}"
                ),
                safe_bytes,
                impact: Impact::Note,
                hint: None,
            }
        } else {
            Self {
                words: format!("{name} may have a cache of its own, of a size it does not tell"),
                safe_bytes: DEVICE_CACHE_BYTES,
                impact: Impact::Note,
                hint: None,
            }
        })
    }
}

/// Reads of a target that fits a cache may never reach the medium.
#[must_use]
pub fn smaller_than_cache(part: &Part, cache: &Cache) -> Option<Caveat> {
    (part.size_bytes < cache.safe_bytes).then(|| {
        let message = format!(
            "{}: {} are measured, less than {}: {}",
            part.path.display(),
            Bytes(part.size_bytes),
            Bytes(cache.safe_bytes),
            cache.words,
        );
        let larger = || {
            let path = shell_word(&part.path.to_string_lossy());
            let size_gib = cache.safe_bytes.div_ceil(1 << 30);
            match part.kind {
                PartKind::BlockDevice => {
                    "a larger device, or all of this one (no --size)".to_owned()
                }
                PartKind::File(FileOrigin::Foreign) => "a larger file".to_owned(),
                PartKind::File(_) => format!("iogauge prepare {path} --size={size_gib}g"),
            }
        };
        let hint = cache.hint.clone().unwrap_or_else(larger);
        Caveat::new(CaveatCode::SmallerThanCache, message, hint).with_impact(cache.impact)
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
            .weighed(share(report.hole_bytes, report))
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
            .weighed(share(report.unwritten_bytes, report))
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
            .weighed(share(report.shared_bytes, report))
    })
}

/// A thin device answers reads of blocks never written, or written with zeros, without its medium.
#[must_use]
pub fn zero_blocks(part: &Part, sample: BlockSample) -> Option<Caveat> {
    (sample.zero_share() > SHARE).then(|| {
        let message = format!(
            "{}: {} of {} blocks sampled hold only zeros; a thin or compressing device reads \
             them without touching its medium",
            part.path.display(),
            sample.zero,
            sample.read,
        );
        Caveat::new(CaveatCode::ZeroBlocks, message, prepare(part)).weighed(sample.zero_share())
    })
}

/// A device that compresses or deduplicates reads less from its medium than was asked.
#[must_use]
pub fn compressible_data(part: &Part, sample: BlockSample) -> Option<Caveat> {
    (sample.compressible_share() > SHARE).then(|| {
        let message = format!(
            "{}: {} of {} blocks sampled compress by a tenth or more, or repeat one another; a \
             device that compresses or deduplicates reads less of its medium for them",
            part.path.display(),
            sample.compressible,
            sample.read,
        );
        let caveat = Caveat::new(CaveatCode::CompressibleData, message, prepare(part));
        caveat.weighed(sample.compressible_share())
    })
}

/// Writes may return before they are on the medium.
#[must_use]
pub fn volatile_write_cache(device: &DeviceFacts) -> Option<Caveat> {
    (device.write_cache.as_deref() == Some("write back")).then(|| {
        Caveat::of(
            CaveatCode::VolatileWriteCache,
            format!(
                "{}: the device has a volatile write cache; writes return before they are durable",
                device.name
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_can_be_pasted() {
        assert_eq!(shell_word("/dev/sdb"), "/dev/sdb");
        assert_eq!(shell_word("/my data/it's"), r"'/my data/it'\''s'");
    }

    #[test]
    fn the_cache_before_a_device_is_judged_by_what_it_is() {
        const MEMORY: u64 = 8 << 30;
        let before = |device: &DeviceFacts, direct| {
            let cache = Cache::before(Some(device), direct, MEMORY).unwrap();
            (cache.safe_bytes >> 30, cache.impact)
        };
        let disk = DeviceFacts { name: "sda".into(), ..DeviceFacts::default() };
        let virtio = DeviceFacts { driver: Some("virtio_blk".into()), ..disk.clone() };
        let buffered = DeviceFacts { backing_direct: Some(false), ..disk.clone() };
        let unbuffered = DeviceFacts { backing_direct: Some(true), ..disk.clone() };
        assert_eq!(before(&disk, true), (1, Impact::Note));
        assert_eq!(before(&disk, false), (16, Impact::Doubt));
        assert_eq!(before(&virtio, true), (16, Impact::Note));
        assert_eq!(before(&buffered, true), (16, Impact::Doubt));
        assert_eq!(before(&unbuffered, true), (1, Impact::Note));
        assert_eq!(Cache::before(None, true, MEMORY), None);
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
