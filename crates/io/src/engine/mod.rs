//! Engines, which perform I/O on a target. Each has its own file and a row in [`ENGINES`].

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

/// Properties of an engine, known before it is used.
#[derive(Debug)]
pub struct EngineInfo {
    pub kind: EngineKind,
    /// Name, as in fio's `ioengine`.
    pub name: &'static str,
    /// True if written data can be read back.
    pub stores: bool,
    /// True if the page cache cannot be bypassed.
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

/// Returns the table row of an engine.
#[must_use]
pub fn info(kind: EngineKind) -> &'static EngineInfo {
    // A test checks that every kind has a row; the first row is only a fallback.
    ENGINES.iter().find(|e| e.kind == kind).unwrap_or(&ENGINES[0])
}

/// Returns true if a load bypasses the page cache: it asks for that, and its engine can.
#[must_use]
pub fn is_direct(load: &Load) -> bool {
    load.direct && !info(load.engine).always_buffered
}

/// Tests whether the kernel lets this process use an engine.
///
/// # Errors
/// The kernel's error.
pub fn probe(kind: EngineKind) -> Result<(), EngineError> {
    let setup = Setup {
        files: Files::default(),
        max_depth: 1,
        advised_random: None,
        writes: false,
        syncs_data_only: false,
    };
    match kind {
        EngineKind::IoUring => io_uring::probe(),
        EngineKind::Libaio => libaio::Libaio::new(&setup).map(drop),
        EngineKind::Psync | EngineKind::Mmap | EngineKind::Null | EngineKind::Sim => Ok(()),
    }
}

/// Kind of I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Op {
    /// Reads data from the target.
    Read = 0,
    /// Writes data to the target.
    Write = 1,
    /// Makes earlier writes durable.
    Sync = 2,
}

/// One I/O, as passed to an engine.
#[derive(Debug, Clone, Copy)]
pub struct Io {
    /// Slot of the worker, returned with the completion.
    pub slot: u32,
    pub op: Op,
    /// Index of the engine's file, from 0.
    pub file: u32,
    pub offset_bytes: u64,
    /// Number of bytes to read or write.
    pub len: u32,
    /// Data buffer; valid for `len` bytes until completion.
    pub buffer: *mut u8,
}

/// Failure of an engine itself, not of a single I/O.
#[derive(Debug, thiserror::Error)]
#[error("{engine}: {call} failed: {source}")]
pub struct EngineError {
    /// The engine that failed.
    pub engine: &'static str,
    /// System call or step that failed.
    pub call: &'static str,
    /// The kernel's error.
    pub source: io::Error,
}

/// What a worker needs of an engine. The worker is generic over it, so that every call is inlined.
pub trait Engine {
    /// True if the kernel may still use buffers after the engine was dropped with I/Os outstanding.
    const IO_OUTLIVES_ENGINE: bool = false;

    /// True if the thread sleeps in real time while it waits for one of several I/Os. Then the processor time it uses
    /// shows whether the device is the bottleneck.
    const SLEEPS_BETWEEN_IOS: bool = false;

    /// Prepares an I/O; [`Self::enter`] submits it.
    fn queue(&mut self, io: Io);

    /// Submits the queued I/Os and waits until `wait` completions are available, the timeout has passed, or a signal
    /// arrived. With `wait` 0 it does not wait, unless a timeout is given and nothing is outstanding.
    ///
    /// # Errors
    /// If the engine itself fails. A failed I/O is a completion.
    fn enter(&mut self, wait: u32, timeout_ns: Option<u64>) -> Result<(), EngineError>;

    /// Passes up to `max` completions to `sink`: the slot, and the number of bytes moved or a negative errno.
    fn reap(&mut self, max: u32, sink: impl FnMut(u32, i32));

    /// Returns the time of the engine's clock, in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Announces that slots below `slots` will be used, so that the engine can register what they need.
    fn grow(&mut self, slots: u32);

    /// Returns which features had to be given up on this system, for a caveat.
    fn fallbacks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Files of a worker's engine, in order of the target's parts.
pub type Files = Arc<Vec<OwnedFd>>;

/// Parameters of an engine.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Files, in order of the target's parts.
    pub files: Files,
    /// Maximum number of outstanding I/Os.
    pub max_depth: u32,
    /// The advice to the kernel: true for random accesses, false for sequential ones, `None` for no advice.
    pub advised_random: Option<bool>,
    /// True if the load writes.
    pub writes: bool,
    /// True if a sync is an `fdatasync`, which leaves out metadata that is not needed to read the data.
    pub syncs_data_only: bool,
}

/// Sleeps. A signal ends the sleep early.
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
    fn every_engine_kind_has_one_table_row() {
        use EngineKind::{IoUring, Libaio, Mmap, Null, Psync, Sim};
        for kind in [IoUring, Libaio, Psync, Mmap, Null, Sim] {
            assert_eq!(ENGINES.iter().filter(|e| e.kind == kind).count(), 1);
            assert_eq!(EngineKind::parse(info(kind).name, Dialect::Iogauge), Ok(kind));
        }
    }
}
