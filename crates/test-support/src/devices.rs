//! Loop devices and swap that clean up after themselves.

use crate::processes::run;
use crate::text;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

static SEARCH: Mutex<()> = Mutex::new(());

/// A loop device; its image, if the device created one, is removed with it.
pub struct Loop {
    pub path: PathBuf,
    image: Option<tempfile::NamedTempFile>,
}

impl Loop {
    /// Creates a device of this size that consists of holes.
    pub fn new(size_bytes: u64) -> Result<Self, String> {
        Self::with_image(image(size_bytes), &[])
    }

    /// Creates a device on an image, with options of losetup(8).
    pub fn with_image(image: tempfile::NamedTempFile, options: &[&str]) -> Result<Self, String> {
        let mut device = Self::on(image.path(), options)?;
        device.image = Some(image);
        Ok(device)
    }

    /// Creates a device on a file or device that is not removed.
    pub fn on(backing: &Path, options: &[&str]) -> Result<Self, String> {
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(text(backing));
        // One search at a time: losetup opens the free device that it found for writing, even if another
        // search has taken it in the meantime.
        let _one = SEARCH.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut result = run("losetup", &arguments);
        for _ in 0..5 {
            if result.is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            result = run("losetup", &arguments);
        }
        let device = Self { path: PathBuf::from(result?), image: None };
        // A process that was killed cannot remove its partitions, and they outlive its device.
        device.remove_partitions();
        Ok(device)
    }

    /// Creates a device on an image in a directory. In `/dev/shm`, nobody else uses the storage below it.
    pub fn new_in(directory: &Path, size_bytes: u64) -> Result<Self, String> {
        let image = tempfile::NamedTempFile::new_in(directory).map_err(|e| e.to_string())?;
        image.as_file().set_len(size_bytes).map_err(|error| error.to_string())?;
        Self::with_image(image, &[])
    }

    /// Returns the path, `/dev/loopN`.
    pub fn as_str(&self) -> &str {
        text(&self.path)
    }

    /// Returns the name, `loopN`.
    pub fn name(&self) -> &str {
        self.as_str().trim_start_matches("/dev/")
    }

    /// Returns the image that is removed with the device.
    pub fn image(&self) -> &Path {
        self.image.as_ref().unwrap().path()
    }

    /// Returns the numbers of the partitions.
    fn partitions(&self) -> Vec<u32> {
        let prefix = format!("{}p", self.name());
        let entries = std::fs::read_dir(Path::new("/sys/block").join(self.name()));
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.to_str()?.strip_prefix(&prefix)?.parse().ok()).collect()
    }

    fn remove_partitions(&self) {
        for number in self.partitions() {
            let _ = run("delpart", &[self.as_str(), &number.to_string()]);
        }
    }

    /// Adds a partition without writing a table; sizes are in sectors of 512 bytes.
    pub fn add_partition(&self, start: u64, size: u64) -> Result<PathBuf, String> {
        let number = self.partitions().into_iter().max().unwrap_or(0) + 1;
        let (start, size) = (start.to_string(), size.to_string());
        run("addpart", &[self.as_str(), &number.to_string(), &start, &size])?;
        let path = PathBuf::from(format!("{}p{number}", self.as_str()));
        if path.exists() { Ok(path) } else { Err(format!("{} did not appear", path.display())) }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.remove_partitions();
        let _ = run("losetup", &["--detach", self.as_str()]);
    }
}

/// Creates a sparse file of this size.
pub fn image(size_bytes: u64) -> tempfile::NamedTempFile {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(size_bytes).unwrap();
    image
}

pub struct Swap(PathBuf);

impl Swap {
    /// Formats a file or device as swap and activates it.
    pub fn on(path: &Path) -> Result<Self, String> {
        run("mkswap", &[text(path)])?;
        run("swapon", &[text(path)])?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = run("swapoff", &[text(&self.0)]);
    }
}

/// Fills a file with data that does not repeat.
pub fn fill(path: &Path, size_bytes: u64) {
    let mut random = File::open("/dev/urandom").unwrap();
    let mut file = File::options().write(true).open(path).unwrap();
    std::io::copy(&mut std::io::Read::take(&mut random, size_bytes), &mut file).unwrap();
    file.sync_all().unwrap();
}
