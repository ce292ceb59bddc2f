//! Loop devices, mounts and processes that clean up after themselves.

use iogauge_io::targets::{GuardError, Intent, Roots, Target, TargetError};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

pub const MIB: u64 = 1 << 20;

/// Ends a test whose external part is missing: with a word, or as a failure where everything is
/// required.
pub fn skip(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
    assert!(std::env::var_os("IOGAUGE_REQUIRE_ALL").is_none(), "{test} was skipped: {why}");
}

/// Takes the value, or ends the test as skipped.
macro_rules! or_skip {
    ($test:literal, $value:expr) => {
        match $value {
            Ok(value) => value,
            Err(why) => return crate::support::skip($test, &why),
        }
    };
}
pub(crate) use or_skip;

/// Runs a command and returns what it printed.
pub fn run(command: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(command)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{command}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

static SEARCH: Mutex<()> = Mutex::new(());

/// A loop device; its image, where it made one, goes with it.
pub struct Loop {
    pub path: PathBuf,
    image: Option<tempfile::NamedTempFile>,
    partitions: u32,
}

impl Loop {
    /// A device of so many bytes, all of them holes.
    pub fn new(size_bytes: u64) -> Result<Self, String> {
        Self::with_image(image(size_bytes), &[])
    }

    pub fn with_image(image: tempfile::NamedTempFile, options: &[&str]) -> Result<Self, String> {
        let mut device = Self::on(image.path(), options)?;
        device.image = Some(image);
        Ok(device)
    }

    /// A device on a file or device that stays.
    pub fn on(backing: &Path, options: &[&str]) -> Result<Self, String> {
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(text(backing));
        // One search at a time: losetup opens the free device it found for writing, even where
        // another search has taken it in the meantime.
        let _one = SEARCH.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut result = run("losetup", &arguments);
        for _ in 0..5 {
            if result.is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            result = run("losetup", &arguments);
        }
        Ok(Self { path: PathBuf::from(result?), image: None, partitions: 0 })
    }

    pub fn image(&self) -> &Path {
        self.image.as_ref().unwrap().path()
    }

    /// Adds a partition without writing a table; sizes are in sectors of 512 bytes.
    pub fn add_partition(&mut self, start: u64, size: u64) -> Result<PathBuf, String> {
        let number = self.partitions + 1;
        let (start, size) = (start.to_string(), size.to_string());
        run("addpart", &[text(&self.path), &number.to_string(), &start, &size])?;
        self.partitions = number;
        let path = PathBuf::from(format!("{}p{number}", text(&self.path)));
        if path.exists() { Ok(path) } else { Err(format!("{} did not appear", path.display())) }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        for number in 1..=self.partitions {
            let _ = run("delpart", &[text(&self.path), &number.to_string()]);
        }
        let _ = run("losetup", &["--detach", text(&self.path)]);
    }
}

/// A sparse file of so many bytes.
pub fn image(size_bytes: u64) -> tempfile::NamedTempFile {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(size_bytes).unwrap();
    image
}

/// A mounted file system.
pub struct Mount {
    pub point: PathBuf,
    _dir: tempfile::TempDir,
}

impl Mount {
    pub fn new(arguments: &[&str]) -> Result<Self, String> {
        let dir = tempfile::tempdir().unwrap();
        let point = dir.path().canonicalize().unwrap();
        let mut all = arguments.to_vec();
        all.push(text(&point));
        run("mount", &all)?;
        Ok(Self { point, _dir: dir })
    }

    pub fn of(device: &Path) -> Result<Self, String> {
        Self::new(&["-t", "ext4", text(device)])
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Guards of runs beside this test look at what processes have open, and hold the mount meanwhile.
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

/// An ext4 file system on a device, mounted.
pub fn mounted_ext4(device: &Path) -> Result<Mount, String> {
    run("mkfs.ext4", &["-q", "-F", text(device)])?;
    Mount::of(device)
}

/// Active swap.
pub struct Swap(PathBuf);

impl Swap {
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

/// An attribute of chattr(1), taken away again at the end.
pub struct Immutable(PathBuf);

impl Immutable {
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

/// Another process that has something open.
pub struct Holder(Child);

impl Holder {
    /// Opens a path with these flags of open(2).
    pub fn open(path: &Path, flags: i32) -> Result<Self, String> {
        const SCRIPT: &str =
            r#"$| = 1; sysopen(my $f, $ARGV[0], $ARGV[1]) or die $!; print "ok\n"; <STDIN>"#;
        let mut child = Command::new("perl")
            .args(["-e", SCRIPT, text(path), &flags.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("perl: {error}"))?;
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        let holder = Self(child);
        if line.trim() == "ok" { Ok(holder) } else { Err("perl could not open it".into()) }
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes data that repeats nowhere.
pub fn fill(path: &Path, size_bytes: u64) {
    let mut random = File::open("/dev/urandom").unwrap();
    let mut file = File::options().write(true).open(path).unwrap();
    std::io::copy(&mut std::io::Read::take(&mut random, size_bytes), &mut file).unwrap();
    file.sync_all().unwrap();
}

pub fn reads() -> Intent {
    Intent::default()
}

pub fn writes() -> Intent {
    Intent { writes: true, ..Intent::default() }
}

/// Writing with every consent there is.
pub fn writes_anything() -> Intent {
    Intent { writes: true, destroy_data: true, overwrite: true, ..Intent::default() }
}

pub fn resolve(path: &Path, intent: Intent) -> Result<Target, TargetError> {
    Target::resolve(&[path.to_owned()], &intent, &Roots::default())
}

/// The guard's refusal; fails where there is none. Its message must be one line.
pub fn refusal(path: &Path, intent: Intent) -> GuardError {
    match resolve(path, intent) {
        Err(TargetError::Guard(refusal)) => {
            assert!(!refusal.to_string().contains('\n'), "{refusal}");
            refusal
        }
        other => panic!("{} was not refused: {other:?}", path.display()),
    }
}

/// Bytes that are free for a user.
pub fn available(path: &Path) -> u64 {
    let stat = rustix::fs::statvfs(path).unwrap();
    stat.f_bavail * stat.f_frsize
}

/// A file system made by a command on a device of so many bytes, mounted.
pub fn mounted(kind: &str, size_bytes: u64) -> Result<(Mount, Loop), String> {
    let device = Loop::new(size_bytes)?;
    let path = device.path.to_str().unwrap();
    match kind {
        "ext4" => run("mkfs.ext4", &["-q", "-F", "-m", "0", path])?,
        _ => run(&format!("mkfs.{kind}"), &["-q", "-f", path])?,
    };
    Ok((Mount::new(&["-t", kind, path])?, device))
}
