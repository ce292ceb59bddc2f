//! Shell commands of the user, run between measurements.

use crate::child;
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Number of bytes of the output that are kept.
const MOST_BYTES: u64 = 4096;
/// Time between two looks whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Time for a command to end after it was asked to.
const ENDING: Duration = Duration::from_secs(2);

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The end of what it wrote to standard output and standard error, without control characters other than newlines.
    pub output: String,
    /// Why it failed; `None` if it ended with exit code 0.
    pub failure: Option<String>,
}

/// Runs a command with `sh -c` until it ends. Its standard input is empty. `environment` is added to that of this process.
/// Once `is_cancelled` returns true, the command and the processes of its group are ended. Programs that it leaves in the
/// background do not delay the return.
///
/// # Errors
/// The shell cannot be started.
pub fn run(
    command: &str,
    environment: &[(&str, &str)],
    is_cancelled: &dyn Fn() -> bool,
) -> io::Result<Ran> {
    // A pipe would stay open as long as a program in the background has it.
    let mut output = File::from(rustix::fs::memfd_create("iogauge-setup", MemfdFlags::CLOEXEC)?);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    child::bind(&mut shell, Signal::TERM);
    let mut child = shell.spawn()?;
    let status = wait(&mut child, is_cancelled)?;
    let failure = (!status.success()).then(|| status.to_string());
    Ok(Ran { output: end_of(&mut output)?, failure })
}

fn wait(child: &mut Child, is_cancelled: &dyn Fn() -> bool) -> io::Result<ExitStatus> {
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let signal = match asked {
            None if is_cancelled() => Some(Signal::TERM),
            Some(since) if since.elapsed() > ENDING => Some(Signal::KILL),
            _ => None,
        };
        if let Some(signal) = signal {
            asked.get_or_insert_with(Instant::now);
            // It may just have ended.
            let _ = kill_process_group(Pid::from_child(child), signal);
        }
        std::thread::sleep(LOOK);
    }
}

fn end_of(output: &mut File) -> io::Result<String> {
    let length = output.seek(SeekFrom::End(0))?;
    output.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES)))?;
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.chars().filter(|c| *c == '\n' || !c.is_control()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_runs_with_its_output_and_its_failure() {
        let ran = run("echo $WHO; echo wrong >&2; exit 3", &[("WHO", "A")], &|| false).unwrap();
        assert_eq!(ran.output, "A\nwrong\n");
        assert_eq!(ran.failure.as_deref(), Some("exit status: 3"));
        let ran = run("cat", &[], &|| false).unwrap();
        assert_eq!(ran, Ran { output: String::new(), failure: None });
        let long = run("head -c 9000 /dev/zero | tr '\\0' x; echo end", &[], &|| false).unwrap();
        assert!(long.output.len() == 4096 && long.output.ends_with("xend\n"));
    }

    #[test]
    fn cancelled_command_and_its_children_end() {
        let begin = Instant::now();
        let ran = run("sleep 77 & wait", &[], &|| begin.elapsed() > LOOK).unwrap();
        assert!(ran.failure.is_some() && begin.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn program_in_the_background_does_not_delay_the_return() {
        let begin = Instant::now();
        let ran = run("sleep 60 & echo $!", &[], &|| false).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(30), "{ran:?}");
        let pid = ran.output.trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }
}
