//! The schedules of a worker pool's jobs, as its controller uses them.

use super::JobPlan;
use crate::worker::accounting::{Offered, Window};
use crate::worker::schedule::Schedule;
use std::sync::Arc;

/// The arrivals of all jobs of a worker pool.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// By job number, one for each host; empty if the job's load has no arrival rate.
    jobs: Vec<Vec<JobArrivals>>,
}

/// The arrivals of one job on one host.
#[derive(Debug)]
struct JobArrivals {
    schedule: Arc<Schedule>,
    /// Rate of the job's load, in I/Os per second.
    load_iops: f64,
    /// Delay of the first arrivals after the start.
    delay_ns: u64,
    /// Time at which the arrivals begin.
    begin_ns: u64,
    /// I/Os per arrival: two for a dependent chain, otherwise one.
    ios_per_arrival: u64,
    /// Rate requested at present, in I/Os per second; `None` in a closed loop.
    rate_iops: Option<f64>,
    /// First arrival that was not taken at the last count.
    untaken: u64,
    /// Arrivals from there on that an earlier window counted as waiting.
    reported: u64,
    /// Arrivals waiting at the last count.
    waiting: u64,
    /// Arrivals counted since the last window.
    counted: u64,
}

impl JobArrivals {
    fn restart(&mut self, rate_iops: Option<f64>, now_ns: u64) {
        self.count_until(now_ns);
        self.rate_iops = rate_iops;
        let arrivals_per_sec = rate_iops.map(|rate| rate / self.ios_per_arrival as f64);
        self.untaken = self.schedule.restart(arrivals_per_sec, now_ns);
        (self.reported, self.waiting) = (0, 0);
    }

    fn count_until(&mut self, until_ns: u64) {
        let due = self.schedule.count_due(self.untaken, until_ns);
        let total = due.taken + due.waiting;
        self.counted += total.saturating_sub(self.reported);
        self.reported = total.max(self.reported) - due.taken;
        self.untaken = due.next;
        self.waiting = due.waiting;
    }
}

impl Arrivals {
    /// Adds the next job of the worker pool, or the same one on the next host.
    pub(super) fn add(&mut self, plan: &JobPlan) {
        let load = &plan.job.load;
        let job =
            plan.schedule.clone().zip(load.arrivals).map(|(schedule, arrivals)| JobArrivals {
                untaken: schedule.position(),
                schedule,
                load_iops: arrivals.rate_iops,
                delay_ns: load.startdelay_ns,
                begin_ns: 0,
                ios_per_arrival: 1 + u64::from(load.dependent),
                rate_iops: Some(arrivals.rate_iops),
                reported: 0,
                waiting: 0,
                counted: 0,
            });
        let number = plan.number as usize;
        self.jobs.resize_with(self.jobs.len().max(number + 1), Vec::new);
        self.jobs[number].extend(job);
    }

    /// Starts the arrivals, at the rates of the loads and after their delays.
    pub(super) fn begin(&mut self, now_ns: u64) {
        for job in self.jobs.iter_mut().flatten() {
            job.begin_ns = now_ns.saturating_add(job.delay_ns);
            job.restart(Some(job.load_iops), job.begin_ns);
        }
    }

    /// Restarts all schedules with this total rate, shared out in proportion to the rates of the loads. `None` means a
    /// closed loop.
    pub(super) fn set_rate(&mut self, rate_iops: Option<f64>, now_ns: u64) {
        let total_iops: f64 = self.jobs.iter().flatten().map(|job| job.load_iops).sum();
        for job in self.jobs.iter_mut().flatten() {
            job.restart(rate_iops.map(|rate| rate * (job.load_iops / total_iops)), now_ns);
        }
    }

    /// Restarts all schedules, without arrivals if `holds` and at the requested rates otherwise.
    pub(super) fn hold_back(&mut self, holds: bool, now_ns: u64) {
        for job in self.jobs.iter_mut().flatten() {
            let asked_iops = job.rate_iops;
            let rate_iops = if holds { asked_iops.map(|_| 0.0) } else { asked_iops };
            job.restart(rate_iops, now_ns.max(job.begin_ns));
            job.rate_iops = asked_iops;
        }
    }

    /// Returns a window into which the workers can be collected.
    pub(super) fn window(&self) -> Window {
        let open = |own: &JobArrivals| own.rate_iops.is_some() || own.counted > 0;
        let offered = |job: &Vec<JobArrivals>| job.iter().any(open).then(Offered::default);
        Window { offered: self.jobs.iter().map(offered).collect(), ..Window::default() }
    }

    /// Counts what became due until the end of a window whose workers were collected.
    pub(super) fn count(&mut self, window: &mut Window) {
        for (job, offered) in self.jobs.iter_mut().zip(&mut window.offered) {
            let (Some(offered), Some(first)) = (offered, job.first()) else { continue };
            // Hosts need not have had their longest queues at the same time, so that of one counts.
            offered.backlog_max *= first.ios_per_arrival;
            for own in job {
                own.count_until(window.ended_ns);
                offered.ios += std::mem::take(&mut own.counted) * own.ios_per_arrival;
                offered.backlog += own.waiting * own.ios_per_arrival;
            }
            // If all workers are stuck in a call, they have recorded nothing.
            offered.backlog_max = offered.backlog_max.max(offered.backlog);
        }
    }

    /// Estimates how many I/Os are due and wait for room.
    #[must_use]
    pub fn backlog(&self, now_ns: u64) -> u64 {
        self.jobs
            .iter()
            .flatten()
            .map(|job| job.schedule.backlog(now_ns) * job.ios_per_arrival)
            .sum()
    }
}
