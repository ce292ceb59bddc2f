//! Databases, and file systems of a few megabytes that go again.

use iogauge_db::backend::open;
use iogauge_db::{Database, DbUrl};
use std::path::Path;
use std::process::Command;

/// Ends a test whose external part is missing: with a word, or as a failure where everything is
/// required.
pub fn skip(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
    assert!(std::env::var_os("IOGAUGE_REQUIRE_ALL").is_none(), "{test} was skipped: {why}");
}

pub fn database(place: &Path, settings: &str) -> Box<dyn Database> {
    let url: DbUrl = format!("sqlite:{}?{settings}", place.display()).parse().unwrap();
    open(&url).unwrap()
}

/// A file system in memory, unmounted when this is dropped.
pub struct Mount {
    dir: tempfile::TempDir,
}

impl Mount {
    /// One of so many bytes.
    pub fn of(bytes: u64) -> Result<Self, String> {
        let mount = Self { dir: tempfile::tempdir().map_err(|error| error.to_string())? };
        let size = format!("size={bytes}");
        run(Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "iogauge-test"])
            .arg(mount.path()))?;
        Ok(mount)
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn make_read_only(&self) {
        run(Command::new("mount").args(["-o", "remount,ro"]).arg(self.path())).unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // One that was never mounted says so.
        let _ = run(Command::new("umount").arg(self.path()));
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// Names of what is in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}
