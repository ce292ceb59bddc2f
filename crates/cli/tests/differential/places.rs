//! Offsets of random I/Os.

use crate::seen::{Io, Op, Seen};
use crate::stage::{DEVICE_BYTES, Stage};
use crate::statistics::{alike, by_rank};

const MIB: u64 = 1 << 20;

#[test]
fn random_reads_cover_every_block_once() {
    let Some(stage) = Stage::new("random_reads_cover_every_block_once") else { return };
    let pair = stage.both("randread.fio");
    pair.same_amounts();
    pair.same_list("places", Seen::sorted);
    assert_eq!(pair.fio.seen.count(Op::Read), 4096);
}

#[test]
fn random_writes_cover_every_block_of_their_range_once() {
    let Some(stage) = Stage::new("random_writes_cover_every_block_of_their_range_once") else {
        return;
    };
    let pair = stage.both("randwrite-map.fio");
    pair.same_amounts();
    pair.same_list("places", Seen::sorted);
    assert_eq!(pair.iogauge.seen.range(), (8 * MIB, 24 * MIB));
}

#[test]
fn mixed_reads_and_writes_are_spread_like_fio() {
    let Some(stage) = Stage::new("mixed_reads_and_writes_are_spread_like_fio") else { return };
    let pair = stage.both("randrw.fio");
    pair.same_mix();
    pair.same_places((0, 32 * MIB), 4096);
    let [read, write] = [Op::Read, Op::Write].map(|op| pair.iogauge.seen.count(op));
    assert!(alike(&[read, write], &[7000, 3000]), "{read} reads, {write} writes");
}

#[test]
fn skewed_distributions_match_fio() {
    let Some(stage) = Stage::new("skewed_distributions_match_fio") else { return };
    let ranks = |seen: &Seen| by_rank(seen.visits());
    let with = |distribution: &str, other: &str| {
        let fio = stage.fio("skewed.fio", &[("DISTRIBUTION", distribution)]);
        let iogauge = stage.iogauge("skewed.fio", &[("DISTRIBUTION", distribution)]);
        let different = stage.iogauge("skewed.fio", &[("DISTRIBUTION", other)]);
        fio.says_what_it_did("fio");
        iogauge.says_what_it_did("iogauge");
        let [fio, iogauge, different] = [fio, iogauge, different].map(|run| ranks(&run.seen));
        assert!(alike(&fio, &iogauge), "{distribution}: fio {fio:?}, iogauge {iogauge:?}");
        // The test can tell two skews apart: a different one does not pass.
        assert!(!alike(&fio, &different), "{other}: fio {fio:?}, iogauge {different:?}");
    };
    with("zipf:1.2", "zipf:1.1");
    with("zipf:0.8", "zipf:0.9");
    with("pareto:0.2", "pareto:0.25");
}

/// fio 3.33 scatters the blocks of its normal distribution over the whole range, and its distribution is narrower, so
/// only the amounts are compared.
#[test]
fn normal_distribution_is_centered_on_the_range() {
    let Some(stage) = Stage::new("normal_distribution_is_centered_on_the_range") else { return };
    let pair = stage.both_with("skewed.fio", &[("DISTRIBUTION", "normal:15")]);
    pair.same_amounts();
    let is_near = |io: &Io| io.offset_bytes.abs_diff(8 * MIB) * 100 < 15 * 16 * MIB;
    let seen = &pair.iogauge.seen;
    let near = seen.only(is_near).ios.len() as u64;
    let far = seen.count(Op::Read) - near;
    assert!(alike(&[near, far], &[68_269, 31_731]), "{near} within one deviation, {far} beyond");
}

#[test]
fn zoned_distribution_shares_match_fio() {
    let Some(stage) = Stage::new("zoned_distribution_shares_match_fio") else { return };
    let pair = stage.both_with("skewed.fio", &[("DISTRIBUTION", "zoned:60/10:30/20:10/70")]);
    pair.same_amounts();
    pair.same_places((0, 16 * MIB), 4096);
}

#[test]
fn sequential_skips_end_at_the_range_like_fio() {
    let Some(stage) = Stage::new("sequential_skips_end_at_the_range_like_fio") else { return };
    for (rw, bs, size) in [
        ("read:512k", "512k", "64m"),
        ("read:512k", "1m", "64m"),
        ("write:4k", "8k", "1m"),
        ("read", "4k", "10240"),
        ("write", "4k", "9k"),
        ("randread", "4k", "10240"),
    ] {
        let pair = stage.both_with("range.fio", &[("RW", rw), ("BS", bs), ("SIZE", size)]);
        pair.same_amounts();
        if !rw.contains("rand") {
            pair.same_list(&format!("{rw} bs={bs} size={size}"), Seen::steps);
        }
    }
}

#[test]
fn size_and_filesize_together_match_fio() {
    let Some(stage) = Stage::new("size_and_filesize_together_match_fio") else { return };
    for (rw, file_size, size) in
        [("read", "2m", "4m"), ("randread", "2m", "4m"), ("write", "4m", "2m")]
    {
        let values = [("RW", rw), ("FILESIZE", file_size), ("SIZE", size)];
        let pair = stage.both_with("file-range.fio", &values);
        pair.same_amounts();
    }
}

#[test]
fn each_pass_reads_the_device_again_like_fio() {
    let Some(stage) = Stage::new("each_pass_reads_the_device_again_like_fio") else { return };
    let pair = stage.both("passes.fio");
    pair.same_amounts();
    assert_eq!(pair.iogauge.seen.bytes(Op::Read), 12 << 20);
}

#[test]
fn blockalign_affects_offsets_but_not_sizes() {
    let Some(stage) = Stage::new("blockalign_affects_offsets_but_not_sizes") else { return };
    let pair = stage.both("blockalign.fio");
    pair.same_amounts();
    pair.same_places((0, DEVICE_BYTES), 64 << 10);
    assert_eq!(pair.iogauge.seen.sizes(Op::Read).into_keys().collect::<Vec<_>>(), [4096]);
}

#[test]
fn ios_are_divided_between_two_devices_like_fio() {
    let Some(stage) = Stage::new("ios_are_divided_between_two_devices_like_fio") else { return };
    let pair = stage.both("two-devices.fio");
    pair.same_amounts();
    let of = |seen: &Seen, device: usize| seen.only(|io| io.device == device);
    pair.same("I/Os of each device", |seen| [0, 1].map(|device| of(seen, device).ios.len()));
    for device in [0, 1] {
        pair.same_list("places", |seen| of(seen, device).sorted());
    }
}
