//! The latencies of a window by direction and by host.

use crate::histogram::Histogram;
use crate::limit::Side;
use std::cell::OnceCell;

/// The latencies of a window by direction, to check limits against.
#[derive(Debug, Clone)]
pub struct Directions<'a> {
    reads: &'a Histogram,
    writes: &'a Histogram,
    syncs: &'a Histogram,
    /// Reads and writes together, merged when first needed.
    all: OnceCell<Histogram>,
    hosts: Vec<(usize, Directions<'a>)>,
}

impl<'a> Directions<'a> {
    /// Groups the latencies of reads, writes and flushes.
    #[must_use]
    pub const fn new(reads: &'a Histogram, writes: &'a Histogram, syncs: &'a Histogram) -> Self {
        Self { reads, writes, syncs, all: OnceCell::new(), hosts: Vec::new() }
    }

    /// Adds the latencies of each of several hosts that did I/O, with its number.
    #[must_use]
    pub fn with_hosts(self, hosts: impl IntoIterator<Item = (usize, Self)>) -> Self {
        Self { hosts: hosts.into_iter().collect(), ..self }
    }

    /// Returns the latencies of each of several hosts that did I/O, with its number; empty if there is one host.
    #[must_use]
    pub fn hosts(&self) -> &[(usize, Self)] {
        &self.hosts
    }

    /// Returns the latencies of one side. The first call for [`Side::Any`] costs a merge of two histograms if there
    /// are both reads and writes.
    #[must_use]
    pub fn of(&self, side: Side) -> &Histogram {
        match side {
            Side::Any if self.writes.count() == 0 => self.reads,
            Side::Any if self.reads.count() == 0 => self.writes,
            Side::Any => self.all.get_or_init(|| {
                let mut merged = self.reads.clone();
                merged.merge(self.writes);
                merged
            }),
            Side::Read => self.reads,
            Side::Write => self.writes,
            Side::Sync => self.syncs,
        }
    }
}
