//! Runs iogauge in a sandbox.

pub mod answer;
pub mod fio;
mod remedies;

pub use crate::processes::{children, computed, is_gone, state_of};
pub use crate::{eventually, names, skip};

use crate::PATIENCE;
use assert_cmd::Command;
use rustix::fs::OFlags;
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use tempfile::TempDir;

/// Eight I/Os at a time, each in 100 µs.
pub const EIGHT: &str = "sim:channels=8,service=100us";

/// Fails if a number differs from the truth by more than this share of it.
#[track_caller]
pub fn near(value: &Value, truth: f64, relative: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"));
    assert!((value / truth - 1.0).abs() <= relative, "{value} is not near {truth}");
}

/// Returns true if a text is one error or warning: the fact in one line, and at most a hint in a second
/// one.
pub fn is_one_message(stderr: &str) -> bool {
    let mut lines = stderr.lines();
    let fact = lines.next().is_some_and(|line| {
        (line.starts_with("error: ") || line.starts_with("warning: ")) && !line.contains(": hint: ")
    });
    let hint = lines.next().is_none_or(|line| line.starts_with("hint: "));
    fact && hint && lines.next().is_none() && stderr.ends_with('\n')
}

/// Asserts that a text is one error or warning, as defined by [`is_one_message()`].
#[track_caller]
pub fn assert_one_message(stderr: &str) {
    assert!(is_one_message(stderr), "{stderr}");
}

/// A directory for one test, with its own working directory and history.
pub struct Sandbox {
    program: PathBuf,
    dir: TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub struct Done {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        let done = Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
        done
    }
}

impl Done {
    /// Asserts the exit code.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Parses the single document on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        let shown = |error| panic!("{error}: {}\nstderr: {}", self.stdout, self.stderr);
        serde_json::from_str(&self.stdout).unwrap_or_else(shown)
    }
}

impl Sandbox {
    /// Creates a sandbox for a program; its directory is created in `parent`.
    pub fn new(program: &Path, parent: &Path) -> Self {
        let dir = tempfile::Builder::new().prefix("cli").tempdir_in(parent).unwrap();
        Self { program: program.to_owned(), dir }
    }

    /// Returns the working directory of the commands.
    pub fn work(&self) -> PathBuf {
        let work = self.dir.path().join("work");
        std::fs::create_dir_all(&work).unwrap();
        work
    }

    /// Returns the history file of the commands.
    pub fn history(&self) -> PathBuf {
        self.dir.path().join("data/iogauge/history.db")
    }

    /// Returns the names in the working directory, sorted.
    pub fn names(&self) -> Vec<String> {
        names(&self.work())
    }

    /// Returns a command that is not started yet.
    pub fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.work())
            .env("XDG_DATA_HOME", self.dir.path().join("data"))
            .env_remove("COLUMNS")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end. Fails if iogauge rejects a command or an option that it suggests itself.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Done {
        let mut command = Command::from_std(self.command(arguments));
        command.timeout(PATIENCE);
        let done: Done = command.output().unwrap().into();
        remedies::type_all(&self.program, arguments, &done.stderr);
        done
    }

    /// Runs a command as on a terminal with this many columns.
    pub fn run_on(&self, columns: u16, arguments: &[&str]) -> Done {
        let mut command = Command::from_std(self.command(arguments));
        command.timeout(PATIENCE).env("COLUMNS", columns.to_string());
        command.output().unwrap().into()
    }

    /// Starts a command in the background; it is ended when the value is dropped.
    pub fn start(&self, arguments: &[&str]) -> Started {
        Started(Some(self.command(arguments).spawn().unwrap()))
    }

    /// Returns id and state of the rows of `history list`, newest first.
    pub fn runs(&self) -> Vec<(String, String)> {
        let text = self.run(&["history", "list"]).ends(0).stdout;
        text.lines()
            .filter(|line| line.starts_with("20"))
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                (words[0].to_owned(), words[2].to_owned())
            })
            .collect()
    }
}

/// Kills a command and its worker process, and waits until both have ended.
#[track_caller]
pub fn kill_both(child: &mut Child) {
    let workers = children(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    eventually(|| workers.iter().all(|worker| is_gone(*worker)));
}

/// A running command.
pub struct Started(Option<Child>);

impl Started {
    /// Returns the id of the started process, the supervisor of the measuring one.
    pub fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Returns the id of the measuring process, once it exists.
    #[track_caller]
    pub fn worker(&self) -> u32 {
        let mut found = None;
        eventually(|| {
            found = children(self.pid()).first().copied();
            found.is_some()
        });
        found.unwrap()
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let _ = std::process::Command::new("kill")
            .args([&format!("-{name}"), &self.pid().to_string()])
            .stderr(Stdio::null())
            .status();
    }

    /// Returns true while the command has not ended.
    pub fn runs(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_none()
    }

    /// Kills the command and its worker process, and waits until both have ended: only then nothing writes any more.
    #[track_caller]
    pub fn kill(mut self) -> Done {
        kill_both(self.0.as_mut().unwrap());
        self.end()
    }

    /// Waits for the end, at most a minute.
    #[track_caller]
    pub fn end(mut self) -> Done {
        let pid = self.pid();
        let child = self.0.take().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(output) = receiver.recv_timeout(PATIENCE) else {
            let _ = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
            panic!("the command does not end");
        };
        output.unwrap().into()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns true if the directory supports direct I/O; otherwise reports that the test is skipped.
pub fn direct_io(test: &str, directory: &Path) -> bool {
    let path = directory.join("probe");
    let opened = File::options()
        .create(true)
        .write(true)
        .custom_flags(OFlags::DIRECT.bits() as i32)
        .open(&path);
    let _ = std::fs::remove_file(&path);
    if let Err(error) = &opened {
        skip(test, &format!("{} has no direct I/O: {error}", directory.display()));
    }
    opened.is_ok()
}
