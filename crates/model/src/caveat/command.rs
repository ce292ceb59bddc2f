//! The command whose result has a caveat: its hints name only options of this command.

use crate::vocabulary::Vocabulary;

/// A command that raises caveats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Command {
    /// `run` with the load on the command line.
    #[default]
    Run,
    /// `run` with the load in a job file.
    RunFile,
    /// `find` with the load on the command line.
    Find,
    /// `find` with the load in a job file for fio.
    FindFile,
    /// `suite`, with the option that makes its steps longer.
    Suite(StepTime),
    Crosscheck,
    Profile,
    Doctor,
    DbSetup,
    DbRun,
    DbFind,
    /// `db beside` while it measures the database.
    DbBeside,
    /// `db beside` while it measures the device.
    DbBesideDevice,
}

/// The option of a suite that makes its steps longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepTime {
    Seconds,
    /// `--scale`, smaller for longer steps.
    Scale,
    Fixed,
}

impl Command {
    /// Every command.
    pub const ALL: [Self; 15] = [
        Self::Run,
        Self::RunFile,
        Self::Find,
        Self::FindFile,
        Self::Suite(StepTime::Seconds),
        Self::Suite(StepTime::Scale),
        Self::Suite(StepTime::Fixed),
        Self::Crosscheck,
        Self::Profile,
        Self::Doctor,
        Self::DbSetup,
        Self::DbRun,
        Self::DbFind,
        Self::DbBeside,
        Self::DbBesideDevice,
    ];

    /// True where operations of a database are measured, by the number of processes.
    const fn is_of_database(self) -> bool {
        matches!(self, Self::DbSetup | Self::DbRun | Self::DbFind | Self::DbBeside)
    }

    /// The words for what it measures.
    pub(super) const fn words(self) -> Vocabulary {
        Vocabulary::of_database(self.is_of_database())
    }

    /// True where options of the load stand on the command line.
    pub(super) const fn takes_load(self) -> bool {
        matches!(self, Self::Run | Self::Find | Self::Crosscheck)
    }

    /// An option of a load as this command has it: on the command line, or in the job file. `None` where it
    /// has none.
    pub(super) fn load_option(self, option: &str) -> Option<String> {
        match self {
            Self::RunFile | Self::FindFile => Some(format!("{option} in the job file")),
            _ => self.takes_load().then(|| format!("--{option}")),
        }
    }

    /// How to measure for longer.
    pub(super) const fn longer(self) -> &'static str {
        match self {
            Self::Run | Self::Crosscheck | Self::DbRun => "increase --runtime",
            Self::RunFile => "increase runtime in the job file",
            Self::Find | Self::FindFile | Self::DbFind | Self::DbBeside | Self::DbBesideDevice => {
                "increase --budget"
            }
            Self::Suite(StepTime::Seconds) => "increase --seconds",
            Self::Suite(StepTime::Scale) => "reduce --scale",
            Self::Suite(StepTime::Fixed) => "use a suite with longer steps",
            Self::Profile => "increase --for",
            Self::Doctor | Self::DbSetup => "measure for longer",
        }
    }

    /// How to measure for longer and begin later.
    pub(super) const fn longer_and_later(self) -> &'static str {
        match self {
            Self::Run | Self::Crosscheck | Self::DbRun => "increase --ramp_time and --runtime",
            Self::RunFile => "increase ramp_time and runtime in the job file",
            _ => self.longer(),
        }
    }

    /// How to let more I/Os be outstanding in a search.
    pub(super) const fn deeper(self) -> &'static str {
        match self {
            Self::Find | Self::FindFile => "increase --max-depth",
            Self::RunFile => "increase iodepth in the job file",
            Self::DbFind | Self::DbBeside => "increase --max-processes",
            _ => "search with iogauge find and a larger --max-depth",
        }
    }
}
