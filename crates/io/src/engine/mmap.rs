//! Memory-mapped files: blocks are copied from and to the mapping, as a document store does.

use super::{Engine, EngineError, Files, Io, Op, Setup, sleep_ns};
use crate::clock::Clock;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

thread_local! {
    /// Start and end of the address range being copied. `FAILED` is set if a page of it cannot be accessed.
    static COPYING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

/// One mapped file.
#[derive(Debug)]
struct Mapping {
    base: *mut u8,
    len: usize,
    protection: ProtFlags,
}

impl Mapping {
    /// Maps a whole file.
    fn new(file: &std::os::fd::OwnedFd, setup: &Setup) -> Result<Self, EngineError> {
        let len = length(file).map_err(|e| fault("lseek", e))? as usize;
        let protection =
            if setup.writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a mapping at an address that the kernel chooses. Other writers of the file may change what is read,
        // which does not matter to a benchmark.
        let base =
            unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, file, 0) }
                .map_err(|e| fault("mmap", e))?;
        let advice = match setup.advised_random {
            None => Advice::Normal,
            Some(true) => Advice::Random,
            Some(false) => Advice::Sequential,
        };
        // SAFETY: the mapping made above. The kernel may ignore the advice without harm.
        let _ = unsafe { madvise(base, len, advice) };
        Ok(Self { base: base.cast(), len, protection })
    }

    /// Maps the file again where the handler put empty pages, so that the next access uses the file's own pages.
    fn restore(&self, file: &std::os::fd::OwnedFd, offset: usize, len: usize) {
        let page = page_bytes();
        let start = offset - offset % page;
        let bytes = (offset + len).next_multiple_of(page) - start;
        // SAFETY: whole pages of this mapping are replaced by the same pages of its file.
        let _ = unsafe {
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            let place = self.base.add(start).cast();
            mmap(place, bytes, self.protection, flags, file, start as u64)
        };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped only here.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}

/// Returns the size of a page. A signal handler may call this.
fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Mapped files of one thread.
#[derive(Debug)]
pub struct Mmap {
    clock: Clock,
    files: Files,
    mappings: Vec<Mapping>,
    queued: Option<Io>,
    done: Option<(u32, i32)>,
}

// SAFETY: the mappings belong only to the engine.
unsafe impl Send for Mmap {}

fn fault(call: &'static str, source: rustix::io::Errno) -> EngineError {
    EngineError { engine: "mmap", call, source: io::Error::from(source) }
}

/// Returns the length of a file or block device.
fn length(file: &std::os::fd::OwnedFd) -> rustix::io::Result<u64> {
    let end = rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?;
    Ok(end)
}

impl Mmap {
    /// Maps each file as a whole.
    ///
    /// # Errors
    /// If a file cannot be mapped.
    pub fn new(setup: &Setup) -> Result<Self, EngineError> {
        handle_bus_errors()?;
        let mappings =
            setup.files.iter().map(|file| Mapping::new(file, setup)).collect::<Result<_, _>>()?;
        let files = setup.files.clone();
        Ok(Self { clock: Clock::get(), files, mappings, queued: None, done: None })
    }

    fn perform(&mut self, io: &Io) -> i32 {
        let mapping = &self.mappings[io.file as usize];
        if io.op == Op::Sync {
            // SAFETY: the whole mapping, which lives as long as the engine.
            let result = unsafe { msync(mapping.base.cast(), mapping.len, MsyncFlags::SYNC) };
            let result = result.and_then(|()| rustix::fs::fdatasync(&self.files[io.file as usize]));
            return result.map_or_else(|e| -e.raw_os_error(), |()| 0);
        }
        let room = (mapping.len as u64).saturating_sub(io.offset_bytes);
        let len = u64::from(io.len).min(room) as usize;
        let offset = io.offset_bytes.min(mapping.len as u64) as usize;
        // SAFETY: `offset + len` lies inside the mapping, and the worker keeps the buffer valid for the I/O's length. A
        // page that cannot be accessed raises SIGBUS, which the handler turns into a flag.
        unsafe {
            let place = mapping.base.add(offset);
            FAILED.set(false);
            COPYING.set((place as usize, place as usize + len));
            // The handler reads and writes these on the same thread, which the compiler does not see.
            compiler_fence(Ordering::SeqCst);
            match io.op {
                Op::Read => std::ptr::copy_nonoverlapping(place, io.buffer, len),
                _ => std::ptr::copy_nonoverlapping(io.buffer, place, len),
            }
            compiler_fence(Ordering::SeqCst);
            COPYING.set((0, 0));
        }
        if FAILED.get() {
            mapping.restore(&self.files[io.file as usize], offset, len);
            return -libc::EIO;
        }
        len as i32
    }
}

impl Engine for Mmap {
    #[inline(always)]
    fn queue(&mut self, io: Io) {
        debug_assert!(self.queued.is_none());
        self.queued = Some(io);
    }

    #[inline(always)]
    fn enter(&mut self, _wait: u32, timeout_ns: Option<u64>) -> Result<(), EngineError> {
        match self.queued.take() {
            Some(io) => self.done = Some((io.slot, self.perform(&io))),
            None => {
                if let (None, Some(timeout_ns)) = (self.done, timeout_ns) {
                    sleep_ns(timeout_ns);
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn reap(&mut self, _max: u32, mut sink: impl FnMut(u32, i32)) {
        if let Some((slot, result)) = self.done.take() {
            sink(slot, result);
        }
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn grow(&mut self, _slots: u32) {}
}

/// Installs the handler once. A failed read of a mapped page raises SIGBUS. The handler puts an empty page in its
/// place, so that the copy continues, and marks the I/O as failed.
fn handle_bus_errors() -> Result<(), EngineError> {
    /// Error number of the attempt; 0 if the handler is installed.
    static INSTALLED: OnceLock<i32> = OnceLock::new();
    let errno = *INSTALLED.get_or_init(|| {
        // The first call caches the size, so that the handler only reads it.
        let _ = page_bytes();
        // SAFETY: a zeroed sigaction is valid. The handler is async-signal-safe: it uses only thread-locals that need
        // no initialization, and calls mmap.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            if libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) != 0 {
                return io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
            }
        }
        0
    });
    match errno {
        0 => Ok(()),
        errno => Err(fault("sigaction", rustix::io::Errno::from_raw_os_error(errno))),
    }
}

extern "C" fn on_bus_error(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo to an SA_SIGINFO handler.
    let address = unsafe { (*info).si_addr() } as usize;
    let (start, end) = COPYING.get();
    // SAFETY: the address is inside the range that this thread is copying, so the page replaced belongs to a mapping of
    // this engine. Any other address is a bug in the program: the default action is restored, and the instruction
    // raises the signal again.
    unsafe {
        if !(start..end).contains(&address) {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
            return;
        }
        FAILED.set(true);
        let page = page_bytes();
        let empty = libc::mmap(
            (address & !(page - 1)) as *mut c_void,
            page,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if empty == libc::MAP_FAILED {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
        }
    }
}
