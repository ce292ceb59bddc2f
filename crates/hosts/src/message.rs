//! What the leader and its followers tell each other.
//!
//! Orders and reports are MessagePack with names. All processes of a run have the same version, so the format has no
//! other compatibility to keep; the first report carries the version.

use crate::act::Action;
use iogauge_io::logs::LogWaits;
use iogauge_io::machine::{ProcessCpu, Starvation};
use iogauge_io::pool::{LiveFigures, Paused};
use iogauge_io::worker::accounting::Window;
use iogauge_io::worker::control::IoFault;
use iogauge_lab::db::DbReport;
use iogauge_lab::error::RefusedKind;
use iogauge_lab::session::hosts::{Examined, Examining, HostPlan, Opening, Preparing, Starting};
use iogauge_lab::session::made_files::MadeFiles;
use iogauge_lab::session::sharing::PartOnHost;
use iogauge_model::result::{Environment, VerifyEnd, VerifyResult};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the leader orders. Times are those of the follower's clock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Order {
    /// Tell what host this is.
    Introduce,
    /// Identify the target and let the guards judge the intent.
    Open(Opening),
    /// Write this host's blocks of the target that are not written yet.
    Prepare(Preparing),
    /// Tell what may make results mislead.
    Examine(Box<Examining>),
    /// Check this host's part of a plan.
    Check(Box<HostPlan>),
    /// Start workers at a time.
    Start { starting: Box<Starting>, at_ns: u64 },
    /// Do this with the workers at a time.
    Act { action: Action, at_ns: u64 },
    /// End the workers and report their last window.
    Stop { in_hurry: bool },
    /// Remove test files that this host has made: all of the target, or those with these paths.
    Remove(Option<Vec<PathBuf>>),
    /// Read back at a time what the workers have written, unless they have ended as `skipped`. [`Order::Stop`] ends
    /// this early.
    ReadBack { skipped: Option<VerifyEnd>, at_ns: u64 },
    /// Give the logs of the run their names.
    Commit { complete: bool },
    /// Nothing more follows.
    End,
}

/// What a follower reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Report {
    /// The order is done.
    Done,
    /// The host, and the version of iogauge there. Hosts with one `boot_id` share a kernel.
    Introduced { environment: Box<Environment>, boot_id: Option<String> },
    /// The target is open. What identifies each part.
    Opened(Vec<PartOnHost>),
    /// What was found about the target.
    Examined(Box<Examined>),
    /// Files were removed, or not; a line for each.
    Removed(Vec<String>),
    /// What the workers did until the order.
    Window { window: Option<Box<Window>>, state: Box<HostState> },
    /// What was verified; `None` if no job verifies.
    Verified(Option<Box<VerifyResult>>),
    /// Which files the run has made.
    Made(MadeFiles),
    /// How the workers are, without an order.
    Pulse(Box<HostState>),
    /// The order could not be done.
    Refused { kind: RefusedKind, message: String },
}

/// How the workers of a host are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HostState {
    pub live: LiveFigures,
    pub workers: usize,
    /// Processors that the workers can use at once; 0 if unknown.
    pub processors: u32,
    /// True if no I/O issued before the last change is outstanding.
    pub is_drained: bool,
    /// True if every worker has ended by itself.
    pub is_finished: bool,
    pub could_add_worker: bool,
    pub most_depth: Option<u32>,
    /// Pauses of the process since the last state.
    pub paused: Paused,
    pub starvation: Option<Starvation>,
    pub cpu: ProcessCpu,
    pub fault: Option<(u32, IoFault)>,
    pub fallbacks: Vec<String>,
    pub left_behind: Vec<String>,
    /// What the workers of a database report in addition to their windows.
    pub database: DbReport,
    /// True if wrong data has ended the load.
    pub found_fatal: bool,
    /// How long workers that have ended waited for their logs.
    pub log_waits: LogWaits,
    /// True once the process was asked to end by a signal.
    pub was_signalled: bool,
    /// Why the host stopped its workers, if not by an order or a signal.
    pub stopped_by: Option<String>,
}

/// A message with the number of the order that it is or answers. A report without an order has number 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Numbered<T> {
    pub number: u64,
    pub content: T,
}

/// A message that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a message of another host cannot be read: {0}")]
pub struct MessageError(#[from] rmp_serde::decode::Error);

/// Returns the bytes of a message.
///
/// # Panics
/// Never: the messages above can all be serialized.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    #[expect(clippy::expect_used, reason = "writing to memory does not fail")]
    rmp_serde::to_vec_named(message).expect("orders and reports have a form in MessagePack")
}

/// Reads a message.
///
/// # Errors
/// If the bytes are not such a message.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    Ok(rmp_serde::from_slice(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_io::worker::accounting::WorkerWindow;
    use iogauge_model::load::Load;

    #[test]
    fn window_survives_the_way_with_every_bucket() {
        let mut window = Window::default();
        (0..10_000u64).for_each(|n| window.directions[0].service.record(n * n));
        window.directions[0].service.record(u64::MAX);
        window.directions[1].response.get_or_insert_default().record(7);
        let worker =
            WorkerWindow { queue_depth_integral: u128::MAX / 3, ..WorkerWindow::default() };
        window.workers.push(worker);
        let report =
            Report::Window { window: Some(Box::new(window.clone())), state: Box::default() };
        let Report::Window { window: Some(read), .. } = decode(&encode(&report)).unwrap() else {
            panic!("another report");
        };
        assert_eq!(
            read.directions[0].service.sum_ns() as u64 as u128,
            read.directions[0].service.sum_ns()
        );
        assert!(read.directions[0].service.buckets().eq(window.directions[0].service.buckets()));
        assert_eq!(read.directions[1].response, window.directions[1].response);
        assert_eq!(read.workers[0].queue_depth_integral, u128::MAX / 3);
    }

    #[test]
    fn workload_survives_the_way() {
        let load = Load { fsync_every: 3, seed: u64::MAX, ..Load::default() };
        assert_eq!(decode::<Load>(&encode(&load)).unwrap(), load);
        assert!(decode::<Order>(&encode(&load)).is_err());
    }
}
