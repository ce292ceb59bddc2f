//! Queues of Poisson arrivals and exponential service (M/M/c), whose figures have closed forms.
//!
//! L. Kleinrock, Queueing Systems I, 3.5; A. K. Erlang's formula C by the recursion of his B.

/// A queue; rates are in arrivals per unit of the service time.
#[derive(Clone, Copy)]
pub struct Queue {
    /// Those that serve at the same time.
    pub servers: u32,
    /// Mean service time.
    pub service: f64,
}

impl Queue {
    /// Arrivals per service time, and the servers they leave free on average.
    fn load(&self, rate: f64) -> (f64, f64) {
        let load = rate * self.service;
        (load, f64::from(self.servers) - load)
    }

    /// Probability that an arrival has to wait.
    pub fn waits(&self, rate: f64) -> f64 {
        let (load, free) = self.load(rate);
        let blocked = (1..=self.servers).fold(1.0, |b, n| load * b / (f64::from(n) + load * b));
        f64::from(self.servers) * blocked / (free + load * blocked)
    }

    /// Mean time from arrival to end.
    pub fn mean(&self, rate: f64) -> f64 {
        self.service * (1.0 + self.waits(rate) / self.load(rate).1)
    }

    /// Share of the arrivals that take longer: their service is exponential, and their wait, if any.
    pub fn longer_than(&self, rate: f64, time: f64) -> f64 {
        let (t, free) = (time / self.service, self.load(rate).1);
        let late = if (free - 1.0).abs() < 1e-9 {
            t * (-t).exp()
        } else {
            ((-t).exp() - (-free * t).exp()) / (free - 1.0)
        };
        (-t).exp() + self.waits(rate) * late
    }

    /// Time that so many percent of the arrivals take no longer than.
    pub fn percentile(&self, rate: f64, percent: f64) -> f64 {
        let longest = 1e6 * self.service;
        crossing(0.0, longest, |time| self.longer_than(rate, time) > 1.0 - percent / 100.0)
    }

    /// The highest rate that a condition allows.
    pub fn highest_rate(&self, allows: impl Fn(f64) -> bool) -> f64 {
        crossing(0.0, f64::from(self.servers) / self.service, allows)
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
