//! Drops the target from the page cache before each pass over it: fio's `invalidate`.

use crate::engine::Files;
use crate::targets::forget;
use std::sync::atomic::{AtomicI64, Ordering};

/// The passes of one of a load's `numjobs` over its files, by all its workers. As in fio, a pass ends
/// after as many bytes as the range has, in any order. The files are dropped from the cache when they
/// are opened, so the first pass drops nothing.
#[derive(Debug)]
pub struct Passes {
    files: Files,
    pass_bytes: i64,
    /// Bytes left in this pass; at most 0 when the next one begins.
    left_bytes: AtomicI64,
}

impl Passes {
    /// Creates the passes over a range of at least one byte.
    pub(crate) fn new(files: Files, range_bytes: u64) -> Self {
        let pass_bytes = i64::try_from(range_bytes).unwrap_or(i64::MAX).max(1);
        Self { files, pass_bytes, left_bytes: AtomicI64::new(pass_bytes) }
    }

    /// Counts an I/O that is about to be queued. The first one of a pass drops the files from the cache.
    #[inline(always)]
    pub(crate) fn count(&self, bytes: u64) {
        if self.left_bytes.fetch_sub(bytes as i64, Ordering::Relaxed) <= 0 {
            self.begin();
        }
    }

    #[cold]
    fn begin(&self) {
        let again = |left: i64| (left <= 0).then(|| left.saturating_add(self.pass_bytes));
        let begun = self.left_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, again);
        // Another worker may have begun the pass meanwhile.
        if begun.is_ok() {
            self.files.iter().for_each(forget);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_pass_begins_after_the_bytes_of_the_range() {
        let passes = Passes::new(Arc::default(), 10);
        let lefts: Vec<i64> = (0..7)
            .map(|_| {
                passes.count(4);
                passes.left_bytes.load(Ordering::Relaxed)
            })
            .collect();
        // The fourth I/O and the sixth one begin a pass.
        assert_eq!(lefts, [6, 2, -2, 4, 0, 6, 2]);
    }
}
