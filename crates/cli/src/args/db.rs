//! Arguments of `iogauge db`.

use super::names;
use super::number::{number, precision};
use super::{ComparingArgs, HostsArgs, OutputArgs, SamplingArgs};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use iogauge_lab::db::{DbError, DbUrl};
use iogauge_lab::history::{HistoryPath, Runs};
use iogauge_model::Limit;
use iogauge_model::guide::Guide;
use iogauge_model::units::{parse_count, parse_duration_ns, parse_percent, parse_size_bytes};
use std::path::PathBuf;

/// `iogauge db`.
#[derive(Debug, Clone, Args)]
#[command(after_help = backends())]
pub struct DbArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: DbAction,
}

/// Every kind of database with its settings.
fn backends() -> String {
    let mut text = String::from("Databases:\n");
    for info in iogauge_lab::db::BACKENDS {
        // Each text has its line: what is too long for the page is wrapped at the line's own indent.
        text.push_str(&format!("  {}\n      {}\n", info.url, info.about));
        if let Some(why) = (info.absent)() {
            text.push_str(&format!("      Not usable here: {why}\n"));
        }
        for setting in info.settings {
            let (key, default) = (setting.key, setting.default);
            text.push_str(&format!(
                "    --set {key}=… [default: {default}]\n      {}\n",
                setting.help
            ));
        }
    }
    text.push_str(
        "\nExamples:\n  \
         iogauge db setup sqlite:/data --size 64g\n  \
         iogauge db create-globals sqlite:/data --globals 8 --subscripts 1m\n  \
         iogauge db run sqlite:/data --mode write --processes 4 --hang 2ms --drain\n  \
         iogauge db find sqlite:/data --mode read --limit 'mean<=10ms'\n  \
         iogauge db verify sqlite:/data\n  \
         iogauge db purge sqlite:/data",
    );
    text
}

/// What to do with a database.
#[derive(Debug, Clone, Subcommand)]
pub enum DbAction {
    /// Create a database whose blocks hold data
    Setup(SetupArgs),
    /// Create globals 1, 2, 3 … in it
    CreateGlobals(CreateGlobalsArgs),
    /// Create more globals after the existing ones
    AddGlobals(AddGlobalsArgs),
    /// Traverse every global and count its subscripts, and those of all
    CountSubscripts(OneArgs),
    /// Print the number of globals and how many subscripts each was made with: globals,n1,n2,…
    Sizes(OneArgs),
    /// Run one load, or a ladder of process counts, and measure it
    Run(Box<DbRunArgs>),
    /// Find the highest rate of reads or updates at which the latency limit holds
    Find(Box<DbFindArgs>),
    /// Compare databases or settings of one: which is better, and by how much
    Compare(Box<DbCompareArgs>),
    /// Measure the device and the database, and report the share that the database reaches
    Beside(Box<DbBesideArgs>),
    /// Check that every acknowledged transaction is present
    Verify(VerifyArgs),
    /// Stop a run in progress and keep its result so far
    Stop(super::StopArgs),
    /// Remove the runs on this database from the history
    Reset(ResetArgs),
    /// Remove what setup and create-globals created, and nothing else
    Purge(PurgeArgs),
    /// Write the runs of the history into a directory, one dated CSV file per mode
    Export(ExportArgs),
}

impl DbAction {
    /// Returns the words of the command.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Setup(_) => "db setup",
            Self::CreateGlobals(_) => "db create-globals",
            Self::AddGlobals(_) => "db add-globals",
            Self::CountSubscripts(_) => "db count-subscripts",
            Self::Sizes(_) => "db sizes",
            Self::Run(_) => "db run",
            Self::Find(_) => "db find",
            Self::Compare(_) => "db compare",
            Self::Beside(_) => "db beside",
            Self::Verify(_) => "db verify",
            Self::Stop(_) => "db stop",
            Self::Reset(_) => "db reset",
            Self::Purge(_) => "db purge",
            Self::Export(_) => "db export",
        }
    }
}

/// Which database.
#[derive(Debug, Clone, Args)]
pub struct UrlArgs {
    /// sqlite:DIR, postgres://USER@HOST/DATABASE, …: see iogauge db --help
    pub url: String,
    /// Name of the database there
    #[arg(long, value_name = "NAME", default_value = iogauge_lab::db::DEFAULT_NAME)]
    pub name: String,
    /// A setting, as after the question mark of the URL; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
}

impl UrlArgs {
    /// The database that is meant.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn url(&self) -> Result<DbUrl, DbError> {
        let url = self.url.parse::<DbUrl>()?.with_name(&self.name)?;
        self.settings.iter().try_fold(url, |url, setting| url.with_setting(setting))
    }
}

/// A command that asks for nothing but the database.
#[derive(Debug, Clone, Args)]
pub struct OneArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
}

/// `iogauge db setup`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Example:
  iogauge db setup sqlite:/data --name RAN --size 200g")]
pub struct SetupArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// Bytes of blocks to fill, not counting globals [default: twice this machine's memory, so that no cache
    /// of this machine holds them]. A storage controller with a cache needs four times its size, if that
    /// is more
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    pub size: Option<u64>,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// `iogauge db create-globals`.
#[derive(Debug, Clone, Args)]
pub struct CreateGlobalsArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// Number of globals to create; each writing process needs one
    #[arg(long, value_name = "N", value_parser = number::<1, 100_000>, default_value_t = 5)]
    pub globals: u32,
    /// Subscripts of each global
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "1m")]
    pub subscripts: u64,
    /// Remove the existing globals first
    #[arg(long)]
    pub recreate: bool,
    /// What is written.
    #[command(flatten)]
    pub filling: FillingArgs,
}

/// `iogauge db add-globals`.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("number").required(true))]
pub struct AddGlobalsArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// Number of globals to add; each writing process needs one
    #[arg(long, value_name = "N", value_parser = number::<1, 100_000>, group = "number")]
    pub globals: Option<u32>,
    /// Number of globals that there are to be afterwards
    #[arg(long, value_name = "N", value_parser = number::<1, 100_000>, group = "number")]
    pub total: Option<u32>,
    /// Subscripts of each new global [default: as many as the first global has]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub subscripts: Option<u64>,
    /// What is written.
    #[command(flatten)]
    pub filling: FillingArgs,
}

/// How globals are filled.
#[derive(Debug, Clone, Args)]
pub struct FillingArgs {
    /// Length of the value of each subscript [default: 100, or that of the first global]
    #[arg(long, value_name = "BYTES", value_parser = parse_size_bytes)]
    pub value_size: Option<u64>,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// What processes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DbMode {
    /// Read random blocks, bypassing the database's cache
    Read,
    /// Update random subscripts in transactions, each process in its own global
    Write,
    /// Both, chosen at random for each transaction
    Io,
}

/// Parses a hang time. A bare number is refused: the tests that this one follows mean milliseconds, and other options
/// of iogauge and fio seconds.
fn hang_ns(text: &str) -> Result<u64, String> {
    let bare = text.trim();
    if bare != "0" && !bare.is_empty() && bare.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(format!("it has no unit; hint: use --hang {bare}ms or --hang {bare}s"));
    }
    parse_duration_ns(text).map_err(|error| error.to_string())
}

/// What is asked of a database.
#[derive(Debug, Clone, Args)]
pub struct DbLoadArgs {
    /// Operation of the processes
    #[arg(long, value_enum, required = true)]
    pub mode: Option<DbMode>,
    /// Updates per transaction; in mode io also reads
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = number::<1, 1_000_000>)]
    pub transaction_length: u32,
    /// Hang time after each transaction, with its unit [default: 0]. Without it, processes put the highest
    /// load on the database
    #[arg(long, value_name = "TIME", value_parser = hang_ns)]
    pub hang: Option<u64>,
    /// Share of transactions that read, in mode io
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub read_pct: Option<f64>,
    /// Seed of all random choices [default: a new one for each run]
    #[arg(long, value_name = "N")]
    pub randseed: Option<u64>,
}

/// `iogauge db run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  iogauge db run sqlite:/data --mode read --processes 8 --runtime 60s
  iogauge db run sqlite:/data --mode write --processes 4 --transaction-length 50 --hang 2ms
  iogauge db run postgres://bench@db/bench --mode io --processes 8 --read-pct 70 --drain
  iogauge db run sqlite:/data --readers 8 --writers 4 --hang 2ms
  iogauge db run sqlite:/data --mode read --ladder 10,20,40 --limit 'mean<=10ms'",
    mut_arg("mode", |arg| arg.required(false).required_unless_present_any(["readers", "writers"]))
)]
pub struct DbRunArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// The load.
    #[command(flatten)]
    pub load: DbLoadArgs,
    /// Number of concurrent processes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<1, 100_000>)]
    pub processes: u32,
    /// Number of processes that read, beside --writers, in place of --mode and --processes
    #[arg(
        long,
        value_name = "N",
        requires = "writers",
        conflicts_with_all = ["mode", "processes", "ladder", "read_pct"],
        value_parser = number::<1, 100_000>
    )]
    pub readers: Option<u32>,
    /// Number of processes that update, beside --readers; --hang is theirs alone
    #[arg(long, value_name = "N", requires = "readers", value_parser = number::<1, 100_000>)]
    pub writers: Option<u32>,
    /// Process counts to run in order, until a limit breaks or throughput stops growing
    #[arg(
        long,
        value_name = "N,N,…",
        value_delimiter = ',',
        conflicts_with = "processes",
        value_parser = number::<1, 100_000>
    )]
    pub ladder: Vec<u32>,
    /// Time to measure [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub runtime: Option<u64>,
    /// Use the defaults of the vendor's suite: --runtime 300s and, if the processes write, --hang 2ms
    #[arg(long)]
    pub reference: bool,
    /// Time to run before the measurement starts
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "1s")]
    pub ramp_time: u64,
    /// Wait until the write daemon is idle, before the first transaction and at the end, and count what
    /// it writes until then
    #[arg(long)]
    pub drain: bool,
    /// Latency limit: a bound on a statistic of operations and commits, or of one kind: read:, write: or
    /// commit:; each: bounds each of several hosts by itself. It judges the result and ends a ladder
    #[arg(long = "limit", value_name = "[each:][read:|write:|commit:]METRIC<=TIME")]
    pub limits: Vec<Limit>,
    /// Published latency limits for a use case, in addition to --limit
    #[arg(long, value_name = "NAME", value_parser = names::guide())]
    pub guide: Option<&'static Guide>,
    /// The machine beside it.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// The hosts.
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `iogauge db find`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The search raises the number of processes until a limit breaks or throughput stops growing, narrows
the gap, and confirms the answer with a long measurement. Each writing process needs a global.

Examples:
  iogauge db find sqlite:/data --mode read --limit 'mean<=10ms'
  iogauge db find postgres://bench@db/bench --mode write --limit 'commit:p99<=20ms'")]
pub struct DbFindArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// The load.
    #[command(flatten)]
    pub load: DbLoadArgs,
    /// The search.
    #[command(flatten)]
    pub search: DbSearchArgs,
    /// Time to measure
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "30s")]
    pub budget: u64,
    /// Print each decision of the search on stderr
    #[arg(long)]
    pub explain: bool,
    /// The machine beside it.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// The hosts.
    #[command(flatten)]
    pub hosts: HostsArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `iogauge db compare`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Compares databases, or one with two settings, as iogauge compare does targets: the highest rate under
the limits or, with --processes, the figures with as many processes.

Examples:
  iogauge db compare sqlite:/mnt/a sqlite:/mnt/b --mode read --processes 8
  iogauge db compare postgres://bench@a/bench postgres://bench@b/bench --mode write --limit 'commit:p99<=20ms'
  iogauge db compare sqlite:/data --mode write --processes 4 --set-a synchronous=normal --set-b synchronous=full")]
pub struct DbCompareArgs {
    /// Databases, at least two, or one with --set-a and --set-b or --setup-a and --setup-b
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    /// Name of the database there
    #[arg(long, value_name = "NAME", default_value = iogauge_lab::db::DEFAULT_NAME)]
    pub name: String,
    /// A setting, as after the question mark of the URL; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// A setting of the first subject; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub set_a: Vec<String>,
    /// A setting of the second subject; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub set_b: Vec<String>,
    /// The load.
    #[command(flatten)]
    pub load: DbLoadArgs,
    /// Number of concurrent processes [default: searched]
    #[arg(long, value_name = "N", value_parser = number::<1, 100_000>)]
    pub processes: Option<u32>,
    /// How they are compared.
    #[command(flatten)]
    pub comparing: ComparingArgs,
    /// The search.
    #[command(flatten)]
    pub search: DbSearchArgs,
    /// The machine beside it.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How processes are searched.
#[derive(Debug, Clone, Args)]
pub struct DbSearchArgs {
    /// Latency limit: a bound on a statistic of operations and commits, or of one kind: read:, write: or
    /// commit:; each: bounds each of several hosts by itself. If repeated, all limits must hold [default:
    /// mean<=10ms]
    #[arg(long = "limit", value_name = "[each:][read:|write:|commit:]METRIC<=TIME")]
    pub limits: Vec<Limit>,
    /// Published latency limits for a use case, in addition to --limit
    #[arg(long, value_name = "NAME", value_parser = names::guide())]
    pub guide: Option<&'static Guide>,
    /// Target half-width of the confidence interval of operations per second
    #[arg(long, value_name = "PERCENT", value_parser = precision, default_value = "2%")]
    pub precision: f64,
    /// Exclude periods in which the workers waited for a processor for more than this share of the time;
    /// 100% excludes none
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "5%")]
    pub max_starvation: f64,
    /// Largest number of processes to try
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = number::<1, 65_536>)]
    pub max_processes: u32,
}

/// `iogauge db beside`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Measures a test file beside the database, iogauge-beside.dat, with blocks of the database's size, then
the database, with the same limits, and removes the file. A limit on commits applies to each write of
the file, which is then synchronous, as a commit is.

Example:
  iogauge db beside sqlite:/data --mode read --limit 'mean<=2ms'")]
pub struct DbBesideArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// The load.
    #[command(flatten)]
    pub load: DbLoadArgs,
    /// The search.
    #[command(flatten)]
    pub search: DbSearchArgs,
    /// Time of each search
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns, default_value = "30s")]
    pub budget: u64,
    /// Size of the test file [default: the database's, at least 64 MiB, at most a tenth of what is free]
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    pub size: Option<u64>,
    /// Directory of the test file, on the database's file system [default: the parent of the database's]
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `iogauge db verify`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Every value records the worker and the transaction that wrote it. The random choices of the last run
are repeated to find where each acknowledged transaction must be. The exit code is 4 if data is
missing or differs from what was written.")]
pub struct VerifyArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// `iogauge db reset`.
#[derive(Debug, Clone, Args)]
pub struct ResetArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// History file
    #[arg(long, value_name = "FILE", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
}

/// `iogauge db purge`.
#[derive(Debug, Clone, Args)]
pub struct PurgeArgs {
    /// Which.
    #[command(flatten)]
    pub url: UrlArgs,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// `iogauge db export`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Writes read_DATE.csv, write_DATE.csv and io_DATE.csv with one row per step, for the modes that
were run, and workers_DATE.csv with one row per worker and step. DATE is the time of the export
in UTC, as in 20260203-040506, or 20260203-040506-2 if there are files of this second. Readers
beside writers have a row in each of the first two. The columns of the first three are
RunDate,RunTime,Database,Namespace,Reads,Writes,ReadsPS,WritesPS,StdDevR,StdDevW,StdDevRPS,
StdDevWPS,CVReads,CVWrites,CVReadsPerS,CVWritesPerS,Processes,ReadPct.

Example:
  iogauge db export results/")]
pub struct ExportArgs {
    /// Directory for the files
    pub directory: PathBuf,
    /// Only these runs, named as for iogauge history show [default: all on databases]
    #[arg(value_name = "RUN", allow_negative_numbers = true)]
    pub runs: Vec<Runs>,
    /// History file
    #[arg(long, value_name = "FILE", default_value = "default", hide_default_value = true)]
    pub history: HistoryPath,
}
