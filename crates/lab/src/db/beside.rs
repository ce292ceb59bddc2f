//! What keeps a database from doing more, as a search of it shows.

use super::measure::DbSearched;
use super::target::DbTarget;
use iogauge_model::result::StoppedBy;

/// A device, or processors, that are busy for this share of the time are what holds back, in percent.
const BUSY_PERCENT: f64 = 85.0;

impl DbSearched {
    /// I/Os a second that the devices did over the whole search; 0 where they are not known.
    #[must_use]
    pub fn device_iops(&self) -> f64 {
        let done = self.physical.as_ref().map_or(0, |physical| physical.reads + physical.writes);
        done as f64 / self.seconds.max(1e-9)
    }

    /// Share of the time in which the busiest device had an I/O, in percent.
    fn device_busy_percent(&self) -> Option<f64> {
        let devices = &self.physical.as_ref()?.devices;
        let busiest = devices.iter().map(|device| device.busy_ns).max()?;
        Some(busiest as f64 / 1e7 / self.seconds.max(1e-9))
    }

    /// What keeps the database from more, each reason a sentence; the strongest first.
    #[must_use]
    pub fn held_back_by(&self, target: &DbTarget) -> Vec<String> {
        let answer = &self.found.answer;
        let mut reasons = Vec::new();
        let device = self.device_busy_percent();
        let processors = self.cpu.machine_percent;
        if let Some(limit) = answer.stopped_by_limit.filter(|_| answer.stopped_by.is_limit()) {
            reasons.push(format!("More processes break {limit}."));
        }
        if answer.stopped_by == StoppedBy::MaxDepth && answer.depth as usize == target.globals.len()
        {
            reasons.push(format!(
                "Each process needs a global of its own, and there are {}.",
                target.globals.len()
            ));
        }
        if processors >= BUSY_PERCENT {
            reasons.push(format!("The processors were {processors:.0} % busy."));
        }
        match device {
            Some(busy) if busy >= BUSY_PERCENT => {
                reasons.push(format!("The device was {busy:.0} % busy."));
            }
            Some(busy) if processors < BUSY_PERCENT => reasons.push(format!(
                "The device was busy {busy:.0} % of the time and the processors {processors:.0} %: the \
                 processes wait for the log, for locks or for each other."
            )),
            _ => {}
        }
        reasons
    }
}
