//! The host that alone decides whether a limit is kept.

use iogauge_model::caveat::Straggler;
use iogauge_model::limit::{Directions, Metric};
use iogauge_model::{Histogram, Limit};

/// A straggler's statistic is at least this many times that of the other hosts together. Equal hosts differ by less.
const APART: f64 = 1.25;

/// Returns the host without which a limit would be kept: it breaks the limit by itself, and the others keep it, all
/// together or each by itself, as the limit demands. Limits on the maximum have none: a single I/O decides them.
#[must_use]
pub(crate) fn straggler(
    latencies: &Directions<'_>,
    limits: &[Limit],
    names: &[String],
) -> Option<Straggler> {
    limits.iter().find_map(|limit| {
        let hosts = latencies.hosts().iter().map(|(number, own)| (*number, own.of(limit.side)));
        let hosts: Vec<(usize, &Histogram)> =
            hosts.filter(|(_, latencies)| latencies.count() > 0).collect();
        let (number, value_ns, others_ns) = straggles(limit, &hosts)?;
        Some(Straggler { host: names.get(number)?.clone(), limit: *limit, value_ns, others_ns })
    })
}

/// Returns the number of the host, its statistic, and that of the others together.
fn straggles(limit: &Limit, hosts: &[(usize, &Histogram)]) -> Option<(usize, f64, f64)> {
    if limit.metric == Metric::Max || hosts.len() < 2 {
        return None;
    }
    let excess = |latencies: &Histogram| excess(limit, latencies);
    let slowest = hosts.iter().max_by(|a, b| excess(a.1).total_cmp(&excess(b.1)));
    let (slowest, own) = *slowest.filter(|(_, latencies)| excess(latencies) > 0.0)?;
    let others = || hosts.iter().filter(|(number, _)| *number != slowest);
    let others_keep = if limit.each {
        others().all(|(_, latencies)| limit.metric.of(latencies) <= limit.bound_ns as f64)
    } else {
        let rest: f64 = others().map(|(_, latencies)| excess(latencies)).sum();
        rest <= 0.0 && rest + excess(own) > 0.0
    };
    if !others_keep || own.count() < limit.metric.samples_wanted() {
        return None;
    }
    let mut together = Histogram::empty();
    others().for_each(|(_, latencies)| together.merge(latencies));
    let (value_ns, others_ns) = (limit.metric.of(own), limit.metric.of(&together));
    (value_ns > limit.bound_ns as f64 && value_ns >= APART * others_ns)
        .then_some((slowest, value_ns, others_ns))
}

/// Returns by how much latencies exceed a limit. The excess of several hosts together is the sum of their excesses, and
/// they break the limit if it is above 0: for the mean, the time beyond the bound; for a percentile, the number of I/Os
/// over the bound beyond those allowed.
fn excess(limit: &Limit, latencies: &Histogram) -> f64 {
    let n = latencies.count() as f64;
    match limit.metric {
        Metric::Percentile(percent) => {
            let over = latencies.count() - latencies.count_at_or_below(limit.bound_ns);
            over as f64 - n * (1.0 - percent / 100.0)
        }
        Metric::Mean | Metric::Max => latencies.sum_ns() as f64 - n * limit.bound_ns as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(ms: u64, ios: u64) -> Histogram {
        let mut latencies = Histogram::empty();
        latencies.record_n(ms * 1_000_000, ios);
        latencies
    }

    fn named(limit: &str, hosts: &[Histogram]) -> Option<usize> {
        let none = Histogram::empty();
        let mut all = Histogram::empty();
        hosts.iter().for_each(|host| all.merge(host));
        let of = |latencies| Directions::new(latencies, &none, &none);
        let latencies = of(&all).with_hosts(hosts.iter().map(of).enumerate());
        let names: Vec<String> = (0..hosts.len()).map(|host| host.to_string()).collect();
        let found = straggler(&latencies, &[limit.parse().unwrap()], &names)?;
        Some(found.host.parse().unwrap())
    }

    #[test]
    fn host_that_alone_breaks_a_limit_is_named() {
        let hosts = [host(8, 1000), host(30, 400), host(8, 1000)];
        assert_eq!(named("mean<=10ms", &hosts), Some(1));
        assert_eq!(named("p90<=10ms", &hosts), Some(1));
        assert_eq!(named("each:mean<=10ms", &hosts), Some(1));
        assert_eq!(named("mean<=12ms", &hosts), None, "all together keep it");
        assert_eq!(named("each:mean<=12ms", &hosts), Some(1));
        assert_eq!(named("mean<=7ms", &hosts), None, "the others break it as well");
        assert_eq!(named("each:mean<=7ms", &hosts), None);
        assert_eq!(named("max<=10ms", &hosts), None);
    }

    #[test]
    fn equal_hosts_are_not_named() {
        assert_eq!(named("mean<=10ms", &[host(10, 1000), host(11, 1000), host(10, 1000)]), None);
        assert_eq!(named("mean<=10ms", &[host(30, 1000)]), None);
        assert_eq!(named("mean<=10ms", &[host(5, 1000), host(30, 10)]), None, "too few I/Os");
    }
}
