//! Aligned I/O buffers, on huge pages where that helps, and the data written from them.

use crate::offsets::below;
use iogauge_model::load::{Content, DataPattern};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;

/// Size of a huge page on x86-64 and most arm64 kernels.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Alignment of buffers. Every device accepts it for direct I/O.
const ALIGNMENT_BYTES: usize = 4096;
/// For blocks of at least this size, a write renews only one 64-byte line of each 4 KiB. A compressor or deduplicator
/// whose units are at least 4 KiB finds no repetition within the block.
const RENEW_WHOLE_BELOW_BYTES: usize = 128 << 10;

/// Returns the address space of a mapping that holds this many bytes. If they fill a huge page, it includes room to
/// start on one.
pub(crate) const fn mapped_bytes(wanted: usize) -> usize {
    if wanted < HUGE_PAGE_BYTES {
        return wanted.next_multiple_of(ALIGNMENT_BYTES);
    }
    wanted.next_multiple_of(HUGE_PAGE_BYTES) + HUGE_PAGE_BYTES
}

/// One buffer for each slot of a worker, each aligned to 4 KiB.
///
/// The address space is reserved at once, but the system provides memory only when a slot is first used. So a worker
/// may be given many more slots than it needs.
#[derive(Debug)]
pub struct BufferPool {
    base: *mut u8,
    mapped_bytes: usize,
    /// Start of the first slot's buffer: aligned to a huge page if the mapping contains one.
    first: *mut u8,
    stride_bytes: usize,
    slots: u32,
    /// Slots whose buffers have been filled with random data.
    filled: u32,
    /// Number of bytes of each slot that reads have overwritten.
    read_into_bytes: Box<[u32]>,
    random: Xoshiro256PlusPlus,
    /// Content of writes; `None` if all of it is new and random.
    shape: Option<Shape>,
}

/// Data that is not all new and random.
#[derive(Debug)]
enum Shape {
    /// It compresses or repeats.
    Content {
        content: Content,
        /// What the part of it that compresses is; `None` for zeros.
        pattern: Option<DataPattern>,
        /// Seed of the last new data.
        newest: Option<u64>,
    },
    /// Each block is this pattern.
    Pattern(DataPattern),
}

// SAFETY: the pool is the only owner of its mapping, and nothing in it is tied to the thread that created it.
unsafe impl Send for BufferPool {}

impl BufferPool {
    /// Reserves `slots` buffers of `block_bytes` each.
    ///
    /// # Errors
    /// If the address space or the memory limit does not allow it.
    pub fn new(slots: u32, block_bytes: u64, seed: u64) -> io::Result<Self> {
        let stride_bytes = (block_bytes as usize).next_multiple_of(ALIGNMENT_BYTES);
        let wanted = stride_bytes
            // One more, for the pattern.
            .checked_mul(slots as usize + 1)
            .ok_or(io::ErrorKind::OutOfMemory)?
            .max(ALIGNMENT_BYTES);
        let mapped_bytes = mapped_bytes(wanted);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        if wanted >= HUGE_PAGE_BYTES {
            // SAFETY: the range is the mapping made above. If the kernel refuses, only speed is lost.
            let _ = unsafe { madvise(base, mapped_bytes, Advice::LinuxHugepage) };
        }
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xb0ff_e25a_11ce_5eed);
        let base = base.cast::<u8>();
        // A smaller mapping starts on a page and has no room for more alignment.
        let offset = if wanted < HUGE_PAGE_BYTES { 0 } else { base.align_offset(HUGE_PAGE_BYTES) };
        Ok(Self {
            base,
            mapped_bytes,
            first: base.wrapping_add(offset),
            stride_bytes,
            slots,
            filled: 0,
            read_into_bytes: vec![0; slots as usize].into_boxed_slice(),
            random,
            shape: None,
        })
    }

    /// Returns the pool with this content for its writes.
    #[must_use]
    pub fn with_content(mut self, content: Content) -> Self {
        let shape = Shape::Content { content, pattern: None, newest: None };
        self.shape = (!content.is_random()).then_some(shape);
        self
    }

    /// Returns the pool with this pattern for its writes, if there is one: for all of their data, or for the part of it
    /// that compresses.
    #[must_use]
    pub fn with_pattern(mut self, asked: Option<&DataPattern>) -> Self {
        let Some(asked) = asked.cloned() else { return self };
        match &mut self.shape {
            Some(Shape::Content { pattern, .. }) => *pattern = Some(asked),
            shape => *shape = Some(Shape::Pattern(asked)),
        }
        self
    }

    /// Returns the random data from which a buffer is restored.
    fn pattern(&self) -> *mut u8 {
        self.first.wrapping_add(self.slots as usize * self.stride_bytes)
    }

    /// Returns the number of slots.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the distance from one slot's buffer to the next, in bytes.
    #[must_use]
    pub fn stride_bytes(&self) -> usize {
        self.stride_bytes
    }

    /// Returns the buffer of a slot, valid for [`Self::stride_bytes`] bytes as long as the pool lives.
    #[inline(always)]
    #[must_use]
    pub fn buffer(&self, slot: u32) -> *mut u8 {
        debug_assert!(slot < self.slots);
        self.first.wrapping_add(slot as usize * self.stride_bytes)
    }

    /// Returns the first `len` bytes of a slot's buffer. The caller owns the slot: no I/O is using it.
    pub(crate) fn bytes(&mut self, slot: u32, len: usize) -> &mut [u8] {
        debug_assert!(len <= self.stride_bytes);
        // SAFETY: the slot's buffer is `stride_bytes` long, and a new mapping reads as zeros. The pool is borrowed as
        // long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.buffer(slot), len) }
    }

    /// Records that a read will leave `len` bytes of the target in a slot's buffer.
    #[inline(always)]
    pub fn will_be_read_into(&mut self, slot: u32, len: u32) {
        let bytes = &mut self.read_into_bytes[slot as usize];
        *bytes = len.max(*bytes);
    }

    /// Fills a slot's buffer with `len` bytes that neither compress nor repeat what this pool wrote before, even if
    /// data was read into it in between.
    ///
    /// The first use of a slot fills it with random data. Each later use XORs a new random key into each 64-byte line.
    /// The result is still random to any compressor that compares bytes, and costs no more than memory bandwidth (about
    /// 50 ns for 4 KiB).
    #[inline]
    pub fn renew(&mut self, slot: u32, len: usize) {
        if self.shape.is_some() {
            return self.renew_shaped(slot, len);
        }
        while self.filled <= slot {
            self.fill(self.filled);
            self.filled += 1;
        }
        debug_assert!(len <= self.stride_bytes);
        let read_into = std::mem::take(&mut self.read_into_bytes[slot as usize]) as usize;
        if read_into > 0 {
            // SAFETY: both buffers are `stride_bytes` long, disjoint and filled; the caller owns the slot.
            unsafe {
                let bytes = read_into.min(self.stride_bytes);
                std::ptr::copy_nonoverlapping(self.pattern(), self.buffer(slot), bytes);
            }
        }
        // Data copied from the pattern would repeat unless all of it is renewed.
        let whole = len < RENEW_WHOLE_BELOW_BYTES || read_into > 0;
        let step = if whole { 64 } else { 4096 };
        let key: [u64; 8] = std::array::from_fn(|_| self.random.next_u64());
        let start = self.buffer(slot);
        // SAFETY: the slot's buffer is aligned to 4096 and `stride_bytes` long, a multiple of 4096 and so of 64. Lines
        // that start below `len` lie inside it. The caller owns the slot, so no I/O is using it.
        unsafe {
            let mut offset = 0;
            while offset < len {
                let line = &mut *start.add(offset).cast::<[u64; 8]>();
                for (word, key) in line.iter_mut().zip(key) {
                    *word ^= key;
                }
                offset += step;
            }
        }
    }

    /// Fills a slot's buffer with `len` bytes of the pattern, or that compress or repeat as `content` requires. All of
    /// them are newly generated, at about 5 GB/s.
    #[cold]
    fn renew_shaped(&mut self, slot: u32, len: usize) {
        debug_assert!(len <= self.stride_bytes);
        // SAFETY: the slot's buffer is at least `len` long; the caller owns the slot, so no I/O is using it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.buffer(slot), len) };
        let (content, pattern, newest) = match &mut self.shape {
            Some(Shape::Content { content, pattern, newest }) => (*content, pattern, newest),
            Some(Shape::Pattern(pattern)) => return pattern.fill(bytes, 0),
            None => return,
        };
        let repeats = below(&mut self.random, 100) < u64::from(content.dedupe_percent);
        let seed = newest.filter(|_| repeats).unwrap_or_else(|| self.random.next_u64());
        *newest = Some(seed);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let chunk_bytes = match content.compress_chunk_bytes as usize {
            0 => len,
            chunk_bytes => chunk_bytes.min(len),
        };
        let fixed = content.compress_percent as usize;
        for chunk in bytes.chunks_mut(chunk_bytes.max(1)) {
            let (data, rest) = chunk.split_at_mut(chunk.len() * (100 - fixed) / 100);
            random.fill_bytes(data);
            match pattern {
                Some(pattern) => pattern.fill(rest, 0),
                None => rest.fill(0),
            }
        }
    }

    /// Fills a slot for the first time. Before the first slot, fills the pattern.
    fn fill(&mut self, slot: u32) {
        if slot == 0 {
            self.fill_stretch(self.pattern());
        }
        self.fill_stretch(self.buffer(slot));
    }

    fn fill_stretch(&mut self, start: *mut u8) {
        // SAFETY: every slot's buffer and the pattern are `stride_bytes` long; the caller owns the slot, and the pool
        // owns the pattern.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start, self.stride_bytes) };
        self.random.fill_bytes(bytes);
    }

    /// Leaves the memory mapped until the process ends, in case the kernel still writes to it.
    pub(crate) fn leak(&mut self) {
        self.mapped_bytes = 0;
    }
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        if self.mapped_bytes > 0 {
            // SAFETY: the mapping made in `new`, unmapped only here.
            let _ = unsafe { munmap(self.base.cast(), self.mapped_bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pool: &BufferPool, slot: u32, len: usize) -> Vec<u8> {
        // SAFETY: the slot is at least `len` long.
        unsafe { std::slice::from_raw_parts(pool.buffer(slot), len) }.to_vec()
    }

    #[test]
    fn pattern_fills_every_block_from_its_start() {
        let pattern = "\"abc\"".parse().unwrap();
        let mut pool = BufferPool::new(2, 4096, 7).unwrap().with_pattern(Some(&pattern));
        pool.will_be_read_into(1, 4096);
        for length in [4096, 512] {
            pool.renew(1, length);
            let data = bytes(&pool, 1, length);
            assert!(data.iter().zip(b"abc".iter().cycle()).all(|(is, ought)| is == ought));
        }
    }

    #[test]
    fn pattern_fills_what_compresses_of_each_chunk() {
        let content = Content { compress_percent: 50, ..Content::default() };
        let pool = BufferPool::new(2, 4096, 7).unwrap().with_content(content);
        let mut pool = pool.with_pattern(Some(&"0xabcdef".parse().unwrap()));
        pool.renew(1, 1024);
        for chunk in bytes(&pool, 1, 1024).chunks(512) {
            assert!(
                chunk[256..]
                    .iter()
                    .zip([0xab, 0xcd, 0xef].iter().cycle())
                    .all(|(is, ought)| is == ought)
            );
            assert!(
                !chunk[..256].windows(6).any(|bytes| bytes == [0xab, 0xcd, 0xef, 0xab, 0xcd, 0xef])
            );
        }
    }

    /// Returns how many 4-byte words of `b` also occur in `a`, at any offset.
    fn common_words(a: &[u8], b: &[u8]) -> usize {
        let words: std::collections::HashSet<&[u8]> = a.windows(4).collect();
        b.chunks(4).filter(|w| words.contains(w)).count()
    }

    #[test]
    fn written_data_never_repeats() {
        let mut pool = BufferPool::new(2, 4096, 7).unwrap();
        pool.renew(0, 4096);
        let first = bytes(&pool, 0, 4096);
        pool.renew(0, 4096);
        let second = bytes(&pool, 0, 4096);
        pool.renew(1, 4096);
        let other = bytes(&pool, 1, 4096);
        // Each of 1024 words has 4093 chances of one in 2³²: one match is chance, two are a fault.
        assert!(common_words(&first, &second) < 2);
        assert!(common_words(&first, &other) < 2);
        let distinct: std::collections::HashSet<_> = second.chunks(8).collect();
        assert_eq!(distinct.len(), 512);
    }

    #[test]
    fn each_chunk_is_random_data_followed_by_zeros() {
        for (compress_chunk_bytes, chunks) in [(512, 8), (0, 1), (1 << 20, 1), (3000, 2)] {
            let content = Content { compress_percent: 75, compress_chunk_bytes, dedupe_percent: 0 };
            let mut pool = BufferPool::new(2, 4096, 7).unwrap().with_content(content);
            for slot in [0, 1, 0] {
                // Earlier content is gone.
                pool.will_be_read_into(slot, 4096);
                // SAFETY: the slot's buffer is 4096 long.
                unsafe { pool.buffer(slot).write_bytes(0xff, 4096) };
                pool.renew(slot, 4096);
                let data = bytes(&pool, slot, 4096);
                let chunk_bytes = 4096usize.div_ceil(chunks).max(compress_chunk_bytes as usize);
                let chunk_bytes = chunk_bytes.min(4096);
                let mut zeros = 0;
                for chunk in data.chunks(chunk_bytes) {
                    let random = chunk.len() / 4;
                    assert!(chunk[random..].iter().all(|byte| *byte == 0));
                    zeros += chunk[..random].iter().filter(|byte| **byte == 0).count();
                }
                // One byte in 256 is zero by chance.
                assert!(zeros < 20, "{zeros}");
            }
        }
    }

    #[test]
    fn dedupe_percent_sets_share_of_repeated_writes() {
        for (dedupe_percent, low, high) in [(0, 1000, 1000), (30, 640, 760), (100, 1, 1)] {
            let content = Content { compress_percent: 10, dedupe_percent, ..Content::default() };
            let mut pool = BufferPool::new(4, 4096, 7).unwrap().with_content(content);
            let written: Vec<Vec<u8>> = (0..1000)
                .map(|n| {
                    pool.renew(n % 4, 4096);
                    bytes(&pool, n % 4, 4096)
                })
                .collect();
            let distinct = written.iter().collect::<std::collections::HashSet<_>>().len();
            assert!((low..=high).contains(&distinct), "{dedupe_percent}: {distinct}");
        }
    }

    #[test]
    fn read_data_is_never_written_back() {
        for len in [4096, 256 << 10] {
            let mut pool = BufferPool::new(1, len as u64, 7).unwrap();
            pool.renew(0, len);
            // A read of a hole, then a write of less than was read, then a write of the whole buffer.
            pool.will_be_read_into(0, len as u32);
            // SAFETY: the slot's buffer is `len` long.
            unsafe { pool.buffer(0).write_bytes(0, len) };
            pool.renew(0, 512);
            pool.renew(0, len);
            let lines = bytes(&pool, 0, len);
            let distinct: std::collections::HashSet<_> = lines.chunks(64).collect();
            assert_eq!(distinct.len(), len / 64);
        }
    }

    #[test]
    fn large_blocks_differ_in_every_page() {
        let mut pool = BufferPool::new(1, 1 << 20, 7).unwrap();
        pool.renew(0, 1 << 20);
        let first = bytes(&pool, 0, 1 << 20);
        pool.renew(0, 1 << 20);
        let second = bytes(&pool, 0, 1 << 20);
        for (a, b) in first.chunks(4096).zip(second.chunks(4096)) {
            assert_ne!(a, b);
        }
    }

    #[test]
    fn buffers_are_aligned_and_do_not_overlap() {
        let pool = BufferPool::new(9, 5000, 1).unwrap();
        assert_eq!(pool.stride_bytes(), 8192);
        for slot in 0..9 {
            assert_eq!(pool.buffer(slot) as usize % 4096, 0);
        }
        assert_eq!(pool.buffer(1) as usize - pool.buffer(0) as usize, 8192);
    }

    #[test]
    fn same_seed_generates_same_data() {
        let data = |seed| {
            let mut pool = BufferPool::new(1, 4096, seed).unwrap();
            pool.renew(0, 4096);
            bytes(&pool, 0, 4096)
        };
        assert_eq!(data(3), data(3));
        assert_ne!(data(3), data(4));
    }
}
