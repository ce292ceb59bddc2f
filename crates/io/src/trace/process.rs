//! Runs bpftrace as a child process.

use super::TraceError;
use super::bpftrace_output::Said;
use crate::child::{self, Complaints, each_line};
use crate::confine::Domain;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum number of entries in a map. Times have 4352 buckets for each of three kinds, and deep queues may hold many
/// outstanding requests. Newer versions of bpftrace use the second variable.
const MAP_KEYS: &str = "16384";
const MAP_KEYS_VARIABLES: [&str; 2] = ["BPFTRACE_MAP_KEYS_MAX", "BPFTRACE_MAX_MAP_KEYS"];
/// Number of unread lines that are buffered. bpftrace blocks beyond it.
const MOST_UNHEARD: usize = 256;
/// Part of a warning about a limit that may not be raised. bpftrace works regardless.
const HARMLESS: &str = "RLIMIT_MEMLOCK";

/// A running bpftrace. Dropping it kills and reaps the process, and the kernel then removes its probes.
#[derive(Debug)]
pub(super) struct Bpftrace {
    child: Child,
    said: Receiver<Said>,
    complaints: Complaints,
    readers: Vec<JoinHandle<()>>,
    ended: bool,
}

impl Bpftrace {
    /// Starts bpftrace with a program.
    ///
    /// # Errors
    /// Fails if it cannot be started.
    pub(super) fn start(program: &str) -> Result<Self, TraceError> {
        let mut command = Command::new("bpftrace");
        command
            .args(["-B", "line", "-f", "json", "-e", program])
            .envs(MAP_KEYS_VARIABLES.map(|variable| (variable, MAP_KEYS)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        child::bind(&mut command, Signal::KILL);
        Domain::reading().bind(&mut command)?;
        let mut child = command.spawn().map_err(TraceError::NotInstalled)?;
        let (sender, said) = sync_channel(MOST_UNHEARD);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let complaints = Complaints::default();
        let mut bpftrace = Self { child, said, complaints, readers: Vec::new(), ended: false };
        let complaints = bpftrace.complaints.clone();
        bpftrace.read("iogauge-bpf-out", move || read_json(stdout, &sender, &complaints))?;
        let complaints = bpftrace.complaints.clone();
        bpftrace.read("iogauge-bpf-err", move || {
            if let Some(stderr) = stderr {
                each_line(stderr, |line| complaints.note(line));
            }
        })?;
        Ok(bpftrace)
    }

    fn read(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TraceError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        self.readers.push(thread.map_err(TraceError::NotInstalled)?);
        Ok(())
    }

    /// Waits for its next output, for at most `patience`; `None` if there is none.
    ///
    /// # Errors
    /// Fails if it has ended.
    fn next(&mut self, patience: Duration) -> Result<Option<Said>, TraceError> {
        match self.said.recv_timeout(patience) {
            Ok(said) => Ok(Some(said)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                self.end();
                Err(TraceError::Ended { said: self.complaint() })
            }
        }
    }

    /// Passes its output to `is_last` until that returns true, for at most `patience`.
    ///
    /// # Errors
    /// Fails if it has ended or time is up.
    pub(super) fn until(
        &mut self,
        patience: Duration,
        mut is_last: impl FnMut(Said) -> bool,
    ) -> Result<(), TraceError> {
        let begin = Instant::now();
        // Endless output without the expected answer also times out.
        while begin.elapsed() < patience {
            let Some(said) = self.next(patience.saturating_sub(begin.elapsed()))? else { break };
            if is_last(said) {
                return Ok(());
            }
        }
        Err(self.silent(patience))
    }

    /// Returns the error that it did not answer.
    pub(super) fn silent(&self, patience: Duration) -> TraceError {
        TraceError::Silent { seconds: patience.as_secs(), said: self.complaint() }
    }

    /// Returns its first error message. For an error in the program, the excerpt that follows is left out.
    fn complaint(&self) -> String {
        let complaints = self.complaints.all();
        let serious = complaints.into_iter().find(|line| !line.contains(HARMLESS));
        let said = serious.unwrap_or_else(|| "it said nothing".to_owned());
        said.trim_end_matches('.').to_owned()
    }

    fn end(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        // It leads a process group of its own. Both calls fail only if it has been reaped, which only this function
        // does.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        // Discards its last output, so that the reader can end.
        while self.said.recv().is_ok() {}
        for reader in self.readers.drain(..) {
            // Nothing can be done about a reader that panicked.
            let _ = reader.join();
        }
    }
}

impl Drop for Bpftrace {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_json(output: Option<impl Read>, said: &SyncSender<Said>, noise: &Complaints) {
    let Some(output) = output else { return };
    each_line(output, |line| match Said::of(line) {
        // After the receiver is dropped, the rest is still read.
        Some(words) => drop(said.send(words)),
        None => noise.note(line),
    });
}
