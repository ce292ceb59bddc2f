//! Code shared by the tests of several crates. Everything that it creates on the machine is removed with
//! its value.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cgroup;
pub mod database;
mod devices;
pub mod fuzz;
pub mod mmc;
mod mounts;
mod network;
pub mod postgres;
mod processes;
pub mod program;
mod throttle;

pub use cgroup::{Group, number_of};
pub use devices::{Loop, Swap, fill, image};
pub use mounts::{Immutable, Mount, available, mounted, mounted_ext4};
pub use network::{Mpi, Network};
pub use processes::{Holder, children, is_gone, run};
pub use throttle::Throttle;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longer than anything that the tests wait for.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const MIB: u64 = 1 << 20;

/// Reports that a test was skipped because an external component is missing. Fails instead if
/// `IOGAUGE_REQUIRE_ALL` is set.
#[track_caller]
pub fn skip(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
    assert!(std::env::var_os("IOGAUGE_REQUIRE_ALL").is_none(), "{test} was skipped: {why}");
}

/// Returns the Python of an environment in the target directory, such as `scripts/install-tree-sitter.sh` makes.
///
/// # Errors
/// Returns why the module is not there.
pub fn python_with(environment: &str, module: &str) -> Result<PathBuf, String> {
    // The test is in target/debug/deps.
    let test = std::env::current_exe().unwrap();
    let python = test.ancestors().nth(3).unwrap().join(environment).join("bin/python");
    let tried =
        std::process::Command::new(&python).args(["-c", &format!("import {module}")]).output();
    if tried.is_ok_and(|output| output.status.success()) {
        return Ok(python);
    }
    Err(format!("{module} is not installed; scripts/install-{environment}.sh gets it from PyPI"))
}

/// Takes the value, or ends the test as skipped.
#[macro_export]
macro_rules! or_skip {
    ($test:expr, $value:expr) => {
        match $value {
            Ok(value) => value,
            Err(why) => return $crate::skip($test, &why),
        }
    };
}

/// Returns the names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Waits until `holds` returns true, at most a minute.
#[track_caller]
pub fn eventually(mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "it did not come to pass");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
