//! A process that runs one of our routines, and the lines that go to it and come from it.

use super::tools::{Tools, widen};
use crate::directory::fault;
use crate::error::DbError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long one may take to leave the database; the last to leave writes everything that is not in the
/// data file yet.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long one may be stopped: a signal stopped it, or a debugger.
const STOPPED: Duration = Duration::from_secs(3);
/// How often it is looked whether it is.
const LOOK: Duration = Duration::from_millis(250);
/// A text of M has a MiB at most, and so has a line.
const MOST_LINE_BYTES: usize = (1 << 20) + 16;
/// What is kept of its last words.
const MOST_LAST_BYTES: u64 = 64 << 10;

/// The processes of one run. One that dies in the database may leave what the others wait for: they are
/// ended with it, and whoever opens the database next goes by the journal.
#[derive(Debug, Default)]
pub struct Family(Mutex<Vec<Weak<Mutex<Child>>>>);

impl Family {
    fn add(&self, child: &Arc<Mutex<Child>>) {
        hold(&self.0).push(Arc::downgrade(child));
    }

    /// Ends all of them, the stopped ones among them.
    pub fn end(&self) {
        for child in hold(&self.0).drain(..).filter_map(|child| child.upgrade()) {
            let _ = hold(&child).kill();
        }
    }
}

/// Takes what a mutex guards, whoever panicked with it in hand.
pub fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process at work. It ends when its input ends: with this value, and with this process, too.
#[derive(Debug)]
pub struct Process {
    tools: Tools,
    child: Arc<Mutex<Child>>,
    family: Arc<Family>,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    line: String,
}

/// Why no line came.
enum NoLine {
    /// Its output has ended.
    Ended,
    /// It is stopped, or did not answer in time.
    Silent(&'static str),
    /// What it says is no text, or has no end.
    Strange,
}

impl Process {
    /// Starts an entry of a routine.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(tools: &Tools, entry: &str, argument: &str) -> Result<Self, DbError> {
        Self::start_in(tools, &Arc::default(), entry, argument)
    }

    /// Starts an entry of a routine as one of a run's processes.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start_in(
        tools: &Tools,
        family: &Arc<Family>,
        entry: &str,
        argument: &str,
    ) -> Result<Self, DbError> {
        let mut command = tools.command("mumps");
        command.args(["-run", entry, argument]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| fault(Path::new("mumps"), &error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        if let Some(output) = &output {
            // It writes its answers without being held up.
            widen(output);
        }
        let output = output.map(|output| BufReader::with_capacity(1 << 16, output));
        let child = Arc::new(Mutex::new(child));
        family.add(&child);
        let (tools, family) = (tools.clone(), family.clone());
        Ok(Self { tools, child, family, input, output, line: String::new() })
    }

    /// Writes a line to it.
    ///
    /// # Errors
    /// [`DbError::Gone`] where it ended; what it said before.
    pub fn tell(&mut self, line: std::fmt::Arguments<'_>) -> Result<(), DbError> {
        let Some(input) = &mut self.input else { return Err(self.gone()) };
        // One write, so that a process that reads it has all of it.
        let text = format!("{line}\n");
        if input.write_all(text.as_bytes()).is_ok() { Ok(()) } else { Err(self.gone()) }
    }

    /// Reads lines until the one that begins with a dot, and gives what stands behind it.
    ///
    /// # Errors
    /// What it says where it fails, [`DbError::Gone`] where it ended; whatever `see` says.
    pub fn hear(
        &mut self,
        mut see: impl FnMut(&str) -> Result<(), DbError>,
    ) -> Result<&str, DbError> {
        self.hear_within(None, &mut see)
    }

    /// The same, in so long at most.
    fn hear_within(
        &mut self,
        patience: Option<Duration>,
        see: &mut dyn FnMut(&str) -> Result<(), DbError>,
    ) -> Result<&str, DbError> {
        let end = patience.map(|patience| Instant::now() + patience);
        loop {
            if let Err(why) = self.next_line(end) {
                return Err(self.no_line(&why));
            }
            match self.line.as_bytes().first() {
                Some(b'.') => break,
                Some(b'!') => return Err(self.tools.said(&status(&self.line))),
                _ => see(&self.line)?,
            }
        }
        Ok(self.line[1..].trim())
    }

    /// Reads a line into `self.line`, without its end.
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

    /// A process that no line can be had from has no further use, nor have those of its run.
    fn no_line(&mut self, why: &NoLine) -> DbError {
        let id = hold(&self.child).id();
        let what = match why {
            NoLine::Ended => return self.gone(),
            NoLine::Silent(what) => *what,
            NoLine::Strange => "says what is no line of ours",
        };
        self.input = None;
        self.output = None;
        let _ = hold(&self.child).kill();
        self.family.end();
        DbError::Gone(format!(
            "GT.M's process {id} {what}, and was ended; what was acknowledged is kept, and the next run goes \
             on from there"
        ))
    }

    /// Asks, and reads the answer's only line; empty where it has none. An answer takes so long at most.
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

    /// Why it is not there any more.
    fn gone(&mut self) -> DbError {
        self.input = None;
        // Its last words, where it had the time for them.
        let mut said = Vec::new();
        let how = self.wait();
        if let Some(output) = self.output.take() {
            read_what_is_there(output.into_inner(), &mut said);
        }
        let errors = hold(&self.child).stderr.take();
        if let Some(errors) = errors {
            read_what_is_there(errors, &mut said);
        }
        let said = String::from_utf8_lossy(&said);
        if said.contains("-E-") || said.contains("-F-") {
            return self.tools.said(&status(&said));
        }
        let id = hold(&self.child).id();
        if !how.is_some_and(|how| how.success()) {
            self.family.end();
        }
        let how = how.map_or_else(|| "no word".to_owned(), |how| how.to_string());
        DbError::Gone(format!(
            "GT.M's process {id} ended with {how}; what was acknowledged is kept, and the next run goes \
             on from there"
        ))
    }

    /// Waits until it has ended, and ends it where that takes too long.
    fn wait(&self) -> Option<ExitStatus> {
        let begin = Instant::now();
        let mut stopped_since = None;
        loop {
            // The family can end it meanwhile.
            let mut child = hold(&self.child);
            match child.try_wait() {
                Ok(None) => {}
                Ok(how) => return how,
                Err(_) => return None,
            }
            let now = Instant::now();
            // Most leave sooner than it is looked at all.
            if now - begin < LOOK || !is_stopped(child.id()) {
                stopped_since = None;
            } else {
                stopped_since.get_or_insert(now);
            }
            if now - begin > PATIENCE || stopped_since.is_some_and(|since| now - since > STOPPED) {
                let _ = child.kill();
                return child.wait().ok();
            }
            drop(child);
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// Ends its input and waits until it has left the database.
    pub fn leave(&mut self) {
        self.input = None;
        // One that writes what nobody reads would wait for ever.
        self.output = None;
        self.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Waits a moment for something to read, or for the end of it.
fn is_readable(output: &ChildStdout) -> bool {
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    let mut polled = [PollFd::new(output, PollFlags::IN)];
    // One that cannot be asked is read, which says why.
    !matches!(poll(&mut polled, Some(&timeout)), Ok(0) | Err(Errno::INTR))
}

/// True where a signal or a debugger has stopped a process: the state behind its name in `/proc/PID/stat`.
fn is_stopped(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, Some("T" | "t"))
}

/// Reads what a pipe holds, without waiting for more: whoever else has its other end may keep it for long.
fn read_what_is_there(pipe: impl Read + AsFd, said: &mut Vec<u8>) {
    let flags = fcntl_getfl(&pipe).and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK));
    if flags.is_ok() {
        // What comes before there is no more to read stands there.
        let _ = pipe.take(MOST_LAST_BYTES).read_to_end(said);
    }
}

/// The message out of `! 150372778,label+1^routine,%GTM-E-WORD, text`.
pub fn status(line: &str) -> String {
    line.find('%').map_or(line, |at| &line[at..]).to_owned()
}
