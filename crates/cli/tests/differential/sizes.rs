//! Block sizes of I/Os.

use crate::seen::Op;
use crate::stage::Stage;

#[test]
fn bssplit_shares_match_fio() {
    let Some(stage) = Stage::new("bssplit_shares_match_fio") else { return };
    let pair = stage.both("bssplit.fio");
    pair.same_mix();
    pair.same_sizes(Op::Read);
    pair.same_sizes(Op::Write);
    assert_eq!(pair.iogauge.seen.sizes(Op::Write).len(), 2);
}

/// Where a part of a large I/O was read before, both read the rest of it.
#[test]
fn bssplit_with_a_random_map_reads_every_byte_once() {
    let Some(stage) = Stage::new("bssplit_with_a_random_map_reads_every_byte_once") else { return };
    let pair = stage.both("bssplit-map.fio");
    pair.same("bytes", |seen| seen.bytes(Op::Read));
    assert_eq!(pair.iogauge.seen.bytes(Op::Read), 32 << 20);
    assert_eq!(pair.iogauge.seen.range(), (0, 32 << 20));
    assert!(pair.iogauge.seen.sizes(Op::Read).len() > 10);
    pair.same_sizes(Op::Read);
}

#[test]
fn bsrange_uses_every_size_like_fio() {
    let Some(stage) = Stage::new("bsrange_uses_every_size_like_fio") else { return };
    let pair = stage.both("bsrange.fio");
    pair.reports();
    pair.same("I/Os", |seen| seen.count(Op::Read));
    pair.same_sizes(Op::Read);
    assert_eq!(pair.iogauge.seen.sizes(Op::Read).len(), 8);
}

#[test]
fn separate_read_and_write_block_sizes_match_fio() {
    let Some(stage) = Stage::new("separate_read_and_write_block_sizes_match_fio") else { return };
    let pair = stage.both("two-sizes.fio");
    pair.same_mix();
    pair.same_sizes(Op::Read);
    pair.same_sizes(Op::Write);
    assert_eq!(pair.iogauge.seen.sizes(Op::Write).into_keys().collect::<Vec<_>>(), [16 << 10]);
}

#[test]
fn io_count_and_size_apply_to_each_clone() {
    let Some(stage) = Stage::new("io_count_and_size_apply_to_each_clone") else { return };
    let pair = stage.both("number-ios.fio");
    pair.same_amounts();
    assert_eq!(pair.iogauge.seen.count(Op::Read), 3 * 333);
    assert_eq!([pair.fio.report.entries, pair.iogauge.report.entries], [1, 1]);
    let pair = stage.both("io-size.fio");
    pair.same_amounts();
    assert_eq!(pair.iogauge.seen.bytes(Op::Write), 2 * (20 << 20));
}
