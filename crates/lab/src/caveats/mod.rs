//! Facts derived from measurements, which become caveats.

mod hosts;
mod search;
pub(crate) mod surroundings;

use crate::measure;
use crate::measure::steadiness::{Unsteady, unsteadiness};
use crate::search::{CLIENT_BOUND_PERCENT, SearchOutcome};
pub use hosts::{TargetOnHost, differences, merged, of_hosts, straggler_of};
use iogauge_io::engine;
use iogauge_io::logs::LogWaits;
use iogauge_io::worker::control::IoFault;
use iogauge_model::caveat::{Fact, FigureFact, MachineFact, NothingWhy, SteadinessFact};
use iogauge_model::limit::Metric;
use iogauge_model::load::{ArrivalProcess, Load, RatedDirection};
use iogauge_model::result::{CpuUse, Physical, SteadyStateResult, StepResult};
use iogauge_model::{Caveat, CaveatCode};
pub use search::{cut_short, drift, of_answer, shifts};
pub(crate) use search::{starvation, starved};
use std::io;

/// Shares of the requested queue depth and rate that a step has to achieve.
const DEPTH_SHARE: f64 = 0.9;
const RATE_SHARE: f64 = 0.97;
/// Percentage of a worker's time spent waiting for a processor that becomes a caveat.
const WAIT_PERCENT: f64 = 5.0;
const STEAL_PERCENT: f64 = 2.0;
/// Ratios of physical to logical bytes: below the first a cache answered; above the second
/// something else moved bytes as well.
const CACHED_BELOW: f64 = 0.9;
const OTHER_ABOVE: f64 = 1.2;
/// Devices move a few bytes on any machine; less than this is not a caveat.
const OTHER_BYTES: u64 = 16 << 20;

/// Returns the facts about one step, whose jobs had these workloads.
#[must_use]
pub fn of_step(result: &StepResult, loads: &[Load], workers: usize) -> Vec<Fact> {
    let mut facts = Vec::new();
    let closed =
        loads.iter().all(|l| l.arrivals.is_none() && !l.is_counted() && l.thinktime.is_none());
    if closed && result.ios() > 0 {
        facts.extend(queue_depth(result.queue_depth, result.queue_depth_achieved));
    }
    // Jobs with their own times do not offer their rates over a common time.
    let together = loads.iter().all(|l| l.own_time.is_none());
    if let Some(requested) = result.rate_iops.filter(|_| together) {
        let by_chance = loads.iter().map(|load| chance(load, requested, result.seconds));
        let achieved = result.ios() as f64 / result.seconds.max(1e-9);
        facts.extend(rate(requested, achieved, by_chance.fold(0.0, f64::max)));
    }
    if let [load] = loads {
        facts.extend(rate_of_direction(result, load));
    }
    // With several hosts, each is judged by itself.
    let workers = if result.hosts.is_empty() { workers } else { 0 };
    facts.extend(machine(&result.cpu, workers));
    let direct = loads.iter().all(engine::is_direct);
    let logical = measure::logical(result.ios(), result.bytes(), &result.hosts);
    facts.extend(physical(result.physical.as_ref(), logical.bytes, direct));
    facts.extend(of_figures(result));
    facts.extend(result.steady_state.as_deref().and_then(not_attained));
    facts
}

fn not_attained(state: &SteadyStateResult) -> Option<Fact> {
    let sought = state.sought.to_string();
    let at_end = state.at_end().map(|value| state.sought.value_word(value));
    (!state.is_attained()).then(|| SteadinessFact::NotAttained { sought, at_end }.into())
}

/// Returns the facts that a step's own figures show, whatever it ran on.
#[must_use]
pub(crate) fn of_figures(result: &StepResult) -> Vec<Fact> {
    let ios = result.ios();
    let wanted = Metric::Percentile(99.0).samples_wanted();
    let few = (ios > 0 && ios < wanted).then_some(FigureFact::FewSamples { ios, wanted });
    let directions = result.read.iter().chain(&result.write);
    let count: u64 = directions.map(|d| d.service_histogram.overflow()).sum();
    let overflow = (count > 0).then_some(FigureFact::Overflow { count });
    let mut facts: Vec<Fact> = few.into_iter().map(Fact::from).collect();
    facts.extend(steadiness(result));
    facts.extend(overflow.map(Fact::from));
    facts
}

/// Returns a fact if the achieved queue depth is below the requested one.
#[must_use]
pub fn queue_depth(requested: u32, achieved: f64) -> Option<Fact> {
    (achieved < f64::from(requested) * DEPTH_SHARE)
        .then(|| FigureFact::QueueDepth { requested, achieved }.into())
}

/// Returns a fact if the achieved rate is below the requested one by more than chance explains.
fn rate(requested: f64, achieved: f64, by_chance: f64) -> Option<Fact> {
    (achieved < requested * RATE_SHARE - by_chance)
        .then(|| FigureFact::Rate { requested, achieved }.into())
}

/// Returns three standard deviations of the rate of a load's arrivals over this time. The variance of a Poisson
/// process's number is its mean.
fn chance(load: &Load, rate_iops: f64, seconds: f64) -> f64 {
    match load.arrivals.map(|arrivals| arrivals.process) {
        Some(ArrivalProcess::Poisson) => 3.0 * (rate_iops / seconds.max(1e-9)).sqrt(),
        Some(ArrivalProcess::Linear) | None => 0.0,
    }
}

/// Returns a fact if a direction with a rate of its own did not reach it.
fn rate_of_direction(result: &StepResult, load: &Load) -> Option<Fact> {
    let arrivals = load.arrivals?;
    let direction = match arrivals.only? {
        RatedDirection::Read => &result.read,
        RatedDirection::Write => &result.write,
    };
    let ios = direction.as_ref().map_or(0, |direction| direction.ios);
    let by_chance = chance(load, arrivals.rate_iops, result.seconds);
    rate(arrivals.rate_iops, ios as f64 / result.seconds.max(1e-9), by_chance)
}

/// Removes duplicates: parts on one device lead to the same caveats.
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

/// Returns one caveat of each kind, for steps that form one result: the first one with the worst
/// impact.
#[must_use]
pub fn one_of_each(found: Vec<Caveat>) -> Vec<Caveat> {
    counted(found).into_iter().map(|(caveat, _)| caveat).collect()
}

/// As [`one_of_each`], for several files or devices: includes the number of the others.
#[must_use]
pub fn of_many(found: Vec<Caveat>) -> Vec<Caveat> {
    let with_number = |(caveat, others): (Caveat, usize)| match others {
        0 => caveat,
        others => {
            let message = format!("{} (and {others} more like it)", caveat.message);
            Caveat { message, ..caveat }
        }
    };
    counted(found).into_iter().map(with_number).collect()
}

/// Returns the first caveat with the worst impact of each kind, with the number of the others.
fn counted(found: Vec<Caveat>) -> Vec<(Caveat, usize)> {
    let mut caveats: Vec<(Caveat, usize)> = Vec::new();
    for caveat in found {
        match caveats.iter_mut().find(|(known, _)| known.code == caveat.code) {
            None => caveats.push((caveat, 0)),
            Some((known, others)) => {
                *others += 1;
                if known.impact < caveat.impact {
                    *known = caveat;
                }
            }
        }
    }
    caveats
}

/// Returns the facts about how the machine affected the measurement.
#[must_use]
pub fn machine(cpu: &CpuUse, workers: usize) -> Vec<Fact> {
    let mut facts = Vec::new();
    let CpuUse { wait_percent, .. } = *cpu;
    let machine_percent = cpu.machine_percent.unwrap_or_default();
    let percent = cpu.busy_percent();
    if wait_percent >= WAIT_PERCENT {
        facts.push(MachineFact::ProcessorsBusy { wait_percent, machine_percent }.into());
    } else if workers > 0 && percent >= CLIENT_BOUND_PERCENT * workers as f64 {
        facts.push(MachineFact::ProcessorUsedUp { percent, workers }.into());
    }
    facts.extend(steal(cpu));
    facts
}

/// Returns a fact if other machines took processor time.
pub(crate) fn steal(cpu: &CpuUse) -> Option<Fact> {
    let percent = cpu.steal_percent;
    (percent > STEAL_PERCENT).then(|| MachineFact::Stolen { percent }.into())
}

/// Returns a fact if the physical bytes do not match the logical ones.
#[must_use]
pub fn physical(physical: Option<&Physical>, requested_bytes: u64, direct: bool) -> Option<Fact> {
    let physical = physical?;
    let ratio = physical.ratio_to_logical?;
    let moved_bytes = physical.read_bytes + physical.write_bytes;
    let less = ratio < CACHED_BELOW && requested_bytes > OTHER_BYTES;
    let more = ratio > OTHER_ABOVE && moved_bytes.saturating_sub(requested_bytes) > OTHER_BYTES;
    (less || more).then(|| FigureFact::Moved { moved_bytes, requested_bytes, direct }.into())
}

/// Returns a fact if nothing completed in a step and no I/O failed in it. `why` is the reason, if
/// known.
#[must_use]
pub fn nothing_in(result: &StepResult, why: Option<NothingWhy>) -> Option<Fact> {
    let StepResult { seconds, queue_depth_achieved: outstanding, .. } = *result;
    result.is_empty().then(|| FigureFact::Nothing { seconds, outstanding, why }.into())
}

/// Removes the caveat that nothing was measured if the user ended the run.
pub(crate) fn without_nothing(caveats: &mut Vec<Caveat>, interrupted: bool) {
    caveats.retain(|caveat| !interrupted || caveat.code != CaveatCode::NothingCompleted);
}

/// Returns a fact if no I/O completed at the answer of a search and none failed during the search.
#[must_use]
pub(crate) fn nothing_found(found: &SearchOutcome) -> Option<Fact> {
    let failed = found.errors > 0;
    let (answer, curve) = (&found.search.answer, &found.search.curve);
    (answer.is_empty() && !failed).then(|| {
        let point = curve
            .iter()
            .find(|p| p.queue_depth == answer.queue_depth && p.rate_iops == answer.rate_iops);
        let seconds = match found.logical.0 {
            0 => found.search.measured_seconds,
            _ => point.map_or(0.0, |point| point.seconds),
        };
        FigureFact::Nothing { seconds, outstanding: answer.queue_depth_achieved, why: None }.into()
    })
}

/// Returns a fact if the IOPS drifted or shifted.
fn steadiness(result: &StepResult) -> Option<Fact> {
    if !result.shifts.is_empty() {
        let shifts = result.shifts.iter().map(search::shift).collect();
        return Some(SteadinessFact::Shifts(shifts).into());
    }
    let Unsteady::Drift { rise_relative } = unsteadiness(&result.series)? else { return None };
    Some(SteadinessFact::Drift { rise: rise_relative }.into())
}

/// Returns a fact about I/Os that failed, in the ramp or during the measurement.
#[must_use]
pub fn errors(count: u64, fault: Option<&IoFault>, path: &str, in_ramp: bool) -> Option<Fact> {
    (count > 0).then(|| {
        let first = fault.map(|fault| {
            let reason = match fault.errno {
                0 => "the file ended".to_owned(),
                errno => io::Error::from_raw_os_error(errno).to_string(),
            };
            let word = iogauge_io::pool::op_word(fault.op);
            format!("a {word} of {path} at byte {}: {reason}", fault.offset_bytes)
        });
        FigureFact::Errors { count, first, in_ramp }.into()
    })
}

/// Returns a fact for each feature that engines had to do without.
pub fn fallbacks(fallbacks: Vec<String>) -> impl Iterator<Item = Fact> {
    fallbacks.into_iter().map(|what| MachineFact::FeatureLost { what }.into())
}

/// Returns a fact about workers that do not end, each described in words.
#[must_use]
pub fn left_behind(workers: &[String]) -> Option<Fact> {
    let held = || MachineFact::WorkersHeld { workers: workers.to_vec() }.into();
    (!workers.is_empty()).then(held)
}

/// Returns the fact that workers waited for their logs during a step.
#[must_use]
pub fn slow_logs(waits: &LogWaits, result: &StepResult, workers: usize) -> Option<Fact> {
    let all_ns = result.seconds * 1e9 * workers.max(1) as f64;
    let slow = || MachineFact::SlowLogs {
        times: waits.times,
        percent: (waits.ns as f64 * 100.0 / all_ns.max(1.0)).min(100.0),
    };
    (waits.times > 0).then(|| slow().into())
}

/// Returns the fact that the user ended the run.
#[must_use]
pub fn interrupted() -> Fact {
    FigureFact::Interrupted { reason: None }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::Impact;
    use iogauge_model::caveat::Command;
    use iogauge_model::load::Arrivals;

    fn caveat(fact: &Fact) -> Caveat {
        fact.caveat(Command::Run)
    }

    #[test]
    fn page_cache_and_other_load_caveats_are_distinguished() {
        let seen = |read_bytes: u64, logical: u64| {
            let physical = Physical {
                read_bytes,
                ratio_to_logical: Some(read_bytes as f64 / logical as f64),
                ..Physical::default()
            };
            super::physical(Some(&physical), logical, true).map(|fact| caveat(&fact).code)
        };
        assert_eq!(seen(100 << 20, 1 << 30), Some(CaveatCode::PageCache));
        assert_eq!(seen(2 << 30, 1 << 30), Some(CaveatCode::OtherLoad));
        assert_eq!(seen(1 << 30, 1 << 30), None);
        assert_eq!(seen(4 << 20, 1 << 20), None, "small change");
    }

    #[test]
    fn queue_depth_rate_cpu_and_steal_produce_caveats() {
        assert!(queue_depth(32, 31.0).is_none());
        assert!(queue_depth(32, 16.0).is_some());
        assert!(rate(1000.0, 980.0, 0.0).is_none());
        assert!(rate(1000.0, 900.0, 0.0).is_some());
        let arrivals = |process| Arrivals { rate_iops: 200.0, process, only: None };
        let load = |process| Load { arrivals: Some(arrivals(process)), ..Load::default() };
        // 600 arrivals vary by 24.5, so their rate over 3 s by 8.2.
        let by_chance = chance(&load(ArrivalProcess::Poisson), 200.0, 3.0);
        assert!((by_chance - 24.5).abs() < 0.1, "{by_chance}");
        assert_eq!(chance(&load(ArrivalProcess::Linear), 200.0, 3.0), 0.0);
        assert!(rate(200.0, 172.0, by_chance).is_none());
        assert!(rate(200.0, 165.0, by_chance).is_some());
        let machine = |cpu: &CpuUse, workers| -> Vec<Caveat> {
            super::machine(cpu, workers).iter().map(caveat).collect()
        };
        let busy = CpuUse { user_percent: 40.0, system_percent: 58.0, ..CpuUse::default() };
        assert_eq!(machine(&busy, 1)[0].code, CaveatCode::ClientBound);
        assert!(machine(&busy, 2).is_empty());
        // A worker that polls for the next arrival has time to spare.
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
    fn error_caveat_names_the_first_failed_io() {
        let fault = IoFault {
            op: iogauge_io::engine::Op::Write,
            host: 0,
            part: 0,
            offset_bytes: 8192,
            errno: 28,
        };
        let caveat = caveat(&errors(3, Some(&fault), "/data/f", false).unwrap());
        assert!(caveat.message.contains("a write of /data/f at byte 8192"), "{}", caveat.message);
        assert!(errors(0, Some(&fault), "/data/f", false).is_none());
    }

    #[test]
    fn caveats_of_many_files_are_merged_by_kind() {
        let cache = |path: &str| Caveat::of(CaveatCode::SmallerThanCache, format!("{path}: small"));
        let found = vec![
            cache("a").with_impact(Impact::Note),
            Caveat::new(CaveatCode::ZeroBlocks, "a: zeros", "write it"),
            cache("b").with_impact(Impact::Doubt),
            cache("c").with_impact(Impact::Note),
        ];
        let told = of_many(found);
        assert_eq!(told.len(), 2);
        assert_eq!(told[0].message, "b: small (and 2 more like it)");
        assert_eq!(told[0].impact, Impact::Doubt);
        assert_eq!((told[1].message.as_str(), told[1].hint.as_str()), ("a: zeros", "write it"));
    }
}
