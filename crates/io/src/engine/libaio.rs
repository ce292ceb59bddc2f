//! Linux native asynchronous I/O (io_submit(2), io_getevents(2)).

use super::{Engine, EngineError, Files, Io, Op, Setup, sleep_ns};
use crate::clock::Clock;
use std::io;
use std::os::fd::AsRawFd;

/// `struct iocb` of `<linux/aio_abi.h>`, with `key` and `rw_flags` in little-endian order.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_fd: u32,
}

/// `struct io_event` of `<linux/aio_abi.h>`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

/// An AIO context with its control blocks, one per slot.
#[derive(Debug)]
pub struct Libaio {
    clock: Clock,
    files: Files,
    sync_opcode: u16,
    context: libc::c_ulong,
    /// One per slot; the kernel copies them on submission.
    blocks: Vec<Iocb>,
    /// Pointers to the queued blocks.
    queued: Vec<*mut Iocb>,
    events: Vec<IoEvent>,
    /// Events that are not reaped yet: `events[next..ready]`.
    next: usize,
    ready: usize,
    outstanding: u32,
}

// SAFETY: the pointers in `queued` point into `blocks`, a heap allocation that stays in place when the struct moves.
// The AIO context belongs to the process.
unsafe impl Send for Libaio {}

fn fault(call: &'static str, errno: i32) -> EngineError {
    EngineError { engine: "libaio", call, source: io::Error::from_raw_os_error(errno) }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

impl Libaio {
    /// Creates an engine for these files.
    ///
    /// # Errors
    /// If the kernel allows no context of this queue depth (`/proc/sys/fs/aio-max-nr`).
    pub fn new(setup: &Setup) -> Result<Self, EngineError> {
        let queue_depth = setup.max_depth as usize;
        let mut context: libc::c_ulong = 0;
        // SAFETY: io_setup writes the context's handle to the given variable.
        let done = unsafe { libc::syscall(libc::SYS_io_setup, setup.max_depth, &raw mut context) };
        if done < 0 {
            return Err(fault("io_setup", errno()));
        }
        Ok(Self {
            clock: Clock::get(),
            files: setup.files.clone(),
            sync_opcode: if setup.syncs_data_only { FDSYNC } else { FSYNC },
            context,
            blocks: vec![Iocb::default(); queue_depth],
            queued: Vec::with_capacity(queue_depth),
            events: vec![IoEvent::default(); queue_depth],
            next: 0,
            ready: 0,
            outstanding: 0,
        })
    }

    fn submit(&mut self) -> Result<(), EngineError> {
        while !self.queued.is_empty() {
            // SAFETY: the pointers point to control blocks of this engine, whose buffers the worker keeps valid until
            // completion.
            let taken = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    self.context,
                    self.queued.len(),
                    self.queued.as_ptr(),
                )
            };
            if taken > 0 {
                self.outstanding += taken as u32;
                self.queued.drain(..taken as usize);
                continue;
            }
            match errno() {
                libc::EINTR => {}
                // No request is free at the moment; completions free some.
                libc::EAGAIN if self.outstanding > 0 => return Ok(()),
                // The kernel refused the first control block: its I/O has failed, the others may go on.
                error => {
                    let block = self.queued.remove(0);
                    // SAFETY: the pointer points to a control block of this engine.
                    let data = unsafe { (*block).data };
                    let event = IoEvent { data, result: -i64::from(error), ..IoEvent::default() };
                    self.compact();
                    self.events[self.ready] = event;
                    self.ready += 1;
                    self.outstanding += 1;
                }
            }
        }
        Ok(())
    }

    /// Moves events that are not reaped yet to the front, which leaves room behind them.
    fn compact(&mut self) {
        self.events.copy_within(self.next..self.ready, 0);
        self.ready -= self.next;
        self.next = 0;
    }
}

impl Engine for Libaio {
    const SLEEPS_BETWEEN_IOS: bool = true;

    #[inline(always)]
    fn queue(&mut self, io: Io) {
        let block = &mut self.blocks[io.slot as usize];
        *block = Iocb {
            data: u64::from(io.slot),
            opcode: match io.op {
                Op::Read => PREAD,
                Op::Write => PWRITE,
                Op::Sync => self.sync_opcode,
            },
            fd: self.files[io.file as usize].as_raw_fd() as u32,
            buffer: if io.op == Op::Sync { 0 } else { io.buffer as u64 },
            bytes: if io.op == Op::Sync { 0 } else { u64::from(io.len) },
            offset: if io.op == Op::Sync { 0 } else { io.offset_bytes as i64 },
            ..Iocb::default()
        };
        self.queued.push(block);
    }

    #[inline]
    fn enter(&mut self, wait: u32, timeout_ns: Option<u64>) -> Result<(), EngineError> {
        self.compact();
        self.submit()?;
        if self.ready > 0 && self.ready >= wait as usize {
            // Return the events collected before asking for more: a worker that takes I/Os one at a time then needs no
            // system call for each of them.
            return Ok(());
        }
        let gathered = self.ready as u32;
        let pending = self.outstanding - gathered;
        if pending == 0 {
            if let (0, Some(timeout_ns)) = (gathered, timeout_ns) {
                sleep_ns(timeout_ns);
            }
            return Ok(());
        }
        let wait = wait.saturating_sub(gathered).min(pending);
        let mut timeout = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = match timeout_ns {
            _ if wait == 0 => &raw mut timeout,
            Some(ns) => {
                timeout.tv_sec = (ns / 1_000_000_000) as _;
                timeout.tv_nsec = (ns % 1_000_000_000) as libc::c_long;
                &raw mut timeout
            }
            None => std::ptr::null_mut(),
        };
        let room = self.events.len() - self.ready;
        // SAFETY: the `room` events after `ready` belong to this engine; the timeout outlives the call.
        let got = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                wait as libc::c_long,
                room as libc::c_long,
                self.events.as_mut_ptr().add(self.ready),
                timeout,
            )
        };
        if got >= 0 {
            self.ready += got as usize;
            return Ok(());
        }
        match errno() {
            libc::EINTR => Ok(()),
            error => Err(fault("io_getevents", error)),
        }
    }

    #[inline(always)]
    fn reap(&mut self, max: u32, mut sink: impl FnMut(u32, i32)) {
        let end = self.ready.min(self.next + max as usize);
        while self.next < end {
            let event = self.events[self.next];
            self.next += 1;
            self.outstanding -= 1;
            sink(event.data as u32, event.result as i32);
        }
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn grow(&mut self, _slots: u32) {}
}

impl Drop for Libaio {
    fn drop(&mut self) {
        // SAFETY: the context made in `new`, destroyed only here. The call waits for outstanding I/Os.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
