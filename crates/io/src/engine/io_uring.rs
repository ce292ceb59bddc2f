//! io_uring (io_uring(7)): rings shared with the kernel, and one system call for both submission and completion.

use super::{Engine, EngineError, Files, Io, Op, Setup};
use crate::buffers::BufferPool;
use crate::clock::Clock;
use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, cqueue, opcode, squeue};
use std::io;
use std::os::fd::AsRawFd;

/// Maximum number of submissions prepared between two system calls. Larger queue depths take several calls.
const MAX_SUBMISSIONS: u32 = 1024;
/// Maximum number of completions that the kernel keeps room for (`IORING_MAX_CQ_ENTRIES`).
const MAX_COMPLETIONS: u32 = 65_536;
/// Buffers are registered in stretches of this size when their slots are first used.
const REGISTERED_STRETCH_BYTES: usize = 2 << 20;

/// Number of waits between two checks whether I/Os complete during submission.
const LOOK_EVERY: u32 = 64;

const GETEVENTS: u32 = 1;
const EXT_ARG: u32 = 1 << 3;

/// The parts of a ring. They are kept apart because each borrow of a part makes its atomic loads again, and because the
/// registered descriptor belongs to the one submitter.
struct Ring {
    submissions: SubmissionQueue<'static, squeue::Entry>,
    completions: CompletionQueue<'static, cqueue::Entry>,
    submitter: Submitter<'static>,
    whole: *mut IoUring,
}

impl Ring {
    fn new(ring: IoUring) -> Self {
        let whole = Box::into_raw(Box::new(ring));
        // SAFETY: the box lives until `drop`, which ends the three borrows first; nothing else uses `whole`.
        let (submitter, submissions, completions) = unsafe { (*whole).split() };
        Self { submissions, completions, submitter, whole }
    }
}

/// An io_uring ring of one thread.
pub struct Uring {
    clock: Clock,
    /// `None` only inside `drop`.
    ring: Option<Ring>,
    files: Files,
    /// True if files are registered: submissions refer to them by index.
    fixed_files: bool,
    sync_flags: FsyncFlags,
    registered: Registered,
    /// Number of waits until the next check; 0 as long as the checks find that I/Os complete inline.
    look_in: u32,
    fallbacks: Vec<String>,
}

/// Buffers that the kernel has pinned for this ring.
#[derive(Debug, Clone, Copy)]
struct Registered {
    base: *mut u8,
    slot_bytes: usize,
    slots_per_stretch: u32,
    slots: u32,
    /// Number of slots whose buffers are registered.
    below: u32,
    /// False once the kernel has refused.
    possible: bool,
}

impl Drop for Uring {
    fn drop(&mut self) {
        if let Some(ring) = self.ring.take() {
            let whole = ring.whole;
            drop(ring);
            // SAFETY: made by `Box::into_raw` in `Ring::new`; the borrows ended in the line above.
            drop(unsafe { Box::from_raw(whole) });
        }
    }
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uring").field("registered", &self.registered).finish_non_exhaustive()
    }
}

fn fault(call: &'static str, source: io::Error) -> EngineError {
    EngineError { engine: "io_uring", call, source }
}

/// Builds a ring with the best flags that the kernel accepts.
fn build(max_depth: u32) -> io::Result<IoUring> {
    let entries = max_depth.min(MAX_SUBMISSIONS).next_power_of_two();
    let completions = (max_depth.min(MAX_COMPLETIONS) * 2)
        .next_power_of_two()
        .clamp(2 * entries, MAX_COMPLETIONS);
    let base = || {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(completions);
        builder
    };
    // One thread submits and reaps in every turn. So completions need not interrupt it (since Linux 5.19), and
    // submissions need no indirection (since 6.6). DEFER_TASKRUN would do as well if reads complete inline. With a real
    // device, however, it wakes the thread for each completion: at queue depth 32 that costs a fifth more processor
    // time per I/O, and IOPS are lower.
    let mut best = base();
    best.setup_single_issuer().setup_coop_taskrun().setup_no_sqarray();
    let mut good = base();
    good.setup_single_issuer().setup_coop_taskrun();
    let mut fair = base();
    fair.setup_coop_taskrun();
    best.build(entries)
        .or_else(|_| good.build(entries))
        .or_else(|_| fair.build(entries))
        .or_else(|_| base().build(entries))
}

/// Tests whether a ring can be created.
///
/// # Errors
/// The kernel's error.
pub(super) fn probe() -> Result<(), EngineError> {
    build(1).map(drop).map_err(|e| fault("io_uring_setup", e))
}

impl Uring {
    /// Creates a ring for these files. Registers the pool's buffers when their slots are first used. Call this on the
    /// thread that uses the ring.
    ///
    /// # Errors
    /// If the kernel has no io_uring or does not allow it (`/proc/sys/kernel/io_uring_disabled`, seccomp).
    pub fn new(setup: &Setup, pool: &BufferPool) -> Result<Self, EngineError> {
        let ring = build(setup.max_depth).map_err(|e| fault("io_uring_setup", e))?;
        let mut ring = Ring::new(ring);
        let mut fallbacks = Vec::new();
        // Not available before Linux 5.18. The plain descriptor costs a lookup per call.
        let _ = ring.submitter.register_ring_fd();
        let descriptors: Vec<i32> = setup.files.iter().map(AsRawFd::as_raw_fd).collect();
        let fixed_files = match ring.submitter.register_files(&descriptors) {
            Ok(()) => true,
            Err(error) => {
                fallbacks.push(format!("io_uring could not register files: {error}"));
                false
            }
        };
        let sync_flags =
            if setup.syncs_data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        let slot_bytes = pool.stride_bytes();
        let slots_per_stretch = (REGISTERED_STRETCH_BYTES / slot_bytes).max(1) as u32;
        let stretches = pool.slots().div_ceil(slots_per_stretch);
        let possible = ring.submitter.register_buffers_sparse(stretches).is_ok();
        let registered = Registered {
            base: pool.buffer(0),
            slot_bytes,
            slots_per_stretch,
            slots: pool.slots(),
            below: 0,
            possible,
        };
        Ok(Self {
            clock: Clock::get(),
            ring: Some(ring),
            files: setup.files.clone(),
            fixed_files,
            sync_flags,
            registered,
            look_in: 0,
            fallbacks,
        })
    }

    #[inline(always)]
    fn ring(&mut self) -> &mut Ring {
        match &mut self.ring {
            Some(ring) => ring,
            // `ring` is `None` only inside `drop`.
            None => unreachable!("the ring lives as long as the engine"),
        }
    }

    #[inline(always)]
    fn entry(&self, io: &Io) -> squeue::Entry {
        let index = (io.slot < self.registered.below)
            .then(|| (io.slot / self.registered.slots_per_stretch) as u16);
        macro_rules! build_with {
            ($target:expr) => {
                match (io.op, index) {
                    (Op::Read, Some(index)) => {
                        opcode::ReadFixed::new($target, io.buffer, io.len, index)
                            .offset(io.offset_bytes)
                            .build()
                    }
                    (Op::Write, Some(index)) => {
                        opcode::WriteFixed::new($target, io.buffer, io.len, index)
                            .offset(io.offset_bytes)
                            .build()
                    }
                    (Op::Read, None) => opcode::Read::new($target, io.buffer, io.len)
                        .offset(io.offset_bytes)
                        .build(),
                    (Op::Write, None) => opcode::Write::new($target, io.buffer, io.len)
                        .offset(io.offset_bytes)
                        .build(),
                    (Op::Sync, _) => opcode::Fsync::new($target).flags(self.sync_flags).build(),
                }
            };
        }
        let entry = if self.fixed_files {
            build_with!(Fixed(io.file))
        } else {
            build_with!(Fd(self.files[io.file as usize].as_raw_fd()))
        };
        entry.user_data(u64::from(io.slot))
    }

    /// Submits without waiting, if such a call may be enough. Returns true if at least `wait` I/Os have completed. If
    /// reads complete inline, a call without waiting is a tenth cheaper. Otherwise a second call is needed, but only
    /// once in [`LOOK_EVERY`] waits.
    #[inline(always)]
    fn completed_inline(&mut self, wait: u32) -> bool {
        if self.look_in > 0 {
            self.look_in -= 1;
            return false;
        }
        let ring = self.ring();
        ring.submissions.sync();
        let pending = ring.submissions.len() as u32;
        // SAFETY: as in `call`. An error occurs there again.
        let _ = unsafe { ring.submitter.enter::<libc::sigset_t>(pending, 0, 0, None) };
        ring.completions.sync();
        let enough = ring.completions.len() >= wait as usize;
        if !enough {
            self.look_in = LOOK_EVERY;
        }
        enough
    }

    /// Submits and waits once. Submissions that the kernel did not accept stay queued for the next call.
    #[inline(always)]
    fn call(&mut self, wait: u32, timeout_ns: Option<u64>) -> Result<(), EngineError> {
        let ring = self.ring();
        ring.submissions.sync();
        let pending = ring.submissions.len() as u32;
        let result = match timeout_ns {
            // SAFETY: every submission was built from an `Io`, whose buffer the worker keeps valid
            // until its completion is reaped.
            None => unsafe {
                ring.submitter.enter::<libc::sigset_t>(pending, wait, GETEVENTS, None)
            },
            Some(ns) => {
                let time =
                    Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                let arguments = SubmitArgs::new().timespec(&time);
                // SAFETY: as above; the arguments outlive the call.
                unsafe {
                    ring.submitter.enter(pending, wait, GETEVENTS | EXT_ARG, Some(&arguments))
                }
            }
        };
        match result {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // A signal, a timeout, or a completion queue that must be emptied first.
                Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(fault("io_uring_enter", error)),
            },
        }
    }
}

impl Engine for Uring {
    // Closing a ring cancels what can be canceled and does not wait for the rest.
    const IO_OUTLIVES_ENGINE: bool = true;
    const SLEEPS_BETWEEN_IOS: bool = true;

    #[inline(always)]
    fn queue(&mut self, io: Io) {
        let entry = self.entry(&io);
        let ring = self.ring();
        // SAFETY: the worker guarantees that the entry's buffer stays valid until completion.
        while unsafe { ring.submissions.push(&entry) }.is_err() {
            // The queue is full: submit without waiting. An error occurs again in `enter`.
            ring.submissions.sync();
            if ring.submissions.is_full() {
                let _ = ring.submitter.submit();
                ring.submissions.sync();
            }
        }
    }

    #[inline(always)]
    fn enter(&mut self, wait: u32, timeout_ns: Option<u64>) -> Result<(), EngineError> {
        // With nothing to wait for, the call would not sleep until the timeout.
        let wait = if timeout_ns.is_some() { wait.max(1) } else { wait };
        if wait > 0 && timeout_ns.is_none() && self.completed_inline(wait) {
            return Ok(());
        }
        self.call(wait, timeout_ns)
    }

    #[inline(always)]
    fn reap(&mut self, max: u32, mut sink: impl FnMut(u32, i32)) {
        let ring = self.ring();
        ring.completions.sync();
        for completion in ring.completions.by_ref().take(max as usize) {
            sink(completion.user_data() as u32, completion.result());
        }
        // Otherwise the kernel does not see what was reaped, and the next wait returns early.
        ring.completions.sync();
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn grow(&mut self, slots: u32) {
        while self.registered.possible && self.registered.below < slots.min(self.registered.slots) {
            let Registered { base, slot_bytes, slots_per_stretch, slots: all, below, .. } =
                self.registered;
            let count = slots_per_stretch.min(all - below);
            let iovec = libc::iovec {
                iov_base: base.wrapping_add(below as usize * slot_bytes).cast(),
                iov_len: count as usize * slot_bytes,
            };
            let stretch = below / slots_per_stretch;
            // SAFETY: the stretch lies inside the pool, which outlives the ring because the worker drops its engine
            // first.
            let result =
                unsafe { self.ring().submitter.register_buffers_update(stretch, &[iovec], None) };
            match result {
                Ok(()) => self.registered.below += count,
                Err(error) => {
                    self.registered.possible = false;
                    self.fallbacks.push(format!(
                        "io_uring could not register buffers beyond depth {below}: {error} \
                         (ulimit -l)"
                    ));
                }
            }
        }
    }

    fn fallbacks(&self) -> Vec<String> {
        self.fallbacks.clone()
    }
}
