//! Several hosts: the place of this process among them, and starting them with mpirun.

use crate::args::{Command, DbAction};
use crate::exit::{Exit, Usage};
use crate::front::Reporter;
use crate::{launcher, screen};
use anyhow::Context;
use iogauge_lab::Interrupt;
use iogauge_lab::session::hosts::{self, Hosts};
use rustix::process::{Signal, geteuid, set_parent_process_death_signal, setpgid};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stdin};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command as Program, Stdio};

/// Returns the place of this process in a run. May start threads. Signals set the interrupt.
pub type Join = fn(&Interrupt) -> anyhow::Result<Place>;

/// The place of this process in a run.
pub enum Place {
    /// It is the only one.
    Alone,
    /// It runs the command, and the other hosts follow.
    Leads(Box<dyn Hosts>),
    /// It does what the leading process orders.
    Follows(Box<dyn FnOnce(&Interrupt) -> Exit>),
}

/// Measures from this host alone.
///
/// # Errors
/// None.
pub fn alone(_: &Interrupt) -> anyhow::Result<Place> {
    Ok(Place::Alone)
}

/// Runs the command with other hosts, and ends their part of it.
pub fn lead(others: Box<dyn Hosts>, command: impl FnOnce() -> Exit) -> Exit {
    hosts::lead(others);
    let exit = command();
    let Some(hosts) = hosts::led() else { return exit };
    let lost = hosts.lost();
    hosts.end();
    match lost {
        // The error that ended the command has named it.
        Some(lost) if exit != Exit::HostLost => {
            screen::error(&format!("{lost}; hint: the result has what was measured until then"));
            Exit::HostLost
        }
        _ => exit,
    }
}

/// Refuses a command that works on one host only, and one that measures in processes that are not connected.
///
/// # Errors
/// As said.
pub fn refuse(command: &Command) -> anyhow::Result<()> {
    if hosts::led().is_none()
        && let (true, Some(number @ 2..)) = (measures(command), launcher::processes())
    {
        return Err(Usage(format!(
            "mpirun has started {number} processes, which are not connected; hint: start iogauge-mpi, with the mpirun \
             of the MPI for which it was built"
        ))
        .into());
    }
    let name = match command {
        Command::Db(args) => match &args.action {
            DbAction::Run(args) if args.output.detach => "--detach",
            DbAction::Find(args) if args.output.detach => "--detach",
            DbAction::Run(_) | DbAction::Find(_) => return Ok(()),
            action => action.name(),
        },
        Command::Profile(_) => "profile",
        Command::Clean(_) => "clean",
        Command::Doctor(_) => "doctor",
        Command::Crosscheck(_) => "crosscheck",
        Command::Find(args) if args.output.detach => "--detach",
        Command::Run(args) if args.output.detach => "--detach",
        Command::Check(args) if args.output.detach => "--detach",
        Command::HostsCurve(args) if args.find.output.detach => "--detach",
        Command::Compare(args) if args.output.detach => "--detach",
        _ => return Ok(()),
    };
    if hosts::led().is_none() {
        return Ok(());
    }
    Err(Usage(format!("{name} runs on one host; hint: start it without mpirun")).into())
}

const fn measures(command: &Command) -> bool {
    use Command::{Check, Compare, Crosscheck, Db, Find, HostsCurve, Prepare, Profile, Run, Suite};
    matches!(
        command,
        Find(_)
            | Run(_)
            | Check(_)
            | HostsCurve(_)
            | Suite(_)
            | Compare(_)
            | Crosscheck(_)
            | Profile(_)
            | Prepare(_)
            | Db(_)
    )
}

/// Replaces this process by mpirun if the command names hosts. Returns only if that is impossible, or if the command
/// names none.
pub fn launch(
    command: &Command,
    arguments: &[OsString],
    reporter: &Reporter,
) -> Option<anyhow::Result<Exit>> {
    let typed = match command {
        Command::Find(args) => &args.hosts,
        Command::Run(args) => &args.hosts,
        Command::Check(args) => &args.hosts,
        Command::HostsCurve(args) => &args.find.hosts,
        Command::Compare(args) => &args.hosts,
        Command::Suite(args) => args.hosts()?,
        Command::Db(args) => match &args.action {
            DbAction::Run(args) => &args.hosts,
            DbAction::Find(args) => &args.hosts,
            _ => return None,
        },
        _ => return None,
    };
    let hosts = match typed.names() {
        Ok(hosts) if hosts.is_empty() => return None,
        Ok(hosts) => hosts,
        Err(error) => return Some(Err(error)),
    };
    Some(start(&hosts, arguments, reporter))
}

/// Replaces this process by mpirun, with one process on each host. Returns only if that is impossible.
fn start(names: &[String], arguments: &[OsString], reporter: &Reporter) -> anyhow::Result<Exit> {
    if hosts::led().is_some() {
        let reason = "--hosts starts mpirun itself; hint: use either --hosts or mpirun";
        return Err(Usage(reason.to_owned()).into());
    }
    let program = sibling()?;
    let mut mpirun = Program::new("mpirun");
    mpirun.args(launcher_options(names)?);
    mpirun.arg(program).args(without_hosts(arguments));
    let words = std::iter::once(mpirun.get_program()).chain(mpirun.get_args());
    let line: Vec<_> = words.map(OsStr::to_string_lossy).map(|word| quoted(&word)).collect();
    screen::tell(&format!("running {}\n", line.join(" ")));
    // Ctrl-C reaches it once, through the front process: a second signal makes it drop the result. A process outside
    // the terminal's group would be stopped if it read from there.
    setpgid(None, None).context("cannot make a process group")?;
    if stdin().is_terminal() {
        mpirun.stdin(Stdio::null());
    }
    // Let it end its processes if the front process is killed.
    set_parent_process_death_signal(Some(Signal::TERM))
        .context("cannot tie mpirun to its parent")?;
    reporter.launches();
    Err(cannot_run(mpirun.exec()))
}

fn cannot_run(error: std::io::Error) -> anyhow::Error {
    let hint = "hint: install Open MPI or MPICH, or start iogauge-mpi with the scheduler";
    anyhow::anyhow!("cannot run mpirun: {error}; {hint}")
}

/// Variables with which a host finds a server and its password.
const SERVER_VARIABLES: [&str; 3] = ["PGPASSWORD", "PGPASSFILE", "PGUSER"];

/// Returns the program that hosts run: it is beside this one, or found by its name.
fn sibling() -> anyhow::Result<PathBuf> {
    let own = env::current_exe().context("cannot find the directory of iogauge")?;
    let beside = own.with_file_name("iogauge-mpi");
    Ok(if beside.exists() { beside } else { PathBuf::from("iogauge-mpi") })
}

/// Returns mpirun's options for one process on each host. Open MPI and MPICH name them differently.
fn launcher_options(names: &[String]) -> anyhow::Result<Vec<OsString>> {
    let version = Program::new("mpirun").arg("--version").output().map_err(cannot_run)?;
    let version = String::from_utf8_lossy(&version.stdout);
    // Under another name than mpirun it calls itself OpenRTE.
    let is_open_mpi = ["Open MPI", "OpenRTE"].iter().any(|name| version.contains(name));
    let (number, list) = (names.len().to_string(), names.join(","));
    let mut options = if is_open_mpi {
        let options = ["-np", &number, "--host", &list, "--map-by", "ppr:1:node", "--bind-to"];
        options.map(OsString::from).to_vec()
    } else {
        // Otherwise it kills all processes when one has been killed, before the result is kept.
        let options =
            ["-disable-auto-cleanup", "-np", &number, "-hosts", &list, "-ppn", "1", "-bind-to"];
        options.map(OsString::from).to_vec()
    };
    options.push("none".into());
    if is_open_mpi {
        // MPICH passes all variables on. Here the names are on the command line, and never the values.
        let set = SERVER_VARIABLES.iter().filter(|name| env::var_os(name).is_some());
        options.extend(set.flat_map(|name| ["-x".into(), name.into()]));
        options.extend(geteuid().is_root().then(|| "--allow-run-as-root".into()));
    }
    Ok(options)
}

/// Returns the arguments after the program's name, without those that name hosts.
fn without_hosts(arguments: &[OsString]) -> Vec<OsString> {
    let mut rest = Vec::new();
    let mut arguments = arguments.iter().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--hosts" | "--hostsfile") => drop(arguments.next()),
            Some(text) if text.starts_with("--hosts=") || text.starts_with("--hostsfile=") => {}
            _ => rest.push(argument.clone()),
        }
    }
    rest
}

/// Quotes a word for a shell if it needs it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_left_out_of_the_command_that_they_run() {
        let typed =
            ["iogauge", "find", "--hosts", "a,b", "/x", "--hostsfile=f", "--limit", "p99<=5ms"];
        let rest = without_hosts(&typed.map(OsString::from));
        assert_eq!(rest, ["find", "/x", "--limit", "p99<=5ms"].map(OsString::from));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("/mnt/a-b"), "/mnt/a-b");
        assert_eq!(quoted("p99<=5ms"), "'p99<=5ms'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
