//! What makes a simulated device slower or faster as it is written and as time passes.

use super::spec::SimSpec;

impl SimSpec {
    /// Mean service time of a write once the device is no longer fresh.
    fn settled_write_ns(&self) -> f64 {
        self.write_service_ns.unwrap_or(self.service_ns) as f64
    }

    /// Mean service time of a write to a device that has taken so many bytes, in nanoseconds.
    ///
    /// As on flash whose spare blocks run out: constant while it is fresh, then linear in the bytes
    /// written over half as many again, then constant.
    pub(super) fn write_ns(&self, written_bytes: u64) -> f64 {
        let settled = self.settled_write_ns();
        if self.fresh_bytes == 0 {
            return settled;
        }
        let (fresh, fresh_bytes) = (self.fresh_service_ns as f64, self.fresh_bytes as f64);
        let moved =
            (written_bytes.saturating_sub(self.fresh_bytes) as f64 / (fresh_bytes / 2.0)).min(1.0);
        fresh + (settled - fresh) * moved
    }

    /// How many times as long as its mean a service takes at a time: a sine around 1.
    pub(super) fn wander(&self, at_ns: u64) -> f64 {
        let Some(wander) = &self.wander else { return 1.0 };
        // The remainder first: times far from 0 would lose their digits in an f64.
        let phase = (at_ns % wander.period_ns) as f64 / wander.period_ns as f64;
        1.0 + wander.percent / 100.0 * (std::f64::consts::TAU * phase).sin()
    }

    /// Speed at which the cache empties at a time: as much above or below `destage` as a write
    /// without a cache would be shorter or longer. In bytes per second, at least 1.
    pub(super) fn destage(&self, written_bytes: u64, at_ns: u64) -> u64 {
        if self.fresh_bytes == 0 && self.wander.is_none() {
            return self.destage_bytes_per_sec;
        }
        let slower = self.write_ns(written_bytes) / self.settled_write_ns() * self.wander(at_ns);
        (self.destage_bytes_per_sec as f64 / slower).max(1.0) as u64
    }
}
