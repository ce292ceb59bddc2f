//! What a case must not touch, and how a change to it is found.

use crate::cases::{Case, Reach};
use iogauge_fio::job::Source;
use iogauge_test_support::{Loop, MIB, Mount, run};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where on a device a case writes, and how many bytes are checked there.
const DEVICE_OFFSET: u64 = 12 * MIB;
const DEVICE_BYTES: usize = 1 << 20;
const CANARY_BYTES: usize = 64 << 10;

/// Devices that cases use in turn.
pub struct Stage {
    device: Loop,
    mounted: Loop,
    _mount: Mount,
    dir: TempDir,
}

impl Stage {
    pub fn new() -> Result<Self, String> {
        let device = Loop::new(32 * MIB)?;
        let mounted = Loop::new(32 * MIB)?;
        // Without a journal and lazy table initialization, the kernel does not write where the cases do.
        let plain = ["-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0"];
        run("mkfs.ext4", &[&plain[..], &[mounted.path.to_str().unwrap()]].concat())?;
        let mount = Mount::of(&mounted.path)?;
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = tempfile::Builder::new().prefix("adversary").tempdir_in(base).unwrap();
        Ok(Self { device, mounted, _mount: mount, dir })
    }
}

/// The files and directories of one case.
pub struct World {
    dir: TempDir,
    device: PathBuf,
    mounted: PathBuf,
    canary_inode: u64,
}

impl World {
    pub fn new(stage: &Stage, case: &Case) -> Self {
        let dir = tempfile::tempdir_in(stage.dir.path()).unwrap();
        let (device, mounted) = (stage.device.path.clone(), stage.mounted.path.clone());
        let mut world = Self { dir, device, mounted, canary_inode: 0 };
        for name in ["own", "cage", "data"] {
            fs::create_dir(world.dir.path().join(name)).unwrap();
        }
        fs::write(world.canary(), vec![0xC5; CANARY_BYTES]).unwrap();
        fs::write(world.cage().join("keep"), vec![0x5C; CANARY_BYTES]).unwrap();
        world.canary_inode = fs::metadata(world.canary()).unwrap().ino();
        for device in [&world.device, &world.mounted] {
            let file = File::options().write(true).open(device).unwrap();
            file.write_all_at(&vec![0x3C; DEVICE_BYTES], DEVICE_OFFSET).unwrap();
            file.sync_all().unwrap();
        }
        let text = |text: &str| world.filled_in(text, case.reach);
        for (name, content) in &case.files {
            fs::write(world.own().join(name), text(content)).unwrap();
        }
        for (name, to) in &case.links {
            std::os::unix::fs::symlink(text(to), world.own().join(name)).unwrap();
        }
        fs::write(world.job_file(), text(&case.job)).unwrap();
        world
    }

    /// Replaces `@` with the path that the case must not touch, `%OFFSET` with the offset where it writes there, and
    /// the other placeholders.
    fn filled_in(&self, text: &str, reach: Reach) -> String {
        let (path, offset) = match reach {
            Reach::File => (self.canary(), 0),
            Reach::Directory => (self.cage().join("keep"), 0),
            Reach::Device => (self.device.clone(), DEVICE_OFFSET),
            Reach::Mounted => (self.mounted.clone(), DEVICE_OFFSET),
        };
        let new = self.cage().join("new");
        text.replace("%NEW", new.to_str().unwrap())
            .replace("%CAGE", self.cage().to_str().unwrap())
            .replace("%OWN", self.own().to_str().unwrap())
            .replace("%OFFSET", &offset.to_string())
            .replace('@', path.to_str().unwrap())
    }

    pub fn own(&self) -> PathBuf {
        self.dir.path().join("own")
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn job_file(&self) -> PathBuf {
        self.own().join("job.fio")
    }

    fn canary(&self) -> PathBuf {
        self.dir.path().join("canary")
    }

    fn cage(&self) -> PathBuf {
        self.dir.path().join("cage")
    }

    /// Returns what was harmed, if anything.
    pub fn harm(&self) -> Option<String> {
        let same = |path: &Path, byte: u8| {
            fs::read(path).is_ok_and(|found| found == vec![byte; CANARY_BYTES])
        };
        let inode = fs::symlink_metadata(self.canary()).map(|meta| meta.ino()).ok();
        if !same(&self.canary(), 0xC5) || inode != Some(self.canary_inode) {
            return Some("the foreign file".to_owned());
        }
        let mut names: Vec<_> =
            fs::read_dir(self.cage()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        if names != ["keep"] || !same(&self.cage().join("keep"), 0x5C) {
            return Some(format!("the foreign directory: {names:?}"));
        }
        for (device, word) in [(&self.device, "device"), (&self.mounted, "mounted device")] {
            let mut found = vec![0; DEVICE_BYTES];
            let read =
                File::open(device).and_then(|file| file.read_exact_at(&mut found, DEVICE_OFFSET));
            if read.is_err() || found != vec![0x3C; DEVICE_BYTES] {
                return Some(format!("the {word}"));
            }
        }
        None
    }
}

/// The files and the environment that a job file can use, as the binary provides them.
pub struct Disk<'a> {
    variables: &'a [(String, String)],
}

impl<'a> Disk<'a> {
    pub fn new(variables: &'a [(String, String)]) -> Self {
        Self { variables }
    }
}

impl Source for Disk<'_> {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        fs::read_to_string(path)
    }

    fn read_bytes(&self, path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
        fs::read(path).map(|bytes| bytes.into_iter().take(most).collect())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn processors(&self) -> u64 {
        2
    }

    fn page_bytes(&self) -> u64 {
        4096
    }

    fn memory_bytes(&self) -> u64 {
        1 << 30
    }

    fn random(&self) -> u64 {
        1
    }
}
