//! What programs that iogauge starts have in common: they end with it, and what they say is read line
//! by line.

use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// Longer lines are truncated.
const LONGEST_LINE: u64 = 1 << 20;
/// More of what a program complains of is not kept.
const MOST_COMPLAINTS: usize = 16;

/// Makes a program one that the terminal's Ctrl-C does not reach, since that is iogauge's to pass on,
/// and that `signal` ends where iogauge is killed.
pub(crate) fn bind(command: &mut Command, signal: Signal) {
    command.process_group(0);
    // SAFETY: between fork and exec it makes one system call, on numbers alone.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(signal)).map_err(Into::into)
        });
    }
}

/// What a program said that was no result, first things first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Complaints(Arc<Mutex<Vec<String>>>);

impl Complaints {
    /// Keeps a line, unless it is empty or one of very many.
    pub(crate) fn note(&self, line: &str) {
        let line = line.trim();
        let mut complaints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !line.is_empty() && complaints.len() < MOST_COMPLAINTS {
            complaints.push(line.chars().filter(|c| !c.is_control()).collect());
        }
    }

    /// The lines kept.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads a program's output to its end.
pub(crate) fn each_line(input: impl Read, mut see: impl FnMut(&str)) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => see(&String::from_utf8_lossy(&line)),
        }
    }
}
