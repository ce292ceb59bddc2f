//! What each of several hosts did in a window.

use super::Measured;
use iogauge_io::engine::Op;
use iogauge_io::worker::accounting::{DIRECTIONS, HostWindow, Tally, Window};
use iogauge_model::Histogram;
use iogauge_model::limit::{Directions, Side};
use iogauge_model::result::{DirectionResult, HostResult};

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

/// Returns the results of each host in a window, with the names of the hosts. `latencies` are those of the window.
pub(crate) fn results(
    window: &Window,
    names: &[String],
    latencies: &Directions<'_>,
) -> Vec<HostResult> {
    let all_iops: f64 = window.hosts.iter().map(HostWindow::iops).sum();
    let mut busy = latencies.hosts().iter().peekable();
    let result = |(number, (host, name)): (usize, (&HostWindow, &String))| {
        let own = busy.next_if(|(busy, _)| *busy == number).map(|(_, own)| own.of(Side::Any));
        let seconds = host.elapsed_ns as f64 / 1e9;
        let bytes: u64 =
            [Op::Read, Op::Write].iter().map(|op| host.directions[*op as usize].bytes).sum();
        HostResult {
            name: name.clone(),
            ios: host.ios(),
            iops: host.iops(),
            bytes_per_sec: if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 },
            queue_depth: host.queue_depth(),
            latency_ns_mean: own.map_or(0.0, |own| own.mean_ns()),
            latency_ns_p50: own.map_or(0, |own| own.percentile_ns(50.0)),
            latency_ns_p99: own.map_or(0, |own| own.percentile_ns(99.0)),
            latency_ns_max: own.map_or(0, |own| own.max_ns()),
            errors: host.directions.iter().map(|tally| tally.errors).sum(),
            share: if all_iops > 0.0 { host.iops() / all_iops } else { 0.0 },
            cpu_percent: 100.0 * host.cpu_ns as f64 / host.elapsed_ns.max(1) as f64,
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
