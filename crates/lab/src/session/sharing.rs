//! How several hosts share the files and devices of a target, and which region of them each host uses.

use iogauge_io::offsets::Extent;
use iogauge_io::targets::{HostNumber, Part, PartKind, Roots};
use iogauge_model::load::Load;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Whether the hosts have one file or device at the path of a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sharing {
    /// All hosts have the same one.
    Shared,
    /// Each host has one of its own.
    Own,
    /// Nothing shows it.
    #[default]
    Unknown,
}

/// What a host has at the path of a part, in the words of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// A block device.
    Device,
    /// A file, or the place of a new one.
    File,
    /// A directory, in which the host has a file of its own.
    Directory,
}

impl Shape {
    /// Returns the words for it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Device => "a block device",
            Self::File => "a file, or missing",
            Self::Directory => "a directory",
        }
    }
}

/// A part of the target on one host, as it is compared with those of other hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOnHost {
    /// Identifies it on all hosts; see [`Part::identity_on_hosts`].
    pub identity: Option<String>,
    pub shape: Shape,
}

impl PartOnHost {
    pub(super) fn of(part: &Part, roots: &Roots) -> Self {
        let shape = match part.kind {
            PartKind::BlockDevice => Shape::Device,
            PartKind::File(_) if part.is_of_one_host() => Shape::Directory,
            PartKind::File(_) => Shape::File,
        };
        Self { identity: part.identity_on_hosts(roots), shape }
    }
}

/// Returns the first part that is of another shape on one of the other hosts: the index of that host, the part's shape
/// here and there.
#[must_use]
pub fn unlike(own: &[PartOnHost], others: &[Vec<PartOnHost>]) -> Option<(usize, Shape, Shape)> {
    others.iter().enumerate().find_map(|(host, parts)| {
        let mut pairs = own.iter().zip(parts).map(|(own, other)| (own.shape, other.shape));
        pairs.find(|(own, other)| own != other).map(|(own, other)| (host, own, other))
    })
}

/// Returns how hosts share each part of this host, from what this host and the others have.
#[must_use]
pub fn compared(parts: &[Part], own: &[PartOnHost], others: &[Vec<PartOnHost>]) -> Vec<Sharing> {
    let each = parts.iter().zip(own).enumerate();
    each.map(|(index, (part, own))| {
        if part.is_of_one_host() {
            return Sharing::Own;
        }
        let identity = |parts: &Vec<PartOnHost>| parts.get(index)?.identity.clone();
        let others = others.iter().map(identity);
        of_one(std::iter::once(own.identity.clone()).chain(others).collect())
    })
    .collect()
}

fn of_one(identities: Vec<Option<String>>) -> Sharing {
    let Some(mut known) = identities.into_iter().collect::<Option<Vec<String>>>() else {
        return Sharing::Unknown;
    };
    let hosts = known.len();
    known.sort();
    known.dedup();
    match known.len() {
        1 => Sharing::Shared,
        distinct if distinct == hosts => Sharing::Own,
        // Some hosts have the same one.
        _ => Sharing::Unknown,
    }
}

/// Returns one host's share of a range, in whole units but for the end of the range. The shares of all hosts are
/// disjoint and cover the range.
#[must_use]
pub fn share_of(range: &Range<u64>, unit_bytes: u64, host: HostNumber) -> Range<u64> {
    let length = range.end.saturating_sub(range.start);
    let units = u128::from(length / unit_bytes.max(1));
    let before = |hosts: u32| {
        let share = units * u128::from(hosts) / u128::from(host.hosts.max(1));
        range.start + share as u64 * unit_bytes.max(1)
    };
    let end = if host.number >= host.hosts { range.end } else { before(host.number) };
    before(host.number.saturating_sub(1))..end
}

/// Returns a workload and the extents in which this host runs it. Of a part that hosts divide, a host uses its share of
/// what the workload uses. `first_stream` is the number of streams of the hosts before this one.
pub(super) fn region(
    load: &Load,
    parts: &[(Part, Sharing)],
    first_stream: u32,
) -> (Load, Vec<Extent>) {
    let whole = |part: &Part| Extent { base_bytes: part.base_bytes, size_bytes: part.size_bytes };
    if !parts.iter().any(|(part, sharing)| is_divided(load, part, *sharing)) {
        return (load.clone(), parts.iter().map(|(part, _)| whole(part)).collect());
    }
    if let Some(increment_bytes) = load.offset_increment_bytes {
        // The streams of all hosts together have the offsets that those of one host would have.
        let before = increment_bytes.saturating_mul(u64::from(first_stream));
        let behind = |(part, sharing): &(Part, Sharing)| {
            let bytes = if is_divided(load, part, *sharing) { before } else { 0 };
            let bytes = bytes.min(part.size_bytes);
            Extent { base_bytes: part.base_bytes + bytes, size_bytes: part.size_bytes - bytes }
        };
        return (load.clone(), parts.iter().map(behind).collect());
    }
    let share = |(part, sharing): &(Part, Sharing)| {
        let start = load.offset_bytes.min(part.size_bytes);
        let length = load.size_bytes.unwrap_or(u64::MAX).min(part.size_bytes - start);
        let mut range = start..start + length;
        if let (true, Some(host)) = (is_divided(load, part, *sharing), part.shared_by()) {
            range = share_of(&range, load.block.largest(), host);
        }
        Extent { base_bytes: part.base_bytes + range.start, size_bytes: range.end - range.start }
    };
    let extents = parts.iter().map(share).collect();
    (Load { offset_bytes: 0, size_bytes: None, ..load.clone() }, extents)
}

/// Returns true if each host uses a region of its own. Hosts that read one stream would measure the cache of an array:
/// the first of them fills it for the others.
fn is_divided(load: &Load, part: &Part, sharing: Sharing) -> bool {
    part.shared_by().is_some()
        && sharing != Sharing::Own
        && (part.is_divided() || !load.rw.is_random())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_shared_if_all_hosts_see_the_same() {
        let of = |texts: &[&str]| {
            let some = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
            of_one(texts.iter().map(some).collect())
        };
        assert_eq!(of(&["a", "a", "a"]), Sharing::Shared);
        assert_eq!(of(&["a", "b", "c"]), Sharing::Own);
        assert_eq!(of(&["a", "a", "c"]), Sharing::Unknown);
        assert_eq!(of(&["a", "", "a"]), Sharing::Unknown);
    }

    proptest! {
        #[test]
        fn shares_are_disjoint_and_cover_the_range(
            start in 0u64..1 << 40,
            length in 0u64..1 << 40,
            unit in 1u64..1 << 21,
            hosts in 1u32..200,
        ) {
            let range = start..start + length;
            let mut at = start;
            for number in 1..=hosts {
                let share = share_of(&range, unit, HostNumber { number, hosts });
                prop_assert_eq!(share.start, at);
                prop_assert!((share.start - start).is_multiple_of(unit) && share.end >= share.start);
                let most = (length / unit / u64::from(hosts) + 2) * unit;
                prop_assert!(share.end - share.start <= most);
                at = share.end;
            }
            prop_assert_eq!(at, range.end);
        }
    }
}
