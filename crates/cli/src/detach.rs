//! `--detach`: starts the same command again in the background, in a session of its own. It is in progress once it
//! measures; until then, what refuses it is reported as without `--detach`.

use crate::args::OutputArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use anyhow::Context;
use iogauge_lab::Interrupt;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Passes the path of the log to the background process.
const LOG: &str = "IOGAUGE_DETACHED_LOG";
/// Start of the line that announces the run's ID.
const ANNOUNCEMENT: &str = "iogauge run ";
/// Longest wait until it measures. The prefill precedes it and may be slow.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Starts this command again in the background and returns once it measures, or has ended. Then the exit code is its own.
///
/// # Errors
/// The background process cannot be started.
pub fn start(
    arguments: &[OsString],
    output: &OutputArgs,
    interrupt: &Interrupt,
) -> anyhow::Result<Exit> {
    let Some(history) = output.history.resolve()? else {
        let text = "--detach needs a history to keep its result; hint: leave out --history none";
        return Err(Usage(text.to_owned()).into());
    };
    let (log, out) = make_log(&history)?;
    // Opened first: a short run may already have removed its log.
    let mut told = File::open(&log).with_context(|| format!("cannot read {}", log.display()))?;
    let mut text = String::new();
    let rest = arguments.iter().skip(1).filter(|a| a.as_os_str() != "--detach");
    let mut child =
        Command::new(std::env::current_exe().context("cannot find the program that runs")?)
            .args(rest)
            .env(LOG, &log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::from(out))
            .spawn()
            .context("cannot start the background process")?;
    let kept = output.history_option();
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let ended = child.try_wait().context("cannot ask for the background process")?;
        told.read_to_string(&mut text).with_context(|| format!("cannot read {}", log.display()))?;
        if let Some(id) = announced(&text) {
            screen::say(&format!(
                "run {id} is in progress; iogauge stop {id}{kept} ends it, \
                 iogauge history show {id}{kept} shows it"
            ))?;
            return Ok(Exit::Done);
        }
        if let Some(status) = ended {
            let _ = std::fs::remove_file(&log);
            screen::tell(&text);
            return Ok(status.code().and_then(Exit::of_code).unwrap_or(Exit::Fault));
        }
        if interrupt.is_set() {
            end(&mut child);
            let _ = std::fs::remove_file(&log);
            return Ok(Exit::Interrupted);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("the background process has not begun to measure; its log is {}", log.display())
}

/// Returns the run's ID, once its line is complete.
fn announced(log: &str) -> Option<&str> {
    let mut lines = log.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    lines.find_map(|line| line.strip_prefix(ANNOUNCEMENT))
}

/// Ends a background process that has no run yet, as Ctrl-C would.
fn end(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let _ = child.wait();
}

/// Makes a log next to the history, under an unused name.
fn make_log(history: &Path) -> anyhow::Result<(PathBuf, File)> {
    let parent = history.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let process = std::process::id();
    let mut number = 0;
    loop {
        let log = directory.join(format!("detached-{process}-{number}.log"));
        match File::create_new(&log) {
            Ok(file) => return Ok((log, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot write {}", log.display()));
            }
        }
    }
}

/// Detaches a background process from the terminal.
pub fn settle() {
    if std::env::var_os(LOG).is_some() {
        // It fails for the leader of a process group.
        let _ = rustix::process::setsid();
    }
}

/// Announces the run's ID to the starting process.
pub fn report(id: &str) {
    if std::env::var_os(LOG).is_some() {
        screen::tell(&format!("{ANNOUNCEMENT}{id}"));
    }
}

/// Removes the log of a background run that ended well; the history has everything.
pub fn done() {
    let Some(log) = std::env::var_os(LOG).map(PathBuf::from) else { return };
    // The environment may name any file. Only the file that stderr writes to is the log.
    let is_log = match (rustix::fs::lstat(&log), rustix::fs::fstat(std::io::stderr())) {
        (Ok(file), Ok(stderr)) => (file.st_dev, file.st_ino) == (stderr.st_dev, stderr.st_ino),
        _ => false,
    };
    let is_named = log.file_name().is_some_and(|name| name.as_bytes().starts_with(b"detached-"));
    if is_log && is_named {
        let _ = std::fs::remove_file(log);
    }
}
