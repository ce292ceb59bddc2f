//! Changes in the speed of a simulated device as it is written and as time passes.

use super::spec::SimSpec;

impl SimSpec {
    /// Returns the mean service time of a write after the device has settled.
    fn settled_write_ns(&self) -> f64 {
        self.write_service_ns.unwrap_or(self.service_ns) as f64
    }

    /// Returns the mean service time of a write after this many bytes have been written, in nanoseconds.
    ///
    /// It models flash that runs out of spare blocks: constant while the device is fresh, then linear in the bytes
    /// written over half as many bytes again, then constant.
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

    /// Returns the factor by which a service is longer than its mean at a time: a sine around 1.
    pub(super) fn wander(&self, at_ns: u64) -> f64 {
        let Some(wander) = &self.wander else { return 1.0 };
        // The remainder is taken first, because an f64 would lose digits of times far from 0.
        let phase = (at_ns % wander.period_ns) as f64 / wander.period_ns as f64;
        1.0 + wander.percent / 100.0 * (std::f64::consts::TAU * phase).sin()
    }

    /// Returns the rate at which the cache is destaged at a time, in bytes per second, at least 1: `destage` divided by
    /// the factor by which an uncached write is slower than its settled mean.
    pub(super) fn destage(&self, written_bytes: u64, at_ns: u64) -> u64 {
        if self.fresh_bytes == 0 && self.wander.is_none() {
            return self.destage_bytes_per_sec;
        }
        let slower = self.write_ns(written_bytes) / self.settled_write_ns() * self.wander(at_ns);
        (self.destage_bytes_per_sec as f64 / slower).max(1.0) as u64
    }
}
