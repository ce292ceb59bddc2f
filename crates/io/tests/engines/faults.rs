//! Tests of every engine with failing I/Os: failures are counted, the first one is reported, and nothing hangs.

use crate::bench::{
    BLOCK, Ground, exchange, extent, files, on_files, open, pool, to_the_end, usable,
};
use iogauge_io::buffers::BufferPool;
use iogauge_io::engine::{EngineInfo, Files, Io, Op};
use iogauge_io::offsets::Extent;
use iogauge_model::load::{EngineKind, Load, Pattern};
use iogauge_test_support::{Loop, MIB, Mount, image, or_skip};
use std::sync::Arc;

/// Number of consecutive failures after which a worker gives up.
const GIVE_UP: u64 = 1000;
const DEPTH: u32 = 4;

fn load(row: &EngineInfo, rw: Pattern) -> Load {
    let direct = !row.always_buffered;
    Load { rw, iodepth: DEPTH, direct, engine: row.kind, ..Load::default() }
}

/// Runs a workload all of whose I/Os fail, and checks the counts and the reported fault.
fn assert_all_fail(row: &EngineInfo, load: &Load, ground: &Ground<'_>, errno: i32) {
    let mut pool = pool(load, ground);
    let total = to_the_end(pool.as_mut());
    let workers = total.workers.len() as u64;
    let most = workers * (GIVE_UP + u64::from(DEPTH));
    assert_eq!(total.ios(), 0, "{}", row.name);
    let errors = total.errors();
    assert!((workers * GIVE_UP..most).contains(&errors), "{}: {errors}", row.name);
    let (job, fault) = pool.fault().unwrap();
    let op = if load.rw.reads() { Op::Read } else { Op::Write };
    assert_eq!((job, fault.op, fault.errno, fault.part), (0, op, errno, 0), "{}", row.name);
    let Extent { base_bytes, size_bytes } = ground.extents[0];
    assert!((base_bytes..base_bytes + size_bytes).contains(&fault.offset_bytes), "{}", row.name);
}

#[test]
fn read_across_eof_is_short_and_read_past_eof_is_empty() {
    const SIZE: u64 = BLOCK + 1904;
    for row in on_files("read_across_eof_is_short_and_read_past_eof_is_empty") {
        let image = image(SIZE);
        let opened: Files = Arc::new(vec![open(image.path(), false).unwrap()]);
        let buffers = BufferPool::new(3, BLOCK, 5).unwrap();
        let read = |slot: u32| Io {
            slot,
            op: Op::Read,
            file: 0,
            offset_bytes: u64::from(slot) * BLOCK,
            len: BLOCK as u32,
            buffer: buffers.buffer(slot),
        };
        exchange(row, &opened, &buffers, &[vec![read(0), read(1), read(2)]], |_, results| {
            assert_eq!(results, [4096, 1904, 0], "{}", row.name);
        });
        // In a pool on the second block alone, each I/O completes short, is continued, and then fails.
        let extents = vec![Extent { base_bytes: BLOCK, size_bytes: BLOCK }];
        let ground = Ground { files: opened, extents, sim: "" };
        let mut pool = pool(&Load { direct: false, ..load(row, Pattern::RandRead) }, &ground);
        let total = to_the_end(pool.as_mut());
        let tally = total.tally(Op::Read);
        assert_eq!((tally.ios(), tally.short), (0, tally.errors), "{}", row.name);
        assert!(tally.errors >= GIVE_UP, "{}: {}", row.name, tally.errors);
        let (_, fault) = pool.fault().unwrap();
        assert_eq!((fault.errno, fault.offset_bytes), (0, SIZE), "{}", row.name);
    }
}

#[test]
fn media_errors_are_counted_and_end_the_pool() {
    const TEST: &str = "media_errors_are_counted_and_end_the_pool";
    for row in usable(TEST).filter(|row| row.kind != EngineKind::Null) {
        let device = or_skip!("errors_of_the_medium", Loop::new(4 * MIB));
        let opened = if row.kind == EngineKind::Sim {
            Files::default()
        } else {
            files(row, &[&device.path])
        };
        // Truncate the image to 1 MiB. The loop device keeps its size and fails reads past the end.
        std::fs::File::options().write(true).open(device.image()).unwrap().set_len(MIB).unwrap();
        let bad = vec![Extent { base_bytes: 2 * MIB, size_bytes: MIB }];
        let ground = Ground { files: opened, extents: bad, sim: "eio=100" };
        assert_all_fail(row, &load(row, Pattern::RandRead), &ground, libc::EIO);
        // With good and bad blocks mixed, errors are counted and the pool continues.
        let ground = Ground { extents: extent(4 * MIB), sim: "eio=75", ..ground };
        let some = Load { number_ios: Some(4000), ..load(row, Pattern::RandRead) };
        let mut pool = pool(&some, &ground);
        let total = to_the_end(pool.as_mut());
        assert_eq!(total.ios() + total.errors(), 4000, "{}", row.name);
        // Three quarters of the I/Os fail, within 5 standard deviations of 27.
        assert!(total.errors().abs_diff(3000) < 137, "{}: {}", row.name, total.errors());
    }
}

#[test]
fn full_disk_is_reported_and_ends_the_pool() {
    for row in usable("a_full_disk").filter(|row| row.kind != EngineKind::Null) {
        let mount = or_skip!("a_full_disk", Mount::new(&["-t", "tmpfs", "-o", "size=1m", "none"]));
        let path = mount.point.join("file");
        std::fs::File::create(&path).unwrap().set_len(64 * MIB).unwrap();
        std::fs::write(mount.point.join("fill"), vec![1; 900 << 10]).unwrap();
        let opened: Files = match row.kind {
            EngineKind::Sim => Files::default(),
            _ => Arc::new(vec![open(&path, false).unwrap()]),
        };
        // A mapped write gets SIGBUS, which does not tell why the page is missing.
        let errno = if row.kind == EngineKind::Mmap { libc::EIO } else { libc::ENOSPC };
        let mut ground = Ground { files: opened, extents: extent(64 * MIB), sim: "space=100k" };
        let load = Load { direct: false, ..load(row, Pattern::Write) };
        let mut pool = pool(&load, &ground);
        let total = to_the_end(pool.as_mut());
        // At most 124 KiB were free, that is 31 blocks.
        assert!((10..=31).contains(&total.ios()), "{}: {}", row.name, total.ios());
        assert!(total.errors() >= GIVE_UP, "{}: {}", row.name, total.errors());
        assert_eq!(pool.fault().unwrap().1.errno, errno, "{}", row.name);
        drop(pool);
        ground.extents = vec![Extent { base_bytes: 32 * MIB, size_bytes: MIB }];
        assert_all_fail(row, &load, &ground, errno);
    }
}

#[test]
fn truncating_file_during_run_ends_the_pool() {
    for row in on_files("truncating_file_during_run_ends_the_pool") {
        let image = image(8 * MIB);
        let ground =
            Ground { files: files(row, &[image.path()]), extents: extent(8 * MIB), sim: "" };
        let mut pool = pool(&load(row, Pattern::RandRead), &ground);
        pool.advance(20_000_000).unwrap();
        assert!(pool.take_window().unwrap().ios() > 0, "{}", row.name);
        image.as_file().set_len(0).unwrap();
        let total = to_the_end(pool.as_mut());
        assert!(total.errors() >= GIVE_UP, "{}", row.name);
        // A read at the end of a file returns 0 bytes without an errno. A mapped page past the end fails with EIO.
        let errno = if row.kind == EngineKind::Mmap { libc::EIO } else { 0 };
        assert_eq!(pool.fault().unwrap().1.errno, errno, "{}", row.name);
    }
}

#[test]
fn misaligned_loads_fail_instead_of_hanging() {
    for row in on_files("misaligned_loads").filter(|row| !row.always_buffered) {
        let device = or_skip!("misaligned_loads", Loop::new(MIB));
        let extents = vec![Extent { base_bytes: 100, size_bytes: MIB / 2 }];
        let ground = Ground { files: files(row, &[&device.path]), extents, sim: "" };
        assert_all_fail(row, &load(row, Pattern::RandRead), &ground, libc::EINVAL);
    }
}
