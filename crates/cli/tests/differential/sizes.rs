//! Block sizes of I/Os.

use crate::seen::Op;
use crate::stage::Stage;

#[test]
fn a_split_has_its_shares() {
    let Some(stage) = Stage::new("a_split_has_its_shares") else { return };
    let pair = stage.both("bssplit.fio");
    pair.same_mix();
    pair.same_sizes(Op::Read);
    pair.same_sizes(Op::Write);
    assert_eq!(pair.iogauge.seen.sizes(Op::Write).len(), 2);
}

#[test]
fn a_range_has_all_of_its_sizes() {
    let Some(stage) = Stage::new("a_range_has_all_of_its_sizes") else { return };
    let pair = stage.both("bsrange.fio");
    pair.reports();
    pair.same("I/Os", |seen| seen.count(Op::Read));
    pair.same_sizes(Op::Read);
    assert_eq!(pair.iogauge.seen.sizes(Op::Read).len(), 8);
}

#[test]
fn reads_and_writes_have_sizes_of_their_own() {
    let Some(stage) = Stage::new("reads_and_writes_have_sizes_of_their_own") else { return };
    let pair = stage.both("two-sizes.fio");
    pair.same_mix();
    pair.same_sizes(Op::Read);
    pair.same_sizes(Op::Write);
    assert_eq!(pair.iogauge.seen.sizes(Op::Write).into_keys().collect::<Vec<_>>(), [16 << 10]);
}

#[test]
fn amounts_are_those_of_each_clone() {
    let Some(stage) = Stage::new("amounts_are_those_of_each_clone") else { return };
    let pair = stage.both("number-ios.fio");
    pair.same_amounts();
    assert_eq!(pair.iogauge.seen.count(Op::Read), 3 * 333);
    assert_eq!([pair.fio.report.entries, pair.iogauge.report.entries], [1, 1]);
    let pair = stage.both("io-size.fio");
    pair.same_amounts();
    assert_eq!(pair.iogauge.seen.bytes(Op::Write), 2 * (20 << 20));
}
