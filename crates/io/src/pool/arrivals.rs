//! The schedules of a pool's jobs in the hands of its controller.

use super::JobPlan;
use crate::worker::accounting::{Offered, Window};
use crate::worker::schedule::Schedule;
use std::sync::Arc;

/// The arrivals of all jobs of a pool.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// By number of the job; `None` where its load schedules nothing.
    jobs: Vec<Option<JobArrivals>>,
}

#[derive(Debug)]
struct JobArrivals {
    schedule: Arc<Schedule>,
    /// Rate of the job's load, in I/Os per second.
    load_iops: f64,
    /// The first ones come so long after the beginning.
    delay_ns: u64,
    /// When they begin.
    begin_ns: u64,
    /// One arrival of a dependent chain is two I/Os.
    ios_per_arrival: u64,
    /// Rate asked at present, in I/Os per second; `None` in a closed loop.
    rate_iops: Option<f64>,
    /// First arrival that had not been taken when they were counted last.
    untaken: u64,
    /// Arrivals from there on that are in an earlier window as waiting.
    reported: u64,
    /// Arrivals waiting when they were counted last.
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
    /// Takes up the next job of the pool.
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
        self.jobs.push(job);
    }

    /// Lets the arrivals begin, at the rates of the loads and after their delays.
    pub(super) fn begin(&mut self, now_ns: u64) {
        for job in self.jobs.iter_mut().flatten() {
            job.begin_ns = now_ns.saturating_add(job.delay_ns);
            job.restart(Some(job.load_iops), job.begin_ns);
        }
    }

    /// Starts all schedules again with a rate over all of them, shared out in the proportion of the
    /// loads; `None` for a closed loop.
    pub(super) fn set_rate(&mut self, rate_iops: Option<f64>, now_ns: u64) {
        let total_iops: f64 = self.jobs.iter().flatten().map(|job| job.load_iops).sum();
        for job in self.jobs.iter_mut().flatten() {
            job.restart(rate_iops.map(|rate| rate * (job.load_iops / total_iops)), now_ns);
        }
    }

    /// Starts all schedules again, without arrivals or at the rates asked.
    pub(super) fn hold_back(&mut self, holds: bool, now_ns: u64) {
        for job in self.jobs.iter_mut().flatten() {
            let asked_iops = job.rate_iops;
            let rate_iops = if holds { asked_iops.map(|_| 0.0) } else { asked_iops };
            job.restart(rate_iops, now_ns.max(job.begin_ns));
            job.rate_iops = asked_iops;
        }
    }

    /// A window for workers to be collected into.
    pub(super) fn window(&self) -> Window {
        let open = |job: &JobArrivals| job.rate_iops.is_some() || job.counted > 0;
        let offered = |job: &Option<JobArrivals>| {
            job.as_ref().filter(|job| open(job)).map(|_| Offered::default())
        };
        Window { offered: self.jobs.iter().map(offered).collect(), ..Window::default() }
    }

    /// Counts what came due until the end of a window whose workers were collected.
    pub(super) fn count(&mut self, window: &mut Window) {
        for (job, offered) in self.jobs.iter_mut().zip(&mut window.offered) {
            let (Some(job), Some(offered)) = (job, offered) else { continue };
            job.count_until(window.ended_ns);
            offered.ios += std::mem::take(&mut job.counted) * job.ios_per_arrival;
            offered.backlog = job.waiting * job.ios_per_arrival;
            offered.backlog_max *= job.ios_per_arrival;
            // Workers that are all stuck in a call have noted nothing.
            offered.backlog_max = offered.backlog_max.max(offered.backlog);
        }
    }

    /// I/Os that are due and wait for room, about.
    #[must_use]
    pub fn backlog(&self, now_ns: u64) -> u64 {
        self.jobs
            .iter()
            .flatten()
            .map(|job| job.schedule.backlog(now_ns) * job.ios_per_arrival)
            .sum()
    }
}
