//! Arguments of `iogauge history`.

use super::fio::{ExtraArgs, TableFormat};
use super::names;
use super::number::number;
use super::trend::TrendArgs;
use clap::{Args, Subcommand, ValueEnum};
use iogauge_lab::history::{
    ExportFormat, HistoryError, HistoryPath, Label, RunRef, RunState, Runs,
};
use iogauge_report::settings::Setting;
use std::str::FromStr;

/// `iogauge history`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  iogauge history list --target /data
  iogauge history show last-1                 the run before the last one
  iogauge history show x7k2 --format json     a run by the end of its id
  iogauge history show --format fio-json+ > last.json
  iogauge history show last last-1 --format classic --buckets
  iogauge history show last-5..last --format csv
  iogauge history export --format csv > runs.csv
  iogauge history label last-5..last nightly
  iogauge history list --label nightly
  iogauge history export --for ceph last
  iogauge history trend label:nightly
  iogauge history rm last")]
pub struct HistoryArgs {
    /// What to do with the history.
    #[command(subcommand)]
    pub action: HistoryAction,
    /// History file
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        default_value = "default",
        hide_default_value = true
    )]
    pub history: HistoryPath,
}

/// What to do with the history.
#[derive(Debug, Clone, Subcommand)]
pub enum HistoryAction {
    /// List runs, newest first
    List {
        /// Number of runs to list
        #[arg(long, default_value_t = 20, value_parser = number::<1, 1_000_000>)]
        limit: u32,
        /// Only runs in this state: running, done, interrupted, failed, crashed
        #[arg(long)]
        state: Option<RunState>,
        /// Only runs whose target contains this text
        #[arg(long)]
        target: Option<String>,
        /// Only runs with this label
        #[arg(long, value_name = "NAME")]
        label: Option<Label>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show runs as they were printed
    Show {
        /// last, last-1, an id or its beginning, a range such as last-5..last, label:NAME, load:TEXT or
        /// system:NAME
        #[arg(default_value = "last", allow_negative_numbers = true, value_name = "RUN")]
        runs: Vec<Runs>,
        /// Output format
        #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
        format: ShowFormat,
        /// What classic tables show.
        #[command(flatten)]
        extra: ExtraArgs,
    },
    /// Give runs a label, in place of an earlier one
    Label {
        /// last, last-1, ids or their beginnings, a range such as last-5..last, label:NAME, load:TEXT
        /// or system:NAME
        #[arg(required = true, allow_negative_numbers = true, value_name = "RUN")]
        runs: Vec<Runs>,
        /// The label; '' removes it
        #[arg(value_name = "NAME")]
        label: NewLabel,
    },
    /// Find the runs at which a series of runs changed
    Trend(Box<TrendArgs>),
    /// Remove runs
    #[command(visible_alias = "remove", alias = "delete")]
    Rm {
        /// last, last-1, ids or their beginnings, a range such as last-5..last, label:NAME, load:TEXT
        /// or system:NAME
        #[arg(required = true, allow_negative_numbers = true, value_name = "RUN")]
        runs: Vec<Runs>,
        /// Also remove a run in progress
        #[arg(long)]
        force: bool,
    },
    /// Remove every run
    Reset {
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
        /// Also remove runs in progress
        #[arg(long)]
        force: bool,
    },
    /// Write every step of every run to stdout, or one run as a setting of other software
    Export {
        /// json (a line for each step) or csv
        #[arg(long, default_value = "json")]
        format: ExportFormat,
        /// Print the answer of one run as this setting
        #[arg(long = "for", value_name = "SETTING", value_parser = names::setting(), conflicts_with = "format")]
        setting: Option<&'static Setting>,
        /// With --for: last, last-1, an id or its beginning [default: last]
        // A conflict with another option takes the force from "requires".
        #[arg(requires = "setting", conflicts_with = "format", allow_negative_numbers = true)]
        run: Option<RunRef>,
    },
}

/// A label, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLabel(pub Option<Label>);

impl FromStr for NewLabel {
    type Err = HistoryError;

    fn from_str(text: &str) -> Result<Self, HistoryError> {
        if text.is_empty() { Ok(Self(None)) } else { text.parse().map(Some).map(Self) }
    }
}

/// How a kept run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    /// The text that the run printed
    Text,
    /// The JSON document
    Json,
    /// Everything that was measured; one row per point or direction
    IogaugeCsv,
    /// Devices, processors and memory; one row per sample and device
    ProfileCsv,
    /// fio's JSON
    FioJson,
    /// fio's JSON with every latency bucket
    #[value(name = "fio-json+")]
    FioJsonPlus,
    /// The classic table of all named runs
    Classic,
    /// R code that creates a data frame of the classic table
    R,
    /// The same columns as CSV, after a column that names the system
    Csv,
}

impl ShowFormat {
    /// The form of the classic table, where it is one.
    pub fn table(self) -> Option<TableFormat> {
        match self {
            Self::Classic => Some(TableFormat::Classic),
            Self::R => Some(TableFormat::R),
            Self::Csv => Some(TableFormat::Csv),
            Self::Text
            | Self::Json
            | Self::IogaugeCsv
            | Self::ProfileCsv
            | Self::FioJson
            | Self::FioJsonPlus => None,
        }
    }
}
