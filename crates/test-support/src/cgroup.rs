//! Control groups for tests.

use crate::eventually;
use crate::program::{Done, Sandbox};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

static MADE: AtomicU32 = AtomicU32::new(0);

/// A group of one controller; it is removed with the value.
pub struct Group(PathBuf);

impl Group {
    /// Creates a group directly below the root of a controller, with these values in its files.
    pub fn new(controller: &str, values: &[(&str, &str)]) -> Result<Self, String> {
        let root = Path::new("/sys/fs/cgroup").join(controller);
        if !root.join("tasks").exists() {
            return Err(format!("no cgroup v1 with {controller} at {}", root.display()));
        }
        Self::below(&root, values)
    }

    /// Creates a group in version 2, if this machine has it.
    fn unified(values: &[(&str, &str)]) -> Result<Self, String> {
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = roots.into_iter().find(|root| root.join("cgroup.controllers").exists());
        Self::below(root.ok_or("no cgroup v2")?, values)
    }

    /// Creates a group of either version with at most this many processes and threads.
    pub fn of_tasks(most: u32) -> Result<Self, String> {
        let most = most.to_string();
        let values = [("pids.max", most.as_str())];
        Self::new("pids", &values)
            .or_else(|v1| Self::unified(&values).map_err(|v2| format!("{v1}; {v2}")))
    }

    /// Creates a group of either version with a line of `io.max`. Version 1 has a file for each of its values.
    pub fn of_io_max(line: &str) -> Result<Self, String> {
        let v1 = || {
            let (number, values) = line.split_once(' ').ok_or("no values")?;
            let file = |pair: &str| {
                let (key, value) = pair.split_once('=').ok_or("no =")?;
                let file = match key {
                    "riops" => "blkio.throttle.read_iops_device",
                    "wiops" => "blkio.throttle.write_iops_device",
                    "rbps" => "blkio.throttle.read_bps_device",
                    "wbps" => "blkio.throttle.write_bps_device",
                    _ => return Err(format!("no key {key}")),
                };
                Ok((file, format!("{number} {value}")))
            };
            let files = values.split(' ').map(file).collect::<Result<Vec<_>, String>>()?;
            let files: Vec<(&str, &str)> = files.iter().map(|(f, v)| (*f, v.as_str())).collect();
            Self::new("blkio", &files)
        };
        Self::unified(&[("io.max", line)]).or_else(|v2| v1().map_err(|v1| format!("{v2}; {v1}")))
    }

    /// Creates a group of either version that can be frozen.
    pub fn to_freeze() -> Result<Self, String> {
        Self::new("freezer", &[])
            .or_else(|v1| Self::unified(&[]).map_err(|v2| format!("{v1}; {v2}")))
    }

    /// Freezes or thaws the group. Returns once the kernel has done it.
    pub fn freeze(&self, frozen: bool) {
        let (v1, v2) = (self.0.join("freezer.state"), self.0.join("cgroup.freeze"));
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        if v1.exists() {
            let state = if frozen { "FROZEN" } else { "THAWED" };
            std::fs::write(&v1, state).unwrap();
            eventually(|| text(&v1).trim() == state);
        } else {
            let digit = u8::from(frozen).to_string();
            std::fs::write(&v2, &digit).unwrap();
            let line = format!("frozen {digit}");
            eventually(|| text(&self.0.join("cgroup.events")).lines().any(|l| l == line));
        }
    }

    fn below(root: &Path, values: &[(&str, &str)]) -> Result<Self, String> {
        let group = Self(create(root)?);
        for (name, value) in values {
            let file = group.0.join(name);
            std::fs::write(&file, value).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(group)
    }

    /// Runs an iogauge command in the group.
    pub fn run(&self, place: &Sandbox, line: &[&str]) -> Done {
        self.command(place, line).output().unwrap().into()
    }

    /// Returns an iogauge command that will run in the group.
    pub fn command(&self, place: &Sandbox, line: &[&str]) -> Command {
        let typed = place.command(line);
        // A shell enters the group and becomes the command, so that threads which the kernel starts for it
        // are in the group too.
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ > "$0" && exec "$@""#]).arg(self.0.join("cgroup.procs"));
        command.arg(typed.get_program()).args(typed.get_args());
        command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.current_dir(place.work());
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Creates a group with a new name.
pub(crate) fn create(root: &Path) -> Result<PathBuf, String> {
    loop {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("iogauge-test-{}-{number}", std::process::id()));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            // It is left from an earlier process with the same number, whose children outlived it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
}

/// Removes a group without processes. The kernel may take a moment to notice that the last one has ended.
pub(crate) fn remove(group: &Path) {
    for _ in 0..50 {
        if std::fs::remove_dir(group).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Returns the number of a block device as `major:minor`.
pub fn number_of(device: &Path) -> String {
    let name = device.file_name().unwrap();
    let file = Path::new("/sys/class/block").join(name).join("dev");
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}
