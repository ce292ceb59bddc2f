//! What each of several hosts did in a window.

use super::Measured;
use iogauge_io::engine::Op;
use iogauge_io::worker::accounting::{DIRECTIONS, HostWindow, Tally, Window};
use iogauge_model::Histogram;
use iogauge_model::limit::{Directions, Side};
use iogauge_model::result::{DirectionResult, HostResult};

/// The processor time of hosts is read less exactly than their I/Os are counted. In a shorter window it is unknown.
const LEAST_SECONDS_OF_CPU: f64 = 0.1;

/// Which latencies count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Service times.
    Service,
    /// Response times of reads and writes, if arrivals were scheduled.
    Response,
}

/// Returns the latencies of a window by direction and host, to judge limits by.
pub(crate) fn latencies(window: &Window, times: Times) -> Directions<'_> {
    of(&window.directions, times).with_hosts(by_host(&window.hosts, times))
}

/// Returns the latencies of the hosts that were not idle, with their numbers.
fn by_host(hosts: &[HostWindow], times: Times) -> impl Iterator<Item = (usize, Directions<'_>)> {
    let busy = hosts.iter().enumerate().filter(|(_, host)| !is_idle(host));
    busy.map(move |(number, host)| (number, of(&host.directions, times)))
}

fn of(tallies: &[Tally; DIRECTIONS], times: Times) -> Directions<'_> {
    let of = |op: Op| {
        let tally = &tallies[op as usize];
        // A load that schedules arrivals counts response times in each of its directions.
        tally.response.as_ref().filter(|_| times == Times::Response).unwrap_or(&tally.service)
    };
    Directions::new(of(Op::Read), of(Op::Write), &tallies[Op::Sync as usize].service)
}

/// Returns true if a host had no I/O outstanding.
fn is_idle(host: &HostWindow) -> bool {
    host.queue_depth_integral == 0 && host.ios() == 0
}

/// Returns the results of each host in a window, with the names of the hosts. `latencies` are those of the window. Rates
/// are those over the whole window, also on hosts whose workers ended earlier, so that they add up.
pub(crate) fn results(
    window: &Window,
    names: &[String],
    latencies: &Directions<'_>,
) -> Vec<HostResult> {
    let all_ios: u64 = window.hosts.iter().map(HostWindow::ios).sum();
    let seconds = window.seconds();
    let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let mut busy = latencies.hosts().iter().peekable();
    let result = |(number, (host, name)): (usize, (&HostWindow, &String))| {
        let own = busy.next_if(|(busy, _)| *busy == number).map(|(_, own)| own.of(Side::Any));
        let bytes: u64 =
            [Op::Read, Op::Write].iter().map(|op| host.directions[*op as usize].bytes).sum();
        HostResult {
            name: name.clone(),
            ios: host.ios(),
            iops: rate(host.ios() as f64),
            bytes_per_sec: rate(bytes as f64),
            queue_depth: rate(host.queue_depth_integral as f64 / 1e9),
            latency_ns_mean: own.map_or(0.0, |own| own.mean_ns()),
            latency_ns_p50: own.map_or(0, |own| own.percentile_ns(50.0)),
            latency_ns_p99: own.map_or(0, |own| own.percentile_ns(99.0)),
            latency_ns_max: own.map_or(0, |own| own.max_ns()),
            errors: host.directions.iter().map(|tally| tally.errors).sum(),
            share: if all_ios > 0 { host.ios() as f64 / all_ios as f64 } else { 0.0 },
            cpu_percent: if seconds < LEAST_SECONDS_OF_CPU {
                0.0
            } else {
                rate(host.cpu_ns as f64) / 1e7
            },
            processors: host.processors,
            clock_error_ns: host.clock_error_ns,
            same_kernel: host.same_kernel,
        }
    };
    window.hosts.iter().zip(names).enumerate().map(result).collect()
}

impl Measured {
    /// Returns the latencies of the step by direction and host, to judge limits by: response times of I/Os that were
    /// scheduled, service times of others.
    pub(crate) fn latencies(&self) -> Directions<'_> {
        static NONE: Histogram = Histogram::empty();
        fn of(direction: Option<&DirectionResult>) -> &Histogram {
            direction.map_or(&NONE, |direction| {
                direction.response_histogram.as_ref().unwrap_or(&direction.service_histogram)
            })
        }
        let step = &self.result;
        Directions::new(of(step.read.as_ref()), of(step.write.as_ref()), of(step.sync.as_ref()))
            .with_hosts(by_host(&self.hosts, Times::Response))
    }
}
