//! Errors of fio as the program that does the I/O.

use std::path::PathBuf;

/// Why fio does not measure. Each message says in one line what is wrong, with a hint if there is one.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    #[error(
        "{}: cannot be started: {source}; hint: use --via fio=PATH of fio's binary",
        binary.display()
    )]
    Binary { binary: PathBuf, source: std::io::Error },
    #[error("{} is not fio: its version is {said:?}", binary.display())]
    NotFio { binary: PathBuf, said: String },
    #[error("{version} does not run this: {said}")]
    Refused { version: String, said: String },
    #[error("{version} ended without figures; it said: {said}")]
    Mute { version: String, said: String },
    #[error("{version} ended before its time ({status}): {said}")]
    Ended { version: String, status: String, said: String },
    #[error("{version} printed no figures within {seconds} s; it said: {said}")]
    Silent { version: String, seconds: u64, said: String },
    #[error(
        "--via fio: {why}, so that nothing would restrict fio to the files that it may write; hint: use a \
         job that only reads, root, or a kernel with Landlock"
    )]
    Unconfined { why: String },
    #[error("fio cannot be confined to the files that it may write: {0}")]
    Confine(crate::confine::ConfineError),
    #[error("fio's working directory cannot be made: {0}; hint: use another TMPDIR")]
    Directory(std::io::Error),
    #[error("fio's job file cannot be handed over: {0}")]
    JobFile(std::io::Error),
    /// A job file cannot express the load.
    #[error(transparent)]
    Unsayable(#[from] iogauge_fio::job_out::JobOutError),
    /// The job does not fit its files.
    #[error(transparent)]
    Job(#[from] iogauge_fio::job::JobFileError),
    #[error(
        "--open-loop: fio measures an I/O from when it is issued, not from when it was due, so that \
         its latencies hide what waits; hint: use --open-loop without --via, or --via without \
         --open-loop"
    )]
    OpenLoop,
}

impl FioError {
    /// Returns true if fio was refused so that no data is lost.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Unconfined { .. })
    }

    /// Returns true if the user asked for something impossible.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Binary { .. }
                | Self::NotFio { .. }
                | Self::Refused { .. }
                | Self::Unsayable(_)
                | Self::Job(_)
                | Self::OpenLoop
        )
    }
}
