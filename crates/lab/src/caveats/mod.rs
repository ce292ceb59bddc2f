//! Doubts that show in what was measured.

mod search;
pub(crate) mod surroundings;

use crate::measure::steadiness::{Unsteady, unsteadiness};
use crate::search::{CLIENT_BOUND_PERCENT, SearchOutcome};
use iogauge_io::engine;
use iogauge_io::worker::control::IoFault;
use iogauge_model::limit::Metric;
use iogauge_model::load::Load;
use iogauge_model::result::{CpuUse, PerformanceShift, Physical, StepResult};
use iogauge_model::units::{Bytes, Count, Latency};
use iogauge_model::{Caveat, CaveatCode};
pub(crate) use search::starved;
pub use search::{cut_short, drift, of_answer, shifts};
use std::io;

/// Share of its depth or rate a step has to reach.
const DEPTH_SHARE: f64 = 0.9;
const RATE_SHARE: f64 = 0.97;
/// Share of its time a worker may wait for a processor before that is worth a word, in percent.
const WAIT_PERCENT: f64 = 5.0;
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
    let closed =
        loads.iter().all(|l| l.arrivals.is_none() && !l.is_counted() && l.thinktime.is_none());
    if closed && result.ios() > 0 {
        caveats.extend(depth(result.depth, result.depth_achieved));
    }
    // Jobs with times of their own have none over which all of them offer their rates.
    let together = loads.iter().all(|l| l.own_time.is_none());
    if let Some(offered) = result.rate_iops.filter(|_| together) {
        let achieved = result.ios() as f64 / result.seconds.max(1e-9);
        caveats.extend(rate(
            offered,
            achieved,
            "a lower --rate_iops, or a higher --iodepth where the target could take more",
        ));
    }
    caveats.extend(machine(&result.cpu, workers));
    let direct = loads.iter().all(engine::is_direct);
    caveats.extend(physical(result.physical.as_ref(), result.bytes(), direct));
    caveats.extend(of_figures(result));
    caveats
}

/// Doubts that show in a step's own figures, whatever it ran on.
#[must_use]
pub(crate) fn of_figures(result: &StepResult) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    caveats.extend(samples(result.ios()));
    caveats.extend(steadiness(result));
    caveats.extend(overflow(result));
    caveats
}

/// The depth achieved lies under the one asked.
#[must_use]
pub fn depth(asked: u32, achieved: f64) -> Option<Caveat> {
    (achieved < f64::from(asked) * DEPTH_SHARE).then(|| {
        Caveat::of(
            CaveatCode::DepthNotReached,
            format!(
                "of {asked} I/Os asked to be outstanding {achieved:.1} were, on average: the \
                 target answers faster than the tool can ask, or batches hold I/Os back"
            ),
        )
    })
}

fn rate(offered: f64, achieved: f64, hint: &str) -> Option<Caveat> {
    (achieved < offered * RATE_SHARE).then(|| {
        Caveat::new(
            CaveatCode::RateNotReached,
            format!(
                "{} I/Os per second were offered and {} achieved: response times grow with the \
                 length of the run",
                Count(offered),
                Count(achieved)
            ),
            hint,
        )
    })
}

/// Arrivals of an open loop that found as many I/Os outstanding as there may be.
fn backlog(waited: u64, max_depth: u32) -> Option<Caveat> {
    (waited > 0).then(|| {
        Caveat::of(
            CaveatCode::ArrivalsWaited,
            format!(
                "up to {waited} I/Os were due and waited because {max_depth} were outstanding: the \
                 target saw no deeper queue, and their response times count the wait"
            ),
        )
    })
}

/// Each doubt once: parts that lie on one device raise the same.
#[must_use]
pub fn distinct(found: Vec<Caveat>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for caveat in found {
        if !caveats.contains(&caveat) {
            caveats.push(caveat);
        }
    }
    caveats
}

/// Each kind of doubt once, about steps that are one result: the one with the worst impact, the first
/// of those.
#[must_use]
pub fn one_of_each(found: Vec<Caveat>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = Vec::new();
    for caveat in found {
        match caveats.iter_mut().find(|known| known.code == caveat.code) {
            Some(known) if known.impact < caveat.impact => *known = caveat,
            Some(_) => {}
            None => caveats.push(caveat),
        }
    }
    caveats
}

/// What the machine did to the measurement.
#[must_use]
pub fn machine(cpu: &CpuUse, workers: usize) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    caveats.extend(processor_busy(cpu).or_else(|| processor_used_up(cpu, workers)));
    caveats.extend(steal(cpu));
    caveats
}

/// Processor time that other machines had.
pub(crate) fn steal(cpu: &CpuUse) -> Option<Caveat> {
    let percent = cpu.steal_percent;
    (percent > STEAL_PERCENT).then(|| {
        let message =
            format!("the hypervisor gave {percent:.1} % of the processor time to other machines");
        Caveat::of(CaveatCode::StealTime, message).weighed(percent / 100.0)
    })
}

/// The tool works without a pause: it may be what is measured.
fn processor_used_up(cpu: &CpuUse, workers: usize) -> Option<Caveat> {
    let used = cpu.busy_percent();
    (workers > 0 && used >= CLIENT_BOUND_PERCENT * workers as f64).then(|| {
        Caveat::of(
            CaveatCode::ClientBound,
            format!(
                "the tool used {used:.0} % of a processor for {workers} worker{}: the target may \
                 sustain more than one machine can ask",
                if workers == 1 { "" } else { "s" }
            ),
        )
    })
}

/// Processors are kept busy by others, or by more workers than there are processors.
fn processor_busy(cpu: &CpuUse) -> Option<Caveat> {
    let wait = cpu.wait_percent;
    (wait >= WAIT_PERCENT).then(|| {
        Caveat::new(
            CaveatCode::ClientBound,
            format!(
                "the workers were ready to run and had no processor for {wait:.0} % of the time \
                 (the machine was {:.0} % busy): other programs, other workers or the kernel's own \
                 threads keep the processors, and the target may sustain more",
                cpu.machine_percent
            ),
            "top shows what runs beside; taskset --cpu-list LIST iogauge … chooses the processors",
        )
        .weighed(wait / 100.0)
    })
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
        Caveat::of(
            CaveatCode::OtherLoad,
            format!(
                "the devices moved {} for {} asked: others used them, or each I/O costs several",
                Bytes(moved),
                Bytes(logical_bytes)
            ),
        )
    })
}

/// Nothing came of a step, and no I/O failed in it. `why` is the reason where it is known.
#[must_use]
pub fn nothing_in(result: &StepResult, why: Option<&str>) -> Option<Caveat> {
    result.is_empty().then(|| nothing(result.seconds, result.depth_achieved, why))
}

/// Why nothing was measured of what the user ended is known.
pub(crate) fn without_nothing(caveats: &mut Vec<Caveat>, interrupted: bool) {
    caveats.retain(|caveat| !interrupted || caveat.code != CaveatCode::NothingCompleted);
}

/// No I/O was completed in so many seconds, in which so many were outstanding on average.
#[must_use]
fn nothing(seconds: f64, outstanding: f64, why: Option<&str>) -> Caveat {
    let why = if let Some(why) = why {
        why.to_owned()
    } else if seconds == 0.0 {
        "all the work was done before it began, in a ramp or a pause".to_owned()
    } else if outstanding > 0.0 {
        format!("{outstanding:.1} were outstanding on average and did not come back")
    } else {
        "none was issued".to_owned()
    };
    Caveat::of(
        CaveatCode::NothingCompleted,
        format!("no I/O was completed in {}: {why}", Latency(seconds * 1e9)),
    )
}

/// No I/O was completed at the answer of a search, and none failed in it.
#[must_use]
pub(crate) fn nothing_found(found: &SearchOutcome) -> Option<Caveat> {
    let failed = found.errors > 0;
    let (answer, curve) = (&found.answer, &found.curve);
    (answer.is_empty() && !failed).then(|| {
        let point =
            curve.iter().find(|p| p.depth == answer.depth && p.rate_iops == answer.rate_iops);
        let seconds = match found.logical.0 {
            0 => found.measured_seconds,
            _ => point.map_or(0.0, |point| point.seconds),
        };
        nothing(seconds, answer.depth_achieved, None)
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

/// The IOPS did not hold still.
fn steadiness(result: &StepResult) -> Option<Caveat> {
    if let [first, _, ..] = result.shifts.as_slice() {
        let change = |shift: &PerformanceShift| {
            format!("{} after {:.1} s", Count(shift.after_iops), shift.at_seconds)
        };
        let changes: Vec<String> = result.shifts.iter().map(change).collect();
        let begin = Count(first.before_iops);
        let message = format!("the IOPS came from {begin} to {}", changes.join(", then to "));
        return Some(Caveat::of(CaveatCode::PerformanceShift, message));
    }
    if let [only] = result.shifts.as_slice() {
        let message = format!(
            "after {:.1} s the IOPS went from {} to {} and stayed there: credits that ran out, a cache that \
             filled, a throttle, or another user of the device",
            only.at_seconds,
            Count(only.before_iops),
            Count(only.after_iops)
        );
        return Some(Caveat::of(CaveatCode::PerformanceShift, message));
    }
    let Unsteady::Drift { rise_relative } = unsteadiness(&result.series)? else { return None };
    Some(Caveat::of(
        CaveatCode::NotSteady,
        format!(
            "the IOPS {} by {:.0} % of their mean from the beginning to the end",
            if rise_relative < 0.0 { "fell" } else { "rose" },
            rise_relative.abs() * 100.0
        ),
    ))
}

fn overflow(result: &StepResult) -> Option<Caveat> {
    let overflow: u64 =
        result.read.iter().chain(&result.write).map(|d| d.service_histogram.overflow()).sum();
    (overflow > 0).then(|| {
        Caveat::of(
            CaveatCode::LatencyOverflow,
            format!("{overflow} latencies exceed 18 minutes and stand in no percentile"),
        )
    })
}

/// I/Os that failed.
#[must_use]
pub fn errors(count: u64, fault: Option<&IoFault>, path: &str) -> Option<Caveat> {
    (count > 0).then(|| {
        let first = first(fault, path);
        Caveat::of(
            CaveatCode::IoErrors,
            format!("{count} I/Os failed{first}; the figures are those of the others"),
        )
    })
}

/// I/Os that failed before anything was measured.
#[must_use]
pub(crate) fn errors_before(count: u64, fault: Option<&IoFault>, path: &str) -> Option<Caveat> {
    (count > 0).then(|| {
        let first = first(fault, path);
        Caveat::of(
            CaveatCode::IoErrors,
            format!("{count} I/Os failed in the ramp, before measuring began{first}"),
        )
    })
}

/// The first I/O that failed, in words.
fn first(fault: Option<&IoFault>, path: &str) -> String {
    fault.map_or_else(String::new, |fault| {
        let reason = match fault.errno {
            0 => "the file ended".to_owned(),
            errno => io::Error::from_raw_os_error(errno).to_string(),
        };
        let word = iogauge_io::pool::op_word(fault.op);
        format!(", the first a {word} of {path} at byte {}: {reason}", fault.offset_bytes)
    })
}

/// Features that had to be given up.
#[must_use]
pub fn fallbacks(fallbacks: Vec<String>) -> Vec<Caveat> {
    fallbacks.into_iter().map(|message| Caveat::of(CaveatCode::FeatureFallback, message)).collect()
}

/// Workers that could not be ended, told by what they wait for.
#[must_use]
pub fn left_behind(workers: &[String]) -> Option<Caveat> {
    let (first, rest) = workers.split_first()?;
    let more = match rest.len() {
        0 => String::new(),
        1 => ", and another worker waits likewise".to_owned(),
        more => format!(", and {more} more workers wait likewise"),
    };
    Some(Caveat::of(
        CaveatCode::WorkerHeld,
        format!(
            "{first}{more}: the run ended without it, and what it had not handed over is missing"
        ),
    ))
}

/// The run was ended by the user.
#[must_use]
pub fn interrupted() -> Caveat {
    Caveat::of(
        CaveatCode::Interrupted,
        "the run was interrupted: it holds what was measured until then",
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
        assert!(rate(1000.0, 980.0, "").is_none());
        assert!(rate(1000.0, 900.0, "").is_some());
        assert!(backlog(0, 8).is_none());
        assert!(backlog(3, 8).unwrap().message.contains("3 I/Os were due"));
        let busy = CpuUse { user_percent: 40.0, system_percent: 58.0, ..CpuUse::default() };
        assert_eq!(machine(&busy, 1)[0].code, CaveatCode::ClientBound);
        assert!(machine(&busy, 2).is_empty());
        // Who polls for the next arrival has time to spare.
        assert!(machine(&CpuUse { polled_percent: 40.0, ..busy }, 1).is_empty());
        let waiting = CpuUse { wait_percent: 6.0, ..busy };
        let caveats = machine(&waiting, 1);
        assert_eq!(caveats.len(), 1, "said once: {caveats:?}");
        assert!(caveats[0].message.contains("6 % of the time") && !caveats[0].is_doubt());
        assert!(machine(&CpuUse { wait_percent: 40.0, ..busy }, 1)[0].is_doubt());
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
