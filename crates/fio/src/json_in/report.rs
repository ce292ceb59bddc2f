//! The results of one document of fio, and whether they are a later state of those of another.

use super::reported_workload::Processes;
use crate::reported_workload::ALL_CLIENTS;
use iogauge_model::result::{FioDirection, FioDisk, FioLatency, FioResult};
use std::collections::HashMap;

/// The results of one document.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(super) jobs: Vec<Reported>,
    pub(super) disks: Vec<FioDisk>,
    /// When fio wrote it; `None` before fio 2.2.13.
    pub(super) unix_ms: Option<f64>,
    /// False if the document was cut off.
    pub(super) is_complete: bool,
}

/// A result, and what is needed until the document is complete.
#[derive(Debug)]
pub(super) struct Reported {
    pub(super) result: Box<FioResult>,
    pub(super) processes: Processes,
    pub(super) progress: Progress,
}

/// How far a job has come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Progress {
    /// The longest of its directions.
    pub(super) runtime_ms: f64,
    /// Since fio started, rounded up.
    pub(super) elapsed_seconds: f64,
    pub(super) job_start_ms: Option<f64>,
    pub(super) context_switches: f64,
}

type JobName<'a> = (&'a str, u32, &'a str);

impl Reported {
    fn name(&self) -> JobName<'_> {
        (&self.result.host, self.result.group, &self.result.name)
    }

    /// Returns true if this may be the same job as `earlier` after `apart_ms`. Its counts have grown, or were
    /// reset because the ramp time is over: until then, I/Os have no latencies.
    fn continues(&self, earlier: &Self, apart_ms: f64) -> bool {
        let (now, then) = (&self.progress, &earlier.progress);
        if let (Some(now), Some(then)) = (now.job_start_ms, then.job_start_ms)
            && now != then
        {
            return false;
        }
        let was_ramping_up = earlier.result.directions().all(|(_, d)| d.latency().is_none());
        was_ramping_up
            || (now.context_switches >= then.context_switches
                && now.runtime_ms <= then.runtime_ms + apart_ms + CLOCK_TOLERANCE_MS
                && grows(&earlier.result, &self.result))
    }

    /// Returns the time that the job, or fio itself, has certainly run for.
    fn has_run_ms(&self) -> f64 {
        self.progress.runtime_ms.max((self.progress.elapsed_seconds - 1.0) * 1e3)
    }
}

/// fio takes the time of a report and the run times in it one after the other.
const CLOCK_TOLERANCE_MS: f64 = 500.0;

impl Report {
    /// Completes the results with what only the whole document shows.
    pub(super) fn finished(mut self) -> Self {
        let mut alike: HashMap<JobName<'_>, usize> = HashMap::new();
        self.jobs.iter().for_each(|job| *alike.entry(job.name()).or_default() += 1);
        let mut all_clients = Some(0u32);
        let users: Vec<_> = self
            .jobs
            .iter()
            .map(|job| {
                if job.result.name == ALL_CLIENTS {
                    return all_clients.filter(|all| *all > 0);
                }
                let users = job.processes.users(alike[&job.name()]);
                all_clients = all_clients.zip(users).map(|(all, users)| all.saturating_add(users));
                users
            })
            .collect();
        let last = self.jobs.len().saturating_sub(1);
        for (index, (job, users)) in self.jobs.iter_mut().zip(users).enumerate() {
            // Clones of the last result may be missing.
            let is_known = self.is_complete || index < last || job.processes.at_least > 1;
            job.result.users = users.filter(|users| is_known || *users == 1);
        }
        if let Some(job) = self.jobs.last_mut() {
            job.result.disks = std::mem::take(&mut self.disks);
        }
        self
    }

    /// Returns the results.
    pub(crate) fn into_results(self) -> impl Iterator<Item = Box<FioResult>> {
        self.jobs.into_iter().map(|job| job.result)
    }

    pub(crate) fn results(&self) -> impl Iterator<Item = &FioResult> {
        self.jobs.iter().map(|job| &*job.result)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns true if this is a later state of the run that `earlier` reports (`--status-interval`): the jobs
    /// are the same, one of them began before the earlier report, and no count is smaller. A document that
    /// was cut off may have only the first jobs.
    pub(crate) fn continues(&self, earlier: &Self) -> bool {
        let (Some(now), Some(then)) = (self.unix_ms, earlier.unix_ms) else { return false };
        let apart_ms = now - then;
        let has_its_jobs = match self.is_complete {
            true => self.jobs.len() == earlier.jobs.len(),
            false => self.jobs.len() <= earlier.jobs.len(),
        };
        let pairs = || self.jobs.iter().zip(&earlier.jobs);
        apart_ms > 0.0
            && has_its_jobs
            && self.jobs.iter().any(|job| job.has_run_ms() > apart_ms)
            && pairs().all(|(now, then)| now.name() == then.name() && now.continues(then, apart_ms))
            && self.disks_continue(earlier)
    }

    fn disks_continue(&self, earlier: &Self) -> bool {
        let of = |report: &Self| report.jobs.last().map(|job| job.result.disks.clone());
        let (now, then) = (of(self).unwrap_or_default(), of(earlier).unwrap_or_default());
        let goes_on = |now: &FioDisk, then: &FioDisk| {
            let counts = [
                (now.reads, then.reads),
                (now.writes, then.writes),
                (now.reads_merged, then.reads_merged),
                (now.writes_merged, then.writes_merged),
                (now.queue_time_ns, then.queue_time_ns),
            ];
            now.device == then.device && counts.iter().all(|(now, then)| now >= then)
        };
        !self.is_complete
            || (now.len() == then.len() && now.iter().zip(&then).all(|(n, t)| goes_on(n, t)))
    }
}

/// Returns true if no count of `now` is smaller than before, and no extreme is closer.
fn grows(then: &FioResult, now: &FioResult) -> bool {
    let direction = |then: &Option<FioDirection>, now: &Option<FioDirection>| match (then, now) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(then), Some(now)) => {
            now.ios >= then.ios
                && now.bytes >= then.bytes
                && now.runtime_ns >= then.runtime_ns
                && latency(then.latency(), now.latency())
        }
    };
    direction(&then.read, &now.read)
        && direction(&then.write, &now.write)
        && direction(&then.trim, &now.trim)
        && direction(&then.mixed, &now.mixed)
        && now.failed_ios >= then.failed_ios
}

fn latency(then: Option<&FioLatency>, now: Option<&FioLatency>) -> bool {
    match (then, now) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(then), Some(now)) => now.min_ns <= then.min_ns && now.max_ns >= then.max_ns,
    }
}
