//! Prepares a target: writes every block once, at device speed, and compares the speed of first
//! writes with that of rewrites.

pub(crate) mod shared;

use crate::error::LabError;
use crate::measure::{TICK_NS, Watch};
use crate::observe::{Phase, Status};
use crate::session::hosts;
use crate::session::rig::{Rig, default_engine};
use iogauge_io::engine::Op;
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{PoolJob, ThreadPool, WorkerPool};
use iogauge_io::targets::prefill::{Prefill, PrefillNeed, need};
use iogauge_io::targets::{FileOrigin, OpenMode, Part, PartKind, Roots, Target, TargetError};
use iogauge_io::worker::control::IoFault;
use iogauge_model::load::{BlockSizes, Load, Pattern, SyncMode};
use std::sync::Arc;
use std::time::Duration;

/// Large enough for the sequential bandwidth of every device.
const BLOCK_BYTES: u64 = 1 << 20;
const DEPTH: u32 = 16;
/// Each part is written by one job for whole blocks and one for the remainder.
const JOBS_PER_PART: u32 = 2;
/// Interval at which progress is made durable, so that a killed prefill loses little.
const CHECKPOINT_NS: u64 = 2_000_000_000;
/// The rewrite for comparison ends after this much time or data.
const REWRITE_NS: u64 = 1_500_000_000;
const REWRITE_BYTES: u64 = 1 << 30;

/// What the preparation did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prepared {
    /// Bytes written for the first time; 0 if the target was ready.
    pub written_bytes: u64,
    /// Speed of the first write, in bytes per second.
    pub first_write_bytes_per_sec: f64,
    /// Speed of writing the same blocks again; `None` if it was not measured.
    pub rewrite_bytes_per_sec: Option<f64>,
}

impl Prepared {
    /// Returns the preparation that wrote these bytes in this time.
    fn of(written_bytes: u64, elapsed: Duration) -> Self {
        let first_write_bytes_per_sec = written_bytes as f64 / elapsed.as_secs_f64().max(1e-9);
        Self { written_bytes, first_write_bytes_per_sec, rewrite_bytes_per_sec: None }
    }

    /// Returns how many times faster rewrites are than first writes; `None` if not measured.
    #[must_use]
    pub fn rewrite_ratio(&self) -> Option<f64> {
        let first = self.first_write_bytes_per_sec;
        self.rewrite_bytes_per_sec.filter(|_| first > 0.0).map(|rewrite| rewrite / first)
    }
}

/// Locks the target and writes the missing blocks, several parts at the same time. Does nothing if
/// every block is written already, and does not prefill block devices that the rig keeps fresh.
///
/// # Errors
/// The guards allow no writing, the disk has no room, or a write fails. If the disk fills up, the
/// written room is released.
pub fn prepare(rig: &mut Rig, watch: &mut Watch<'_>) -> Result<Prepared, LabError> {
    match hosts::led() {
        None => prepare_here(rig, watch),
        Some(hosts) => shared::lead(rig, hosts, watch),
    }
}

/// As [`prepare`], on this host only.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_here(rig: &mut Rig, watch: &mut Watch<'_>) -> Result<Prepared, LabError> {
    let keeps_fresh = rig.keeps_devices_fresh();
    prepare_parts(rig, &|part| !is_kept_fresh(part, keeps_fresh), watch)
}

fn is_kept_fresh(part: &Part, keeps_devices_fresh: bool) -> bool {
    keeps_devices_fresh && part.kind == PartKind::BlockDevice
}

/// As [`prepare`], but only for files that iogauge makes or made. Others are used as they are.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_own(rig: &mut Rig, watch: &mut Watch<'_>) -> Result<Prepared, LabError> {
    let is_own =
        |part: &Part| matches!(part.kind, PartKind::File(FileOrigin::ToMake | FileOrigin::Ours(_)));
    prepare_parts(rig, &is_own, watch)
}

fn prepare_parts(
    rig: &mut Rig,
    wants_fill: &dyn Fn(&Part) -> bool,
    watch: &mut Watch<'_>,
) -> Result<Prepared, LabError> {
    let Some((target, roots)) = rig.target_mut() else { return Ok(Prepared::default()) };
    let mut fills = Vec::new();
    for part in target.parts.iter_mut().filter(|part| wants_fill(part)) {
        fills.extend(begin(part, roots)?);
    }
    let done = fill(&mut fills, watch)?;
    finish(target, fills)?;
    target.lock()?;
    Ok(done)
}

/// Begins to write the missing blocks of a part; `None` if none are missing.
fn begin(part: &mut Part, roots: &Roots) -> Result<Option<(Part, Prefill)>, LabError> {
    // Reading from a part that may not be written leads to a caveat, not to an error.
    let PrefillNeed::From { .. } = need(part)? else { return Ok(None) };
    Ok(Prefill::begin(part, roots)?.map(|prefill| (part.clone(), prefill)))
}

fn finish(target: &mut Target, fills: Vec<(Part, Prefill)>) -> Result<(), LabError> {
    for (filled, prefill) in fills {
        if let Some(part) = target.parts.iter_mut().find(|part| part.path == filled.path) {
            prefill.finish(part)?;
        }
    }
    Ok(())
}

/// Writes the missing blocks, and measures how fast they are rewritten.
fn fill(fills: &mut Vec<(Part, Prefill)>, watch: &mut Watch<'_>) -> Result<Prepared, LabError> {
    let written = write(fills, watch)?;
    Ok(Prepared { rewrite_bytes_per_sec: rewrite(fills, watch)?, ..written })
}

fn write(fills: &mut Vec<(Part, Prefill)>, watch: &mut Watch<'_>) -> Result<Prepared, LabError> {
    if fills.is_empty() {
        return Ok(Prepared::default());
    }
    let total_bytes = fills.iter().map(|(_, p)| p.range().end - p.range().start).sum();
    let start = std::time::Instant::now();
    let mut pool = ThreadPool::start(jobs(fills, None)?, DEPTH)?;
    pool.hurry_when(watch.interrupt.flag());
    let outcome = write_all(&mut pool, fills, total_bytes, watch);
    let fault = pool.fault();
    // Closes the descriptors before a file is removed.
    drop(pool);
    if let Some((job, fault)) = fault {
        return Err(failed(fills, job / JOBS_PER_PART, fault));
    }
    if let Err(LabError::Target(TargetError::ReserveReached { .. })) = &outcome {
        // Other writers filled the disk during the prefill, so it releases its room.
        for (_, prefill) in fills.drain(..) {
            prefill.abandon()?;
        }
    }
    outcome?;
    Ok(Prepared::of(total_bytes, start.elapsed()))
}

/// Runs the pool until its quota is written, and keeps marker and status up to date.
fn write_all(
    pool: &mut ThreadPool,
    fills: &mut [(Part, Prefill)],
    total_bytes: u64,
    watch: &mut Watch<'_>,
) -> Result<(), LabError> {
    let start_ns = pool.now_ns();
    let mut next_checkpoint_ns = start_ns + CHECKPOINT_NS;
    while !pool.finished() {
        if watch.interrupt.is_set() {
            pool.stop()?;
            return Err(LabError::InterruptedPreparing);
        }
        pool.advance(TICK_NS)?;
        if pool.fault().is_some() {
            pool.stop()?;
            return Ok(());
        }
        if let Err(error) = fills.iter_mut().try_for_each(|(_, prefill)| prefill.check_reserve()) {
            pool.stop()?;
            return Err(error.into());
        }
        let now_ns = pool.now_ns();
        if now_ns >= next_checkpoint_ns {
            checkpoint(pool, fills)?;
            next_checkpoint_ns = pool.now_ns() + CHECKPOINT_NS;
        }
        report(pool.live().bytes, total_bytes, now_ns - start_ns, watch);
    }
    Ok(())
}

/// Records how far each part is certainly written: everything issued so far, except I/Os that may
/// be outstanding.
fn checkpoint(pool: &ThreadPool, fills: &mut [(Part, Prefill)]) -> Result<(), LabError> {
    for (index, (_, prefill)) in fills.iter_mut().enumerate() {
        let of_this_part = pool.controls().iter().filter(|h| h.job / JOBS_PER_PART == index as u32);
        let bytes: u64 = of_this_part
            .map(|h| h.control.live.bytes.load(std::sync::atomic::Ordering::Relaxed))
            .sum();
        // Completions arrive in any order, but no further apart than the queue depth.
        let certain = bytes.saturating_sub(u64::from(DEPTH) * BLOCK_BYTES * 2);
        if certain > 0 {
            prefill.progress(prefill.range().start + certain)?;
        }
    }
    Ok(())
}

fn report(done_bytes: u64, total_bytes: u64, elapsed_ns: u64, watch: &mut Watch<'_>) {
    let bytes_per_sec = done_bytes as f64 * 1e9 / elapsed_ns.max(1) as f64;
    let left = total_bytes.saturating_sub(done_bytes) as f64;
    let left_ns = (bytes_per_sec > 0.0).then(|| (left / bytes_per_sec * 1e9) as u64);
    watch.observer.status(&Status {
        phase: Phase::Prefill { done_bytes, total_bytes },
        queue_depth: DEPTH,
        iops: 0.0,
        bytes_per_sec,
        by_direction: [0.0; 2],
        latency_mean_ns: 0.0,
        limits: &[],
        left_ns,
        total_ns: None,
    });
}

/// Returns two jobs for each part: its whole blocks, and the remainder shorter than a block. With
/// `most_bytes`, only the beginning of each part, without remainders.
fn jobs(fills: &[(Part, Prefill)], most_bytes: Option<u64>) -> Result<Vec<PoolJob>, LabError> {
    let (engine, _) = default_engine();
    let mut jobs = Vec::new();
    for (index, (part, prefill)) in fills.iter().enumerate() {
        let range = prefill.range();
        let len = (range.end - range.start).min(most_bytes.unwrap_or(u64::MAX));
        // The device would refuse blocks with a misaligned start; the marker keeps progress in
        // whole blocks.
        let whole = len - len % BLOCK_BYTES;
        let rest = Some(len - whole).filter(|rest| *rest > 0).unwrap_or(512);
        for (offset, size, block) in [(0, whole, BLOCK_BYTES), (whole, len - whole, rest)] {
            let is_aligned = block.is_multiple_of(part.block_bytes().into());
            let load = Load {
                rw: Pattern::Write,
                block: BlockSizes::fixed(block),
                iodepth: DEPTH,
                number_ios: Some(size / block),
                engine,
                direct: is_aligned && supports_direct(part),
                seed: 0x9f11 ^ index as u64 ^ range.start,
                ..Load::default()
            };
            let mode = OpenMode { write: true, direct: load.direct, sync: SyncMode::None };
            let files = Arc::new(vec![part.open(mode)?.fd]);
            let base_bytes = part.base_bytes + range.start + offset;
            // A job without I/Os still needs an extent.
            let extents = vec![Extent { base_bytes, size_bytes: size.max(block) }];
            jobs.push(PoolJob { load, files, extents });
        }
    }
    Ok(jobs)
}

fn supports_direct(part: &Part) -> bool {
    part.open(OpenMode { write: true, direct: true, sync: SyncMode::None }).is_ok()
}

/// Briefly rewrites the beginning of each part: a thin or snapshotted device allocates on the first
/// write but not on the second.
fn rewrite(fills: &mut [(Part, Prefill)], watch: &mut Watch<'_>) -> Result<Option<f64>, LabError> {
    let most = REWRITE_BYTES / fills.len().max(1) as u64;
    let most = most - most % BLOCK_BYTES;
    if fills.is_empty()
        || fills.iter().any(|(_, p)| p.range().end - p.range().start < 64 * BLOCK_BYTES)
    {
        // Too little data to measure a speed.
        return Ok(None);
    }
    let mut pool = ThreadPool::start(jobs(fills, Some(most))?, DEPTH)?;
    pool.hurry_when(watch.interrupt.flag());
    let start_ns = pool.now_ns();
    while !pool.finished() && pool.now_ns() - start_ns < REWRITE_NS && !watch.interrupt.is_set() {
        pool.advance(TICK_NS / 10)?;
        let mut prefills = fills.iter_mut().map(|(_, prefill)| prefill);
        if prefills.any(|prefill| prefill.check_room_to_rewrite().is_err()) {
            break;
        }
    }
    let bytes = pool.live().bytes;
    let elapsed_ns = pool.now_ns() - start_ns;
    pool.stop()?;
    Ok((bytes > 0).then(|| bytes as f64 * 1e9 / elapsed_ns.max(1) as f64))
}

/// Returns the error of a failed write. On a full disk, releases the written room.
fn failed(fills: &mut Vec<(Part, Prefill)>, part: u32, fault: IoFault) -> LabError {
    let source = std::io::Error::from_raw_os_error(fault.errno);
    if source.kind() == std::io::ErrorKind::StorageFull {
        let mut first = None;
        for (part, prefill) in fills.drain(..) {
            let error: TargetError = prefill.disk_full(&part);
            first.get_or_insert(error);
        }
        if let Some(error) = first {
            return error.into();
        }
    }
    let path =
        fills.get(part as usize).map_or_else(String::new, |(p, _)| p.path.display().to_string());
    debug_assert_eq!(fault.op, Op::Write);
    LabError::PrefillFailed { path, offset_bytes: fault.offset_bytes, source }
}
