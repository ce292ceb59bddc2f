//! `--detach`: the same command again, in the background, in a session of its own.

use crate::args::OutputArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use anyhow::Context;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Tells the background process where its log is.
const LOG: &str = "IOGAUGE_DETACHED_LOG";
/// First words of the line that tells the run's name.
const ANNOUNCEMENT: &str = "iogauge run ";
/// Prefill comes first and may take its time; then the run gets its name.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Starts this command again in the background and returns once its run has a name.
///
/// # Errors
/// Where the background process cannot be started or ends before it has begun.
pub fn start(arguments: &[OsString], output: &OutputArgs) -> anyhow::Result<Exit> {
    let Some(history) = output.history.resolve()? else {
        let text = "--detach shows its result in the history; right would be another --history";
        return Err(Usage(text.to_owned()).into());
    };
    let log = log_path(&history)?;
    let out = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let rest = arguments.iter().skip(1).filter(|a| a.as_os_str() != "--detach");
    let mut child = Command::new(std::env::current_exe()?)
        .args(rest)
        .env(LOG, &log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(out))
        .spawn()
        .context("cannot start the background process")?;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if let Some(id) = text.lines().find_map(|line| line.strip_prefix(ANNOUNCEMENT)) {
            screen::print(&format!(
                "run {id} is under way; iogauge stop {id} ends it, iogauge history show {id} \
                 shows it"
            ))?;
            return Ok(Exit::Done);
        }
        if let Some(status) = child.try_wait()? {
            let _ = std::fs::remove_file(&log);
            eprint!("{text}");
            return Ok(match status.code() {
                Some(2) => Exit::Usage,
                Some(3) => Exit::Refused,
                Some(130) => Exit::Interrupted,
                _ => Exit::Fault,
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("the background process has not begun to measure; its log is {}", log.display())
}

fn log_path(history: &Path) -> anyhow::Result<PathBuf> {
    let directory = history.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(directory.join(format!("detached-{}.log", std::process::id())))
}

/// Leaves the terminal behind, in a background process.
pub fn settle() {
    if std::env::var_os(LOG).is_some() {
        // It fails for the leader of a process group, which then has its own already.
        let _ = rustix::process::setsid();
    }
}

/// Tells the starting process the run's name.
pub fn report(id: &str) {
    if std::env::var_os(LOG).is_some() {
        eprintln!("{ANNOUNCEMENT}{id}");
    }
}

/// Removes the log of a background run that ended well: the history holds everything.
pub fn done() {
    if let Some(log) = std::env::var_os(LOG) {
        let _ = std::fs::remove_file(log);
    }
}
