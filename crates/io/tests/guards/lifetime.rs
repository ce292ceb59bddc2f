//! Tests of a test file from creation through an interrupted prefill to removal.

use crate::support::*;
use iogauge_io::targets::prefill::need;
use iogauge_io::targets::{
    BASE_BYTES, Cleaned, GuardError, Intent, LeftBecause, OpenMode, Part, Prefill, PrefillNeed,
    Roots, Target, TargetError, clean, extents, facts,
};
use iogauge_model::caveat::{Command, Fact};
use iogauge_model::load::{Load, SyncMode};
use iogauge_model::{Caveat, CaveatCode};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::fs::symlink;
use std::path::Path;

const SIZE: u64 = 4 * MIB;
const WRITE: OpenMode = OpenMode { write: true, direct: false, sync: SyncMode::None };

fn part(dir: &Path, intent: Intent) -> Part {
    resolve(dir, intent).unwrap().parts.remove(0)
}

fn sized(size_bytes: u64) -> Intent {
    Intent { size_bytes: Some(size_bytes), ..writes() }
}

fn begin(part: &mut Part) -> Prefill {
    Prefill::begin(part, &Roots::default()).unwrap().unwrap()
}

/// Writes random bytes to a range of the usable part, as a worker would.
fn write(part: &Part, range: std::ops::Range<u64>) {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    std::io::Read::read_exact(&mut File::open("/dev/urandom").unwrap(), &mut bytes).unwrap();
    let file = File::from(part.open(WRITE).unwrap().fd);
    file.write_all_at(&bytes, part.base_bytes + range.start).unwrap();
}

/// Creates a prefilled test file.
fn made(dir: &Path, size_bytes: u64) -> Part {
    let mut part = part(dir, sized(size_bytes));
    let prefill = begin(&mut part);
    write(&part, prefill.range());
    prefill.finish(&mut part).unwrap();
    part
}

#[test]
fn killed_prefill_resumes_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = part(dir.path(), sized(SIZE));
    assert!(matches!(first.open(WRITE), Err(TargetError::NotPrepared { .. })));
    assert_eq!(need(&first).unwrap(), PrefillNeed::From { offset_bytes: 0 });
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "resolving makes nothing");
    let mut prefill = begin(&mut first);
    assert_eq!((prefill.range(), first.base_bytes), (0..SIZE, BASE_BYTES));
    write(&first, 0..MIB);
    prefill.progress(MIB).unwrap();
    drop((prefill, first));

    let mut second = part(dir.path(), writes());
    assert_eq!(second.size_bytes, SIZE);
    assert_eq!(need(&second).unwrap(), PrefillNeed::From { offset_bytes: MIB });
    let prefill = begin(&mut second);
    assert_eq!(prefill.range(), MIB..SIZE);
    write(&second, prefill.range());
    prefill.finish(&mut second).unwrap();
    assert_eq!(need(&second).unwrap(), PrefillNeed::None);
    let file = File::from(second.open(OpenMode::reading(false)).unwrap().fd);
    let report = extents(&file, &second.path, second.base_bytes, second.size_bytes).unwrap();
    assert_eq!(report.never_written_bytes(), 0);
    drop((file, second));

    let third = part(dir.path(), reads());
    assert!(third.made_by_us());
    assert_eq!(need(&third).unwrap(), PrefillNeed::None);
}

#[test]
fn full_range_writes_do_not_damage_the_marker() {
    let dir = tempfile::tempdir().unwrap();
    let made = made(dir.path(), SIZE);
    write(&made, 0..SIZE);
    drop(made);
    assert!(part(dir.path(), writes()).made_by_us());
}

#[test]
fn file_growth_is_rolled_back_on_failure() {
    let dir = tempfile::tempdir().unwrap();
    drop(made(dir.path(), SIZE));
    assert_eq!(part(dir.path(), sized(MIB)).size_bytes, MIB, "less than all of it may be used");
    let mut larger = part(dir.path(), sized(2 * SIZE));
    assert_eq!(need(&larger).unwrap(), PrefillNeed::From { offset_bytes: SIZE });
    let prefill = begin(&mut larger);
    assert!(matches!(prefill.disk_full(&larger), TargetError::DiskFull { .. }));
    drop(larger);
    let again = part(dir.path(), writes());
    assert_eq!((again.size_bytes, need(&again).unwrap()), (SIZE, PrefillNeed::None));
    assert_eq!(fs::metadata(&again.path).unwrap().len(), BASE_BYTES + SIZE);
}

#[test]
fn prefill_aborted_by_full_disk_removes_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut part = part(dir.path(), sized(SIZE));
    let prefill = begin(&mut part);
    write(&part, 0..MIB);
    let error = prefill.disk_full(&part);
    assert!(error.to_string().contains("--size="), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

fn caveats_of(part: &Part, load: &Load) -> Vec<Caveat> {
    let facts = facts(part, load, &Roots::default()).unwrap();
    Command::Run.caveats(facts.into_iter().map(Fact::from))
}

#[test]
fn foreign_sparse_file_gets_caveat_and_is_not_prefilled() {
    let file = image(SIZE);
    let reading = part(file.path(), reads());
    let wanted = PrefillNeed::NotAllowed { unwritten_bytes: SIZE };
    assert_eq!(need(&reading).unwrap(), wanted);
    let caveats = caveats_of(&reading, &Load::default());
    assert!(caveats.iter().any(|c| c.code == CaveatCode::SparseHoles), "{caveats:?}");
    assert!(caveats.iter().all(|c| !c.hint.is_empty() && !c.message.contains('\n')));
    fill(file.path(), SIZE);
    assert_eq!(need(&reading).unwrap(), PrefillNeed::None);
    let cached = Load { direct: false, ..Load::default() };
    let caveats = caveats_of(&reading, &cached);
    let codes: Vec<_> = caveats.iter().map(|c| c.code).collect();
    assert_eq!(codes, [CaveatCode::PageCache, CaveatCode::SmallerThanCache]);
}

#[test]
fn zero_blocks_in_file_raise_a_caveat() {
    let file = image(0);
    fs::write(file.path(), vec![0; SIZE as usize]).unwrap();
    let reading = part(file.path(), reads());
    let caveats = caveats_of(&reading, &Load::default());
    assert!(caveats.iter().any(|c| c.code == CaveatCode::ZeroBlocks), "{caveats:?}");
}

fn cleaned(path: &Path) -> Cleaned {
    clean(&[path.to_owned()]).unwrap().remove(0)
}

fn left(path: &Path) -> LeftBecause {
    match cleaned(path) {
        Cleaned::Left { because, .. } => because,
        removed => panic!("{removed}"),
    }
}

#[test]
fn clean_removes_created_test_file() {
    let dir = tempfile::tempdir().unwrap();
    drop(made(dir.path(), SIZE));
    let result = cleaned(dir.path());
    assert!(matches!(&result, Cleaned::Removed { freed_bytes, .. } if *freed_bytes >= SIZE));
    assert!(result.to_string().contains("freed"), "{result}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(left(dir.path()), LeftBecause::NotThere);
}

#[test]
fn clean_keeps_files_it_did_not_create() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "precious").unwrap();
    assert!(matches!(left(&file), LeftBecause::NotOurs(_)));
    let link = dir.path().join("link");
    symlink(&file, &link).unwrap();
    assert_eq!(left(&link), LeftBecause::Symlink);
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let used = made(dir.path(), SIZE);
    assert_eq!(left(dir.path()), LeftBecause::InUse);
    drop(used);
    assert!(matches!(cleaned(dir.path()), Cleaned::Removed { .. }));
    let device = or_skip!("clean_device", Loop::new(MIB));
    assert_eq!(left(&device.path), LeftBecause::BlockDevice);
}

#[test]
fn combined_size_of_files_on_one_disk_is_checked() {
    let arguments = ["-t", "tmpfs", "-o", "size=4g", "none"];
    let disk = or_skip!("combined_size_of_files_on_one_disk_is_checked", Mount::new(&arguments));
    // All space but the reserve of 1 GiB. Nothing is written to it.
    let spare = 3 << 30;
    let intent = Intent { direct: false, ..sized(spare / 4 * 3 / MIB * MIB) };
    let wanted = ["a", "b"].map(|name| (disk.point.join(name), intent.clone()));
    for one in &wanted {
        Target::resolve_each(std::slice::from_ref(one), &Roots::default()).unwrap();
    }
    match Target::resolve_each(&wanted, &Roots::default()).unwrap_err() {
        TargetError::Guard(GuardError::NoRoom { needed_bytes, fits_bytes, .. }) => {
            assert!(needed_bytes > spare, "{needed_bytes}");
            assert!(fits_bytes > 0 && 2 * (fits_bytes + BASE_BYTES) <= spare, "{fits_bytes}");
        }
        other => panic!("{other}"),
    }
}
