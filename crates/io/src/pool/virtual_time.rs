//! Workers on a simulated device: one thread, a clock that jumps, and results that the seed reproduces.

use super::{
    Arrivals, JobPlan, Parts, Paused, PoolJob, WorkerHandle, WorkerPool, collect, collect_hosts,
    shares,
};
use crate::engine::sim::{Sim, World};
use crate::logs::{LogWaits, LogWriter};
use crate::machine::{QueueLimit, QueueReading, Starvation};
use crate::offsets::mix64;
use crate::sim::{Absence, DeviceSlot, SimSpec};
use crate::verify::JobVerify;
use crate::worker::accounting::Window;
use crate::worker::{Turn, Worker, WorkerError};
use iogauge_model::result::QueueBound;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// A worker pool in virtual time. A simulated second takes as long as its events: about a microsecond per I/O.
pub struct VirtualPool {
    world: Rc<RefCell<World>>,
    workers: Vec<Worker<Sim>>,
    handles: Vec<WorkerHandle>,
    arrivals: Arrivals,
    /// Part of each of the device's hosts.
    parts: Parts,
    /// The workers of each host that takes part.
    hosts: Vec<Vec<usize>>,
    /// Names of the hosts that take part, if the device has several.
    host_names: Vec<String>,
    /// The workers that share a schedule with each worker, and when each has something to do without a completion;
    /// `u64::MAX` for never.
    siblings: Vec<Range<usize>>,
    due_ns: Vec<u64>,
    /// State of each worker after its last turn.
    turns: Vec<Turn>,
    pauses: Option<Absences>,
    /// Pauses that were not taken yet.
    paused: Paused,
    starvations: Option<Absences>,
    starved: Starvation,
    logs: Option<LogWriter>,
}

/// A host that takes part.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Number among those that take part, from 0.
    index: usize,
    /// Number among all.
    host: usize,
    /// Further time for an I/O to return.
    return_ns: u64,
}

/// Absences that the specification asks for.
struct Absences {
    each: Absence,
    /// Start of the next one.
    next_ns: u64,
}

impl Absences {
    fn of(each: Option<Absence>, begin_ns: u64) -> Option<Self> {
        each.map(|each| Self { each, next_ns: begin_ns.saturating_add(each.every_ns) })
    }

    /// Returns the end of an absence that begins now; `None` if none does.
    fn begins(absences: &mut Option<Self>, now_ns: u64) -> Option<u64> {
        let absences = absences.as_mut().filter(|absences| absences.next_ns <= now_ns)?;
        let Absence { every_ns, for_ns } = absences.each;
        let end_ns = now_ns.saturating_add(for_ns);
        absences.next_ns = end_ns.saturating_add(every_ns);
        Some(end_ns)
    }
}

impl std::fmt::Debug for VirtualPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VirtualPool").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
}

impl VirtualPool {
    /// Starts jobs on a new simulated device. The queue depth may later grow to `max_depth`.
    ///
    /// # Errors
    /// If a load does not fit the device.
    pub fn start(jobs: Vec<PoolJob>, spec: SimSpec, max_depth: u32) -> Result<Self, WorkerError> {
        Self::start_on(jobs, &DeviceSlot::new(spec), max_depth)
    }

    /// Starts jobs on a simulated device as the last worker pool left it, including its time. When this pool is
    /// dropped, its outstanding I/Os are completed without a report, and the next pool can use the device.
    ///
    /// # Errors
    /// If a load does not fit the device, or another pool has it.
    pub fn start_on(
        jobs: Vec<PoolJob>,
        slot: &DeviceSlot,
        max_depth: u32,
    ) -> Result<Self, WorkerError> {
        let jobs = jobs.into_iter().map(|job| (job, None)).collect();
        let parts = Parts::equal(slot.spec().hosts as usize);
        Self::start_verified(jobs, None, slot, parts, max_depth)
    }

    /// Same as [`Self::start_on`], for jobs some of which verify or write logs, and with these parts of the hosts. To
    /// verify, the device must keep its data.
    ///
    /// # Errors
    /// Same as [`Self::start_on`].
    pub fn start_verified(
        jobs: Vec<(PoolJob, Option<Arc<JobVerify>>)>,
        logs: Option<LogWriter>,
        slot: &DeviceSlot,
        parts: Parts,
        max_depth: u32,
    ) -> Result<Self, WorkerError> {
        let world = World::of(slot).ok_or(WorkerError::DeviceInUse)?;
        let begin_ns = world.borrow().now_ns();
        let (spec, count) = (slot.spec(), slot.spec().hosts as usize);
        let active: Vec<usize> = parts.active().collect();
        let named = active.iter().filter(|_| count > 1);
        let host_names = named.map(|host| format!("host-{}", host + 1)).collect();
        let largest = parts.of(max_depth).into_iter().max().unwrap_or(max_depth);
        let mut pool = Self {
            world,
            workers: Vec::new(),
            handles: Vec::new(),
            arrivals: Arrivals::default(),
            hosts: vec![Vec::new(); active.len()],
            parts,
            host_names,
            siblings: Vec::new(),
            due_ns: Vec::new(),
            turns: Vec::new(),
            pauses: Absences::of(spec.pause, begin_ns),
            paused: Paused::default(),
            starvations: Absences::of(spec.starve, begin_ns),
            starved: Starvation::default(),
            logs,
        };
        for (number, (job, verify)) in jobs.into_iter().enumerate() {
            let queue_depths = pool.parts.of(job.load.queue_depth());
            for (index, host) in active.iter().copied().enumerate() {
                let return_ns = if host > 0 && host + 1 == count { spec.far_host_ns } else { 0 };
                let place = Place { index, host, return_ns };
                let job = on_host(&job, host, &pool.parts);
                let plan = JobPlan::new(job, verify.clone(), number as u32, begin_ns);
                pool.add_workers(plan, place, queue_depths[host], largest)?;
            }
        }
        pool.arrivals.begin(begin_ns);
        pool.turn_all()?;
        Ok(pool)
    }

    /// Adds the workers of a job on a host. The host's queue depth may later grow to `max_depth`.
    fn add_workers(
        &mut self,
        mut plan: JobPlan,
        place: Place,
        queue_depth: u32,
        max_depth: u32,
    ) -> Result<(), WorkerError> {
        let count = plan.workers_for(queue_depth);
        let first = self.workers.len();
        self.arrivals.add(&plan);
        for depth_of_worker in shares(queue_depth, count) {
            let number = self.workers.len() as u32;
            let mut assignment = plan.assign(number, max_depth.max(queue_depth))?;
            let recorder = |logs: &mut LogWriter| logs.recorder(number, &assignment.load);
            assignment.recorder = self.logs.as_mut().and_then(recorder);
            let control = assignment.control.clone();
            let pool = assignment.pool().map_err(|source| WorkerError::Memory {
                slots: assignment.max_depth,
                block_bytes: assignment.load.block.largest(),
                source,
            })?;
            let engine = Sim::on_host(self.world.clone(), place.host as u32, place.return_ns);
            self.workers.push(Worker::new(engine, pool, assignment));
            let mut handle = WorkerHandle::new(plan.number, control);
            handle.request(depth_of_worker);
            self.handles.push(handle);
            self.hosts[place.index].push(number as usize);
        }
        let all = first..self.workers.len();
        self.siblings.extend(all.clone().map(|_| all.clone()));
        self.due_ns.resize(all.end, u64::MAX);
        self.turns.resize(all.end, Turn::Going);
        Ok(())
    }

    /// Repeats a worker's turn for as long as it would without time passing.
    fn turn(&mut self, index: usize) -> Result<(), WorkerError> {
        while self.turns[index] != Turn::Finished {
            self.turns[index] = self.workers[index].turn()?;
            if self.turns[index] == Turn::Finished {
                self.workers[index].finish();
            }
            if !self.workers[index].has_more_to_submit() && !self.has_enough(index) {
                break;
            }
        }
        let siblings = self.siblings[index].clone();
        self.note_due(siblings);
        Ok(())
    }

    /// Notes when these workers have something to do without a completion.
    fn note_due(&mut self, workers: Range<usize>) {
        for index in workers {
            self.due_ns[index] = self.workers[index].due_ns().unwrap_or(u64::MAX);
        }
    }

    /// Returns true if a worker waiting in the kernel would return.
    fn has_enough(&self, index: usize) -> bool {
        self.world.borrow().due(index as u32) >= self.workers[index].waits_for()
    }

    fn turn_all(&mut self) -> Result<(), WorkerError> {
        (0..self.workers.len()).try_for_each(|index| self.turn(index))
    }

    fn collect(&mut self) -> Window {
        let mut window = self.arrivals.window();
        match self.host_names.len() {
            0 => collect(&self.handles, &mut window),
            _ => collect_hosts(&self.handles, &self.hosts, &mut window),
        }
        window.ended_ns = self.now_ns();
        self.arrivals.count(&mut window);
        window
    }

    fn request_all(&mut self, queue_depth: impl Fn(usize, u32) -> u32) {
        for (index, handle) in self.handles.iter_mut().enumerate() {
            handle.request(queue_depth(index, handle.queue_depth));
        }
    }

    /// If an absence begins now, lets the device continue while no worker takes a turn.
    fn be_absent_if_due(&mut self) -> Result<(), WorkerError> {
        let now_ns = self.now_ns();
        let paused_until = Absences::begins(&mut self.pauses, now_ns);
        if let Some(end_ns) = paused_until {
            self.paused.add(Paused { times: 1, ns: end_ns - now_ns });
        }
        let starved_until = Absences::begins(&mut self.starvations, now_ns);
        if let Some(end_ns) = starved_until {
            self.starved.wait_ns += end_ns - now_ns;
            self.starved.others_ns += end_ns - now_ns;
        }
        let Some(end_ns) = paused_until.max(starved_until) else { return Ok(()) };
        while self.now_ns() < end_ns {
            self.world.borrow_mut().advance(end_ns);
        }
        self.turn_all()
    }

    /// Runs until `until_ns`, or until every worker has ended.
    fn run_until(&mut self, until_ns: u64) -> Result<(), WorkerError> {
        while self.now_ns() < until_ns && self.turns.contains(&Turn::Going) {
            let bound = self.due_ns.iter().fold(until_ns, |bound, due| bound.min(*due));
            let absences = self.pauses.iter().chain(&self.starvations);
            let bound = absences.fold(bound, |bound, absences| bound.min(absences.next_ns));
            let owners = self.world.borrow_mut().advance(bound);
            for owner in owners {
                if self.has_enough(owner as usize) {
                    self.turn(owner as usize)?;
                }
            }
            self.be_absent_if_due()?;
            let now = self.now_ns();
            for index in 0..self.workers.len() {
                if self.due_ns[index] <= now {
                    self.turn(index)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns a job as one of several hosts does it: with its part of the arrival rate and random numbers of its own.
fn on_host(job: &PoolJob, host: usize, parts: &Parts) -> PoolJob {
    let mut own = job.clone();
    if host > 0 {
        own.load.seed = mix64(job.load.seed ^ mix64((host as u64) << 32 | 4));
    }
    if let Some(arrivals) = &mut own.load.arrivals {
        arrivals.rate_iops = parts.of_rate(arrivals.rate_iops, host);
    }
    own
}

impl WorkerPool for VirtualPool {
    fn advance(&mut self, ns: u64) -> Result<(), WorkerError> {
        let until_ns = self.now_ns() + ns;
        let was_finished = self.finished();
        self.run_until(until_ns)?;
        if was_finished || !self.finished() {
            // Time also passes for resting workers, but the step ends with its last I/O.
            self.world.borrow_mut().advance_idle(until_ns);
        }
        Ok(())
    }

    fn take_window(&mut self) -> Result<Window, WorkerError> {
        self.request_all(|_, queue_depth| queue_depth);
        self.turn_all()?;
        Ok(self.collect())
    }

    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        let mut wanted = vec![0; self.handles.len()];
        let of_hosts = self.parts.of(queue_depth);
        for (host, members) in self.parts.active().zip(&self.hosts) {
            let of_host = of_hosts[host];
            for (index, depth) in members.iter().zip(shares(of_host, members.len() as u32)) {
                wanted[*index] = depth;
            }
        }
        self.request_all(|index, _| wanted[index]);
        self.turn_all()?;
        Ok(self.collect())
    }

    fn set_rate(&mut self, rate_iops: Option<f64>) -> Result<Window, WorkerError> {
        self.arrivals.set_rate(rate_iops, self.now_ns());
        self.take_window()
    }

    fn take_pauses(&mut self) -> Paused {
        std::mem::take(&mut self.paused)
    }

    fn starvation(&self) -> Option<Starvation> {
        self.starvations.as_ref().map(|_| self.starved)
    }

    fn queue(&self) -> Option<(QueueReading, QueueLimit)> {
        let (reading, most) = self.world.borrow().queue()?;
        let told_by = vec![format!("queue={most}")];
        let requests = u64::from(most);
        Some((reading, QueueLimit { bound: QueueBound { requests, told_by }, counted: requests }))
    }

    fn hold_back_arrivals(&mut self, holds: bool) {
        self.arrivals.hold_back(holds, self.now_ns());
        self.note_due(0..self.workers.len());
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

    fn finish_logs(&mut self) -> LogWaits {
        // Waits take no virtual time.
        self.logs.as_mut().map(LogWriter::finish);
        LogWaits::default()
    }

    fn stop(&mut self) -> Result<Window, WorkerError> {
        // Pauses and starvation stop when the workers end.
        (self.pauses, self.starvations) = (None, None);
        for handle in &self.handles {
            handle.control.request_stop();
        }
        self.turn_all()?;
        // Outstanding I/Os of a simulated device always complete.
        self.run_until(u64::MAX)?;
        Ok(self.collect())
    }

    fn controls(&self) -> &[WorkerHandle] {
        &self.handles
    }

    fn host_names(&self) -> &[String] {
        &self.host_names
    }

    fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    fn now_ns(&self) -> u64 {
        self.world.borrow().now_ns()
    }

    fn is_virtual(&self) -> bool {
        true
    }
}
