//! Several I/Os for each random offset: fio's number behind `rw`.

use super::Order;
use iogauge_model::load::Modifier;
use std::cell::Cell;

/// Random offsets of one worker, each with several I/Os from there on or at the same place.
#[derive(Debug)]
pub(super) struct Bursts {
    /// How offsets are drawn.
    starts: Order,
    /// I/Os for each.
    ios: u32,
    identical: bool,
    /// I/Os of the present burst still to come.
    left: Cell<u32>,
    /// Where the next read and the next write of it go; `None` before the first.
    next: [Cell<Option<u64>>; 2],
}

impl Bursts {
    /// The order that a modifier makes of one.
    pub(super) fn wrap(starts: Order, modifier: Modifier) -> Order {
        let (ios, identical) = match modifier {
            Modifier::Sequential(ios) => (ios, false),
            Modifier::Identical(ios) => (ios, true),
            Modifier::None | Modifier::Skip(_) => return starts,
        };
        let (left, next) = (Cell::new(0), [Cell::new(None), Cell::new(None)]);
        Order::Bursts(Box::new(Self { starts, ios, identical, left, next }))
    }

    /// Block of the next I/O of `span` blocks among so many. A burst goes on in each direction where
    /// that direction stands, and at the end of the target somewhere else.
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
