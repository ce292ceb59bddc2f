//! A process that runs one of our routines, and the lines that go to it and come from it.

use super::tools::Tools;
use crate::directory::fault;
use crate::error::DbError;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// How long one may take to leave the database; the last to leave writes everything that is not in the
/// data file yet.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process at work. It ends when its input ends: with this value, and with this process, too.
#[derive(Debug)]
pub struct Process {
    tools: Tools,
    child: Child,
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
        let mut command = tools.command("mumps");
        command.args(["-run", entry, argument]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| fault(Path::new("mumps"), &error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.map(|output| BufReader::with_capacity(1 << 16, output));
        Ok(Self { tools: tools.clone(), child, input, output, line: String::new() })
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
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = errors.read_to_string(&mut said);
        }
        if said.contains("-E-") || said.contains("-F-") {
            return self.tools.said(&said);
        }
        let how = self.child.wait().map_or_else(|error| error.to_string(), |how| how.to_string());
        DbError::Gone(format!(
            "GT.M's process {} ended with {how}; what it acknowledged is kept, and the next run goes on from there",
            self.child.id()
        ))
    }

    /// Ends its input and waits until it has left the database.
    pub fn leave(&mut self) {
        self.input = None;
        // One that writes what nobody reads would wait for ever.
        self.output = None;
        let end = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > end {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_micros(500));
        }
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
