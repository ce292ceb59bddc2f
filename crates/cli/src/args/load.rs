//! The options of a load on the command line: the rows of their table as arguments.

use crate::job_source::Here;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use iogauge_fio::job::Source;
use iogauge_model::load::options::{self, LoadOption, OnLine, ROWS, Typed, Wrong};
use std::ffi::OsStr;
use std::ops::Deref;
use std::path::Path;

/// The load as typed.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadArgs(Typed);

impl Deref for LoadArgs {
    type Target = Typed;

    fn deref(&self) -> &Typed {
        &self.0
    }
}

/// Rows that are arguments of every command with a load.
fn rows() -> impl Iterator<Item = &'static LoadOption> {
    ROWS.iter().filter(|row| !matches!(row.on_line, OnLine::OfCommand(_)))
}

impl Args for LoadArgs {
    fn augment_args(command: Command) -> Command {
        command.args(rows().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LoadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut typed = Typed::iogauge();
        for row in rows() {
            if let Some(text) = matches.get_one::<String>(row.name) {
                let wrong =
                    |wrong: Wrong| Error::raw(clap::error::ErrorKind::ValueValidation, wrong);
                typed.set(row, Some(text), None).map_err(wrong)?;
            }
        }
        Ok(Self(typed))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(row: &'static LoadOption) -> Arg {
    let dashes = |name: &str| name.replace('_', "-");
    let help = match row.default {
        "" => row.help.to_owned(),
        default => format!("{} [default: {default}]", row.help),
    };
    let argument = Arg::new(row.name)
        .long(dashes(row.name))
        .visible_aliases(row.aliases.iter().map(|alias| dashes(alias)))
        .value_name(row.value)
        .help(help)
        .help_heading(if row.on_line == OnLine::OfRun { "Only iogauge run" } else { "Load" })
        .hide(!matches!(row.on_line, OnLine::Shown | OnLine::OfRun))
        .conflicts_with_all(row.conflicts)
        .allow_negative_numbers(row.name == "nice")
        .hide_possible_values(true)
        .value_parser(ValueOf(row));
    if row.is_flag {
        argument.num_args(0..=1).require_equals(true).default_missing_value("1")
    } else {
        argument
    }
}

/// Parses the value of an option, and names its words to the completions of a shell.
#[derive(Debug, Clone, Copy)]
struct ValueOf(&'static LoadOption);

impl TypedValueParser for ValueOf {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let Self(row) = *self;
        let parser = move |text: &str| {
            let text = with_files(row, text)?;
            Typed::iogauge().set(row, Some(&text), None).map(|()| text)
        };
        parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = (self.0.words)();
        (!words.is_empty()).then(|| {
            Box::new(words.into_iter().map(PossibleValue::new)) as Box<dyn Iterator<Item = _>>
        })
    }
}

/// Returns the value of an option, in which a pattern has the bytes of the files that it names.
fn with_files(row: &LoadOption, text: &str) -> Result<String, Wrong> {
    let read = |path: &Path, most| Here.read_bytes(path, most);
    row.with_files(text.to_owned(), &read).map_err(|error| Wrong::value(error.to_string()))
}

impl LoadArgs {
    /// These options, changed by those of a job typed as one text: `rw=write bs=128k`.
    ///
    /// # Errors
    /// What is wrong with the first option that is.
    pub fn with_job(&self, text: &str) -> Result<Self, String> {
        let words: Result<Vec<_>, String> = text.split_whitespace().map(word).collect();
        let with_files = |(row, text): (&'static LoadOption, Option<&str>)| {
            let text = text.map(|text| with_files(row, text)).transpose();
            text.map(|text| (row, text)).map_err(|error| format!("--{}: {error}", row.name))
        };
        let words = words?.into_iter().map(with_files).collect::<Result<Vec<_>, String>>()?;
        let words = words.iter().map(|(row, text)| (*row, text.as_deref()));
        let typed = self.0.with(words).map_err(|error| error.to_string())?;
        Ok(Self(typed))
    }
}

/// An option of a job's text.
fn word(word: &str) -> Result<(&'static LoadOption, Option<&str>), String> {
    let (name, text) = word.split_once('=').map_or((word, None), |(name, text)| (name, Some(text)));
    let Some(row) = options::find(name) else {
        let nearest = options::nearest(name, ROWS.iter().map(|row| row.name));
        let right = nearest.unwrap_or("one of iogauge run --help");
        return Err(format!("there is no option --{name}; hint: use {right}"));
    };
    match text {
        None if row.is_flag => Ok((row, Some("1"))),
        None => Err(format!("--{name} needs a value; hint: use {name}={}", row.value)),
        text => Ok((row, text)),
    }
}
