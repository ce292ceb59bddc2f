//! What can go wrong with fio as the one that does the I/O.

use std::path::PathBuf;

/// Why fio does not measure. Each says in one line what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// The program cannot be started.
    #[error(
        "{}: cannot be started: {source}; hint: use --via fio=PATH of fio's binary",
        binary.display()
    )]
    Binary {
        /// The program.
        binary: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The program starts and is not fio.
    #[error("{}: it says {said:?} of its version, and is not fio", binary.display())]
    NotFio {
        /// The program.
        binary: PathBuf,
        /// Its words.
        said: String,
    },
    /// fio ended without any I/O.
    #[error("{version} does not run this: {said}")]
    Refused {
        /// fio's version.
        version: String,
        /// Its own first words of it.
        said: String,
    },
    /// fio ended as if all were well.
    #[error("{version} ended without figures; it said: {said}")]
    Mute {
        /// fio's version.
        version: String,
        /// What it said instead.
        said: String,
    },
    /// fio ended in the middle.
    #[error("{version} ended before its time ({status}): {said}")]
    Ended {
        /// fio's version.
        version: String,
        /// How it ended.
        status: String,
        /// Its own first words of it.
        said: String,
    },
    /// fio says nothing that can be read.
    #[error("{version} printed no figures within {seconds} s; it said: {said}")]
    Silent {
        /// fio's version.
        version: String,
        /// How long it was waited for.
        seconds: u64,
        /// What it said instead.
        said: String,
    },
    /// Nothing would hold fio to what it may write.
    #[error(
        "--via fio: {why}, so that nothing would hold fio to the files that may be written; hint: use a \
         job that only reads, root, or a kernel with Landlock"
    )]
    Unconfined {
        /// Why the kernel does not.
        why: String,
    },
    /// The kernel does not hold fio as it should.
    #[error("fio cannot be confined to the files that it may write: {0}")]
    Confine(crate::confine::ConfineError),
    /// fio has no directory to work in.
    #[error("fio's working directory cannot be made: {0}; hint: use another TMPDIR")]
    Directory(std::io::Error),
    /// The system did not give what fio is started with.
    #[error("fio's job file cannot be handed over: {0}")]
    JobFile(std::io::Error),
    /// The load is nothing a job file can say.
    #[error(transparent)]
    Unsayable(#[from] iogauge_fio::job_out::JobOutError),
    /// The job does not fit its files.
    #[error(transparent)]
    Job(#[from] iogauge_fio::job::JobFileError),
    /// Arrivals that wait are not measured from when they were due.
    #[error(
        "--open-loop: fio measures an I/O from when it is issued, not from when it was due, so that \
         its latencies hide what waits; hint: use --open-loop without --via, or --via without \
         --open-loop"
    )]
    OpenLoop,
}

impl FioError {
    /// True where fio is not let do what was asked, so that no data is lost.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Unconfined { .. })
    }

    /// True where the user asked for something that cannot be.
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
