//! Options of a load as fio has them, by what they leave in files.

use crate::support::{MIB, image};
use crate::threads::{MS, alone, start_on, to_the_end, usable};
use iogauge_io::crew::Crew;
use iogauge_io::engine::Op;
use iogauge_model::load::{BlockSizes, Load, Pattern, Thinktime};
use std::time::Instant;

const BLOCK: u64 = 4096;

/// Numbers of the blocks of a file that hold anything.
fn written(path: &std::path::Path) -> Vec<u64> {
    let data = std::fs::read(path).unwrap();
    let blocks = data.chunks(BLOCK as usize).zip(0..);
    blocks.filter(|(block, _)| block.iter().any(|b| *b != 0)).map(|(_, number)| number).collect()
}

#[test]
fn an_increment_keeps_the_jobs_apart() {
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
fn bytes_end_each_job_with_the_io_that_reaches_them() {
    let _alone = alone();
    for engine in usable() {
        let image = image(MIB);
        let load = Load { engine, rw: Pattern::Write, iodepth: 2, numjobs: 2, ..Load::default() };
        // Of blocks of one size no worker makes one too many.
        let even = Load { io_size_bytes: Some(10 * BLOCK + 1), ..load.clone() };
        let total = to_the_end(&mut start_on(image.path(), even, 4));
        assert_eq!((total.ios(), total.bytes()), (22, 22 * BLOCK), "{engine:?}");
        // Of several sizes each worker may make one.
        let block = BlockSizes::parse_bssplit("4k/50:32k/50").unwrap();
        let mixed = Load { io_size_bytes: Some(4 * MIB), block, ..load };
        let total = to_the_end(&mut start_on(image.path(), mixed, 4));
        let over = total.tally(Op::Write).bytes - 8 * MIB;
        assert!(over < 4 * (32 << 10), "{engine:?}: {over} bytes too many");
    }
}

#[test]
fn syncs_of_data_and_at_the_end_are_made() {
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
fn pauses_take_their_time() {
    let _alone = alone();
    let image = image(MIB);
    for engine in usable() {
        let load = Load { engine, iodepth: 1, number_ios: Some(40), ..Load::default() };
        let thinktime = Some(Thinktime { pause_ns: 5 * MS, blocks: 4 });
        let load = Load { thinktime, startdelay_ns: 50 * MS, ..load };
        let began = Instant::now();
        let mut crew = start_on(image.path(), load, 1);
        let total = to_the_end(&mut crew);
        let took = began.elapsed();
        // Nine pauses between ten fours.
        assert!(took.as_millis() >= 95, "{engine:?}: {took:?}");
        assert_eq!(total.ios(), 40, "{engine:?}");
        assert!(total.seconds() >= 0.045, "{engine:?}: {}", total.seconds());
        assert!(total.seconds() <= took.as_secs_f64() - 0.049, "{engine:?}: {}", total.seconds());
    }
}

#[test]
fn a_pause_holds_up_nobody() {
    let _alone = alone();
    let image = image(MIB);
    for engine in usable() {
        let thinktime = Some(Thinktime { pause_ns: 60_000 * MS, blocks: 1 });
        let load = Load { engine, thinktime, startdelay_ns: MS, ..Load::default() };
        let mut crew = start_on(image.path(), load, 1);
        crew.advance(50 * MS).unwrap();
        let asked = Instant::now();
        let mut total = crew.cut().unwrap();
        total.append(&crew.stop().unwrap());
        assert!(asked.elapsed().as_millis() < 300, "{engine:?}: {:?}", asked.elapsed());
        assert_eq!(total.ios(), 1, "{engine:?}");
    }
}
