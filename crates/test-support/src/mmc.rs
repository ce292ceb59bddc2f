//! Queues with Poisson arrivals and exponential service times (M/M/c), whose figures have closed forms.
//!
//! L. Kleinrock, Queueing Systems I, 3.5; A. K. Erlang's formula C by the recursion of formula B.

/// A queue; rates are arrivals per unit in which the service time is given.
#[derive(Clone, Copy)]
pub struct Queue {
    /// Number of servers that work at the same time.
    pub servers: u32,
    /// Mean service time.
    pub service: f64,
}

impl Queue {
    /// Returns the arrivals per service time, and the mean number of idle servers.
    fn load(&self, rate: f64) -> (f64, f64) {
        let load = rate * self.service;
        (load, f64::from(self.servers) - load)
    }

    /// Returns the probability that an arrival has to wait.
    pub fn waits(&self, rate: f64) -> f64 {
        let (load, free) = self.load(rate);
        let blocked = (1..=self.servers).fold(1.0, |b, n| load * b / (f64::from(n) + load * b));
        f64::from(self.servers) * blocked / (free + load * blocked)
    }

    /// Returns the mean time from arrival to completion.
    pub fn mean(&self, rate: f64) -> f64 {
        self.service * (1.0 + self.waits(rate) / self.load(rate).1)
    }

    /// Returns the share of arrivals that take longer: the service time is exponential, and so is the
    /// waiting time, if any.
    pub fn longer_than(&self, rate: f64, time: f64) -> f64 {
        let (t, free) = (time / self.service, self.load(rate).1);
        let late = if (free - 1.0).abs() < 1e-9 {
            t * (-t).exp()
        } else {
            ((-t).exp() - (-free * t).exp()) / (free - 1.0)
        };
        (-t).exp() + self.waits(rate) * late
    }

    /// Returns a percentile of the time from arrival to completion.
    pub fn percentile(&self, rate: f64, percent: f64) -> f64 {
        let longest = 1e6 * self.service;
        crossing(0.0, longest, |time| self.longer_than(rate, time) > 1.0 - percent / 100.0)
    }

    /// Returns the highest rate that a condition allows.
    pub fn highest_rate(&self, allows: impl Fn(f64) -> bool) -> f64 {
        crossing(0.0, f64::from(self.servers) / self.service, allows)
    }
}

/// Returns the point between `low`, where a condition holds, and `high`, where it does not, at which it
/// changes.
fn crossing(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}
