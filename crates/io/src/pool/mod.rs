//! The workers of a step under one hand: started together, changed while they run, their windows
//! taken without stopping them.

mod arrivals;
pub mod fio;
mod footprint;
mod heartbeat;
mod patience;
mod placement;
mod threads;
mod virtual_time;

pub use arrivals::Arrivals;
pub use footprint::{AddressSpace, Footprint, FootprintError, Room};
pub use heartbeat::{Heartbeat, Paused};
pub(crate) use placement::place as place_thread;
pub use threads::ThreadPool;
pub use virtual_time::VirtualPool;

use crate::engine::{Files, Op};
use crate::machine::{DeviceQueues, ProcessCpu, QueueLimit, QueueReading, Starvation};
use crate::offsets::{Extent, OffsetSource, SharedPosition, mix64};
use crate::verify::verifier::JobVerify;
use crate::worker::accounting::{Window, WorkerWindow};
use crate::worker::control::{Control, IoFault};
use crate::worker::schedule::Schedule;
use crate::worker::{Assignment, MAX_DEPTH_PER_WORKER, Quota, WorkerError, directions};
use iogauge_model::load::Load;
use iogauge_model::result::StepResult;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One job with the files it works on.
#[derive(Debug, Clone)]
pub struct PoolJob {
    pub load: Load,
    /// Open files by part; empty for engines that open nothing.
    pub files: Files,
    /// Usable stretch of each part.
    pub extents: Vec<Extent>,
}

/// Figures of a pool under way, for a status line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveFigures {
    /// Reads and writes completed since the start.
    pub ios: u64,
    /// Bytes moved since the start.
    pub bytes: u64,
    /// Service times summed up, in nanoseconds.
    pub latency_ns: u64,
    /// I/Os outstanding.
    pub outstanding: u32,
    /// Scheduled arrivals that wait for a free slot.
    pub backlog: u64,
    /// Time that workers polled for their next arrival with nothing else to do since the start, in
    /// nanoseconds of processor time.
    pub polled_ns: u64,
}

/// Workers at work, in real or in virtual time.
pub trait WorkerPool {
    /// Lets the workers work for so long; returns early where all have ended or a worker failed.
    ///
    /// # Errors
    /// Where an engine failed.
    fn advance(&mut self, ns: u64) -> Result<(), WorkerError>;

    /// Ends the window under way and begins another. A worker that sits in a system call which
    /// cannot be interrupted keeps its share for the next window.
    ///
    /// # Errors
    /// Where an engine failed.
    fn take_window(&mut self) -> Result<Window, WorkerError>;

    /// Changes the depth over all workers from now on, adding threads where depth takes threads.
    /// Returns the window that ends with the change.
    ///
    /// # Errors
    /// Where a worker could not be added.
    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError>;

    /// The deepest it can be, once it was asked for more than it can; `None` where nothing is known to
    /// bound it.
    fn most_depth(&self) -> Option<u32> {
        None
    }

    /// True where one more thread could issue more I/Os: see the pool's own words.
    fn could_add_worker(&self) -> bool {
        false
    }

    /// Adds a worker where one more thread can issue more I/Os, and shares the present depth out
    /// anew over all of them. Returns the window that ends with the change; `None` where there is
    /// nothing to be had by it: see the pool's own words.
    ///
    /// # Errors
    /// Where an engine of the workers at work failed.
    fn add_worker(&mut self) -> Result<Option<Window>, WorkerError> {
        Ok(None)
    }

    /// Changes the arrival rate over all jobs whose load schedules arrivals, in the proportion of
    /// their loads, from now on; arrivals that were due and not issued are given up. `None` makes
    /// a closed loop of them: each completion makes room for the next I/O. Returns the window that
    /// ends with the change.
    ///
    /// # Errors
    /// Where an engine failed.
    fn set_rate(&mut self, rate_iops: Option<f64>) -> Result<Window, WorkerError>;

    /// From now on workers that are to end are waited for a few seconds at most once this is set: the user
    /// wants the end.
    fn hurry_when(&mut self, _wanted: Arc<AtomicBool>) {}

    /// Workers that could not be ended, since they wait for an I/O that does not end: a line for each, with
    /// what it waits for.
    fn left_behind(&self) -> &[String] {
        &[]
    }

    /// The pauses of this process since they were taken last: times in which no thread of it ran, so
    /// that I/Os came back and nobody looked. What was outstanding then has latencies that are not the
    /// target's. Where the workers are another program's, its pauses are among them.
    fn take_pauses(&mut self) -> Paused {
        Paused::default()
    }

    /// Processor time that those who do the I/O lacked so far; `None` where it is not known.
    fn starvation(&self) -> Option<Starvation> {
        None
    }

    /// From now on these are the queues of requests in front of the target.
    fn watch_queues(&mut self, _queues: DeviceQueues) {}

    /// What was in the queues in front of the target so far, and how much they take; `None` where nothing
    /// tells.
    fn queue(&self) -> Option<(QueueReading, QueueLimit)> {
        None
    }

    /// Gives up arrivals that are due and not issued. While arrivals are held back, none comes due;
    /// from then on they come at the rates asked. Take a window next.
    fn hold_back_arrivals(&mut self, _holds: bool) {}

    /// Ends all workers when what is outstanding is done, and returns the last window. Workers of which none
    /// completes an I/O for a minute are left behind.
    ///
    /// # Errors
    /// Where an engine failed.
    fn stop(&mut self) -> Result<Window, WorkerError>;

    /// The workers' controls; none where the workers are another program's, which then says itself
    /// what the methods below tell.
    fn controls(&self) -> &[WorkerHandle];

    /// How many workers there are.
    fn workers(&self) -> usize {
        self.controls().len()
    }

    /// The arrivals of its jobs.
    fn arrivals(&self) -> &Arrivals;

    /// Time on the pool's clock, in nanoseconds.
    fn now_ns(&self) -> u64;

    /// What engines had to give up, for a caveat.
    fn fallbacks(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.controls().iter().flat_map(|h| h.control.fallbacks()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Why workers were lost before their time, where what they had measured is kept.
    fn losses(&self) -> Vec<String> {
        Vec::new()
    }

    /// True where time is virtual.
    fn is_virtual(&self) -> bool {
        false
    }

    /// Processor time the workers have used for what is counted; `None` where they are threads of
    /// this process.
    fn cpu(&self) -> Option<ProcessCpu> {
        None
    }

    /// True where the depth of a window is estimated from the latencies of the I/Os that ended in it, some of
    /// which began before: it may come out larger than any number of I/Os that were outstanding.
    fn estimates_depth(&self) -> bool {
        false
    }

    /// True where windows hold each worker's figures.
    fn tells_workers_apart(&self) -> bool {
        !self.controls().is_empty()
    }

    /// True where the processor time of this process is that of the tool alone: a database that lives in
    /// this process uses it, too.
    fn is_only_client(&self) -> bool {
        true
    }

    /// True where the workers end by themselves when their time is over, ramp time and all.
    fn keeps_its_time(&self) -> bool {
        false
    }

    /// True once I/Os count: workers that keep their time begin and ramp up first.
    fn has_begun(&self) -> bool {
        true
    }

    /// The whole of what was measured as the workers themselves sum it up at their end, where they
    /// keep their time: exacter than the windows, which it holds.
    fn summed_up(&self) -> Option<Window> {
        None
    }

    /// True once no I/O issued before the last change is outstanding.
    fn drained(&self) -> bool {
        self.controls()
            .iter()
            .all(|h| h.control.applied() && h.control.live.undrained.load(Ordering::Relaxed) == 0)
    }

    /// True once every worker has ended of its own accord.
    fn finished(&self) -> bool {
        self.controls().iter().all(|h| h.control.is_finished())
    }

    /// Figures for a status line.
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

    /// Adds to the result of a step what only workers of this kind know of what they did in it.
    fn complete(&self, _result: &mut StepResult) {}

    /// An I/O that failed, if one did, with its job.
    fn fault(&self) -> Option<(u32, IoFault)> {
        self.controls().iter().find_map(|h| Some((h.job, h.control.fault()?)))
    }
}

/// What a controller holds of a worker.
#[derive(Debug)]
pub struct WorkerHandle {
    /// Job the worker belongs to.
    pub job: u32,
    /// What it shares with the controller.
    pub control: Arc<Control>,
    /// Depth asked last.
    queue_depth: u32,
}

impl WorkerHandle {
    fn new(job: u32, control: Arc<Control>) -> Self {
        Self { job, control, queue_depth: 0 }
    }

    /// Asks for the depth and for the window so far.
    fn request(&mut self, queue_depth: u32) {
        self.queue_depth = queue_depth;
        self.control.request(queue_depth);
    }

    /// Adds what the worker has handed over to the window, and to its own share of it: nothing
    /// where it has not applied yet.
    fn collect(&self, window: &mut Window, index: usize) {
        let mut figures = WorkerWindow { job: self.job, ..WorkerWindow::default() };
        // SAFETY: the pool is the one controller, and it is borrowed by the caller.
        unsafe {
            self.control.each_handed_over(|bank| figures.append(&window.collect(self.job, bank)));
        }
        window.workers[index].append(&figures);
    }
}

/// Adds what all workers have handed over since the last time.
fn collect(handles: &[WorkerHandle], window: &mut Window) {
    window.workers.resize(handles.len(), WorkerWindow::default());
    window.keep_jobs_apart(handles.last().map_or(0, |last| last.job as usize + 1));
    for (index, handle) in handles.iter().enumerate() {
        handle.collect(window, index);
    }
    window.sum_up_jobs();
}

/// What the workers of one of a load's `numjobs` share.
#[derive(Debug)]
struct Stream {
    position: Arc<SharedPosition>,
    quota: Option<Arc<Quota>>,
}

/// A job's share-out: how many workers, and what they share.
#[derive(Debug)]
pub(crate) struct JobPlan {
    pub(crate) job: PoolJob,
    pub(crate) number: u32,
    /// One I/O per worker, so that depth takes workers.
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
            Stream { position: Arc::default(), quota }
        };
        let streams = (0..job.load.numjobs).map(stream).collect();
        let schedule = job.load.arrivals.map(|arrivals| {
            let seed = mix64(job.load.seed ^ mix64(u64::from(number) << 32 | 3));
            Arc::new(Schedule::new(arrivals.process, seed, now_ns))
        });
        Self { job, number, synchronous, streams, schedule, verify, workers: 0 }
    }

    /// Workers the job needs for a depth.
    pub(crate) fn workers_for(&self, queue_depth: u32) -> u32 {
        if self.synchronous { queue_depth } else { self.job.load.numjobs }
    }

    /// True where the job does the same I/Os with any number of workers: a sequential stream would
    /// become several, one of several stretches would get more than its share, and one I/O per
    /// worker makes depth and workers the same thing.
    pub(crate) fn takes_more_workers(&self) -> bool {
        let load = &self.job.load;
        !self.synchronous && load.rw.is_random() && load.offset_increment_bytes.is_none()
    }

    /// What the job's next worker is made from.
    pub(crate) fn assign(
        &mut self,
        number: u32,
        max_depth: u32,
    ) -> Result<Assignment, WorkerError> {
        let load = &self.job.load;
        let stream = self.workers % load.numjobs;
        self.workers += 1;
        let Stream { position, quota } = &self.streams[stream as usize];
        // Random patterns over one stretch share one coverage pass.
        let shared = load.rw.is_random() && load.offset_increment_bytes.is_none();
        let position = if shared { &self.streams[0].position } else { position };
        let offsets = OffsetSource::new(load, &self.job.extents, stream, position.clone())?;
        let control = Arc::new(Control::new(directions(load), load.arrivals.is_some()));
        let max_depth = if self.synchronous {
            1
        } else {
            // A worker added later shares the depth with those before it.
            max_depth.div_ceil(load.numjobs.max(self.workers)).clamp(1, MAX_DEPTH_PER_WORKER)
        };
        Ok(Assignment {
            load: load.clone(),
            offsets,
            number,
            quota: quota.clone(),
            schedule: self.schedule.clone(),
            max_depth,
            control,
            verify: self.verify.clone(),
        })
    }
}

/// Shares a whole number out evenly; the first get what does not divide.
fn share(total: u32, parts: u32, index: u32) -> u32 {
    total / parts.max(1) + u32::from(index < total % parts.max(1))
}

/// Depths of each of a job's workers for a depth over all of them.
fn shares(queue_depth: u32, workers: u32) -> impl Iterator<Item = u32> {
    (0..workers).map(move |index| share(queue_depth, workers, index))
}

/// A word for what an I/O did, for messages.
#[must_use]
pub fn op_word(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Sync => "fsync",
    }
}
