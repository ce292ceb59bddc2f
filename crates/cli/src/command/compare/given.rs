//! The options that were typed. No kind of comparison uses all of them; those that it does not use are refused.

use crate::args::{Cli, CompareArgs};
use crate::exit::Usage;
use clap::parser::ValueSource;
use clap::{Arg, Args, CommandFactory};
use iogauge_model::load::options::{self, OnLine};
use std::ffi::OsString;

/// Options that only say where results and progress go.
const OUTPUT: [&str; 5] = ["json", "quiet", "history", "label", "detach"];

/// Options for a comparison of saved runs.
const OF_RUNS: [&str; 7] = ["json", "quiet", "history", "baseline", "metric", "margin", "unlike"];
/// Options for a search.
const OF_SEARCH: [&str; 3] = ["precision", "max-starvation", "max-depth"];

/// The names of the typed options, without dashes.
#[derive(Debug)]
pub(super) struct Given(Vec<String>);

impl Given {
    /// Reads the arguments of `iogauge compare`, with the program first.
    pub(super) fn of(arguments: &[OsString]) -> Self {
        let mut command = Cli::command();
        let parsed = command.try_get_matches_from_mut(arguments).ok();
        let compare = parsed.as_ref().and_then(|parsed| parsed.subcommand_matches("compare"));
        let is_typed = |arg: &&Arg| {
            let source = compare.and_then(|typed| typed.value_source(arg.get_id().as_str()));
            source == Some(ValueSource::CommandLine)
        };
        let known =
            command.find_subcommand("compare").into_iter().flat_map(|it| it.get_arguments());
        let names = known.filter(is_typed).filter_map(Arg::get_long);
        Self(names.map(str::to_owned).collect())
    }

    /// Returns true for an option of the command that is none of a load, and so is common to all subjects.
    pub(super) fn is_common(name: &str) -> bool {
        let command = CompareArgs::augment_args(clap::Command::new("compare"));
        let name = name.replace('_', "-");
        let is_of_load =
            options::find(&name).is_some_and(|row| !matches!(row.on_line, OnLine::OfCommand(_)));
        !is_of_load && command.get_arguments().any(|argument| argument.get_long() == Some(&name))
    }

    /// Refuses what cannot be changed while a plan goes on.
    ///
    /// # Errors
    /// Another option than those of the output.
    pub(super) fn refuse_for_resume(&self) -> Result<(), Usage> {
        let is_used = |name: &str| name == "resume" || OUTPUT.contains(&name);
        self.refuse(|name| !is_used(name), "belongs to --plan, and --resume goes on as planned")
    }

    /// Refuses what saved runs do not use.
    ///
    /// # Errors
    /// Such an option.
    pub(super) fn refuse_for_runs(&self) -> Result<(), Usage> {
        self.refuse(|name| name == "plan", "is for targets: saved runs cannot be planned")?;
        self.refuse(|name| !OF_RUNS.contains(&name), "is for targets, not for saved runs")
    }

    /// Refuses what targets do not use; `is_fixed` is true if no capacity is searched.
    ///
    /// # Errors
    /// Such an option.
    pub(super) fn refuse_for_targets(&self, is_fixed: bool) -> Result<(), Usage> {
        self.refuse(|name| name == "unlike", "is for saved runs, not for targets")?;
        if is_fixed {
            let text = "is for a search, and a load with --iodepth or --rate_iops is not searched";
            return self.refuse(|name| OF_SEARCH.contains(&name), text);
        }
        let text = "is for a load with --iodepth or --rate_iops; a search has no ramp";
        self.refuse(|name| name == "ramp-time", text)
    }

    /// Refuses options for which a predicate holds.
    ///
    /// # Errors
    /// The first such option.
    pub(super) fn refuse(&self, is_unused: impl Fn(&str) -> bool, why: &str) -> Result<(), Usage> {
        match self.0.iter().find(|name| is_unused(name)) {
            None => Ok(()),
            Some(name) => Err(Usage(format!("--{name} {why}; hint: leave out --{name}"))),
        }
    }
}
