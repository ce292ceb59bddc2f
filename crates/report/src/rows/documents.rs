//! Rows of the documents in the history.

use super::share::of_histogram;
use super::{PERCENTS, Row, RowLatency};
use iogauge_model::Load;
use iogauge_model::load::{BlockSplit, Pattern, SyncMode};
use iogauge_model::plan::Job;
use iogauge_model::result::BlockRange;
use iogauge_model::result::{
    CurvePoint, DirectionResult, FindDocument, LatencySummary, RunDocument, StepPlace, StepResult,
    SuiteDocument, SuiteOutcome, SuiteStepResult,
};

/// Returns the rows of a run: one per direction of each job, or of each step without jobs. Imported steps
/// have the rows that fio reported. Latency is service time, from submission to completion; flushes have no
/// row.
#[must_use]
pub fn rows_of_run(document: &RunDocument, system: &str) -> Vec<Row> {
    planned(document).flat_map(|(step, jobs)| rows_of_step(step, &jobs, system)).collect()
}

/// Returns the rows of a suite, without steps that only prepare: those of [`rows_of_run`], and for a search those of
/// [`rows_of_find`]. In a comparison, the test begins with the letter of the subject: `B:randread`.
#[must_use]
pub fn rows_of_suite(document: &SuiteDocument, system: &str) -> Vec<Row> {
    let measuring = document.steps.iter().filter(|step| step.place.phase != StepPlace::INIT);
    let of_step = |step: &SuiteStepResult| {
        let jobs = &step.asked.jobs;
        let rows = match &step.result {
            SuiteOutcome::Step(result) => rows_of_step(result, jobs, system),
            SuiteOutcome::Search(search) => {
                let load = jobs.first().map(|job| &job.load);
                search.curve.iter().map(|point| of_point(system, load, point)).collect()
            }
        };
        let subject = document.subject_of(step).map(|subject| subject.name.clone());
        let named = move |row: Row| match &subject {
            Some(subject) => Row { test: format!("{subject}:{}", row.test), ..row },
            None => row,
        };
        rows.into_iter().map(named).collect::<Vec<_>>()
    };
    measuring.flat_map(of_step).collect()
}

/// Returns the steps of a run, each with its planned jobs if they are known.
pub(crate) fn planned(document: &RunDocument) -> impl Iterator<Item = (&StepResult, Vec<Job>)> {
    let jobs = document.head.load.jobs_of_steps().into_iter().chain(std::iter::repeat(Vec::new()));
    document.steps.iter().zip(jobs)
}

/// Returns the rows of one step; `planned` are its jobs.
pub(crate) fn rows_of_step(step: &StepResult, planned: &[Job], system: &str) -> Vec<Row> {
    if let Some(fio) = &step.fio {
        return Row::of_fio(fio, system);
    }
    if step.jobs.is_empty() {
        let load = of_all(planned);
        return directions(system, &step.label, load.as_ref(), [&step.read, &step.write]);
    }
    let rows = step.jobs.iter().enumerate().flat_map(|(index, job)| {
        let planned = planned.get(index).filter(|_| planned.len() == step.jobs.len());
        let load = planned.map(|planned| &planned.load);
        directions(system, &job.name, load, [&job.read, &job.write])
    });
    rows.collect()
}

/// Returns the rows of a search: one per point of its curve, both directions together; `users` is the queue
/// depth. A point keeps no histogram, so some percentiles are unknown, and those of older versions have no shares.
#[must_use]
pub fn rows_of_find(document: &FindDocument, system: &str) -> Vec<Row> {
    let load = document.head.load.jobs_of_steps().into_iter().flatten().next().map(|job| job.load);
    document.search.curve.iter().map(|point| of_point(system, load.as_ref(), point)).collect()
}

/// Merges the workloads of jobs that are reported as one: the first job's workload with the processes of
/// all. Returns `None` unless all have the same directions and block sizes. Writes count as synchronous
/// only if they are in every job.
pub(crate) fn of_all(jobs: &[Job]) -> Option<Load> {
    let first = &jobs.first()?.load;
    let same = |job: &Job| job.load.rw == first.rw && job.load.block == first.block;
    let numjobs = jobs.iter().map(|job| job.load.numjobs).sum();
    let all_wait = jobs.iter().all(|job| waits(&job.load));
    let sync = if all_wait { first.sync } else { SyncMode::None };
    jobs.iter().all(same).then(|| Load { numjobs, sync, ..first.clone() })
}

/// Returns true if the latency of a write includes the time until it is on the medium. A flush after a
/// write does not count: flushes are reported separately.
fn waits(load: &Load) -> bool {
    load.sync != SyncMode::None
}

fn word(pattern: Pattern) -> String {
    // fio prints this word in every output.
    if pattern == Pattern::ReadWrite { "rw".to_owned() } else { pattern.to_string() }
}

fn range(split: &BlockSplit) -> Option<BlockRange> {
    let sizes = || split.entries().iter().map(|(bytes, _)| *bytes);
    Some(BlockRange { min_bytes: sizes().min()?, max_bytes: sizes().max()? })
}

fn directions(
    system: &str,
    label: &str,
    load: Option<&Load>,
    [read, write]: [&Option<DirectionResult>; 2],
) -> Vec<Row> {
    let is_half = read.is_some() && write.is_some();
    let row = |side: char, result: &DirectionResult| {
        let histogram = &result.service_histogram;
        let percentile = |percent| match histogram.count() {
            0 => of_summary(&result.service_ns, percent),
            _ => Some(histogram.percentile_ns(percent)),
        };
        let block = |load: &Load| {
            if side == 'r' { range(&load.block.read) } else { range(&load.block.write) }
        };
        Row {
            system: system.to_owned(),
            test: load.map_or_else(|| label.to_owned(), |load| word(load.rw)),
            users: load.map(|load| load.numjobs),
            size: load.and_then(block),
            side,
            is_half,
            is_synchronous: load.map(waits),
            bytes_per_sec: Some(result.bytes_per_sec),
            latency: latency(&result.service_ns),
            iops: result.iops.mean,
            shares: of_histogram(histogram),
            shares_are_joint: false,
            shares_are_whole: false,
            percentiles_ns: PERCENTS.map(percentile),
        }
    };
    let read = read.as_ref().map(|result| row('r', result));
    let write = write.as_ref().map(|result| row('w', result));
    read.into_iter().chain(write).collect()
}

fn of_point(system: &str, load: Option<&Load>, point: &CurvePoint) -> Row {
    let summary = &point.latency_ns;
    let size = load.filter(|load| load.block.read == load.block.write);
    let size = size.and_then(|load| range(&load.block.read));
    let fixed = size.filter(|size| size.min_bytes == size.max_bytes);
    let side = match load.map(|load| load.rw) {
        Some(rw) if !rw.writes() => 'r',
        Some(rw) if !rw.reads() => 'w',
        _ => 'm',
    };
    Row {
        system: system.to_owned(),
        test: load.map_or_else(|| "find".to_owned(), |load| word(load.rw)),
        users: Some(point.queue_depth),
        size,
        side,
        is_half: false,
        is_synchronous: load.map(waits),
        bytes_per_sec: fixed.map(|size| point.iops.mean * size.min_bytes as f64),
        latency: latency(summary),
        iops: point.iops.mean,
        shares: Some(point.latency_shares.clone()).filter(|shares| !shares.is_empty()),
        shares_are_joint: false,
        shares_are_whole: false,
        percentiles_ns: PERCENTS.map(|percent| of_summary(summary, percent)),
    }
}

fn of_summary(summary: &LatencySummary, percent: f64) -> Option<u64> {
    let value_ns = match percent {
        95.0 => summary.p95,
        99.0 => summary.p99,
        99.9 => summary.p999,
        99.99 => summary.p9999,
        _ => return None,
    };
    (summary.n > 0).then_some(value_ns)
}

fn latency(summary: &LatencySummary) -> Option<RowLatency> {
    (summary.n > 0).then_some(RowLatency {
        mean_ns: summary.mean,
        min_ns: summary.min as f64,
        max_ns: summary.max as f64,
        stddev_ns: summary.stddev,
    })
}
