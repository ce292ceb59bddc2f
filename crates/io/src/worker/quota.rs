//! The number of I/Os and bytes that a job may issue in all: fio's `number_ios` and `io_size`.

use iogauge_model::load::Load;
use std::sync::atomic::{AtomicI64, Ordering};

/// I/Os and bytes that one of a load's `numjobs` may still issue, over all its workers.
#[derive(Debug)]
pub struct Quota {
    ios: AtomicI64,
    /// Falls below 0 with the last I/O, or with one of each worker if there are several.
    bytes: AtomicI64,
}

impl Quota {
    /// Returns the quota of a load; `None` if the load runs until the end of its step.
    pub(crate) fn of(load: &Load) -> Option<Self> {
        let bounded = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mut ios = load.number_ios;
        let mut bytes = load.io_size_bytes;
        // With a single block size, bytes become a number of I/Os. Workers can share that without an extra I/O.
        if let (Some(total), Some(block)) = (bytes, load.block.single()) {
            let blocks = total.div_ceil(block);
            ios = Some(ios.map_or(blocks, |ios| ios.min(blocks)));
            bytes = None;
        }
        load.is_counted().then(|| Self {
            ios: AtomicI64::new(ios.map_or(i64::MAX, bounded)),
            bytes: AtomicI64::new(bytes.map_or(i64::MAX, bounded)),
        })
    }

    /// Returns true if something is left.
    #[inline(always)]
    pub(crate) fn is_left(&self) -> bool {
        self.ios.load(Ordering::Relaxed) > 0 && self.bytes.load(Ordering::Relaxed) > 0
    }

    /// Takes this many I/Os. Returns false if nothing is left.
    #[inline(always)]
    pub(crate) fn take(&self, ios: u32) -> bool {
        if self.bytes.load(Ordering::Relaxed) <= 0 {
            return false;
        }
        let left = self.ios.fetch_sub(ios.into(), Ordering::Relaxed);
        if left <= 0 {
            self.ios.store(0, Ordering::Relaxed);
        }
        left > 0
    }

    /// Subtracts the bytes of an I/O that was taken.
    #[inline(always)]
    pub(crate) fn charge(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes as i64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::BlockSizes;
    use proptest::prelude::*;

    #[test]
    fn first_reached_io_limit_ends_the_job() {
        assert!(Quota::of(&Load::default()).is_none());
        let load =
            Load { number_ios: Some(5), io_size_bytes: Some(3 * 4096 - 1), ..Load::default() };
        for (load, ios) in [
            (load.clone(), 3),
            (Load { number_ios: Some(2), ..load.clone() }, 2),
            (Load { io_size_bytes: None, ..load }, 5),
        ] {
            let quota = Quota::of(&load).unwrap();
            let taken = (0..10).filter(|_| quota.take(1)).count();
            assert_eq!((taken, quota.is_left()), (ios, false), "{load:?}");
        }
    }

    proptest! {
        #[test]
        fn io_that_reaches_byte_limit_is_the_last(
            total in 1u64..1 << 20,
            lens in prop::collection::vec(prop::sample::select(&[4096u64, 8192][..]), 300),
        ) {
            let block = BlockSizes::parse_bssplit("4k/50:8k/50").unwrap();
            let load = Load { block, io_size_bytes: Some(total), ..Load::default() };
            let quota = Quota::of(&load).unwrap();
            let mut moved = 0;
            for len in lens {
                prop_assert_eq!(quota.is_left(), moved < total);
                if !quota.take(1) {
                    break;
                }
                quota.charge(len);
                moved += len;
            }
            prop_assert!(moved >= total.min(300 * 4096) && moved < total + 8192);
        }
    }
}
