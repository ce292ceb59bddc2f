//! Other processes.

use crate::text;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs a command and returns its output.
pub fn run(command: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(command)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{command}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Another process that holds a file open.
pub struct Holder(Child);

impl Holder {
    /// Opens a path with these flags of open(2).
    pub fn open(path: &Path, flags: i32) -> Result<Self, String> {
        const SCRIPT: &str =
            r#"$| = 1; sysopen(my $f, $ARGV[0], $ARGV[1]) or die $!; print "ok\n"; <STDIN>"#;
        let mut child = Command::new("perl")
            .args(["-e", SCRIPT, text(path), &flags.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("perl: {error}"))?;
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        let holder = Self(child);
        if line.trim() == "ok" { Ok(holder) } else { Err("perl could not open it".into()) }
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the processes that the threads of a process started.
pub fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let texts: Vec<String> = texts.collect();
    texts.iter().flat_map(|text| text.split_whitespace()).map(|id| id.parse().unwrap()).collect()
}

/// Returns the state of a process as in proc_pid_stat(5); `None` if it does not exist.
pub fn state_of(process: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Returns the processor time that processes have used (proc_pid_stat(5)), without those that have ended.
pub fn computed(processes: &[u32]) -> Duration {
    let ticks_of = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11).map(str::parse::<u64>);
        Some(fields.next()?.ok()? + fields.next()?.ok()?)
    };
    // The kernel counts in 1/100 s here, whatever its own tick is (time(7), USER_HZ).
    Duration::from_millis(10 * processes.iter().filter_map(ticks_of).sum::<u64>())
}

/// Returns true if a process has ended.
pub fn is_gone(process: u32) -> bool {
    state_of(process).is_none_or(|state| state == 'Z')
}
