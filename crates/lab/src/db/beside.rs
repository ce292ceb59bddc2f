//! What keeps a database from doing more than it does on its device.

use super::target::DbTarget;
use super::words::in_database_words;
use crate::search::Found;
use iogauge_model::result::{Physical, StepResult, StoppedBy};
use iogauge_model::units::Bandwidth;

/// A device, or processors, that are busy for this share of the time are what holds back, in percent.
const BUSY_PERCENT: f64 = 85.0;

/// What the devices do for a database at work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceWork {
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_sec: f64,
    /// Share of the time in which the busiest device had an I/O, in percent.
    pub busy_percent: f64,
}

impl DeviceWork {
    /// What the devices did in a step; `None` where they are not known.
    #[must_use]
    pub fn of(step: &StepResult) -> Option<Self> {
        let Physical { reads, writes, read_bytes, write_bytes, devices, .. } =
            step.physical.as_ref()?;
        let per_second = |n: u64| n as f64 / step.seconds.max(1e-9);
        let busy_ns = devices.iter().map(|device| device.busy_ns).max().unwrap_or(0);
        Some(Self {
            iops: per_second(reads + writes),
            bytes_per_sec: per_second(read_bytes + write_bytes),
            busy_percent: per_second(busy_ns) / 1e7,
        })
    }

    /// The share, in percent, of a device that does so much: of I/Os or of bytes, whichever is larger,
    /// since a database joins its blocks to larger I/Os.
    #[must_use]
    pub fn share_percent(&self, iops: f64, bytes_per_sec: f64) -> f64 {
        let share = |done: f64, of: f64| if of > 0.0 { done * 100.0 / of } else { 0.0 };
        share(self.iops, iops).max(share(self.bytes_per_sec, bytes_per_sec))
    }
}

/// What keeps the database from more than the search found, as a step at that place shows: sentences.
#[must_use]
pub fn held_back_by(target: &DbTarget, found: &Found, at_best: &StepResult) -> Vec<String> {
    let answer = &found.answer;
    let mut reasons = Vec::new();
    if let Some(limit) = answer.stopped_by_limit.filter(|_| answer.stopped_by.is_limit()) {
        let limit = in_database_words(&limit.to_string());
        reasons.push(format!("More processes break {limit}."));
    }
    let globals = target.globals.len();
    if answer.stopped_by == StoppedBy::MaxDepth && answer.depth as usize == globals {
        reasons.push(format!("Each process needs a global of its own, and there are {globals}."));
    }
    let processors = at_best.cpu.machine_percent;
    if processors >= BUSY_PERCENT {
        reasons.push(format!("The processors were {processors:.0} % busy."));
    }
    let Some(device) = DeviceWork::of(at_best) else { return reasons };
    let (busy, moved) = (device.busy_percent, Bandwidth(device.bytes_per_sec));
    if busy >= BUSY_PERCENT {
        reasons.push(format!("The device was {busy:.0} % busy, at {moved}."));
    } else if processors < BUSY_PERCENT {
        reasons.push(format!(
            "The device was busy {busy:.0} % of the time and the processors {processors:.0} %: the \
             processes wait for the log, for locks or for each other."
        ));
    }
    if let Some(commits) = &at_best.sync {
        let updates = at_best.write.as_ref().map_or(0.0, |w| w.service_ns.mean * w.ios as f64);
        let waited = commits.service_ns.mean * commits.ios as f64;
        let share = waited * 100.0 / (waited + updates).max(1.0);
        reasons.push(format!("Of the time in transactions, commits took {share:.0} %."));
    }
    reasons
}
