//! What a worker is made from, and the errors of making one.

use super::accounting::DIRECTIONS;
use super::control::Control;
use super::passes::Passes;
use super::quota::Quota;
use super::schedule::Schedule;
use crate::buffers::BufferPool;
use crate::confine::ConfineError;
use crate::engine::EngineError;
use crate::logs::Recorder;
use crate::offsets::{OffsetError, OffsetSource, mix64};
use crate::pool::FootprintError;
use crate::pool::fio::FioError;
use crate::verify::verifier::JobVerify;
use iogauge_model::load::Load;
use std::sync::Arc;

/// What a worker is made from, besides its engine.
#[derive(Debug)]
pub struct Assignment {
    pub load: Load,
    /// Source of its offsets.
    pub offsets: OffsetSource,
    /// Number of the worker within the step. Its random streams derive from it.
    pub number: u32,
    /// What it and the other workers of its stream may still issue; `None` for no limit.
    pub quota: Option<Arc<Quota>>,
    /// Passes before which the files are dropped from the page cache; `None` if they are not.
    pub passes: Option<Arc<Passes>>,
    /// Arrivals of the job; `None` for a closed loop.
    pub(crate) schedule: Option<Arc<Schedule>>,
    /// Maximum number of outstanding I/Os.
    pub max_depth: u32,
    /// What the worker shares with the controller.
    pub control: Arc<Control>,
    /// What it needs to verify; `None` for a load that does not verify.
    pub verify: Option<Arc<JobVerify>>,
    /// Records its I/Os for logs; `None` if it writes none.
    pub recorder: Option<Recorder>,
}

impl Assignment {
    /// Creates the buffers for a worker with this assignment.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn pool(&self) -> std::io::Result<BufferPool> {
        let seed = mix64(self.load.seed ^ mix64(u64::from(self.number) << 32 | 2));
        let pool = BufferPool::new(self.max_depth, self.load.block.largest(), seed)?;
        Ok(pool.with_content(self.load.content).with_pattern(self.load.buffer_pattern.as_ref()))
    }
}

/// Returns the directions in which a load does I/O.
#[must_use]
pub fn directions(load: &Load) -> [bool; DIRECTIONS] {
    let syncs = load.fsync_every > 0 || load.fdatasync_every > 0 || load.end_fsync;
    let checks = load.verify.as_ref().is_some_and(|verify| verify.backlog.is_some());
    let reads = load.rw.reads() || load.dependent || load.only_checks() || checks;
    [reads, load.writes(), syncs]
}

/// Why a worker could not be created.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The load does not fit the target.
    #[error(transparent)]
    Offsets(#[from] OffsetError),
    /// The step needs more of the machine's resources than it may use.
    #[error(transparent)]
    Footprint(#[from] FootprintError),
    #[error(
        "no memory for {slots} buffers of {block_bytes} bytes: {source}; hint: use a smaller --bs or \
         --iodepth"
    )]
    Memory { slots: u32, block_bytes: u64, source: std::io::Error },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(
        "{option}={value} is not available to this process: {source}; hint: use {}",
        if *option == "nice" { "0 or more, or run as root" } else { "processors that nproc counts" }
    )]
    Placement { option: &'static str, value: String, source: std::io::Error },
    #[error("no thread for another worker: {0}; hint: use a smaller --iodepth or --numjobs")]
    Thread(std::io::Error),
    #[error(
        "a worker waits in the kernel and does not start; hint: look into the kernel's log (dmesg)"
    )]
    NotReady,
    #[error("a worker cannot be confined to its files: {0}")]
    Confine(#[from] ConfineError),
    #[error(
        "the simulated device is in use; hint: drop its worker pool before the next one starts"
    )]
    DeviceInUse,
    /// fio, which should do the I/O, failed.
    #[error(transparent)]
    Fio(#[from] FioError),
    /// Another host, which should do a part of the I/O, failed.
    #[error("host {host}: {message}")]
    OnHost { host: String, message: String },
}
