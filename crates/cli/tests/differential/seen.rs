//! What devices saw of a tool, and what can be said of it.

use std::collections::BTreeMap;

/// What an I/O does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    Read,
    Write,
    Flush,
}

/// One I/O as a device saw it.
#[derive(Debug, Clone)]
pub struct Io {
    /// Name of the task that asked for it.
    pub task: String,
    /// Its thread.
    pub thread: u32,
    /// When, on the clock of the machine.
    pub seconds: f64,
    /// Number of the device, from 0.
    pub device: usize,
    pub op: Op,
    pub offset_bytes: u64,
    pub len_bytes: u64,
}

/// Place and size of an I/O with what it does.
pub type Step = (Op, u64, u64);

/// I/Os in the order in which they came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub ios: Vec<Io>,
}

impl Seen {
    /// Those for which something holds.
    pub fn only(&self, holds: impl Fn(&Io) -> bool) -> Self {
        Self { ios: self.ios.iter().filter(|io| holds(io)).cloned().collect() }
    }

    /// Reads and writes.
    pub fn moves(&self) -> impl Iterator<Item = &Io> {
        self.ios.iter().filter(|io| io.op != Op::Flush)
    }

    pub fn count(&self, op: Op) -> u64 {
        self.ios.iter().filter(|io| io.op == op).count() as u64
    }

    pub fn bytes(&self, op: Op) -> u64 {
        self.ios.iter().filter(|io| io.op == op).map(|io| io.len_bytes).sum()
    }

    /// Reads and writes of each size.
    pub fn sizes(&self, op: Op) -> BTreeMap<u64, u64> {
        let mut sizes = BTreeMap::new();
        for io in self.ios.iter().filter(|io| io.op == op) {
            *sizes.entry(io.len_bytes).or_insert(0) += 1;
        }
        sizes
    }

    /// First byte touched, and the one behind the last.
    pub fn range(&self) -> (u64, u64) {
        let first = self.moves().map(|io| io.offset_bytes).min().unwrap();
        (first, self.moves().map(|io| io.offset_bytes + io.len_bytes).max().unwrap())
    }

    /// I/Os that begin in each of so many equal parts of a range.
    pub fn spread(&self, range: (u64, u64), parts: usize) -> Vec<u64> {
        let mut counts = vec![0; parts];
        for io in self.moves() {
            let at = (io.offset_bytes - range.0) as f64 / (range.1 - range.0) as f64;
            counts[((at * parts as f64) as usize).min(parts - 1)] += 1;
        }
        counts
    }

    /// How often each place was met.
    pub fn visits(&self) -> Vec<u64> {
        let mut visits = BTreeMap::new();
        for io in self.moves() {
            *visits.entry((io.device, io.offset_bytes)).or_insert(0) += 1;
        }
        visits.into_values().collect()
    }

    /// What was done, in order.
    pub fn steps(&self) -> Vec<Step> {
        self.ios.iter().map(|io| (io.op, io.offset_bytes, io.len_bytes)).collect()
    }

    /// What was done, by place.
    pub fn sorted(&self) -> Vec<Step> {
        let mut steps = self.steps();
        steps.sort_unstable();
        steps
    }

    /// What each thread did, in order; the streams by where they began.
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

    /// First and last moment.
    pub fn time(&self) -> (f64, f64) {
        let first = self.ios.first().map(|io| io.seconds).unwrap();
        (first, self.ios.last().map(|io| io.seconds).unwrap())
    }

    /// Times between I/Os that are longer than so many seconds.
    pub fn gaps(&self, seconds: f64) -> usize {
        self.ios.windows(2).filter(|pair| pair[1].seconds - pair[0].seconds > seconds).count()
    }
}
