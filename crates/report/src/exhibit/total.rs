//! The result of one workload, reads and writes together: a cell of a map.

use super::rounds::counted;
use super::{Capacity, Exhibit, Settings, Shown};
use crate::rows::{of_all, planned};
use iogauge_model::Limit;
use iogauge_model::load::Load;
use iogauge_model::plan::Job;
use iogauge_model::result::FioResult;
use iogauge_model::result::{CurvePoint, DirectionResult, StepResult};

/// The result of one workload, with all directions together.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    pub access: Access,
    /// I/Os per second.
    pub iops: f64,
    pub bytes_per_sec: f64,
    pub mean_ns: f64,
    /// True if the limits hold: those of its search or run, or the default limit if none was given.
    pub within: bool,
    pub limits: Vec<Limit>,
    /// The settings without those that are an axis of maps.
    pub settings: Settings,
}

/// What distinguishes workloads in a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// `random`, `sequential`, or `database` for a workload that went through a database.
    pub order: &'static str,
    /// Share of reads, in percent; the rest are writes.
    pub read_percent: u32,
    /// Bytes per I/O.
    pub block_bytes: u64,
    /// Requested queue depth; for a database, its number of processes.
    pub queue_depth: u32,
}

/// The setting that maps have as an axis.
const MIX: &str = "rwmixread";

/// An access without its queue depth.
type Kind = (&'static str, u32, u64);

impl Exhibit {
    /// Returns the result of each workload that has a single, known order, mix, block size and queue depth.
    /// Repeated measurements of a workload are averaged; for a suite with rounds, over the rounds that
    /// count.
    #[must_use]
    pub fn totals(&self) -> Vec<Total> {
        let mut merged: Vec<(Total, f64)> = Vec::new();
        for total in self.each_total() {
            // Measurements judged by different limits are not the same.
            let same = |known: &Total| {
                known.access == total.access
                    && known.limits == total.limits
                    && known.settings == total.settings
            };
            match merged.iter_mut().find(|(known, _)| same(known)) {
                Some((known, times)) => {
                    known.append(&total, *times);
                    *times += 1.0;
                }
                None => merged.push((total, 1.0)),
            }
        }
        merged.into_iter().map(|(total, _)| total).collect()
    }

    fn each_total(&self) -> Vec<Total> {
        let run_wide = self.run_wide();
        let with = |total: Total, step: Option<&StepResult>, jobs: &[Job]| {
            let settings = Self::step_settings(&run_wide, step, jobs).without(MIX);
            Total { settings, ..total }
        };
        let mut totals: Vec<Total> = Vec::new();
        for (capacity, jobs) in self.capacities().into_iter().zip(self.searched()) {
            let points = of_search(&capacity, &jobs).into_iter().flatten();
            totals.extend(points.map(|total| with(total, None, &jobs)));
        }
        let of_step = |step, jobs: &[Job]| Some(with(of_step(step, jobs)?, Some(step), jobs));
        match &self.document {
            Shown::Run(run) => {
                totals.extend(planned(run).filter_map(|(step, jobs)| of_step(step, &jobs)));
            }
            Shown::Suite(suite) => {
                let whole = counted(suite).filter(|(step, _)| !step.interrupted);
                totals.extend(whole.filter_map(|(step, r)| of_step(r, &step.asked.jobs)));
            }
            Shown::Find(_)
            | Shown::Crosscheck(_)
            | Shown::Beside(_)
            | Shown::Profile(_)
            | Shown::Trend(_) => {}
        }
        totals
    }

    /// Returns the jobs of each of [`Self::capacities`].
    fn searched(&self) -> Vec<Vec<Job>> {
        match &self.document {
            Shown::Run(_)
            | Shown::Crosscheck(_)
            | Shown::Beside(_)
            | Shown::Profile(_)
            | Shown::Trend(_) => Vec::new(),
            Shown::Find(find) => {
                vec![find.head.load.jobs_of_steps().into_iter().next().unwrap_or_default()]
            }
            Shown::Suite(suite) => {
                let searches = suite.steps.iter().filter(|step| step.search().is_some());
                searches.map(|step| step.asked.jobs.clone()).collect()
            }
        }
    }
}

impl Total {
    /// Adds another measurement to the mean of `times` measurements.
    fn append(&mut self, other: &Self, times: f64) {
        let join = |mean: &mut f64, value: f64| *mean = (*mean * times + value) / (times + 1.0);
        join(&mut self.iops, other.iops);
        join(&mut self.bytes_per_sec, other.bytes_per_sec);
        join(&mut self.mean_ns, other.mean_ns);
        self.within &= other.within;
    }
}

pub(super) fn of_step(step: &StepResult, jobs: &[Job]) -> Option<Total> {
    let (order, read_percent, block_bytes) = kind(step, jobs)?;
    // Scheduled arrivals have a rate instead of a fixed queue depth.
    let total = step.total().filter(|_| step.rate_iops.is_none())?;
    let known = step.database.as_ref().map(|database| &database.limits);
    let known = known.filter(|limits| !limits.is_empty());
    let (limits, within) = match known {
        Some(values) => {
            let holds = |value: f64, limit: &Limit| value <= limit.bound_ns as f64;
            let within = values.iter().all(|v| v.value_ns.is_none_or(|ns| holds(ns, &v.limit)));
            (values.iter().map(|value| value.limit).collect(), within)
        }
        None => {
            let limit = Limit::default();
            (vec![limit], total.mean_ns <= limit.bound_ns as f64)
        }
    };
    Some(Total {
        access: Access { order, read_percent, block_bytes, queue_depth: step.queue_depth },
        iops: total.iops,
        bytes_per_sec: total.bytes_per_sec,
        mean_ns: total.mean_ns,
        within,
        limits,
        settings: Settings::default(),
    })
}

fn of_search(capacity: &Capacity<'_>, jobs: &[Job]) -> Option<Vec<Total>> {
    let (order, read_percent, block_bytes) = of_load(&of_all(jobs)?)?;
    let closed = capacity.curve.iter().filter(|point| point.rate_iops.is_none());
    let total = |point: &CurvePoint| Total {
        access: Access { order, read_percent, block_bytes, queue_depth: point.queue_depth },
        iops: point.iops.mean,
        bytes_per_sec: point.iops.mean * block_bytes as f64,
        mean_ns: point.latency_ns.mean,
        within: point.met,
        limits: capacity.limits.to_vec(),
        settings: Settings::default(),
    };
    Some(closed.map(total).collect())
}

fn kind(step: &StepResult, jobs: &[Job]) -> Option<Kind> {
    if let Some(database) = &step.database {
        let read_percent = match database.mode.as_str() {
            "read" => 100,
            "write" => 0,
            _ => database.read_percent_asked?.round() as u32,
        };
        return Some(("database", read_percent, bytes_of_each(step)?));
    }
    match &step.fio {
        Some(fio) => of_fio(fio, step),
        None => of_load(&of_all(jobs)?),
    }
}

fn of_load(load: &Load) -> Option<Kind> {
    let read_percent = match (load.rw.reads(), load.rw.writes()) {
        (true, true) if load.dependent => return None,
        (true, true) => load.read_percent,
        (true, false) => 100,
        _ => 0,
    };
    let splits = [(load.rw.reads(), &load.block.read), (load.rw.writes(), &load.block.write)];
    let mut used = splits.into_iter().filter(|(moves, _)| *moves).map(|(_, split)| {
        let [(bytes, _)] = split.entries() else { return None };
        Some(*bytes)
    });
    let block_bytes = used.next()??;
    let alike = used.all(|bytes| bytes == Some(block_bytes));
    alike.then_some((order(load.rw.is_random()), read_percent, block_bytes))
}

/// fio does not report the requested mix. This is the achieved one, rounded to a multiple of five percent
/// if that is within one percent.
fn of_fio(fio: &FioResult, step: &StepResult) -> Option<Kind> {
    let random = match fio.rw.as_str() {
        "randread" | "randwrite" | "randrw" => true,
        "read" | "write" | "rw" | "readwrite" => false,
        _ => return None,
    };
    let mut blocks = [&fio.read, &fio.write].into_iter().flatten().map(|d| d.block);
    let block = blocks.next()??;
    let alike = block.min_bytes == block.max_bytes && blocks.all(|other| other == Some(block));
    let reads = step.read.as_ref().map_or(0.0, DirectionResult::weight);
    let all: f64 = step.moved().map(DirectionResult::weight).sum();
    let share = if all > 0.0 { reads / all * 100.0 } else { 0.0 };
    let nearest = (share / 5.0).round() * 5.0;
    let share = if (share - nearest).abs() <= 1.0 { nearest } else { share.round() };
    let known = alike && fio.mixed.is_none();
    known.then_some((order(random), share as u32, block.min_bytes))
}

/// Returns the mean size of the reads, or of the writes if there were no reads.
fn bytes_of_each(step: &StepResult) -> Option<u64> {
    let moved = |d: &DirectionResult| (d.ios > 0).then(|| d.bytes / d.ios);
    step.read.as_ref().and_then(moved).or_else(|| step.write.as_ref().and_then(moved))
}

fn order(random: bool) -> &'static str {
    if random { "random" } else { "sequential" }
}
