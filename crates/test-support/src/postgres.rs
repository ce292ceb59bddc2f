//! A temporary PostgreSQL server in a directory of its own.

use crate::PATIENCE;
use crate::network::Network;
use crate::processes::{children, is_gone};
use iogauge_db::DbUrl;
use std::fs;
use std::io::Write;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server. When dropped, it ends and its directory is removed.
pub struct Server {
    child: Child,
    settings: Vec<String>,
    place: Place,
    /// Dropped last.
    _keep: (Option<TempDir>, Option<Arc<TempDir>>),
}

struct Place {
    /// Directory of the programs.
    bin: PathBuf,
    /// The user who runs them.
    user: Option<u32>,
    port: u16,
    /// Directory of the data and the socket.
    dir: PathBuf,
    /// File of the network namespace that the server is in, if not that of this machine.
    namespace: Option<PathBuf>,
}

impl Server {
    /// Creates a server in a temporary directory, or says why that is impossible.
    pub fn make() -> Result<Self, String> {
        Self::copy(None, &[], "")
    }

    /// Creates a server that the hosts of a network reach, at the address that is returned, too. They log in by this
    /// method of `pg_hba.conf`. The socket is that of a server of this machine.
    pub fn make_on_network(network: &Network, method: &str) -> Result<(Self, String), String> {
        let (address, namespace) = network.server_address()?;
        let settings = [format!("listen_addresses={address}")];
        let rule = format!("host all all samenet {method}\n");
        Ok((Self::copy(Some(namespace), &settings, &rule)?, address))
    }

    /// Creates a server of the template, with more rules of `pg_hba.conf`.
    fn copy(namespace: Option<PathBuf>, settings: &[String], rules: &str) -> Result<Self, String> {
        let template = template()?;
        let keep = tempfile::tempdir().map_err(|error| error.to_string())?;
        let place = Place { namespace, ..Place::of(keep.path().to_owned(), 5432)? };
        let mut copy = command(Path::new("cp"), place.user, &place.dir);
        done(copy.arg("-R").arg(template.path().join("data")).arg(place.dir.join("data")))?;
        let hba = fs::File::options().append(true).open(place.dir.join("data/pg_hba.conf"));
        let added = hba.and_then(|mut file| file.write_all(rules.as_bytes()));
        added.map_err(|error| error.to_string())?;
        let child = start(&place, settings)?;
        let settings = settings.to_vec();
        Ok(Self { child, settings, place, _keep: (Some(keep), Some(template)) })
    }

    /// Creates a server in an empty directory with `initdb` and these arguments.
    pub fn make_in(dir: PathBuf, keep: Option<TempDir>, initdb: &[&str]) -> Result<Self, String> {
        Self::make_on(dir, keep, 5432, initdb, &[])
    }

    /// Like [`Self::make_in`], with a port and settings.
    pub fn make_on(
        dir: PathBuf,
        keep: Option<TempDir>,
        port: u16,
        initdb: &[&str],
        settings: &[&str],
    ) -> Result<Self, String> {
        let place = Place::of(dir, port)?;
        place.init(initdb)?;
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let child = start(&place, &settings)?;
        Ok(Self { child, settings, place, _keep: (keep, None) })
    }

    /// Returns the URL of its database.
    pub fn url(&self) -> DbUrl {
        let url = format!("postgres://tester@/postgres?host={}", self.place.dir.display());
        url.parse().unwrap()
    }

    /// Returns the directory of its data and socket.
    pub fn dir(&self) -> &Path {
        &self.place.dir
    }

    /// Runs a statement with psql, as another client, and returns its fields.
    pub fn psql(&self, sql: &str) -> String {
        let mut psql = command(&self.place.bin.join("psql"), self.place.user, &self.place.dir);
        psql.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-U", "tester", "-d", "postgres", "-c", sql]);
        let out = psql.arg("-h").arg(&self.place.dir).output().unwrap();
        assert!(out.status.success(), "{sql}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// Kills every process of the server at once, like a crash.
    pub fn crash(&mut self) {
        let postmaster = self.child.id();
        // While it is stopped, it cannot start others.
        signal(postmaster, rustix::process::Signal::STOP);
        let sessions = children(postmaster);
        for process in sessions.iter().chain([&postmaster]) {
            signal(*process, rustix::process::Signal::KILL);
        }
        self.child.wait().unwrap();
        // A new server can replace the old one only when all its processes have ended.
        let end = Instant::now() + PATIENCE;
        while sessions.iter().any(|process| !is_gone(*process)) {
            assert!(Instant::now() < end, "a session outlives its server");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops every process of the server; they continue when the returned value is dropped.
    pub fn freeze(&self) -> Frozen {
        let postmaster = self.child.id();
        signal(postmaster, rustix::process::Signal::STOP);
        let processes: Vec<u32> = children(postmaster).into_iter().chain([postmaster]).collect();
        for process in &processes {
            signal(*process, rustix::process::Signal::STOP);
        }
        Frozen(processes)
    }

    pub fn restart(&mut self) {
        self.child = start(&self.place, &self.settings).unwrap();
    }
}

pub struct Frozen(Vec<u32>);

impl Drop for Frozen {
    fn drop(&mut self) {
        for process in &self.0 {
            signal(*process, rustix::process::Signal::CONT);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An immediate shutdown, which writes nothing out.
        signal(self.child.id(), rustix::process::Signal::QUIT);
        let end = Instant::now() + Duration::from_secs(10);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > end {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Place {
    fn of(dir: PathBuf, port: u16) -> Result<Self, String> {
        let bin = programs()?;
        let user = rustix::process::getuid().is_root().then(server_user).transpose()?;
        chown(&dir, user, user).map_err(|error| error.to_string())?;
        Ok(Self { bin, user, port, dir, namespace: None })
    }

    /// Creates the data directory.
    fn init(&self, arguments: &[&str]) -> Result<(), String> {
        let mut init = command(&self.bin.join("initdb"), self.user, &self.dir);
        init.arg("-D").arg(self.dir.join("data")).args(["-U", "tester", "-E", "UTF8"]);
        done(init.args(["--no-locale", "--no-sync", "--data-checksums"]).args(arguments))
    }
}

/// Returns a data directory of a server that never ran, to be copied. The last owner removes it.
fn template() -> Result<Arc<TempDir>, String> {
    static MADE: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(template) = made.upgrade() {
        return Ok(template);
    }
    let template = Arc::new(tempfile::tempdir().map_err(|error| error.to_string())?);
    Place::of(template.path().to_owned(), 5432)?.init(&["-A", "trust"])?;
    *made = Arc::downgrade(&template);
    Ok(template)
}

/// Waits for a program; on failure, returns its error output.
fn done(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|error| format!("{name}: {error}"))?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&out.stderr)))
}

/// Returns the directory with the programs of the newest version.
fn programs() -> Result<PathBuf, String> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let bin = entry.path().join("bin");
        bin.join("postgres").exists().then_some((version, bin))
    });
    newest.max().map(|(_, bin)| bin).ok_or_else(|| {
        "there is no server in /usr/lib/postgresql/*/bin; hint: install Debian's package postgresql"
            .to_owned()
    })
}

/// Returns the user of Debian's package, because a server does not run as root.
fn server_user() -> Result<u32, String> {
    let passwd = fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
    let line = passwd.lines().find(|line| line.starts_with("postgres:"));
    let number = line.and_then(|line| line.split(':').nth(2)?.parse().ok());
    number.ok_or_else(|| "there is no user postgres".to_owned())
}

fn command(program: &Path, user: Option<u32>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).env_remove("PGDATA").env("LC_ALL", "C").stdin(Stdio::null());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command
}

fn start(place: &Place, settings: &[String]) -> Result<Child, String> {
    let Place { bin, user, port, dir, namespace } = place;
    let log = fs::File::options().create(true).append(true).open(dir.join("log"));
    let log = log.map_err(|error| error.to_string())?;
    let program = bin.join("postgres");
    let mut server = match namespace {
        None => command(&program, *user, dir),
        Some(namespace) => {
            // The program that enters the namespace needs rights that the server must not have.
            let mut enter = command(Path::new("nsenter"), None, dir);
            enter.arg(format!("--net={}", namespace.display()));
            if let Some(user) = user {
                enter.args(["--setuid", &user.to_string(), "--setgid", &user.to_string()]);
            }
            enter.arg(program);
            enter
        }
    };
    server.arg("-D").arg(dir.join("data")).arg("-k").arg(dir);
    server.args(["-c", "listen_addresses="]);
    for setting in settings {
        server.args(["-c", setting]);
    }
    let child = server.stdout(Stdio::null()).stderr(log).spawn();
    let mut child = child.map_err(|error| format!("postgres: {error}"))?;
    let end = Instant::now() + PATIENCE;
    loop {
        let mut ready = command(&bin.join("pg_isready"), *user, dir);
        let ready = ready.args(["-q", "-p", &port.to_string(), "-h"]).arg(dir).status();
        if ready.is_ok_and(|status| status.success()) {
            return Ok(child);
        }
        if Instant::now() > end || !matches!(child.try_wait(), Ok(None)) {
            let _ = child.kill();
            let _ = child.wait();
            let said = fs::read_to_string(dir.join("log")).unwrap_or_default();
            return Err(format!("postgres does not start: {said}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(process: u32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(process as i32) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}
