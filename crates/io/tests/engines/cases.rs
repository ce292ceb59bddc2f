//! Tests of every engine without failures.

use crate::bench::{BLOCK, Ground, exchange, extent, files, on_files, pool, to_the_end, usable};
use iogauge_io::buffers::BufferPool;
use iogauge_io::engine::{EngineInfo, Io, Op};
use iogauge_model::load::{EngineKind, Load, Pattern};
use iogauge_test_support::{Loop, MIB, image, or_skip};
use std::collections::HashSet;
use std::sync::Arc;

fn io(pool: &BufferPool, slot: u32, op: Op, file: u32, block: u64) -> Io {
    let (offset_bytes, buffer) = (block * BLOCK, pool.buffer(slot));
    Io { slot, op, file, offset_bytes, len: BLOCK as u32, buffer }
}

fn content(pool: &BufferPool, slot: u32) -> &[u8] {
    // SAFETY: the pool's buffers are one block long, and no I/O is in flight.
    unsafe { std::slice::from_raw_parts(pool.buffer(slot), BLOCK as usize) }
}

#[test]
fn written_data_is_read_back() {
    const SLOTS: u32 = 64;
    for row in usable("written_data_is_read_back").filter(|row| row.stores) {
        let images = [image(MIB), image(MIB)];
        let opened = files(row, &[images[0].path(), images[1].path()]);
        let mut pool = BufferPool::new(SLOTS, BLOCK, 5).unwrap();
        (0..SLOTS).for_each(|slot| pool.renew(slot, BLOCK as usize));
        let written: Vec<Vec<u8>> = (0..SLOTS).map(|slot| content(&pool, slot).to_vec()).collect();
        // 37 and 256 are coprime, so every I/O has its own block.
        let place = |slot: u32| (slot % 2, u64::from(slot) * 37 % 256);
        let list = |op| -> Vec<Io> {
            let ios = (0..SLOTS).map(|slot| io(&pool, slot, op, place(slot).0, place(slot).1));
            ios.collect()
        };
        let syncs = (0..2).map(|file| Io { len: 0, ..io(&pool, file, Op::Sync, file, 0) });
        let lists = [list(Op::Write), syncs.collect(), list(Op::Read)];
        exchange(row, &opened, &pool, &lists, |index, results| {
            let whole = if index == 1 { 0 } else { BLOCK as i32 };
            assert!(results.iter().all(|r| *r == whole), "{}: {results:?}", row.name);
            if index < 2 {
                // SAFETY: no I/O is in flight on any slot.
                (0..SLOTS).for_each(|slot| unsafe {
                    pool.buffer(slot).write_bytes(0xee, BLOCK as usize);
                });
            }
        });
        for slot in 0..SLOTS {
            assert!(content(&pool, slot) == written[slot as usize], "{}: slot {slot}", row.name);
        }
        if row.kind != EngineKind::Sim {
            let stored = images.each_ref().map(|image| std::fs::read(image.path()).unwrap());
            for slot in 0..SLOTS {
                let (file, block) = place(slot);
                let at = (block * BLOCK) as usize;
                let there = &stored[file as usize][at..at + BLOCK as usize];
                assert!(there == written[slot as usize], "{}: slot {slot}", row.name);
            }
        }
    }
}

/// Runs a workload with a fixed number of I/Os on a new file, and returns the content of the file afterwards.
fn written_by(row: &EngineInfo, load: &Load, size_bytes: u64) -> Vec<u8> {
    let image = image(size_bytes);
    let opened = files(row, &[image.path()]);
    let ground = Ground { files: opened, extents: extent(size_bytes), sim: "" };
    let mut pool = pool(load, &ground);
    let total = to_the_end(pool.as_mut());
    let each = load.number_ios.unwrap();
    assert_eq!(total.ios(), each * u64::from(load.numjobs), "{}", row.name);
    assert_eq!((total.errors(), total.tally(Op::Write).short), (0, 0), "{}", row.name);
    std::fs::read(image.path()).unwrap()
}

/// Fails if any two aligned lines of 64 bytes are equal.
fn assert_nothing_repeats(name: &str, data: &[u8]) {
    let lines: HashSet<&[u8]> = data.chunks(64).collect();
    assert_eq!(lines.len(), data.len() / 64, "{name}: the data repeats");
}

#[test]
fn pool_writes_every_block_with_unique_content() {
    const SIZE: u64 = 4 * MIB;
    for row in on_files("pool_writes_every_block_with_unique_content") {
        let load = Load {
            rw: Pattern::RandWrite,
            coverage: true,
            iodepth: 4,
            numjobs: 2,
            direct: !row.always_buffered,
            number_ios: Some(SIZE / BLOCK / 2),
            engine: row.kind,
            ..Load::default()
        };
        assert_nothing_repeats(row.name, &written_by(row, &load, SIZE));
    }
}

#[test]
fn mixed_load_writes_only_incompressible_data() {
    const SIZE: u64 = 4 * MIB;
    for row in on_files("mixed_load_writes_only_incompressible_data") {
        for dependent in [false, true] {
            let load = Load {
                rw: Pattern::RandRw,
                dependent,
                iodepth: 4,
                direct: !row.always_buffered,
                number_ios: Some(SIZE / BLOCK),
                engine: row.kind,
                ..Load::default()
            };
            let data = written_by(row, &load, SIZE);
            let written: Vec<&[u8]> =
                data.chunks(BLOCK as usize).filter(|block| block.iter().any(|b| *b != 0)).collect();
            assert!(written.len() > 200, "{}: {} blocks", row.name, written.len());
            assert_nothing_repeats(row.name, &written.concat());
        }
    }
}

#[test]
fn written_data_depends_on_the_seed() {
    const SIZE: u64 = MIB;
    for row in on_files("written_data_depends_on_the_seed") {
        // The I/Os run one at a time and outnumber the blocks, so the final content of the file depends on the order,
        // the offset and the direction of every I/O.
        let run = |seed| {
            let load = Load {
                rw: Pattern::RandRw,
                direct: !row.always_buffered,
                number_ios: Some(1000),
                engine: row.kind,
                seed,
                ..Load::default()
            };
            written_by(row, &load, SIZE)
        };
        let first = run(11);
        assert!(first == run(11), "{}: the same seed wrote something else", row.name);
        assert!(first != run(12), "{}: another seed wrote the same", row.name);
    }
}

#[test]
fn same_seed_gives_same_simulation_result() {
    let run = |seed| {
        let load = Load { engine: EngineKind::Sim, iodepth: 4, seed, ..Load::default() };
        // The seek time makes every latency depend on the offsets.
        let ground = Ground {
            files: Arc::default(),
            extents: extent(1 << 30),
            sim: "channels=1,service=1ms,dist=const,seek=10ms,size=1g",
        };
        let mut pool = pool(&load, &ground);
        pool.advance(5_000_000_000).unwrap();
        pool.stop().unwrap().service()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn engines_without_storage_still_count_ios() {
    for row in usable("engines_without_storage_still_count_ios") {
        let image = image(MIB);
        let ground = Ground {
            files: files(row, &[image.path()]),
            extents: extent(MIB),
            sim: "service=100us",
        };
        let load = Load {
            rw: Pattern::RandRw,
            iodepth: 8,
            direct: !row.always_buffered,
            number_ios: Some(5000),
            engine: row.kind,
            ..Load::default()
        };
        let mut pool = pool(&load, &ground);
        let total = to_the_end(pool.as_mut());
        assert_eq!((total.ios(), total.bytes()), (5000, 5000 * BLOCK), "{}", row.name);
        // 5 standard deviations of 35: half of 5000 I/Os are reads.
        let reads = total.tally(Op::Read).ios();
        assert!(reads.abs_diff(2500) < 177, "{}: {reads}", row.name);
        let threads = if row.kind.is_synchronous() { 8 } else { 1 };
        assert_eq!(total.workers.len(), threads, "{}", row.name);
    }
}

#[test]
fn thread_pool_rejects_simulated_device() {
    use iogauge_io::pool::{PoolJob, ThreadPool};
    let load = Load { engine: EngineKind::Sim, ..Load::default() };
    let job = PoolJob { load, files: Arc::default(), extents: extent(MIB) };
    let error = ThreadPool::start(vec![job], 1).unwrap_err().to_string();
    assert!(error.contains("sim"), "{error}");
}

#[test]
fn misaligned_direct_io_fails_that_io_only() {
    for row in on_files("misaligned_direct_io").filter(|row| !row.always_buffered) {
        let device = or_skip!("misaligned_direct_io", Loop::new(MIB));
        let opened = files(row, &[&device.path]);
        let pool = BufferPool::new(3, BLOCK, 5).unwrap();
        let at = |slot, offset_bytes| Io { offset_bytes, ..io(&pool, slot, Op::Read, 0, 0) };
        let lists = [vec![at(0, 4096), at(1, 4196), at(2, 8192)]];
        exchange(row, &opened, &pool, &lists, |_, results| {
            assert_eq!(results, [4096, -libc::EINVAL, 4096], "{}", row.name);
        });
    }
}
