//! The order of I/Os.

use crate::pair::assert_same_list;
use crate::seen::{Io, Op, Seen};
use crate::stage::Stage;

#[test]
fn sequential_reads_match_fio_in_order() {
    let Some(stage) = Stage::new("sequential_reads_match_fio_in_order") else { return };
    let pair = stage.both("read.fio");
    pair.same_amounts();
    pair.same_list("order", Seen::steps);
    // The range starts at 25 % of 64 MiB and has half of its size. Its first half is read again.
    assert_eq!(pair.iogauge.seen.steps()[0], (Op::Read, 16 << 20, 64 << 10));
    assert_eq!(pair.iogauge.seen.bytes(Op::Read), 48 << 20);
}

#[test]
fn clones_write_at_successive_offsets_like_fio() {
    let Some(stage) = Stage::new("clones_write_at_successive_offsets_like_fio") else { return };
    let pair = stage.both("write-clones.fio");
    pair.same_amounts();
    pair.same_list("streams", Seen::streams);
    assert_eq!(pair.iogauge.seen.streams().len(), 3);
}

#[test]
fn sequential_skips_and_backward_reads_match_fio() {
    let Some(stage) = Stage::new("sequential_skips_and_backward_reads_match_fio") else { return };
    for rw in ["read:64k", "read:-8k", "write:12k"] {
        let pair = stage.both_with("modified.fio", &[("RW", rw)]);
        pair.same_amounts();
        // Backwards, fio starts with the first block and continues with those before the last.
        let begin = usize::from(rw == "read:-8k");
        pair.same_list(rw, |seen| seen.steps().split_off(begin));
    }
}

#[test]
fn sequential_runs_after_random_offsets_match_fio() {
    let Some(stage) = Stage::new("sequential_runs_after_random_offsets_match_fio") else { return };
    let follows = |pair: &[Io]| pair[0].offset_bytes + pair[0].len_bytes == pair[1].offset_bytes;
    let starts = |seen: &Seen| {
        let starts = seen.ios.windows(2).filter(|pair| !follows(pair)).map(|pair| pair[1].clone());
        Seen { ios: starts.collect() }
    };
    let pair = stage.both_with("modified.fio", &[("RW", "randread:8")]);
    pair.same_amounts();
    // By chance, a burst may start where the previous one ended.
    for seen in [&pair.fio.seen, &pair.iogauge.seen] {
        assert!((250..256).contains(&starts(seen).ios.len()), "{}", starts(seen).ios.len());
    }
    pair.alike("places", |seen| starts(seen).spread((0, 16 << 20), 8));
    let pair = stage.both("identical.fio");
    pair.same_amounts();
    let runs = |seen: &Seen| seen.visits().iter().filter(|count| **count % 4 != 0).count();
    pair.same("I/Os at one place", runs);
    assert_eq!(runs(&pair.iogauge.seen), 0);
    // With a random map, no place is drawn again before all were.
    let pair = stage.both("identical-map.fio");
    pair.same_amounts();
    pair.same("places", |seen| seen.visits().iter().filter(|count| **count > 0).count());
}

#[test]
fn flush_intervals_match_fio() {
    let Some(stage) = Stage::new("flush_intervals_match_fio") else { return };
    for sync in ["fsync=8", "fdatasync=5", "end_fsync=1"] {
        let (option, value) = sync.split_once('=').unwrap();
        let name = format!("{option}.fio");
        let pair = stage.both_with(&name, &[("EVERY", value)]);
        pair.reports();
        let [mut fio, iogauge] = [&pair.fio, &pair.iogauge].map(|run| run.seen.steps());
        // After 64 writes a flush is due. fio leaves it out, because no write follows.
        if sync == "fsync=8" {
            fio.push((Op::Flush, 0, 0));
        }
        assert_same_list(sync, &fio, &iogauge);
        assert!(pair.iogauge.seen.count(Op::Flush) > 0, "{sync}");
    }
}

#[test]
fn stonewall_groups_run_one_after_another() {
    let Some(stage) = Stage::new("stonewall_groups_run_one_after_another") else { return };
    let pair = stage.both("stonewall.fio");
    pair.same_amounts();
    for (run, tool) in [(&pair.fio, "fio"), (&pair.iogauge, "iogauge")] {
        let ops: Vec<Op> = run.seen.ios.iter().map(|io| io.op).collect();
        assert!(ops.is_sorted(), "{tool}: a write came before the last read");
        assert_eq!(run.report.entries, 3, "{tool}");
    }
    pair.same_list("places", Seen::sorted);
}
