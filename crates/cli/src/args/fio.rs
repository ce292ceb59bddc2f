//! Arguments of the commands that read what fio wrote.

use clap::{Args, ValueEnum};
use iogauge_lab::history::{HistoryPath, Label};
use std::path::PathBuf;

/// `iogauge import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Reads normal text output of fio 2.0.7 and later, JSON and json+, also of client/server runs. A file may
hold several results. Each file becomes one run in the history. A file whose content is already there
is not imported again. Unreadable parts are reported with file and line.

Reads classic tables, too: as printed by scripts around fio, as CSV, and as R code. Each system that such
a file names becomes a run. What a table does not have, such as run times, is unknown.

Examples:
  iogauge import results/*.json
  iogauge import --system array1 *.out && iogauge report --html array1.html
  iogauge import old.out && iogauge history show last --format classic
  iogauge import 2012.csv && iogauge report --html 2012.html")]
pub struct ImportArgs {
    /// Output files of fio, or tables made from them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// History file
    #[arg(long, value_name = "FILE", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
    /// Name of the measured system, by which reports group runs; put before the names if a file has several
    /// [default: the name in the file, or its directory]
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// Name of the runs in the history
    #[arg(long, value_name = "NAME")]
    pub label: Option<Label>,
    /// Print nothing for imported files
    #[arg(long, short)]
    pub quiet: bool,
}

/// `iogauge table`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Prints one row per direction of each result. It reads the same files as iogauge import and does not
change the history.

Examples:
  iogauge table *.out
  iogauge table --buckets --percentiles *.json
  iogauge table --format r *.out > data.r
  iogauge table --format csv --system array1 *.out > array1.csv")]
pub struct TableArgs {
    /// Output files of fio, or tables made from them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = TableFormat::Classic)]
    pub format: TableFormat,
    /// Name of the measured system: first column of CSV, testtype in R; put before the names if a file has
    /// several [default: the name in the file, or its directory]
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// What classic tables show.
    #[command(flatten)]
    pub extra: ExtraArgs,
}

/// Optional columns of the classic table; R and CSV always have them.
#[derive(Debug, Clone, Copy, Args)]
pub struct ExtraArgs {
    /// Show shares of I/Os by latency in the classic table, in whole percents
    #[arg(long)]
    pub buckets: bool,
    /// Show percentiles of latency in the classic table
    #[arg(long)]
    pub percentiles: bool,
}

/// Forms of the classic table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Text
    Classic,
    /// R code that creates a data frame
    R,
    /// The columns of R, after a column that names the system
    Csv,
}
