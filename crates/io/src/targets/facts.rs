//! Facts about a part that may make a result misleading and are visible before the run.

use super::block_sample::sample_blocks;
use super::device::device_facts;
use super::error::TargetError;
use super::extents::extents;
use super::file_system::{Behind, behind};
use super::part::{FileOrigin, OpenMode, Part, PartKind};
use super::reserve::free_space_of;
use crate::engine;
use crate::kernel::Roots;
use crate::machine::Memory;
use iogauge_model::caveat::{
    BlockFact, CacheFact, ClientCache, PartFact, PartOrigin, Portion, TargetFact,
};
use iogauge_model::load::{Load, SyncMode};
use iogauge_model::result::DeviceFacts;
use std::fs::File;

/// Number of blocks to sample.
const SAMPLED_BLOCKS: u32 = 256;
/// Zero or compressible blocks are reported if they exceed this share.
const SHARE: f64 = 0.01;
/// If a target is larger than memory by this factor, most reads reach the medium.
const TIMES_MEMORY: u64 = 2;
/// Few disks and controllers have a larger cache.
const DEVICE_CACHE_BYTES: u64 = 1 << 30;

/// Returns the facts that are visible before a run. Reads 256 random blocks and the extents. Nothing is known about the
/// blocks of a file that does not exist yet.
///
/// # Errors
/// Fails if the part cannot be read.
pub fn facts(part: &Part, load: &Load, roots: &Roots) -> Result<Vec<TargetFact>, TargetError> {
    let mut facts = Vec::new();
    let is_direct = engine::is_direct(load);
    let without = without_device(part, roots);
    let in_memory = matches!(without, Some(TargetFact::InMemory { .. }));
    facts.extend(without);
    // Where the files themselves are in memory, no cache in front of them matters.
    facts.extend((!is_direct && !in_memory).then(|| buffered(part, load)));
    let device = part.device.and_then(|number| device_facts(number, roots));
    if let Some(memory) = Memory::read(roots).filter(|_| !in_memory) {
        let cache = cache_before(device.as_ref(), is_direct, memory.total_bytes);
        let small = cache.filter(|(safe_bytes, _)| part.size_bytes < *safe_bytes);
        facts.extend(small.map(|(safe_bytes, cache)| {
            let fits_bytes = fits_bytes(part);
            TargetFact::Cached { part: part_fact(part), fits_bytes, safe_bytes, cache }
        }));
    }
    if let Some(device) = device.filter(|_| load.writes() && load.sync == SyncMode::None) {
        facts.extend(volatile_write_cache(&device));
    }
    if matches!(part.kind, PartKind::File(FileOrigin::ToMake)) {
        return Ok(facts);
    }
    let blocks = |kind, found, total| {
        TargetFact::Blocks(kind, Portion { part: part_fact(part), found, total })
    };
    if matches!(part.kind, PartKind::File(_)) {
        let file = File::from(part.open(OpenMode::reading(false))?.fd);
        let report = extents(&file, &part.path, part.base_bytes, part.size_bytes)?;
        let shared_bytes = if load.writes() { report.shared_bytes } else { 0 };
        let found = [
            (BlockFact::Holes, report.hole_bytes),
            (BlockFact::Unwritten, report.unwritten_bytes),
            (BlockFact::Shared, shared_bytes),
        ];
        let found = found.into_iter().filter(|(_, bytes)| *bytes > 0);
        facts.extend(found.map(|(kind, bytes)| blocks(kind, bytes, report.total_bytes)));
        if report.never_written_bytes() > 0 {
            // Holes read as zeros, so zero blocks are not reported in addition.
            return Ok(facts);
        }
    }
    let sample = sample_blocks(part, SAMPLED_BLOCKS, 1)?;
    if sample.zero_share() > SHARE {
        facts.push(blocks(BlockFact::Zeros, sample.zero.into(), sample.read.into()));
    }
    if (load.rw.reads() || load.dependent) && sample.compressible_share() > SHARE {
        facts.push(blocks(BlockFact::Compressible, sample.compressible.into(), sample.read.into()));
    }
    Ok(facts)
}

fn part_fact(part: &Part) -> PartFact {
    let origin = match part.kind {
        PartKind::BlockDevice => PartOrigin::BlockDevice,
        PartKind::File(FileOrigin::Foreign) => PartOrigin::Foreign,
        PartKind::File(FileOrigin::Ours(header)) if header.prefilled_bytes >= part.size_bytes => {
            PartOrigin::OwnEmptied
        }
        PartKind::File(_) => PartOrigin::Own,
    };
    PartFact { path: path(part), origin, size_bytes: part.size_bytes }
}

/// Returns the largest size that a file's file system has room for.
fn fits_bytes(part: &Part) -> Option<u64> {
    if part.kind == PartKind::BlockDevice {
        return None;
    }
    let there = part.kind != PartKind::File(FileOrigin::ToMake);
    let own_bytes = if there { part.size_bytes } else { 0 };
    Some(free_space_of(part).ok()?.spare_bytes().saturating_add(own_bytes))
}

fn path(part: &Part) -> String {
    part.path.to_string_lossy().into_owned()
}

fn file_system(part: &Part) -> String {
    part.file_system.clone().unwrap_or_else(|| "its volume".to_owned())
}

fn buffered(part: &Part, load: &Load) -> TargetFact {
    let engine = engine::info(load.engine);
    let engine = engine.always_buffered.then(|| engine.name.to_owned());
    TargetFact::Buffered { path: path(part), engine, file_system: file_system(part) }
}

/// Returns a fact if there is no block device under the file system.
fn without_device(part: &Part, roots: &Roots) -> Option<TargetFact> {
    let place = part.place.as_ref()?;
    let behind = match &part.judged {
        Some(file) => behind(file, place.path(), roots),
        None => behind(place.directory(), place.directory_path(), roots),
    };
    let (path, file_system) = (path(part), file_system(part));
    match behind {
        Behind::Device => None,
        Behind::Memory(memory) => Some(TargetFact::InMemory { path, file_system, memory }),
        Behind::Unknown => Some(match client_of(&file_system) {
            Some(client) => TargetFact::Remote { path, file_system, client },
            None => TargetFact::Unseen { path, file_system },
        }),
    }
}

/// File systems with a server, or a client in user space, with what the client does with direct I/O. Names that end in `*` stand
/// for all that begin like that.
const REMOTE: &[(&str, ClientCache)] = &[
    ("nfs", ClientCache::Bypassed),
    ("nfs4", ClientCache::Bypassed),
    ("cifs", ClientCache::Bypassed),
    ("smb3", ClientCache::Bypassed),
    ("ceph", ClientCache::Bypassed),
    ("lustre", ClientCache::Bypassed),
    ("beegfs", ClientCache::MayAnswer),
    ("gpfs", ClientCache::MayAnswer),
    ("glusterfs", ClientCache::MayAnswer),
    ("orangefs", ClientCache::MayAnswer),
    ("pvfs2", ClientCache::MayAnswer),
    ("afs", ClientCache::MayAnswer),
    ("coda", ClientCache::MayAnswer),
    ("9p", ClientCache::MayAnswer),
    ("virtiofs", ClientCache::MayAnswer),
    ("vboxsf", ClientCache::MayAnswer),
    ("fuse", ClientCache::MayAnswer),
    ("fuse.*", ClientCache::MayAnswer),
];

fn client_of(file_system: &str) -> Option<ClientCache> {
    let is_it = |name: &str| match name.strip_suffix('*') {
        Some(start) => file_system.starts_with(start),
        None => file_system == name,
    };
    REMOTE.iter().find(|(name, _)| is_it(name)).map(|(_, client)| *client)
}

/// Returns the cache in front of a device, and the minimum size of a target that exceeds it. Devices rarely report
/// their cache, so these rules apply:
///
/// - Buffered I/O, and a loop device on a buffered file, use the page cache of this machine, which may grow to all of
///   its memory. The target must be twice as large.
/// - A virtual disk may be cached by its host, which has at least the memory of its guest. The same minimum applies.
/// - Any other device is assumed to have less than 1 GiB.
///
/// Returns `None` for direct I/O without a visible device, because the cache of a server is unknown.
fn cache_before(
    device: Option<&DeviceFacts>,
    is_direct: bool,
    memory_bytes: u64,
) -> Option<(u64, CacheFact)> {
    let safe_bytes = memory_bytes.saturating_mul(TIMES_MEMORY);
    if !is_direct {
        return Some((safe_bytes, CacheFact::Page { memory_bytes }));
    }
    let about = device?;
    let device = about.name.clone();
    Some(if about.is_cached_here() {
        (safe_bytes, CacheFact::UnderLoop { device, memory_bytes })
    } else if about.is_virtual() {
        (safe_bytes, CacheFact::OfHost { device, memory_bytes })
    } else {
        (DEVICE_CACHE_BYTES, CacheFact::OfDevice { device })
    })
}

/// Returns a fact if writes may complete before they are on the medium.
fn volatile_write_cache(device: &DeviceFacts) -> Option<TargetFact> {
    (device.write_cache.as_deref() == Some("write back"))
        .then(|| TargetFact::WriteCache { device: device.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::Impact;
    use iogauge_model::caveat::{Command, Fact};

    #[test]
    fn cache_in_front_of_device_is_assessed_by_device_type() {
        const MEMORY: u64 = 8 << 30;
        let before = |device: &DeviceFacts, direct| {
            let (safe_bytes, cache) = cache_before(Some(device), direct, MEMORY).unwrap();
            let part = PartFact::example(PartOrigin::Own);
            let fact = Fact::from(TargetFact::Cached { part, fits_bytes: None, safe_bytes, cache });
            (safe_bytes >> 30, fact.caveat(Command::Run).impact)
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
        assert_eq!(cache_before(None, true, MEMORY), None);
    }

    #[test]
    fn caches_of_remote_file_systems_are_known() {
        assert_eq!(client_of("nfs4"), Some(ClientCache::Bypassed));
        assert_eq!(client_of("fuse.glusterfs"), Some(ClientCache::MayAnswer));
        assert_eq!(client_of("fuseblk"), None);
        assert_eq!(client_of("ext4"), None);
        assert_eq!(client_of("nfsd"), None);
    }

    #[test]
    fn only_volatile_write_cache_is_reported() {
        let with = |cache: &str| DeviceFacts {
            write_cache: Some(cache.to_owned()),
            ..DeviceFacts::default()
        };
        let device = String::new();
        let fact = volatile_write_cache(&with("write back"));
        assert_eq!(fact, Some(TargetFact::WriteCache { device }));
        assert_eq!(volatile_write_cache(&with("write through")), None);
        assert_eq!(volatile_write_cache(&DeviceFacts::default()), None);
    }
}
