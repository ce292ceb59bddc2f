//! The binary `iogauge`: arguments, progress, exit codes. What it does lives in the other crates.
#![forbid(unsafe_code)]

mod args;
mod command;
mod detach;
mod exit;
mod keeper;
mod progress;
mod screen;

use args::{Cli, Command};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use exit::Exit;
use iogauge_lab::Interrupt;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = args::with_dashes(std::env::args_os());
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error).into(),
    };
    let result = interrupt().and_then(|interrupt| dispatch(cli.command, &arguments, interrupt));
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            screen::tell(&format!("iogauge: {}", in_one_line(&error)));
            exit::of(&error).into()
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
        Command::Man { directory } => command::manual::man(&directory),
        Command::Completions { shell } => command::manual::completions(shell),
    }
}

/// Ctrl-C and SIGTERM end the measurement; a second one ends the process at once.
fn interrupt() -> anyhow::Result<Interrupt> {
    detach::settle();
    let interrupt = Interrupt::default();
    for signal in [SIGINT, SIGTERM] {
        // Armed by the first signal, so in this order.
        let code = Exit::Interrupted as i32;
        signal_hook::flag::register_conditional_shutdown(signal, code, interrupt.flag())?;
        signal_hook::flag::register(signal, interrupt.flag())?;
    }
    Ok(interrupt)
}

/// Help goes to stdout; a mistake is told in one line.
fn usage(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            Exit::Done
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Usage
        }
        _ => {
            screen::tell(&format!("iogauge: {} (--help tells more)", one_line(error)));
            Exit::Usage
        }
    }
}

/// An error with its causes; many errors quote theirs already.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// clap's message without its usage block.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let negative = negative_number(error);
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        // It would make a TARGET of the number.
        .filter(|line| negative.is_none() || !line.starts_with("tip: to pass"));
    let mut joined = lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ");
    if let Some(number) = negative {
        joined.push_str(&format!("; right would be {}, or another number from 0 on", &number[1..]));
    }
    joined.strip_prefix("error: ").unwrap_or(&joined).to_owned()
}

/// The number below zero that clap took for an option.
fn negative_number(error: &clap::Error) -> Option<&str> {
    let ContextValue::String(text) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_number = text.strip_prefix('-')?.starts_with(|c: char| c.is_ascii_digit());
    (error.kind() == ErrorKind::UnknownArgument && is_number).then_some(text)
}
