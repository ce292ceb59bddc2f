//! Arguments of `iogauge compare`.

use super::{HostsArgs, LoadArgs, OutputArgs, PermitArgs, SamplingArgs, SearchArgs};
use clap::Args;
use iogauge_model::result::Figure;
use iogauge_model::units::{parse_duration_ns, parse_percent};
use std::path::PathBuf;

/// `iogauge compare`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Measures the subjects in turns, in blocks of random order: A B B A or B A A B. It compares the
capacity under the limits or, with --iodepth or --rate_iops, the figures at that load. The first
subject is the baseline. After each block it looks whether the verdict is proven, and stops:
  equivalent  the 95 % interval of the ratio lies within --margin
  better      it lies beyond the margin: more IOPS, or lower latency
  worse       it lies beyond the margin on the other side
  undecided   none of these before --budget
The exit code is 0 for equivalent or better, 6 for worse, 7 for undecided.

Examples:
  iogauge compare /mnt/a /mnt/b
  iogauge compare /mnt/a /mnt/b --iodepth=32 --metric p99 --margin 10%
  iogauge compare /data --iodepth=16 --a 'ioengine=libaio' --b 'ioengine=io_uring'
  iogauge compare /data --setup-a 'echo none > /sys/block/sdb/queue/scheduler' \\
                        --setup-b 'echo mq-deadline > /sys/block/sdb/queue/scheduler'
  iogauge compare /mnt/a /mnt/b /mnt/c --baseline C
  iogauge compare last-1 last                    two saved runs
  iogauge compare label:before label:after       two sets of saved runs
  iogauge compare /data --setup-a 'uname -r | grep 6.8' --setup-b 'uname -r | grep 6.12' \\
                        --plan kernels.plan      then, after each reboot:
  iogauge compare --resume kernels.plan")]
pub struct CompareArgs {
    /// Targets, at least two, or one with --a and --b or --setup-a and --setup-b. Or runs of the history, as for
    /// iogauge history show
    #[arg(
        value_name = "TARGET|RUN",
        required_unless_present = "resume",
        allow_negative_numbers = true
    )]
    pub subjects: Vec<String>,
    /// Options of the first subject: load options without dashes that override those given
    #[arg(long, value_name = "OPTION=VALUE …")]
    pub a: Option<String>,
    /// Options of the second subject
    #[arg(long, value_name = "OPTION=VALUE …")]
    pub b: Option<String>,
    /// How they are compared.
    #[command(flatten)]
    pub comparing: ComparingArgs,
    /// Write the order of the turns into FILE and measure nothing. Each --resume FILE runs the next turns of one
    /// subject
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "detach"])]
    pub plan: Option<PathBuf>,
    /// Let --plan replace a plan whose turns have begun, and files that iogauge did not create
    #[arg(long, requires = "plan")]
    pub force: bool,
    /// Run the next turns of a planned comparison
    #[arg(long, value_name = "FILE", conflicts_with = "subjects")]
    pub resume: Option<PathBuf>,
    /// Compare saved runs although their loads differ
    #[arg(long)]
    pub unlike: bool,
    /// What may be done to the targets.
    #[command(flatten)]
    pub permit: PermitArgs,
    /// The search.
    #[command(flatten)]
    pub search: SearchArgs,
    /// The load.
    #[command(flatten)]
    pub load: LoadArgs,
    /// The machine beside it.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Hosts.
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How subjects are compared, whatever they are.
#[derive(Debug, Clone, Args)]
pub struct ComparingArgs {
    /// Shell command to run before each turn of the first subject. If it fails, the comparison ends with what was
    /// measured
    #[arg(long, value_name = "COMMAND")]
    pub setup_a: Option<String>,
    /// Shell command to run before each turn of the second subject
    #[arg(long, value_name = "COMMAND")]
    pub setup_b: Option<String>,
    /// The subject with which the others are compared, by its letter
    #[arg(long, value_name = "LETTER", default_value = "A", value_parser = letter)]
    pub baseline: char,
    /// The figure that decides: iops (the capacity, if it is searched), mean, p50, p99 or p99.9
    #[arg(long, value_name = "METRIC", default_value = "iops", value_parser = metric)]
    pub metric: Figure,
    /// Difference up to which subjects are equivalent
    #[arg(long, value_name = "PERCENT", value_parser = margin, default_value = "5%")]
    pub margin: f64,
    /// Time for all turns; it ends earlier once the verdict is proven
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "5m")]
    pub budget: u64,
    /// Time of each turn [default: 2s at a fixed load, 10s for a search]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub runtime: Option<u64>,
    /// Time to run before each turn at a fixed load
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "500ms")]
    pub ramp_time: u64,
}

impl ComparingArgs {
    /// Returns the command before each turn of a subject.
    pub fn setup(&self, subject: usize) -> Option<&str> {
        [&self.setup_a, &self.setup_b].get(subject).and_then(|command| command.as_deref())
    }
}

fn letter(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    let letter = chars.next().map(|c| c.to_ascii_uppercase()).filter(char::is_ascii_uppercase);
    letter
        .filter(|_| chars.next().is_none())
        .ok_or_else(|| format!("\"{text}\" is not the letter of a subject; hint: use A"))
}

fn metric(text: &str) -> Result<Figure, String> {
    let is_named = |figure: &&Figure| figure.word().eq_ignore_ascii_case(text);
    Figure::ALL.iter().find(is_named).copied().ok_or_else(|| {
        let words = Figure::ALL.map(|figure| figure.word().to_lowercase()).join(", ");
        format!("\"{text}\" is not a metric; hint: use one of {words}")
    })
}

/// Parses a margin, in percent.
fn margin(text: &str) -> Result<f64, String> {
    let percent = parse_percent(text).ok().filter(|percent| (0.0..=50.0).contains(percent));
    percent.ok_or_else(|| format!("must be between 0% and 50%, not {text}; hint: use 5%"))
}
