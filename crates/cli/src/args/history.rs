//! Arguments of `iogauge history`.

use super::fio::{ExtraArgs, TableFormat};
use super::number::number;
use clap::{Args, Subcommand, ValueEnum};
use iogauge_lab::history::{ExportFormat, HistoryPath, RunState, Runs};

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
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show runs as they were printed
    Show {
        /// last, last-1, an id or its beginning, a range such as last-5..last, label:TEXT or system:NAME
        #[arg(default_value = "last", allow_negative_numbers = true, value_name = "RUN")]
        runs: Vec<Runs>,
        /// Output format
        #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
        format: ShowFormat,
        /// What classic tables show.
        #[command(flatten)]
        extra: ExtraArgs,
    },
    /// Remove runs
    #[command(visible_alias = "remove", alias = "delete")]
    Rm {
        /// last, last-1, ids or their beginnings, a range such as last-5..last, label:TEXT or system:NAME
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
    /// Write every step of every run to stdout
    Export {
        /// json (a line for each step) or csv
        #[arg(long, default_value = "json")]
        format: ExportFormat,
    },
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
