//! The devices of a test, and how both tools run on them while the kernel traces their I/Os.

use crate::common::{Place, skip};
use crate::pair::{Pair, Run};
use crate::reports;
use crate::seen::Seen;
use crate::trace::Trace;
use iogauge_test_support::{Loop, Mount, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Size of each device.
pub const DEVICE_BYTES: u64 = 64 << 20;
/// Size of a file system. iogauge leaves 1 GiB of it free.
const FILE_SYSTEM_BYTES: u64 = 2 << 30;

/// Returns the initial data of a device. No block is empty or compressible, so iogauge has no prefill to do.
fn content() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = move || {
        // Xorshift (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..DEVICE_BYTES / 8).flat_map(|_| word()).collect()
}

/// A loop device on a file, and a mount of it, which is dropped first.
pub struct Device {
    mount: Option<Mount>,
    device: Loop,
}

impl Device {
    fn new(image: &Path) -> Result<Self, String> {
        let device = Self { mount: None, device: Loop::on(image, &[])? };
        // A loop device that was once set to write-through drops flushes from then on, also for later users.
        let cache = device.attribute("queue/write_cache");
        std::fs::write(&cache, "write back").map_err(|error| format!("{cache}: {error}"))?;
        Ok(device)
    }

    /// Makes a file system on the device and mounts it.
    fn mount(&mut self, point: &Path) -> Result<(), String> {
        let path = self.device.as_str();
        run("mkfs.ext4", &["-q", "-F", "-b", "4096", "-N", "64", path])?;
        self.mount = Some(Mount::at(point, &["-t", "ext4", path])?);
        Ok(())
    }

    /// Returns the path of an attribute of the device.
    fn attribute(&self, name: &str) -> String {
        format!("/sys/block/{}/{name}", self.device.name())
    }

    /// Returns the major and minor number.
    fn number(&self) -> Result<(u32, u32), String> {
        let path = self.attribute("dev");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let number = text
            .trim()
            .split_once(':')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        number.ok_or_else(|| format!("{path} has {text:?}"))
    }
}

/// Devices, and the place where the tools run. The order of the fields is the order in which they are dropped: the
/// trace before its mount point, devices before their images.
pub struct Stage {
    trace: Trace,
    devices: Vec<Device>,
    pub place: Place,
}

impl Stage {
    /// Makes two devices without file systems. Prints a message and returns `None` if something is missing.
    pub fn new(test: &str) -> Option<Self> {
        Self::set_up().map_err(|why| skip(test, &why)).ok()
    }

    fn set_up() -> Result<Self, String> {
        run("fio", &["--version"])?;
        let place = Place::new();
        let image = |name: &str| place.work().join(name);
        for name in ["a", "b"] {
            std::fs::write(image(name), content()).map_err(|error| error.to_string())?;
        }
        Self::on(place, &["a", "b"])
    }

    fn on(place: Place, images: &[&str]) -> Result<Self, String> {
        let images = images.iter().map(|name| place.work().join(name));
        let devices = images.map(|image| Device::new(&image)).collect::<Result<Vec<_>, _>>()?;
        let numbers = devices.iter().map(Device::number).collect::<Result<Vec<_>, _>>()?;
        let trace = Trace::new(&place.work().join("tracing"), &numbers)?;
        Ok(Self { trace, devices, place })
    }

    /// Makes a device with a file system. Also returns the mount point.
    pub fn with_files(test: &str) -> Option<(Self, PathBuf)> {
        Self::set_up_files().map_err(|why| skip(test, &why)).ok()
    }

    fn set_up_files() -> Result<(Self, PathBuf), String> {
        run("filefrag", &["-V"])?;
        let place = Place::new();
        let (image, point) = (place.work().join("image"), place.work().join("mounted"));
        let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(FILE_SYSTEM_BYTES).map_err(|error| error.to_string())?;
        let mut stage = Self::on(place, &["image"])?;
        stage.devices[0].mount(&point)?;
        Ok((stage, point))
    }

    /// Returns the path of a job file.
    fn job(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/jobs").join(name)
    }

    /// Returns the variables that job files use, in addition to those of the test.
    fn variables(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> =
            more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let names = ["DEVICE", "OTHER"].into_iter().zip(&self.devices);
        all.extend(
            names.map(|(name, device)| (name.to_owned(), device.device.as_str().to_owned())),
        );
        all
    }

    /// Runs a job file with fio.
    pub fn fio(&self, job: &str, variables: &[(&str, &str)]) -> Run {
        let output = self.place.work().join("fio.json");
        let mut command = Command::new("fio");
        command.arg("--output-format=json").arg("--output").arg(&output).arg(Self::job(job));
        let text =
            self.run(command, variables, |_| std::fs::read_to_string(&output).unwrap_or_default());
        self.ended(&text, |task| task == "fio")
    }

    /// Runs a job file with iogauge.
    pub fn iogauge(&self, job: &str, variables: &[(&str, &str)]) -> Run {
        let job = Self::job(job);
        let line = ["run", job.to_str().unwrap(), "--destroy-data", "--output-format=json", "-q"];
        let text = self.run(self.place.command(&line), variables, |stdout| stdout.to_owned());
        self.ended(&text, |task| task.starts_with("iogauge-"))
    }

    fn run(
        &self,
        mut command: Command,
        variables: &[(&str, &str)],
        report: impl Fn(&str) -> String,
    ) -> String {
        command.envs(self.variables(variables)).current_dir(self.place.work());
        self.trace.begin();
        let output = command.stdin(Stdio::null()).output().unwrap();
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
        assert!(output.status.success(), "{command:?}: {stdout}\n{stderr}");
        report(&stdout)
    }

    fn ended(&self, report: &str, is_worker: impl Fn(&str) -> bool) -> Run {
        // io_uring's own threads do the I/Os that it could not do at once.
        let all = self.trace.end().into_iter();
        let ios = all.filter(|io| is_worker(&io.task) || io.task.starts_with("iou-wrk"));
        Run { seen: Seen { ios: ios.collect() }, report: reports::read(report) }
    }

    /// Runs a job file with both tools.
    pub fn both(&self, job: &str) -> Pair {
        self.both_with(job, &[])
    }

    /// Runs a job file with both tools, with these variables set.
    pub fn both_with(&self, job: &str, variables: &[(&str, &str)]) -> Pair {
        Pair { fio: self.fio(job, variables), iogauge: self.iogauge(job, variables) }
    }
}
