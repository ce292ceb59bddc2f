//! bpftrace as a child process.

use super::TraceError;
use super::said::Said;
use crate::child::{self, Complaints, each_line};
use crate::confine::Domain;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Entries of a map: times have 4352 buckets for each of three kinds, and as many requests may be
/// under way as deep queues have room for. The second name is that of newer versions.
const MAP_KEYS: &str = "16384";
const MAP_KEYS_VARIABLES: [&str; 2] = ["BPFTRACE_MAP_KEYS_MAX", "BPFTRACE_MAX_MAP_KEYS"];
/// Lines that wait to be heard; who says more has to wait.
const MOST_UNHEARD: usize = 256;
/// It complains of this wherever the limit may not be raised, and works all the same.
const HARMLESS: &str = "RLIMIT_MEMLOCK";

/// A running bpftrace. Dropping it kills and reaps it, and the kernel takes its probes away with it.
#[derive(Debug)]
pub(super) struct Bpftrace {
    child: Child,
    said: Receiver<Said>,
    complaints: Complaints,
    readers: Vec<JoinHandle<()>>,
    ended: bool,
}

impl Bpftrace {
    /// Starts it on a program.
    ///
    /// # Errors
    /// Where it does not start.
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

    /// What it says next, waiting for it at most so long; `None` where it says nothing.
    ///
    /// # Errors
    /// Where it has ended.
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

    /// Hands out what it says until `is_last`, for so long at most.
    ///
    /// # Errors
    /// Where it has ended, or time is over.
    pub(super) fn until(
        &mut self,
        patience: Duration,
        mut is_last: impl FnMut(Said) -> bool,
    ) -> Result<(), TraceError> {
        let begin = Instant::now();
        // Who never stops talking does not answer either.
        while begin.elapsed() < patience {
            let Some(said) = self.next(patience.saturating_sub(begin.elapsed()))? else { break };
            if is_last(said) {
                return Ok(());
            }
        }
        Err(self.silent(patience))
    }

    /// That it did not answer.
    pub(super) fn silent(&self, patience: Duration) -> TraceError {
        TraceError::Silent { seconds: patience.as_secs(), said: self.complaint() }
    }

    /// Its first words of what is wrong; of what stands in the program it shows more below.
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
        // It leads a group of its own. Both fail only where it was reaped, which nobody else does.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        // What it said last is thrown away, so that the reader comes to an end.
        while self.said.recv().is_ok() {}
        for reader in self.readers.drain(..) {
            // A reader that panicked has nothing more to say.
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
        // Where nobody listens any more the rest is still read.
        Some(words) => drop(said.send(words)),
        None => noise.note(line),
    });
}
