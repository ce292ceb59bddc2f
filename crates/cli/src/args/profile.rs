//! Arguments that concern the system beside a load, or alone.

use super::OutputArgs;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use iogauge_lab::session::profile::CADENCES;
use iogauge_model::units::parse_duration_ns;
use std::path::PathBuf;
use std::time::Duration;

/// How often the machine is looked at beside a load.
#[derive(Debug, Clone, Copy, Args)]
pub struct SamplingArgs {
    /// Interval of the recorded samples of devices, processors and memory, 100ms to 60s; a simulated
    /// target has none
    #[arg(
        long = "sample-interval",
        value_name = "TIME",
        value_parser = cadence,
        default_value = "500ms",
        help_heading = "Output"
    )]
    pub every: Duration,
}

/// `iogauge profile`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Records devices, processors and memory while other programs run, and issues no I/O of its own. It
records what iostat, vmstat and a vendor's system profile show.

Ctrl-C ends the recording and keeps it. The exit code is then 0 without --for, and 130 before its
time is up.

Examples:
  iogauge profile --for 5m                    every disk in use
  iogauge profile /var/lib/postgresql --for 1h --every 10s --note 'before the upgrade'
  iogauge profile --device sda --device dm-3 --csv profile.csv
  iogauge profile --for 8h --detach
  iogauge history show --format profile-csv > last.csv")]
pub struct ProfileArgs {
    /// Directories, files or block devices whose devices are recorded [default: every disk in use]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// A device to record, by kernel name (sda, dm-3, md0) or node; repeatable
    #[arg(long = "device", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub devices: Vec<String>,
    /// Time to record [default: until Ctrl-C or iogauge stop]
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    pub length: Option<Duration>,
    /// Interval of the samples, 100ms to 60s
    #[arg(long, value_name = "TIME", value_parser = cadence, default_value = "1s")]
    pub every: Duration,
    /// Note to save with the result
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Write all samples to a CSV file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,
    /// Let --csv replace a file that iogauge did not create
    #[arg(long, requires = "csv", help_heading = "Output")]
    pub force: bool,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn cadence(text: &str) -> Result<Duration, String> {
    let cadence = duration(text)?;
    let fits = CADENCES.contains(&cadence);
    let wrong = || "must be between 100ms and 60s; hint: use 1s".to_owned();
    fits.then_some(cadence).ok_or_else(wrong)
}

fn length(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    let wrong = || format!("\"{text}\" records nothing; hint: use 5m");
    (length > Duration::ZERO).then_some(length).ok_or_else(wrong)
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration_ns(text).map(Duration::from_nanos).map_err(|error| error.to_string())
}
