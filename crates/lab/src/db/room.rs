//! Whether the disks of a database have room for what is to be filled.

use iogauge_db::backend::FillPlace;
use iogauge_db::{Database, DbError};
use iogauge_io::target::{Roots, file_system_facts};
use iogauge_model::result::FileSystemFacts;
use iogauge_model::units::Bytes;
use std::os::unix::fs::MetadataExt;

const MIB: u64 = 1 << 20;

/// A file system, and how much of what is filled each place on it takes at most.
struct Disk {
    device: u64,
    facts: FileSystemFacts,
    limits: Vec<u64>,
}

/// Checks that filling so many bytes leaves each disk what prefilling a test file leaves it. Disks that
/// are on another machine, or not to be found, are not checked. `instead` says what would be right where
/// so many bytes fit.
///
/// # Errors
/// [`DbError::NoRoom`]; where the database does not tell where it writes.
pub fn check_room(
    database: &dyn Database,
    data_bytes: u64,
    instead: impl Fn(u64) -> Option<String>,
) -> Result<(), DbError> {
    for disk in disks(database.fill_places()?) {
        let Disk { facts, limits, .. } = disk;
        let spare_bytes = facts.available_bytes.saturating_sub(facts.reserve_bytes);
        let needed_bytes = taken(data_bytes, &limits);
        if needed_bytes > spare_bytes {
            let instead = instead(fits(data_bytes, &limits, spare_bytes));
            return Err(DbError::NoRoom(format!(
                "{}: refused, {} more would leave less than {} of the disk free; right would be {}another \
                 disk",
                facts.mount_point,
                Bytes(needed_bytes),
                Bytes(facts.reserve_bytes),
                instead.map_or_else(String::new, |instead| format!("{instead}, or "))
            )));
        }
    }
    Ok(())
}

/// The file systems of places; one that is not there yet is on that of the folder it will be in.
fn disks(places: Vec<FillPlace>) -> Vec<Disk> {
    let mut disks: Vec<Disk> = Vec::new();
    for FillPlace { path, most_bytes } in places {
        let limit = most_bytes.unwrap_or(u64::MAX);
        let Ok(path) = std::path::absolute(path) else { continue };
        let mut there = path.ancestors().filter_map(|path| Some((path, path.metadata().ok()?)));
        let Some((path, about)) = there.next() else { continue };
        let device = about.dev();
        if let Some(disk) = disks.iter_mut().find(|disk| disk.device == device) {
            disk.limits.push(limit);
        } else if let Some(facts) = file_system_facts(path, &Roots::real()) {
            disks.push(Disk { device, facts, limits: vec![limit] });
        }
    }
    disks
}

/// What so many bytes of data take where each place has such a limit.
fn taken(data_bytes: u64, limits: &[u64]) -> u64 {
    limits.iter().map(|limit| data_bytes.min(*limit)).fold(0, u64::saturating_add)
}

/// The most data up to `data_bytes` that takes no more than `spare_bytes`, in whole MiB.
fn fits(data_bytes: u64, limits: &[u64], spare_bytes: u64) -> u64 {
    let (mut fit, mut least_too_many) = (0, data_bytes / MIB + 1);
    while least_too_many - fit > 1 {
        let middle = fit + (least_too_many - fit) / 2;
        if taken(middle * MIB, limits) <= spare_bytes {
            fit = middle;
        } else {
            least_too_many = middle;
        }
    }
    fit * MIB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_on_the_same_disk_counts_up_to_its_limit() {
        let alone = [u64::MAX];
        assert_eq!((taken(10 * MIB, &alone), taken(10 * MIB, &[3 * MIB])), (10 * MIB, 3 * MIB));
        let both = [u64::MAX, 3 * MIB];
        assert_eq!((taken(2 * MIB, &both), taken(10 * MIB, &both)), (4 * MIB, 13 * MIB));
        assert_eq!(taken(u64::MAX, &both), u64::MAX);
        assert_eq!(
            (fits(10 * MIB, &alone, 7 * MIB + 1), fits(10 * MIB, &alone, MIB - 1)),
            (7 * MIB, 0)
        );
        assert_eq!(
            (fits(10 * MIB, &both, 7 * MIB), fits(10 * MIB, &both, 5 * MIB)),
            (4 * MIB, 2 * MIB)
        );
        // On a disk of its own it never takes more.
        assert_eq!(fits(10 * MIB, &[3 * MIB], 3 * MIB), 10 * MIB);
    }

    #[test]
    fn a_place_that_is_not_there_yet_is_on_the_disk_of_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        let of = |path: &str, most_bytes| FillPlace { path: dir.path().join(path), most_bytes };
        let disks = disks(vec![of("to/come", None), of("", Some(7))]);
        assert_eq!(disks.len(), 1);
        assert_eq!(disks[0].limits, [u64::MAX, 7]);
    }
}
