//! Arguments as typed. `load.rs` turns them into what will run.

mod crosscheck;
mod db;
mod fio;
mod guide;
mod load;
mod profile;
mod report;
mod suite;
mod via;

pub use crosscheck::CrosscheckArgs;
pub use db::{
    DbAction, DbArgs, DbBesideArgs, DbFindArgs, DbLoadArgs, DbMode, DbRunArgs, DbSearchArgs,
    ExportArgs, GlobalsArgs, OneArgs, PurgeArgs, ResetArgs, SetupArgs, VerifyArgs,
};
pub use fio::{ExtraArgs, ImportArgs, TableArgs, TableFormat};
pub use load::LoadArgs;
pub use profile::{ProfileArgs, SamplingArgs};
pub use report::{ReportArgs, ThemeArg};
pub use suite::{ResumeRef, SuiteArgs, SuiteCommon, SuiteRun, Which};
pub use via::ViaArg;

use guide::GuideParser;

use clap::{Args, Parser, Subcommand, ValueEnum};
use iogauge_lab::history::{ExportFormat, HistoryPath, RunRef, RunState};
use iogauge_model::Limit;
use iogauge_model::fio::json_out::Detail;
use iogauge_model::guide::Guide;
use iogauge_model::units::{parse_duration_ns, parse_percent};
use std::ffi::OsString;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a fault of iogauge or of the machine, or a result that the history could not keep
  2    wrong usage, or a job file that cannot run
  3    the target was refused, so that no data is lost
  4    I/O errors during the run, data that is not as it was written, or no I/O completed at all
       (the result is kept and counts them)
  5    the limit cannot be met even at depth 1, or at the lowest rate
  6    crosscheck found that iogauge and fio differ
  7    undecided: a search found no load that keeps the limit, but cannot tell that there is none
  130  interrupted (what was measured is kept and printed)";

const EXAMPLES: &str = "\
Examples:
  iogauge find .                              how much this disk sustains with p99 <= 5 ms
  iogauge find /data --limit 'p99<=5ms'       under another limit
  iogauge find /data --guide flash            under limits that a field agrees on
  iogauge doctor /data                        what would spoil a measurement there
  iogauge run /data --rw=randrw --bs=8k --iodepth=32 --runtime=30
  iogauge run sim:nvme --iodepth=64           a simulated device: no disk needed
  iogauge history show last                   the last result again";

/// How much I/O can this storage sustain while its latency stays under my limit?
///
/// Answers with a number, an interval, the curve behind it, the reason it stopped there, and every
/// reason to doubt it. A TARGET is a directory (a test file is made in it), a file, a block device
/// (read only, unless --destroy-data), a list of them with commas, or a simulated device sim:….
#[derive(Debug, Parser)]
#[command(name = "iogauge", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the capacity: the highest IOPS at which the latency limit holds
    Find(Box<FindArgs>),
    /// Apply one load, or the jobs of a fio job file, and measure it
    Run(Box<RunArgs>),
    /// Run a suite of tests by name, or list the suites
    Suite(SuiteArgs),
    /// Measure a load with iogauge and with fio in turn, and tell whether they agree
    Crosscheck(Box<CrosscheckArgs>),
    /// Record devices, processors and memory beside any other program's load
    Profile(Box<ProfileArgs>),
    /// Tell what would spoil a measurement of a target; measures nothing, writes nothing
    Doctor(DoctorArgs),
    /// Make and prefill the test file, so that later runs measure at once
    Prepare(Box<PrepareArgs>),
    /// Remove what iogauge made at a target, and nothing else
    Clean(CleanArgs),
    /// Test through a database: make one, fill it, read and write it as a database does
    Db(Box<DbArgs>),
    /// List, show, export or remove kept runs
    History(HistoryArgs),
    /// Draw pictures of kept runs: one HTML file, SVG or PNG
    Report(ReportArgs),
    /// End a run that is under way, keeping what it measured
    Stop(StopArgs),
    /// Take results of fio into the history
    Import(ImportArgs),
    /// Print the classic table of results of fio; the history is left alone
    Table(TableArgs),
    /// Write the man pages into a directory
    #[command(hide = true)]
    Man {
        /// Where to write them.
        directory: PathBuf,
        /// Replace files that iogauge did not make, too
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
    /// Allow writing to a block device: everything on it is lost
    #[arg(long, help_heading = "Safety")]
    pub destroy_data: bool,
    /// Allow writing to an existing file that iogauge did not make
    #[arg(long, help_heading = "Safety")]
    pub overwrite: bool,
    /// Remove the test file at the end
    #[arg(long, help_heading = "Safety")]
    pub rm: bool,
}

/// Where results and progress go.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print one JSON document on stdout, and the text on stderr
    #[arg(long)]
    pub json: bool,
    /// No progress, and no text beside JSON
    #[arg(long, short)]
    pub quiet: bool,
    /// Where runs are kept: a file, or "none"
    #[arg(long, value_name = "FILE|none", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
    /// Run in the background; `iogauge stop` ends it and `iogauge history show` shows it
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
The depth, or with --open-loop the rate of arrivals, is raised in one run until a limit breaks,
narrowed down, and held at the answer.

Examples:
  iogauge find .
  iogauge find /data --limit 'p99<=5ms' --rw=randrw --rwmixread=70 --bs=8k
  iogauge find . --rw=randrw --limit 'read:p99<=5ms' --limit 'write:mean<=2ms'
  iogauge find /data --guide etcd --rw=write --sync=dsync
  iogauge find /data --guide flash --limit 'p99.9<=3ms'
  iogauge find /dev/nvme0n1 --limit 'mean<=1ms'
  iogauge find /data --open-loop --limit 'p99<=5ms'
  iogauge find /data --via fio
  iogauge find /dev/nvme0n1 --trace
  iogauge find nfs.fio --via fio --limit 'p99<=20ms'
  iogauge find sim:channels=8,service=100us --limit 'mean<=10ms' --json")]
pub struct FindArgs {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Bound on a latency statistic: mean, pNN[.N] or max, of reads, writes or flushes (sync:) alone as in
    /// read:p99<=5ms; repeated, all of them have to hold [default: p99<=5ms; p99<=50ms where a disk turns]
    #[arg(long = "limit", value_name = "[read:|write:|sync:]METRIC<=TIME")]
    pub limits: Vec<Limit>,
    /// Limits that a field agrees on, beside those of --limit; the tighter one counts
    #[arg(long, value_name = "NAME", value_parser = GuideParser)]
    pub guide: Option<&'static Guide>,
    /// Time to spend measuring
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "30s")]
    pub budget: u64,
    /// Interval of the IOPS to aim for
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "2%")]
    pub precision: f64,
    /// Leave out stretches of time in which the workers lacked a processor for more than this share;
    /// 100% leaves out none
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "5%")]
    pub max_starvation: f64,
    /// Largest depth to try
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub max_depth: u32,
    /// Search the rate of arrivals that know nothing of each other, by response time: what users see
    /// who do not wait for one another. --max-depth bounds the I/Os outstanding; --rate_process=linear
    /// spaces the arrivals evenly
    #[arg(long)]
    pub open_loop: bool,
    /// Let real fio do the I/O and measure it, in a closed loop: for engines that iogauge lacks, in a
    /// job file, or to see what fio finds
    #[arg(long, value_name = "fio[=BINARY]")]
    pub via: Option<ViaArg>,
    /// Add what the block layer saw, through bpftrace and as root: sizes of requests, times of the
    /// device, places on it, and what of each I/O's time the device took and what the path to it
    #[arg(long)]
    pub trace: bool,
    /// Tell each decision of the search on stderr
    #[arg(long)]
    pub explain: bool,
    /// The load.
    #[command(flatten)]
    pub load: LoadArgs,
    /// The machine beside it.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `iogauge run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Options carry fio's names, with dashes or underscores. A TARGET that ends in .fio is a job file of
fio's: its jobs run in fio's order, on its own files and devices, under the same safety.

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
    /// Time before measuring begins, not counted
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub ramp_time: Option<u64>,
    /// A job beside others: options without dashes that change those given; may be repeated
    #[arg(long = "job", value_name = "OPTION=VALUE …")]
    pub jobs: Vec<String>,
    /// Let real fio do the I/O and measure it: for engines that iogauge lacks, in a job file, or to
    /// see what fio finds
    #[arg(long, value_name = "fio[=BINARY]")]
    pub via: Option<ViaArg>,
    /// Add what the block layer saw, through bpftrace and as root: sizes of requests, times of the
    /// device, places on it, and what of each I/O's time the device took and what the path to it
    #[arg(long)]
    pub trace: bool,
    /// Leave out what a job file asks for and iogauge lacks, with a warning for each
    #[arg(long)]
    pub lenient: bool,
    /// Taken for fio's sake: runs are always bounded by time
    #[arg(long, hide = true)]
    pub time_based: bool,
    /// Taken for fio's sake: jobs are always reported as one
    #[arg(long, hide = true)]
    pub group_reporting: bool,
    /// Print fio's JSON on stdout, json+ with every bucket of the latencies, and the text on stderr
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t = OutputFormat::Normal,
        conflicts_with = "json",
        help_heading = "Output"
    )]
    pub output_format: OutputFormat,
    /// Print the fio job file that asks the same, and measure nothing
    #[arg(long, conflicts_with_all = ["json", "output_format", "detach"], help_heading = "Output")]
    pub print_fio: bool,
    /// The load.
    #[command(flatten)]
    pub load: LoadArgs,
    /// The machine beside it.
    #[command(flatten)]
    pub sampling: SamplingArgs,
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
    /// fio's JSON with every bucket of the latencies
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
Tells what the target, the devices under it and this machine are, and every reason to doubt a
measurement that shows without one, each with its remedy. A few hundred blocks are read; nothing is
measured, written or made. Exit code 3 where a run would be refused.

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
Every block is written once with data that neither compresses nor repeats, so that reads reach the
medium. An interrupted prefill goes on where it ended.

Examples:
  iogauge prepare /data --size=64g
  iogauge prepare /dev/sdb,/dev/sdc --destroy-data")]
pub struct PrepareArgs {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Size of each test file, or how much of each device
    #[arg(long, value_name = "SIZE", value_parser = iogauge_model::units::parse_size_bytes)]
    pub size: Option<u64>,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// `iogauge clean`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A file that iogauge did not make stays, whatever its name.

Examples:
  iogauge clean /data
  iogauge clean /data/one,/data/two")]
pub struct CleanArgs {
    /// Directory or file whose test file is to go
    pub target: String,
}

/// `iogauge stop`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  iogauge stop                                the only run under way
  iogauge stop x7k2                           one of several, by the end of its id")]
pub struct StopArgs {
    /// Which run: an id or the beginning of one; the only one under way where it is left out
    #[arg(allow_hyphen_values = true)]
    pub run: Option<RunRef>,
    /// Where runs are kept
    #[arg(long, value_name = "FILE", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
}

/// `iogauge history`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  iogauge history list --target /data
  iogauge history show last-1                 the run before the last
  iogauge history show x7k2 --format json     a run by the end of its id
  iogauge history show --format fio-json+ > last.json
  iogauge history show last last-1 --format classic --buckets
  iogauge history export --format csv > runs.csv
  iogauge history rm last")]
pub struct HistoryArgs {
    /// What to do with the history.
    #[command(subcommand)]
    pub action: HistoryAction,
    /// Where runs are kept
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
    /// List runs, the last first
    List {
        /// Most runs to list
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Only runs in this state: running, done, interrupted, failed, crashed
        #[arg(long)]
        state: Option<RunState>,
        /// Only runs whose target contains this
        #[arg(long)]
        target: Option<String>,
    },
    /// Show runs as they were printed
    Show {
        /// last, last-1, an id or the beginning of one
        #[arg(default_value = "last", allow_negative_numbers = true, value_name = "RUN")]
        runs: Vec<RunRef>,
        /// How to print them
        #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
        format: ShowFormat,
        /// What classic tables show.
        #[command(flatten)]
        extra: ExtraArgs,
    },
    /// Remove runs
    Rm {
        /// last, last-1, ids or the beginnings of them
        #[arg(required = true, allow_hyphen_values = true)]
        runs: Vec<RunRef>,
        /// Remove a run that is under way, too
        #[arg(long)]
        force: bool,
    },
    /// Remove every run
    Reset {
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Remove runs that are under way, too
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
    /// As on the day it ran
    Text,
    /// The document
    Json,
    /// All that is known, a row for each point or direction
    IogaugeCsv,
    /// What devices, processors and memory did, a row for each sample and device
    ProfileCsv,
    /// fio's JSON
    FioJson,
    /// fio's JSON with every bucket of the latencies
    #[value(name = "fio-json+")]
    FioJsonPlus,
    /// The classic table, of all runs named
    Classic,
    /// R code that makes a data frame of the classic table
    R,
    /// The same columns as CSV, behind one that names the system
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

/// Options that stand alone or take 0 or 1, which fio's users write behind a space as well.
const FLAGS: [&str; 8] = [
    "--direct",
    "--norandommap",
    "--dependent",
    "--end-fsync",
    "--bs-unaligned",
    "--randrepeat",
    "--allrandrepeat",
    "--refill-buffers",
];

/// Brings arguments from fio's way of writing into clap's: names with dashes where they were typed
/// with underscores (`--rate_iops=5` means `--rate-iops=5`; values stay as they are), and
/// `--direct 0` as `--direct=0`.
pub fn with_dashes(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut plain = false;
    let mut read: Vec<OsString> = Vec::new();
    for argument in arguments {
        if let Some(flag) = read.last_mut()
            && !plain
            && FLAGS.iter().any(|f| flag.as_os_str() == *f)
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
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn underscores_are_dashes_in_names_only() {
        let typed = ["iogauge", "run", "a_b", "--rate_iops=5", "--job", "x_y=1", "--", "--a_b"];
        let read = with_dashes(typed.iter().map(OsString::from));
        assert_eq!(
            read,
            ["iogauge", "run", "a_b", "--rate-iops=5", "--job", "x_y=1", "--", "--a_b"]
        );
    }

    #[test]
    fn a_flag_takes_its_value_behind_a_space_too() {
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
