//! Other processes.

use crate::text;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Runs a command and returns what it printed.
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

/// Another process that has something open.
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

    /// Its id.
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
