//! Where the threads of this process allocate from.

/// Lets all threads allocate from one heap, where there would be several. For a process whose address space
/// is bounded: each further heap of glibc reserves 64 MiB or more of it (mallopt(3), `M_ARENA_MAX`), so
/// that what was computed to be enough is not. Threads that exist already may keep heaps of their own.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers and keeps one of them under the allocator's own lock.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
