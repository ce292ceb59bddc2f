//! Prepares a target of several hosts. Each writes its share of the files and devices that they share, and all of those
//! that it has for itself.

use super::{BLOCK_BYTES, Prepared, begin, fill, finish, is_kept_fresh, write};
use crate::error::LabError;
use crate::measure::Watch;
use crate::session::hosts::{Hosts, Preparing};
use crate::session::rig::Rig;
use crate::session::sharing::{Sharing, share_of};
use iogauge_io::targets::prefill::Prefill;
use iogauge_io::targets::{FileOrigin, Part, PartKind, Target};
use std::ops::Range;
use std::time::Instant;

/// The part of a target, and its prefill if blocks are missing.
type Fill = (Part, Prefill);

/// Prepares the target on all hosts.
///
/// # Errors
/// As [`super::prepare`], or a host fails or is lost.
pub(super) fn lead(
    rig: &mut Rig,
    hosts: &dyn Hosts,
    watch: &mut Watch<'_>,
) -> Result<Prepared, LabError> {
    let makes_file =
        |part: &Part| part.kind == PartKind::File(FileOrigin::ToMake) && part.shared_by().is_some();
    let makes_shared_file = rig.parts().iter().any(makes_file);
    let mut fills = begin_all(rig)?;
    if makes_shared_file && let Err(error) = look_at_made(rig, hosts) {
        fills.into_iter().try_for_each(|(_, prefill)| prefill.abandon())?;
        return Err(error);
    }
    check_divided(rig)?;
    let keeps_devices_fresh = rig.keeps_devices_fresh();
    let sharing = rig.sharing().to_vec();
    let Some((target, _)) = rig.target_mut() else { return Ok(Prepared::default()) };
    let ranges = divide(target, &sharing, &mut fills);
    // What another host may or may not share is written here first: that host then finds whether it is.
    let is_clear =
        fills.iter().all(|(part, _)| sharing_of(target, &sharing, part) != Sharing::Unknown);
    let preparing = Preparing { sharing: sharing.clone(), ranges, keeps_devices_fresh };
    if is_clear {
        hosts.begin_preparing(&preparing);
    }
    let shares: u64 = preparing.ranges.iter().flatten().map(|range| range.end - range.start).sum();
    let begun = Instant::now();
    // Hosts that still write would slow down a rewrite for comparison.
    let mut done = if shares > 0 { write(&mut fills, watch)? } else { fill(&mut fills, watch)? };
    let is_shared = |(part, _): &Fill| sharing_of(target, &sharing, part) == Sharing::Shared;
    let (shared, own): (Vec<_>, Vec<_>) = fills.into_iter().partition(is_shared);
    let own_bytes: u64 = own.iter().map(|(_, own)| own.range().end - own.range().start).sum();
    finish(target, own)?;
    if !is_clear {
        hosts.begin_preparing(&preparing);
    }
    hosts.wait_prepared(watch.interrupt)?;
    finish(target, shared)?;
    target.lock()?;
    if shares > 0 {
        done = Prepared::of(own_bytes + shares, begun.elapsed());
    }
    Ok(done)
}

/// Does the part of this host, which another one leads.
///
/// # Errors
/// As [`super::prepare`].
pub(crate) fn follow(
    rig: &mut Rig,
    preparing: &Preparing,
    watch: &mut Watch<'_>,
) -> Result<(), LabError> {
    let Some((target, roots)) = rig.target_mut() else { return Ok(()) };
    let mut fills = Vec::new();
    for (index, part) in target.parts.iter_mut().enumerate() {
        let sharing = preparing.sharing.get(index).copied().unwrap_or_default();
        let range = preparing.ranges.get(index).cloned().flatten();
        fills.extend(match (sharing, range, part.shared_by()) {
            (Sharing::Shared, Some(range), Some(host)) => {
                let share = share_of(&range, BLOCK_BYTES, host);
                let joined = Prefill::join(part, share.clone())?;
                (!share.is_empty()).then(|| (part.clone(), joined))
            }
            (Sharing::Shared, ..) => None,
            _ if is_kept_fresh(part, preparing.keeps_devices_fresh) => None,
            _ => begin(part, roots)?,
        });
    }
    write(&mut fills, watch)?;
    finish(target, fills)?;
    Ok(target.lock()?)
}

fn begin_all(rig: &mut Rig) -> Result<Vec<Fill>, LabError> {
    let keeps_devices_fresh = rig.keeps_devices_fresh();
    let Some((target, roots)) = rig.target_mut() else { return Ok(Vec::new()) };
    let mut fills = Vec::new();
    for part in target.parts.iter_mut().filter(|part| !is_kept_fresh(part, keeps_devices_fresh)) {
        fills.extend(begin(part, roots)?);
    }
    Ok(fills)
}

/// Lets the other hosts look at the files that this host has made: those that see them share them.
fn look_at_made(rig: &mut Rig, hosts: &dyn Hosts) -> Result<(), LabError> {
    if let Some(opening) = rig.opening().cloned() {
        let others = hosts.open(&opening)?;
        rig.compare(opening, &hosts.names(), &others)?;
    }
    check_divided(rig)
}

/// Keeps this host's share of each part that hosts share. Returns the whole ranges, by the number of the part.
fn divide(target: &Target, sharing: &[Sharing], fills: &mut [Fill]) -> Vec<Option<Range<u64>>> {
    let mut ranges = vec![None; target.parts.len()];
    for (part, prefill) in fills {
        let Some(index) = target.parts.iter().position(|known| known.path == part.path) else {
            continue;
        };
        let is_shared = sharing.get(index) == Some(&Sharing::Shared);
        if let (true, Some(host)) = (is_shared, part.shared_by()) {
            let range = prefill.range();
            prefill.keep_share(share_of(&range, BLOCK_BYTES, host));
            ranges[index] = Some(range);
        }
    }
    ranges
}

fn sharing_of(target: &Target, sharing: &[Sharing], part: &Part) -> Sharing {
    let index = target.parts.iter().position(|known| known.path == part.path);
    index.and_then(|index| sharing.get(index).copied()).unwrap_or_default()
}

/// Checks that hosts share each file of which they use different regions.
fn check_divided(rig: &Rig) -> Result<(), LabError> {
    let apart = |(part, sharing): &(&Part, &Sharing)| {
        part.is_divided() && part.made_by_us() && **sharing != Sharing::Shared
    };
    match rig.parts().iter().zip(rig.sharing()).find(apart) {
        None => Ok(()),
        Some((part, _)) => Err(LabError::Mismatch(format!(
            "--shared-file: another host does not see the file {} that this host sees; hint: leave it out, or use a \
             directory that all hosts share",
            part.path.display()
        ))),
    }
}
