//! What all programs started by iogauge have in common: they end with it, and their output is read line by line.

use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// Longer lines are truncated.
const LONGEST_LINE: u64 = 1 << 20;
/// Maximum number of complaints that are kept.
const MOST_COMPLAINTS: usize = 16;

/// Shields a program from the terminal's Ctrl-C, which iogauge itself passes on. If iogauge is killed, the program gets
/// `signal`.
pub(crate) fn bind(command: &mut Command, signal: Signal) {
    command.process_group(0);
    // SAFETY: between fork and exec, the closure makes one system call that takes only numbers.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(signal)).map_err(Into::into)
        });
    }
}

/// Lines from a program that are not results; the first of them, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Complaints(Arc<Mutex<Vec<String>>>);

impl Complaints {
    /// Keeps a line, unless it is empty or too many are kept already.
    pub(crate) fn note(&self, line: &str) {
        let line = line.trim();
        let mut complaints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !line.is_empty() && complaints.len() < MOST_COMPLAINTS {
            complaints.push(line.chars().filter(|c| !c.is_control()).collect());
        }
    }

    /// Returns the lines kept.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Calls `see` with each line of a program's output, until it ends.
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
