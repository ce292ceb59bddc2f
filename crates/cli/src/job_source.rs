//! Files, environment and machine facts for a job file.

use iogauge_fio::job::Source;
use iogauge_lab::machine::{GroupLimits, Memory, Roots, machine};
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Returns the path if TARGET is a job file.
pub fn named(target: &str) -> Option<&Path> {
    let path = Path::new(target);
    path.extension().is_some_and(|extension| extension == "fio").then_some(path)
}

/// Nobody writes a larger job file.
const LARGEST_BYTES: u64 = 16 << 20;

/// This process and the machine it runs on.
#[derive(Debug)]
pub struct Here;

impl Source for Here {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "it is no file"));
        }
        let mut text = String::new();
        if file.take(LARGEST_BYTES + 1).read_to_string(&mut text)? as u64 > LARGEST_BYTES {
            return Err(Error::new(ErrorKind::InvalidData, "it is larger than 16 MiB"));
        }
        Ok(text)
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
