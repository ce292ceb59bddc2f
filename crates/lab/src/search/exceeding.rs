//! How I/Os over a bound cluster.

use super::host_ticks::HostTicks;
use crate::measure::estimates;
use crate::stats::{Batch, ratio, standard_error};
use iogauge_model::Limit;
use iogauge_model::limit::{Directions, Metric};
use iogauge_model::result::Estimate;

/// I/Os over each percentile limit's bound, and all I/Os of its direction, tick by tick.
///
/// Slow I/Os come together: a stall delays all outstanding I/Os, and a queue that has grown stays long for a while. How
/// strongly they cluster shows in how their share varies from tick to tick. The mean latency shows it only roughly.
#[derive(Debug, Clone, Default)]
pub(super) struct Exceeding {
    /// By index of the limit; empty for limits that are not percentiles.
    limits: Vec<Vec<Batch>>,
    /// Ticks of each host, by index of the limit; empty for limits on all hosts together.
    hosts: Vec<Vec<HostTicks>>,
    /// Number of ticks so far.
    ticks: usize,
}

impl Exceeding {
    /// Adds a tick. Costs one pass over a histogram for each percentile limit, and for each limit on each host one for
    /// each host.
    pub(super) fn append(&mut self, limits: &[Limit], tick: &Directions<'_>) {
        self.limits.resize_with(limits.len(), Vec::new);
        for (limit, batches) in limits.iter().zip(&mut self.limits) {
            if let Metric::Percentile(_) = limit.metric {
                let latencies = tick.of(limit.side);
                let over = latencies.count() - latencies.count_at_or_below(limit.bound_ns);
                batches.push(Batch { sum: over as f64, weight: latencies.count() as f64 });
            }
        }
        self.hosts.resize_with(limits.len(), Vec::new);
        for (limit, hosts) in limits.iter().zip(&mut self.hosts).filter(|(limit, _)| limit.each) {
            for (number, latencies) in tick.hosts() {
                hosts.resize_with(hosts.len().max(number + 1), HostTicks::default);
                hosts[*number].append(self.ticks, limit, latencies.of(limit.side));
            }
        }
        self.ticks += 1;
    }

    /// Removes the first ticks.
    pub(super) fn without_first(&mut self, ticks: usize) {
        for batches in &mut self.limits {
            batches.drain(..ticks.min(batches.len()));
        }
        self.hosts.iter_mut().flatten().for_each(|host| host.without_first(ticks));
        self.ticks = self.ticks.saturating_sub(ticks);
    }

    /// Returns the mean latency of a host under a limit on each host, and as [`Self::effective_ios`] for it.
    pub(super) fn of_host(
        &self,
        limit: usize,
        host: usize,
        mean_ns: f64,
    ) -> (Estimate, Option<f64>) {
        let ticks = self.hosts.get(limit).and_then(|hosts| hosts.get(host));
        let none = HostTicks::default();
        let ticks = ticks.unwrap_or(&none);
        let mean = estimates::mean_of(&ticks.latencies(), mean_ns);
        (mean, effective(&ticks.over()))
    }

    /// Returns I/Os over a limit's bound and all I/Os of its direction, tick by tick; empty if the limit is not a
    /// percentile.
    pub(super) fn of(&self, limit: usize) -> &[Batch] {
        self.limits.get(limit).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of independent I/Os that would determine the share over a limit's bound as precisely as the
    /// ticks do; `None` if none or all I/Os were over it, or if there are too few ticks.
    pub(super) fn effective_ios(&self, limit: usize) -> Option<f64> {
        effective(self.limits.get(limit)?)
    }
}

/// Returns the number of independent I/Os that would determine the share of I/Os over a bound as precisely.
fn effective(over: &[Batch]) -> Option<f64> {
    let share = ratio(over);
    let error = standard_error(&share)?;
    let variance = share.mean * (1.0 - share.mean);
    (error > 0.0 && variance > 0.0).then(|| variance / (error * error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::Histogram;

    /// Ticks of 100 I/Os, some of which take longer than 10 ms.
    fn of(slow: impl Iterator<Item = u64>) -> Exceeding {
        let limits = ["p99<=10ms".parse().unwrap(), "mean<=5ms".parse().unwrap()];
        let mut exceeding = Exceeding::default();
        for slow in slow {
            let (mut reads, none) = (Histogram::new(), Histogram::new());
            reads.record_n(1_000_000, 100 - slow);
            reads.record_n(20_000_000, slow);
            exceeding.append(&limits, &Directions::new(&reads, &none, &none));
        }
        exceeding
    }

    #[test]
    fn clustered_slow_ios_reduce_effective_sample_size() {
        // 1 % either way: about one in every tick, or all in a few ticks.
        let alone = of((0..80).map(|tick| 1 + u64::from(tick % 7 == 0) - u64::from(tick % 5 == 0)));
        let together = of((0..80).map(|tick| if tick % 40 == 17 { 40 } else { 0 }));
        let (alone, together) =
            (alone.effective_ios(0).unwrap(), together.effective_ios(0).unwrap());
        assert!(alone > 8000.0 && together < 400.0, "{alone} {together}");
    }

    #[test]
    fn no_effective_ios_without_ios_over_the_bound() {
        assert_eq!(of([0; 40].into_iter()).effective_ios(0), None);
        assert_eq!(of([1; 2].into_iter()).effective_ios(1), None, "a mean is none of its business");
        assert_eq!(Exceeding::default().effective_ios(0), None);
    }

    #[test]
    fn leading_ticks_can_be_discarded() {
        let mut exceeding = of((0..40).map(|tick| if tick < 20 { 50 } else { tick % 2 }));
        exceeding.without_first(20);
        assert!(exceeding.effective_ios(0).unwrap() > 1000.0);
    }
}
