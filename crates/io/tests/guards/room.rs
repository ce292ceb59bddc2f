//! Tests of the reserve of free space.

use crate::support::*;
use iogauge_io::targets::{GuardError, Intent, Part, Prefill, ReserveWatch, Roots, TargetError};
use rustix::fs::FallocateFlags;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Barrier;
use std::thread;

const GIB: u64 = 1 << 30;

fn sized(size_bytes: u64) -> Intent {
    Intent { size_bytes: Some(size_bytes), ..writes() }
}

fn resolved(path: &Path, intent: Intent) -> Part {
    resolve(path, intent).unwrap().parts.remove(0)
}

fn needed(path: &Path, intent: Intent) -> u64 {
    match refusal(path, intent) {
        GuardError::NoRoom { needed_bytes, .. } => needed_bytes,
        other => panic!("{other}"),
    }
}

#[test]
fn target_without_io_needs_no_space() {
    let (mount, _device) = or_skip!("target_without_io", mounted("ext4", 256 * MIB));
    let path = mount.point.join("iogauge.dat");
    assert!(needed(&path, sized(GIB)) >= GIB);
    let without_io = Intent { issues_io: false, ..sized(GIB) };
    assert_eq!(resolved(&path, without_io).size_bytes, GIB);
}

#[test]
fn concurrent_allocations_succeed_only_if_they_fit() {
    let (mount, _device) = or_skip!("together", mounted("ext4", 1500 * MIB));
    let spare = available(&mount.point) - GIB;
    let each = spare * 6 / 10 / MIB * MIB;
    // Each part fits alone, so all pass the check. Then they allocate at the same time.
    let parts = ["a", "b", "c"].map(|name| resolved(&mount.point.join(name), sized(each)));
    let together = Barrier::new(parts.len());
    let results: Vec<_> = thread::scope(|scope| {
        let threads = parts.map(|mut part| {
            let together = &together;
            scope.spawn(move || {
                together.wait();
                let begun = Prefill::begin(&mut part, &Roots::default());
                (begun, part)
            })
        });
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert!(available(&mount.point) >= GIB, "{}", available(&mount.point));
    let begun = results.iter().filter(|(result, _)| result.is_ok()).count();
    assert_eq!(begun, 1, "{results:?}");
    for (result, _) in &results {
        if let Err(error) = result {
            let refused = matches!(error, TargetError::Guard(GuardError::NoRoom { .. }));
            assert!(refused, "{error}");
        }
    }
    assert_eq!(fs::read_dir(&mount.point).unwrap().count(), 2, "lost+found and one test file");
    drop(results);
    assert!(available(&mount.point) > GIB + spare - 8 * MIB, "what was not written is given back");
}

#[test]
fn space_check_counts_blocks_a_write_will_allocate() {
    for kind in ["ext4", "xfs", "btrfs"] {
        let (mount, _device) = match mounted(kind, 1400 * MIB) {
            Ok(mounted) => mounted,
            Err(why) => return skip("will_allocate", &why),
        };
        let spare = available(&mount.point).saturating_sub(GIB);
        // Does not fit if all of it has to be allocated.
        let size = (spare + 100 * MIB) / MIB * MIB;
        let path = mount.point.join("file");
        let file = File::create(&path).unwrap();
        file.set_len(size).unwrap();
        assert_eq!(needed(&path, writes_anything()), size, "{kind}: all holes");
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size).unwrap();
        resolve(&path, writes_anything()).unwrap();
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, flags, 0, 8 * MIB).unwrap();
        rustix::fs::fallocate(&file, FallocateFlags::empty(), size, 200 * MIB).unwrap();
        file.sync_all().unwrap();
        // Blocks allocated past the end of the written range do not count.
        let intent = Intent { size_bytes: Some(size), ..writes_anything() };
        assert_eq!(needed(&path, intent), 8 * MIB, "{kind}: a hole punched into it");
        resolve(&path, reads()).unwrap();
    }
}

#[test]
fn reflinked_extents_need_free_space_when_written() {
    for kind in ["xfs", "btrfs"] {
        let (mount, _device) = match mounted(kind, 1500 * MIB) {
            Ok(mounted) => mounted,
            Err(why) => return skip("shared", &why),
        };
        let path = mount.point.join("file");
        let size = (available(&mount.point) - GIB) * 6 / 10 / MIB * MIB;
        fill_new(&path, size);
        resolve(&path, writes_anything()).unwrap();
        let copy = mount.point.join("copy");
        let arguments = ["--reflink=always", path.to_str().unwrap(), copy.to_str().unwrap()];
        if let Err(why) = run("cp", &arguments) {
            return skip("shared", &why);
        }
        assert!(needed(&path, writes_anything()) > size / 10 * 9, "{kind}");
        resolve(&path, reads()).unwrap();
    }
}

fn fill_new(path: &Path, size_bytes: u64) {
    File::create(path).unwrap();
    fill(path, size_bytes);
}

#[test]
fn reflinked_test_file_is_not_counted_as_allocated() {
    let (mount, _device) = or_skip!("ours_shared", mounted("xfs", 1500 * MIB));
    let size = (available(&mount.point) - GIB) * 6 / 10 / MIB * MIB;
    let mut part = resolved(&mount.point, sized(size));
    let prefill = Prefill::begin(&mut part, &Roots::default()).unwrap().unwrap();
    fill_part(&part);
    prefill.finish(&mut part).unwrap();
    let path = part.path.clone();
    drop(part);
    drop(resolved(&mount.point, writes()));
    let copy = mount.point.join("copy");
    let arguments = ["--reflink=always", path.to_str().unwrap(), copy.to_str().unwrap()];
    or_skip!("ours_shared", run("cp", &arguments));
    assert!(needed(&mount.point, writes()) > size / 10 * 9);
    drop(resolved(&mount.point, reads()));
}

fn fill_part(part: &Part) {
    use iogauge_io::targets::OpenMode;
    let mode = OpenMode { write: true, ..OpenMode::reading(false) };
    let file = File::from(part.open(mode).unwrap().fd);
    let block = vec![5; MIB as usize];
    for place in (0..part.size_bytes).step_by(MIB as usize) {
        std::os::unix::fs::FileExt::write_all_at(&file, &block, part.base_bytes + place).unwrap();
    }
    file.sync_all().unwrap();
}

#[test]
fn free_space_is_monitored_only_for_sparse_files() {
    let (mount, _device) = or_skip!("watched", mounted("ext4", 1300 * MIB));
    let path = mount.point.join("file");
    File::create(&path).unwrap().set_len(16 * MIB).unwrap();
    let sparse = resolved(&path, writes_anything());
    let mut watched = ReserveWatch::of(std::slice::from_ref(&sparse)).unwrap();
    watched.check().unwrap();
    // Another program uses up the space.
    let spare = available(&mount.point) - GIB;
    let other = File::create(mount.point.join("other")).unwrap();
    rustix::fs::fallocate(&other, FallocateFlags::empty(), 0, spare + 4 * MIB).unwrap();
    let error = watched.check().unwrap_err();
    assert!(matches!(error, TargetError::ReserveReached { .. }), "{error}");
    drop(other);
    fs::remove_file(mount.point.join("other")).unwrap();
    watched.check().unwrap();
    fill(&path, 16 * MIB);
    assert!(ReserveWatch::of(&[sparse]).unwrap().is_empty());
}
