//! Arguments of `iogauge history trend`.

use super::number::number;
use super::report::ThemeArg;
use clap::{Args, ValueEnum};
use iogauge_lab::history::Runs;
use iogauge_lab::trend::FEWEST_NEWEST;
use iogauge_model::result::TrendMetric;
use iogauge_model::units::parse_percent;
use std::path::PathBuf;

/// `iogauge history trend`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The series are the runs with the command, load and limits of the newest run; others
are counted as left out. If the runs are independent of each other, the chance of one
or more changes that are not there is at most --p (E-divisive). The exit code is 0
whether or not something changed, unless you give --fail-on-worse.

Examples:
  iogauge history trend label:nightly
  iogauge history trend --target /data --metric p99
  iogauge history trend label:nightly --html trend.html
  iogauge history trend label:nightly --csv nightly.csv
  iogauge history trend label:nightly --fail-on-worse 5   for a nightly job")]
pub struct TrendArgs {
    /// last, ids, a range such as last-50..last, label:NAME, load:TEXT or system:NAME [default: all runs of
    /// --target]
    #[arg(allow_negative_numbers = true, value_name = "RUN", required_unless_present = "target")]
    pub runs: Vec<Runs>,
    /// Only runs of this target, as typed
    #[arg(long)]
    pub target: Option<String>,
    /// Metric to analyse
    #[arg(long, value_enum, default_value_t = MetricArg::Iops)]
    pub metric: MetricArg,
    /// Maximum chance of one or more changes that are not there
    #[arg(long, value_name = "PERCENT", value_parser = chance, default_value = "5%")]
    pub p: f64,
    /// Smallest change to report
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "2%")]
    pub min_change: f64,
    /// Exit with code 6 if the last change is for the worse and began with one of the newest RUNS runs, or if one of
    /// them has no answer or failed I/Os; with 7 if there are too few runs to find a change
    #[arg(long, value_name = "RUNS", value_parser = newest)]
    pub fail_on_worse: Option<u32>,
    /// Print one JSON document
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write the runs and all metrics as CSV, which Apache Otava reads
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,
    /// Write one self-contained HTML file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the chart as SVG into a directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub svg: Option<PathBuf>,
    /// Write the chart as PNG into a directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub png: Option<PathBuf>,
    /// Colours of SVG and PNG; HTML follows the reader's system
    #[arg(long, value_enum, default_value_t = ThemeArg::Light, help_heading = "Output")]
    pub theme: ThemeArg,
    /// Also replace files that iogauge did not create
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

/// Parses a chance, in percent.
fn chance(text: &str) -> Result<f64, String> {
    let percent = parse_percent(text).ok().filter(|percent| (0.1..=50.0).contains(percent));
    percent.ok_or_else(|| format!("must be between 0.1% and 50%, not {text}; hint: use 5%"))
}

/// Parses a number of newest runs.
fn newest(text: &str) -> Result<u32, String> {
    number::<FEWEST_NEWEST, 1_000_000>(text).map_err(|error| {
        format!(
            "{error}; hint: use {FEWEST_NEWEST} or more, since a change shows from its third run on"
        )
    })
}

/// A metric of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricArg {
    /// I/Os per second; the capacity of searches
    Iops,
    /// Bytes per second
    Bandwidth,
    /// Mean latency
    Mean,
    /// Median latency
    P50,
    /// 99th percentile of the latency
    P99,
    /// 99.9th percentile of the latency
    #[value(name = "p99.9")]
    P999,
}

impl From<MetricArg> for TrendMetric {
    fn from(metric: MetricArg) -> Self {
        match metric {
            MetricArg::Iops => Self::Iops,
            MetricArg::Bandwidth => Self::BytesPerSec,
            MetricArg::Mean => Self::LatencyNsMean,
            MetricArg::P50 => Self::LatencyNsP50,
            MetricArg::P99 => Self::LatencyNsP99,
            MetricArg::P999 => Self::LatencyNsP999,
        }
    }
}
