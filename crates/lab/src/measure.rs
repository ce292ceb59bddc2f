//! One step: let it run for its time, and make a result of what the workers wrote down.

use crate::error::LabError;
use crate::estimates::{self, Which};
use crate::history::UtcTime;
use crate::observe::{Interrupt, Observer, Phase, Place, Status};
use crate::series::Series;
use crate::steadiness::regimes;
use iogauge_io::crew::Crew;
use iogauge_io::engine::Op;
use iogauge_io::system::{Counters, Logical, ProcessCpu, Sampler};
use iogauge_io::worker::accounting::{Tally, Window};
use iogauge_io::worker::control::IoFault;
use iogauge_model::Step;
use iogauge_model::result::{
    CpuUse, DirectionResult, Estimate, IntervalPoint, JobResult, StepResult, WorkerResult,
};

/// Time between two looks at the workers.
pub(crate) const TICK_NS: u64 = 100_000_000;

/// A measured step.
#[derive(Debug)]
pub struct Measured {
    /// Its figures.
    pub result: StepResult,
    /// True where it ended before its time.
    pub interrupted: bool,
    /// The first I/O that failed.
    pub fault: Option<IoFault>,
    /// What engines had to give up.
    pub fallbacks: Vec<String>,
    /// Workers at work.
    pub workers: usize,
}

/// What a measurement reports to and obeys.
pub struct Watch<'a> {
    /// Sees the progress.
    pub observer: &'a mut dyn Observer,
    /// Ends it.
    pub interrupt: &'a Interrupt,
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("interrupt", self.interrupt).finish_non_exhaustive()
    }
}

/// Runs a step on a crew that was just started with its jobs. `sampler` watches the machine; a
/// simulated target has none. A step without ramp counts from the first I/O on: who starts its crew
/// has told the observer that the window begins.
///
/// # Errors
/// Where a worker's engine fails.
pub fn step(
    crew: &mut dyn Crew,
    step: &Step,
    mut sampler: Option<&mut Sampler>,
    watch: &mut Watch<'_>,
) -> Result<Measured, LabError> {
    if step.ramp_ns > 0 || !crew.has_begun() {
        ramp(crew, step.ramp_ns, watch)?;
    }
    if step.ramp_ns > 0 {
        watch.observer.window_begins();
    }
    let before = mark(&mut sampler)?;
    let began = UtcTime::now();
    let cpu_before = crew.cpu();
    let mut series = Series::new();
    let jobs = if step.jobs.len() > 1 { step.jobs.len() } else { 0 };
    let mut job_series: Vec<Series> = (0..jobs).map(|_| Series::new()).collect();
    let mut total = Window::default();
    let mut tally = |window: &Window| {
        series.push(window);
        for (job, series) in job_series.iter_mut().enumerate() {
            series.push(&window.of_job(job as u32));
        }
        total.append(window);
    };
    let whole = run_for(crew, step.runtime_ns, Phase::Measuring, watch, &mut tally)?;
    // The machine's counters belong to the window that has just ended, not to the draining.
    let after = mark(&mut sampler)?;
    let place = Place { depth: step.depth(), rate_iops: rate_of(step) };
    let ends_by_itself = step.jobs.iter().any(|job| job.load.ends_by_itself());
    let is_over = crew.finished() && ends_by_itself;
    if !is_over {
        watch.observer.window_ends(&total, place);
    }
    let workers = crew.workers();
    let tail = crew.stop()?;
    if crew.finished() && ends_by_itself {
        // A job that ends by itself counts all its I/Os.
        total.append(&tail);
    }
    if is_over {
        watch.observer.window_ends(&total, place);
    }
    let windows = Seen { ios: total.ios(), bytes: total.bytes(), seconds: total.seconds() };
    if let Some(summed_up) = crew.summed_up() {
        total = summed_up;
    }
    let fallbacks = crew.fallbacks();
    let mut result = result(step, &total, series.into_points());
    // A simulated device has a clock of its own.
    result.began = sampler.is_some().then(|| began.to_string());
    if !crew.tells_workers_apart() {
        // Another program's workers, which it does not tell apart.
        result.workers.clear();
    }
    let job_series = job_series.into_iter().map(Series::into_points);
    result.jobs = job_series.enumerate().map(|(job, s)| job_result(step, job, &total, s)).collect();
    if let (Some(sampler), Some(before), Some(after)) = (sampler, before, after) {
        let totals = after.since(&before, Logical { ios: windows.ios, bytes: windows.bytes });
        result.physical = totals.physical;
        let used = crew.cpu().zip(cpu_before).map(|(after, before)| after.since(&before));
        result.cpu = cpu_of(&totals.cpu, used, windows.seconds, windows.ios);
        result.system = sampler.points_between(&before, &after);
    }
    Ok(Measured {
        result,
        interrupted: !whole,
        fault: crew.fault().map(|(_, fault)| fault),
        fallbacks,
        workers,
    })
}

/// Lets a crew work for so long without counting what it does.
pub(crate) fn ramp(
    crew: &mut dyn Crew,
    duration_ns: u64,
    watch: &mut Watch<'_>,
) -> Result<(), LabError> {
    run_for(crew, duration_ns, Phase::Ramp, watch, &mut |_| {})?;
    crew.cut()?;
    Ok(())
}

/// What the windows between two marks of the machine hold.
struct Seen {
    ios: u64,
    bytes: u64,
    seconds: f64,
}

/// Processor use with the time of those who did the I/O, where they are not of this process.
pub(crate) fn cpu_of(cpu: &CpuUse, used: Option<ProcessCpu>, seconds: f64, ios: u64) -> CpuUse {
    let Some(used) = used else { return *cpu };
    let percent = |ns: u64| if seconds > 0.0 { ns as f64 / 1e7 / seconds } else { 0.0 };
    CpuUse {
        user_percent: percent(used.user_ns),
        system_percent: percent(used.system_ns),
        ns_per_io: if ios > 0 { used.total_ns() as f64 / ios as f64 } else { 0.0 },
        // Nobody told how long they waited for a processor.
        wait_percent: 0.0,
        ..*cpu
    }
}

fn mark(sampler: &mut Option<&mut Sampler>) -> Result<Option<Counters>, LabError> {
    Ok(sampler.as_mut().map(|s| s.mark()).transpose()?)
}

/// Lets the crew work for so long, a tick at a time; false where it was interrupted.
fn run_for(
    crew: &mut dyn Crew,
    duration_ns: u64,
    phase: Phase,
    watch: &mut Watch<'_>,
    see: &mut dyn FnMut(&Window),
) -> Result<bool, LabError> {
    let end_ns = crew.now_ns().saturating_add(duration_ns);
    let goes_on = |crew: &dyn Crew| match phase {
        Phase::Measuring if crew.keeps_its_time() => true,
        _ => crew.now_ns() < end_ns || !crew.has_begun(),
    };
    while goes_on(crew) && !crew.finished() {
        if watch.interrupt.is_set() {
            return Ok(false);
        }
        crew.advance(TICK_NS.min(end_ns.saturating_sub(crew.now_ns())))?;
        let window = crew.cut()?;
        see(&window);
        watch.observer.status(&Status {
            phase,
            depth: crew.live().outstanding,
            iops: window.iops(),
            bytes_per_sec: window.bytes_per_sec(),
            latency_mean_ns: window.service().mean_ns(),
            limits: &[],
            left_ns: Some(end_ns.saturating_sub(crew.now_ns())).filter(|ns| *ns < 1 << 60),
        });
    }
    Ok(true)
}

/// The rate all jobs of a step ask together, where each asks one.
fn rate_of(step: &Step) -> Option<f64> {
    step.jobs.iter().map(|job| job.load.arrivals.map(|arrivals| arrivals.rate_iops)).sum()
}

/// The figures of a window as a step's result, without those of the machine.
fn result(step: &Step, total: &Window, series: Vec<IntervalPoint>) -> StepResult {
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
            depth_achieved: worker.depth_integral as f64 / elapsed,
            iops: worker.ios as f64 * 1e9 / elapsed,
        }
    });
    StepResult {
        label: step.label.clone(),
        depth: step.depth(),
        depth_achieved: total.depth(),
        rate_iops: rate_of(step),
        seconds,
        began: None,
        read: direction(Op::Read),
        write: direction(Op::Write),
        sync: direction(Op::Sync),
        jobs: Vec::new(),
        workers: workers.collect(),
        physical: None,
        cpu: CpuUse::default(),
        regimes: regimes(&series),
        series,
        system: Vec::new(),
        verify: None,
        database: None,
        fio: None,
        trace: None,
    }
}

/// One job's share of the figures of a window.
fn job_result(step: &Step, job: usize, total: &Window, series: Vec<IntervalPoint>) -> JobResult {
    let window = total.of_job(job as u32);
    let direction = |op: Op| direction(window.tally(op), op, window.seconds(), &series);
    JobResult {
        name: step.jobs[job].name.clone(),
        seconds: Some(window.seconds()),
        depth: step.jobs[job].load.depth(),
        depth_achieved: window.depth(),
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
        // Response and service time differ by the wait for a slot; intervals keep sums of the
        // latter only, so the interval is scaled.
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
