//! The I/Os that the devices saw of one tool.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    Read,
    Write,
    Flush,
}

/// One I/O as a device saw it.
#[derive(Debug, Clone)]
pub struct Io {
    /// Name of the task that issued it.
    pub task: String,
    /// Thread ID of the task.
    pub thread: u32,
    /// Time, from the machine's monotonic clock.
    pub seconds: f64,
    /// Number of the device, from 0.
    pub device: usize,
    pub op: Op,
    pub offset_bytes: u64,
    pub len_bytes: u64,
}

/// The kind, offset and length of an I/O.
pub type Step = (Op, u64, u64);

/// I/Os in the order in which they were issued.
#[derive(Debug, Clone)]
pub struct Seen {
    pub ios: Vec<Io>,
}

impl Seen {
    /// Returns the I/Os that satisfy a condition.
    pub fn only(&self, holds: impl Fn(&Io) -> bool) -> Self {
        Self { ios: self.ios.iter().filter(|io| holds(io)).cloned().collect() }
    }

    /// Returns the reads and writes.
    pub fn moves(&self) -> impl Iterator<Item = &Io> {
        self.ios.iter().filter(|io| io.op != Op::Flush)
    }

    pub fn count(&self, op: Op) -> u64 {
        self.ios.iter().filter(|io| io.op == op).count() as u64
    }

    pub fn bytes(&self, op: Op) -> u64 {
        self.ios.iter().filter(|io| io.op == op).map(|io| io.len_bytes).sum()
    }

    /// Returns how many I/Os of this kind have each size.
    pub fn sizes(&self, op: Op) -> BTreeMap<u64, u64> {
        let mut sizes = BTreeMap::new();
        for io in self.ios.iter().filter(|io| io.op == op) {
            *sizes.entry(io.len_bytes).or_insert(0) += 1;
        }
        sizes
    }

    /// Returns the first byte that was accessed and the byte after the last.
    pub fn range(&self) -> (u64, u64) {
        let first = self.moves().map(|io| io.offset_bytes).min().unwrap();
        (first, self.moves().map(|io| io.offset_bytes + io.len_bytes).max().unwrap())
    }

    /// Returns the number of I/Os that start in each of `parts` equal parts of a range.
    pub fn spread(&self, range: (u64, u64), parts: usize) -> Vec<u64> {
        let mut counts = vec![0; parts];
        for io in self.moves() {
            let at = (io.offset_bytes - range.0) as f64 / (range.1 - range.0) as f64;
            counts[((at * parts as f64) as usize).min(parts - 1)] += 1;
        }
        counts
    }

    /// Returns how often each place was accessed.
    pub fn visits(&self) -> Vec<u64> {
        let mut visits = BTreeMap::new();
        for io in self.moves() {
            *visits.entry((io.device, io.offset_bytes)).or_insert(0) += 1;
        }
        visits.into_values().collect()
    }

    /// Returns the steps in order.
    pub fn steps(&self) -> Vec<Step> {
        self.ios.iter().map(|io| (io.op, io.offset_bytes, io.len_bytes)).collect()
    }

    /// Returns the steps sorted by kind and place.
    pub fn sorted(&self) -> Vec<Step> {
        let mut steps = self.steps();
        steps.sort_unstable();
        steps
    }

    /// Returns the steps of each thread in order. The threads are sorted by their first steps.
    pub fn streams(&self) -> Vec<Vec<Step>> {
        let mut streams: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        for io in &self.ios {
            let step = (io.op, io.offset_bytes, io.len_bytes);
            streams.entry(io.thread).or_default().push(step);
        }
        let mut streams: Vec<Vec<Step>> = streams.into_values().collect();
        streams.sort();
        streams
    }

    /// Returns the times of the first and the last I/O.
    pub fn time(&self) -> (f64, f64) {
        let first = self.ios.first().map(|io| io.seconds).unwrap();
        (first, self.ios.last().map(|io| io.seconds).unwrap())
    }

    /// Returns the number of gaps between I/Os that are longer than this.
    pub fn gaps(&self, seconds: f64) -> usize {
        self.ios.windows(2).filter(|pair| pair[1].seconds - pair[0].seconds > seconds).count()
    }
}
