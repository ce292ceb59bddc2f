//! The command line: arguments, progress, exit codes. The other crates do the work.
#![forbid(unsafe_code)]

mod args;
mod command;
mod detach;
mod exit;
mod front;
mod hosts;
mod job_source;
mod launcher;
mod mistake;
mod screen;
mod step_keeper;
mod version;

use anyhow::Context;
use args::{Cli, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use front::Reporter;
use iogauge_lab::Interrupt;
use iogauge_model::units::Bytes;
use mistake::TypedCommand;
use signal_hook::consts::SIGXFSZ;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

pub use exit::Exit;
pub use hosts::{Join, Place, alone};

/// Runs the command that this process was started with. `join` connects it with other hosts, if there are any.
/// `features` are those of the binary's own crate, for `--version`.
#[must_use]
pub fn main(join: Join, features: &'static [&'static str]) -> ExitCode {
    detach::settle();
    let work = move |reporter: &Reporter| work(reporter, join, features);
    take_file_limit().and_then(|()| front::start(work)).unwrap_or_else(|error| {
        screen::error(&TypedCommand::of(&[]).one_line(&error));
        Exit::Fault.into()
    })
}

/// Runs the command, in the working process.
fn work(reporter: &Reporter, join: Join, features: &[&str]) -> Exit {
    let joined = interrupt(reporter).and_then(|interrupt| match join(&interrupt)? {
        Place::Alone => Ok(command_line(interrupt, reporter, features)),
        Place::Leads(others) => {
            Ok(hosts::lead(others, || command_line(interrupt, reporter, features)))
        }
        Place::Follows(follow) => Ok(follow(&interrupt)),
    });
    joined.unwrap_or_else(|error| {
        screen::error(&TypedCommand::of(&[]).one_line(&error));
        Exit::Fault
    })
}

/// Runs the command.
fn command_line(interrupt: Interrupt, reporter: &Reporter, features: &[&str]) -> Exit {
    let arguments = args::with_dashes(std::env::args_os());
    let syntax = Cli::command().version(version::SHORT).long_version(version::long(features));
    let parsed = syntax.try_get_matches_from(&arguments);
    let cli = match parsed.and_then(|parsed| Cli::from_arg_matches(&parsed)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &arguments),
    };
    match dispatch(cli.command, &arguments, interrupt, reporter) {
        Ok(exit) => {
            if let Some(hint) = file_limit_hint() {
                screen::error(&format!("a write failed: {hint}"));
            }
            exit
        }
        Err(error) => {
            let hint = file_limit_hint().map_or_else(String::new, |hint| format!("; {hint}"));
            screen::error(&format!("{}{hint}", TypedCommand::of(&arguments).one_line(&error)));
            exit::of(&error)
        }
    }
}

fn dispatch(
    command: Command,
    arguments: &[OsString],
    interrupt: Interrupt,
    reporter: &Reporter,
) -> anyhow::Result<Exit> {
    if let Some(launch) = hosts::launch(&command, arguments, reporter) {
        return launch;
    }
    hosts::refuse(&command)?;
    match command {
        Command::Find(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        Command::Run(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        Command::Check(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        Command::HostsCurve(args) if args.find.output.detach => {
            detach::start(arguments, &args.find.output, &interrupt)
        }
        Command::Find(args) => command::find::run(&args, interrupt),
        Command::Run(args) => command::run::run(&args, interrupt),
        Command::Check(args) => command::check::run(&args, interrupt),
        Command::HostsCurve(args) => command::hosts_curve::run(&args, interrupt),
        Command::Suite(args) => command::suite::run(&args, arguments, interrupt),
        Command::Compare(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        Command::Compare(args) => command::compare::run(&args, arguments, interrupt),
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
        Command::Stop(args) => command::stop::run(&args, &interrupt),
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
fn usage(error: &clap::Error, arguments: &[OsString]) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                screen::error(&format!("cannot write to stdout: {error}"));
                Exit::Fault
            }
            _ => Exit::Done,
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if arguments.len() < 2 => {
            screen::tell(&command::manual::commands());
            Exit::Usage
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Usage
        }
        _ => {
            screen::error(&TypedCommand::of(arguments).usage_line(error));
            Exit::Usage
        }
    }
}
