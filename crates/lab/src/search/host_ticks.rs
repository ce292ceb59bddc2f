//! One host's ticks, for a limit on each host.

use crate::stats::Batch;
use iogauge_model::Histogram;
use iogauge_model::Limit;

/// Ticks are joined so that there are at most this many: with thousands of hosts, their ticks would take gigabytes.
const MOST: usize = 96;

/// Latencies of one host that a limit bounds, in stretches of equally many ticks. Ticks in which the host was idle are
/// missing.
#[derive(Debug, Clone)]
pub(super) struct HostTicks {
    stretches: Vec<Stretch>,
    /// Number of ticks in each full stretch.
    stride: usize,
}

impl Default for HostTicks {
    fn default() -> Self {
        Self { stretches: Vec::new(), stride: 1 }
    }
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Number of its first tick.
    first: usize,
    /// Number of ticks in it.
    ticks: usize,
    latency_sum_ns: f64,
    over: f64,
    ios: f64,
}

impl Stretch {
    fn append(&mut self, next: &Self) {
        self.ticks += next.ticks;
        self.latency_sum_ns += next.latency_sum_ns;
        self.over += next.over;
        self.ios += next.ios;
    }
}

impl HostTicks {
    /// Adds the latencies of a tick.
    pub(super) fn append(&mut self, tick: usize, limit: &Limit, latencies: &Histogram) {
        let over = latencies.count() - latencies.count_at_or_below(limit.bound_ns);
        let next = Stretch {
            first: tick,
            ticks: 1,
            latency_sum_ns: latencies.sum_ns() as f64,
            over: over as f64,
            ios: latencies.count() as f64,
        };
        match self.stretches.last_mut().filter(|last| last.ticks < self.stride) {
            Some(last) => last.append(&next),
            None => self.stretches.push(next),
        }
        if self.stretches.len() > MOST {
            self.stride *= 2;
            let pairs = self.stretches.chunks(2).map(|pair| {
                let mut joined = pair[0];
                pair[1..].iter().for_each(|next| joined.append(next));
                joined
            });
            self.stretches = pairs.collect();
        }
    }

    /// Removes the stretches that begin in the first ticks.
    pub(super) fn without_first(&mut self, ticks: usize) {
        self.stretches.retain(|stretch| stretch.first >= ticks);
        self.stretches.iter_mut().for_each(|stretch| stretch.first -= ticks);
    }

    /// Returns latencies and their number, stretch by stretch.
    pub(super) fn latencies(&self) -> Vec<Batch> {
        self.batches(|stretch| stretch.latency_sum_ns)
    }

    /// Returns I/Os over the bound and all I/Os, stretch by stretch.
    pub(super) fn over(&self) -> Vec<Batch> {
        self.batches(|stretch| stretch.over)
    }

    fn batches(&self, sum: impl Fn(&Stretch) -> f64) -> Vec<Batch> {
        let batch = |stretch: &Stretch| Batch { sum: sum(stretch), weight: stretch.ios };
        self.stretches.iter().map(batch).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ticks: usize) -> HostTicks {
        let limit: Limit = "each:p99<=10ms".parse().unwrap();
        let mut host = HostTicks::default();
        for tick in 0..ticks {
            let mut latencies = Histogram::empty();
            latencies.record_n(1_000_000, 9);
            latencies.record_n(20_000_000, 1);
            host.append(tick, &limit, &latencies);
        }
        host
    }

    #[test]
    fn joined_ticks_keep_their_sums_and_stay_few() {
        for ticks in [1, 96, 97, 1000, 5000] {
            let (latencies, over) = (of(ticks).latencies(), of(ticks).over());
            assert!(latencies.len() <= MOST && latencies.len() >= ticks.min(MOST / 2));
            let n = ticks as f64;
            assert_eq!(over.iter().map(|batch| batch.sum).sum::<f64>(), n);
            assert_eq!(over.iter().map(|batch| batch.weight).sum::<f64>(), 10.0 * n);
            assert_eq!(latencies.iter().map(|batch| batch.sum).sum::<f64>(), 29e6 * n);
        }
    }

    #[test]
    fn first_ticks_can_be_removed_in_whole_stretches() {
        let mut host = of(200);
        host.without_first(101);
        let ios: f64 = host.over().iter().map(|batch| batch.weight).sum();
        assert!((960.0..=990.0).contains(&ios), "{ios}");
    }
}
