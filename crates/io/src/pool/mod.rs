//! Worker pools: the workers of a step, which start together, change settings while they run, and give windows without
//! stopping.

mod arrivals;
pub mod fio;
mod footprint;
mod heartbeat;
mod parts;
mod patience;
mod placement;
mod threads;
mod virtual_time;

pub use arrivals::Arrivals;
pub use footprint::{AddressSpace, Footprint, FootprintError, Room};
pub use heartbeat::{Heartbeat, Paused};
pub use parts::Parts;
pub(crate) use placement::place as place_thread;
pub use threads::ThreadPool;
pub use virtual_time::VirtualPool;

use crate::engine::{self, Files, Op};
use crate::logs::LogWaits;
use crate::machine::{DeviceQueues, ProcessCpu, QueueLimit, QueueReading, Starvation};
use crate::offsets::{Extent, OffsetSource, SharedPosition, mix64};
use crate::verify::verifier::JobVerify;
use crate::worker::accounting::{Window, WorkerWindow};
use crate::worker::control::{Control, IoFault};
use crate::worker::schedule::Schedule;
use crate::worker::transactions::TransactionSums;
use crate::worker::{Assignment, MAX_DEPTH_PER_WORKER, Passes, Quota, WorkerError, directions};
use iogauge_model::load::Load;
use iogauge_model::result::StepResult;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One job with its files.
#[derive(Debug, Clone)]
pub struct PoolJob {
    pub load: Load,
    /// Open files, in order of the target's parts; empty for engines that open nothing.
    pub files: Files,
    /// Usable range of each part.
    pub extents: Vec<Extent>,
}

/// Figures of a running worker pool, for a status line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveFigures {
    /// Reads and writes completed since the start.
    pub ios: u64,
    /// Bytes moved since the start.
    pub bytes: u64,
    /// Sum of service times, in nanoseconds.
    pub latency_ns: u64,
    /// I/Os outstanding.
    pub outstanding: u32,
    /// Scheduled arrivals that are waiting for a free slot.
    pub backlog: u64,
    /// Processor time that workers have spent since the start polling for their next arrival with nothing else to do,
    /// in nanoseconds.
    pub polled_ns: u64,
}

/// Running workers, in real or virtual time.
pub trait WorkerPool {
    /// Lets the workers run for this long. Returns early if all have ended or one has failed.
    ///
    /// # Errors
    /// If an engine failed.
    fn advance(&mut self, ns: u64) -> Result<(), WorkerError>;

    /// Ends the current window and starts the next one. A worker in a system call that cannot be interrupted keeps its
    /// share for the next window.
    ///
    /// # Errors
    /// If an engine failed.
    fn take_window(&mut self) -> Result<Window, WorkerError>;

    /// Returns the time between the request for a window and its end, in nanoseconds.
    fn window_delay_ns(&self) -> u64 {
        0
    }

    /// Changes the queue depth over all workers. Adds threads if more queue depth needs more threads. Returns the
    /// window that ends with the change.
    ///
    /// # Errors
    /// If a worker could not be added.
    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError>;

    /// Returns the largest possible queue depth, once a larger one was requested; `None` if no limit is known.
    fn most_depth(&self) -> Option<u32> {
        None
    }

    /// Returns true if another thread could issue more I/Os. Implementations document their rules.
    fn could_add_worker(&self) -> bool {
        false
    }

    /// Adds a worker if another thread can issue more I/Os, and redistributes the current queue depth over all workers.
    /// Returns the window that ends with the change, or `None` if a worker would not help. Implementations document
    /// their rules.
    ///
    /// # Errors
    /// If the engine of a running worker failed.
    fn add_worker(&mut self) -> Result<Option<Window>, WorkerError> {
        Ok(None)
    }

    /// Changes the total arrival rate of all jobs whose load has arrivals, in proportion to the rates of their loads.
    /// Arrivals that were due and not issued are dropped. `None` turns these jobs into closed loops: each completion
    /// makes room for the next I/O. Returns the window that ends with the change.
    ///
    /// # Errors
    /// If an engine failed.
    fn set_rate(&mut self, rate_iops: Option<f64>) -> Result<Window, WorkerError>;

    /// Limits the wait for workers that should end to a few seconds once this flag is set, because the user wants to
    /// end.
    fn hurry_when(&mut self, _wanted: Arc<AtomicBool>) {}

    /// Returns one line for each worker that could not be ended because its I/O does not end, with what it waits for.
    fn left_behind(&self) -> &[String] {
        &[]
    }

    /// Returns the pauses of this process since the last call: times in which no thread of it ran, so that nobody took
    /// the completions of I/Os. I/Os outstanding during a pause have latencies that are not the target's. If the
    /// workers belong to another program, its pauses are included.
    fn take_pauses(&mut self) -> Paused {
        Paused::default()
    }

    /// Returns how much processor time those who do the I/O have lacked so far; `None` if unknown.
    fn starvation(&self) -> Option<Starvation> {
        None
    }

    /// Sets the request queues in front of the target.
    fn watch_queues(&mut self, _queues: DeviceQueues) {}

    /// Returns how full the queues in front of the target have been so far, and their limit; `None` if unknown.
    fn queue(&self) -> Option<(QueueReading, QueueLimit)> {
        None
    }

    /// Drops arrivals that are due and not issued. While arrivals are held back, none becomes due. After that they
    /// continue at the requested rates. Take a window next.
    fn hold_back_arrivals(&mut self, _holds: bool) {}

    /// Lets workers record their I/Os for logs, if they have any, from the next window on.
    fn begin_logs(&mut self) {}

    /// Lets workers end their logs with the next window, which is the last that counts.
    fn end_logs(&mut self) {}

    /// Returns true if wrong data has ended the workers' load.
    fn found_fatal(&self) -> bool {
        false
    }

    /// Waits until the logs of workers that have ended are written. Returns how long workers waited for their logs
    /// in real time.
    fn finish_logs(&mut self) -> LogWaits {
        LogWaits::default()
    }

    /// Ends all workers after their outstanding I/Os and returns the last window. Gives up on the workers if none of
    /// them completes an I/O for a minute.
    ///
    /// # Errors
    /// If an engine failed.
    fn stop(&mut self) -> Result<Window, WorkerError>;

    /// Returns the controls of the workers. Empty if the workers belong to another program; such a pool implements the
    /// methods below itself.
    fn controls(&self) -> &[WorkerHandle];

    /// Returns the names of the hosts that do the I/O, in the order of [`Window::hosts`]; empty if that is this host
    /// alone.
    fn host_names(&self) -> &[String] {
        &[]
    }

    /// Returns the number of workers.
    fn workers(&self) -> usize {
        self.controls().len()
    }

    /// Returns the arrivals of its jobs.
    fn arrivals(&self) -> &Arrivals;

    /// Returns the time of the worker pool's clock, in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Returns which features the engines had to give up, for a caveat.
    fn fallbacks(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.controls().iter().flat_map(|h| h.control.fallbacks()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Returns why workers were lost early. What they had measured is kept.
    fn losses(&self) -> Vec<String> {
        Vec::new()
    }

    /// True if time is virtual.
    fn is_virtual(&self) -> bool {
        false
    }

    /// Returns the processor time that the workers have used for what is counted; `None` if they are threads of this
    /// process.
    fn cpu(&self) -> Option<ProcessCpu> {
        None
    }

    /// True if the queue depth of a window is estimated from the latencies of the I/Os that ended in it, some of which
    /// began earlier. It may then be larger than the number of I/Os that were ever outstanding.
    fn estimates_depth(&self) -> bool {
        false
    }

    /// True if windows contain figures for each worker.
    fn tells_workers_apart(&self) -> bool {
        !self.controls().is_empty()
    }

    /// True if the processor time of this process is used only by the tool. A database in this process also uses it.
    fn is_only_client(&self) -> bool {
        true
    }

    /// True if the workers end by themselves when their time is over, including ramp time.
    fn keeps_its_time(&self) -> bool {
        false
    }

    /// True once I/Os count. Workers that keep their own time start and ramp up first.
    fn has_begun(&self) -> bool {
        true
    }

    /// Returns the total as summed up by the workers when they ended, if they keep their own time. It is more exact
    /// than the sum of the windows, which it includes.
    fn summed_up(&self) -> Option<Window> {
        None
    }

    /// Returns true if no I/O issued before the last change is outstanding.
    fn drained(&self) -> bool {
        self.controls()
            .iter()
            .all(|h| h.control.applied() && h.control.live.undrained.load(Ordering::Relaxed) == 0)
    }

    /// Returns true if every worker has ended by itself.
    fn finished(&self) -> bool {
        self.controls().iter().all(|h| h.control.is_finished())
    }

    /// Returns figures for a status line.
    fn live(&self) -> LiveFigures {
        let mut sum = LiveFigures::default();
        for WorkerHandle { control, .. } in self.controls() {
            let live = &control.live;
            sum.ios += live.ios.load(Ordering::Relaxed);
            sum.bytes += live.bytes.load(Ordering::Relaxed);
            sum.latency_ns += live.latency_ns.load(Ordering::Relaxed);
            sum.outstanding += live.outstanding.load(Ordering::Relaxed);
            sum.polled_ns += live.polled_ns.load(Ordering::Relaxed);
        }
        sum.backlog = self.arrivals().backlog(self.now_ns());
        sum
    }

    /// Adds to the result of a step what only this kind of worker can report. `total` contains the windows of the step.
    fn complete(&self, _total: &Window, _result: &mut StepResult) {}

    /// Returns what all workers of a database have done since they started, as far as windows contain it.
    fn transactions(&self) -> TransactionSums {
        TransactionSums::default()
    }

    /// Returns a failed I/O, if there is one, with its job.
    fn fault(&self) -> Option<(u32, IoFault)> {
        self.controls().iter().find_map(|h| Some((h.job, h.control.fault()?)))
    }
}

/// The controller's handle of a worker.
#[derive(Debug)]
pub struct WorkerHandle {
    pub job: u32,
    /// What it shares with the controller.
    pub control: Arc<Control>,
    /// Queue depth requested last.
    queue_depth: u32,
}

impl WorkerHandle {
    fn new(job: u32, control: Arc<Control>) -> Self {
        Self { job, control, queue_depth: 0 }
    }

    /// Requests the queue depth, and the window so far.
    fn request(&mut self, queue_depth: u32) {
        self.queue_depth = queue_depth;
        self.control.request(queue_depth);
    }

    /// Adds what the worker has handed over to the window, and to the worker's own part of it. Adds nothing if the
    /// worker has not applied the request yet.
    fn collect(&self, window: &mut Window, index: usize) {
        let mut figures = WorkerWindow { job: self.job, ..WorkerWindow::default() };
        // SAFETY: the pool is the only controller, and the caller borrows it.
        unsafe {
            self.control.each_handed_over(|bank| figures.append(&window.collect(self.job, bank)));
        }
        window.workers[index].append(&figures);
    }
}

/// Adds what all workers have handed over since the last call.
fn collect(handles: &[WorkerHandle], window: &mut Window) {
    window.workers.resize(handles.len(), WorkerWindow::default());
    window.keep_jobs_apart(handles.last().map_or(0, |last| last.job as usize + 1));
    for (index, handle) in handles.iter().enumerate() {
        handle.collect(window, index);
    }
    window.sum_up_jobs();
}

/// As [`collect`], for workers of several hosts, and keeps the hosts apart. `hosts` has the indices of each one's
/// workers.
fn collect_hosts(handles: &[WorkerHandle], hosts: &[Vec<usize>], window: &mut Window) {
    let jobs = handles.last().map_or(0, |last| last.job as usize + 1);
    let mut workers = vec![WorkerWindow::default(); handles.len()];
    for members in hosts {
        let mut own =
            Window { offered: std::mem::take(&mut window.offered), workers, ..Window::default() };
        own.keep_jobs_apart(jobs);
        members.iter().for_each(|index| handles[*index].collect(&mut own, *index));
        window.offered = std::mem::take(&mut own.offered);
        workers = std::mem::take(&mut own.workers);
        let of_host: Vec<WorkerWindow> = members.iter().map(|index| workers[*index]).collect();
        window.add_host(own, &of_host);
    }
    window.workers = workers;
}

/// What the workers of one of a load's `numjobs` share.
#[derive(Debug)]
struct Stream {
    position: Arc<SharedPosition>,
    quota: Option<Arc<Quota>>,
    passes: Option<Arc<Passes>>,
}

/// Distribution of a job over workers: their number, and what they share.
#[derive(Debug)]
pub(crate) struct JobPlan {
    pub(crate) job: PoolJob,
    pub(crate) number: u32,
    /// True if a worker does one I/O at a time, so that queue depth needs workers.
    synchronous: bool,
    /// One for each of the load's `numjobs`.
    streams: Vec<Stream>,
    pub(crate) schedule: Option<Arc<Schedule>>,
    verify: Option<Arc<JobVerify>>,
    workers: u32,
}

impl JobPlan {
    pub(crate) fn new(
        job: PoolJob,
        verify: Option<Arc<JobVerify>>,
        number: u32,
        now_ns: u64,
    ) -> Self {
        let synchronous = job.load.engine.is_synchronous();
        let stream = |_| {
            let quota = Quota::of(&job.load).map(Arc::new);
            Stream { position: Arc::default(), quota, passes: None }
        };
        let streams = (0..job.load.numjobs).map(stream).collect();
        let schedule = job.load.arrivals.map(|arrivals| {
            let seed = mix64(job.load.seed ^ mix64(u64::from(number) << 32 | 3));
            Arc::new(Schedule::new(arrivals.process, seed, now_ns))
        });
        Self { job, number, synchronous, streams, schedule, verify, workers: 0 }
    }

    /// Returns true if wrong data has ended the load.
    pub(crate) fn found_fatal(&self) -> bool {
        self.verify.as_ref().is_some_and(|verify| verify.is_over())
    }

    /// Returns the number of workers that the job needs for a queue depth.
    pub(crate) fn workers_for(&self, queue_depth: u32) -> u32 {
        if self.synchronous { queue_depth } else { self.job.load.numjobs }
    }

    /// Returns true if the job does the same I/Os with any number of workers. Returns false for a sequential stream,
    /// which would become several; for streams with their own ranges, one of which would get more than its share; and
    /// for synchronous engines, whose queue depth is the number of workers.
    pub(crate) fn takes_more_workers(&self) -> bool {
        let load = &self.job.load;
        !self.synchronous && load.rw.is_random() && load.offset_increment_bytes.is_none()
    }

    /// Returns the assignment for the job's next worker.
    pub(crate) fn assign(
        &mut self,
        number: u32,
        max_depth: u32,
    ) -> Result<Assignment, WorkerError> {
        let load = &self.job.load;
        let stream = self.workers % load.numjobs;
        self.workers += 1;
        // Random patterns over the same range share one coverage pass.
        let shared = load.rw.is_random() && load.offset_increment_bytes.is_none();
        let position = self.streams[if shared { 0 } else { stream as usize }].position.clone();
        let offsets = OffsetSource::new(load, &self.job.extents, stream, position)?;
        let of_stream = &mut self.streams[stream as usize];
        if load.invalidate && !engine::is_direct(load) && of_stream.passes.is_none() {
            let passes = Passes::new(self.job.files.clone(), offsets.range_bytes());
            of_stream.passes = Some(Arc::new(passes));
        }
        let Stream { quota, passes, .. } = of_stream;
        let control = Arc::new(Control::new(directions(load), load.arrivals.is_some()));
        let max_depth = if self.synchronous {
            1
        } else {
            // A worker added later shares the queue depth with those before it.
            max_depth.div_ceil(load.numjobs.max(self.workers)).clamp(1, MAX_DEPTH_PER_WORKER)
        };
        Ok(Assignment {
            load: load.clone(),
            offsets,
            number,
            quota: quota.clone(),
            passes: passes.clone(),
            schedule: self.schedule.clone(),
            max_depth,
            control,
            verify: self.verify.clone(),
            recorder: None,
        })
    }
}

/// Returns one part of a whole number that is divided evenly. The first parts get the remainder.
fn share(total: u32, parts: u32, index: u32) -> u32 {
    total / parts.max(1) + u32::from(index < total % parts.max(1))
}

/// Returns the queue depth of each of a job's workers, given the total.
fn shares(queue_depth: u32, workers: u32) -> impl Iterator<Item = u32> {
    (0..workers).map(move |index| share(queue_depth, workers, index))
}

/// Returns a word for the kind of I/O, for messages.
#[must_use]
pub fn op_word(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Sync => "fsync",
    }
}
