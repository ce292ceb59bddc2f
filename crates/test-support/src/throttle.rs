//! Devices of known speed: loop devices on which the kernel limits the I/Os per second of a group of
//! processes (cgroup v1, `blkio.throttle.*_iops_device`).

use crate::cgroup;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const ROOT: &str = "/sys/fs/cgroup/blkio";

/// A process is in one group at a time, so tests that throttle take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A group of processes with limits on devices. When dropped, the processes return to their original
/// group.
pub struct Throttle {
    group: PathBuf,
    home: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Throttle {
    /// Limits reads and writes of this process on a device to `iops` each. This includes threads and
    /// processes that are started later, also threads that the kernel starts for io_uring. Waits until no
    /// other test throttles.
    pub fn this_process(device: &Path, iops: u32) -> Result<Self, String> {
        Self::of_each(&[(device, iops)])
    }

    /// Limits this process as [`Throttle::this_process()`] does, on each device to its own IOPS.
    pub fn of_each(devices: &[(&Path, u32)]) -> Result<Self, String> {
        let limits = Path::new(ROOT).join("blkio.throttle.read_iops_device");
        if !limits.exists() {
            return Err(format!("no {}: cgroup v1 with blkio is needed", limits.display()));
        }
        // Taken before the process's group is read, because another test may have changed it.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let groups = read(Path::new("/proc/self/cgroup"))?;
        let own = groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|c| c == "blkio").then(|| path.trim_start_matches('/'))
        });
        let home = Path::new(ROOT).join(own.ok_or("this process is in no blkio group")?);
        let group = cgroup::create(Path::new(ROOT))?;
        let throttle = Self { group, home, _turn: turn };
        for (device, iops) in devices {
            for direction in ["read", "write"] {
                let file = throttle.group.join(format!("blkio.throttle.{direction}_iops_device"));
                write(&file, &format!("{} {iops}", cgroup::number_of(device)))?;
            }
        }
        write(&throttle.group.join("cgroup.procs"), &std::process::id().to_string())?;
        Ok(throttle)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let processes = self.home.join("cgroup.procs");
        let _ = write(&processes, &std::process::id().to_string());
        // Another test may have started a process in the meantime that stays.
        for id in read(&self.group.join("cgroup.procs")).unwrap_or_default().lines() {
            let _ = write(&processes, id);
        }
        cgroup::remove(&self.group);
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
