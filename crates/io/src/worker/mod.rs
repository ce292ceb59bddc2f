//! The loop that issues I/O and accounts for it.
//!
//! It is generic over the engine and contains no allocation, lock or `dyn`. Pattern, pacing and stop condition are
//! data. Each turn submits the queued I/Os and waits, both in one system call; takes the completions; and queues the
//! next I/Os.

pub mod accounting;
mod assignment;
mod batching;
mod chooser;
pub mod control;
mod passes;
mod pauses;
mod quota;
mod recording;
pub(crate) mod schedule;
pub mod transactions;
mod verified;
mod waiting;

use crate::buffers::BufferPool;
use crate::engine::{Engine, EngineError, Io, Op};
use crate::logs::Recorder;
use crate::offsets::mix64;
use crate::verify::verifier::Verifier;
use accounting::Bank;
pub use assignment::{Assignment, WorkerError, directions};
use batching::Batching;
use chooser::Chooser;
use control::{Control, IoFault};
pub use passes::Passes;
use pauses::Pauses;
pub use quota::Quota;
use schedule::Pacer;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Maximum number of outstanding I/Os of one worker: as many completions as io_uring keeps room for.
pub(crate) const MAX_DEPTH_PER_WORKER: u32 = 65_536;
/// A worker gives up after this many failures in a row, because there is nothing left to measure.
const FAILURES_TO_GIVE_UP: u32 = 1000;

/// State of the worker after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// There is more to do.
    Going,
    /// Nothing to do until the settings change.
    Resting,
    /// The worker has ended.
    Finished,
}

/// The I/O of one slot.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start_ns: u64,
    intended_ns: u64,
    offset_bytes: u64,
    len: u32,
    /// Bytes moved so far, if the I/O was short and is continued.
    done: u32,
    part: u32,
    op: Op,
    /// Number of the change of settings after which the I/O was issued.
    change: u32,
}

const EMPTY: Slot = Slot {
    start_ns: 0,
    intended_ns: 0,
    offset_bytes: 0,
    len: 0,
    done: 0,
    part: 0,
    op: Op::Read,
    change: 0,
};

/// A worker: an engine, buffers and state.
#[derive(Debug)]
pub struct Worker<E: Engine> {
    engine: E,
    state: WorkerState,
}

/// All of a worker except its engine.
#[derive(Debug)]
struct WorkerState {
    control: Arc<Control>,
    /// Number of the last change applied.
    change: u32,
    /// The bank that the worker writes.
    bank: usize,
    slots: Box<[Slot]>,
    free: Vec<u32>,
    /// Slots whose next I/O is already decided: write-backs and rests of short I/Os.
    again: Vec<u32>,
    /// Slots queued in this turn, which get one time stamp together.
    fresh: Vec<u32>,
    pool: BufferPool,
    chooser: Chooser,
    pacer: Option<Pacer>,
    pauses: Option<Pauses>,
    /// Parts that remain to be synced after all other I/O.
    closing_syncs: u32,
    /// True if the last turn queued I/Os, which must be submitted before the worker waits.
    queued: bool,
    /// True if this turn polls for the next arrival.
    polls: bool,
    polled_ns: u64,
    quota: Option<Arc<Quota>>,
    passes: Option<Arc<Passes>>,
    dependent: bool,
    verify: Option<Box<Verifier>>,
    recorder: Option<Box<Recorder>>,
    /// True if completions have a follow-up: a record, a write-back or a check.
    has_sequel: bool,
    batch: Batching,
    queue_depth: u32,
    stopping: bool,
    outstanding: u32,
    /// Outstanding I/Os that were issued before the last change.
    undrained: u32,
    clock_ns: u64,
    failures: u32,
    ios: u64,
    bytes: u64,
    latency_ns: u64,
}

impl<E: Engine> Worker<E> {
    /// Creates an idle worker. It starts with the first change of settings.
    #[must_use]
    pub fn new(engine: E, pool: BufferPool, assignment: Assignment) -> Self {
        let Assignment {
            load,
            offsets,
            number,
            quota,
            passes,
            schedule,
            max_depth,
            control,
            verify,
            recorder,
        } = assignment;
        let seed = mix64(load.seed ^ mix64(u64::from(number) << 32 | 1));
        let clock_ns = engine.now_ns();
        // SAFETY: the worker's own bank; nothing else refers to it before the worker exists.
        unsafe { control.writing(0) }.begin(clock_ns);
        let verify = verify.map(|job| Box::new(Verifier::new(job, number, max_depth)));
        let closing_syncs = if load.end_fsync && load.writes() { offsets.parts() } else { 0 };
        let adapts = E::SLEEPS_BETWEEN_IOS && max_depth > 1;
        let state = WorkerState {
            control,
            change: 0,
            bank: 0,
            slots: vec![EMPTY; max_depth as usize].into_boxed_slice(),
            // The lowest slots on top, so that few outstanding I/Os use few buffers.
            free: (0..max_depth).rev().collect(),
            again: Vec::with_capacity(max_depth as usize),
            fresh: Vec::with_capacity(max_depth as usize),
            pool,
            chooser: Chooser::new(&load, offsets, seed),
            batch: Batching::new(load.batch, adapts, clock_ns),
            pacer: schedule
                .map(|schedule| Pacer::new(schedule, load.arrivals.and_then(|a| a.only))),
            pauses: Pauses::of(&load),
            closing_syncs,
            queued: false,
            polls: false,
            polled_ns: 0,
            quota,
            passes,
            dependent: load.dependent,
            has_sequel: load.dependent || verify.is_some() || recorder.is_some(),
            verify,
            recorder: recorder.map(Box::new),
            queue_depth: 0,
            stopping: false,
            outstanding: 0,
            undrained: 0,
            clock_ns,
            failures: 0,
            ios: 0,
            bytes: 0,
            latency_ns: 0,
        };
        Self { engine, state }
    }

    /// Returns when the worker has something to do without a completion: at its next arrival, if it has room for one,
    /// at the end of a pause, or when it starts to count or ends. For virtual time.
    #[must_use]
    pub fn due_ns(&self) -> Option<u64> {
        let state = &self.state;
        let due_ns = state.open_pacer().and_then(Pacer::due_ns).or_else(|| state.paused_until_ns());
        let turns_ns = state.pauses.as_ref().and_then(Pauses::turns_ns);
        let turns_ns = turns_ns.filter(|_| !state.begins_no_more());
        due_ns.into_iter().chain(turns_ns).min()
    }

    /// Returns the number of completions that are worth a turn, at least 1. For virtual time.
    #[must_use]
    pub fn waits_for(&self) -> u32 {
        self.state.completions_wanted().max(1)
    }

    /// Returns true if another turn would submit more even if nothing happens before it. For virtual time.
    #[must_use]
    pub fn has_more_to_submit(&self) -> bool {
        let state = &self.state;
        let closed = state.pacer.as_ref().is_none_or(Pacer::is_closed_loop);
        let more = closed && state.failures < FAILURES_TO_GIVE_UP && state.has_more_to_submit();
        more || !state.again.is_empty()
    }

    /// Performs one turn: submits and waits, takes completions, applies settings, queues I/Os.
    ///
    /// # Errors
    /// If the engine fails. Earlier measurements are kept.
    #[inline(always)]
    pub fn turn(&mut self) -> Result<Turn, EngineError> {
        let (wait, timeout_ns) = self.state.patience();
        self.engine.enter(wait, timeout_ns)?;
        let now_ns = self.engine.now_ns();
        let elapsed_ns = self.state.integrate(now_ns);
        let state = &mut self.state;
        let outstanding = state.outstanding;
        let most = if state.batch.complete_max == 0 { u32::MAX } else { state.batch.complete_max };
        self.engine.reap(most, |slot, result| state.complete(slot, result, now_ns));
        if state.polls && state.outstanding == outstanding {
            state.note_poll(elapsed_ns);
        }
        if state.control.change_requested() != state.change {
            self.apply(now_ns);
        }
        if self.state.batch.is_due(now_ns) {
            let closed = self.state.pacer.as_ref().is_none_or(Pacer::is_closed_loop);
            self.state.batch.review(now_ns, closed);
        }
        self.fill(now_ns);
        Ok(self.state.state())
    }

    /// Applies new settings and hands the current window over to the controller.
    #[cold]
    fn apply(&mut self, now_ns: u64) {
        let state = &mut self.state;
        let first = state.change == 0;
        state.change = state.control.change_requested();
        state.stopping = state.control.stop_requested();
        let queue_depth = state.control.queue_depth();
        state.queue_depth =
            if state.stopping { 0 } else { queue_depth.min(state.slots.len() as u32) };
        if let Some(pacer) = &mut state.pacer {
            pacer.review(state.queue_depth);
        }
        state.undrained = state.begun();
        if first {
            // The time spent waiting for the other workers is not part of a window.
            state.bank().begin(now_ns);
            if let Some(pauses) = &mut state.pauses {
                pauses.begin(now_ns);
            }
        } else {
            state.hand_over(now_ns);
        }
        state.review_recording(now_ns);
        state.publish();
        state.control.acknowledge(state.change);
        let queue_depth = state.queue_depth;
        self.engine.grow(queue_depth);
        self.state.control.report_fallbacks(self.engine.fallbacks());
    }

    /// Queues as many I/Os as the settings allow. Reads the clock once for all of them, just before they are submitted.
    #[inline(always)]
    fn fill(&mut self, now_ns: u64) {
        let state = &mut self.state;
        let begun = state.outstanding + state.again.len() as u32;
        let room = state.queue_depth.saturating_sub(begun);
        let room = if state.batch.submit == 0 { room } else { room.min(state.batch.submit) };
        let room = if state.pauses.is_some() { state.room_in_pauses(room, now_ns) } else { room };
        // I/Os already begun are completed even when stopping.
        let mut queued = 0;
        while let Some(slot) = state.again.pop() {
            let io = state.io(slot);
            self.engine.queue(io);
            state.fresh.push(slot);
        }
        while queued < room {
            if state.check_is_due() {
                let Some(slot) = state.next_check(now_ns) else { break };
                let io = state.io(slot);
                self.engine.queue(io);
                state.fresh.push(slot);
                queued += 1;
                continue;
            }
            let (mut intended_ns, mut direction) = (now_ns, None);
            // A sync belongs to the writes before it: it takes no arrival and no I/O of the quota.
            if !state.chooser.sync_is_due() {
                if let Some(pacer) = &mut state.pacer {
                    let Some(due) = pacer.take(now_ns) else { break };
                    (intended_ns, direction) = due;
                }
                if !state.take_quota() {
                    break;
                }
            }
            let Some(slot) = state.next(intended_ns, direction) else { break };
            let io = state.io(slot);
            self.engine.queue(io);
            state.fresh.push(slot);
            queued += 1;
        }
        if begun + queued >= state.queue_depth {
            state.note_backlog(now_ns);
        }
        state.queued = !state.fresh.is_empty();
        if state.queued {
            let start_ns = self.engine.now_ns();
            self.state.stamp(start_ns);
        }
        self.state.publish();
    }

    /// Marks the worker as ended, so that the controller can take its last window.
    pub fn finish(&mut self) {
        let now_ns = self.engine.now_ns();
        let state = &mut self.state;
        state.end_window(now_ns);
        state.end_recording(now_ns);
        state.publish();
        state.control.finish(state.bank);
    }
}

impl<E: Engine> Drop for Worker<E> {
    fn drop(&mut self) {
        // Only after an engine failure or a panic: nobody is left to wait for the outstanding I/Os.
        if E::IO_OUTLIVES_ENGINE && self.state.outstanding > 0 {
            self.state.pool.leak();
        }
    }
}

impl WorkerState {
    #[expect(
        clippy::mut_from_ref,
        reason = "the bank is the worker's own, behind the shared control"
    )]
    #[inline(always)]
    fn bank(&self) -> &mut Bank {
        // SAFETY: this worker owns the bank `self.bank`; the reference ends with the statement that uses it.
        unsafe { self.control.writing(self.bank) }
    }

    /// Ends the window and starts the next one in the other bank. If the controller has not taken the last window yet,
    /// this one continues.
    fn hand_over(&mut self, now_ns: u64) {
        if !self.control.may_hand_over() {
            return;
        }
        self.end_window(now_ns);
        let full = self.bank;
        self.bank = 1 - full;
        // The worker also owns the other bank, because the controller has emptied it.
        self.bank().begin(now_ns);
        self.control.hand_over(full);
    }

    /// Ends the current window. Discards its content if the worker does not count I/Os yet.
    fn end_window(&mut self, now_ns: u64) {
        if self.pauses.as_ref().is_some_and(Pauses::is_uncounted) {
            self.bank().discard(now_ns);
        } else {
            self.bank().end(now_ns);
        }
    }

    /// Returns how much of the room a load with pauses may use now.
    #[cold]
    fn room_in_pauses(&mut self, room: u32, now_ns: u64) -> u32 {
        let begun = self.outstanding + self.again.len() as u32;
        let Some(pauses) = &mut self.pauses else { return room };
        let counts = pauses.review(begun, self.ios, now_ns);
        let room = room.min(pauses.room(begun, self.ios));
        if counts {
            self.bank().discard(now_ns);
            self.review_recording(now_ns);
        }
        room
    }

    /// Returns the number of I/Os that have begun and not ended: outstanding ones, and short ones about to be
    /// continued.
    fn begun(&self) -> u32 {
        let continued = self.again.iter().filter(|s| self.slots[**s as usize].start_ns != 0);
        self.outstanding + continued.count() as u32
    }

    /// Adds the time since the last clock reading, with the I/Os outstanding during it. Returns that time.
    #[inline(always)]
    fn integrate(&mut self, now_ns: u64) -> u64 {
        // The counters of two processors may differ by a few ticks.
        let elapsed_ns = now_ns.saturating_sub(self.clock_ns);
        self.clock_ns = now_ns;
        self.bank().integrate(self.outstanding, elapsed_ns);
        elapsed_ns
    }

    /// Adds idle time: the worker only waited for the next arrival.
    fn note_poll(&mut self, elapsed_ns: u64) {
        self.polled_ns += elapsed_ns;
        self.control.live.polled_ns.store(self.polled_ns, Ordering::Relaxed);
    }

    /// Records how many arrivals wait after as many were issued as the queue depth allows.
    #[inline(always)]
    fn note_backlog(&mut self, now_ns: u64) {
        if let Some(pacer) = &self.pacer {
            let backlog = pacer.backlog(now_ns);
            self.bank().backlog(backlog);
        }
    }

    /// Returns the number of I/Os per decision: a dependent read is followed by its write.
    #[inline(always)]
    fn ios_per_chain(&self) -> u32 {
        1 + u32::from(self.dependent)
    }

    /// Takes what one decision needs from the quota. Returns false if the quota is used up or the worker has given up.
    #[inline(always)]
    fn take_quota(&self) -> bool {
        let ios = self.ios_per_chain();
        self.failures < FAILURES_TO_GIVE_UP
            && self.quota.as_ref().is_none_or(|quota| quota.take(ios))
    }

    /// Decides on the next I/O and puts it into a slot.
    #[inline(always)]
    fn next(&mut self, intended_ns: u64, direction: Option<Op>) -> Option<u32> {
        let slot = self.free.pop()?;
        let choice = self.chooser.next(direction);
        if let Some(quota) = &self.quota {
            quota.charge(u64::from(choice.len) * u64::from(self.ios_per_chain()));
        }
        if let Some(passes) = &self.passes {
            passes.count(choice.len.into());
        }
        self.slots[slot as usize] = Slot {
            start_ns: 0,
            intended_ns,
            offset_bytes: choice.offset_bytes,
            len: choice.len,
            done: 0,
            part: choice.part,
            op: choice.op,
            change: 0,
        };
        match choice.op {
            _ if self.verify.is_some() => self.begin_verified(slot),
            Op::Write => self.pool.renew(slot, choice.len as usize),
            Op::Read => self.pool.will_be_read_into(slot, choice.len),
            Op::Sync => {}
        }
        Some(slot)
    }

    /// Returns the slot's I/O, or the rest of it.
    #[inline(always)]
    fn io(&self, slot: u32) -> Io {
        let Slot { op, part, offset_bytes, len, done, .. } = self.slots[slot as usize];
        Io {
            slot,
            op,
            file: part,
            offset_bytes: offset_bytes + u64::from(done),
            len: len - done,
            buffer: self.pool.buffer(slot).wrapping_add(done as usize),
        }
    }

    #[inline(always)]
    fn stamp(&mut self, start_ns: u64) {
        self.integrate(start_ns);
        self.outstanding += self.fresh.len() as u32;
        for slot in self.fresh.drain(..) {
            let slot = &mut self.slots[slot as usize];
            // The rest of a short I/O keeps the start time of the whole.
            if slot.start_ns == 0 {
                slot.start_ns = start_ns;
                slot.change = self.change;
            }
        }
    }

    /// Accounts for a completion.
    #[inline(always)]
    fn complete(&mut self, index: u32, result: i32, now_ns: u64) {
        self.outstanding -= 1;
        let slot = self.slots[index as usize];
        if result != (slot.len - slot.done) as i32 {
            return self.complete_oddly(index, result);
        }
        self.is_over(slot.change);
        let service_ns = now_ns.saturating_sub(slot.start_ns);
        let bank = self.bank();
        bank.success(slot.op, u64::from(slot.len), service_ns);
        if self.pacer.is_some() {
            bank.response(slot.op, now_ns.saturating_sub(slot.intended_ns));
        }
        self.failures = 0;
        if slot.op != Op::Sync {
            self.ios += 1;
            self.bytes += u64::from(slot.len);
            self.latency_ns += service_ns;
        }
        if self.has_sequel {
            return self.follow_up(index, now_ns);
        }
        self.free.push(index);
    }

    /// Handles the follow-up of an I/O that moved all its bytes, in a load that has dependent I/Os, verifies, or writes
    /// logs.
    #[cold]
    fn follow_up(&mut self, index: u32, now_ns: u64) {
        self.record(index, now_ns);
        if self.dependent && self.slots[index as usize].op == Op::Read {
            return self.write_back(index, now_ns);
        }
        self.end_verified(index, true);
        self.free.push(index);
    }

    /// Records that an I/O issued under this change has ended.
    #[inline(always)]
    fn is_over(&mut self, change: u32) {
        if change != self.change {
            self.undrained -= 1;
        }
    }

    /// Continues a dependent chain: changes the block just read and writes it back to its place.
    fn write_back(&mut self, index: u32, now_ns: u64) {
        let slot = &mut self.slots[index as usize];
        slot.op = Op::Write;
        slot.start_ns = 0;
        slot.intended_ns = now_ns;
        slot.done = 0;
        let (part, len) = (slot.part, slot.len as usize);
        self.pool.renew(index, len);
        self.chooser.wrote(part);
        self.again.push(index);
    }

    /// Handles a completion that failed or moved fewer bytes than requested.
    #[cold]
    fn complete_oddly(&mut self, index: u32, result: i32) {
        let slot = &mut self.slots[index as usize];
        let (op, change) = (slot.op, slot.change);
        if result == -libc::EINTR {
            return self.again.push(index);
        }
        if result == -libc::EAGAIN && self.failures < FAILURES_TO_GIVE_UP {
            // Counted as a failure, so that endless refusals become an error.
            self.failures += 1;
            return self.again.push(index);
        }
        if result > 0 {
            slot.done += result as u32;
            self.bank().short(op);
            return self.again.push(index);
        }
        let fault = IoFault {
            host: 0,
            op,
            part: slot.part,
            offset_bytes: slot.offset_bytes + u64::from(slot.done),
            errno: -result,
        };
        self.is_over(change);
        self.control.report_fault(fault);
        self.bank().error(op);
        self.failures = self.failures.saturating_add(1);
        self.end_verified(index, false);
        self.free.push(index);
    }

    /// Publishes the worker's progress for the status line.
    #[inline(always)]
    fn publish(&mut self) {
        let live = &self.control.live;
        live.ios.store(self.ios, Ordering::Relaxed);
        live.bytes.store(self.bytes, Ordering::Relaxed);
        live.latency_ns.store(self.latency_ns, Ordering::Relaxed);
        live.outstanding.store(self.outstanding, Ordering::Relaxed);
        live.undrained.store(self.undrained, Ordering::Relaxed);
    }
}
