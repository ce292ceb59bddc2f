//! Mounted file systems that clean up after themselves.

use crate::devices::Loop;
use crate::processes::run;
use crate::text;
use std::path::{Path, PathBuf};

pub struct Mount {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Removed after the unmount.
    directory: Option<tempfile::TempDir>,
}

impl Mount {
    /// Mounts with these arguments of mount(8), on a new directory.
    pub fn new(arguments: &[&str]) -> Result<Self, String> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Self::at(&dir.path().canonicalize().unwrap(), arguments)?;
        mount.directory = Some(dir);
        Ok(mount)
    }

    /// Mounts with these arguments on a directory that is not removed; creates it if it does not exist.
    pub fn at(point: &Path, arguments: &[&str]) -> Result<Self, String> {
        std::fs::create_dir_all(point).map_err(|error| format!("{}: {error}", point.display()))?;
        run("mount", &[arguments, &[text(point)]].concat())?;
        Ok(Self { point: point.to_owned(), directory: None })
    }

    /// Mounts a file system of this size in memory.
    pub fn tmpfs(size_bytes: u64) -> Result<Self, String> {
        Self::new(&["-t", "tmpfs", "-o", &format!("size={size_bytes}"), "iogauge-test"])
    }

    /// Mounts the ext4 file system of a device.
    pub fn of(device: &Path) -> Result<Self, String> {
        Self::new(&["-t", "ext4", text(device)])
    }

    /// Remounts it with these options: `ro`, `rw`.
    pub fn remount(&self, options: &str) -> Result<(), String> {
        run("mount", &["-o", &format!("remount,{options}"), text(&self.point)]).map(drop)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // The guards of runs in other tests inspect the open files of processes, which keeps the mount busy
        // for a while.
        let mut gone = run("umount", &[text(&self.point)]).is_ok();
        for _ in 0..50 {
            if gone {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
            gone = run("umount", &[text(&self.point)]).is_ok();
        }
        let _ = run("umount", &["--lazy", text(&self.point)]);
    }
}

/// Creates an ext4 file system on a device and mounts it.
pub fn mounted_ext4(device: &Path) -> Result<Mount, String> {
    run("mkfs.ext4", &["-q", "-F", text(device)])?;
    Mount::of(device)
}

/// Returns the bytes that are free for an unprivileged user.
pub fn available(path: &Path) -> u64 {
    let stat = rustix::fs::statvfs(path).unwrap();
    stat.f_bavail * stat.f_frsize
}

/// Creates a file system of this kind on a new device of this size and mounts it.
pub fn mounted(kind: &str, size_bytes: u64) -> Result<(Mount, Loop), String> {
    let device = Loop::new(size_bytes)?;
    let path = device.path.to_str().unwrap();
    match kind {
        "ext4" => run("mkfs.ext4", &["-q", "-F", "-m", "0", path])?,
        _ => run(&format!("mkfs.{kind}"), &["-q", "-f", path])?,
    };
    Ok((Mount::new(&["-t", kind, path])?, device))
}

/// An attribute of chattr(1), removed again when dropped.
pub struct Immutable(PathBuf);

impl Immutable {
    /// Makes a file immutable.
    pub fn set(path: &Path) -> Result<Self, String> {
        run("chattr", &["+i", text(path)])?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        let _ = run("chattr", &["-i", text(&self.0)]);
    }
}
