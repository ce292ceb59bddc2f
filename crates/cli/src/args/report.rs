//! What is typed for pictures.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use iogauge_lab::history::{HistoryPath, Runs};
use iogauge_report::exhibit::GroupBy;
use iogauge_report::panel::{OF_SERIES, PANELS};
use std::path::PathBuf;

/// Runs, and where their pictures go.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  iogauge report --html report.html              the last run
  iogauge report last last-1 --html two.html     two runs in one file
  iogauge report last last-1 --html two.html --group-by run
                                                 the two side by side
  iogauge report last-5..last --html six.html    a range of runs
  iogauge report label:nightly --html nightly.html
                                                 all runs with a label
  iogauge report 'load:randread 4 KiB' --html reads.html
                                                 all runs of a workload
  iogauge report --system array1 --html array1.html
                                                 all runs of a system
  iogauge report --svg pictures --panel capacity-curve
  iogauge report --png pictures --theme dark")]
pub struct ReportArgs {
    /// Runs: last, last-1, ids, a range such as last-5..last, label:NAME, load:TEXT or system:NAME [default: the last
    /// run, or all runs of the last import]
    #[arg(value_name = "RUN")]
    pub runs: Vec<Runs>,
    /// Only runs of this system: a host, or the name of an import; without RUN, all of them
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// Write one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write one SVG file per chart into a directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Write one PNG file per chart into a directory
    #[arg(long, value_name = "DIR")]
    pub png: Option<PathBuf>,
    /// Draw only this chart; repeatable
    #[arg(long, value_name = "PANEL", value_parser = panel_names())]
    pub panel: Vec<String>,
    /// How to group runs that are drawn together; groups are drawn side by side
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = GroupByArg::System)]
    pub group_by: GroupByArg,
    /// Colours of SVG and PNG; HTML follows the reader's system
    #[arg(long, value_enum, default_value_t = ThemeArg::Light)]
    pub theme: ThemeArg,
    /// Heading of the HTML file
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Also replace files that iogauge did not create
    #[arg(long)]
    pub force: bool,
    /// History file
    #[arg(long, value_name = "FILE", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
}

/// Colours of a picture that stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThemeArg {
    /// For paper and bright rooms.
    Light,
    /// For dark rooms.
    Dark,
}

/// What runs have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GroupByArg {
    /// The host they ran on, or the system they were imported as.
    System,
    /// The target.
    Target,
    /// The label that you gave them.
    Label,
    /// The workload.
    Load,
    /// Each run alone.
    Run,
}

impl From<GroupByArg> for GroupBy {
    fn from(by: GroupByArg) -> Self {
        match by {
            GroupByArg::System => Self::System,
            GroupByArg::Target => Self::Target,
            GroupByArg::Label => Self::Label,
            GroupByArg::Load => Self::Load,
            GroupByArg::Run => Self::Run,
        }
    }
}

/// Lists the panels without that of a series, which is understood, and answered with a hint.
fn panel_names() -> PossibleValuesParser {
    let value = |name| PossibleValue::new(name).hide(name == OF_SERIES);
    PANELS.iter().map(|panel| value(panel.name)).collect::<Vec<_>>().into()
}
