//! Hosts of this machine that run iogauge-mpi, and what it printed.

use iogauge_test_support::{Mpi, Network};
use serde_json::Value;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub const BINARY: &str = env!("CARGO_BIN_EXE_iogauge-mpi");

/// A place for the history of the leading host.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the start of iogauge on all hosts.
    pub fn command(&self, network: &Network, mpi: Mpi, arguments: &[&str]) -> Command {
        self.command_with(network, mpi, &[], arguments)
    }

    /// As [`Self::command`], with options of mpirun.
    pub fn command_with(
        &self,
        network: &Network,
        mpi: Mpi,
        options: &[String],
        arguments: &[&str],
    ) -> Command {
        let mut command = network.mpirun(mpi);
        command.current_dir(self.path());
        command.args(mpi.variable("XDG_DATA_HOME", self.path().to_str().unwrap()));
        command.args(options);
        command.arg(BINARY).args(arguments);
        command
    }

    pub fn run(&self, network: &Network, mpi: Mpi, arguments: &[&str]) -> Done {
        Done::of(&self.command(network, mpi, arguments).output().unwrap())
    }

    pub fn start(&self, network: &Network, mpi: Mpi, arguments: &[&str]) -> Child {
        start(&mut self.command(network, mpi, arguments))
    }

    /// Creates a directory for test files.
    pub fn data(&self) -> PathBuf {
        let data = self.path().join("data");
        std::fs::create_dir(&data).unwrap();
        data
    }

    /// Returns the answer of a search on all hosts: IOPS and queue depth.
    pub fn find(
        &self,
        network: &Network,
        mpi: Mpi,
        target: &str,
        limit: &str,
        budget: &str,
    ) -> (f64, u64) {
        answer(&self.search(network, mpi, &["find", target], limit, budget))
    }

    /// Returns the document of a search on all hosts. `line` is the command, its target and further options.
    pub fn search(
        &self,
        network: &Network,
        mpi: Mpi,
        line: &[&str],
        limit: &str,
        budget: &str,
    ) -> Value {
        let (limit, budget) = (format!("--limit={limit}"), format!("--budget={budget}"));
        let more = [limit.as_str(), &budget, "--json", "--max-starvation=100%"];
        self.run(network, mpi, &[line, &more].concat()).ends(0).json()
    }

    /// Runs a command on the leading host alone.
    pub fn run_alone(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(BINARY);
        command.env("XDG_DATA_HOME", self.path()).current_dir(self.path());
        command.args(arguments).output().unwrap()
    }

    /// Returns the last result in the history.
    pub fn last(&self) -> Value {
        let output = self.run_alone(&["history", "show", "--format=json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }
}

/// Starts a command whose output is taken once it has ended.
pub fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns IOPS and queue depth of the answer of a search.
pub fn answer(document: &Value) -> (f64, u64) {
    let answer = &document["answer"];
    let iops = answer["iops"]["mean"].as_f64();
    (iops.unwrap_or_else(|| panic!("{document:#}")), answer["depth"].as_u64().unwrap())
}

/// What mpirun returned and printed.
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }

    pub fn json(&self) -> Value {
        let start = self.stdout.find('{').unwrap_or_else(|| panic!("{}", self.stderr));
        let end = self.stdout.rfind('}').unwrap();
        serde_json::from_str(&self.stdout[start..=end]).unwrap()
    }
}

/// Hosts that have the processors of this machine to themselves: no other test of this file has hosts meanwhile.
pub struct Hosts {
    network: Network,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Hosts {
    type Target = Network;

    fn deref(&self) -> &Network {
        &self.network
    }
}

/// Returns hosts that have MPI, or why there are none.
pub fn hosts(number: usize, mpi: Mpi) -> Result<Hosts, String> {
    let alone = alone(mpi)?;
    Ok(Hosts { network: Network::new(number)?, _alone: alone })
}

/// Keeps other tests from having hosts meanwhile. Returns an error if there is no MPI.
pub fn alone(mpi: Mpi) -> Result<MutexGuard<'static, ()>, String> {
    static ALONE: Mutex<()> = Mutex::new(());
    let version = Command::new(mpi.launcher()).arg("--version").output();
    version.map_err(|error| format!("{}: {error}", mpi.launcher()))?;
    Ok(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The implementation that the binary was built against.
pub fn built_for() -> Mpi {
    let output = Command::new("ldd").arg(BINARY).output().unwrap();
    let libraries = String::from_utf8_lossy(&output.stdout).into_owned();
    if libraries.contains("libmpich") { Mpi::Mpich } else { Mpi::Open }
}
