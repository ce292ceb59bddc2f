//! Checks whether the disks of a database have enough room.

use iogauge_db::backend::FillPlace;
use iogauge_db::{Database, DbError};
use iogauge_io::targets::{Roots, file_system_facts};
use iogauge_model::result::FileSystemFacts;
use iogauge_model::units::Bytes;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Interval between two checks of the free space.
const LOOK: Duration = Duration::from_millis(50);
/// Work ends while the room above the reserve is still this many times what was taken between the
/// last two checks, unless the work is known to take less.
const AHEAD: u64 = 3;

/// Checks that a running database leaves the free-space reserve of its disks.
#[derive(Debug)]
pub struct DbReserveWatch {
    disks: Vec<ReserveWatch>,
    next: Instant,
}

/// A watched disk.
#[derive(Debug)]
struct ReserveWatch {
    path: PathBuf,
    mount_point: String,
    reserve_bytes: u64,
    /// Free bytes at the last check.
    available_bytes: u64,
    /// The most that the work still takes, in bytes.
    planned_bytes: u64,
}

impl DbReserveWatch {
    /// Watches the disks that a database writes to, except those that are on another machine or
    /// cannot be found.
    ///
    /// # Errors
    /// The database does not report where it writes.
    pub fn begin(database: &dyn Database) -> Result<Self, DbError> {
        let disks = disks(database.fill_places()?).into_iter();
        Ok(Self::of(disks.map(|disk| ReserveWatch::of(disk, u64::MAX))))
    }

    fn of(disks: impl Iterator<Item = ReserveWatch>) -> Self {
        Self { disks: disks.collect(), next: Instant::now() }
    }

    /// Checks the free space if the last check is long enough ago. A check costs a system call for
    /// each disk.
    ///
    /// # Errors
    /// [`DbError::NoRoom`] if a disk has reached its reserve, or soon will.
    pub fn check(&mut self) -> Result<(), DbError> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        self.next = now + LOOK;
        self.disks.iter_mut().try_for_each(ReserveWatch::check)
    }
}

impl ReserveWatch {
    fn of(disk: Disk, planned_bytes: u64) -> Self {
        Self {
            path: disk.path,
            mount_point: disk.facts.mount_point,
            reserve_bytes: disk.facts.reserve_bytes,
            available_bytes: disk.facts.available_bytes,
            planned_bytes,
        }
    }

    fn check(&mut self) -> Result<(), DbError> {
        // A disk whose free space is unknown is not judged.
        let Ok(about) = rustix::fs::statvfs(&self.path) else { return Ok(()) };
        self.see(about.f_bavail.saturating_mul(about.f_frsize))
    }

    fn see(&mut self, available_bytes: u64) -> Result<(), DbError> {
        let taken_bytes = self.available_bytes.saturating_sub(available_bytes);
        self.available_bytes = available_bytes;
        self.planned_bytes = self.planned_bytes.saturating_sub(taken_bytes);
        let ahead_bytes = taken_bytes.saturating_mul(AHEAD).min(self.planned_bytes);
        if available_bytes >= self.reserve_bytes.saturating_add(ahead_bytes) {
            return Ok(());
        }
        Err(DbError::NoRoom(format!(
            "{}: it has {} left, and {} of the disk stay free; hint: use another disk, or one with more \
             room",
            self.mount_point,
            Bytes(available_bytes),
            Bytes(self.reserve_bytes)
        )))
    }
}

/// A file system, and the most bytes that each place on it takes.
struct Disk {
    device: u64,
    /// An existing path on it.
    path: PathBuf,
    facts: FileSystemFacts,
    limits: Vec<u64>,
}

/// Checks that adding this much data leaves each disk its free-space reserve, as the prefill of a
/// test file does. Disks that are on another machine or cannot be found are not checked. `instead`
/// returns the hint, given the number of bytes that fit. Returns a watch for the time while the data
/// is added.
///
/// # Errors
/// [`DbError::NoRoom`], or the database does not report where it writes.
pub fn check_reserve(
    database: &dyn Database,
    data_bytes: u64,
    instead: impl Fn(u64) -> Option<String>,
) -> Result<DbReserveWatch, DbError> {
    let disks = disks(database.fill_places()?);
    for Disk { facts, limits, .. } in &disks {
        let spare_bytes = facts.available_bytes.saturating_sub(facts.reserve_bytes);
        let needed_bytes = taken(data_bytes, limits);
        if needed_bytes > spare_bytes {
            let instead = instead(fits(data_bytes, limits, spare_bytes));
            return Err(DbError::NoRoom(format!(
                "{}: refused, {} more would leave less than {} of the disk free; hint: use {}another \
                 disk",
                facts.mount_point,
                Bytes(needed_bytes),
                Bytes(facts.reserve_bytes),
                instead.map_or_else(String::new, |instead| format!("{instead}, or "))
            )));
        }
    }
    let watch = |disk: Disk| {
        let planned_bytes = taken(data_bytes, &disk.limits);
        ReserveWatch::of(disk, planned_bytes)
    };
    Ok(DbReserveWatch::of(disks.into_iter().map(watch)))
}

/// Returns the file systems of places. A place that does not exist yet is on the file system of its
/// parent directory.
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
            disks.push(Disk { device, path: path.to_owned(), facts, limits: vec![limit] });
        }
    }
    disks
}

/// Returns the bytes that data takes, if each place has such a limit.
fn taken(data_bytes: u64, limits: &[u64]) -> u64 {
    limits.iter().map(|limit| data_bytes.min(*limit)).fold(0, u64::saturating_add)
}

/// Returns the most data, up to `data_bytes`, that takes at most `spare_bytes`, in whole MiB.
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
    fn log_on_same_disk_counts_against_space_up_to_its_limit() {
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
        // A place with a limit, alone on a disk, never takes more.
        assert_eq!(fits(10 * MIB, &[3 * MIB], 3 * MIB), 10 * MIB);
    }

    #[test]
    fn filling_stops_before_disk_reserve_is_used() {
        let watched = || ReserveWatch {
            path: PathBuf::new(),
            mount_point: "/disk".to_owned(),
            reserve_bytes: 100 * MIB,
            available_bytes: 200 * MIB,
            planned_bytes: u64::MAX,
        };
        let mut slow = watched();
        for left in (102..200).rev() {
            let seen = slow.see(left * MIB);
            assert_eq!(seen.is_ok(), left >= 103, "{left}: {seen:?}");
        }
        let mut fast = watched();
        assert!(fast.see(180 * MIB).is_ok());
        // One more step of this size would keep the reserve, two would not.
        assert!(matches!(fast.see(150 * MIB), Err(DbError::NoRoom(_))));
        // The work ends sooner than it would reach the reserve.
        let mut planned = ReserveWatch { planned_bytes: 95 * MIB, ..watched() };
        assert!(planned.see(150 * MIB).is_ok() && planned.see(105 * MIB).is_ok());
        assert!(planned.see(99 * MIB).is_err());
        // Room is released.
        assert!(fast.see(400 * MIB).is_ok());
        assert!(matches!(fast.see(0), Err(DbError::NoRoom(_))));
    }

    #[test]
    fn missing_path_belongs_to_its_parents_file_system() {
        let dir = tempfile::tempdir().unwrap();
        let of = |path: &str, most_bytes| FillPlace { path: dir.path().join(path), most_bytes };
        let disks = disks(vec![of("to/come", None), of("", Some(7))]);
        assert_eq!(disks.len(), 1);
        assert_eq!(disks[0].limits, [u64::MAX, 7]);
    }
}
