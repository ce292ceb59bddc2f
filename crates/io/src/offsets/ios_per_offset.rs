//! Several I/Os for each random offset: the number that fio's `rw` takes.

use super::Order;
use iogauge_model::load::Modifier;
use std::cell::Cell;

/// Random offsets of one worker, with several I/Os each: sequential ones from there, or all at the same offset.
#[derive(Debug)]
pub(super) struct Bursts {
    /// Order in which the offsets are drawn.
    starts: Order,
    /// I/Os per offset.
    ios: u32,
    identical: bool,
    /// Remaining I/Os of the current burst.
    left: Cell<u32>,
    /// Block of the next read and of the next write; `None` before the first.
    next: [Cell<Option<u64>>; 2],
}

impl Bursts {
    /// Returns `starts` as changed by a modifier.
    pub(super) fn wrap(starts: Order, modifier: Modifier) -> Order {
        let (ios, identical) = match modifier {
            Modifier::Sequential(ios) => (ios, false),
            Modifier::Identical(ios) => (ios, true),
            Modifier::None | Modifier::Skip(_) => return starts,
        };
        let (left, next) = (Cell::new(0), [Cell::new(None), Cell::new(None)]);
        Order::Bursts(Box::new(Self { starts, ios, identical, left, next }))
    }

    /// Returns the first block of the next I/O, which covers `span` of `blocks` blocks. Within a burst, each direction
    /// continues after its own last I/O. At the end of the target, it draws a new offset.
    pub(super) fn next(
        &self,
        span: u64,
        write: bool,
        blocks: u64,
        draw: impl FnOnce(&Order) -> u64,
    ) -> u64 {
        let next = &self.next[usize::from(write)];
        let left = self.left.get();
        self.left.set(left.checked_sub(1).unwrap_or(self.ios - 1));
        let block = match next.get() {
            Some(block) if left > 0 && block + span <= blocks => block,
            _ => draw(&self.starts),
        };
        next.set(Some(if self.identical { block } else { block + span }));
        block
    }
}
