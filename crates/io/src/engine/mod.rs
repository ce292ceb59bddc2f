//! What carries I/O to a target. One file each; [`ENGINES`] is their table.

pub mod io_uring;
pub mod libaio;
pub mod mmap;
pub mod null;
pub mod psync;
pub mod sim;

use iogauge_model::load::{EngineKind, Load};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What is known of an engine before it is used.
#[derive(Debug)]
pub struct EngineInfo {
    pub kind: EngineKind,
    /// Its word, as in fio's `ioengine`.
    pub name: &'static str,
    /// True where what was written can be read back.
    pub stores: bool,
    /// True where the page cache cannot be gone around.
    pub always_buffered: bool,
    /// One line for the help.
    pub about: &'static str,
}

/// Every engine.
pub const ENGINES: &[EngineInfo] = &[
    EngineInfo {
        kind: EngineKind::IoUring,
        name: EngineKind::IoUring.as_str(),
        stores: true,
        always_buffered: false,
        about: "submission and completion rings shared with the kernel (Linux 5.6 or later)",
    },
    EngineInfo {
        kind: EngineKind::Libaio,
        name: EngineKind::Libaio.as_str(),
        stores: true,
        always_buffered: false,
        about: "native asynchronous I/O, for kernels and containers that forbid io_uring",
    },
    EngineInfo {
        kind: EngineKind::Psync,
        name: EngineKind::Psync.as_str(),
        stores: true,
        always_buffered: false,
        about: "pread and pwrite, one thread for each I/O outstanding",
    },
    EngineInfo {
        kind: EngineKind::Mmap,
        name: EngineKind::Mmap.as_str(),
        stores: true,
        always_buffered: true,
        about: "memory-mapped file through the page cache, as a document store reads",
    },
    EngineInfo {
        kind: EngineKind::Null,
        name: EngineKind::Null.as_str(),
        stores: false,
        always_buffered: false,
        about: "accounts for every I/O and issues none: what the tool itself costs",
    },
    EngineInfo {
        kind: EngineKind::Sim,
        name: EngineKind::Sim.as_str(),
        stores: true,
        always_buffered: false,
        about: "simulated device in virtual time, for targets sim:…",
    },
];

/// The table row of an engine.
#[must_use]
pub fn info(kind: EngineKind) -> &'static EngineInfo {
    // A test walks every kind; the first row stands in for none.
    ENGINES.iter().find(|e| e.kind == kind).unwrap_or(&ENGINES[0])
}

/// True where a load goes past the page cache: it asks for that, and its engine can.
#[must_use]
pub fn is_direct(load: &Load) -> bool {
    load.direct && !info(load.engine).always_buffered
}

/// Tries whether the kernel lets this process use an engine.
///
/// # Errors
/// What the kernel said.
pub fn probe(kind: EngineKind) -> Result<(), EngineError> {
    let setup = Setup {
        files: Files::default(),
        max_depth: 1,
        random: true,
        writes: false,
        syncs_data_only: false,
    };
    match kind {
        EngineKind::IoUring => io_uring::probe(),
        EngineKind::Libaio => libaio::Libaio::new(&setup).map(drop),
        EngineKind::Psync | EngineKind::Mmap | EngineKind::Null | EngineKind::Sim => Ok(()),
    }
}

/// What an I/O does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Moves data from the target.
    Read = 0,
    /// Moves data to the target.
    Write = 1,
    /// Makes earlier writes durable.
    Sync = 2,
}

/// One I/O as an engine takes it.
#[derive(Debug, Clone, Copy)]
pub struct Io {
    /// Slot of the worker, given back on completion.
    pub slot: u32,
    pub op: Op,
    /// File of the engine, from 0.
    pub file: u32,
    /// Byte offset.
    pub offset_bytes: u64,
    /// Bytes to move.
    pub len: u32,
    /// Where the data is or goes; valid for `len` bytes until completion.
    pub buffer: *mut u8,
}

/// A fault of an engine itself, not of a single I/O.
#[derive(Debug, thiserror::Error)]
#[error("{engine}: {call} failed: {source}")]
pub struct EngineError {
    /// Engine it happened in.
    pub engine: &'static str,
    /// System call or step.
    pub call: &'static str,
    /// What the kernel said.
    pub source: io::Error,
}

/// What a worker needs of an engine. The worker is generic over it, so every call is inlined.
pub trait Engine {
    /// True where the kernel may go on using buffers after the engine was dropped with I/Os
    /// outstanding.
    const IO_OUTLIVES_ENGINE: bool = false;

    /// Whether the thread sleeps while it waits for one of several I/Os, in real time: then the processor time
    /// it uses shows whether the device is the slower side.
    const SLEEPS_BETWEEN_IOS: bool = false;

    /// Prepares an I/O; [`Self::enter`] hands it over.
    fn queue(&mut self, io: Io);

    /// Hands over what is queued and waits until `wait` completions are there, the time-out has
    /// passed, or a signal came. With `wait` 0 it does not wait, unless a time-out is given and
    /// nothing is outstanding.
    ///
    /// # Errors
    /// Where the engine itself fails; a failed I/O is a completion.
    fn enter(&mut self, wait: u32, timeout_ns: Option<u64>) -> Result<(), EngineError>;

    /// Gives up to `max` completions to `sink`: the slot, and bytes moved or a negative errno.
    fn reap(&mut self, max: u32, sink: impl FnMut(u32, i32));

    /// The engine's clock, in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Tells that slots below `slots` will be used, so that what they need can be registered.
    fn grow(&mut self, slots: u32);

    /// What had to be given up to run here, for a caveat.
    fn fallbacks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Files of a worker's engine, in order of the target's parts.
pub type Files = Arc<Vec<OwnedFd>>;

/// What an engine is made from.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Files by part.
    pub files: Files,
    /// Most I/Os that will ever be outstanding.
    pub max_depth: u32,
    /// True where accesses will be in random order (advice for the page cache).
    pub random: bool,
    /// True where the load writes.
    pub writes: bool,
    /// True where a sync is an `fdatasync`: metadata that nobody needs to read the data stays behind.
    pub syncs_data_only: bool,
}

/// Sleeps, but not through signals.
pub(crate) fn sleep_ns(ns: u64) {
    let request = rustix::time::Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    };
    let _ = rustix::thread::nanosleep(&request);
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::options::Dialect;

    #[test]
    fn every_kind_has_one_row() {
        use EngineKind::{IoUring, Libaio, Mmap, Null, Psync, Sim};
        for kind in [IoUring, Libaio, Psync, Mmap, Null, Sim] {
            assert_eq!(ENGINES.iter().filter(|e| e.kind == kind).count(), 1);
            assert_eq!(EngineKind::parse(info(kind).name, Dialect::Iogauge), Ok(kind));
        }
    }
}
