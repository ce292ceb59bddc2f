//! Files, environment and machine facts for a job file.

use crate::exit::Usage;
use iogauge_fio::job::Source;
use iogauge_lab::machine::{GroupLimits, Memory, Roots, machine};
use rustix::fs::OFlags;
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Returns the path if TARGET is a job file: its name ends in `.fio`, or it is a text file that begins
/// with a section.
pub fn named(target: &str) -> Option<&Path> {
    let path = Path::new(target);
    let ends = |extension: &str| path.extension().is_some_and(|end| end == extension);
    (ends("fio") || (!ends("toml") && begins_with_section(path))).then_some(path)
}

/// Number of bytes in which the first section is looked for. Job files may begin with a long comment.
const HEAD_BYTES: u64 = 16 << 10;

/// Returns true for a regular file of text whose first line, apart from comments, is `[NAME]`.
fn begins_with_section(path: &Path) -> bool {
    let is_small = |about: std::fs::Metadata| about.is_file() && about.len() <= LARGEST_BYTES;
    if !path.metadata().is_ok_and(is_small) {
        return false;
    }
    let mut head = Vec::new();
    let read = open_unnoticed(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    // The head may end within a character.
    let text = match std::str::from_utf8(&head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let is_text = head.len() - text.len() < 4 && !text.contains('\0');
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with([';', '#']));
    let is_section = |line: &str| {
        line.strip_prefix('[').and_then(|rest| rest.split_once(']')).is_some_and(|(name, rest)| {
            let rest = rest.trim_start();
            !name.is_empty()
                && !name.contains(['"', '{', ','])
                && (rest.is_empty() || rest.starts_with([';', '#']))
        })
    };
    read.is_ok() && is_text && first.is_some_and(is_section)
}

/// Opens a file for reading without changing its time of access, which only its owner and root may do.
fn open_unnoticed(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NOATIME.bits().cast_signed();
    let unnoticed = File::options().read(true).custom_flags(flags).open(path);
    unnoticed.or_else(|_| File::open(path))
}

/// Refuses a job file where only a target is possible.
///
/// # Errors
/// TARGET is a job file.
pub fn refuse(target: &str) -> Result<(), Usage> {
    refuse_with(target, |shown| format!("run iogauge run {shown}"))
}

/// Refuses a job file like [`refuse`], with another hint for its path.
///
/// # Errors
/// As [`refuse`].
pub fn refuse_with(target: &str, hint: impl FnOnce(&str) -> String) -> Result<(), Usage> {
    let Some(path) = named(target) else { return Ok(()) };
    let shown = path.display().to_string();
    let hint = hint(&shown);
    Err(Usage(format!("{shown} is a job file, not a target; hint: {hint}")))
}

/// Nobody writes a larger job file.
const LARGEST_BYTES: u64 = 16 << 20;

/// This process and the machine it runs on.
#[derive(Debug)]
pub struct Here;

/// Opens a regular file. A FIFO would block.
///
/// # Errors
/// It is another kind of file, or cannot be opened.
pub fn open(path: &Path) -> std::io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    File::open(path)
}

/// Reads a file that a user wrote.
///
/// # Errors
/// It cannot be read, or is too large.
pub fn text_of(file: &File) -> std::io::Result<String> {
    let mut text = String::new();
    if file.take(LARGEST_BYTES + 1).read_to_string(&mut text)? as u64 > LARGEST_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "it is larger than 16 MiB"));
    }
    Ok(text)
}

impl Source for Here {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        text_of(&open(path)?)
    }

    fn read_bytes(&self, path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open(path)?.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn processors(&self) -> u64 {
        let online = machine(&Roots::default(), &GroupLimits::default()).cpus_online;
        online.map_or_else(
            || std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            u64::from,
        )
    }

    fn page_bytes(&self) -> u64 {
        rustix::param::page_size() as u64
    }

    fn memory_bytes(&self) -> u64 {
        Memory::read(&Roots::default()).unwrap_or_default().total_bytes
    }

    fn random(&self) -> u64 {
        // The standard library keys its hasher with randomness from the system, anew for each
        // process.
        RandomState::new().build_hasher().finish()
    }
}
