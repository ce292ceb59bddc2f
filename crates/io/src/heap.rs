//! The heap that all threads of this process use.

/// Makes all threads allocate from one heap instead of several. This is for a process with limited address space: each
/// additional glibc heap reserves at least 64 MiB of it (mallopt(3), `M_ARENA_MAX`), which the computed limit does not
/// include. Threads that already exist may keep their own heaps.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers and stores one of them under the allocator's own lock.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
