//! A process that runs one of iogauge's routines, and the lines exchanged with it.

use super::{Installation, Session, widen};
use crate::directory::fault;
use crate::error::DbError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Maximum wait for a process to close the database. The last process first writes everything that is not yet in the
/// data file.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum time for which a process may be stopped by a signal or a debugger.
const STOPPED: Duration = Duration::from_secs(3);
/// Interval between checks for stopped processes.
const LOOK: Duration = Duration::from_millis(250);
/// Maximum size of a line: that of a string in M, 1 MiB.
const MOST_LINE_BYTES: usize = (1 << 20) + 16;
/// Maximum number of bytes of its error output that are kept.
const MOST_LAST_BYTES: u64 = 64 << 10;
/// Maximum number of bytes of what is said before the first answer that are kept.
const MOST_PREFACE_BYTES: usize = 64 << 10;

/// The processes of one run. A process that dies in the database may leave locks that the others wait for, so they are
/// ended with it. The next process that opens the database recovers it from the journal.
#[derive(Debug, Default)]
pub struct Family(Mutex<Vec<(Weak<Mutex<Child>>, Signal)>>);

impl Family {
    fn add(&self, child: &Arc<Mutex<Child>>, end_signal: Signal) {
        hold(&self.0).push((Arc::downgrade(child), end_signal));
    }

    /// Ends all processes, including stopped ones.
    pub fn end(&self) {
        for (child, signal) in hold(&self.0).drain(..) {
            if let Some(child) = child.upgrade() {
                end(&mut hold(&child), signal);
            }
        }
    }
}

/// Sends a signal to a process that has not been waited for. A stopped process gets it as well.
fn end(child: &mut Child, signal: Signal) {
    if let (Ok(None), Some(id)) = (child.try_wait(), Pid::from_raw(child.id() as i32)) {
        // It may have ended meanwhile.
        let _ = kill_process(id, signal);
        let _ = kill_process(id, Signal::CONT);
    }
}

/// Locks a mutex, even if a thread has panicked while it held the lock.
pub fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running process. It ends when its input is closed, which happens when this value is dropped or iogauge ends.
#[derive(Debug)]
pub struct Process {
    installation: Arc<dyn Installation>,
    child: Arc<Mutex<Child>>,
    family: Arc<Family>,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    line: String,
    /// Maximum wait for the first answer.
    greeting: Option<Duration>,
    /// What a session says before it runs the routine, such as why it does not.
    preface: String,
}

/// Why no line was read.
enum NoLine {
    /// Its output has ended.
    Ended,
    /// It is stopped, or did not answer in time.
    Silent(&'static str),
    /// Its output is not UTF-8, or a line is too long.
    Strange,
}

impl Process {
    /// Starts an entry of a routine.
    ///
    /// # Errors
    /// Fails if it cannot be started.
    pub fn start(installation: &Arc<dyn Installation>, entry: &str) -> Result<Self, DbError> {
        Self::start_in(installation, &Arc::default(), entry)
    }

    /// Starts an entry of a routine as one of a run's processes.
    ///
    /// # Errors
    /// Fails if it cannot be started.
    pub fn start_in(
        installation: &Arc<dyn Installation>,
        family: &Arc<Family>,
        entry: &str,
    ) -> Result<Self, DbError> {
        let Session { mut command, first_line, greeting } = installation.session(entry);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| fault(command.get_program().as_ref(), &error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        if let Some(output) = &output {
            // A larger pipe lets it write its answers without blocking.
            widen(output);
        }
        let output = output.map(|output| BufReader::with_capacity(1 << 16, output));
        let child = Arc::new(Mutex::new(child));
        family.add(&child, installation.end_signal());
        let (installation, family) = (installation.clone(), family.clone());
        let mut process = Self {
            installation,
            child,
            family,
            input,
            output,
            line: String::new(),
            greeting,
            preface: String::new(),
        };
        if let Some(line) = first_line {
            process.tell(format_args!("{line}"))?;
        }
        Ok(process)
    }

    /// Writes a line to the process.
    ///
    /// # Errors
    /// Returns [`DbError::Gone`] if it has ended, with its last error.
    pub fn tell(&mut self, line: std::fmt::Arguments<'_>) -> Result<(), DbError> {
        let Some(input) = &mut self.input else { return Err(self.gone()) };
        // A single write, so that the process reads the complete line.
        let text = format!("{line}\n");
        if input.write_all(text.as_bytes()).is_ok() { Ok(()) } else { Err(self.gone()) }
    }

    /// Passes lines to `see` until one begins with a dot, and returns the rest of that line.
    ///
    /// # Errors
    /// Returns the error that the process reports, [`DbError::Gone`] if it has ended, or an error of `see`.
    pub fn hear(
        &mut self,
        mut see: impl FnMut(&str) -> Result<(), DbError>,
    ) -> Result<&str, DbError> {
        self.hear_within(None, &mut see)
    }

    /// Like [`Self::hear`], with a time limit.
    fn hear_within(
        &mut self,
        patience: Option<Duration>,
        see: &mut dyn FnMut(&str) -> Result<(), DbError>,
    ) -> Result<&str, DbError> {
        let greeting = self.greeting.take();
        let end = patience.or(greeting).map(|patience| Instant::now() + patience);
        loop {
            if let Err(why) = self.next_line(end) {
                return Err(self.no_line(&why));
            }
            match self.line.as_bytes().first() {
                Some(b'.') => break,
                Some(b'!') => return Err(self.installation.error(self.line[1..].trim())),
                _ if greeting.is_some() && self.preface.len() < MOST_PREFACE_BYTES => {
                    self.preface.push_str(&self.line);
                    self.preface.push('\n');
                }
                _ => see(&self.line)?,
            }
        }
        Ok(self.line[1..].trim())
    }

    /// Reads a line into `self.line`, without the newline.
    fn next_line(&mut self, end: Option<Instant>) -> Result<(), NoLine> {
        let mut line = std::mem::take(&mut self.line).into_bytes();
        line.clear();
        let mut stopped_since = None;
        let Some(output) = &mut self.output else { return Err(NoLine::Ended) };
        loop {
            if output.buffer().is_empty() && !is_readable(output.get_ref()) {
                let now = Instant::now();
                if end.is_some_and(|end| now > end) {
                    return Err(NoLine::Silent("did not answer in time"));
                }
                if !is_stopped(hold(&self.child).id()) {
                    stopped_since = None;
                } else if now - *stopped_since.get_or_insert(now) > STOPPED {
                    return Err(NoLine::Silent("is stopped"));
                }
                continue;
            }
            let Ok(received @ [_, ..]) = output.fill_buf() else { return Err(NoLine::Ended) };
            let length = received.iter().position(|byte| *byte == b'\n');
            line.extend_from_slice(&received[..length.unwrap_or(received.len())]);
            let taken = length.map_or(received.len(), |length| length + 1);
            output.consume(taken);
            if line.len() > MOST_LINE_BYTES {
                return Err(NoLine::Strange);
            }
            if length.is_some() {
                break;
            }
        }
        while line.last() == Some(&b'\r') {
            line.pop();
        }
        self.line = String::from_utf8(line).map_err(|_| NoLine::Strange)?;
        Ok(())
    }

    /// Ends the process and the others of its run, because it returned no valid line.
    fn no_line(&mut self, why: &NoLine) -> DbError {
        let id = hold(&self.child).id();
        let what = match why {
            NoLine::Ended => return self.gone(),
            NoLine::Silent(what) => *what,
            NoLine::Strange => "says what is no line of ours",
        };
        self.input = None;
        self.output = None;
        end(&mut hold(&self.child), self.installation.end_signal());
        self.family.end();
        let name = self.installation.name();
        DbError::Gone(format!(
            "{name}'s process {id} {what}, and was ended; what was acknowledged is kept, and the next run \
             goes on from there"
        ))
    }

    /// Sends a request and returns the single line of the answer; empty if it has none. Waits at most `patience`.
    ///
    /// # Errors
    /// As [`Self::hear`].
    pub fn ask(&mut self, question: &str, patience: Option<Duration>) -> Result<String, DbError> {
        self.tell(format_args!("{question}"))?;
        let mut answer = String::new();
        let mut see = |line: &str| {
            line.clone_into(&mut answer);
            Ok(())
        };
        self.hear_within(patience, &mut see)?;
        Ok(answer)
    }

    /// Returns the error of a process that has ended.
    fn gone(&mut self) -> DbError {
        self.input = None;
        // Includes its error output, if it had time to write any.
        let mut said = std::mem::take(&mut self.preface).into_bytes();
        let how = self.wait();
        if let Some(output) = self.output.take() {
            read_what_is_there(output.into_inner(), &mut said);
        }
        let errors = hold(&self.child).stderr.take();
        if let Some(errors) = errors {
            read_what_is_there(errors, &mut said);
        }
        let said = String::from_utf8_lossy(&said);
        if let Some(error) = self.installation.last_error(&said) {
            return error;
        }
        let id = hold(&self.child).id();
        if !how.is_some_and(|how| how.success()) {
            self.family.end();
        }
        let how = how.map_or_else(|| "no word".to_owned(), |how| how.to_string());
        let name = self.installation.name();
        DbError::Gone(format!(
            "{name}'s process {id} ended with {how}; what was acknowledged is kept, and the next run goes \
             on from there"
        ))
    }

    /// Waits until the process has ended, and kills it if that takes too long.
    fn wait(&self) -> Option<ExitStatus> {
        let begin = Instant::now();
        let mut stopped_since = None;
        loop {
            // Another thread of the run may end it in the meantime.
            let mut child = hold(&self.child);
            match child.try_wait() {
                Ok(None) => {}
                Ok(how) => return how,
                Err(_) => return None,
            }
            let now = Instant::now();
            // Most processes end before the first check.
            if now - begin < LOOK || !is_stopped(child.id()) {
                stopped_since = None;
            } else {
                stopped_since.get_or_insert(now);
            }
            if now - begin > PATIENCE || stopped_since.is_some_and(|since| now - since > STOPPED) {
                let signal = self.installation.end_signal();
                end(&mut child, signal);
                // Another signal may be ignored.
                return if signal == Signal::KILL { child.wait().ok() } else { None };
            }
            drop(child);
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// Closes its input, and waits until it has closed the database.
    pub fn leave(&mut self) {
        self.input = None;
        // A process whose output is not read would block forever.
        self.output = None;
        self.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Waits a moment for data or the end of the output.
fn is_readable(output: &ChildStdout) -> bool {
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    let mut polled = [PollFd::new(output, PollFlags::IN)];
    // If polling fails, the read reports the reason.
    !matches!(poll(&mut polled, Some(&timeout)), Ok(0) | Err(Errno::INTR))
}

/// Returns true if a signal or a debugger has stopped a process. Its state follows its name in `/proc/PID/stat`.
fn is_stopped(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, Some("T" | "t"))
}

/// Reads the available data of a pipe without blocking. Another process may keep the other end open for a long time.
fn read_what_is_there(pipe: impl Read + AsFd, said: &mut Vec<u8>) {
    let flags = fcntl_getfl(&pipe).and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK));
    if flags.is_ok() {
        // Keeps what was read before an error, such as when no more data is available.
        let _ = pipe.take(MOST_LAST_BYTES).read_to_end(said);
    }
}
