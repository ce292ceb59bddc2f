//! Converts a result of fio to a step of a run, which can be shown, listed and compared like any other.

use super::{FioDirection, FioLatency, FioResult};
use crate::histogram::Histogram;
use crate::result::{CpuUse, DirectionResult, Estimate, LatencySummary, StepResult};
use crate::units::Bytes;
use std::fmt::{self, Write};

impl FioResult {
    /// Converts the result to a step.
    ///
    /// Service time is fio's total latency, with fio's percentiles, which are of completion latency unless
    /// fio was configured otherwise. A percentile that fio did not report is the next higher one it did, or
    /// the maximum; if the result is [from a table](FioResult::from_table), it is 0, which means unknown. There are no
    /// intervals: of its samples, fio reports only statistics
    /// ([`FioDirection::sampled_iops`]). The queue depth
    /// achieved is computed from rate and latency by Little's law. fio reports no rate of flushes: it is their
    /// number divided by the longest run time of the other directions. Directions reported as one are in
    /// `read`. Trims are only in [`StepResult::fio`].
    #[must_use]
    pub fn to_step(&self) -> StepResult {
        Box::new(self.clone()).into_step()
    }

    /// Converts the result as [`Self::to_step`] does, without a copy.
    #[must_use]
    pub fn into_step(self: Box<Self>) -> StepResult {
        let directions = || self.directions().map(|(_, direction)| direction);
        let runtime_ns = directions().map(|d| d.runtime_ns).max().unwrap_or_default();
        let users = f64::from(self.users.unwrap_or(1));
        let ios: f64 = directions().map(|d| d.ios as f64).sum();
        let busy_percent = (self.user_cpu_percent + self.system_cpu_percent) * users;
        let busy_ns = busy_percent / 100.0 * runtime_ns as f64;
        let read = self.read.as_ref().or(self.mixed.as_ref());
        let mut step = StepResult {
            label: self.label(),
            queue_depth: self.queue_depth().or(self.users).unwrap_or(1),
            // The sum of an empty iterator is -0.0.
            queue_depth_achieved: directions().map(outstanding).sum::<f64>() + 0.0,
            rate_iops: None,
            seconds: runtime_ns as f64 / 1e9,
            began: None,
            read: read.map(|direction| self.direction(direction)),
            write: self.write.as_ref().map(|direction| self.direction(direction)),
            sync: self.sync.as_ref().map(|flushes| self.flushes(flushes, runtime_ns)),
            jobs: Vec::new(),
            hosts: Vec::new(),
            workers: Vec::new(),
            physical: None,
            cpu: CpuUse {
                user_percent: self.user_cpu_percent * users,
                system_percent: self.system_cpu_percent * users,
                ns_per_io: if ios > 0.0 { busy_ns / ios } else { 0.0 },
                ..CpuUse::default()
            },
            series: Vec::new(),
            limits: Vec::new(),
            shifts: Vec::new(),
            system: Vec::new(),
            verify: None,
            database: None,
            fio: None,
            steady_state: None,
            trace: None,
        };
        step.fio = Some(self);
        step
    }

    /// Returns a short label: `job1: randread 8 KiB depth 16 (2×8)`, or `randread 8 KiB by 16 users` for a row of a
    /// table, in which tests have no other name.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = self.name.clone();
        // Writing to a string cannot fail.
        let _ = self.write_load(&mut label);
        label
    }

    /// Writes the part of [`Self::label`] after the name.
    fn write_load(&self, label: &mut String) -> fmt::Result {
        if !self.host.is_empty() {
            write!(label, " on {}", self.host)?;
        }
        let is_named_so = self.from_table && self.rw == self.name;
        if !self.rw.is_empty() && !is_named_so {
            write!(label, ": {}", self.rw)?;
        }
        let block = self.directions().find_map(|(_, direction)| direction.block);
        if let Some(block) = block {
            write!(label, " {}", Bytes(block.min_bytes))?;
            if block.max_bytes != block.min_bytes {
                write!(label, "–{}", Bytes(block.max_bytes))?;
            }
        }
        if let (true, Some(users)) = (self.from_table, self.users) {
            write!(label, " by {users} user{}", if users == 1 { "" } else { "s" })?;
        }
        if let Some(queue_depth) = self.queue_depth() {
            write!(label, " depth {queue_depth}")?;
        }
        if let (Some(users @ 2..), Some(iodepth)) = (self.users, self.own_depth()) {
            write!(label, " ({iodepth}×{users})")?;
        }
        Ok(())
    }

    /// Converts a direction. fio does not report failed I/Os by direction: they are counted in the direction
    /// with the most I/Os.
    fn direction(&self, direction: &FioDirection) -> DirectionResult {
        let most = self.directions().map(|(_, d)| d).max_by_key(|d| d.ios);
        let is_most = most.is_some_and(|most| std::ptr::eq(most, direction));
        let errors = if is_most { self.failed_ios } else { 0 };
        DirectionResult {
            ios: direction.ios,
            bytes: direction.bytes,
            errors,
            short: direction.short_ios,
            iops: Estimate::exact(direction.iops),
            bytes_per_sec: direction.bytes_per_sec,
            service_ns: summary(direction, self.from_table),
            response_ns: None,
            service_histogram: direction.histogram().unwrap_or_else(Histogram::empty),
            response_histogram: None,
        }
    }

    /// Converts the flushes of a job that ran for `runtime_ns`.
    fn flushes(&self, flushes: &FioDirection, runtime_ns: u64) -> DirectionResult {
        let seconds = runtime_ns as f64 / 1e9;
        let computed = if seconds > 0.0 { flushes.ios as f64 / seconds } else { 0.0 };
        let iops = if flushes.iops > 0.0 { flushes.iops } else { computed };
        DirectionResult { iops: Estimate::exact(iops), ..self.direction(flushes) }
    }
}

/// Returns the average number of I/Os outstanding.
fn outstanding(direction: &FioDirection) -> f64 {
    direction.latency().map_or(0.0, |latency| direction.iops * latency.mean_ns / 1e9)
}

fn summary(direction: &FioDirection, from_table: bool) -> LatencySummary {
    let none = FioLatency::default();
    let latency = direction.latency().unwrap_or(&none);
    let reported = [&direction.clat, &direction.lat].into_iter().flatten();
    let mut reported = reported.map(|latency| &latency.percentiles[..]).filter(|p| !p.is_empty());
    let percentiles = reported.next().unwrap_or_default();
    let at = |percent: f64| {
        if from_table {
            return direction.percentile_ns(percent).unwrap_or(0);
        }
        let enough = percentiles.iter().filter(|(p, _)| *p >= percent - 1e-6);
        enough.map(|(_, value_ns)| *value_ns).min().unwrap_or(latency.max_ns)
    };
    LatencySummary {
        mean: latency.mean_ns,
        mean_ci95: [latency.mean_ns; 2],
        stddev: latency.stddev_ns,
        min: latency.min_ns,
        p50: at(50.0),
        p95: at(95.0),
        p99: at(99.0),
        p999: at(99.9),
        p9999: at(99.99),
        max: latency.max_ns,
        n: if direction.latency().is_some() { direction.ios } else { 0 },
        percentiles_ci95: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockRange;
    use super::*;

    fn result() -> FioResult {
        let lat = FioLatency {
            min_ns: 1000,
            max_ns: 9_000_000,
            mean_ns: 200_000.0,
            percentiles: vec![(50.0, 190_000), (99.0, 500_000)],
            ..FioLatency::default()
        };
        let read = FioDirection {
            ios: 80_000,
            iops: 40_000.0,
            runtime_ns: 2_000_000_000,
            block: Some(BlockRange { min_bytes: 8192, max_bytes: 8192 }),
            lat: Some(lat),
            ..FioDirection::default()
        };
        FioResult {
            name: "a".to_owned(),
            rw: "randread".to_owned(),
            users: Some(8),
            iodepth: Some(1),
            read: Some(read),
            user_cpu_percent: 1.0,
            system_cpu_percent: 9.0,
            ..FioResult::default()
        }
    }

    #[test]
    fn fio_result_converts_to_step_figures() {
        let step = result().to_step();
        assert_eq!(step.label, "a: randread 8 KiB depth 8 (1×8)");
        assert_eq!((step.queue_depth, step.queue_depth_achieved, step.seconds), (8, 8.0, 2.0));
        let blocking = FioResult { engine: "psync".to_owned(), iodepth: Some(99), ..result() };
        assert_eq!(blocking.label(), "a: randread 8 KiB depth 8 (1×8)");
        assert_eq!(blocking.to_step().queue_depth, 8);
        let nothing = FioResult { read: None, ..result() }.to_step();
        assert!(nothing.queue_depth_achieved.is_sign_positive());
        assert_eq!((step.cpu.user_percent, step.cpu.ns_per_io), (8.0, 20_000.0));
        let service = step.read.unwrap().service_ns;
        assert_eq!((service.p50, service.p95, service.p9999), (190_000, 500_000, 9_000_000));
    }

    #[test]
    fn rate_of_flushes_is_their_number_divided_by_the_run_time() {
        let flushes = FioDirection { ios: 500, ..FioDirection::default() };
        let with = |read| FioResult { read, sync: Some(flushes.clone()), ..result() };
        let step = with(result().read).to_step();
        assert_eq!(step.sync.unwrap().iops.mean, 250.0);
        assert_eq!(with(None).to_step().sync.unwrap().iops.mean, 0.0, "the time is unknown");
    }

    #[test]
    fn step_of_a_table_row_has_rates_but_no_invented_percentiles() {
        let mut row =
            FioResult { from_table: true, name: "randread".to_owned(), iodepth: None, ..result() };
        let read = row.read.as_mut().unwrap();
        (read.ios, read.runtime_ns) = (0, 0);
        let step = row.to_step();
        let total = step.total().unwrap();
        assert_eq!((total.iops, total.mean_ns), (40_000.0, 200_000.0));
        assert!(!step.is_empty());
        assert_eq!((step.label.as_str(), step.queue_depth), ("randread 8 KiB by 8 users", 8));
        let service = step.read.unwrap().service_ns;
        assert!(service.is_known());
        assert_eq!((service.n, service.p50, service.p95, service.p99), (0, 190_000, 0, 500_000));
    }

    #[test]
    fn step_retains_the_original_fio_result() {
        let step = result().to_step();
        let stored = serde_json::to_string(&step).unwrap();
        let read: StepResult = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, step);
        assert_eq!(*read.fio.unwrap(), result());
    }
}
