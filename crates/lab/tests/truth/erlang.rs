//! Queues of Poisson arrivals and exponential service (M/M/c).

use iogauge_model::limit::Metric;

/// Probability that an arrival has to wait, by Erlang's formula C. `load` is arrivals per service
/// time, below `servers`.
///
/// L. Kleinrock, Queueing Systems I, 3.5; the recursion is that of formula B.
fn waits(servers: u32, load: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |b, n| load * b / (f64::from(n) + load * b));
    let c = f64::from(servers);
    c * blocked / (c - load * (1.0 - blocked))
}

/// A statistic of the response time in service times.
fn response(servers: u32, load: f64, metric: Metric) -> f64 {
    let (wait, free) = (waits(servers, load), f64::from(servers) - load);
    match metric {
        Metric::Mean => 1.0 + wait / free,
        // P(T > t) for a wait that is 0 or exponential, plus an exponential service.
        Metric::Percentile(percent) => {
            let over = |t: f64| {
                let late = if (free - 1.0).abs() < 1e-9 {
                    t * (-t).exp()
                } else {
                    ((-t).exp() - (-free * t).exp()) / (free - 1.0)
                };
                (-t).exp() + wait * late
            };
            crossing(0.0, 1e6, |t| over(t) > 1.0 - percent / 100.0)
        }
        Metric::Max => f64::INFINITY,
    }
}

/// Where a condition that holds at `low` and not at `high` ends to.
fn crossing(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// The highest rate, in arrivals per second, at which a statistic stays within a bound.
pub fn highest_rate(servers: u32, service_seconds: f64, metric: Metric, bound_ns: u64) -> f64 {
    let bound = bound_ns as f64 / 1e9 / service_seconds;
    let load = crossing(0.0, f64::from(servers), |load| response(servers, load, metric) <= bound);
    load / service_seconds
}

/// One server is known by heart: the response is exponential with mean 1 / (μ − λ).
#[test]
fn one_server_has_its_closed_form() {
    let rate = highest_rate(1, 1e-3, Metric::Mean, 5_000_000);
    assert!((rate - 800.0).abs() < 1e-6, "{rate}");
    let rate = highest_rate(1, 1e-3, Metric::Percentile(99.0), 10_000_000);
    assert!((rate - (1000.0 - 100f64.ln() / 0.01)).abs() < 1e-6, "{rate}");
}
