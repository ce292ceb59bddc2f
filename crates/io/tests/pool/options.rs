//! Tests of workload options that fio has too, mostly by the content of the files that they write.

use crate::threads::{MS, alone, start_on, to_the_end, usable};
use iogauge_io::engine::Op;
use iogauge_io::pool::WorkerPool;
use iogauge_model::load::{BlockSizes, Content, CpuPolicy, Load, Pattern, Thinktime};
use iogauge_test_support::{MIB, image};
use std::collections::HashSet;
use std::time::Instant;

const BLOCK: u64 = 4096;

/// Returns the numbers of the blocks of a file that are not all zeros.
fn written(path: &std::path::Path) -> Vec<u64> {
    let data = std::fs::read(path).unwrap();
    let blocks = data.chunks(BLOCK as usize).zip(0..);
    blocks.filter(|(block, _)| block.iter().any(|b| *b != 0)).map(|(_, number)| number).collect()
}

#[test]
fn offset_increment_keeps_jobs_in_separate_ranges() {
    let _alone = alone();
    for engine in usable() {
        for (rw, coverage) in [(Pattern::Write, false), (Pattern::RandWrite, true)] {
            let image = image(MIB);
            let load = Load {
                engine,
                rw,
                coverage,
                numjobs: 3,
                offset_bytes: 8 * BLOCK,
                offset_increment_bytes: Some(64 * BLOCK),
                size_bytes: Some(16 * BLOCK),
                number_ios: Some(16),
                ..Load::default()
            };
            let total = to_the_end(&mut start_on(image.path(), load, 3));
            assert_eq!(total.ios(), 48, "{engine:?}");
            let wanted: Vec<u64> =
                (0..3).flat_map(|job| (0..16).map(move |n| 8 + 64 * job + n)).collect();
            assert_eq!(written(image.path()), wanted, "{engine:?} {rw}");
        }
    }
}

#[test]
fn byte_limit_ends_each_job_at_the_io_that_reaches_it() {
    let _alone = alone();
    for engine in usable() {
        let image = image(MIB);
        let load = Load { engine, rw: Pattern::Write, iodepth: 2, numjobs: 2, ..Load::default() };
        // With one block size, no worker does an I/O too many.
        let even = Load { io_size_bytes: Some(10 * BLOCK + 1), ..load.clone() };
        let total = to_the_end(&mut start_on(image.path(), even, 4));
        assert_eq!((total.ios(), total.bytes()), (22, 22 * BLOCK), "{engine:?}");
        // With several block sizes, each worker may do one I/O too many.
        let block = BlockSizes::parse_bssplit("4k/50:32k/50").unwrap();
        let mixed = Load { io_size_bytes: Some(4 * MIB), block, ..load };
        let total = to_the_end(&mut start_on(image.path(), mixed, 4));
        let over = total.tally(Op::Write).bytes - 8 * MIB;
        assert!(over < 4 * (32 << 10), "{engine:?}: {over} bytes too many");
    }
}

#[test]
fn fdatasync_every_and_end_fsync_issue_syncs() {
    let _alone = alone();
    let image = image(MIB);
    for engine in usable() {
        let load =
            Load { engine, rw: Pattern::RandWrite, number_ios: Some(100), ..Load::default() };
        let load = Load { fdatasync_every: 10, end_fsync: true, ..load };
        let total = to_the_end(&mut start_on(image.path(), load, 1));
        let syncs = total.tally(Op::Sync).ios();
        assert_eq!((total.ios(), syncs, total.errors()), (100, 11, 0), "{engine:?}");
    }
}

#[test]
fn thinktime_and_startdelay_extend_the_run() {
    let _alone = alone();
    let image = image(MIB);
    for engine in usable() {
        let load = Load { engine, iodepth: 1, number_ios: Some(40), ..Load::default() };
        let thinktime = Some(Thinktime { pause_ns: 5 * MS, blocks: 4 });
        let load = Load { thinktime, startdelay_ns: 50 * MS, ..load };
        let began = Instant::now();
        let mut pool = start_on(image.path(), load, 1);
        let total = to_the_end(&mut pool);
        let took = began.elapsed();
        // Nine pauses between ten groups of four I/Os, after the start delay.
        assert!(took.as_millis() >= 95, "{engine:?}: {took:?}");
        assert_eq!(total.ios(), 40, "{engine:?}");
        assert!(total.seconds() >= 0.045, "{engine:?}: {}", total.seconds());
        assert!(total.seconds() <= took.as_secs_f64() - 0.049, "{engine:?}: {}", total.seconds());
    }
}

#[test]
fn long_thinktime_does_not_block_window_or_stop() {
    let _alone = alone();
    let image = image(MIB);
    for engine in usable() {
        let thinktime = Some(Thinktime { pause_ns: 60_000 * MS, blocks: 1 });
        let load = Load { engine, thinktime, startdelay_ns: MS, ..Load::default() };
        let mut pool = start_on(image.path(), load, 1);
        pool.advance(50 * MS).unwrap();
        let asked = Instant::now();
        let mut total = pool.take_window().unwrap();
        total.append(&pool.stop().unwrap());
        assert!(asked.elapsed().as_millis() < 300, "{engine:?}: {:?}", asked.elapsed());
        assert_eq!(total.ios(), 1, "{engine:?}");
    }
}

#[test]
fn written_data_has_requested_compression_and_dedupe() {
    let _alone = alone();
    for engine in usable() {
        let image = image(8 * MIB);
        let content = Content { compress_percent: 60, dedupe_percent: 40, ..Content::default() };
        let load = Load { engine, content, rw: Pattern::Write, ..Load::default() };
        let load = Load { iodepth: 4, number_ios: Some(8 * MIB / BLOCK), ..load };
        to_the_end(&mut start_on(image.path(), load, 4));
        let data = std::fs::read(image.path()).unwrap();
        let zeros = data.iter().filter(|byte| **byte == 0).count() as f64 / data.len() as f64;
        // 60 % of the bytes, and 1/256 of the rest.
        assert!((0.59..0.61).contains(&zeros), "{engine:?}: {zeros}");
        let blocks: HashSet<&[u8]> = data.chunks(BLOCK as usize).collect();
        let distinct = blocks.len() as f64 / (data.len() as u64 / BLOCK) as f64;
        // psync writes with four workers, and each repeats only its own blocks.
        assert!((0.55..0.65).contains(&distinct), "{engine:?}: {distinct}");
    }
}

/// Returns the nice value in a thread's `stat`: field 19 of proc_pid_stat(5), after a name in parentheses.
fn nice_of(stat: &str) -> i64 {
    stat.rsplit(") ").next().unwrap().split(' ').nth(16).unwrap().parse().unwrap()
}

/// Returns the allowed processors and the nice value of each pool thread.
fn placements() -> Vec<(String, i64)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let mut found = Vec::new();
    for task in tasks {
        let path = task.unwrap().path();
        let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
        let (status, stat) = (read("status"), read("stat"));
        if !status.starts_with("Name:\tiogauge-") {
            continue;
        }
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
        found.push((cpus.unwrap().to_owned(), nice_of(&stat)));
    }
    found.sort();
    found
}

#[test]
fn workers_run_on_their_assigned_cpus() {
    let _alone = alone();
    let image = image(MIB);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
    let mine: iogauge_model::load::Cpus = list.unwrap().parse().unwrap();
    let [first, second, ..] = *mine.numbers() else {
        return iogauge_test_support::skip(
            "workers_run_on_their_assigned_cpus",
            "it takes two processors",
        );
    };
    let base = nice_of(&std::fs::read_to_string("/proc/self/stat").unwrap());
    for engine in usable() {
        for (cpu_policy, wanted) in [
            (CpuPolicy::Shared, [format!("{first}"), format!("{first}")]),
            (CpuPolicy::Split, [format!("{first}"), format!("{second}")]),
        ] {
            let list = match cpu_policy {
                CpuPolicy::Shared => first.to_string(),
                CpuPolicy::Split => format!("{first},{second}"),
            };
            let cpus = Some(list.parse().unwrap());
            let load = Load { engine, cpus, cpu_policy, nice: 3, numjobs: 2, ..Load::default() };
            let mut pool = start_on(image.path(), load, 2);
            pool.advance(20 * MS).unwrap();
            assert_eq!(
                placements(),
                wanted.map(|cpus| (cpus, base + 3)),
                "{engine:?} {cpu_policy:?}"
            );
            assert!(pool.stop().unwrap().ios() > 0);
        }
    }
    let load = Load { cpus: Some("1023".parse().unwrap()), ..Load::default() };
    let file = std::fs::File::open(image.path()).unwrap();
    let extents = vec![iogauge_io::offsets::Extent { base_bytes: 0, size_bytes: MIB }];
    let files = std::sync::Arc::new(vec![file.into()]);
    let job = iogauge_io::pool::PoolJob { load, files, extents };
    let error = iogauge_io::pool::ThreadPool::start(vec![job], 1).unwrap_err().to_string();
    assert!(
        error.contains("cpus_allowed=1023") && error.contains("use processors that nproc counts"),
        "{error}"
    );
}
