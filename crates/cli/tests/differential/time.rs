//! When I/Os are issued.

use crate::seen::{Op, Seen};
use crate::stage::Stage;

fn seconds(seen: &Seen) -> f64 {
    let (first, last) = seen.time();
    last - first
}

#[test]
fn thinktime_blocks_pauses_match_fio() {
    let Some(stage) = Stage::new("thinktime_blocks_pauses_match_fio") else { return };
    let pair = stage.both("thinktime.fio");
    pair.same_amounts();
    pair.same("order", Seen::steps);
    // 60 I/Os with a think time of 30 ms after every four.
    pair.same("pauses", |seen| seen.gaps(0.029));
    assert_eq!(pair.iogauge.seen.gaps(0.029), 14);
}

#[test]
fn startdelay_delays_the_job_like_fio() {
    let Some(stage) = Stage::new("startdelay_delays_the_job_like_fio") else { return };
    let pair = stage.both("startdelay.fio");
    for (run, tool) in [(&pair.fio, "fio"), (&pair.iogauge, "iogauge")] {
        let begin = |op| run.seen.only(|io| io.op == op).time().0;
        let delay = begin(Op::Write) - begin(Op::Read);
        assert!((0.9..1.6).contains(&delay), "{tool}: {delay} s");
    }
}

#[test]
fn rate_option_limits_iops_like_fio() {
    let Some(stage) = Stage::new("rate_option_limits_iops_like_fio") else { return };
    let pair = stage.both("rate.fio");
    for (run, tool) in [(&pair.fio, "fio"), (&pair.iogauge, "iogauge")] {
        let rate = (run.seen.count(Op::Read) - 1) as f64 / seconds(&run.seen);
        assert!((475.0..525.0).contains(&rate), "{tool}: {rate} I/Os per second");
        let time = seconds(&run.seen);
        assert!((1.9..2.5).contains(&time), "{tool}: {time} s");
    }
}

/// The writes have a rate, and the reads none.
#[test]
fn rate_of_one_direction_leaves_the_rest_to_the_other_like_fio() {
    let name = "rate_of_one_direction_leaves_the_rest_to_the_other_like_fio";
    let Some(stage) = Stage::new(name) else { return };
    let pair = stage.both("rate-writes.fio");
    for (run, tool) in [(&pair.fio, "fio"), (&pair.iogauge, "iogauge")] {
        let per_second = |op| (run.seen.count(op) - 1) as f64 / seconds(&run.seen);
        let (reads, writes) = (per_second(Op::Read), per_second(Op::Write));
        assert!((243.0..269.0).contains(&writes), "{tool}: {writes} writes per second");
        assert!(reads > 4.0 * writes, "{tool}: {reads} reads per second");
    }
}
