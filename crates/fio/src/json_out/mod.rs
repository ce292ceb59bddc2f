//! Writes a run as the JSON of fio 3.33, with the members that 3.42 added, for tools that read it.
//!
//! fio's `lat`, from before the submission to the completion, is what iogauge measures. It is written as
//! `lat_ns` and, as for those of fio's engines that submit and complete in one call, also as `clat_ns`;
//! `slat_ns` has no samples. Figures that iogauge does not count are 0.

mod direction;
mod steady_state;
mod tables;
mod time;

use super::options::{self, file_list};
use direction::{Direction, Flushes, Group};
use iogauge_model::caveat::Caveat;
use iogauge_model::load::EngineKind;
use iogauge_model::plan::Job;
use iogauge_model::result::{
    DeviceCounters, DirectionResult, Estimate, IntervalPoint, RunDocument, StepResult, TargetFacts,
    WorkerResult,
};
use iogauge_model::units::{size_word, time_word};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use steady_state::SteadyStateEntry;
use tables::Table;

/// Errno of an I/O error (errno(3)). Results count failures without their errno.
const EIO: u32 = 5;
/// Errno with which fio reports data that differs from what was written.
const EILSEQ: u32 = 84;
/// Unit of a device's counters.
const SECTOR_BYTES: u64 = 512;

/// How much of the latencies is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// `json`: statistics and percentiles.
    Percentiles,
    /// `json+`: every bucket too.
    Bins,
}

/// Why there is no document for a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonOutError {
    /// The document lacks the workloads that ran, or their number differs from that of the results.
    #[error("the run keeps no load for each of its results, without which fio's JSON says nothing")]
    NoLoads,
    /// The start time cannot be parsed.
    #[error("the run started at {0:?}, which is not a time; hint: use 2026-11-21T10:15:30Z")]
    Started(String),
}

/// The document.
#[derive(Debug, Serialize)]
pub struct FioDocument {
    #[serde(rename = "fio version")]
    fio_version: String,
    timestamp: i64,
    timestamp_ms: i64,
    time: String,
    #[serde(rename = "global options")]
    global_options: PrintedOptions,
    jobs: Vec<JobEntry>,
    disk_util: Vec<DiskUtil>,
    iogauge: Origin,
}

/// Data for which fio has no place.
#[derive(Debug, Serialize)]
struct Origin {
    version: String,
    run_id: String,
    caveats: Vec<Caveat>,
}

/// Options, in order.
#[derive(Debug)]
struct PrintedOptions(Vec<(&'static str, String)>);

impl Serialize for PrintedOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// One job: its workers together, as with fio's `group_reporting`.
#[derive(Debug, Serialize)]
struct JobEntry {
    jobname: String,
    groupid: u32,
    error: u32,
    eta: u32,
    elapsed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_start: Option<i64>,
    #[serde(rename = "job options")]
    job_options: PrintedOptions,
    read: Direction,
    write: Direction,
    trim: Direction,
    sync: Flushes,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    iodepth_level: Table,
    iodepth_submit: Table,
    iodepth_complete: Table,
    latency_ns: Table,
    latency_us: Table,
    latency_ms: Table,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_err: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_error: Option<u32>,
    latency_depth: u32,
    latency_target: u64,
    latency_target_ns: u64,
    latency_percentile: f64,
    latency_window: u64,
    latency_window_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    steadystate: Option<SteadyStateEntry>,
}

/// The I/O of a device.
#[derive(Debug, Default, PartialEq, Serialize)]
struct DiskUtil {
    name: String,
    read_ios: u64,
    write_ios: u64,
    read_merges: u64,
    write_merges: u64,
    read_sectors: u64,
    write_sectors: u64,
    read_ticks: u64,
    write_ticks: u64,
    in_queue: u64,
    util: f64,
}

/// Creates the document of a run. Each step is a group, and each of its jobs is an entry in it.
///
/// # Errors
/// Fails if the run does not contain the workload of each result, or its start time.
pub fn fio_document(run: &RunDocument, detail: Detail) -> Result<FioDocument, JsonOutError> {
    fio_document_on(run, &[], detail)
}

/// As [`fio_document`], with the target of each step. Steps after the last target have that of the run.
///
/// # Errors
/// As [`fio_document`].
pub fn fio_document_on(
    run: &RunDocument,
    targets: &[TargetFacts],
    detail: Detail,
) -> Result<FioDocument, JsonOutError> {
    let started = &run.head.started;
    let timestamp =
        time::unix_seconds(started).ok_or_else(|| JsonOutError::Started(started.clone()))?;
    let mut jobs = run.head.load.jobs_of_steps().into_iter();
    let seconds: f64 = run.steps.iter().map(|step| step.seconds).sum();
    let mut entries = Vec::new();
    for (group, step) in run.steps.iter().enumerate() {
        let mut outcomes = outcomes(step);
        let of_step = jobs.next().unwrap_or_default();
        // As in fio, jobs reported as one are described by the first of them.
        let is_sum = step.jobs.is_empty() && !of_step.is_empty();
        if !is_sum && of_step.len() != outcomes.len() {
            return Err(JsonOutError::NoLoads);
        }
        count_verification(step, &of_step, &mut outcomes);
        let target = targets.get(group).unwrap_or(&run.head.target);
        for (job, outcome) in of_step.iter().zip(&outcomes) {
            entries.push(JobEntry {
                groupid: group as u32,
                elapsed: seconds.ceil() as u64,
                ..entry(job, outcome, step, target, detail)
            });
        }
    }
    Ok(FioDocument {
        // This is how fio's own builds between releases are named, so that readers find a known version.
        fio_version: format!("fio-3.33-iogauge-{}", run.head.version),
        timestamp,
        timestamp_ms: timestamp * 1000,
        time: time::shown(timestamp),
        global_options: PrintedOptions(vec![("group_reporting", "1".to_owned())]),
        jobs: entries,
        disk_util: disk_util(&run.steps, seconds),
        iogauge: Origin {
            version: run.head.version.clone(),
            run_id: run.head.run_id.clone(),
            caveats: run.caveats.clone(),
        },
    })
}

/// The result of one job.
struct Outcome<'a> {
    seconds: f64,
    /// Time in which the reads took place.
    read_seconds: f64,
    read: Option<Cow<'a, DirectionResult>>,
    /// Units with wrong data.
    corrupted: u64,
    write: Option<&'a DirectionResult>,
    sync: Option<&'a DirectionResult>,
    series: &'a [IntervalPoint],
    workers: Vec<&'a WorkerResult>,
}

fn outcomes(step: &StepResult) -> Vec<Outcome<'_>> {
    if step.jobs.is_empty() {
        return vec![Outcome {
            seconds: step.seconds,
            read_seconds: step.seconds,
            read: step.read.as_ref().map(Cow::Borrowed),
            corrupted: 0,
            write: step.write.as_ref(),
            sync: step.sync.as_ref(),
            series: &step.series,
            workers: step.workers.iter().collect(),
        }];
    }
    let jobs = step.jobs.iter().zip(0..);
    jobs.map(|(job, number)| Outcome {
        seconds: job.seconds.unwrap_or(step.seconds),
        read_seconds: job.seconds.unwrap_or(step.seconds),
        read: job.read.as_ref().map(Cow::Borrowed),
        corrupted: 0,
        write: job.write.as_ref(),
        sync: job.sync.as_ref(),
        series: &job.series,
        workers: step.workers.iter().filter(|worker| worker.job == number).collect(),
    })
    .collect()
}

/// Adds the reads of the verification after a step to the reads of the jobs that verify, where fio counts them, and
/// what they found.
fn count_verification(step: &StepResult, jobs: &[Job], outcomes: &mut [Outcome<'_>]) {
    let Some(verify) = &step.verify else { return };
    if verify.jobs.len() == outcomes.len() {
        for (outcome, own) in outcomes.iter_mut().zip(&verify.jobs) {
            outcome.corrupted = own.corrupted;
            outcome.add_reads(own.read.as_deref(), verify.seconds);
        }
        return;
    }
    // Jobs reported as one, and results of earlier versions, have only totals.
    let mut verifying = jobs.iter().zip(outcomes).filter(|(job, _)| job.load.verify.is_some());
    let first = verifying.next();
    let is_only = verifying.next().is_none();
    if let Some((_, outcome)) = first {
        outcome.corrupted = verify.corrupted;
        outcome.add_reads(verify.read.as_deref().filter(|_| is_only), verify.seconds);
    }
}

impl Outcome<'_> {
    /// Adds the reads of a verification, which took this long.
    fn add_reads(&mut self, read_back: Option<&DirectionResult>, seconds: f64) {
        let Some(read_back) = read_back else { return };
        let Some(own) = &self.read else {
            self.read_seconds = seconds;
            self.read = Some(Cow::Owned(read_back.clone()));
            return;
        };
        self.read_seconds += seconds;
        let mut all = own.clone().into_owned();
        all.ios += read_back.ios;
        all.bytes += read_back.bytes;
        all.service_histogram.merge(&read_back.service_histogram);
        all.iops = Estimate::exact(all.ios as f64 / self.read_seconds.max(1e-9));
        all.bytes_per_sec = all.bytes as f64 / self.read_seconds.max(1e-9);
        self.read = Some(Cow::Owned(all));
    }
}

fn entry(
    job: &Job,
    outcome: &Outcome<'_>,
    step: &StepResult,
    target: &TargetFacts,
    detail: Detail,
) -> JobEntry {
    let runtime_ms = milliseconds(outcome.seconds);
    let group = |direction: &Option<DirectionResult>| Group {
        runtime_ms,
        bytes_per_sec: direction.as_ref().map_or(0.0, |direction| direction.bytes_per_sec),
        detail,
        load: &job.load,
    };
    let of_reads = Group { runtime_ms: milliseconds(outcome.read_seconds), ..group(&step.read) };
    let series = outcome.series;
    let read = outcome.read.as_deref();
    let all = [read, outcome.write, outcome.sync];
    let errors: u64 = all.into_iter().flatten().map(|direction| direction.errors).sum();
    let latency = tables::latency(read.into_iter().chain(outcome.write));
    // fio's CPU share is relative to the time of the job's threads; here the process's time is divided
    // evenly.
    let threads = step.workers.len().max(1) as f64;
    let corrupted = outcome.corrupted;
    let error = match (corrupted, errors) {
        (0, 0) => 0,
        (0, _) => EIO,
        _ => EILSEQ,
    };
    let errors = errors + corrupted;
    let began = step.began.as_deref().and_then(time::unix_seconds);
    JobEntry {
        jobname: job.name.clone(),
        groupid: 0,
        error,
        eta: 0,
        elapsed: 0,
        job_start: began.map(|seconds| seconds * 1000),
        job_options: job_options(job, outcome.seconds, target),
        read: Direction::of(read, series, &of_reads, direction::reads),
        write: Direction::of(outcome.write, series, &group(&step.write), direction::writes),
        trim: Direction::of(None, &[], &group(&None), direction::reads),
        sync: Flushes::of(outcome.sync, &group(&None)),
        job_runtime: runtime_ms * outcome.workers.len().max(1) as u64,
        usr_cpu: step.cpu.user_percent / threads,
        sys_cpu: step.cpu.system_percent / threads,
        ctx: 0,
        majf: 0,
        minf: 0,
        iodepth_level: tables::depth_level(&outcome.workers),
        iodepth_submit: tables::uncounted_batches(),
        iodepth_complete: tables::uncounted_batches(),
        latency_ns: latency.ns,
        latency_us: latency.us,
        latency_ms: latency.ms,
        total_err: (errors > 0).then_some(errors),
        first_error: (errors > 0).then_some(error),
        latency_depth: job.load.iodepth,
        latency_target: 0,
        latency_target_ns: 0,
        latency_percentile: 100.0,
        latency_window: 0,
        latency_window_us: 0,
        steadystate: step.steady_state.as_deref().map(SteadyStateEntry::of),
    }
}

fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

/// Returns the job as fio options. Its run time is the measured one, so that an interrupted run shows how
/// long it ran.
fn job_options(job: &Job, seconds: f64, target: &TargetFacts) -> PrintedOptions {
    let load = &job.load;
    let mut options = vec![("name", job.name.clone())];
    match target.parts() {
        // Engine null has no file.
        _ if load.engine == EngineKind::Null => {}
        [] => options.push(("filename", target.name().to_owned())),
        parts => {
            options.push(("filename", file_list(parts.iter().map(|part| part.path.as_str()))));
        }
    }
    options.extend(options::of_load(load, load.iodepth, load.numjobs));
    if load.offset_bytes > 0 {
        options.push(("offset", size_word(load.offset_bytes)));
    }
    options.extend(load.size_bytes.map(|size| ("size", size_word(size))));
    options.extend(load.offset_increment_bytes.map(|bytes| ("offset_increment", size_word(bytes))));
    if !load.is_counted() {
        options.push(("time_based", "1".to_owned()));
        options.push(("runtime", time_word(milliseconds(seconds) * 1_000_000)));
    }
    PrintedOptions(options)
}

/// Returns the I/O of each device over all steps.
fn disk_util(steps: &[StepResult], seconds: f64) -> Vec<DiskUtil> {
    let mut disks: Vec<DiskUtil> = Vec::new();
    for device in steps.iter().filter_map(|step| step.physical.as_ref()).flat_map(|p| &p.devices) {
        let index = disks.iter().position(|disk| disk.name == device.device);
        let index = index.unwrap_or_else(|| {
            disks.push(DiskUtil { name: device.device.clone(), ..DiskUtil::default() });
            disks.len() - 1
        });
        disks[index].add(device, seconds);
    }
    disks
}

impl DiskUtil {
    fn add(&mut self, device: &DeviceCounters, seconds: f64) {
        let ms = |ns: u64| ns / 1_000_000;
        self.read_ios += device.reads;
        self.write_ios += device.writes;
        self.read_merges += device.reads_merged;
        self.write_merges += device.writes_merged;
        self.read_sectors += device.read_bytes / SECTOR_BYTES;
        self.write_sectors += device.write_bytes / SECTOR_BYTES;
        self.read_ticks += ms(device.read_time_ns);
        self.write_ticks += ms(device.write_time_ns);
        self.in_queue += ms(device.queue_time_ns);
        if seconds > 0.0 {
            let share = device.busy_ns as f64 / (seconds * 1e9) * 100.0;
            self.util = (self.util + share).min(100.0);
        }
    }
}
