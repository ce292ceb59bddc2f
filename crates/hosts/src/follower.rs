//! A host that does what the leader orders.

use crate::act::{Action, state_of, wait_until};
use crate::line::{Event, Line};
use crate::message::{HostState, Numbered, Order, Report, decode, encode};
use iogauge_io::logs::LogWaits;
use iogauge_io::machine::boot_id;
use iogauge_io::pool::WorkerPool;
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::Window;
use iogauge_lab::error::{LabError, RefusedKind};
use iogauge_lab::member::Member;
use iogauge_lab::observe::Interrupt;
use iogauge_lab::session::hosts::{Examining, HostPlan, Preparing, Starting};
use iogauge_lab::session::{environment_on, real_clock};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two states that a follower reports without an order, while I/Os of an earlier setting are outstanding
/// and otherwise.
const PULSE_CHANGING: Duration = Duration::from_millis(20);
const PULSE: Duration = Duration::from_millis(200);
/// Time between two looks for orders.
const LOOK: Duration = Duration::from_millis(20);
/// Time to end by an order after a signal. The leader has received one, too, if the run was ended by a user.
const GRACE: Duration = Duration::from_secs(7);

/// Why a follower ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The leader ended the run.
    ByOrder,
    /// The leader gives no sign of life.
    LeaderLost,
    /// This host was asked to end by a signal, and the leader did not end the run.
    BySignal,
}

/// Follows the leader until the run ends. `interrupt` is set by signals.
#[must_use]
pub fn follow(line: Line, interrupt: &Interrupt) -> Ended {
    let orders = Orders { line, interrupt, signalled: None };
    Follower { orders, member: None }.follow()
}

/// The orders as they arrive.
struct Orders<'a> {
    line: Line,
    interrupt: &'a Interrupt,
    /// When the interrupt was first seen to be set.
    signalled: Option<Instant>,
}

impl Orders<'_> {
    /// Returns the next order; `None` if none arrives in time.
    ///
    /// # Errors
    /// Why this host has to end.
    fn next(&mut self, timeout: Duration) -> Result<Option<Numbered<Order>>, Ended> {
        if self.interrupt.is_set() {
            let since = *self.signalled.get_or_insert_with(Instant::now);
            if since.elapsed() >= GRACE {
                return Err(Ended::BySignal);
            }
        }
        match self.line.next(timeout) {
            None => Ok(None),
            Some(Event::Silent { .. }) => Err(Ended::LeaderLost),
            Some(Event::Message { bytes, .. }) => match decode(&bytes) {
                Ok(order) => Ok(Some(order)),
                // A leader of another version: it refuses this host's version, or is silent.
                Err(_) => Ok(None),
            },
        }
    }

    fn report(&self, number: u64, content: Report) {
        self.line.send(0, encode(&Numbered { number, content }));
    }
}

/// What a host does for the leader.
struct Follower<'a> {
    orders: Orders<'a>,
    member: Option<Member>,
}

impl Follower<'_> {
    fn follow(mut self) -> Ended {
        loop {
            let order = match self.orders.next(LOOK) {
                Ok(Some(order)) => order,
                Ok(None) => continue,
                Err(ended) => return ended,
            };
            let number = order.number;
            let report = match order.content {
                Order::End => return Ended::ByOrder,
                Order::Introduce => Ok(Report::Introduced {
                    environment: Box::new(environment_on(real_clock())),
                    boot_id: boot_id().ok(),
                }),
                Order::Open(opening) => {
                    // Releases the locks on the last target first.
                    self.member = None;
                    Member::open(opening).map(|member| {
                        let parts = member.parts_on_host();
                        self.member = Some(member);
                        Report::Opened(parts)
                    })
                }
                Order::Prepare(preparing) => match self.prepare(&preparing) {
                    Ok(prepared) => prepared.map(|()| Report::Done),
                    Err(ended) => return ended,
                },
                Order::Examine(examining) => self.examine(&examining),
                Order::Check(plan) => self.checked(&plan),
                Order::Remove(paths) => self.remove(paths.as_deref()),
                Order::Start { starting, at_ns } => match self.run(&starting, at_ns, number) {
                    Ok(Ok(())) => continue,
                    Ok(Err(ended)) => return ended,
                    Err(error) => Err(error),
                },
                Order::ReadBack { skipped, at_ns } => {
                    wait_until(at_ns);
                    let read_back = |member: &mut Member, stop: &_| member.read_back(skipped, stop);
                    match self.while_listening(read_back) {
                        Ok(result) => result.map(|result| Report::Verified(result.map(Box::new))),
                        Err(ended) => return ended,
                    }
                }
                Order::Commit { complete } => {
                    let made = self.member.as_mut().map(|member| member.commit(complete));
                    Ok(Report::Made(made.unwrap_or_default()))
                }
                // The workers have ended already.
                Order::Act { .. } | Order::Stop { .. } => Ok(Report::Done),
            };
            self.orders.report(number, report.unwrap_or_else(refused));
        }
    }

    fn examine(&mut self, examining: &Examining) -> Result<Report, LabError> {
        let member = self.member.as_mut().ok_or_else(no_target)?;
        Ok(Report::Examined(Box::new(member.examine(examining)?)))
    }

    fn checked(&mut self, plan: &HostPlan) -> Result<Report, LabError> {
        let member = self.member.as_mut().ok_or_else(no_target)?;
        member.check(plan).map(|()| Report::Done)
    }

    fn remove(&self, paths: Option<&[PathBuf]>) -> Result<Report, LabError> {
        let member = self.member.as_ref().ok_or_else(no_target)?;
        Ok(Report::Removed(member.remove(paths)?))
    }

    /// Writes blocks that are not written yet. Ends early if the run ends meanwhile, with how it ended.
    fn prepare(&mut self, preparing: &Preparing) -> Result<Result<(), LabError>, Ended> {
        match self.member.take().map(|member| member.look_again(preparing)) {
            None => return Ok(Err(no_target())),
            Some(Err(error)) => return Ok(Err(error)),
            Some(Ok(member)) => self.member = Some(member),
        }
        self.while_listening(|member, stop| member.prepare(preparing, stop))
    }

    /// Does work that the leader or a signal may stop. Ends early if the run ends meanwhile, with how it ended.
    fn while_listening<T>(
        &mut self,
        work: impl FnOnce(&mut Member, &Interrupt) -> Result<T, LabError>,
    ) -> Result<Result<T, LabError>, Ended> {
        let Self { orders, member } = self;
        let Some(member) = member else { return Ok(Err(no_target())) };
        let (stop, is_over) = (Interrupt::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let listening = scope.spawn(|| {
                let ended = listen(orders, &stop, &is_over);
                if ended.is_err() {
                    stop.set();
                }
                ended
            });
            let done = work(member, &stop);
            is_over.store(true, Ordering::Relaxed);
            match listening.join() {
                Ok(ended) => ended.map(|()| done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Starts workers and serves the leader's orders until they are stopped.
    fn run(
        &mut self,
        starting: &Starting,
        at_ns: u64,
        number: u64,
    ) -> Result<Result<(), Ended>, LabError> {
        let member = self.member.as_mut().ok_or_else(no_target)?;
        wait_until(at_ns);
        // Set if the disk runs out of room, or if the leader is in a hurry.
        let hurry = Interrupt::default();
        let orders = &mut self.orders;
        member.begin(starting)?;
        let member = &*member;
        member.run(starting, &hurry, |mut pool| {
            let state = Box::new(state_of(pool.as_mut()));
            orders.report(number, Report::Window { window: None, state });
            let (pulsed, log_waits) = (Instant::now(), LogWaits::default());
            Serving { pool, member, orders, hurry: &hurry, pulsed, log_waits }.serve()
        })
    }
}

/// Waits for the end of the run while something else is done, until that is over.
fn listen(orders: &mut Orders<'_>, stop: &Interrupt, is_over: &AtomicBool) -> Result<(), Ended> {
    while !is_over.load(Ordering::Relaxed) {
        let order = orders.next(LOOK)?.map(|order| order.content);
        if matches!(order, Some(Order::End)) {
            return Err(Ended::ByOrder);
        }
        if matches!(order, Some(Order::Stop { .. })) || orders.interrupt.is_set() {
            stop.set();
        }
    }
    Ok(())
}

fn no_target() -> LabError {
    LabError::Mismatch("no target is open".to_owned())
}

fn refused(error: LabError) -> Report {
    Report::Refused { kind: RefusedKind::of(&error), message: error.to_string() }
}

/// Workers that serve the leader's orders.
struct Serving<'a, 'b> {
    pool: Box<dyn WorkerPool>,
    member: &'a Member,
    orders: &'a mut Orders<'b>,
    hurry: &'a Interrupt,
    /// When the last state was reported.
    pulsed: Instant,
    log_waits: LogWaits,
}

impl Serving<'_, '_> {
    fn serve(mut self) -> Result<(), Ended> {
        loop {
            let Numbered { number, content } = match self.orders.next(PULSE_CHANGING) {
                Ok(Some(order)) => order,
                Ok(None) => {
                    self.pulse();
                    continue;
                }
                Err(ended) => {
                    self.hurry.set();
                    // Its result has nobody to go to.
                    let _ = self.pool.stop();
                    return Err(ended);
                }
            };
            match content {
                Order::Act { action, at_ns } => self.act(number, action, at_ns),
                Order::Stop { in_hurry } => {
                    if in_hurry {
                        self.hurry.set();
                    }
                    let window = self.pool.stop().map(Some);
                    self.log_waits = self.pool.finish_logs();
                    let report = self.report_of(window);
                    // The next run may take the target as soon as this answer has arrived.
                    drop(self.pool);
                    self.orders.report(number, report);
                    return Ok(());
                }
                Order::End => {
                    self.hurry.set();
                    let _ = self.pool.stop();
                    return Err(Ended::ByOrder);
                }
                _ => {
                    let message = "workers run".to_owned();
                    let kind = RefusedKind::Fault;
                    self.orders.report(number, Report::Refused { kind, message });
                }
            }
        }
    }

    fn act(&mut self, number: u64, action: Action, at_ns: u64) {
        let now_ns = self.pool.now_ns();
        let window = self.pool.advance(at_ns.saturating_sub(now_ns));
        let window = window.and_then(|()| action.apply(self.pool.as_mut()));
        let report = self.report_of(window);
        self.orders.report(number, report);
        self.pulsed = Instant::now();
    }

    fn report_of(&mut self, window: Result<Option<Window>, WorkerError>) -> Report {
        match window {
            Ok(window) => {
                let window = window.map(Box::new);
                Report::Window { window, state: Box::new(self.state()) }
            }
            Err(error) => refused(error.into()),
        }
    }

    fn state(&mut self) -> HostState {
        let was_signalled = self.orders.interrupt.is_set() || self.hurry.is_set();
        let stopped_by = self.member.stopped_by().map(str::to_owned);
        let (database, log_waits) = (self.member.database_report(), self.log_waits);
        HostState { was_signalled, stopped_by, database, log_waits, ..state_of(self.pool.as_mut()) }
    }

    /// Reports the state, more often while it may change soon.
    fn pulse(&mut self) {
        let every = if self.pool.drained() { PULSE } else { PULSE_CHANGING };
        if self.pulsed.elapsed() >= every || self.pool.finished() {
            self.pulsed = Instant::now();
            // Takes the pauses, so it is made only if it is sent.
            let state = Box::new(self.state());
            self.orders.report(0, Report::Pulse(state));
        }
    }
}
