//! When a ladder of processes ends: a limit is broken, or more processes bring less than half of
//! the expected gain.

use crate::suite::judged;
use iogauge_model::Limit;
use iogauge_model::result::StepResult;

/// Growth of the throughput, relative to that of the processes, below which it is no longer linear.
const LINEAR_SHARE: f64 = 0.5;

/// A ladder under way.
#[derive(Debug)]
pub struct Ladder<'a> {
    limits: &'a [Limit],
    /// Processes and operations per second of the previous rung.
    before: Option<(u32, f64)>,
}

impl<'a> Ladder<'a> {
    /// Makes a ladder without rungs.
    #[must_use]
    pub fn new(limits: &'a [Limit]) -> Self {
        Self { limits, before: None }
    }

    /// Checks a rung. Returns the reason if the ladder ends there.
    pub fn step(&mut self, processes: u32, step: &StepResult) -> Option<String> {
        let broken = judged(step, |latencies| {
            self.limits.iter().find(|limit| !limit.holds(latencies)).copied()
        });
        let values = step.database.iter().flat_map(|database| &database.limits);
        // A limit on each host was judged when the latencies of each were there.
        let of_host = values.filter(|value| value.limit.each).find(|value| value.is_broken());
        let broken = broken.or(of_host.map(|value| value.limit));
        let rate = step.ios() as f64 / step.seconds.max(1e-9);
        let before = self.before.replace((processes, rate));
        if let Some(limit) = broken {
            let at = if processes == 1 { "1 process" } else { &format!("{processes} processes") };
            return Some(format!("{} does not hold with {at}", limit.database_words()));
        }
        let (fewer, slower) = before?;
        let asked = f64::from(processes) / f64::from(fewer) - 1.0;
        let came = rate / slower.max(1e-9) - 1.0;
        (came < asked * LINEAR_SHARE).then(|| {
            format!(
                "throughput changed by {:+.0} % from {fewer} to {processes} processes, less than half \
                 of the growth in processes ({:+.0} %)",
                came * 100.0,
                asked * 100.0
            )
        })
    }
}
