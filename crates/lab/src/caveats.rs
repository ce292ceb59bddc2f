//! Doubts that show in what was measured.

use crate::search::Regime;
use iogauge_io::worker::control::IoFault;
use iogauge_model::limit::Metric;
use iogauge_model::load::Load;
use iogauge_model::result::{CpuUse, CurvePoint, Physical, StepResult};
use iogauge_model::units::{Bytes, Count};
use iogauge_model::{Caveat, CaveatCode};
use std::io;

/// Share of its depth or rate a step has to reach.
const DEPTH_SHARE: f64 = 0.9;
const RATE_SHARE: f64 = 0.97;
/// Processor share of one worker from which it may be the bottleneck, in percent.
const CLIENT_PERCENT: f64 = 95.0;
const STEAL_PERCENT: f64 = 2.0;
/// Physical over logical bytes outside of which something else than the load was at work.
const CACHED_BELOW: f64 = 0.9;
const OTHER_ABOVE: f64 = 1.2;
/// Devices move a little on any machine; less than this is not worth a word.
const OTHER_BYTES: u64 = 16 << 20;

/// Doubts about one step, whose jobs had these loads.
#[must_use]
pub fn of_step(result: &StepResult, loads: &[Load], workers: usize) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let closed = loads.iter().all(|l| l.arrivals.is_none() && l.number_ios.is_none());
    if closed && result.ios() > 0 {
        caveats.extend(depth(result.depth, result.depth_achieved));
    }
    if let Some(offered) = result.rate_iops {
        let achieved = result.ios() as f64 / result.seconds.max(1e-9);
        caveats.extend(rate(offered, achieved));
    }
    caveats.extend(machine(&result.cpu, workers));
    let direct = loads.iter().all(|l| l.direct);
    caveats.extend(physical(result.physical.as_ref(), result.bytes(), direct));
    caveats.extend(samples(result.ios()));
    caveats.extend(overflow(result));
    caveats
}

/// The depth achieved lies under the one asked.
#[must_use]
pub fn depth(asked: u32, achieved: f64) -> Option<Caveat> {
    (achieved < f64::from(asked) * DEPTH_SHARE).then(|| {
        Caveat::new(
            CaveatCode::DepthNotReached,
            format!(
                "of {asked} I/Os asked to be outstanding {achieved:.1} were, on average: the \
                 target answers faster than the tool can ask, or batches hold I/Os back"
            ),
            "--numjobs with more workers, or no --iodepth_batch options",
        )
    })
}

fn rate(offered: f64, achieved: f64) -> Option<Caveat> {
    (achieved < offered * RATE_SHARE).then(|| {
        Caveat::new(
            CaveatCode::RateNotReached,
            format!(
                "{} I/Os per second were offered and {} achieved: response times grow with the \
                 length of the run",
                Count(offered),
                Count(achieved)
            ),
            "a lower --rate_iops, or a higher --iodepth where the target could take more",
        )
    })
}

/// What the machine did to the measurement.
#[must_use]
pub fn machine(cpu: &CpuUse, workers: usize) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let used = cpu.user_percent + cpu.system_percent;
    if workers > 0 && used >= CLIENT_PERCENT * workers as f64 {
        caveats.push(Caveat::new(
            CaveatCode::ClientBound,
            format!(
                "the tool used {used:.0} % of a processor for {workers} worker{}: the target may \
                 sustain more than one machine can ask",
                if workers == 1 { "" } else { "s" }
            ),
            "--numjobs with more workers, larger blocks, or --iodepth_batch_submit=16 \
             --iodepth_batch_complete_min=8",
        ));
    }
    if cpu.steal_percent > STEAL_PERCENT {
        caveats.push(Caveat::new(
            CaveatCode::StealTime,
            format!(
                "the hypervisor gave {:.1} % of the processor time to other machines",
                cpu.steal_percent
            ),
            "repeat the run at a quieter time, and compare",
        ));
    }
    caveats
}

/// Physical bytes that do not match the logical ones.
#[must_use]
pub fn physical(physical: Option<&Physical>, logical_bytes: u64, direct: bool) -> Option<Caveat> {
    let physical = physical?;
    let ratio = physical.ratio_to_logical?;
    let moved = physical.read_bytes + physical.write_bytes;
    if ratio < CACHED_BELOW && logical_bytes > OTHER_BYTES {
        let how = if direct { "although the page cache was bypassed" } else { "through the cache" };
        return Some(Caveat::new(
            CaveatCode::PageCache,
            format!(
                "the devices moved {} for {} asked, {how}: something in between answered the rest",
                Bytes(moved),
                Bytes(logical_bytes)
            ),
            "iogauge prepare writes every block; a target larger than all caches shows the medium",
        ));
    }
    (ratio > OTHER_ABOVE && moved.saturating_sub(logical_bytes) > OTHER_BYTES).then(|| {
        Caveat::new(
            CaveatCode::OtherLoad,
            format!(
                "the devices moved {} for {} asked: others used them, or each I/O costs several",
                Bytes(moved),
                Bytes(logical_bytes)
            ),
            "stop what else uses the device (iostat -x 1, iotop), and repeat",
        )
    })
}

fn samples(ios: u64) -> Option<Caveat> {
    let wanted = Metric::Percentile(99.0).samples_wanted();
    (ios > 0 && ios < wanted).then(|| {
        Caveat::new(
            CaveatCode::TooFewSamples,
            format!("{ios} I/Os are too few for percentiles: p99 takes {wanted}"),
            "a longer --runtime",
        )
    })
}

fn overflow(result: &StepResult) -> Option<Caveat> {
    let overflow: u64 =
        result.read.iter().chain(&result.write).map(|d| d.service_histogram.overflow()).sum();
    (overflow > 0).then(|| {
        Caveat::new(
            CaveatCode::LatencyOverflow,
            format!("{overflow} latencies exceed 18 minutes and stand in no percentile"),
            "the maximum and the mean are exact all the same",
        )
    })
}

/// I/Os that failed.
#[must_use]
pub fn errors(count: u64, fault: Option<&IoFault>, path: &str) -> Option<Caveat> {
    (count > 0).then(|| {
        let first = fault.map_or_else(String::new, |fault| {
            let reason = match fault.errno {
                0 => "the file ended".to_owned(),
                errno => io::Error::from_raw_os_error(errno).to_string(),
            };
            let word = iogauge_io::crew::op_word(fault.op);
            format!(", the first a {word} of {path} at byte {}: {reason}", fault.offset_bytes)
        });
        Caveat::new(
            CaveatCode::IoErrors,
            format!("{count} I/Os failed{first}; the figures are those of the others"),
            "dmesg tells what the kernel saw",
        )
    })
}

/// Features that had to be given up.
#[must_use]
pub fn fallbacks(fallbacks: Vec<String>) -> Vec<Caveat> {
    fallbacks
        .into_iter()
        .map(|message| {
            Caveat::new(
                CaveatCode::FeatureFallback,
                message,
                "each I/O costs more processor time than it could; ulimit -l unlimited may help",
            )
        })
        .collect()
}

/// Doubts about the answer of a search.
#[must_use]
pub fn of_answer(point: &CurvePoint, met: bool) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    caveats.extend(depth(point.depth, point.depth_achieved));
    for value in &point.limits {
        let (n, wanted) = (value.n, value.limit.metric.samples_wanted());
        if n < wanted && met {
            let statistic = value.limit.statistic();
            caveats.push(Caveat::new(
                CaveatCode::TooFewSamples,
                format!("{statistic} rests on {n} I/Os; {wanted} would say it reliably"),
                "a longer --budget",
            ));
        }
    }
    if !point.steady {
        caveats.push(Caveat::new(
            CaveatCode::NotSteady,
            "the IOPS drifted or jumped while the answer was held",
            "a longer --budget, and a look at what else uses the device",
        ));
    }
    caveats
}

/// A target that gave something else before it gave the answer.
#[must_use]
pub fn regimes(regimes: &[Regime]) -> Vec<Caveat> {
    let caveat = |regime: &Regime| {
        let (before, after) = (Count(regime.before_iops), Count(regime.after_iops));
        let how = if regime.after_iops < regime.before_iops {
            "burst credits ran out, a cache filled, a throttle set in, or a neighbour came"
        } else {
            "a neighbour left, or a background task ended"
        };
        Caveat::new(
            CaveatCode::RegimeChange,
            format!(
                "the target gave {before} IOPS until {:.1} s into the search and {after} from then \
                 on: {how}; the answer is the later one",
                regime.at_seconds
            ),
            "a --budget of several minutes shows whether the later level lasts",
        )
    };
    regimes.iter().map(caveat).collect()
}

/// The run was ended by the user.
#[must_use]
pub fn interrupted() -> Caveat {
    Caveat::new(
        CaveatCode::Interrupted,
        "the run was interrupted: it holds what was measured until then",
        "run it again to its end",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_and_a_neighbour_are_told_apart() {
        let seen = |read_bytes: u64, logical: u64| {
            let physical = Physical {
                read_bytes,
                ratio_to_logical: Some(read_bytes as f64 / logical as f64),
                ..Physical::default()
            };
            super::physical(Some(&physical), logical, true).map(|c| c.code)
        };
        assert_eq!(seen(100 << 20, 1 << 30), Some(CaveatCode::PageCache));
        assert_eq!(seen(2 << 30, 1 << 30), Some(CaveatCode::OtherLoad));
        assert_eq!(seen(1 << 30, 1 << 30), None);
        assert_eq!(seen(4 << 20, 1 << 20), None, "small change");
    }

    #[test]
    fn depth_rate_client_and_steal_speak_up() {
        assert!(depth(32, 31.0).is_none());
        assert!(depth(32, 16.0).is_some());
        assert!(rate(1000.0, 980.0).is_none());
        assert!(rate(1000.0, 900.0).is_some());
        let busy = CpuUse { user_percent: 40.0, system_percent: 58.0, ..CpuUse::default() };
        assert_eq!(machine(&busy, 1)[0].code, CaveatCode::ClientBound);
        assert!(machine(&busy, 2).is_empty());
        let stolen = CpuUse { steal_percent: 5.0, ..CpuUse::default() };
        assert_eq!(machine(&stolen, 1)[0].code, CaveatCode::StealTime);
    }

    #[test]
    fn the_first_fault_is_named() {
        let fault =
            IoFault { op: iogauge_io::engine::Op::Write, part: 0, offset_bytes: 8192, errno: 28 };
        let caveat = errors(3, Some(&fault), "/data/f").unwrap();
        assert!(caveat.message.contains("a write of /data/f at byte 8192"), "{}", caveat.message);
        assert!(errors(0, Some(&fault), "/data/f").is_none());
    }
}
