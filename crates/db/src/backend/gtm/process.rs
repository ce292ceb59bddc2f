//! A process that runs one of our routines, and the lines that go to it and come from it.

use super::tools::{Tools, widen};
use crate::directory::fault;
use crate::error::DbError;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long one may take to leave the database; the last to leave writes everything that is not in the
/// data file yet.
const PATIENCE: Duration = Duration::from_secs(60);

/// The processes of one run. One that dies in the database may leave what the others wait for: they are
/// ended with it, and whoever opens the database next goes by the journal.
#[derive(Debug, Default)]
pub struct Family(Mutex<Vec<Weak<Mutex<Child>>>>);

impl Family {
    fn add(&self, child: &Arc<Mutex<Child>>) {
        hold(&self.0).push(Arc::downgrade(child));
    }

    fn end(&self) {
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
        loop {
            self.line.clear();
            let read = self.output.as_mut().map(|output| output.read_line(&mut self.line));
            if !matches!(read, Some(Ok(1..))) {
                return Err(self.gone());
            }
            while self.line.ends_with(['\n', '\r']) {
                self.line.pop();
            }
            match self.line.as_bytes().first() {
                Some(b'.') => break,
                Some(b'!') => return Err(self.tools.said(&status(&self.line))),
                _ => see(&self.line)?,
            }
        }
        Ok(self.line[1..].trim())
    }

    /// Asks, and reads the answer's only line; empty where it has none.
    ///
    /// # Errors
    /// As [`Self::hear`].
    pub fn ask(&mut self, question: &str) -> Result<String, DbError> {
        self.tell(format_args!("{question}"))?;
        let mut answer = String::new();
        self.hear(|line| {
            line.clone_into(&mut answer);
            Ok(())
        })?;
        Ok(answer)
    }

    /// Why it is not there any more.
    fn gone(&mut self) -> DbError {
        self.input = None;
        // Its last words, where it had the time for them.
        let mut said = String::new();
        if let Some(output) = &mut self.output {
            let _ = output.read_to_string(&mut said);
        }
        let errors = hold(&self.child).stderr.take();
        if let Some(mut errors) = errors {
            let _ = errors.read_to_string(&mut said);
        }
        if said.contains("-E-") || said.contains("-F-") {
            return self.tools.said(&status(&said));
        }
        let id = hold(&self.child).id();
        let how = self.wait();
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
        let end = Instant::now() + PATIENCE;
        loop {
            // The family can end it meanwhile.
            let mut child = hold(&self.child);
            match child.try_wait() {
                Ok(None) if Instant::now() > end => {
                    let _ = child.kill();
                    return child.wait().ok();
                }
                Ok(None) => {}
                Ok(how) => return how,
                Err(_) => return None,
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

/// The message out of `! 150372778,label+1^routine,%GTM-E-WORD, text`.
fn status(line: &str) -> String {
    line.find('%').map_or(line, |at| &line[at..]).to_owned()
}
