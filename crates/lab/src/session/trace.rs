//! Traces the block layer during a load.

use crate::error::LabError;
use crate::observe::Decision;
use crate::observe::{Interrupt, Observer, Setting, Status};
use crate::session::rig::Rig;
use iogauge_io::engine::Op;
use iogauge_io::trace::{TraceError, Tracer};
use iogauge_io::worker::accounting::{Tally, Window};
use iogauge_model::caveat::{Fact, ToolFact, TraceDiffers};
use iogauge_model::result::{
    Answer, BlockTrace, CurvePoint, IoTime, StepPlace, StepResult, SuiteStepResult, SystemPoint,
    TracedRequests,
};
use std::time::Duration;

/// Requests correspond to I/Os one to one if their numbers differ by at most this share, plus the
/// I/Os in flight at the start and at the end of the window.
const ALIKE_SHARE: f64 = 0.02;
/// The device cannot take longer for an I/O than the I/O itself takes, except for the difference
/// between two clocks.
const LONGER_SHARE: f64 = 0.02;
/// Share of requests with an unknown begin that becomes a caveat.
const UNMATCHED_SHARE: f64 = 0.01;

/// A window's trace, with its setting and facts.
#[derive(Debug)]
struct Traced {
    place: Setting,
    trace: BlockTrace,
    facts: Vec<ToolFact>,
}

/// A tracer and its windows, or the reason why there is none.
#[derive(Debug)]
pub struct Tracing {
    tracer: Option<Tracer>,
    fault: Option<TraceError>,
    /// The last window of each setting.
    windows: Vec<Traced>,
}

impl Tracing {
    /// Starts tracing the devices under a target, which takes about a second.
    ///
    /// # Errors
    /// Tracing is not possible, or the kernel's device tree cannot be read.
    pub fn start(rig: &Rig, interrupt: &Interrupt) -> Result<Self, LabError> {
        let mut tracing = Self::if_possible(rig, interrupt)?;
        match tracing.fault.take() {
            // An interrupt may have ended the start.
            Some(fault) if !interrupt.is_set() => Err(LabError::NotTraced { fault }),
            fault => Ok(Self { fault, ..tracing }),
        }
    }

    /// Starts tracing as [`Tracing::start`] does. If tracing is not possible, the reason becomes a caveat of the
    /// measurement.
    ///
    /// # Errors
    /// The kernel's device tree cannot be read.
    pub fn if_possible(rig: &Rig, interrupt: &Interrupt) -> Result<Self, LabError> {
        let (tracer, fault) = match Tracer::start(&rig.devices()?, &|| interrupt.is_set()) {
            Ok(tracer) => (Some(tracer), None),
            Err(fault) => (None, Some(fault)),
        };
        Ok(Self { tracer, fault, windows: Vec::new() })
    }

    fn begin(&mut self) {
        let Some(tracer) = &mut self.tracer else { return };
        if let Err(fault) = tracer.begin() {
            self.give_up(fault);
        }
    }

    fn end(&mut self, window: &Window, place: Setting) {
        let Some(tracer) = &mut self.tracer else { return };
        match tracer.end() {
            Ok(mut trace) => {
                let asked = [Op::Read, Op::Write, Op::Sync].map(|op| Asked::of(window.tally(op)));
                let facts = compare(&mut trace, asked, window.queue_depth());
                self.windows.retain(|traced| traced.place != place);
                self.windows.push(Traced { place, trace, facts });
            }
            Err(fault) => self.give_up(fault),
        }
    }

    fn give_up(&mut self, fault: TraceError) {
        self.tracer = None;
        self.fault = Some(fault);
    }

    /// Puts the trace of the step that was just measured into its result, and returns the facts
    /// about it.
    pub fn of_step(&mut self, step: &mut StepResult) -> Vec<Fact> {
        let last = self.windows.pop();
        self.windows.clear();
        let (trace, facts) = self.traced(last);
        step.trace = trace;
        facts
    }

    /// Returns the trace of the last window at the setting of an answer, and the facts about it.
    pub fn of_answer(&mut self, answer: &Answer) -> (Option<Box<BlockTrace>>, Vec<Fact>) {
        let place = Setting { queue_depth: answer.queue_depth, rate_iops: answer.rate_iops };
        let at = self.windows.iter().position(|traced| traced.place == place);
        let traced = at.map(|at| self.windows.swap_remove(at));
        self.traced(traced)
    }

    fn traced(&mut self, traced: Option<Traced>) -> (Option<Box<BlockTrace>>, Vec<Fact>) {
        let fault = self.fault.take();
        let lack =
            fault.map(|fault| ToolFact::NotTraced { why: fault.to_string(), lack: fault.lack() });
        let mut facts: Vec<ToolFact> = lack.into_iter().collect();
        let trace = traced.map(|traced| {
            facts.push(ToolFact::Traced);
            facts.extend(traced.facts);
            Box::new(traced.trace)
        });
        (trace, facts.into_iter().map(Fact::from).collect())
    }
}

/// The I/Os of a workload in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    ios: u64,
    bytes: u64,
    mean_ns: f64,
}

impl Asked {
    fn of(tally: &Tally) -> Self {
        Self { ios: tally.ios(), bytes: tally.bytes, mean_ns: tally.service.mean_ns() }
    }

    /// Returns the mean time of an I/O and the device's mean share of it, given the device's total
    /// time.
    fn beside(self, device_time_ns: f64) -> IoTime {
        let device_ns = device_time_ns / self.ios.max(1) as f64;
        IoTime { ios: self.ios, mean_ns: self.mean_ns, device_ns }
    }
}

/// By how many I/Os two counts of one window may differ.
#[derive(Debug, Clone, Copy)]
struct Slack {
    ios: f64,
}

impl Slack {
    /// Returns true if two counts, with `each` units per I/O, agree within the slack.
    fn are_alike(self, asked: f64, seen: f64, each: f64) -> bool {
        (asked - seen).abs() <= asked * ALIKE_SHARE + self.ios * each
    }
}

/// Sets the device's share of the I/O time in each direction whose requests correspond to I/Os one
/// to one; returns the differences of the others. The workload's reads, writes and syncs are given,
/// and its queue depth.
fn compare(
    trace: &mut BlockTrace,
    [read, write, sync]: [Asked; 3],
    queue_depth: f64,
) -> Vec<ToolFact> {
    let slack = Slack { ios: queue_depth.ceil() + 1.0 };
    let flush_ns = trace.flush.as_ref().map_or(0.0, TracedRequests::device_time_ns);
    // Flushes without explicit syncs belong to the durable writes.
    let of_writes_ns = if sync.ios == 0 { flush_ns } else { 0.0 };
    // The few writes of a journal are no caveat for a read-only workload.
    let beside_bytes = (read.bytes + write.bytes) as f64 * ALIKE_SHARE;
    let mut facts = Vec::new();
    for (direction, asked, requests, more_ns) in
        [("read", read, &mut trace.read, 0.0), ("write", write, &mut trace.write, of_writes_ns)]
    {
        let differs = differs(asked, requests.as_ref(), slack, beside_bytes);
        let differs = match requests {
            Some(requests) if differs.is_none() => give_share(asked, requests, more_ns),
            _ => differs,
        };
        facts.extend(differs.map(|differs| ToolFact::TraceDiffers { direction, differs }));
    }
    if let Some(flush) = &mut trace.flush
        && sync.ios > 0
        && slack.are_alike(sync.ios as f64, flush.requests as f64, 1.0)
    {
        flush.io = Some(sync.beside(flush_ns));
    }
    let parts = [&trace.read, &trace.write, &trace.flush];
    let requests: u64 = parts.into_iter().flatten().map(|part| part.requests).sum();
    if trace.unmatched as f64 > requests as f64 * UNMATCHED_SHARE + slack.ios {
        facts.push(ToolFact::Unmatched { unmatched: trace.unmatched, requests });
    }
    facts
}

/// Returns how the requests of a direction differ from its I/Os.
fn differs(
    asked: Asked,
    requests: Option<&TracedRequests>,
    slack: Slack,
    beside_bytes: f64,
) -> Option<TraceDiffers> {
    let (ios, bytes) = (asked.ios as f64, asked.bytes as f64);
    let seen = requests.map_or((0.0, 0.0), |r| (r.requests as f64, r.bytes as f64));
    let each = bytes / ios.max(1.0);
    let others = seen.1 > bytes + beside_bytes + slack.ios * each;
    if others || (ios > 0.0 && !slack.are_alike(bytes, seen.1, each)) {
        let (moved_bytes, requested_bytes) = (seen.1 as u64, asked.bytes);
        return Some(TraceDiffers::Bytes { moved_bytes, requested_bytes, others });
    }
    let is_one_to_one = ios == 0.0 || slack.are_alike(ios, seen.0, 1.0);
    (!is_one_to_one).then(|| TraceDiffers::PerIo(seen.0.max(1.0) / ios))
}

/// Sets the device's share, including `more_ns` of other requests, or returns why there is none.
fn give_share(asked: Asked, requests: &mut TracedRequests, more_ns: f64) -> Option<TraceDiffers> {
    if asked.ios == 0 {
        return None;
    }
    let io = asked.beside(requests.device_time_ns() + more_ns);
    if io.device_ns > io.mean_ns * (1.0 + LONGER_SHARE) {
        return Some(TraceDiffers::Longer);
    }
    requests.io = Some(io);
    None
}

/// An observer that also traces windows, if there is a tracer.
pub struct Beside<'a> {
    observer: &'a mut dyn Observer,
    tracing: Option<&'a mut Tracing>,
}

impl std::fmt::Debug for Beside<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Beside").field("tracing", &self.tracing).finish_non_exhaustive()
    }
}

impl<'a> Beside<'a> {
    /// Combines an observer and a tracer.
    pub fn new(observer: &'a mut dyn Observer, tracing: Option<&'a mut Tracing>) -> Self {
        Self { observer, tracing }
    }
}

impl Observer for Beside<'_> {
    fn status(&mut self, status: &Status<'_>) {
        self.observer.status(status);
    }

    fn window_begins(&mut self) {
        if let Some(tracing) = &mut self.tracing {
            tracing.begin();
        }
    }

    fn window_ends(&mut self, window: &Window, place: Setting) {
        if let Some(tracing) = &mut self.tracing {
            tracing.end(window, place);
        }
    }

    fn decision(&mut self, decision: &Decision) {
        self.observer.decision(decision);
    }

    fn point(&mut self, point: &CurvePoint) {
        self.observer.point(point);
    }

    fn step(&mut self, step: &StepResult) {
        self.observer.step(step);
    }

    fn so_far(&mut self, make: &mut dyn FnMut() -> StepResult) {
        self.observer.so_far(make);
    }

    fn system(&mut self, point: &SystemPoint, left: Option<Duration>) {
        self.observer.system(point, left);
    }

    fn suite_step_begins(&mut self, index: usize, of: usize, place: &StepPlace, after_ns: u64) {
        self.observer.suite_step_begins(index, of, place, after_ns);
    }

    fn suite_step(&mut self, step: &SuiteStepResult) {
        self.observer.suite_step(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::Histogram;
    use iogauge_model::caveat::Command;
    use iogauge_model::result::RequestSize;

    /// Requests of one size, each of 100 µs.
    fn requests(requests: u64, bytes: u64) -> TracedRequests {
        let mut times = Histogram::new();
        times.record_n(100_000, requests);
        TracedRequests::new(vec![RequestSize { bytes, requests }], times)
    }

    fn messages(facts: Vec<ToolFact>) -> Vec<String> {
        let caveats = Command::Run.caveats(facts.into_iter().map(Fact::from));
        caveats.into_iter().map(|caveat| caveat.message).collect()
    }

    fn reads(seen: Option<TracedRequests>, ios: u64, bytes: u64) -> (BlockTrace, Vec<String>) {
        let mut trace = BlockTrace { read: seen, ..BlockTrace::default() };
        let asked = Asked { ios, bytes: ios * bytes, mean_ns: 120_000.0 };
        let facts = compare(&mut trace, [asked, Asked::default(), Asked::default()], 4.0);
        (trace, messages(facts))
    }

    #[test]
    fn device_share_is_computed_if_requests_match_ios() {
        for seen in [995, 1000, 1005] {
            let (trace, told) = reads(Some(requests(seen, 4096)), 1000, 4096);
            let io = trace.read.unwrap().io.unwrap();
            assert!(
                (io.device_ns - 100.0 * seen as f64).abs() < 1.0 && told.is_empty(),
                "{told:?}"
            );
            assert_eq!((io.ios, io.mean_ns), (1000, 120_000.0));
        }
    }

    #[test]
    fn mismatched_requests_are_reported_with_the_reason() {
        let cases = [
            (Some(requests(2000, 4096)), 1000, 4096, "where the load requested"),
            (Some(requests(10, 4096)), 1000, 4096, "a cache before the block layer took the rest"),
            (None, 1000, 4096, "moved 0 B of the"),
            (Some(requests(4000, 4096)), 1000, 16_384, "each read became 4.0 requests"),
            (Some(requests(250, 16_384)), 1000, 4096, "4.0 reads became one request"),
        ];
        for (seen, ios, bytes, wanted) in cases {
            let (trace, told) = reads(seen, ios, bytes);
            assert!(told.len() == 1 && told[0].contains(wanted), "{wanted}: {told:?}");
            assert!(trace.read.is_none_or(|read| read.io.is_none()), "{wanted}");
        }
    }

    #[test]
    fn no_caveat_without_requested_or_traced_ios() {
        let (_, told) = reads(None, 0, 0);
        assert!(told.is_empty(), "{told:?}");
    }

    #[test]
    fn few_journal_writes_are_ignored_but_other_load_is_reported() {
        let asked = Asked { ios: 1000, bytes: 4_096_000, mean_ns: 120_000.0 };
        let with_writes = |writes| {
            let (read, write) = (Some(requests(1000, 4096)), Some(requests(writes, 4096)));
            let mut trace = BlockTrace { read, write, ..BlockTrace::default() };
            messages(compare(&mut trace, [asked, Asked::default(), Asked::default()], 4.0))
        };
        assert!(with_writes(10).is_empty());
        assert!(with_writes(500)[0].starts_with("write requests moved"));
    }

    #[test]
    fn flushes_are_attributed_to_durable_writes_or_syncs() {
        let writes = Asked { ios: 1000, bytes: 4_096_000, mean_ns: 250_000.0 };
        let trace = |syncs| {
            let (write, flush) = (Some(requests(1000, 4096)), Some(requests(1000, 0)));
            let mut trace = BlockTrace { write, flush, ..BlockTrace::default() };
            let sync = Asked { ios: syncs, bytes: 0, mean_ns: 150_000.0 };
            let told = compare(&mut trace, [Asked::default(), writes, sync], 1.0);
            (trace, told)
        };
        let share = |requests: &Option<TracedRequests>| {
            requests.as_ref().unwrap().io.map(|io| io.device_ns)
        };
        let (durable, told) = trace(0);
        assert_eq!((share(&durable.write), share(&durable.flush)), (Some(200_000.0), None));
        assert!(told.is_empty(), "{told:?}");
        let (synced, _) = trace(1000);
        assert_eq!(
            (share(&synced.write), share(&synced.flush)),
            (Some(100_000.0), Some(100_000.0))
        );
        // One flush for ten syncs matches no single sync.
        assert_eq!(share(&trace(10_000).0.flush), None);
    }

    #[test]
    fn impossible_times_and_missed_starts_are_reported() {
        let asked = Asked { ios: 1000, bytes: 4_096_000, mean_ns: 90_000.0 };
        let read = Some(requests(1000, 4096));
        let mut trace = BlockTrace { read, unmatched: 50, ..BlockTrace::default() };
        let facts = compare(&mut trace, [asked, Asked::default(), Asked::default()], 4.0);
        let told = messages(facts);
        assert!(told[0].contains("for longer than the reads took"), "{told:?}");
        assert!(told[1].contains("the start of 50 requests is not known"), "{told:?}");
        assert_eq!(trace.read.unwrap().io, None);
    }
}
