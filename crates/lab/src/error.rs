//! Errors between a plan and its result.

use iogauge_db::DbError;
use iogauge_io::engine::EngineError;
use iogauge_io::logs::LogError;
use iogauge_io::machine::SystemError;
use iogauge_io::output::OutputError;
use iogauge_io::pool::fio::FioError;
use iogauge_io::sim::SimError;
use iogauge_io::targets::{SpecError, TargetError};
use iogauge_io::trace::TraceError;
use iogauge_io::verify::LedgerError;
use iogauge_io::verify::state::StateError;
use iogauge_io::worker::WorkerError;
use iogauge_model::limit::LimitError;
use iogauge_model::load::LoadError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A fault of a measurement. Each message says in one line what is wrong and where, with a hint.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The target is malformed.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The simulated device cannot be made from its text.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The target was refused or cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The workload cannot run.
    #[error("--{0}")]
    Load(#[from] LoadError),
    /// A limit that does not fit the target.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Jobs whose data cannot be distinguished.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Logs cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A verify state cannot be written or read.
    #[error(transparent)]
    VerifyState(#[from] VerifyStateError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The machine's counters cannot be read.
    #[error(transparent)]
    System(#[from] SystemError),
    #[error("ioengine {engine} cannot be used here: {source}; hint: use --ioengine={instead}")]
    EngineRefused { engine: &'static str, source: EngineError, instead: &'static str },
    /// The block layer cannot be traced.
    #[error("--trace: {fault}; hint: {}, or use --trace=try to measure without it", fault.lack().hint())]
    NotTraced { fault: TraceError },
    /// An engine that does not fit the target.
    #[error("{0}")]
    Mismatch(String),
    /// Something that is refused so that no data is lost.
    #[error("{0}")]
    Refused(String),
    /// Another host could not do its part.
    #[error("host {host}: {message}")]
    OnHost { host: String, kind: RefusedKind, message: String },
    /// Another host gives no sign of life, or its storage does not answer.
    #[error("host {host} was lost: {reason}")]
    HostLost { host: String, reason: String },
    /// The database failed.
    #[error(transparent)]
    Db(#[from] DbError),
    #[error("interrupted while preparing the target; the next run resumes where this one stopped")]
    InterruptedPreparing,
    #[error("{path}: writing at byte {offset_bytes} failed while preparing: {source}")]
    PrefillFailed { path: String, offset_bytes: u64, source: std::io::Error },
}

/// Kinds of errors that differ in their exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusedKind {
    /// The user asked for something impossible.
    Usage,
    /// A guard refused the target.
    Refusal,
    /// A guard refused the target because a process uses it.
    InUse,
    Fault,
}

impl RefusedKind {
    /// Returns the kind of an error.
    #[must_use]
    pub fn of(error: &LabError) -> Self {
        match error {
            LabError::Target(error) if error.is_in_use() => Self::InUse,
            error if error.is_refusal() => Self::Refusal,
            error if error.is_usage() => Self::Usage,
            _ => Self::Fault,
        }
    }
}

/// Why a verify state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VerifyStateError {
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A verify state that cannot be read.
    #[error(
        "{}: {source}; hint: use --verify_state_save with the run that writes, and the same --name here", .path.display()
    )]
    Unreadable { path: PathBuf, source: StateError },
    /// A verify state of other units than those of the job.
    #[error(
        "{} has blocks of {bytes} bytes with {algorithm}, and this job verifies others; hint: use the options of the \
         run that wrote it", .path.display()
    )]
    OtherUnits { path: PathBuf, bytes: u32, algorithm: &'static str },
    /// A verify state of a run by another number of hosts, some of whose data would not be verified.
    #[error(
        "{} is of a run by {wrote} host{}, and this one has {hosts}; hint: use as many hosts, in the same order",
        .path.display(), if *wrote == 1 { "" } else { "s" }
    )]
    OtherHosts { path: PathBuf, wrote: u32, hosts: u32 },
}

impl From<FioError> for LabError {
    fn from(error: FioError) -> Self {
        Self::Worker(error.into())
    }
}

impl LabError {
    /// Returns true if a guard refused the target (exit code 3).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Target(error) if error.is_refusal())
            || matches!(self, Self::Db(error) if error.is_refusal())
            || matches!(self, Self::Worker(WorkerError::Fio(error)) if error.is_refusal())
            || matches!(self, Self::Log(LogError::Output(error)) if error.is_refusal())
            || matches!(self, Self::VerifyState(VerifyStateError::Output(error)) if error.is_refusal())
            || matches!(self, Self::Refused(_))
            || matches!(self, Self::OnHost { kind: RefusedKind::Refusal | RefusedKind::InUse, .. })
    }

    /// Returns true if the user requested something impossible (exit code 2).
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Spec(_)
                | Self::Sim(_)
                | Self::Load(_)
                | Self::Limit(_)
                | Self::Ledger(_)
                | Self::Mismatch(_)
                | Self::OnHost { kind: RefusedKind::Usage, .. }
                | Self::Log(
                    LogError::NoName { .. }
                        | LogError::NoDirectory { .. }
                        | LogError::TooMany { .. }
                )
                | Self::VerifyState(
                    VerifyStateError::Unreadable { .. }
                        | VerifyStateError::OtherUnits { .. }
                        | VerifyStateError::OtherHosts { .. }
                )
                | Self::EngineRefused { .. }
                | Self::NotTraced { .. }
                | Self::Target(
                    TargetError::NotFound { .. }
                        | TargetError::TooSmall { .. }
                        | TargetError::SizeBeyondEnd { .. }
                        | TargetError::DirectUnsupported { .. }
                        | TargetError::FileLimit { .. }
                        | TargetError::TooLarge { .. }
                        | TargetError::NamedTwice { .. }
                        | TargetError::NameTooLong { .. }
                        | TargetError::Nothing
                )
                | Self::Worker(
                    WorkerError::Offsets(_)
                        | WorkerError::Footprint(_)
                        | WorkerError::Memory { .. }
                        | WorkerError::Placement { .. }
                )
        ) || matches!(self, Self::Db(error) if error.is_usage())
            || matches!(self, Self::Worker(WorkerError::Fio(error)) if error.is_usage())
    }
}
