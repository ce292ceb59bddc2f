//! Traces a workload in the block layer, through bpftrace and the kernel's block tracepoints
//! (include/trace/events/block.h): `block_rq_issue`, when a request is given to the driver, and `block_rq_complete`.
//!
//! One bpftrace process runs from before the first window to the end. It counts in the kernel, and only during a
//! window. The measuring thread signals both ends of a window by system calls (`mark.rs`), right next to those of the
//! workload's window. A request that was issued before a window and completes in it is counted, as for I/Os.

mod bpftrace_output;
mod devices;
mod error;
mod mark;
mod process;
mod program;

pub use bpftrace_output::trace_of_lines;
pub use error::TraceError;

use crate::kernel::Roots;
use crate::machine::DeviceTree;
use bpftrace_output::{Maps, Said};
use devices::TracedDevice;
use iogauge_model::result::BlockTrace;
use process::Bpftrace;
use program::{FIRST, LAST, OVER, program};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Compiling and attaching takes a second, or several on a busy machine.
const PATIENCE_TO_START: Duration = Duration::from_secs(20);
/// Interval between checks that it has started.
const PING_EVERY: Duration = Duration::from_millis(50);
/// Maps with thousands of entries are printed within milliseconds.
const PATIENCE_TO_PRINT: Duration = Duration::from_secs(10);
/// Directories with the kernel's tracepoints. One of them must exist.
const TRACEFS: [&str; 2] = ["sys/kernel/tracing/events", "sys/kernel/debug/tracing/events"];

/// Traces the devices under a target until it is dropped.
#[derive(Debug)]
pub struct Tracer {
    bpftrace: Bpftrace,
    devices: Vec<TracedDevice>,
    /// Identifies this tracer's messages.
    number: i32,
    begin: Instant,
}

impl Tracer {
    /// Starts tracing the devices of a tree. Returns when all probes are attached, after about a second, or when `stop`
    /// returns true, which is checked several times per second. The calling thread must live as long as the tracer.
    ///
    /// # Errors
    /// Fails if the devices have no request queue, or bpftrace is missing, may not trace or does not answer.
    pub fn start(tree: &DeviceTree, stop: &dyn Fn() -> bool) -> Result<Self, TraceError> {
        let roots = Roots::real();
        let devices = devices::traced(tree, &roots)?;
        check_tracefs(&roots)?;
        let number = own_number();
        let bpftrace = Bpftrace::start(&program(&devices, number))?;
        let mut tracer = Self { bpftrace, devices, number, begin: Instant::now() };
        tracer.wait_for_probes(stop)?;
        Ok(tracer)
    }

    fn wait_for_probes(&mut self, stop: &dyn Fn() -> bool) -> Result<(), TraceError> {
        let begin = Instant::now();
        let (mut first, mut last) = (false, false);
        while begin.elapsed() < PATIENCE_TO_START && !stop() {
            self.tell(mark::PING)?;
            let answered = self.bpftrace.until(PING_EVERY, |said| {
                first |= said == Said::Words(FIRST.to_owned());
                last |= said == Said::Words(LAST.to_owned());
                first && last
            });
            match answered {
                Err(TraceError::Silent { .. }) => {}
                answered => return answered,
            }
        }
        Err(self.bpftrace.silent(begin.elapsed()))
    }

    fn tell(&self, word: i32) -> Result<(), TraceError> {
        mark::send(self.number, word).map_err(TraceError::Mark)
    }

    /// Begins a window, with one system call.
    ///
    /// # Errors
    /// Fails if the kernel forbids the call.
    pub fn begin(&mut self) -> Result<(), TraceError> {
        self.begin = Instant::now();
        self.tell(mark::BEGIN)
    }

    /// Ends the window and returns its contents after a few milliseconds.
    ///
    /// # Errors
    /// Fails if bpftrace has ended or does not answer.
    pub fn end(&mut self) -> Result<BlockTrace, TraceError> {
        self.tell(mark::END)?;
        let seconds = self.begin.elapsed().as_secs_f64();
        let mut maps = Maps::default();
        self.bpftrace.until(PATIENCE_TO_PRINT, |said| {
            let is_last = said == Said::Words(OVER.to_owned());
            if let Said::Map(name, map) = said {
                maps.insert(name, map);
            }
            is_last
        })?;
        let devices: Vec<_> = self
            .devices
            .iter()
            .map(|device| (device.kernel_number(), device.name.as_str()))
            .collect();
        Ok(maps.trace(seconds, &devices))
    }
}

/// Fails if the tracepoints are definitely missing. Without permission to check, bpftrace reports the error.
fn check_tracefs(roots: &Roots) -> Result<(), TraceError> {
    let missing = |place: &&str| matches!(roots.path(place).try_exists(), Ok(false));
    if TRACEFS.iter().all(missing) { Err(TraceError::NoTracefs) } else { Ok(()) }
}

/// Returns a number that no other tracer on the machine has. Processes in other containers may have the same PID and
/// start in the same second.
fn own_number() -> i32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mixed = (now.subsec_nanos() ^ std::process::id().rotate_left(16)) & 0x3fff_ffff;
    // Small numbers are real error numbers.
    mixed as i32 | 0x4000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_mount_point_is_not_taken_for_tracefs() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::at(root.path());
        let place = root.path().join("sys/kernel/tracing");
        std::fs::create_dir_all(&place).unwrap();
        assert!(matches!(check_tracefs(&roots), Err(TraceError::NoTracefs)));
        std::fs::create_dir(place.join("events")).unwrap();
        assert!(check_tracefs(&roots).is_ok());
    }
}
