//! Arguments of `iogauge suite`: a command for each suite of the table, made of its options.

use super::{HostsArgs, OutputArgs, SamplingArgs, TargetArgs, TraceArgs, ViaArg};
use crate::job_source::{self, Here};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use iogauge_fio::job::Source;
use iogauge_lab::history::{HistoryError, RunRef};
use iogauge_lab::suite::{SUITES, SuiteInfo};
use iogauge_model::load::EngineKind;
use iogauge_model::load::options::{Dialect, Wrong};
use iogauge_model::result::SuiteAsked;
use iogauge_model::suite_file::{SuiteHead, SuiteOption};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What all suites are asked.
#[derive(Debug, Clone, Args)]
pub struct SuiteCommon {
    /// Target.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Print the steps, what they write and how long they take, and do nothing
    #[arg(long, conflicts_with_all = ["detach", "resume"])]
    pub dry_run: bool,
    /// The run to resume.
    #[command(flatten)]
    pub earlier: ResumeArgs,
    /// Remove the test files first, and create new ones
    #[arg(long, conflicts_with = "resume")]
    pub recreate: bool,
    /// Do not ask for confirmation before overwriting a block device
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Let fio do the I/O and measure it
    #[arg(long, value_name = "fio[=BINARY]")]
    pub via: Option<ViaArg>,
    /// io_uring, libaio, psync, mmap or null [default: io_uring]
    #[arg(long, value_name = "NAME", value_parser = engine)]
    pub ioengine: Option<EngineKind>,
    /// The trace.
    #[command(flatten)]
    pub trace: TraceArgs,
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

fn engine(text: &str) -> Result<EngineKind, Wrong> {
    EngineKind::parse(text, Dialect::Iogauge)
}

/// Whether a run is resumed.
#[derive(Debug, Clone, Args)]
pub struct ResumeArgs {
    /// Resume an incomplete run with the same options: the last one, or RUN
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_parser = ResumeRef::read
    )]
    pub resume: Option<ResumeRef>,
}

/// The run to resume; `None` for the last one.
#[derive(Debug, Clone)]
pub struct ResumeRef(pub Option<RunRef>);

impl ResumeRef {
    fn read(text: &str) -> Result<Self, HistoryError> {
        if text.is_empty() { Ok(Self(None)) } else { text.parse().map(|run| Self(Some(run))) }
    }
}

/// Which suite.
#[derive(Debug, Clone)]
pub enum Which {
    /// One of the table.
    Known(&'static SuiteInfo),
    /// One of the user's own.
    File(PathBuf),
}

/// A suite to run.
#[derive(Debug, Clone)]
pub struct SuiteRun {
    /// Which one.
    pub which: Which,
    /// Its options as they were typed; those without value have an empty one.
    pub options: BTreeMap<String, String>,
    /// What all suites are asked.
    pub common: SuiteCommon,
}

/// `iogauge suite`: one to run, or none for a list of them.
#[derive(Debug, Clone)]
pub struct SuiteArgs {
    /// What to run.
    pub run: Option<Box<SuiteRun>>,
}

const AFTER: &str = "\
Examples:
  iogauge suite                                 list the suites
  iogauge suite blocksize /data --dry-run       what it would do
  iogauge suite blocksize /data
  iogauge suite blocksize /data --resume        after an interruption
  iogauge suite ./mine.toml /data               steps of your own
  iogauge suite ./steps.fio                     the jobs of a fio job file as steps";

impl SuiteArgs {
    /// Returns the hosts that were named; `None` for a list of the suites.
    pub fn hosts(&self) -> Option<&HostsArgs> {
        self.run.as_ref().map(|run| &run.common.hosts)
    }
}

impl Args for SuiteArgs {
    fn augment_args(command: Command) -> Command {
        command
            .after_help(AFTER)
            .subcommand_value_name("NAME")
            .subcommand_help_heading("Suites")
            .disable_help_subcommand(true)
            .allow_external_subcommands(true)
            .subcommands(SUITES.iter().map(command_of))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SuiteArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Some((name, matches)) = matches.subcommand() else { return Ok(Self { run: None }) };
        let run = match iogauge_lab::suite::find(name) {
            Some(info) => known(info, matches)?,
            None if is_file(name) => of_file(name, matches)?,
            None => return Err(Error::raw(ErrorKind::InvalidSubcommand, unknown(name))),
        };
        Ok(Self { run: Some(Box::new(run)) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn known(info: &'static SuiteInfo, matches: &ArgMatches) -> Result<SuiteRun, Error> {
    let common = SuiteCommon::from_arg_matches(matches)?;
    Ok(SuiteRun { which: Which::Known(info), options: typed(&info.head.options, matches), common })
}

/// The options that were typed, with their values.
fn typed(options: &[SuiteOption], matches: &ArgMatches) -> BTreeMap<String, String> {
    let one = |option: &SuiteOption| {
        let value = match option.value {
            Some(_) => matches.get_one::<String>(&option.name).cloned(),
            None => matches.get_flag(&option.name).then(String::new),
        };
        value.map(|value| (option.name.clone(), value))
    };
    options.iter().filter_map(one).collect()
}

/// True for a name that no suite of the table can have.
fn is_file(name: &str) -> bool {
    let extension = Path::new(name).extension();
    name.contains('/') || extension.is_some_and(|end| end == "toml" || end == "fio")
}

/// A suite of the user's own. A job file names its files itself, and needs no target.
fn of_file(name: &str, matches: &ArgMatches) -> Result<SuiteRun, Error> {
    let words = matches.get_many::<OsString>("").into_iter().flatten().cloned();
    let mut command = SuiteCommon::augment_args(Command::new(format!("iogauge suite {name}")))
        .about("Run the steps of a file in order")
        .no_binary_name(true);
    let is_job_file = job_source::named(name).is_some();
    if is_job_file {
        command = command.mut_arg("target", |target| {
            target.required(false).default_value("").hide_default_value(true)
        });
    }
    // A file that cannot be read has no options here; reading its steps reports the error.
    let text = (!is_job_file).then(|| Here.read(Path::new(name)).ok()).flatten();
    let head = SuiteHead::parse(&text.unwrap_or_default()).unwrap_or_default();
    let is_taken = |option: &&SuiteOption| {
        let same =
            |known: &Arg| known.get_long() == Some(&option.name) || *known.get_id() == *option.name;
        option.name == SuiteAsked::CONTENT || command.get_arguments().any(same)
    };
    if let Some(SuiteOption { name: option, .. }) = head.options.iter().find(is_taken) {
        let text =
            format!("{name}: --{option} is an option of every suite; hint: use another name");
        return Err(Error::raw(ErrorKind::ArgumentConflict, text));
    }
    let command = with_options(command, &head.options);
    let matches = command.try_get_matches_from(super::with_dashes(words))?;
    let common = SuiteCommon::from_arg_matches(&matches)?;
    let options = typed(&head.options, &matches);
    Ok(SuiteRun { which: Which::File(name.into()), options, common })
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let names = names.join(", ");
    format!("\"{name}\" is not a suite; hint: use {names}, or a file that ends in .toml or .fio")
}

fn command_of(info: &'static SuiteInfo) -> Command {
    let command = SuiteCommon::augment_args(Command::new(info.name));
    let help = info.head.help.as_deref().unwrap_or_default();
    with_options(command.about(info.about()).long_about(help), &info.head.options)
}

fn with_options(command: Command, options: &[SuiteOption]) -> Command {
    command.next_help_heading("Suite").args(options.iter().map(argument_of))
}

fn argument_of(option: &SuiteOption) -> Arg {
    let name = option.name.clone();
    let argument = Arg::new(name.clone()).long(name).help(option.help.clone());
    match (option.value.clone(), &option.default) {
        (None, _) => argument.action(ArgAction::SetTrue),
        (Some(value), None) => argument.value_name(value),
        (Some(value), Some(default)) => {
            argument.value_name(value).help(format!("{} [default: {default}]", option.help))
        }
    }
}
