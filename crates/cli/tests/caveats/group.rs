//! Control groups of version 1 that the tests make.

use crate::common::{Done, Place};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static MADE: AtomicU32 = AtomicU32::new(0);

/// A group of one controller; it goes with the value.
pub struct Group(PathBuf);

impl Group {
    /// Makes a group right below the root of a controller, with these values in its files.
    pub fn new(controller: &str, values: &[(&str, &str)]) -> Result<Self, String> {
        let root = Path::new("/sys/fs/cgroup").join(controller);
        if !root.join("tasks").exists() {
            return Err(format!("no cgroup v1 with {controller} at {}", root.display()));
        }
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("iogauge-caveat-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let group = Self(path);
        for (name, value) in values {
            let file = group.0.join(name);
            std::fs::write(&file, value).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(group)
    }

    /// Runs a command line of iogauge in the group.
    pub fn run(&self, place: &Place, line: &[&str]) -> Done {
        let typed = place.command(line);
        // A shell enters the group and becomes the command: threads that the kernel starts for it
        // are in the group as well.
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ > "$0" && exec "$@""#]).arg(self.0.join("cgroup.procs"));
        command.arg(typed.get_program()).args(typed.get_args());
        command.current_dir(place.work()).output().unwrap().into()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel may take a moment to see that the last process has gone.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// The number of a block device, as `major:minor`.
pub fn number_of(device: &Path) -> String {
    let name = device.file_name().unwrap();
    let file = Path::new("/sys/class/block").join(name).join("dev");
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}
