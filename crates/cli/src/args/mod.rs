//! Arguments as typed. `load.rs` turns them into what will run.

mod check;
mod compare;
mod crosscheck;
mod db;
mod fio;
mod history;
mod hosts;
mod load;
mod names;
mod number;
mod profile;
mod report;
mod search;
mod suite;
mod trace;
mod trend;
mod via;

pub use check::CheckArgs;
pub use compare::{CompareArgs, ComparingArgs};
pub use crosscheck::CrosscheckArgs;
pub use db::{
    AddGlobalsArgs, CreateGlobalsArgs, DbAction, DbArgs, DbBesideArgs, DbCompareArgs, DbFindArgs,
    DbLoadArgs, DbMode, DbRunArgs, DbSearchArgs, ExportArgs, FillingArgs, OneArgs, PurgeArgs,
    ResetArgs, SetupArgs, VerifyArgs,
};
pub use fio::{ExtraArgs, ImportArgs, TableArgs, TableFormat};
pub use history::{HistoryAction, HistoryArgs, ShowFormat};
pub use hosts::{HostsArgs, Share};
pub use load::LoadArgs;
pub use profile::{ProfileArgs, SamplingArgs};
pub use report::{ReportArgs, ThemeArg};
pub use search::SearchArgs;
pub use suite::{ResumeArgs, ResumeRef, SuiteArgs, SuiteCommon, SuiteRun, Which};
pub use trace::{TraceArgs, TraceMode};
pub use trend::TrendArgs;
pub use via::ViaArg;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use iogauge_fio::json_out::Detail;
use iogauge_lab::history::{HistoryPath, Label, RunRef};
use iogauge_lab::target::Intent;
use iogauge_model::Limit;
use iogauge_model::guide::Guide;
use iogauge_model::load::options;
use iogauge_model::units::parse_duration_ns;
use iogauge_report::settings::Setting;
use std::ffi::OsString;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    an error of iogauge or of the machine, or a result that could not be saved in the history
  2    wrong usage, or a job file that cannot run
  3    a target or output file was refused, to protect data
  4    I/O errors, wrong data, no I/O completed, or a database's disk reached its reserve (the
       result is kept)
  5    a latency limit is broken: by a run, or by a search even at queue depth 1 or the lowest rate
  6    a check failed, compare found a subject worse, or crosscheck found that iogauge and fio differ
  7    undecided: check or compare could not prove a verdict, the measurements contradict each
       other, or there was too little time, too few I/Os or too little processor time
  8    a host was lost (the result until then is kept and printed)
  130  interrupted (the result so far is kept and printed)";

const EXAMPLES: &str = "\
Examples:
  iogauge find .                              the capacity of this disk with p99 <= 5 ms
  iogauge find /data --limit 'mean<=1ms'      with another latency limit
  iogauge find /data --guide flash            with published limits for a use case
  iogauge compare /mnt/a /mnt/b               which of two is better, measured in turns
  iogauge doctor /data                        what would distort a measurement there
  iogauge run /data --rw=randrw --bs=8k --iodepth=32 --runtime=30
  iogauge run sim:nvme --iodepth=64           a simulated device; no disk needed
  iogauge history show last                   show the last result again";

/// How much I/O can this storage sustain while its latency stays under my limit?
///
/// The answer is a number with its interval, the curve behind it, the reason the search stopped, and
/// every caveat. A TARGET is a directory (iogauge creates a test file in it), a file, a block device
/// (read-only without --destroy-data), a comma-separated list of these, or a simulated device sim:….
#[derive(Debug, Parser)]
#[command(name = "iogauge", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(max_term_width = 100, disable_version_flag = true)]
pub struct Cli {
    /// Print the version and the commit; --version also prints the features of the build
    #[arg(short = 'V', long = "version", action = ArgAction::Version)]
    _version: Option<bool>,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the capacity: the highest IOPS at which the latency limit holds
    Find(Box<FindArgs>),
    /// Run one load, or the jobs of a fio job file, and measure it
    Run(Box<RunArgs>),
    /// Check whether a target meets a requirement: pass, fail or undecided
    Check(Box<CheckArgs>),
    /// Find the capacity of 1, 2, 4 and more hosts, and how many of them saturate the target
    HostsCurve(Box<HostsCurveArgs>),
    /// Run a suite of tests by name, or list the suites
    Suite(SuiteArgs),
    /// Compare targets, settings or saved runs: which is better, and by how much
    Compare(Box<CompareArgs>),
    /// Measure a load with iogauge and fio in turns, and report whether they agree
    Crosscheck(Box<CrosscheckArgs>),
    /// Record devices, processors and memory while another program runs
    Profile(Box<ProfileArgs>),
    /// Report what would distort a measurement of a target; measures and writes nothing
    Doctor(DoctorArgs),
    /// Create and prefill the test file, so that later runs start at once
    Prepare(Box<PrepareArgs>),
    /// Remove the files that iogauge created at a target, and nothing else
    Clean(CleanArgs),
    /// Test through a database: create one, fill it, read and write it
    Db(Box<DbArgs>),
    /// List, show, export or remove saved runs
    History(HistoryArgs),
    /// Draw charts of saved runs as one HTML file, SVG or PNG
    Report(ReportArgs),
    /// Stop a run in progress and keep its result so far
    Stop(StopArgs),
    /// Import results of fio into the history
    Import(ImportArgs),
    /// Print fio results as the classic table, without importing them
    Table(TableArgs),
    /// Write the man pages into a directory
    Man {
        /// Directory for the pages.
        directory: PathBuf,
        /// Also replace files that iogauge did not create
        #[arg(long)]
        force: bool,
    },
    /// Print completions for a shell
    #[command(after_help = "\
Examples:
  iogauge completions bash > /etc/bash_completion.d/iogauge
  iogauge completions fish > ~/.config/fish/completions/iogauge.fish")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// What is measured, and what may be done to it.
#[derive(Debug, Clone, Args)]
pub struct TargetArgs {
    /// Directory, file, block device, comma-separated list of them, or sim:KEY=VALUE,…
    pub target: String,
    /// What may be done to it.
    #[command(flatten)]
    pub permit: PermitArgs,
}

/// What may be done to a target.
#[derive(Debug, Clone, Args)]
pub struct PermitArgs {
    /// Allow writing to a block device; destroys all data on it
    #[arg(long, help_heading = "Safety")]
    pub destroy_data: bool,
    /// Allow writing to an existing file that iogauge did not create
    #[arg(long = "overwrite-file", help_heading = "Safety")]
    pub overwrite: bool,
    /// Allow several hosts to write to this block device although there is data on it that a host outside
    /// the run may use: the identity that the refusal shows. Repeatable
    #[arg(long, value_name = "ID", help_heading = "Safety")]
    pub shared_device: Vec<String>,
    /// Remove the test file when done
    #[arg(long, help_heading = "Safety")]
    pub rm: bool,
    /// Let several hosts share one file in a directory, each with a region of its own in it, instead of a
    /// file for each
    #[arg(long, help_heading = "Hosts")]
    pub shared_file: bool,
}

impl PermitArgs {
    /// Returns what the user permits, without what is to be done.
    pub fn permitted(&self) -> Intent {
        Intent {
            destroy_data: self.destroy_data,
            overwrite: self.overwrite,
            shared_file: self.shared_file,
            shared_devices: self.shared_device.clone(),
            ..Intent::default()
        }
    }
}

/// Where results and progress go.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print one JSON document on stdout and the text on stderr
    #[arg(long)]
    pub json: bool,
    /// Print no progress, and with --json no text
    #[arg(long, short)]
    pub quiet: bool,
    /// History file in which runs are saved, or "none"
    #[arg(long, value_name = "FILE|none", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
    /// Name of the run in the history; several runs may have the same
    #[arg(long, value_name = "NAME")]
    pub label: Option<Label>,
    /// Run in the background; `iogauge stop` stops the run, `iogauge history show` shows it
    #[arg(long)]
    pub detach: bool,
}

impl OutputArgs {
    /// What has to be typed for another command to find this history: nothing, or ` --history …`.
    pub fn history_option(&self) -> String {
        match &self.history {
            HistoryPath::File(path) => format!(" --history {}", path.display()),
            HistoryPath::Default | HistoryPath::None => String::new(),
        }
    }
}

/// `iogauge find`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The search raises the queue depth, or with --open-loop the arrival rate, until a limit breaks,
narrows the gap, and confirms the answer with a long measurement.

Examples:
  iogauge find .
  iogauge find /data --limit 'p99<=5ms' --rw=randrw --rwmixread=70 --bs=8k
  iogauge find . --rw=randrw --limit 'read:p99<=5ms' --limit 'write:mean<=2ms'
  iogauge find /data --guide etcd --rw=write --sync=dsync
  iogauge find /data --guide flash --limit 'p99.9<=3ms'
  iogauge find /dev/nvme0n1 --limit 'mean<=1ms'
  iogauge find /data --open-loop --limit 'p99<=5ms'
  iogauge find /data --for mysql
  iogauge find /data --via fio
  iogauge find /dev/nvme0n1 --trace
  iogauge find nfs.fio --via fio --limit 'p99<=20ms'
  iogauge find sim:channels=8,service=100us --limit 'mean<=10ms' --json")]
pub struct FindArgs {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Print the answer as this setting of other software. Sets the load that the setting means, and a limit of
    /// mean<=10s if the setting is a maximum
    #[arg(long = "for", value_name = "SETTING", value_parser = names::setting())]
    pub setting: Option<&'static Setting>,
    /// Time to measure
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "30s")]
    pub budget: u64,
    /// The search.
    #[command(flatten)]
    pub search: SearchArgs,
    /// Let fio do the I/O and measure it, in a closed loop. Use it for engines that iogauge lacks (in a
    /// job file), or to see what fio measures
    #[arg(long, value_name = "fio[=BINARY]")]
    pub via: Option<ViaArg>,
    /// The trace.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Print each decision of the search on stderr
    #[arg(long)]
    pub explain: bool,
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

/// `iogauge hosts-curve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Searches as iogauge find does, on 1, 2, 4 and so on, and on all hosts, always the
first ones. --budget is the time of each search. The result names the smallest number
of hosts that no larger number exceeds by more than 5 % and beyond chance. The exit
code is 7 if a search has no capacity to compare, and 5 if it cannot keep a limit.

Examples:
  iogauge hosts-curve /mnt/shared --hosts 'node[1-8]'
  mpirun -np 8 iogauge-mpi hosts-curve /mnt/shared --limit 'each:p99<=5ms'
  iogauge hosts-curve sim:array,hosts=16      a simulated array; no disk needed
  iogauge hosts-curve /mnt/shared --hosts 'node[1-8]' --resume
                                              after an interruption, with the same options")]
pub struct HostsCurveArgs {
    /// What is searched.
    #[command(flatten)]
    pub find: FindArgs,
    /// The run to resume.
    #[command(flatten)]
    pub earlier: ResumeArgs,
}

/// `iogauge run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Options have fio's names, with dashes or underscores. A TARGET that ends in .fio is a fio job file:
its jobs run in fio's order, on its own files and devices, with the same safety checks.

Examples:
  iogauge run /data --rw=randread --bs=4k --iodepth=32
  iogauge run nightly.fio
  iogauge run http.fio --via fio
  iogauge run /dev/nvme0n1 --rw=randread --iodepth=8 --trace
  iogauge run /data --rw=randrw --rwmixread=70 --bssplit=4k/60:64k/40 --runtime=60
  iogauge run /data --rw=randwrite --rate_iops=2000 --rate_process=poisson
  iogauge run /data --job 'rw=randread iodepth=16' --job 'rw=write bs=128k sync=dsync'
  iogauge run /data --iodepth=16 --output-format=json+ > randread-16-1.json
  iogauge run /data --rw=randrw --iodepth=16 --print-fio > randrw.fio
  iogauge run /dev/sdb,/dev/sdc --rw=write --bs=1m --destroy-data")]
pub struct RunArgs {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Time to measure
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub runtime: Option<u64>,
    /// Time to run before the measurement starts
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub ramp_time: Option<u64>,
    /// Add a job that runs with the others: options without dashes that override those given; repeatable
    #[arg(long = "job", value_name = "OPTION=VALUE …")]
    pub jobs: Vec<String>,
    /// Let fio do the I/O and measure it. Use it for engines that iogauge lacks (in a job file), or to see
    /// what fio measures
    #[arg(long, value_name = "fio[=BINARY]")]
    pub via: Option<ViaArg>,
    /// The trace.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Latency limit that the result must keep, as in read:p99<=5ms; if it is broken, the exit code is 5.
    /// Repeatable
    #[arg(
        long = "limit",
        value_name = "[each:][read:|write:|sync:]METRIC<=TIME",
        conflicts_with = "print_fio"
    )]
    pub limits: Vec<Limit>,
    /// Published latency limits for a use case, in addition to --limit
    #[arg(long, value_name = "NAME", value_parser = names::guide(), conflicts_with = "print_fio")]
    pub guide: Option<&'static Guide>,
    /// Ignore options of a job file that iogauge does not support, with a warning for each
    #[arg(long)]
    pub lenient: bool,
    /// Print fio's JSON on stdout and the text on stderr; json+ includes every latency bucket
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t = OutputFormat::Normal,
        conflicts_with = "json",
        help_heading = "Output"
    )]
    pub output_format: OutputFormat,
    /// Print the equivalent fio job file and measure nothing
    #[arg(long, conflicts_with_all = ["json", "output_format", "detach"], help_heading = "Output")]
    pub print_fio: bool,
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

/// fio's word for what goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Text for people
    Normal,
    /// fio's JSON
    Json,
    /// fio's JSON with every latency bucket
    #[value(name = "json+")]
    JsonPlus,
}

impl OutputFormat {
    /// What of the latencies fio's JSON has; `None` for text.
    pub fn detail(self) -> Option<Detail> {
        match self {
            Self::Normal => None,
            Self::Json => Some(Detail::Percentiles),
            Self::JsonPlus => Some(Detail::Bins),
        }
    }
}

/// `iogauge doctor`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Reports what the target, its devices and this machine are, and every caveat that shows without a
measurement, each with a hint. It reads a few hundred blocks; it measures, writes and creates
nothing. The exit code is 3 if a run would be refused.

Examples:
  iogauge doctor /data
  iogauge doctor /dev/sdb,/dev/sdc --json")]
pub struct DoctorArgs {
    /// Directory, file, block device, comma-separated list of them, or sim:KEY=VALUE,…
    pub target: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `iogauge prepare`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Writes every block once with data that neither compresses nor repeats, so that reads reach the
medium. An interrupted prefill resumes where it stopped.

Examples:
  iogauge prepare /data --size=64g
  iogauge prepare /dev/sdb,/dev/sdc --destroy-data")]
pub struct PrepareArgs {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Size of each test file, or bytes of each device to prefill
    #[arg(long, value_name = "SIZE", value_parser = iogauge_model::units::parse_size_bytes)]
    pub size: Option<u64>,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// `iogauge clean`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Files that iogauge did not create are never removed, whatever their names.

Examples:
  iogauge clean /data
  iogauge clean /data/one,/data/two")]
pub struct CleanArgs {
    /// Directory of the test file, or the test file itself
    pub target: String,
}

/// `iogauge stop`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  iogauge stop                                the only run in progress
  iogauge stop x7k2                           one of several, by the end of its id")]
pub struct StopArgs {
    /// Run to stop: an id or its beginning [default: the only run in progress]
    #[arg(allow_negative_numbers = true)]
    pub run: Option<RunRef>,
    /// History file
    #[arg(long, value_name = "FILE", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
}

/// True for an option that stands alone or takes 0 or 1, which fio's users write behind a space as well.
fn is_flag(argument: &OsString) -> bool {
    let name = argument.to_str().and_then(|text| text.strip_prefix("--"));
    name.and_then(options::find).is_some_and(|row| row.is_flag)
}

/// Brings arguments from fio's way of writing into clap's: names with dashes where they were typed
/// with underscores (`--rate_iops=5` means `--rate-iops=5`; values stay as they are), and
/// `--direct 0` as `--direct=0`.
pub fn with_dashes(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut plain = false;
    let mut read: Vec<OsString> = Vec::new();
    for argument in arguments {
        if let Some(flag) = read.last_mut()
            && !plain
            && is_flag(flag)
            && (argument == "0" || argument == "1")
        {
            flag.push("=");
            flag.push(argument);
            continue;
        }
        let Some(text) = argument.to_str().filter(|t| t.starts_with("--") && !plain) else {
            read.push(argument);
            continue;
        };
        plain = text == "--";
        let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
        read.push(OsString::from(format!("{}{value}", name.replace('_', "-"))));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn clap_command_definition_passes_debug_assert() {
        Cli::command().debug_assert();
    }

    #[test]
    fn underscores_become_dashes_only_in_option_names() {
        let typed = ["iogauge", "run", "a_b", "--rate_iops=5", "--job", "x_y=1", "--", "--a_b"];
        let read = with_dashes(typed.iter().map(OsString::from));
        assert_eq!(
            read,
            ["iogauge", "run", "a_b", "--rate-iops=5", "--job", "x_y=1", "--", "--a_b"]
        );
    }

    #[test]
    fn flags_accept_a_value_after_a_space() {
        let typed = [
            "iogauge",
            "run",
            "/data",
            "--direct",
            "0",
            "--dependent",
            "/x",
            "--",
            "--direct",
            "0",
        ];
        let read = with_dashes(typed.iter().map(OsString::from));
        let wanted =
            ["iogauge", "run", "/data", "--direct=0", "--dependent", "/x", "--", "--direct", "0"];
        assert_eq!(read, wanted);
    }
}
