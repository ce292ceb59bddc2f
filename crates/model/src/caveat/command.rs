//! The command whose result has a caveat. Hints name only options of this command.

use crate::vocabulary::Vocabulary;
use serde::{Deserialize, Serialize};

/// A command that raises caveats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Command {
    /// `run` with the workload on the command line.
    #[default]
    Run,
    /// `run` with the workload in a job file.
    RunFile,
    /// `find` with the workload on the command line.
    Find,
    /// `find` with the workload in a fio job file.
    FindFile,
    Check,
    /// `suite`, with the option that makes its steps longer.
    Suite(StepTime),
    Crosscheck,
    Compare,
    Profile,
    Doctor,
    DbSetup,
    DbRun,
    DbFind,
    /// `db beside` while it measures the database.
    DbBeside,
    /// `db beside` while it measures the device.
    DbBesideDevice,
    /// `history trend`.
    Trend,
}

/// The option of a suite that makes its steps longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepTime {
    Seconds,
    /// `--seconds`, in a suite whose files have the size `--filesize`.
    SecondsOfFiles,
    /// `--scale`; a smaller value makes steps longer.
    Scale,
    Fixed,
}

impl Command {
    /// All commands.
    pub const ALL: [Self; 19] = [
        Self::Run,
        Self::RunFile,
        Self::Find,
        Self::FindFile,
        Self::Check,
        Self::Suite(StepTime::Seconds),
        Self::Suite(StepTime::SecondsOfFiles),
        Self::Suite(StepTime::Scale),
        Self::Suite(StepTime::Fixed),
        Self::Crosscheck,
        Self::Compare,
        Self::Profile,
        Self::Doctor,
        Self::DbSetup,
        Self::DbRun,
        Self::DbFind,
        Self::DbBeside,
        Self::DbBesideDevice,
        Self::Trend,
    ];

    /// True if the command measures database operations by number of processes.
    const fn is_of_database(self) -> bool {
        matches!(self, Self::DbSetup | Self::DbRun | Self::DbFind | Self::DbBeside)
    }

    /// Returns the terms for what the command measures.
    pub(super) const fn words(self) -> Vocabulary {
        Vocabulary::of_database(self.is_of_database())
    }

    /// True if the command takes workload options on the command line.
    pub(super) const fn takes_load(self) -> bool {
        matches!(self, Self::Run | Self::Find | Self::Check | Self::Crosscheck | Self::Compare)
    }

    /// Returns a workload option as the user writes it: on the command line or in the job file. `None` if the
    /// command takes no workload options.
    pub(super) fn load_option(self, option: &str) -> Option<String> {
        match self {
            Self::RunFile | Self::FindFile => Some(format!("{option} in the job file")),
            _ => self.takes_load().then(|| format!("--{option}")),
        }
    }

    /// Returns the hint for a longer measurement.
    pub(super) const fn longer(self) -> &'static str {
        match self {
            Self::Run | Self::Crosscheck | Self::Compare | Self::DbRun => "increase --runtime",
            Self::RunFile => "increase runtime, or the amount of I/O, in the job file",
            Self::Find
            | Self::FindFile
            | Self::Check
            | Self::DbFind
            | Self::DbBeside
            | Self::DbBesideDevice => "increase --budget",
            Self::Suite(StepTime::Seconds) => "increase --seconds",
            Self::Suite(StepTime::SecondsOfFiles) => {
                "increase --seconds, or --filesize with --create-once"
            }
            Self::Suite(StepTime::Scale) => "reduce --scale",
            Self::Suite(StepTime::Fixed) => {
                "increase the runtime, or the amount of I/O, of the steps in the suite's file"
            }
            Self::Profile => "increase --for",
            Self::Doctor | Self::DbSetup | Self::Trend => "measure for longer",
        }
    }

    /// Returns the hint for a longer search.
    pub(super) const fn larger_budget(self) -> &'static str {
        match self {
            Self::Suite(StepTime::Fixed) => {
                "increase the seconds of the search in the suite's file"
            }
            Self::Suite(StepTime::Seconds | StepTime::Scale) => "increase --budget",
            _ => self.longer(),
        }
    }

    /// Returns the hint for a longer measurement that starts later.
    pub(super) const fn longer_and_later(self) -> &'static str {
        match self {
            Self::Run | Self::Crosscheck | Self::Compare | Self::DbRun => {
                "increase --ramp_time and --runtime"
            }
            Self::RunFile => "increase ramp_time and runtime in the job file",
            _ => self.longer(),
        }
    }

    /// Returns the hint for a larger maximum queue depth.
    pub(super) const fn deeper(self) -> &'static str {
        match self {
            Self::Find | Self::FindFile | Self::Check => "increase --max-depth",
            Self::RunFile => "increase iodepth in the job file",
            Self::DbFind | Self::DbBeside => "increase --max-processes",
            _ => "search with iogauge find and a larger --max-depth",
        }
    }
}
