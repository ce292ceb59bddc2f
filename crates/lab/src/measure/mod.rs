//! Measurement of one step: runs it for its time and computes the result from the workers' records.

pub(crate) mod estimates;
pub(crate) mod hosts;
pub mod process_pauses;
pub(crate) mod series;
pub(crate) mod steadiness;
mod steady_state;
pub(crate) mod straggler;

use self::estimates::Which;
use crate::error::{LabError, VerifyStateError};
use crate::history::UtcTime;
use crate::measure::hosts::Times;
use crate::measure::process_pauses::Pauses;
use crate::measure::series::Series;
use crate::measure::steadiness::shifts;
use crate::measure::steady_state::SteadyWatch;
use crate::observe::{self, Interrupt, Observer, Phase, Setting, Status};
use iogauge_io::engine::Op;
use iogauge_io::logs::LogWaits;
use iogauge_io::machine::{Counters, Logical, ProcessCpu, Sampler};
use iogauge_io::pool::WorkerPool;
use iogauge_io::worker::accounting::{HostWindow, Tally, Window};
use iogauge_io::worker::control::IoFault;
use iogauge_model::Step;
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::result::{
    CpuUse, DirectionResult, Estimate, HostResult, IntervalPoint, JobResult, StepResult,
    WorkerResult, share_with_kernel,
};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Interval between two checks of the workers.
pub(crate) const TICK_NS: u64 = 100_000_000;

/// A measured step.
#[derive(Debug)]
pub struct Measured {
    pub result: StepResult,
    /// True if it ended early.
    pub interrupted: bool,
    /// True if its workers had ended before their time was over, although nothing in their jobs ends them.
    pub ended_early: bool,
    /// The first I/O that failed.
    pub fault: Option<IoFault>,
    /// Workers that could not be ended.
    pub left_behind: Vec<String>,
    /// Features that engines had to do without.
    pub fallbacks: Vec<String>,
    /// Number of workers.
    pub workers: usize,
    /// What each of several hosts did; empty if there is one.
    pub(crate) hosts: Vec<HostWindow>,
    /// Why workers were lost early.
    pub losses: Vec<String>,
    /// Number of I/Os that failed in the ramp.
    pub failed_before: u64,
    /// Pauses, during the measurement, of the process that does the I/O.
    pub pauses: Pauses,
    /// How long workers waited for their logs.
    pub log_waits: LogWaits,
    /// Files with what the jobs have written, or why one is not there.
    pub saved_states: Vec<Result<PathBuf, VerifyStateError>>,
}

/// Observer and interrupt of a measurement.
pub struct Watch<'a> {
    /// Receives the progress.
    pub observer: &'a mut dyn Observer,
    /// Ends the measurement.
    pub interrupt: &'a Interrupt,
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("interrupt", self.interrupt).finish_non_exhaustive()
    }
}

/// Runs a step on a pool that was just started with its jobs. `sampler` watches the machine; a simulated target has
/// none. A step without a ramp counts from the first I/O on. The caller must call
/// [`Observer::window_begins`] when it starts the pool.
///
/// # Errors
/// If a worker's engine fails.
pub fn step(
    pool: &mut dyn WorkerPool,
    step: &Step,
    sampler: Option<&mut Sampler>,
    watch: &mut Watch<'_>,
) -> Result<Measured, LabError> {
    let mut failed_before = 0;
    if step.ramp_ns > 0 || !pool.has_begun() {
        failed_before = ramp(pool, step.ramp_ns, watch)?;
    }
    if step.ramp_ns > 0 {
        watch.observer.window_begins();
    }
    // A simulated device has its own clock.
    let mut machine = sampler.map(|sampler| Machine::begin(sampler, pool)).transpose()?;
    let mut account = Account::begin(step);
    let mut looks = Looks::begin();
    let mut steady = SteadyWatch::begin(step);
    let mut see = |window: &Window, pool: &dyn WorkerPool, observer: &mut dyn Observer| {
        account.add(window);
        if looks.is_due() {
            observer.so_far(&mut || so_far(&account, machine.as_ref(), pool));
        }
        match steady.as_mut().is_some_and(|steady| steady.add(window)) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let mut pauses = Pauses::default();
    let whole = run_for(pool, step.runtime_ns, Phase::Measuring, watch, &mut pauses, &mut see)?;
    if !whole {
        // This process may be killed before the workers have ended.
        watch.observer.so_far(&mut || so_far(&account, machine.as_ref(), pool));
    }
    // The machine's counters belong to the window that has just ended, not to the draining.
    let after = machine.as_mut().map(Machine::mark).transpose()?;
    let place = Setting { queue_depth: step.queue_depth(), rate_iops: rate_of(step) };
    let ends_by_itself = step.jobs.iter().any(|job| job.load.ends_by_itself());
    let is_over = pool.finished() && ends_by_itself;
    let ended_early = pool.finished() && !ends_by_itself;
    if !is_over {
        watch.observer.window_ends(&account.total, place);
    }
    let workers = pool.workers();
    let tail = pool.stop()?;
    let log_waits = pool.finish_logs();
    if pool.finished() && ends_by_itself {
        // All I/Os of a job that ends by itself count.
        account.total.append(&tail);
    }
    if is_over {
        watch.observer.window_ends(&account.total, place);
    }
    let windows = Stretch::of(&account.total, &pauses);
    if let Some(summed_up) = pool.summed_up() {
        // The pool's own totals include the errors of the ramp, and pauses.
        failed_before = 0;
        if pauses.paused.times == 0 {
            account.total = summed_up;
        }
    }
    let fallbacks = pool.fallbacks();
    let mut result = account.result(pool);
    let hosts = std::mem::take(&mut account.total.hosts);
    result.steady_state = steady.map(|steady| Box::new(steady.into_result()));
    if let Some(machine) = machine {
        machine.tell(&mut result, after.as_ref(), &windows, pool);
    }
    Ok(Measured {
        result,
        interrupted: !whole,
        ended_early,
        fault: pool.fault().map(|(_, fault)| fault),
        left_behind: pool.left_behind().to_vec(),
        fallbacks,
        workers,
        hosts,
        losses: pool.losses(),
        failed_before,
        pauses,
        log_waits,
        saved_states: Vec::new(),
    })
}

/// When to save the results so far of a running step. The longer it runs, the less often, so that what is written stays
/// small compared with the result.
struct Looks {
    begin: Instant,
    next: Duration,
}

impl Looks {
    const FIRST: Duration = Duration::from_secs(5);
    const LONGEST: Duration = Duration::from_secs(3600);

    fn begin() -> Self {
        Self { begin: Instant::now(), next: Self::FIRST }
    }

    fn is_due(&mut self) -> bool {
        let passed = self.begin.elapsed();
        let due = passed >= self.next;
        if due {
            self.next = passed + (passed / 8).clamp(Self::FIRST, Self::LONGEST);
        }
        due
    }
}

/// The windows of a step so far.
struct Account<'a> {
    step: &'a Step,
    series: Series,
    /// A series for each job, if there are several.
    jobs: Vec<Series>,
    total: Window,
}

impl<'a> Account<'a> {
    fn begin(step: &'a Step) -> Self {
        let jobs = if step.jobs.len() > 1 { step.jobs.len() } else { 0 };
        let jobs = (0..jobs).map(|_| Series::new()).collect();
        Self { step, series: Series::new(), jobs, total: Window::default() }
    }

    fn add(&mut self, window: &Window) {
        self.series.push(window);
        for (job, series) in self.jobs.iter_mut().enumerate() {
            series.push(&window.of_job(job as u32));
        }
        self.total.append(window);
    }

    fn result(&self, pool: &dyn WorkerPool) -> StepResult {
        let Self { step, series, jobs, total } = self;
        let mut result = result(step, total, series.points().to_vec());
        if !pool.tells_workers_apart() {
            // Workers of another program, which does not report them one by one.
            result.workers.clear();
        }
        let latencies = hosts::latencies(total, Times::Response);
        result.hosts = hosts::results(total, pool.host_names(), &latencies);
        let jobs = jobs.iter().map(|series| series.points().to_vec()).enumerate();
        result.jobs = jobs.map(|(job, series)| job_result(step, job, total, series)).collect();
        pool.complete(total, &mut result);
        result
    }
}

/// Returns the result so far of a running step. If the machine cannot be read, its figures are missing; the reason is
/// reported at the end.
fn so_far(
    account: &Account<'_>,
    machine: Option<&Machine<'_>>,
    pool: &dyn WorkerPool,
) -> StepResult {
    let after = machine.and_then(|machine| machine.sampler.look().ok());
    let mut result = account.result(pool);
    if let Some(machine) = machine {
        let seen = Stretch::of(&account.total, &Pauses::default());
        machine.tell(&mut result, after.as_ref(), &seen, pool);
    }
    result
}

/// The machine at the start of a step.
pub(crate) struct Machine<'a> {
    sampler: &'a mut Sampler,
    before: Counters,
    began: UtcTime,
    cpu_before: Option<ProcessCpu>,
    polled_ns_before: u64,
}

impl<'a> Machine<'a> {
    pub(crate) fn begin(sampler: &'a mut Sampler, pool: &dyn WorkerPool) -> Result<Self, LabError> {
        let before = sampler.mark()?;
        let polled_ns_before = pool.live().polled_ns;
        let (began, cpu_before) = (UtcTime::now(), pool.cpu());
        Ok(Self { sampler, before, began, cpu_before, polled_ns_before })
    }

    /// Reads the machine.
    pub(crate) fn mark(&mut self) -> Result<Counters, LabError> {
        Ok(self.sampler.mark()?)
    }

    /// Adds to a result what the machine did until `after`. `windows` are the I/Os of the same time.
    pub(crate) fn tell(
        &self,
        result: &mut StepResult,
        after: Option<&Counters>,
        windows: &Stretch,
        pool: &dyn WorkerPool,
    ) {
        result.began = Some(self.began.to_string());
        let Some(after) = after else { return };
        let totals = after.since(&self.before, logical(windows.ios, windows.bytes, &result.hosts));
        result.physical = totals.physical;
        let used = pool.cpu().zip(self.cpu_before).map(|(after, before)| after.since(&before));
        result.cpu = cpu_of(&totals.cpu, used, windows.seconds, windows.ios);
        let polled_ns = pool.live().polled_ns.saturating_sub(self.polled_ns_before);
        result.cpu.polled_percent = polled_percent(polled_ns, windows.seconds);
        result.system = self.sampler.points_between(&self.before, after);
    }
}

/// Runs a pool for a time without counting its I/Os. Returns how many failed.
pub(crate) fn ramp(
    pool: &mut dyn WorkerPool,
    duration_ns: u64,
    watch: &mut Watch<'_>,
) -> Result<u64, LabError> {
    let pauses = &mut Pauses::default();
    let mut failed = 0;
    let mut see = |window: &Window, _: &dyn WorkerPool, _: &mut dyn Observer| {
        failed += window.errors();
        ControlFlow::Continue(())
    };
    run_for(pool, duration_ns, Phase::Ramp, watch, pauses, &mut see)?;
    pool.begin_logs();
    Ok(failed + pool.take_window()?.errors())
}

/// Returns the I/Os of which the machine's counters know: those of hosts with this kernel.
pub(crate) fn logical(ios: u64, bytes: u64, hosts: &[HostResult]) -> Logical {
    let share = share_with_kernel(hosts);
    Logical { ios: (ios as f64 * share) as u64, bytes: (bytes as f64 * share) as u64 }
}

/// I/Os between two readings of the machine: those of the windows and those left out.
pub(crate) struct Stretch {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
}

impl Stretch {
    fn of(total: &Window, pauses: &Pauses) -> Self {
        Self {
            ios: total.ios() + pauses.ios,
            bytes: total.bytes() + pauses.bytes,
            seconds: total.seconds(),
        }
    }
}

/// Returns the processor use with the time of those who did the I/O, if they are not part of this process.
pub(crate) fn cpu_of(cpu: &CpuUse, used: Option<ProcessCpu>, seconds: f64, ios: u64) -> CpuUse {
    let Some(used) = used else { return *cpu };
    let percent = |ns: u64| if seconds > 0.0 { ns as f64 / 1e7 / seconds } else { 0.0 };
    CpuUse {
        user_percent: percent(used.user_ns),
        system_percent: percent(used.system_ns),
        ns_per_io: if ios > 0 { used.total_ns() as f64 / ios as f64 } else { 0.0 },
        // Their wait for a processor is unknown.
        wait_percent: 0.0,
        ..*cpu
    }
}

/// Returns the time spent polling for arrivals, in percent of one processor.
pub(crate) fn polled_percent(polled_ns: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { polled_ns as f64 / 1e7 / seconds } else { 0.0 }
}

/// Time left out of a step that is added even if the step is shorter.
const LEAST_PATIENCE_NS: u64 = 2_000_000_000;

/// Sees the window of each tick, and may end the run.
type See<'a> = &'a mut dyn FnMut(&Window, &dyn WorkerPool, &mut dyn Observer) -> ControlFlow<()>;

/// Runs the pool for `duration_ns`, one tick at a time, or until `see` ends it. Returns false if it was interrupted.
/// Time left out because of pauses is added, as long as iogauge itself ran for at most `duration_ns` of it, or for two
/// seconds: a short step on a busy machine would have no window left.
fn run_for(
    pool: &mut dyn WorkerPool,
    duration_ns: u64,
    phase: Phase,
    watch: &mut Watch<'_>,
    pauses: &mut Pauses,
    see: See<'_>,
) -> Result<bool, LabError> {
    let begin_ns = pool.now_ns();
    let ends_by_time = duration_ns < LONGEST_NS;
    let mut end_ns = begin_ns.saturating_add(duration_ns);
    let goes_on = |pool: &dyn WorkerPool, window_end_ns: u64, end_ns: u64| match phase {
        Phase::Measuring if pool.keeps_its_time() => true,
        _ => window_end_ns < end_ns || !pool.has_begun(),
    };
    let (mut since_ns, mut window_end_ns) = (begin_ns, begin_ns);
    while goes_on(pool, window_end_ns, end_ns) && !pool.finished() {
        if watch.interrupt.is_set() {
            return Ok(false);
        }
        let left_ns = end_ns.saturating_sub(pool.now_ns() + pool.window_delay_ns());
        pool.advance(TICK_NS.min(left_ns))?;
        window_end_ns = pool.now_ns() + pool.window_delay_ns();
        // After a pause, more windows may follow.
        if phase == Phase::Measuring
            && (end_ns..end_ns.saturating_add(TICK_NS)).contains(&window_end_ns)
        {
            pool.end_logs();
        }
        let window = pool.take_window()?;
        let paused = pauses.leave_out(pool, &window, since_ns, watch.interrupt)?;
        since_ns = pool.now_ns();
        if paused {
            if pauses.worked_ns() <= duration_ns.max(LEAST_PATIENCE_NS) {
                let left_out_ns = pauses.left_out_ns;
                end_ns = begin_ns.saturating_add(duration_ns).saturating_add(left_out_ns);
            }
            continue;
        }
        let goes_on = see(&window, pool, watch.observer).is_continue();
        watch.observer.status(&Status {
            phase,
            queue_depth: pool.live().outstanding,
            iops: window.iops(),
            bytes_per_sec: window.bytes_per_sec(),
            by_direction: observe::by_direction(&window),
            latency_mean_ns: window.service().mean_ns(),
            limits: &[],
            left_ns: ends_by_time.then(|| end_ns.saturating_sub(pool.now_ns())),
            total_ns: ends_by_time.then_some(end_ns.saturating_sub(begin_ns)),
        });
        if !goes_on {
            break;
        }
    }
    Ok(true)
}

/// Returns the rate of all jobs of a step together, if all I/Os of each have one.
fn rate_of(step: &Step) -> Option<f64> {
    let rate = |job: &Job| {
        let arrivals = job.load.arrivals.filter(|arrivals| arrivals.only.is_none());
        arrivals.map(|arrivals| arrivals.rate_iops)
    };
    step.jobs.iter().map(rate).sum()
}

/// Returns the figures of a window as a step's result, without those of the machine.
pub(crate) fn result(step: &Step, total: &Window, series: Vec<IntervalPoint>) -> StepResult {
    let seconds = total.seconds();
    let direction = |op: Op| direction(total.tally(op), op, seconds, &series);
    let workers = total.workers.iter().enumerate().map(|(index, worker)| {
        let elapsed = (worker.elapsed_ns as f64).max(1.0);
        WorkerResult {
            job: worker.job,
            worker: index as u32,
            ios: worker.ios,
            bytes: worker.bytes,
            errors: worker.errors,
            queue_depth_achieved: worker.queue_depth_integral as f64 / elapsed,
            iops: worker.ios as f64 * 1e9 / elapsed,
        }
    });
    StepResult {
        label: step.label.clone(),
        queue_depth: step.queue_depth(),
        queue_depth_achieved: total.queue_depth(),
        rate_iops: rate_of(step),
        seconds,
        began: None,
        read: direction(Op::Read),
        write: direction(Op::Write),
        sync: direction(Op::Sync),
        jobs: Vec::new(),
        hosts: Vec::new(),
        workers: workers.collect(),
        physical: None,
        cpu: CpuUse::default(),
        limits: Vec::new(),
        shifts: shifts(&series),
        steady_state: None,
        series,
        system: Vec::new(),
        verify: None,
        database: None,
        fio: None,
        trace: None,
    }
}

/// Returns one job's part of the figures of a window.
fn job_result(step: &Step, job: usize, total: &Window, series: Vec<IntervalPoint>) -> JobResult {
    let window = total.of_job(job as u32);
    let direction = |op: Op| direction(window.tally(op), op, window.seconds(), &series);
    JobResult {
        name: step.jobs[job].name.clone(),
        seconds: Some(window.seconds()),
        queue_depth: step.jobs[job].load.queue_depth(),
        queue_depth_achieved: window.queue_depth(),
        read: direction(Op::Read),
        write: direction(Op::Write),
        sync: direction(Op::Sync),
        series,
    }
}

fn direction(
    tally: &Tally,
    op: Op,
    seconds: f64,
    series: &[IntervalPoint],
) -> Option<DirectionResult> {
    if tally.ios() + tally.errors == 0 {
        return None;
    }
    let per_sec = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let iops = estimates::iops(series, Which::Only(op), per_sec(tally.ios()));
    let mean = estimates::latency_mean(series, Which::Only(op), tally.service.mean_ns());
    let response_ns = tally.response.as_ref().map(|histogram| {
        // Response and service time differ by the wait for a slot. Intervals keep only sums of service times, so the CI
        // is scaled.
        let scale = histogram.mean_ns() / tally.service.mean_ns().max(1.0);
        let (mean_ns, ci95) = (histogram.mean_ns(), mean.ci95.map(|end| end * scale));
        estimates::latency_summary(histogram, &Estimate { mean: mean_ns, ci95, n: mean.n })
    });
    Some(DirectionResult {
        ios: tally.ios(),
        bytes: tally.bytes,
        errors: tally.errors,
        short: tally.short,
        iops,
        bytes_per_sec: per_sec(tally.bytes),
        service_ns: estimates::latency_summary(&tally.service, &mean),
        response_ns,
        service_histogram: tally.service.clone(),
        response_histogram: tally.response.clone(),
    })
}
