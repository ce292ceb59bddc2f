//! Words an error for the command that was typed: options as its user spells them, and the
//! command's own help as the last resort.

use crate::args::{Cli, SuiteCommon};
use crate::job_source;
use crate::screen::{self, HINT};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, CommandFactory};
use iogauge_model::load::options;
use std::ffi::OsString;

/// Separates the alternatives of a hint.
const OR: &str = ", or ";

/// Where the user wrote the workload options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    CommandLine,
    JobFile,
    SuiteFile,
}

/// The command as typed.
#[derive(Debug)]
pub struct TypedCommand {
    command: Command,
    /// The command's words: `iogauge db run`.
    words: String,
    spelling: Spelling,
}

impl TypedCommand {
    /// Finds the command that the arguments, with the program first, name.
    pub fn of(arguments: &[OsString]) -> Self {
        let mut command = Cli::command();
        command.build();
        let mut words = "iogauge".to_owned();
        let mut spelling = Spelling::CommandLine;
        for word in arguments.iter().skip(1).map(|word| word.to_string_lossy()) {
            let is_job_file = || job_source::named(&word).is_some();
            if let Some(inner) = command.find_subcommand(word.as_ref()) {
                command = inner.clone();
            } else if command.is_allow_external_subcommands_set() && !word.starts_with('-') {
                command = SuiteCommon::augment_args(Command::new("suite"));
                spelling = if is_job_file() { Spelling::JobFile } else { Spelling::SuiteFile };
            } else {
                if ["run", "find"].contains(&command.get_name()) && is_job_file() {
                    spelling = Spelling::JobFile;
                }
                break;
            }
            words = format!("{words} {word}");
        }
        Self { command, words, spelling }
    }

    /// Joins an error and its causes, and spells the options in its hints for this command.
    pub fn one_line(&self, error: &anyhow::Error) -> String {
        self.spelled(&in_one_line(error))
    }

    /// Spells the options in the hints of an error as the user has to write them. An alternative
    /// with an option that the command does not have is left out.
    fn spelled(&self, text: &str) -> String {
        let mut parts = text.split(HINT);
        let fact = parts.next().unwrap_or_default().to_owned();
        let hints = parts.filter_map(|hint| self.hint(hint));
        hints.fold(fact, |text, hint| text + HINT + &hint)
    }

    fn hint(&self, hint: &str) -> Option<String> {
        // Whole commands are spelled out.
        if hint.contains("iogauge ") || hint.starts_with("run ") {
            return Some(hint.to_owned());
        }
        let ways: Vec<String> = hint.split(OR).filter_map(|way| self.way(way)).collect();
        (!ways.is_empty()).then(|| ways.join(OR))
    }

    fn way(&self, way: &str) -> Option<String> {
        let words: Option<Vec<String>> = way.split(' ').map(|word| self.word(word)).collect();
        Some(words?.join(" "))
    }

    fn word(&self, word: &str) -> Option<String> {
        let Some(option) = word.strip_prefix("--") else { return Some(word.to_owned()) };
        let bare = option.trim_end_matches([',', ';', ':']);
        let (name, value) = bare.split_once('=').unwrap_or((bare, ""));
        let end = &option[bare.len()..];
        let is_of_load = options::find(name).is_some();
        let dashed = name.replace('_', "-");
        match self.spelling {
            Spelling::JobFile if is_of_load => Some(option.to_owned()),
            _ if self.has(&dashed) => Some(word.to_owned()),
            Spelling::SuiteFile if is_of_load && value.is_empty() => Some(option.to_owned()),
            Spelling::SuiteFile if is_of_load => {
                let quote = if value.parse::<u64>().is_ok() { "" } else { "\"" };
                Some(format!("{name} = {quote}{value}{quote}{end}"))
            }
            _ => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.command.get_arguments().any(|argument| {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long() == Some(name) || aliases.contains(&name)
        })
    }

    /// Returns what to do about an option that no command has: without it if fio has it, or with the option
    /// that was probably meant.
    fn instead_of(&self, error: &clap::Error) -> Option<String> {
        let name = unknown_option(error)?;
        if let Some((_, instead)) = OF_FIO.iter().find(|(known, _)| *known == name) {
            return Some((*instead).to_owned());
        }
        let shown = self.command.get_arguments().filter(|argument| !argument.is_hide_set());
        let names: Vec<&str> = shown
            .flat_map(|argument| {
                let aliases = argument.get_all_aliases().unwrap_or_default();
                argument.get_long().into_iter().chain(aliases)
            })
            .collect();
        let goes_on =
            |long: &&&str| long.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        let near = options::nearest(name, names.iter().copied());
        let near = near.or_else(|| names.iter().find(goes_on).copied());
        near.map(|near| format!("a similar argument exists: '--{near}'"))
    }

    /// Returns clap's message without its usage block. The hint is clap's tip or the command's
    /// help.
    pub fn usage_line(&self, error: &clap::Error) -> String {
        let negative = negative_number(error);
        let (mut facts, mut hint) = (Vec::new(), None);
        let value = invalid_value(error);
        let text = value.unwrap_or_else(|| error.render().to_string());
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        for line in lines.take_while(|line| !line.starts_with("Usage: ")) {
            match line.strip_prefix("tip: ") {
                // The tip would turn the option into a TARGET.
                Some(tip) if negative.is_some() || tip.starts_with("to pass ") => {}
                // clap takes names with a common beginning for similar.
                Some(tip) if tip.contains("similar argument") => {}
                Some(tip) => hint = Some(tip.to_owned()),
                None if line.starts_with("For more") => {}
                None => facts.push(line),
            }
        }
        // An option of another command is more likely meant than one with a similar name.
        hint = has_it(error).or_else(|| self.instead_of(error)).or(hint);
        if let Some(number) = negative {
            hint = Some(format!("use {}, or another positive number", &number[1..]));
        }
        let facts = facts.join("; ").replace(":; ", ": ");
        let facts = facts.strip_prefix("error: ").unwrap_or(&facts);
        // The value parsers provide their own hints.
        if facts.contains("hint: ") && hint.is_none() {
            return self.spelled(facts);
        }
        format!("{facts}{HINT}{}", hint.unwrap_or_else(|| format!("run {} --help", self.words)))
    }
}

/// Options of fio's command line that iogauge lacks, and what to do instead.
const OF_FIO: [(&str, &str); 16] = [
    ("append-terse", "use --json; terse output is not written"),
    ("client", "run iogauge on the other machine"),
    ("cmdhelp", "run iogauge run --help"),
    ("eta", "leave it out; progress is shown on a terminal, and -q turns it off"),
    ("eta-interval", "leave it out; progress is shown on a terminal, and -q turns it off"),
    ("eta-newline", "leave it out; progress is shown on a terminal, and -q turns it off"),
    ("lockfile", "leave it out; iogauge locks no files"),
    ("max-jobs", "leave it out; the number of jobs needs no limit"),
    ("minimal", "use --json; terse output is not written"),
    ("output", "write > FILE after the command"),
    ("parse-only", "leave it out; a job file is checked as a whole before any of it runs"),
    (
        "section",
        "leave it out; all sections of a job file run, so copy those wanted to another file",
    ),
    ("server", "run iogauge on each machine"),
    ("status-interval", "leave it out; progress is shown on a terminal, and the result at the end"),
    ("terse-version", "use --json; terse output is not written"),
    ("thread", "leave it out; workers are always threads"),
];

/// Returns the name of an option that the command does not have.
fn unknown_option(error: &clap::Error) -> Option<&str> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let name = argument.strip_prefix("--").filter(|_| is_unknown)?;
    Some(name.split('=').next().unwrap_or(name))
}

/// Returns which of the main commands have the option that this one does not have.
fn has_it(error: &clap::Error) -> Option<String> {
    let name = unknown_option(error)?;
    let cli = Cli::command();
    let is_shown =
        |argument: &clap::Arg| argument.get_long() == Some(name) && !argument.is_hide_set();
    let having = cli.get_subcommands().filter(|command| {
        ["find", "run"].contains(&command.get_name()) && command.get_arguments().any(is_shown)
    });
    let having: Vec<String> =
        having.map(|command| format!("iogauge {}", command.get_name())).collect();
    (!having.is_empty()).then(|| format!("{} has --{name}", having.join(" or ")))
}

/// Joins an error and its causes. Many errors already quote their causes.
pub fn in_one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    screen::line(&line)
}

/// Words a value that an option does not accept: `--precision must be between 0.1% and 50%, not 0`.
fn invalid_value(error: &clap::Error) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else { return None };
    let ContextValue::String(value) = error.get(ContextKind::InvalidValue)? else { return None };
    // A positional argument has no name that a user knows.
    let name = argument.split(' ').next().filter(|name| name.starts_with('-')).unwrap_or("");
    if value.is_empty() {
        return None;
    }
    match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(valid))) => {
            let valid = valid.join(", ");
            Some(match name {
                "" => format!("\"{value}\" is not one of {valid}"),
                name => format!("{name} must be one of {valid}, not \"{value}\""),
            })
        }
        (ErrorKind::ValueValidation, _) => {
            let reason = std::error::Error::source(error)?.to_string();
            Some(match () {
                () if reason.starts_with("must ") && !reason.contains(value) => {
                    let (fact, hint) = reason.split_at(reason.find(HINT).unwrap_or(reason.len()));
                    format!("{name} {fact}, not {value}{hint}")
                }
                () if reason.starts_with("must ") => format!("{name} {reason}"),
                () if name.is_empty() => reason,
                () if reason.contains(value) => format!("{name}: {reason}"),
                () => format!("{name}={value}: {reason}"),
            })
        }
        _ => None,
    }
}

/// Returns the negative number that clap took for an option.
fn negative_number(error: &clap::Error) -> Option<&str> {
    let ContextValue::String(text) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_number = text.strip_prefix('-')?.starts_with(|c: char| c.is_ascii_digit());
    (error.kind() == ErrorKind::UnknownArgument && is_number).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(typed: &str) -> Vec<OsString> {
        typed.split(' ').map(OsString::from).collect()
    }

    fn spelled(typed: &str, text: &str) -> String {
        TypedCommand::of(&arguments(typed)).spelled(text)
    }

    #[test]
    fn hints_spell_options_as_their_place_does() {
        let text = "bs: no; hint: use --direct=0, which is buffered";
        for (command, hint) in [
            ("iogauge run f", "bs: no; hint: use --direct=0, which is buffered"),
            ("iogauge run a.fio", "bs: no; hint: use direct=0, which is buffered"),
            ("iogauge suite a.fio t", "bs: no; hint: use direct=0, which is buffered"),
            ("iogauge suite a.toml t", "bs: no; hint: use direct = 0, which is buffered"),
            ("iogauge suite snia-iops t", "bs: no"),
            ("iogauge doctor t", "bs: no"),
        ] {
            assert_eq!(spelled(command, text), hint);
        }
        let rw = "no; hint: use --rw=randrw or --rw=read";
        let toml = "no; hint: use rw = \"randrw\" or rw = \"read\"";
        assert_eq!(spelled("iogauge suite a.toml t", rw), toml);
    }

    #[test]
    fn alternatives_with_options_of_other_commands_are_left_out() {
        let text = "no such file; hint: make the directory, or use --size=SIZE to make the file";
        assert_eq!(spelled("iogauge run f", text), text);
        let left = "no such file; hint: make the directory";
        assert_eq!(spelled("iogauge doctor f", text), left);
    }

    #[test]
    fn hints_with_whole_commands_stay() {
        let text = "no; hint: run iogauge prepare TARGET --size=SIZE; hint: use --max-depth 9";
        assert_eq!(spelled("iogauge find f", text), text);
        let without = "no; hint: run iogauge prepare TARGET --size=SIZE";
        assert_eq!(spelled("iogauge history list", text), without);
    }

    #[test]
    fn options_of_other_commands_are_named_with_them() {
        for (typed, told) in [
            ("iogauge run f --max-depth=9", "hint: iogauge find has --max-depth"),
            ("iogauge run f --budget=1s", "hint: iogauge find has --budget"),
            ("iogauge find f --print-fio", "hint: iogauge run has --print-fio"),
            ("iogauge find f --lenient", "hint: iogauge run has --lenient"),
            ("iogauge run f --lenint", "hint: a similar argument exists: '--lenient'"),
        ] {
            let arguments = arguments(typed);
            let error = <Cli as clap::Parser>::try_parse_from(&arguments).unwrap_err();
            let line = TypedCommand::of(&arguments).usage_line(&error);
            assert!(line.ends_with(told), "{typed}: {line}");
        }
    }

    #[test]
    fn options_of_fio_are_explained_and_only_close_names_are_suggested() {
        for (typed, told) in [
            ("iogauge run f --eta=never", "-q turns it off"),
            ("iogauge run f --section=a", "all sections of a job file run"),
            ("iogauge run f --lockfile=none", "iogauge locks no files"),
            ("iogauge run f --output=x", "hint: write > FILE after the command"),
            ("iogauge find f --output x", "hint: write > FILE after the command"),
            ("iogauge run f --thread", "workers are always threads"),
            ("iogauge run f --status-interval=1", "the result at the end"),
            ("iogauge run f --runtim=1", "hint: a similar argument exists: '--runtime'"),
            ("iogauge run f --blocksise=4k", "hint: a similar argument exists: '--blocksize'"),
            ("iogauge run f --tracing", "hint: run iogauge run --help"),
            ("iogauge run f --offs", "hint: a similar argument exists: '--offset'"),
        ] {
            let arguments = arguments(typed);
            let error = <Cli as clap::Parser>::try_parse_from(&arguments).unwrap_err();
            let line = TypedCommand::of(&arguments).usage_line(&error);
            assert!(line.contains(told), "{typed}: {line}");
        }
        let command = Cli::command();
        for (name, _) in OF_FIO {
            let has = |command: &Command| {
                command.get_arguments().any(|argument| argument.get_long() == Some(name))
            };
            assert!(!command.get_subcommands().any(has), "{name}");
        }
    }

    #[test]
    fn the_command_is_found_among_the_arguments() {
        for (typed, words) in [
            ("iogauge", "iogauge"),
            ("iogauge --nonsense run f", "iogauge"),
            ("iogauge db run sqlite:d", "iogauge db run"),
            ("iogauge suite oltp f", "iogauge suite oltp"),
            ("iogauge suite a.toml f", "iogauge suite a.toml"),
            ("iogauge run run", "iogauge run"),
        ] {
            assert_eq!(TypedCommand::of(&arguments(typed)).words, words);
        }
    }
}
