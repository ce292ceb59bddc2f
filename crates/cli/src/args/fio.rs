//! Arguments of the commands that read what fio wrote.

use clap::{Args, ValueEnum};
use iogauge_lab::history::HistoryPath;
use std::path::PathBuf;

/// `iogauge import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Takes normal text output of fio 2.0.7 and later, JSON and json+, several of them in one file, of
client/server runs too. Each file becomes a run of the history; a file that is in it already, under
whatever name, is not kept again. What cannot be read is told with file and line.

Examples:
  iogauge import results/*.json
  iogauge import --system array1 *.out && iogauge report --html array1.html
  iogauge import old.out && iogauge history show last --format classic")]
pub struct ImportArgs {
    /// Files that fio wrote
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where runs are kept
    #[arg(long, value_name = "FILE", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
    /// Name of what was measured, by which reports group runs [default: the directory of each file]
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// Tell nothing of files that were read
    #[arg(long, short)]
    pub quiet: bool,
}

/// `iogauge table`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A row for each direction of each result; the history is left alone. Reads what iogauge import reads.

Examples:
  iogauge table *.out
  iogauge table --buckets --percentiles *.json
  iogauge table --format r *.out > data.r
  iogauge table --format csv --system array1 *.out > array1.csv")]
pub struct TableArgs {
    /// Files that fio wrote
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = TableFormat::Classic)]
    pub format: TableFormat,
    /// Name of what was measured: first column of CSV, testtype in R [default: the directory of
    /// each file]
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// What classic tables show.
    #[command(flatten)]
    pub extra: ExtraArgs,
}

/// What classic tables show beside the figures that are always there; R and CSV have all of it.
#[derive(Debug, Clone, Copy, Args)]
pub struct ExtraArgs {
    /// Show shares of I/Os by latency in the classic table
    #[arg(long)]
    pub buckets: bool,
    /// Show percentiles of latency in the classic table
    #[arg(long)]
    pub percentiles: bool,
}

/// Forms of the classic table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Columns for people
    Classic,
    /// R code that makes a data frame
    R,
    /// The columns of R, behind one that names the system
    Csv,
}
