//! The binary `iogauge`: arguments, progress, exit codes. The other crates do the work.
#![forbid(unsafe_code)]

mod args;
mod command;
mod detach;
mod exit;
mod front;
mod job_source;
mod screen;
mod step_keeper;

use anyhow::Context;
use args::{Cli, Command};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use exit::Exit;
use front::Reporter;
use iogauge_lab::Interrupt;
use iogauge_model::units::Bytes;
use signal_hook::consts::SIGXFSZ;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

fn main() -> ExitCode {
    detach::settle();
    take_file_limit().and_then(|()| front::start(work)).unwrap_or_else(|error| {
        screen::error(&in_one_line(&error));
        Exit::Fault.into()
    })
}

/// Runs the command, in the working process.
fn work(reporter: &Reporter) -> Exit {
    let arguments = args::with_dashes(std::env::args_os());
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let result =
        interrupt(reporter).and_then(|interrupt| dispatch(cli.command, &arguments, interrupt));
    match result {
        Ok(exit) => {
            if let Some(hint) = file_limit_hint() {
                screen::error(&format!("a write failed: {hint}"));
            }
            exit
        }
        Err(error) => {
            let hint = file_limit_hint().map_or_else(String::new, |hint| format!("; {hint}"));
            screen::error(&format!("{}{hint}", in_one_line(&error)));
            exit::of(&error)
        }
    }
}

fn dispatch(
    command: Command,
    arguments: &[OsString],
    interrupt: Interrupt,
) -> anyhow::Result<Exit> {
    match command {
        Command::Find(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        Command::Run(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        Command::Find(args) => command::find::run(&args, interrupt),
        Command::Run(args) => command::run::run(&args, interrupt),
        Command::Suite(args) => command::suite::run(&args, arguments, interrupt),
        Command::Crosscheck(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        Command::Crosscheck(args) => command::crosscheck::run(&args, interrupt),
        Command::Profile(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        Command::Profile(args) => command::profile::run(&args, &interrupt),
        Command::Doctor(args) => command::doctor::run(&args),
        Command::Prepare(args) => command::prepare::run(&args, &interrupt),
        Command::Clean(args) => command::clean::run(&args),
        Command::Db(args) => command::db::run(&args, arguments, interrupt),
        Command::History(args) => command::history::run(&args),
        Command::Report(args) => command::report::run(&args),
        Command::Stop(args) => command::stop::run(&args),
        Command::Import(args) => command::import::run(&args),
        Command::Table(args) => command::table::run(&args),
        Command::Man { directory, force } => command::manual::man(&directory, force),
        Command::Completions { shell } => command::manual::completions(shell),
    }
}

/// Ctrl-C, SIGTERM and a lost terminal end the measurement. Each signal is reported to the front
/// process, which decides what a second one does.
fn interrupt(reporter: &Reporter) -> anyhow::Result<Interrupt> {
    let interrupt = Interrupt::default();
    for signal in front::ending_signals() {
        signal_hook::flag::register(signal, interrupt.flag()).context("cannot take signals")?;
        reporter.reports_signal(signal)?;
    }
    Ok(interrupt)
}

/// Turns a write beyond the largest file allowed (`ulimit -f`) into an ordinary error instead of a
/// fatal signal, in this process and in the one that it forks: printing a message may be such a
/// write.
fn take_file_limit() -> anyhow::Result<()> {
    let taken = signal_hook::flag::register(SIGXFSZ, Arc::clone(&FILE_LIMIT_MET));
    taken.map(drop).context("cannot take signals")
}

/// Set once a write exceeded the largest file allowed.
static FILE_LIMIT_MET: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Returns the fact and the hint once a write exceeded the largest file allowed. The writer's own
/// error may say no more than that a write failed.
fn file_limit_hint() -> Option<String> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    limit.filter(|_| FILE_LIMIT_MET.load(Ordering::Relaxed)).map(|limit_bytes| {
        format!(
            "this process may write no file beyond {} (ulimit -f); hint: run ulimit -f \
             unlimited",
            Bytes(limit_bytes)
        )
    })
}

/// Prints help to stdout, and a mistake in one line to stderr.
fn usage(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                screen::error(&format!("cannot write to stdout: {error}"));
                Exit::Fault
            }
            _ => Exit::Done,
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Usage
        }
        _ => {
            screen::error(&one_line(error));
            Exit::Usage
        }
    }
}

/// Joins an error and its causes. Many errors already quote their causes.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    screen::line(&line)
}

/// Returns clap's message without its usage block. The hint is clap's tip or the command's help.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let negative = negative_number(error);
    let mut facts = Vec::new();
    let mut hint = None;
    let mut help = "run iogauge --help".to_owned();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(usage) = line.strip_prefix("Usage: ") {
            let words = usage.split(' ').take_while(|word| !word.starts_with(['[', '<', '-']));
            help = format!("run {} --help", words.collect::<Vec<_>>().join(" "));
            break;
        }
        match line.strip_prefix("tip: ") {
            // The tip would turn the option into a TARGET.
            Some(tip) if negative.is_some() || tip.starts_with("to pass ") => {}
            Some(tip) => hint = Some(tip.to_owned()),
            None if line.starts_with("For more") => {}
            None => facts.push(line),
        }
    }
    if let Some(number) = negative {
        hint = Some(format!("use {}, or another number from 0 on", &number[1..]));
    }
    let facts = facts.join("; ").replace(":; ", ": ");
    let facts = facts.strip_prefix("error: ").unwrap_or(&facts);
    // The value parsers provide their own hints.
    if facts.contains("hint: ") && hint.is_none() {
        return facts.to_owned();
    }
    format!("{facts}; hint: {}", hint.unwrap_or(help))
}

/// Returns the negative number that clap took for an option.
fn negative_number(error: &clap::Error) -> Option<&str> {
    let ContextValue::String(text) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_number = text.strip_prefix('-')?.starts_with(|c: char| c.is_ascii_digit());
    (error.kind() == ErrorKind::UnknownArgument && is_number).then_some(text)
}
