//! Bulk loading of globals through a pipe to `mupip load`.

use super::extract::{self, Extract};
use super::files;
use super::tools::{Tools, is_faulty};
use crate::backend::m::widen;
use crate::directory::fault;
use crate::error::DbError;
use crate::folder::Folder;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Length of the longest value that fits into a block.
pub const RECORD_BYTES: usize = 8120;
/// Length of a filler value, which fills a block with its key.
pub const FILLER_BYTES: usize = 8100;
/// The global that fills the blocks which no other global uses.
pub const FILLER: &str = "RanFiller";
/// Bytes written to the pipe at once.
const PORTION: usize = 1 << 16;
/// Maximum size of a sample, in bytes.
const MOST_SAMPLE_BYTES: u64 = 1 << 20;
/// Maximum number of bytes of the load's messages that are kept.
const MESSAGES: usize = 1 << 16;

/// Has GT.M write an extract of a few records in its own format, next to the database.
///
/// # Errors
/// Errors of GT.M.
pub fn make_sample(tools: &Tools) -> Result<(), DbError> {
    let sets: Vec<String> = extract::SAMPLE
        .iter()
        .map(|(subscript, value)| format!("set ^{FILLER}({subscript})=\"{value}\""))
        .collect();
    tools.run("mumps", &["-run", "%XCMD", &sets.join(" ")], "")?;
    let select = format!("-select={FILLER}");
    tools.run("mupip", &["extract", "-format=binary", &select, files::SAMPLE], "")?;
    tools.run("mumps", &["-run", "%XCMD", &format!("kill ^{FILLER}")], "").map(|_| ())
}

/// A running load.
#[derive(Debug)]
pub struct RunningLoad {
    tools: Tools,
    child: Child,
    extract: Extract,
    messages: Option<JoinHandle<String>>,
    failed: Arc<AtomicBool>,
    records: u64,
}

impl RunningLoad {
    /// Starts loading a global with this name.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn begin(tools: &Tools, folder: &Folder, name: &str) -> Result<Self, DbError> {
        let sample = folder.read(files::SAMPLE, MOST_SAMPLE_BYTES)?.unwrap_or_default();
        let head = extract::head(&sample, FILLER)?;
        let system = |error: std::io::Error| fault(Path::new("mupip load"), &error);
        let (reader, writer) = std::io::pipe().map_err(system)?;
        let mut command = tools.command("mupip");
        command.args(["load", "-format=binary", "-stdin"]).stdin(std::process::Stdio::piped());
        command.stdout(writer.try_clone().map_err(system)?).stderr(writer);
        let child = command.spawn().map_err(system)?;
        if let Some(input) = &child.stdin {
            // With the default of 64 KiB, the load waits for each portion and takes 1.5 times as long.
            widen(input);
        }
        // The command holds a copy of the pipe's write end, which must be closed.
        drop(command);
        let failed = Arc::new(AtomicBool::new(false));
        let flag = failed.clone();
        let messages = std::thread::spawn(move || read_messages(reader, &flag));
        let mut extract = Extract::new(name);
        extract.done().extend_from_slice(&head);
        let (tools, messages) = (tools.clone(), Some(messages));
        Ok(Self { tools, child, extract, messages, failed, records: 0 })
    }

    /// Adds a record. Returns true if a portion was written to the pipe.
    ///
    /// # Errors
    /// Errors of GT.M.
    pub fn push(&mut self, subscript: u64, value: &[u8]) -> Result<bool, DbError> {
        self.extract.push(subscript, value);
        self.records += 1;
        if self.extract.done().len() < PORTION {
            return Ok(false);
        }
        self.pass_on()?;
        Ok(true)
    }

    fn pass_on(&mut self) -> Result<(), DbError> {
        let done = self.extract.done();
        let passed = self.child.stdin.as_mut().is_some_and(|input| input.write_all(done).is_ok());
        done.clear();
        if passed && !self.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let said = self.leave();
        Err(self.tools.said(&said))
    }

    /// Ends the load and checks that all records were loaded.
    ///
    /// # Errors
    /// Errors of GT.M.
    pub fn end(mut self) -> Result<(), DbError> {
        self.extract.end_block();
        self.pass_on()?;
        let said = self.leave();
        let count = said.split("Key Cnt:").nth(1).and_then(|rest| rest.split_whitespace().next());
        if count.and_then(|count| count.parse().ok()) == Some(self.records) && !is_faulty(&said) {
            return Ok(());
        }
        Err(self.tools.said(&said))
    }

    /// Closes the pipe, waits for the load, and returns its messages.
    fn leave(&mut self) -> String {
        self.child.stdin = None;
        let _ = self.child.wait();
        self.messages.take().and_then(|messages| messages.join().ok()).unwrap_or_default()
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        if self.messages.is_some() {
            self.leave();
        }
    }
}

/// Reads all messages, so that the load never blocks on them, and keeps the first ones.
fn read_messages(mut reader: std::io::PipeReader, failed: &AtomicBool) -> String {
    let (mut said, mut portion) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = reader.read(&mut portion) {
        if said.len() < MESSAGES {
            said.extend_from_slice(&portion[..count]);
            let text = String::from_utf8_lossy(&said);
            if is_faulty(&text) {
                failed.store(true, Ordering::Relaxed);
            }
        }
    }
    String::from_utf8_lossy(&said).into_owned()
}
