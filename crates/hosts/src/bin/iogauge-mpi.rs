//! The binary `iogauge-mpi`: the command line of `iogauge`, on each host of an MPI job.

use iogauge::{Exit, Place};
use iogauge_hosts::follower::{Ended, follow};
use iogauge_hosts::leader::Leader;
use iogauge_hosts::line::Line;
use iogauge_hosts::mpi_port::MpiPort;
use iogauge_io::clock::Clock;
use iogauge_lab::Interrupt;
use iogauge_lab::session::real_clock;
use std::process::ExitCode;

fn main() -> ExitCode {
    iogauge::main(join, &["mpi"])
}

/// Connects to the other processes of the MPI job.
fn join(interrupt: &Interrupt) -> anyhow::Result<Place> {
    // Nothing else ends a thread that waits for storage in the kernel.
    let abort = || std::process::exit(Exit::HostLost as i32);
    let line = Line::open(MpiPort::open, || Clock::get().now_ns(), abort)?;
    Ok(match (line.rank(), line.size()) {
        (_, 1) => Place::Alone,
        (0, _) => Place::Leads(Box::new(Leader::new(line, host_name(), interrupt.clone()))),
        _ => Place::Follows(Box::new(|interrupt| match follow(line, interrupt) {
            Ended::ByOrder => Exit::Done,
            Ended::LeaderLost => Exit::HostLost,
            Ended::BySignal => Exit::Interrupted,
        })),
    })
}

fn host_name() -> String {
    iogauge_lab::session::environment_on(real_clock()).host
}
