//! A database compared with its device: what the device does for it, and what limits it.

use super::measure::DbMeasured;
use super::target::DbTarget;
use crate::error::LabError;
use crate::search::SearchOutcome;
use crate::transactions::DbLoad;
use iogauge_model::result::{Physical, StoppedBy};
use iogauge_model::units::Bandwidth;

/// Percentage of busy time from which a device, or the processors, are the bottleneck.
const BUSY_PERCENT: f64 = 85.0;
/// Shortest time, in seconds, between two readings of counters that yields a rate.
const LEAST_SECONDS: f64 = 0.1;

/// What the devices do for a database under load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceWork {
    pub iops: f64,
    pub bytes_per_sec: f64,
    /// Percentage of time in which the busiest device had an I/O.
    pub busy_percent: f64,
}

impl DeviceWork {
    /// Returns what the devices did in a step; `None` if there are no device counters, or if the
    /// step was interrupted or too short.
    #[must_use]
    pub fn of(measured: &DbMeasured) -> Option<Self> {
        let step = &measured.result;
        if measured.interrupted || step.seconds < LEAST_SECONDS {
            return None;
        }
        let Physical { reads, writes, read_bytes, write_bytes, devices, .. } =
            step.physical.as_ref()?;
        let per_second = |n: u64| n as f64 / step.seconds;
        let busy_ns = devices.iter().map(|device| device.busy_ns).max().unwrap_or(0);
        Some(Self {
            iops: per_second(reads + writes),
            bytes_per_sec: per_second(read_bytes + write_bytes),
            busy_percent: per_second(busy_ns) / 1e7,
        })
    }

    /// Returns the share of a device's capacity, in percent: of I/Os or of bytes, whichever is
    /// larger, because a database merges blocks into larger I/Os. `None` if the capacity is zero.
    #[must_use]
    pub fn share_percent(&self, iops: f64, bytes_per_sec: f64) -> Option<f64> {
        let share = |done: f64, of: f64| (of > 0.0).then(|| done * 100.0 / of);
        let shares = [share(self.iops, iops), share(self.bytes_per_sec, bytes_per_sec)];
        shares.into_iter().flatten().max_by(f64::total_cmp)
    }
}

/// Takes the database and releases it, so that its device is not measured in vain, nor during
/// another run.
///
/// # Errors
/// Another run writes to the database, or it cannot be used.
pub fn check_free(target: &DbTarget, load: &DbLoad) -> Result<(), LabError> {
    if !load.mode.writes() {
        // It could begin beside a run that writes.
        drop(target.database.hold()?);
    }
    drop(target.database.begin(&load.mode.run_plan(1))?);
    Ok(())
}

/// Returns sentences about what keeps the database from more than the search found, given a step at
/// the answer.
#[must_use]
pub fn held_back_by(
    target: &DbTarget,
    found: &SearchOutcome,
    measured: &DbMeasured,
) -> Vec<String> {
    let (answer, at_best) = (&found.search.answer, &measured.result);
    let mut reasons = Vec::new();
    if let Some(limit) = answer.stopped_by_limit.filter(|_| answer.stopped_by.is_limit()) {
        let limit = limit.database_words();
        let who = match answer.stopped_by {
            StoppedBy::Unattainable => "Even 1 process breaks",
            _ => "More processes break",
        };
        reasons.push(format!("{who} {limit}."));
    }
    let globals = target.globals.len();
    if answer.stopped_by == StoppedBy::MaxDepth && answer.queue_depth as usize == globals {
        reasons.push(format!("Each process needs a global of its own, and there are {globals}."));
    }
    let processors = at_best.cpu.machine_percent.unwrap_or_default();
    if processors >= BUSY_PERCENT {
        reasons.push(format!("The processors were {processors:.0} % busy."));
    }
    let Some(device) = DeviceWork::of(measured) else { return reasons };
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

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::result::FioResult;
    use iogauge_model::result::StepResult;

    /// A step with this duration, in which the devices had a hundred I/Os of 4 KiB.
    fn measured(seconds: f64, interrupted: bool, physical: bool) -> DbMeasured {
        let physical = physical.then(|| Physical {
            reads: 60,
            writes: 40,
            read_bytes: 60 * 4096,
            write_bytes: 40 * 4096,
            ..Physical::default()
        });
        let result = StepResult { seconds, physical, ..FioResult::default().to_step() };
        let (is_cut_short, caveats, fault) = (false, Vec::new(), None);
        DbMeasured { result, interrupted, is_cut_short, caveats, fault }
    }

    #[test]
    fn device_rates_are_computed_only_from_complete_steps() {
        let work = DeviceWork::of(&measured(0.5, false, true)).unwrap();
        assert_eq!((work.iops, work.bytes_per_sec), (200.0, 819_200.0));
        assert_eq!(DeviceWork::of(&measured(0.5, true, true)), None);
        assert_eq!(DeviceWork::of(&measured(1e-9, false, true)), None);
        assert_eq!(DeviceWork::of(&measured(0.5, false, false)), None);
    }

    #[test]
    fn device_share_is_the_larger_of_iops_and_bandwidth() {
        let work = DeviceWork { iops: 100.0, bytes_per_sec: 1e6, busy_percent: 0.0 };
        assert_eq!(work.share_percent(400.0, 8e6), Some(25.0));
        assert_eq!(work.share_percent(400.0, 2e6), Some(50.0));
        assert_eq!(work.share_percent(0.0, 0.0), None);
    }
}
