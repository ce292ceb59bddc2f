//! Workers on real targets, with one thread each.

use super::patience::Patience;
use super::placement::place;
use super::{
    Arrivals, Footprint, Heartbeat, JobPlan, Paused, PoolJob, Room, WorkerHandle, WorkerPool,
    collect, share, shares,
};
use crate::buffers::BufferPool;
use crate::clock::Clock;
use crate::confine::Domain;
use crate::engine::io_uring::Uring;
use crate::engine::libaio::Libaio;
use crate::engine::mmap::Mmap;
use crate::engine::null::Null;
use crate::engine::psync::Psync;
use crate::engine::{Engine, EngineError, Setup};
use crate::logs::{LogWaits, LogWriter};
use crate::machine::{
    DeviceQueues, QueueLimit, QueueReading, Roots, Starvation, StarvationReader,
    UninterruptibleThread, Waiting,
};
use crate::verify::verifier::JobVerify;
use crate::worker::accounting::Window;
use crate::worker::{Assignment, Turn, Worker, WorkerError};
use iogauge_model::load::EngineKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum time between two checks of the workers by the controller.
const LOOK_NS: u64 = 20_000_000;
/// A worker that has not applied a request after this time is woken from its system call.
const WAKE_AFTER_NS: u64 = 200_000;
/// A worker that has not applied a request after this time is in a call that cannot be interrupted.
const PATIENCE_NS: u64 = 100_000_000;
/// Maximum time between two checks of threads that should end.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);
/// Stack size of a worker thread. The loop needs little, and a large queue depth may need thousands of threads.
pub(super) const STACK_BYTES: usize = 256 << 10;

/// Thread of a worker.
#[derive(Debug)]
struct WorkerThread {
    join: Option<JoinHandle<Result<(), WorkerError>>>,
    /// The kernel's id of the thread, for waking it.
    thread_id: rustix::process::Pid,
}

impl WorkerThread {
    /// Returns true if the thread was started and has not ended.
    fn is_working(&self) -> bool {
        self.join.as_ref().is_some_and(|join| !join.is_finished())
    }

    /// Describes a thread that does not end, with what it waits for.
    fn told(&self, handle: &WorkerHandle) -> String {
        let id = self.thread_id.as_raw_nonzero().get().unsigned_abs();
        let outstanding = handle.control.live.outstanding.load(Ordering::Relaxed);
        let name = self.join.as_ref().and_then(|join| join.thread().name()).unwrap_or("iogauge");
        UninterruptibleThread::of_own(id).map_or_else(
            || format!("thread {name} ({id}) waits for {outstanding} I/Os that do not end"),
            |held| held.to_string(),
        )
    }
}

/// A worker pool of threads in real time.
#[derive(Debug)]
pub struct ThreadPool {
    clock: Clock,
    handles: Vec<WorkerHandle>,
    threads: Vec<WorkerThread>,
    plans: Vec<JobPlan>,
    arrivals: Arrivals,
    heartbeat: Heartbeat,
    starvation: StarvationReader,
    queues: Option<DeviceQueues>,
    max_depth: u32,
    /// Set once the user wants to end.
    hurry: Option<Arc<AtomicBool>>,
    /// Workers that were left behind.
    left_behind: Vec<String>,
    /// The largest possible queue depth, if the system has refused another thread.
    most_depth: Option<u32>,
    logs: Option<LogWriter>,
}

/// What a thread reports once its engine is ready.
type Ready = Result<rustix::process::Pid, WorkerError>;

impl ThreadPool {
    /// Returns the queue depth over all workers.
    fn queue_depth(&self) -> u32 {
        self.handles.iter().map(|handle| handle.queue_depth).sum()
    }

    /// Returns the number of processors that the workers may run on.
    fn processors(&self) -> u32 {
        let cpus = self.plans.first().and_then(|plan| plan.job.load.cpus.as_ref());
        cpus.map_or_else(
            || std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            |cpus| cpus.numbers().len() as u32,
        )
    }

    /// Starts the workers of all jobs together. The queue depth may later grow to `max_depth`.
    ///
    /// # Errors
    /// If a load does not fit its target, or an engine or thread cannot be created.
    pub fn start(jobs: Vec<PoolJob>, max_depth: u32) -> Result<Self, WorkerError> {
        let jobs = jobs.into_iter().map(|job| (job, None)).collect();
        Self::start_verified(jobs, None, max_depth)
    }

    /// Same as [`Self::start`], for jobs some of which verify or write logs.
    ///
    /// # Errors
    /// Same as [`Self::start`].
    pub fn start_verified(
        jobs: Vec<(PoolJob, Option<Arc<JobVerify>>)>,
        logs: Option<LogWriter>,
        max_depth: u32,
    ) -> Result<Self, WorkerError> {
        Footprint::of(jobs.iter().map(|(job, _)| &job.load)).check(&Room::here())?;
        allow_wakes();
        let mut pool = Self {
            clock: Clock::get(),
            handles: Vec::new(),
            threads: Vec::new(),
            plans: Vec::new(),
            arrivals: Arrivals::default(),
            queues: None,
            heartbeat: Heartbeat::start().map_err(WorkerError::Thread)?,
            starvation: StarvationReader::new(Roots::real()),
            max_depth,
            hurry: None,
            left_behind: Vec::new(),
            most_depth: None,
            logs,
        };
        let mut begin = Vec::new();
        for (index, (job, verify)) in jobs.into_iter().enumerate() {
            let queue_depth = job.load.queue_depth();
            let mut plan = JobPlan::new(job, verify, index as u32, pool.clock.now_ns());
            let count = plan.workers_for(queue_depth);
            pool.start_workers(&mut plan, count, max_depth.max(queue_depth))?;
            begin.extend(shares(queue_depth, count));
            pool.arrivals.add(&plan);
            pool.plans.push(plan);
        }
        pool.arrivals.begin(pool.clock.now_ns());
        for (handle, queue_depth) in pool.handles.iter_mut().zip(begin) {
            handle.request(queue_depth);
        }
        pool.wake_resting();
        pool.await_obedience()?;
        Ok(pool)
    }

    /// Adds workers to a job. They rest until they get settings.
    fn start_workers(
        &mut self,
        plan: &mut JobPlan,
        count: u32,
        max_depth: u32,
    ) -> Result<(), WorkerError> {
        for _ in 0..count {
            let (sender, receiver) = channel();
            let number = self.handles.len() as u32;
            let mut assignment = plan.assign(number, max_depth)?;
            let recorder = |logs: &mut LogWriter| logs.recorder(number, &assignment.load);
            assignment.recorder = self.logs.as_mut().and_then(recorder);
            let load = &assignment.load;
            let setup = Setup {
                files: plan.job.files.clone(),
                max_depth: assignment.max_depth,
                advised_random: load.advised_random(),
                writes: load.writes(),
                syncs_data_only: load.fdatasync_every > 0,
            };
            let engine = load.engine;
            let control = assignment.control.clone();
            let join = std::thread::Builder::new()
                .name(format!("iogauge-{}", assignment.number))
                .stack_size(STACK_BYTES)
                .spawn(move || work(engine, &setup, assignment, &sender))
                .map_err(WorkerError::Thread)?;
            let thread_id = match self.until_ready(&receiver) {
                Some(Ok(Ok(thread_id))) => thread_id,
                Some(Ok(Err(error))) => {
                    // The thread ends by itself; it never became a worker.
                    join_worker(join)?;
                    return Err(error);
                }
                // The thread ended without a report because it panicked. The panic continues here.
                Some(Err(_)) => return join_worker(join),
                None => return Err(WorkerError::NotReady),
            };
            self.handles.push(WorkerHandle::new(plan.number, control));
            self.threads.push(WorkerThread { join: Some(join), thread_id });
        }
        Ok(())
    }

    /// Returns what a new worker reports, or that it ended without a report; `None` if it takes too long.
    fn until_ready(&self, receiver: &Receiver<Ready>) -> Option<Result<Ready, RecvTimeoutError>> {
        let mut patience = Patience::new(self.hurry.as_ref());
        loop {
            match receiver.recv_timeout(Duration::from_nanos(LOOK_NS)) {
                Err(RecvTimeoutError::Timeout) if patience.is_over(0, Instant::now()) => {
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {}
                said => return Some(said),
            }
        }
    }

    /// Adds workers to the only job of this pool.
    fn start_more(&mut self, count: u32) -> Result<(), WorkerError> {
        let Some(mut plan) = self.plans.pop() else { return Ok(()) };
        let started = self.start_workers(&mut plan, count, self.max_depth);
        self.plans.push(plan);
        started
    }

    /// Wakes resting workers, which sleep. All others see a request in their next turn.
    fn wake_resting(&self) {
        for thread in &self.threads {
            if let Some(join) = &thread.join {
                join.thread().unpark();
            }
        }
    }

    /// Waits until the workers have applied the last request, and wakes those in long calls.
    fn await_obedience(&mut self) -> Result<(), WorkerError> {
        let start_ns = self.clock.now_ns();
        let mut next_wake_ns = WAKE_AFTER_NS;
        loop {
            if self.handles.iter().all(|h| h.control.applied()) {
                return self.failed_worker();
            }
            let waited_ns = self.clock.now_ns() - start_ns;
            if waited_ns > PATIENCE_NS {
                return self.failed_worker();
            }
            if waited_ns > next_wake_ns {
                next_wake_ns = waited_ns + 5 * WAKE_AFTER_NS;
                for (handle, thread) in self.handles.iter().zip(&self.threads) {
                    if !handle.control.applied() {
                        wake(thread.thread_id);
                    }
                }
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }

    /// Waits until every thread has ended, and wakes those in long calls. When patience is over, leaves threads behind
    /// that are in a call that cannot be interrupted. Such a thread owns its engine, its buffers and its files, so
    /// everything it may still access stays until the thread or the process ends.
    fn await_ends(&mut self) {
        let mut patience = Patience::new(self.hurry.as_ref());
        let mut sleep = Duration::from_micros(20);
        loop {
            let threads = self.handles.iter().zip(&self.threads);
            let working: Vec<_> = threads.filter(|(_, thread)| thread.is_working()).collect();
            if working.is_empty() {
                return;
            }
            let live = |handle: &WorkerHandle| handle.control.live.ios.load(Ordering::Relaxed);
            let progress = self.handles.iter().map(live).sum::<u64>() + self.handles.len() as u64
                - working.len() as u64;
            if patience.is_over(progress, Instant::now()) {
                break;
            }
            if sleep >= LONGEST_PAUSE {
                working.iter().for_each(|(_, thread)| wake(thread.thread_id));
            }
            std::thread::sleep(sleep);
            sleep = (sleep * 2).min(LONGEST_PAUSE);
        }
        self.leave_behind();
    }

    /// Leaves the threads behind that have not ended.
    fn leave_behind(&mut self) {
        for (handle, thread) in self.handles.iter().zip(&mut self.threads) {
            if thread.is_working() {
                self.left_behind.push(thread.told(handle));
                thread.join = None;
            }
        }
    }

    /// Returns the error of a worker that ended with one.
    fn failed_worker(&mut self) -> Result<(), WorkerError> {
        for (handle, thread) in self.handles.iter().zip(&mut self.threads) {
            // A thread that panicked has ended without a report.
            let over = thread.join.as_ref().is_some_and(JoinHandle::is_finished);
            if (handle.control.is_finished() || over)
                && let Some(join) = thread.join.take()
            {
                join_worker(join)?;
            }
        }
        Ok(())
    }

    /// Requests the queue depth of each worker and returns the window that ends with the change.
    fn change(&mut self, queue_depth: impl Fn(usize, u32) -> u32) -> Result<Window, WorkerError> {
        let mut window = self.arrivals.window();
        // Workers that were late the last time may have applied the request since. They hand over again only after that
        // window is taken.
        collect(&self.handles, &mut window);
        for (index, handle) in self.handles.iter_mut().enumerate() {
            handle.request(queue_depth(index, handle.queue_depth));
        }
        self.wake_resting();
        self.await_obedience()?;
        Ok(self.collect(window))
    }

    /// Adds what was handed over, and what became due until then, to a window.
    fn collect(&mut self, mut window: Window) -> Window {
        collect(&self.handles, &mut window);
        self.arrivals.count(&mut window);
        window.ended_ns = self.clock.now_ns();
        window
    }
}

/// Returns a worker's result. If its thread panicked, the panic continues here.
fn join_worker(join: JoinHandle<Result<(), WorkerError>>) -> Result<(), WorkerError> {
    match join.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

impl WorkerPool for ThreadPool {
    fn advance(&mut self, ns: u64) -> Result<(), WorkerError> {
        let until_ns = self.clock.now_ns() + ns;
        loop {
            let rest_ns = until_ns.saturating_sub(self.clock.now_ns());
            if rest_ns == 0 || self.finished() {
                return self.failed_worker();
            }
            self.failed_worker()?;
            std::thread::sleep(Duration::from_nanos(rest_ns.min(LOOK_NS)));
        }
    }

    fn take_window(&mut self) -> Result<Window, WorkerError> {
        self.change(|_, queue_depth| queue_depth)
    }

    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        let missing = match self.plans.as_slice() {
            [plan] => plan.workers_for(queue_depth).saturating_sub(self.handles.len() as u32),
            // With several jobs, each keeps its own queue depth.
            _ => 0,
        };
        // If the system refuses another thread, the existing ones continue.
        let refused = missing > 0 && self.start_more(missing).is_err();
        if refused {
            self.most_depth = Some(self.handles.len() as u32);
        }
        let queue_depth = self.most_depth.map_or(queue_depth, |most| most.min(queue_depth));
        let workers = self.handles.len() as u32;
        self.change(|index, _| share(queue_depth, workers, index as u32))
    }

    /// False for several jobs, because their shares of the load would change; for jobs whose I/Os depend on the number
    /// of workers; and if there is already one worker for each outstanding I/O or for each processor that the workers
    /// may run on.
    fn could_add_worker(&self) -> bool {
        let fits = matches!(self.plans.as_slice(), [plan] if plan.takes_more_workers());
        fits && (self.handles.len() as u32) < self.processors().min(self.queue_depth())
    }

    /// Also returns `None` if the system refuses another thread, ring or buffer. The existing workers then continue
    /// without it.
    fn add_worker(&mut self) -> Result<Option<Window>, WorkerError> {
        let (workers, queue_depth) = (self.handles.len() as u32, self.queue_depth());
        if !self.could_add_worker() || self.start_more(1).is_err() {
            return Ok(None);
        }
        self.change(|index, _| share(queue_depth, workers + 1, index as u32)).map(Some)
    }

    fn set_rate(&mut self, rate_iops: Option<f64>) -> Result<Window, WorkerError> {
        self.arrivals.set_rate(rate_iops, self.clock.now_ns());
        self.take_window()
    }

    fn take_pauses(&mut self) -> Paused {
        self.heartbeat.take()
    }

    /// If there are fewer processors than workers, the workers wait for each other. That is a property of the load.
    fn starvation(&self) -> Option<Starvation> {
        let fit = self.handles.len() as u32 <= self.processors();
        Some(self.starvation.read(if fit { Waiting::Workers } else { Waiting::Ignored }))
    }

    fn watch_queues(&mut self, queues: DeviceQueues) {
        self.queues = Some(queues);
    }

    fn queue(&self) -> Option<(QueueReading, QueueLimit)> {
        let queues = self.queues.as_ref()?;
        Some((queues.read()?, queues.limit(self.controls().len())))
    }

    fn hold_back_arrivals(&mut self, holds: bool) {
        self.arrivals.hold_back(holds, self.clock.now_ns());
    }

    fn begin_logs(&mut self) {
        if let Some(logs) = &self.logs {
            logs.begin();
        }
    }

    fn end_logs(&mut self) {
        if let Some(logs) = &self.logs {
            logs.end();
        }
    }

    fn found_fatal(&self) -> bool {
        self.plans.iter().any(JobPlan::found_fatal)
    }

    fn finish_logs(&mut self) -> LogWaits {
        self.logs.as_mut().map(LogWriter::finish).unwrap_or_default()
    }

    fn stop(&mut self) -> Result<Window, WorkerError> {
        for handle in &self.handles {
            handle.control.request_stop();
        }
        self.wake_resting();
        self.await_obedience()?;
        self.await_ends();
        for thread in &mut self.threads {
            if let Some(join) = thread.join.take() {
                join_worker(join)?;
            }
        }
        let window = self.arrivals.window();
        Ok(self.collect(window))
    }

    fn controls(&self) -> &[WorkerHandle] {
        &self.handles
    }

    fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn most_depth(&self) -> Option<u32> {
        self.most_depth
    }

    fn hurry_when(&mut self, wanted: Arc<AtomicBool>) {
        self.hurry = Some(wanted);
    }

    fn left_behind(&self) -> &[String] {
        &self.left_behind
    }
}

impl Drop for ThreadPool {
    /// Ends all threads, except those that cannot be ended: see `await_ends`.
    fn drop(&mut self) {
        for handle in &self.handles {
            handle.control.request_stop();
        }
        self.wake_resting();
        self.await_ends();
        for join in self.threads.iter_mut().filter_map(|thread| thread.join.take()) {
            let _ = join.join();
        }
    }
}

/// Runs a worker thread: creates its engine, reports that it is ready, and takes turns until the worker ends.
fn work(
    engine: EngineKind,
    setup: &Setup,
    assignment: Assignment,
    ready: &Sender<Ready>,
) -> Result<(), WorkerError> {
    if let Err(error) = Domain::confine_worker() {
        return refuse(error.into(), ready);
    }
    // Before anything is allocated, so that memory is near the processor.
    if let Err(error) = place(&assignment.load, assignment.number) {
        return refuse(error, ready);
    }
    let pool = assignment.pool().map_err(|source| WorkerError::Memory {
        slots: assignment.max_depth,
        block_bytes: assignment.load.block.largest(),
        source,
    });
    let pool = match pool {
        Ok(pool) => pool,
        Err(error) => return refuse(error, ready),
    };
    match engine {
        EngineKind::IoUring => match Uring::new(setup, &pool) {
            Ok(engine) => run(engine, pool, assignment, ready),
            Err(error) => refuse(error.into(), ready),
        },
        EngineKind::Libaio => match Libaio::new(setup) {
            Ok(engine) => run(engine, pool, assignment, ready),
            Err(error) => refuse(error.into(), ready),
        },
        EngineKind::Mmap => match Mmap::new(setup) {
            Ok(engine) => run(engine, pool, assignment, ready),
            Err(error) => refuse(error.into(), ready),
        },
        EngineKind::Psync => run(Psync::new(setup), pool, assignment, ready),
        EngineKind::Null => run(Null::new(setup.max_depth), pool, assignment, ready),
        // Simulated devices have their own worker pool; here their clock would not advance.
        EngineKind::Sim => {
            let source = std::io::ErrorKind::Unsupported.into();
            refuse(EngineError { engine: "sim", call: "start on threads", source }.into(), ready)
        }
    }
}

fn refuse(error: WorkerError, ready: &Sender<Ready>) -> Result<(), WorkerError> {
    let _ = ready.send(Err(error));
    Ok(())
}

fn run<E: Engine>(
    engine: E,
    pool: BufferPool,
    assignment: Assignment,
    ready: &Sender<Ready>,
) -> Result<(), WorkerError> {
    let mut worker = Worker::new(engine, pool, assignment);
    // Lets sleeps before an arrival end on time, not 50 µs late.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let _ = ready.send(Ok(rustix::thread::gettid()));
    let result = loop {
        match worker.turn() {
            Ok(Turn::Going) => {}
            Ok(Turn::Resting) => {
                std::thread::park_timeout(Duration::from_millis(50));
            }
            Ok(Turn::Finished) => break Ok(()),
            Err(error) => break Err(WorkerError::Engine(error)),
        }
    };
    worker.finish();
    result
}

/// Returns the signal that ends a worker's wait in the kernel and does nothing else.
fn wake_signal() -> i32 {
    libc::SIGRTMIN() + 7
}

/// Installs the empty signal handler, once.
fn allow_wakes() {
    extern "C" fn nothing(_signal: i32) {}
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // SAFETY: a zeroed sigaction is valid, and the handler does nothing. Without SA_RESTART, the interrupted call
        // returns.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            libc::sigaction(wake_signal(), &raw const action, std::ptr::null_mut());
        }
    });
}

/// Wakes a thread of this process from a blocking system call.
fn wake(thread_id: rustix::process::Pid) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    let thread = thread_id.as_raw_nonzero().get();
    // SAFETY: tgkill takes only numbers. For a thread that has ended it returns an error, which is harmless.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, wake_signal()) };
}
